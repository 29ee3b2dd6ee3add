"""Tools to try toolrelay with: ``toolrelay worker --tools examples.tools``.

Each shows one thing that a tool can be: asynchronous with progress, plain, slow and cancellable, dangerous to repeat,
or a check of somebody else's output. None of them leaves the process.
"""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import Annotated, Literal, TypedDict

from pydantic import Field

from toolrelay_worker import ToolContext, tool

CELSIUS = {"Berlin": 11.5, "Kyiv": 9.0, "Lisbon": 19.5, "Oslo": 2.0}


class Forecast(TypedDict):
    """What weather/lookup returns."""

    city: str
    temperature: float
    units: Literal["c", "f"]


class Refund(TypedDict):
    """What orders/refund returns."""

    order: int
    refunded: float
    reference: str


class Verdict(TypedDict):
    """What checks/word_limit returns; ``passed`` is what makes a validation tool's answer."""

    passed: bool
    words: int
    limit: int


@tool("weather/lookup", timeout=timedelta(seconds=10), idempotent=True)
async def lookup(city: str, units: Literal["c", "f"] = "c", *, ctx: ToolContext) -> Forecast:
    """Weather for a city.

    Args:
        city: The city's English name, such as "Berlin".
        units: Celsius or Fahrenheit.
    """
    await ctx.progress(1, total=2, message=f"asking for {city}")
    await asyncio.sleep(0.2)  # the service that a real tool would ask
    if city not in CELSIUS:
        raise LookupError(f"no weather for {city!r}; known are {', '.join(CELSIUS)}")
    await ctx.progress(2, total=2)
    celsius = CELSIUS[city]
    return Forecast(city=city, temperature=celsius if units == "c" else celsius * 9 / 5 + 32, units=units)


@tool("math/add", idempotent=True)
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@tool("text/slow_count", timeout=timedelta(seconds=60), idempotent=True)
def slow_count(
    text: str, seconds_per_word: Annotated[float, Field(ge=0, le=5)] = 0.5, *, ctx: ToolContext
) -> dict[str, int]:
    """Count the words of a text, slowly: something to watch, to cancel, or to lose a worker over."""
    words = text.split()
    for done in range(1, len(words) + 1):
        if ctx.cancelled:
            return {"words": done - 1}
        time.sleep(seconds_per_word)
        ctx.progress(done, total=len(words))
    return {"words": len(words), "attempt": ctx.attempt}


@tool("orders/refund", on_lost="fail")
async def refund(
    order: Annotated[int, Field(gt=0)], amount: Annotated[float, Field(gt=0)], *, ctx: ToolContext
) -> Refund:
    """Refund an order. Money must not go out twice: if its worker is lost, the call is not started again."""
    await asyncio.sleep(0.1)
    # The bank recognises a repeated request by this key, so that even a retry by hand is safe.
    return Refund(order=order, refunded=amount, reference=ctx.idempotency_key)


@tool("checks/word_limit", tool_type="validation", idempotent=True)
def word_limit(text: str, limit: Annotated[int, Field(gt=0)] = 100) -> Verdict:
    """Check that a text has no more words than allowed."""
    words = len(text.split())
    return Verdict(passed=words <= limit, words=words, limit=limit)
