"""Tools to try toolrelay with: ``toolrelay worker --tools toolrelay_worker.demo.tools``.

Their names are legal on every provider's wire. None of them leaves the process.
"""

from __future__ import annotations

import asyncio
import re
import time
from datetime import timedelta
from typing import Annotated, Literal, TypedDict

from pydantic import Field

from toolrelay_worker import ToolContext, ToolRetry, tool

CELSIUS = {"Berlin": 11.5, "Kyiv": 9.0, "Lisbon": 19.5, "Oslo": 2.0}
IN_EUROS = {"EUR": 1.0, "USD": 0.86, "NOK": 0.085, "UAH": 0.02}
DOCUMENTS = {
    "Returns": "Goods come back within 30 days; we pay the refund within five.",
    "Shipping": "Parcels leave the same day when they are ordered before noon.",
    "Warranty": "Two years on everything, and a refund where we cannot repair.",
}

Currency = Literal["EUR", "USD", "NOK", "UAH"]


class Verdict(TypedDict):
    """A validation tool's answer."""

    passed: bool
    reason: str


@tool("weather_forecast", timeout=timedelta(seconds=10), read_only=True)
async def weather_forecast(
    city: str, days: Annotated[int, Field(ge=1, le=7)] = 3, *, ctx: ToolContext
) -> dict[str, object]:
    """Forecast the weather of a city.

    Args:
        city: The city's English name, such as "Oslo".
        days: How many days from today.
    """
    if city not in CELSIUS:
        raise LookupError(f"no weather for {city!r}; known are {', '.join(CELSIUS)}")
    for day in range(1, days + 1):
        await ctx.progress(day, total=days, message=f"day {day} of {city}")
        await asyncio.sleep(0.3)  # the service that a real tool would ask
    return {"city": city, "celsius": [CELSIUS[city] + day * 0.5 for day in range(days)]}


@tool("currency_convert", read_only=True)
def currency_convert(amount: Annotated[float, Field(ge=0)], source: Currency, target: Currency) -> float:
    """Convert an amount of money from one currency into another."""
    return round(amount * IN_EUROS[source] / IN_EUROS[target], 2)


@tool("report_build", timeout=timedelta(seconds=30))
def report_build(year: int, ctx: ToolContext) -> dict[str, int]:
    """Build the sales report of a year, month by month: slow, and it says how far it is."""
    total = 0
    for month in range(1, 13):
        if ctx.cancelled:
            break
        time.sleep(0.15)
        total += year * month
        ctx.progress(month, total=12, message=f"{year}-{month:02}")
    return {"year": year, "sales": total}


@tool("stock_reserve", max_attempts=3)
def stock_reserve(sku: str, quantity: Annotated[int, Field(gt=0)], ctx: ToolContext) -> str:
    """Reserve goods in the warehouse, which is always busy when it is asked first."""
    if ctx.attempt == 1:
        raise ToolRetry("the warehouse is busy", retry_after=timedelta(milliseconds=400))
    return f"{quantity} of {sku} reserved as {ctx.idempotency_key}"


@tool("card_charge", on_lost="fail")
async def card_charge(order: int, amount: Annotated[float, Field(gt=0)]) -> None:
    """Charge the customer's card; never started twice. This bank declines."""
    await asyncio.sleep(0.5)
    raise PermissionError(f"the bank declined {amount:.2f} for order {order}")


@tool("document_search", read_only=True)
async def document_search(query: str, ctx: ToolContext) -> list[dict[str, str]]:
    """Search our documents. What is found comes early, as partial output."""
    found = []
    for title, text in DOCUMENTS.items():
        await asyncio.sleep(0.3)
        if query.lower() in text.lower():
            found.append({"title": title, "text": text})
            await ctx.partial(found)
    return found


@tool("address_check", tool_type="validation", read_only=True)
def address_check(street: str, postcode: str) -> Verdict:
    """Check that parcels can be sent to an address."""
    if not re.fullmatch(r"\d{5}", postcode):
        return Verdict(passed=False, reason=f"a postcode has five digits, not {postcode!r}")
    return Verdict(passed=bool(street.strip()), reason="parcels can be sent there")
