from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from toolrelay.errors import ErrorCategory, SchemaMismatchError
from toolrelay.models import NormalizedToolRequest, Progress, ProviderFormat
from toolrelay_worker.context import PartialOutput, ToolContext
from toolrelay_worker.stopping import StopSignal

REQUEST = NormalizedToolRequest(
    tool_call_id="tc_1",
    tool_name="find",
    provider_format=ProviderFormat.GEMINI,
    plan_id="plan-001",
    sequence=3,
    provider_metadata={"model": "m-1"},
)


def test_a_tool_may_know_everything_about_its_call() -> None:
    context = ToolContext(REQUEST, tool_name="crm/find", attempt=2, max_attempts=5)

    assert context.tool_call_id == context.idempotency_key == "tc_1"
    assert context.tool_name == "crm/find"
    assert (context.attempt, context.max_attempts) == (2, 5)
    assert (context.plan_id, context.sequence) == ("plan-001", 3)
    assert context.provider_format is ProviderFormat.GEMINI
    assert context.provider_metadata == {"model": "m-1"}


def test_a_tool_cannot_change_the_calls_metadata() -> None:
    with pytest.raises(TypeError):
        ToolContext(REQUEST).provider_metadata["model"] = "m-2"  # type: ignore[index] # on purpose


def test_the_deadline_is_the_time_limit_from_now() -> None:
    before = datetime.now(UTC)
    context = ToolContext(REQUEST, timeout=timedelta(minutes=5))
    after = datetime.now(UTC)

    assert before <= context.deadline - timedelta(minutes=5) <= after
    assert timedelta(minutes=4) < context.remaining <= timedelta(minutes=5)


def test_nothing_remains_after_the_deadline() -> None:
    assert ToolContext(REQUEST, timeout=timedelta(seconds=-1)).remaining == timedelta(0)


def test_a_synchronous_tool_says_how_far_it_is() -> None:
    said: list[Any] = []
    context = ToolContext(REQUEST, sink=said.append)

    context.progress(1)
    context.progress(2, total=3, message="nearly")
    context.partial({"rows": {2, 1}})

    assert said == [
        Progress(current=1),
        Progress(current=2, total=3, message="nearly"),
        PartialOutput({"rows": [1, 2]}),
    ]


async def test_an_asynchronous_tool_may_await_what_it_says() -> None:
    said: list[Any] = []
    context = ToolContext(REQUEST, sink=said.append)

    await context.progress(1)
    await context.partial("a")
    await asyncio.gather(context.progress(2), context.progress(3))

    assert said == [Progress(current=1), PartialOutput("a"), Progress(current=2), Progress(current=3)]


def test_partial_output_is_read_at_once() -> None:
    said: list[Any] = []
    rows = [1]
    ToolContext(REQUEST, sink=said.append).partial(rows)

    rows.append(2)

    assert said == [PartialOutput([1])]


def test_partial_output_is_kept_out_of_logs() -> None:
    assert "secret" not in repr(PartialOutput("secret"))


@pytest.mark.parametrize(("current", "total"), [(float("nan"), None), (float("inf"), None), (1, float("nan"))])
def test_progress_is_a_number(current: float, total: float | None) -> None:
    with pytest.raises(ValueError, match="finite"):
        ToolContext(REQUEST).progress(current, total)


def test_what_cannot_be_said_is_refused_in_the_tool() -> None:
    with pytest.raises(SchemaMismatchError):
        ToolContext(REQUEST).partial(object())
    with pytest.raises((ValidationError, TypeError)):
        ToolContext(REQUEST).progress("half")  # type: ignore[arg-type] # on purpose


def test_a_tool_learns_that_it_was_stopped() -> None:
    stop = StopSignal()
    context = ToolContext(REQUEST, stop=stop)
    assert not context.cancelled

    stop.stop(ErrorCategory.CANCELLED, "no")

    assert context.cancelled


def test_what_an_abandoned_tool_says_goes_nowhere() -> None:
    said: list[Any] = []
    context = ToolContext(REQUEST, sink=said.append)

    context.close()
    context.progress(1)
    context.partial("late")

    assert context.cancelled
    assert said == []


def test_a_call_without_an_identity_has_an_empty_one() -> None:
    assert ToolContext(NormalizedToolRequest(tool_name="find")).idempotency_key == ""
