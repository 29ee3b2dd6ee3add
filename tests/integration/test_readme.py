"""The README's ten lines and the guide's blocks, typed as they stand there: tools, a worker's command, an agent."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.documents import README, ROOT, commands, python_blocks
from tests.support.waiting import wait_until
from tests.support.workers import environment
from toolrelay import ExecutionPolicy, ToolSpec
from toolrelay.drivers import Driver
from toolrelay.ids import tool_call_id
from toolrelay.protocol.commands import Commands
from toolrelay.protocol.replies import CatalogueEntry
from toolrelay.settings import Settings

#: what is the reader's own in the guide's program
APPLICATION = """
import json
from types import SimpleNamespace as Made


class Store(dict):
    def is_open(self):
        return True

    def count(self, item):
        return self[item]


store, bank, show = Store(bolt=7), None, print
SAID = {"item": "bolt"}
STREAMED = [
    {"type": "content_block_start", "index": 0}
    | {"content_block": {"type": "tool_use", "id": "toolu_2", "name": "stock_count", "input": SAID}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]


def complete(*, tools, **_):
    assert [tool["function"]["name"] for tool in tools] == ["orders_refund", "stock_count"]
    function = Made(name="stock_count", arguments=json.dumps(SAID))
    call = Made(id="call_1", type="function", function=function)
    message = Made(role="assistant", content=None, tool_calls=[call])
    return Made(choices=[Made(index=0, finish_reason="tool_calls", message=message)], model="gpt-5")


def create(*, tools, stream=False, **_):
    assert [tool["name"] for tool in tools] == ["orders_refund", "stock_count"]
    block = Made(type="tool_use", id="toolu_1", name="stock_count", input=SAID)
    return STREAMED if stream else Made(type="message", role="assistant", content=[block], stop_reason="tool_use")


openai = Made(chat=Made(completions=Made(create=complete)))
anthropic = Made(messages=Made(create=create))
"""


@contextmanager
def started(command: list[str], folder: Path, variables: dict[str, str], says: str) -> Iterator[None]:
    """Start a worker as a document says, and wait for the line that the document waits for."""
    log_file = folder / "worker.log"
    with log_file.open("wb") as log:
        worker = subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_until(lambda: says in log_file.read_text(errors="replace"), f"the worker to say {says!r}", 40)
        yield
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait(10)


def run(program: str, folder: Path, variables: dict[str, str]) -> str:
    ran = [sys.executable, program]
    return subprocess.run(ran, cwd=folder, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout


def test_the_readme_does_what_it_says(settings: Settings, driver: Driver, tmp_path: Path) -> None:
    tools, agent = python_blocks(README)
    (command,) = commands(README, "toolrelay worker")
    (tmp_path / "my_tools.py").write_text(tools)
    (tmp_path / "agent.py").write_text(agent)
    # As a user would have it: only the address is set, and the module is found in the working directory. Tools of
    # others, who were there before, are known: a call that came before its own worker would be refused.
    variables = environment(settings, tmp_path, TOOLRELAY_TOOLS="", PYTHONPATH="")
    program = str(Path(sys.executable).with_name(command[0]))
    other = CatalogueEntry(ToolSpec("other/tool", "", {}), ExecutionPolicy())
    driver.run_all(Commands(settings).publish_catalogue([other], 1))
    ready = "1 tool on offer: weather_lookup"
    assert f"`{ready}`" in README.read_text()

    with started([program, *command[1:]], tmp_path, variables, ready):
        first, again = (run("agent.py", tmp_path, variables) for _ in range(2))

    *updates, answer = first.splitlines()
    call_id = tool_call_id("plan-001", 0)
    assert [f"{call_id} {status}" for status in ("pending", "running")] == updates[:2]
    assert f"{call_id} complete" == updates[-1]
    assert ast.literal_eval(answer) == [
        {"role": "tool", "tool_call_id": "call_1", "content": '{"city": "Oslo", "celsius": 11.5}'}
    ]
    assert first == again  # "run it again": the stored results, and the same updates
    assert driver.run(Commands(settings).record(call_id))["attempt"] == "1"


def test_the_guides_blocks_are_one_program_that_does_what_it_says(settings: Settings, tmp_path: Path) -> None:
    refund, count, *agent = python_blocks(ROOT / "docs" / "guide.md")
    tools = "\n".join([APPLICATION, refund, count])
    shown = "print(json.dumps([messages[2:], history[2:]]))"
    (tmp_path / "my_tools.py").write_text(tools)
    (tmp_path / "program.py").write_text("\n".join([tools, *agent, shown]))
    variables = environment(settings, tmp_path, TOOLRELAY_TOOLS="", PYTHONPATH="")
    command = [sys.executable, "-m", "toolrelay_worker", "worker", "--tools", "my_tools"]

    with started(command, tmp_path, variables, "2 tools on offer: "):
        *events, answers = run("program.py", tmp_path, variables).splitlines()

    call = {"type": "tool_use", "id": "toolu_2", "name": "stock_count", "input": {"item": "bolt"}}
    result = {"type": "tool_result", "content": "7"}
    assert len(events) == 4
    assert json.loads(answers) == [
        [{"role": "tool", "tool_call_id": "call_1", "content": "7"}],
        [
            {"role": "user", "content": [{**result, "tool_use_id": "toolu_1"}]},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [{**result, "tool_use_id": "toolu_2"}]},
        ],
    ]
