"""The demo judges itself: what would make it fail, and that its messages are what providers send."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from toolrelay.errors import ErrorCategory
from toolrelay.models import NormalizedToolResult
from toolrelay.translate import detect_format, format_results, read_calls
from toolrelay_worker.demo.messages import EXAMPLES, Example
from toolrelay_worker.demo.run import _faults, _Ran

ANTHROPIC = next(example for example in EXAMPLES if example.provider == "Anthropic")


def ran(*changes: dict[str, Any], answered: bool = True) -> _Ran:
    """The Anthropic example as it has to come out, but for ``changes`` to its results."""
    calls = read_calls(ANTHROPIC.message)
    good: list[dict[str, Any]] = [
        {"success": True, "attempt": 1},
        {"success": False, "error": "no", "error_category": ErrorCategory.PERMISSION, "attempt": 1},
    ]
    results = [
        NormalizedToolResult(
            tool_call_id=f"tc_{place}",
            tool_name=call.tool_name,
            provider_format=call.provider_format,
            provider_call_id=call.provider_call_id,
            **{**fields, **change},
        )
        for place, (call, fields, change) in enumerate(zip(calls, good, changes or ({}, {}), strict=True))
    ]
    messages = format_results(results if answered else results[:1])
    turn: Any = SimpleNamespace(provider_format=ANTHROPIC.provider_format)
    return _Ran(ANTHROPIC, turn, results, messages)


def test_a_demo_that_came_out_well_has_no_faults() -> None:
    assert _faults(ran()) == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (({"success": False, "error": "boom", "error_category": ErrorCategory.EXECUTION}, {}), "document_search ended"),
        (({}, {"error_category": ErrorCategory.TIMEOUT}), "card_charge ended"),
        (({}, {"attempt": 2}), "card_charge ended"),
    ],
)
def test_a_call_that_ends_otherwise_is_a_fault(changes: tuple[dict[str, Any], ...], fault: str) -> None:
    (found,) = _faults(ran(*changes))

    assert fault in found


def test_a_call_without_an_answer_is_a_fault() -> None:
    assert _faults(ran(answered=False)) == ["Anthropic: card_charge is not answered"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.provider)
def test_a_message_is_one_of_its_provider_and_is_read_without_a_problem(example: Example) -> None:
    messages = example.message if isinstance(example.message, list) else [example.message]
    calls = read_calls(example.message)

    assert {detect_format(message) for message in messages} == {example.provider_format}
    assert all(call.problem is None for call in calls)
    assert len(calls) == len(example.endings)
