"""Every whole message of the corpus comes out of ``read_calls`` as its expectation says, in every form it may have."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.payloads import WHOLE, Converting, Dumping, as_expected, as_objects, format_of, in_sdk_spelling, load
from toolrelay import detect_format, format_results, read_calls
from toolrelay.models import NormalizedToolResult

#: The corpus says what stands in the text: no JSON object, so the call must not be executed *as it stands*. These two
#: texts can be put right without inventing anything, so they are executed as repaired, and the repair is recorded.
REPAIRED: dict[tuple[str, int], dict[str, Any]] = {
    ("openai_chat/invalid_json.json", 0): {
        "name": "orders_refund",
        "arguments": {"order_id": "ORD-1"},
        "provider_call_id": "call_Ab1",
        "warning": "json_syntax",
    },
    ("openai_chat/odd_json.json", 2): {
        "name": "weather-lookup",
        "arguments": {"city": "Oslo"},
        "provider_call_id": "call_Ef3",
        "warning": "double_encoded",
    },
}

FORMS: dict[str, Callable[[Any], Any]] = {
    "dict": lambda message: message,
    "text": json.dumps,
    "bytes": lambda message: json.dumps(message, ensure_ascii=False).encode(),
    "list": lambda message: [message],
    "attributes": lambda message: as_objects(message, SimpleNamespace),
    "model_dump": lambda message: as_objects(message, Dumping),
    "to_dict": lambda message: as_objects(message, Converting),
}

FILES = pytest.mark.parametrize("entry", WHOLE, ids=lambda entry: entry["file"])


def expected_of(entry: dict[str, Any]) -> list[dict[str, Any]]:
    calls = enumerate(load(entry["expected"]))
    return [REPAIRED.get((entry["file"], place), call) for place, call in calls]


@FILES
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_message_is_read_as_expected(entry: dict[str, Any], form: Callable[[Any], Any]) -> None:
    calls = read_calls(form(load(entry["file"])))

    assert expected_of(entry) == [as_expected(call) for call in calls]
    assert {format_of(entry)} >= {call.provider_format for call in calls}


@FILES
def test_a_given_format_reads_the_same_as_a_detected_one(entry: dict[str, Any]) -> None:
    calls = read_calls(load(entry["file"]), format_of(entry))

    assert expected_of(entry) == [as_expected(call) for call in calls]


@pytest.mark.parametrize(
    "entry", [entry for entry in WHOLE if entry["provider"] in ("gemini", "mcp")], ids=lambda entry: entry["file"]
)
def test_the_snake_case_of_sdk_attributes_is_read_like_the_wire(entry: dict[str, Any]) -> None:
    message = as_objects(in_sdk_spelling(load(entry["file"])), SimpleNamespace)

    calls = read_calls(message)

    assert expected_of(entry) == [as_expected(call) for call in calls]


@FILES
def test_every_message_is_detected(entry: dict[str, Any]) -> None:
    assert format_of(entry) == detect_format(load(entry["file"]))


@pytest.mark.parametrize("entry", [entry for entry in WHOLE if entry["server_side"]], ids=lambda entry: entry["file"])
def test_calls_that_the_provider_runs_never_come_out(entry: dict[str, Any]) -> None:
    calls = read_calls(load(entry["file"]))

    read = {(call.tool_name, call.provider_call_id) for call in calls}
    hosted = {(call["name"], call["provider_call_id"]) for call in entry["server_side"]}
    assert set() == read & hosted
    assert entry["calls"] == len(calls)


@FILES
def test_reading_changes_nothing(entry: dict[str, Any]) -> None:
    message = load(entry["file"])
    before = copy.deepcopy(message)

    for call in read_calls(message):
        for value in call.arguments.values():
            if isinstance(value, (dict, list)):
                value.clear()

    assert before == message


@FILES
def test_every_call_is_answered_once_in_order_under_its_own_id(entry: dict[str, Any]) -> None:
    calls = read_calls(load(entry["file"]))
    results = [
        NormalizedToolResult(
            tool_call_id=f"tc_{place}",
            tool_name=call.tool_name,
            provider_format=call.provider_format,
            provider_call_id=call.provider_call_id,
            provider_metadata=call.provider_metadata,
            kind=call.kind,
            success=True,
            output={"answer": place},
        )
        for place, call in enumerate(calls)
    ]

    messages = format_results(results)

    text = json.dumps(messages)
    places = [text.index(call.provider_call_id) for call in calls if call.provider_call_id]
    assert sorted(places) == places
    assert messages == json.loads(text)
