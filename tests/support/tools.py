"""Tools for tests. What they do to the world goes to a file, one line an effect, never to Redis."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from toolrelay.errors import ErrorCategory
from toolrelay_worker import ToolContext, ToolOutcome, ToolRetry, tool


def effect(word: str, ctx: ToolContext) -> None:
    """Note that something happened: ``word id attempt pid``."""
    with open(os.environ["EFFECTS"], "a") as log:  # noqa: PTH123 - one write call, so lines of many processes stay whole
        log.write(f"{word} {ctx.tool_call_id} {ctx.attempt} {os.getpid()}\n")


@tool("math/add", read_only=True)
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool("test/echo", read_only=True)
def echo(value: Any) -> Any:
    """Give back what was given."""
    return value


@tool("test/length", read_only=True)
def length(value: str) -> int:
    """Measure a text."""
    return len(value)


@tool("test/eager", early_start=True)
def eager(ctx: ToolContext) -> str:
    """Leave an effect; a stream may start it early."""
    effect("eager", ctx)
    return "eager"


@tool("test/patient", read_only=True, early_start=False)
def patient() -> str:
    """Change nothing, and yet wait for the end of the stream."""
    return "patient"


@tool("test/mark")
def mark(ctx: ToolContext, word: str = "mark") -> str:
    """Leave an effect."""
    effect(word, ctx)
    return word


@tool("slow/sync")
def slow_sync(seconds: float, ctx: ToolContext) -> str:
    """Leave an effect, sleep, leave another."""
    effect("start", ctx)
    time.sleep(seconds)
    effect("end", ctx)
    return "slept"


@tool("slow/async")
async def slow_async(seconds: float, ctx: ToolContext) -> str:
    """Leave an effect, sleep, leave another."""
    effect("start", ctx)
    await asyncio.sleep(seconds)
    effect("end", ctx)
    return "slept"


@tool("slow/once", on_lost="fail")
async def slow_once(seconds: float, ctx: ToolContext) -> str:
    """As ``slow/async``, but never started twice."""
    return await slow_async(seconds, ctx)


@tool("slow/reading", read_only=True)
async def reading(seconds: float) -> str:
    """Take time, and change nothing."""
    await asyncio.sleep(seconds)
    return "read"


@tool("slow/limited", timeout=timedelta(seconds=0.5))
def limited(seconds: float) -> str:
    """Sleep on past the time limit."""
    time.sleep(seconds)
    return "slept"


@tool("slow/stubborn", timeout=timedelta(seconds=0.5))
async def stubborn(seconds: float) -> str:
    """Ignore the cancellation that the time limit brings."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue
    return "slept"


@tool("test/progress")
async def progress(steps: int, ctx: ToolContext) -> int:
    """Report every step."""
    for step in range(1, steps + 1):
        await ctx.progress(step, total=steps)
        await asyncio.sleep(0)
    return steps


@tool("test/partial")
def partial(pieces: int, ctx: ToolContext) -> int:
    """Give output in pieces."""
    for piece in range(pieces):
        ctx.partial({"piece": piece})
    return pieces


@tool("bad/raise")
def bad_raise(message: str = "boom") -> None:
    """Raise."""
    raise RuntimeError(message)


@tool("bad/outcome")
def bad_outcome(error: str) -> ToolOutcome:
    """Report a failure without raising."""
    return ToolOutcome(success=False, error=error)


@tool("bad/exit")
def bad_exit() -> None:
    """Try to end the process politely."""
    sys.exit(3)


@tool("bad/base")
def bad_base() -> None:
    """Raise what nobody catches."""
    raise KeyboardInterrupt


@tool("bad/coroutine")
def bad_coroutine() -> Any:
    """Return a coroutine by mistake."""
    return asyncio.sleep(0)


@tool("bad/output")
def bad_output() -> Any:
    """Return what no JSON can hold."""
    return object()


@tool("bad/poison", max_attempts=2)
def poison(ctx: ToolContext) -> None:
    """Kill the worker process."""
    effect("start", ctx)
    os._exit(9)


@tool("retry/until", max_attempts=3, retry_on={ErrorCategory.TIMEOUT}, retry_delay=timedelta(milliseconds=50))
def retry_until(attempt: int, ctx: ToolContext) -> int:
    """Fail with a retryable error before ``attempt``."""
    effect("start", ctx)
    if ctx.attempt < attempt:
        raise TimeoutError("not yet")
    return ctx.attempt


@tool("retry/mended", max_attempts=2, retry_on={ErrorCategory.TIMEOUT}, retry_delay=timedelta(milliseconds=20))
def retry_mended(ctx: ToolContext) -> str:
    """Fail with a retryable error until somebody puts a file named ``mended`` beside the effects."""
    effect("start", ctx)
    if not Path(os.environ["EFFECTS"]).with_name("mended").exists():
        raise TimeoutError("not mended yet")
    return "mended"


@tool("retry/key", max_attempts=3, retry_on={ErrorCategory.TIMEOUT}, retry_delay=timedelta(milliseconds=20))
async def retry_key(seconds: float, ctx: ToolContext) -> str:
    """Note the idempotency key as an effect, take a while in the first attempt, succeed in the last."""
    effect(f"key={ctx.idempotency_key}", ctx)
    if ctx.attempt == 1:
        await asyncio.sleep(seconds)
    if ctx.attempt < ctx.max_attempts:
        raise TimeoutError("not yet")
    return ctx.idempotency_key


@tool("retry/asked", max_attempts=2)
def retry_asked(ctx: ToolContext) -> int:
    """Ask for one more attempt."""
    if ctx.attempt == 1:
        raise ToolRetry("busy", retry_after=timedelta(milliseconds=50))
    return ctx.attempt


@tool("check/even", tool_type="validation")
def check_even(number: int) -> dict[str, Any]:
    """Validate that a number is even."""
    return {"passed": number % 2 == 0}
