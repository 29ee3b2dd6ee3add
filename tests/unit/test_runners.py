from __future__ import annotations

import asyncio
import contextvars
import gc
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, NoReturn

import pytest

from tests.support.waiting import wait_until
from toolrelay.errors import ErrorCategory
from toolrelay_worker.runners import Raised, Returned, Stopped, StopReason, StopSignal, TimedOut, ToolRunner

PATIENCE = timedelta(seconds=30)  # nothing here takes that long unless it is broken
SHORT = timedelta(milliseconds=20)
LONG_ENOUGH_TO_START = timedelta(milliseconds=500)


@pytest.fixture
def runner() -> Iterator[ToolRunner]:
    runner = ToolRunner()
    yield runner
    runner.close()


def quit_python() -> NoReturn:
    sys.exit(3)


class Quit(BaseException):
    pass


def raiser(exception: BaseException) -> Callable[[], Any]:
    def tool() -> NoReturn:
        raise exception

    return tool


def async_raiser(exception: BaseException) -> Callable[[], Any]:
    async def tool() -> NoReturn:
        raise exception

    return tool


async def async_seven() -> int:
    await asyncio.sleep(0)
    return 7


def test_a_synchronous_tool_runs_in_another_thread(runner: ToolRunner) -> None:
    ended = runner.run(threading.get_ident, timeout=PATIENCE)

    assert isinstance(ended, Returned)
    assert ended.value != threading.get_ident()


def test_an_asynchronous_tool_runs_on_the_loop(runner: ToolRunner) -> None:
    assert runner.run(async_seven, is_async=True, timeout=PATIENCE) == Returned(7)


def test_threads_are_used_again(runner: ToolRunner) -> None:
    threads = {runner.run(threading.get_ident, timeout=PATIENCE).value for _ in range(50)}  # type: ignore[union-attr] # get_ident returns

    assert len(threads) == 1


def test_one_loop_serves_all_asynchronous_tools(runner: ToolRunner) -> None:
    async def here() -> tuple[int, int]:
        return threading.get_ident(), id(asyncio.get_running_loop())

    places = {runner.run(here, is_async=True, timeout=PATIENCE).value for _ in range(10)}  # type: ignore[union-attr] # here() returns

    assert len(places) == 1


@pytest.mark.parametrize(
    "exception",
    [ValueError("x"), SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), Quit()],
    ids=repr,
)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_whatever_a_tool_raises_is_a_value_and_the_runner_lives(
    runner: ToolRunner, exception: BaseException, is_async: bool
) -> None:
    tool = async_raiser(exception) if is_async else raiser(exception)

    assert runner.run(tool, is_async=is_async, timeout=PATIENCE) == Raised(exception)
    assert runner.run(lambda: 1, timeout=PATIENCE) == Returned(1)
    assert runner.run(async_seven, is_async=True, timeout=PATIENCE) == Returned(7)


def test_the_tool_sees_the_callers_context_variables_and_cannot_change_them(runner: ToolRunner) -> None:
    variable = contextvars.ContextVar("variable", default="default")
    variable.set("the caller's")

    def tool() -> str:
        seen = variable.get()
        variable.set("the tool's")
        return seen

    async def async_tool() -> str:
        return tool()

    assert runner.run(tool, timeout=PATIENCE) == Returned("the caller's")
    assert runner.run(async_tool, is_async=True, timeout=PATIENCE) == Returned("the caller's")
    assert variable.get() == "the caller's"


def test_a_thread_that_hangs_is_reported_on_time_and_counted_until_it_ends(runner: ToolRunner) -> None:
    let_go = threading.Event()

    assert runner.run(let_go.wait, timeout=SHORT) == TimedOut()
    assert runner.hung == 1
    assert runner.run(lambda: "others go on", timeout=PATIENCE) == Returned("others go on")

    let_go.set()
    wait_until(lambda: runner.hung == 0, "the tool to end")


def test_a_task_is_cancelled_at_its_limit(runner: ToolRunner) -> None:
    cancelled = threading.Event()

    async def tool() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    assert runner.run(tool, is_async=True, timeout=LONG_ENOUGH_TO_START) == TimedOut()
    assert cancelled.wait(PATIENCE.total_seconds())
    assert runner.hung == 0


