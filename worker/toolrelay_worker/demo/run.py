"""Runs the demo: everything is started here, and stopped here, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from toolrelay.embedded import EmbeddedServer
from toolrelay.errors import ResultTimeout, ToolrelayError
from toolrelay.handles import Turn
from toolrelay.models import NormalizedToolResult
from toolrelay.producer import Producer
from toolrelay.session import close_session, open_session
from toolrelay.settings import URL_VARIABLES, Settings
from toolrelay_worker.cli.live import Board, follow
from toolrelay_worker.cli.output import as_json
from toolrelay_worker.demo import show
from toolrelay_worker.demo.messages import EXAMPLES, Example

_WORKERS: Final = 2
_SLOTS: Final = 4
_START_SECONDS: Final = 60.0
_RUN_SECONDS: Final = 25.0
_STOP_SECONDS: Final = 10.0
_LOG_LINES: Final = 15


class DemoError(ToolrelayError):
    """The demo did not go as it has to."""


@dataclass(frozen=True, slots=True)
class _Ran:
    example: Example
    turn: Turn
    results: list[NormalizedToolResult]
    messages: list[dict[str, Any]]


def run(console: Console) -> list[str]:
    """Run the demo, and give what came out otherwise than it has to; nothing of it is left when this returns.

    Raises ``DemoError`` when it could not be run at all.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):  # also when the terminal is closed, everything is stopped
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    _forget_settings()
    with ExitStack() as stack:
        console.print("starting a private server and two workers", soft_wrap=True)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolrelay-demo-")))
        server = stack.enter_context(EmbeddedServer())
        settings = Settings.load(redis_url=server.url, namespace="toolrelay-demo", concurrency=_SLOTS)
        stack.callback(close_session, settings)
        workers = stack.enter_context(_workers(settings, folder))
        _await_workers(settings, workers)
        ran = _relay(settings, console)
    for each in ran:
        show.next_messages(console, each.example, each.messages)
    faults = [fault for each in ran for fault in _faults(each)]
    if not faults:
        show.what_next(console)
    return faults


def _forget_settings() -> None:
    """The demo shows the defaults, whatever deployment this shell is meant for."""
    for name in [name for name in os.environ if name.startswith("TOOLRELAY_") or name in URL_VARIABLES]:
        del os.environ[name]


@dataclass(frozen=True, slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    log: Path

    def end(self) -> None:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_STOP_SECONDS)
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@contextmanager
def _workers(settings: Settings, folder: Path) -> Iterator[list[_Worker]]:
    started: list[_Worker] = []
    try:
        started.extend(_start_worker(settings, folder / f"worker-{number}.log") for number in range(_WORKERS))
        yield started
    finally:
        for worker in started:
            worker.process.terminate()
        for worker in started:
            worker.end()


def _start_worker(settings: Settings, log: Path) -> _Worker:
    command = [sys.executable, "-m", "toolrelay_worker", "worker", "--tools", show.WORKER_TOOLS]
    variables = {
        "TOOLRELAY_REDIS_URL": str(settings.url),
        "TOOLRELAY_NAMESPACE": settings.namespace,
        "TOOLRELAY_CONCURRENCY": str(settings.concurrency),
    }
    with log.open("wb") as file:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter, our own module
            command,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the demo, which stops its workers itself
        )
    return _Worker(process, log)


def _await_workers(settings: Settings, workers: Sequence[_Worker]) -> None:
    session = open_session(settings)
    deadline = time.monotonic() + _START_SECONDS
    while True:
        beating = session.driver.run(session.commands.workers())
        if len(beating) == len(workers) and session.driver.run(session.commands.catalogue()):
            return
        for worker in workers:
            if worker.process.poll() is not None:
                raise DemoError(f"a worker ended with {worker.process.returncode}; its log ends with: {_tail(worker)}")
        if time.monotonic() > deadline:
            raise DemoError(f"{len(beating)} of {len(workers)} workers came up within {_START_SECONDS:g} s")
        time.sleep(0.05)


def _tail(worker: _Worker) -> str:
    return "\n".join(worker.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:])


def _relay(settings: Settings, console: Console) -> list[_Ran]:
    board = Board(settings, group="from")
    turns = []
    for example in EXAMPLES:
        turn = Producer(f"demo-{example.provider_format}", settings=settings).submit(example.message)
        turns.append(turn)
        for handle in turn:
            board.add(handle, example.provider)
    show.heading(console, f"{sum(map(len, turns))} calls of {len(turns)} providers")
    try:
        follow(board, Turn([handle for turn in turns for handle in turn], None), console, _RUN_SECONDS)
    except ResultTimeout as error:
        raise DemoError(f"{len(board.open_ids())} calls did not end within {_RUN_SECONDS:g} s") from error
    return [
        _Ran(example, turn, turn.results(0), turn.messages(0)) for example, turn in zip(EXAMPLES, turns, strict=True)
    ]


def _faults(ran: _Ran) -> list[str]:
    """Compare what came out with what has to."""
    example = ran.example
    faults = []
    if ran.turn.provider_format is not example.provider_format:
        faults.append(f"{example.provider}: was taken for {ran.turn.provider_format}")
    if len(ran.results) != len(example.endings):
        return [*faults, f"{example.provider}: {len(ran.results)} calls were read, not {len(example.endings)}"]
    answer = as_json(ran.messages)
    for result, ending in zip(ran.results, example.endings, strict=True):
        came = (result.success, result.error_category, result.attempt)
        if came != (ending.error_category is None, ending.error_category, ending.attempt):
            faults.append(f"{example.provider}: {result.tool_name} ended as {came}, not as {ending}: {result.error}")
        if str(result.provider_call_id) not in answer:
            faults.append(f"{example.provider}: {result.tool_name} is not answered")
    return faults
