"""The README's ten lines, typed as they stand there: its tools, its worker's command, its agent."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.documents import README, commands, python_blocks
from tests.support.waiting import wait_until
from tests.support.workers import environment
from toolrelay.drivers import Driver
from toolrelay.ids import tool_call_id
from toolrelay.protocol.commands import Commands
from toolrelay.settings import Settings


def test_the_readme_does_what_it_says(settings: Settings, driver: Driver, tmp_path: Path) -> None:
    tools, agent = python_blocks(README)
    (command,) = commands(README, "toolrelay worker")
    (tmp_path / "my_tools.py").write_text(tools)
    (tmp_path / "agent.py").write_text(agent)
    # As a user would have it: only the address is set, and the module is found in the working directory.
    variables = environment(settings, tmp_path, TOOLRELAY_TOOLS="", PYTHONPATH="")
    program = Path(sys.executable).with_name(command[0])

    def run_agent() -> str:
        ran = [sys.executable, "agent.py"]
        return subprocess.run(ran, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True).stdout

    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [program, *command[1:]], cwd=tmp_path, env=variables, stdout=log, stderr=log, start_new_session=True
        )
    try:
        wait_until(lambda: driver.run(Commands(settings).catalogue()), "the tools to be offered")
        first, again = run_agent(), run_agent()
    finally:
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait(10)

    *updates, answer = first.splitlines()
    call_id = tool_call_id("plan-001", 0)
    assert [f"{call_id} {status}" for status in ("pending", "running")] == updates[:2]
    assert f"{call_id} complete" == updates[-1]
    assert ast.literal_eval(answer) == [
        {"role": "tool", "tool_call_id": "call_1", "content": '{"city": "Oslo", "celsius": 11.5}'}
    ]
    assert first == again  # "run it again": the stored results, and the same updates
    assert driver.run(Commands(settings).record(call_id))["attempt"] == "1"
