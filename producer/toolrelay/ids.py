"""The identity of a tool call: a pure function of the plan and the call's place in it.

Models repeat and renumber their own call ids between turns, so a provider's id is only something to echo. An agent that
restarts and replays its plan reaches the same ids, and with them the stored results.
"""

from __future__ import annotations

import hashlib
from typing import Final

PREFIX: Final = "tc_"
_DIGITS: Final = 24


def tool_call_id(plan_id: str, sequence: int) -> str:
    """Give the id of a plan's ``sequence``-th tool call, counted from 0.

    The id is ``tc_`` and the first 24 hex digits of SHA-256 over UTF-8 ``f"{plan_id}:{sequence}"``: 27 characters, the
    same for ever.

    >>> tool_call_id("plan-001", 0)
    'tc_243f296b8867af67bdac594c'

    Raises ``ValueError`` for an empty ``plan_id`` or a negative ``sequence``.
    """
    plan: object = plan_id  # callers without a type checker pass anything
    place: object = sequence
    if not isinstance(plan, str) or not plan:
        raise ValueError(f"plan_id must be a non-empty string, got {plan_id!r}")
    if isinstance(place, bool) or not isinstance(place, int) or place < 0:
        raise ValueError(f"sequence must be an integer from 0 up, got {sequence!r}")
    digest = hashlib.sha256(f"{plan_id}:{sequence}".encode("utf-8", "surrogatepass")).hexdigest()
    return PREFIX + digest[:_DIGITS]