def test_a_task_that_swallows_its_cancellation_is_reported_on_time_and_counted(
    runner: ToolRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolrelay_worker.runners._ASYNC_GRACE_SECONDS", 0.0)
    let_go = threading.Event()

    async def tool() -> str:
        while not let_go.is_set():
            try:
                await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                continue
        return "too late"

    assert runner.run(tool, is_async=True, timeout=LONG_ENOUGH_TO_START) == TimedOut()
    assert runner.hung == 1

    let_go.set()
    wait_until(lambda: runner.hung == 0, "the tool to end")


def test_a_task_that_takes_its_cancellation_is_not_called_hung() -> None:
    calls: list[int] = []
    runner = ToolRunner(on_hung=calls.append)

    async def tool() -> None:
        await asyncio.Event().wait()

    for _ in range(5):
        assert runner.run(tool, is_async=True, timeout=timedelta(0)) == TimedOut()
    runner.close()

    assert calls == []


def test_a_tool_that_blocks_the_loop_is_reported_on_time(runner: ToolRunner) -> None:
    let_go = threading.Event()

    async def tool() -> None:
        let_go.wait()

    assert runner.run(tool, is_async=True, timeout=LONG_ENOUGH_TO_START) == TimedOut()
    assert runner.run(async_seven, is_async=True, timeout=SHORT) == TimedOut()

    let_go.set()
    assert runner.run(async_seven, is_async=True, timeout=PATIENCE) == Returned(7)


def test_whoever_wants_to_know_is_told_how_many_hang() -> None:
    calls: list[int] = []
    runner = ToolRunner(on_hung=calls.append)
    let_go = threading.Event()

    for _ in range(3):
        runner.run(let_go.wait, timeout=timedelta(0))
    let_go.set()
    wait_until(lambda: runner.hung == 0, "the tool to end")
    runner.close()

    assert calls == [1, 2, 3]


def test_a_tool_that_loses_its_race_against_the_clock_does_not_change_the_outcome(runner: ToolRunner) -> None:
    let_go = threading.Event()

    ended = runner.run(let_go.wait, timeout=timedelta(0))
    let_go.set()
    wait_until(lambda: runner.hung == 0, "the tool to end")

    assert ended == TimedOut()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_stop_from_another_thread_ends_the_wait_at_once(runner: ToolRunner, is_async: bool) -> None:
    stop = StopSignal()
    started, let_go = threading.Event(), threading.Event()

    def tool() -> None:
        started.set()
        let_go.wait()

    async def async_tool() -> None:
        started.set()
        await asyncio.Event().wait()

    def stopper() -> None:
        started.wait()
        stop.stop(ErrorCategory.WORKER_LOST, "the lease is lost")

    threading.Thread(target=stopper, daemon=True).start()
    ended = runner.run(async_tool if is_async else tool, is_async=is_async, timeout=PATIENCE, stop=stop)

    assert ended == Stopped(StopReason(ErrorCategory.WORKER_LOST, "the lease is lost"))
    assert runner.hung == (0 if is_async else 1)
    let_go.set()
    wait_until(lambda: runner.hung == 0, "the tool to end")


def test_a_call_that_was_stopped_before_it_began_is_never_begun(runner: ToolRunner) -> None:
    stop = StopSignal()
    stop.stop(ErrorCategory.CANCELLED, "no")
    calls: list[int] = []

    ended = runner.run(lambda: calls.append(1), timeout=PATIENCE, stop=stop)

    assert ended == Stopped(StopReason(ErrorCategory.CANCELLED, "no"))
    assert calls == []


def test_only_the_first_stop_counts() -> None:
    stop = StopSignal()
    heard: list[StopReason] = []
    stop.on_stop(heard.append)

    assert stop.stop(ErrorCategory.CANCELLED, "first")
    assert not stop.stop(ErrorCategory.WORKER_LOST, "second")
    stop.on_stop(heard.append)

    assert heard == [StopReason(ErrorCategory.CANCELLED, "first")] * 2


def test_a_stop_after_the_end_reaches_nobody(runner: ToolRunner) -> None:
    stop = StopSignal()

    assert runner.run(lambda: 1, timeout=PATIENCE, stop=stop) == Returned(1)
    assert stop.stop(ErrorCategory.CANCELLED, "too late")
    assert runner.hung == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot send a signal to a thread")
def test_a_signal_that_interrupts_the_wait_abandons_the_tool() -> None:
    script = """
import signal, threading
from datetime import timedelta
from toolrelay_worker.runners import ToolRunner

runner, started = ToolRunner(), threading.Event()
main = threading.main_thread().ident
threading.Thread(target=lambda: (started.wait(), signal.pthread_kill(main, signal.SIGINT)), daemon=True).start()
try:
    runner.run(lambda: (started.set(), threading.Event().wait()), timeout=timedelta(seconds=30))
except KeyboardInterrupt:
    print("interrupted", runner.hung)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)

    assert done.stdout == "interrupted 1\n"


def test_a_tool_that_hangs_does_not_keep_the_process_from_ending() -> None:
    script = """
import asyncio, threading
from datetime import timedelta
from toolrelay_worker.runners import ToolRunner

async def forever():
    await asyncio.Event().wait()

runner = ToolRunner()
print(runner.run(threading.Event().wait, timeout=timedelta(milliseconds=1)))
print(runner.run(forever, is_async=True, timeout=timedelta(milliseconds=1)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)

    assert done.stdout == "TimedOut()\nTimedOut()\n"
    assert done.stderr == ""


def test_a_task_that_a_tool_spawned_cannot_take_the_loop_down(runner: ToolRunner) -> None:
    async def tool() -> None:
        async def spawned() -> None:
            quit_python()

        task = asyncio.get_running_loop().create_task(spawned())
        await asyncio.wait([task])
        task.exception()

    assert runner.run(tool, is_async=True, timeout=PATIENCE) == Returned(None)
    assert runner.run(async_seven, is_async=True, timeout=PATIENCE) == Returned(7)


def test_a_tool_cannot_stop_the_loop(runner: ToolRunner) -> None:
    async def tool() -> None:
        asyncio.get_running_loop().stop()

    runner.run(tool, is_async=True, timeout=PATIENCE)

    assert runner.run(async_seven, is_async=True, timeout=PATIENCE) == Returned(7)


def test_an_asynchronous_tool_that_waits_for_another_is_told_of_the_deadlock(runner: ToolRunner) -> None:
    async def tool() -> Any:
        return runner.run(async_seven, is_async=True, timeout=PATIENCE)

    outer = runner.run(tool, is_async=True, timeout=PATIENCE)

    assert isinstance(outer, Returned)
    assert isinstance(outer.value, Raised)
    assert "asyncio.to_thread" in str(outer.value.exception)


def test_a_tool_may_run_others_from_a_thread(runner: ToolRunner) -> None:
    def tool() -> Any:
        return runner.run(async_seven, is_async=True, timeout=PATIENCE)

    assert runner.run(tool, timeout=PATIENCE) == Returned(Returned(7))


def test_an_idle_thread_keeps_nothing_of_its_last_call_alive(runner: ToolRunner) -> None:
    class Output:
        pass

    ended = runner.run(Output, timeout=PATIENCE)
    assert isinstance(ended, Returned)
    gone = weakref.ref(ended.value)
    del ended

    def is_gone() -> bool:
        gc.collect()
        return gone() is None

    wait_until(is_gone, "the call's objects to be let go of")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only systems that fork can lose their threads that way")
def test_a_forked_child_starts_threads_and_loop_of_its_own() -> None:
    script = """
import os, threading
from datetime import timedelta
from toolrelay_worker.runners import ToolRunner

async def seven():
    return 7

def both():
    ended = [runner.run(lambda: 1, timeout=limit), runner.run(seven, is_async=True, timeout=limit)]
    os.write(1, f"{ended[0]} {ended[1]} {runner.hung}\\n".encode())  # at once: two processes write here

runner, limit = ToolRunner(), timedelta(seconds=30)
both()
runner.run(threading.Event().wait, timeout=timedelta(0))
child = os.fork()
both()
if child:
    raise SystemExit(os.waitpid(child, 0)[1])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)

    before, *after = done.stdout.splitlines()
    assert before == "Returned(value=1) Returned(value=7) 0"
    assert sorted(after) == [
        "Returned(value=1) Returned(value=7) 0",  # the child: what hangs, hangs in its parent
        "Returned(value=1) Returned(value=7) 1",
    ]


def test_closing_cancels_what_still_runs_on_the_loop() -> None:
    runner = ToolRunner()
    started = threading.Event()
    ended: list[Any] = []

    async def tool() -> None:
        started.set()
        await asyncio.Event().wait()

    waiting = threading.Thread(target=lambda: ended.append(runner.run(tool, is_async=True, timeout=PATIENCE)))
    waiting.start()
    started.wait()
    runner.close()
    waiting.join(PATIENCE.total_seconds())

    assert isinstance(ended[0], Stopped)
    assert ended[0].reason.category is ErrorCategory.CANCELLED


def test_a_closed_runner_says_so() -> None:
    runner = ToolRunner()
    runner.close()
    runner.close()

    with pytest.raises(RuntimeError, match="closed"):
        runner.run(lambda: 1, timeout=PATIENCE)
