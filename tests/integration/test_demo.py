"""``toolrelay demo``, once: what it shows, that it leaves nothing behind, and that what it says to type next works."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import PROGRAM
from tests.support.waiting import wait_until
from toolrelay.translate import read_calls
from toolrelay_worker.demo.messages import EXAMPLES, Example

HEADING = ": what its model is told next"
MARK = "TOOLRELAY_TESTS_OF_THE_DEMO"


@dataclass(frozen=True)
class Ran:
    code: int
    stdout: str
    stderr: str
    folder: Path
    """Where it had to put its temporary files."""
    mark: str
    """Of its environment, and so of every process it started."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder, mark = tmp_path_factory.mktemp("demo"), secrets.token_hex(8)
    # A deployment that this shell is meant for is none of the demo's business.
    settings = {"TOOLRELAY_REDIS_URL": "redis://127.0.0.1:1/0", "TOOLRELAY_LEASE": "wrong", "REDIS_URL": "wrong"}
    ended = subprocess.run(
        [PROGRAM, "demo"],
        env={**os.environ, **settings, "TMPDIR": str(folder), MARK: mark},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr, folder, mark)


def answers(stdout: str) -> dict[str, list[dict[str, Any]]]:
    """The messages by provider, as they were printed."""
    found = {}
    for part in re.finditer(rf"^([^\n]+){HEADING}\n(\[\n.*?^\])$", stdout, flags=re.MULTILINE | re.DOTALL):
        found[part[1]] = json.loads(part[2])
    return found


def started_by(mark: str) -> list[str]:
    """Command lines of living processes with ``mark`` in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text())
        except OSError:  # gone by now, or another user's
            continue
    return found


def test_everything_comes_out_as_it_has_to(demo: Ran) -> None:
    assert demo.code == 0, demo.stdout + demo.stderr
    assert demo.stderr == ""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.provider_format.value)
def test_each_provider_gets_its_next_message_with_an_answer_to_every_call(demo: Ran, example: Example) -> None:
    messages = answers(demo.stdout)[example.provider]

    calls = [str(call.provider_call_id) for call in read_calls(example.message)]
    assert len(calls) == len(example.endings)
    assert all(call in json.dumps(messages) for call in calls)


@pytest.mark.parametrize(
    "line",
    [
        "OpenAI Responses  stock_reserve  pending (retry)",
        "OpenAI Responses  report_build  running ▰▰▰▰▰▰▰▰ 12/12 2025-12",
        "Anthropic  document_search  running gave output early",
        "Anthropic  card_charge  error permission: PermissionError: the bank declined 89.90 for order 1042",
        "LangChain  text_translate  error not_found",
    ],
)
def test_a_pipe_gets_a_line_an_update_as_it_comes(demo: Ran, line: str) -> None:
    assert line in demo.stdout


def test_nothing_is_left_behind(demo: Ran) -> None:
    assert list(demo.folder.iterdir()) == []
    if sys.platform == "linux":
        assert started_by(demo.mark) == []


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_nothing_is_left_behind_when_it_is_ended_early(stop: signal.Signals, code: int, tmp_path: Path) -> None:
    mark = secrets.token_hex(8)
    environment = {**os.environ, "TMPDIR": str(tmp_path), MARK: mark}
    with subprocess.Popen([PROGRAM, "demo"], env=environment, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        while "running" not in running.stdout.readline():
            pass
        running.send_signal(stop)
        running.stdout.read()

        assert running.wait(30) == code
    assert list(tmp_path.iterdir()) == []
    if sys.platform == "linux":
        assert started_by(mark) == []


@pytest.fixture
def commands(demo: Ran) -> list[str]:
    """The commands it says to type next."""
    return re.findall(r"^  (\S.*)$", demo.stdout.partition("What to type next")[2], flags=re.MULTILINE)[:3]


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has no Redis, and the program on the PATH."""
    named = ("TOOLRELAY_REDIS_URL", "REDIS_URL", "CELERY_BROKER_URL")
    mine = {name: value for name, value in os.environ.items() if name not in named}
    path = f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}"
    return {**mine, "TOOLRELAY_HOME": str(tmp_path / "home"), "PATH": path}


def test_what_it_says_to_type_next_works(commands: list[str], shell: dict[str, str]) -> None:
    worker_line, submit_line, doctor_line = commands

    def typed(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(line, shell=True, env=shell, capture_output=True, text=True, timeout=60, check=False)

    with subprocess.Popen(
        worker_line.split(), env=shell, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as worker:
        try:
            wait_until(lambda: typed("toolrelay health").returncode == 0, "the worker", 40)
            submitted, examined = typed(submit_line), typed(doctor_line)
        finally:
            worker.terminate()

    assert (submitted.returncode, examined.returncode) == (0, 0), submitted.stderr + examined.stdout
    assert "Oslo" in submitted.stdout
    assert worker.returncode == 0
