"""Layer 6 of the case list: results and errors. What a case demands in words stands here as an assertion."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from tests.unit.cases import CASES, format_named, ids_of
from toolrelay import (
    ErrorCategory,
    InvalidResultsError,
    NormalizedToolRequest,
    NormalizedToolResult,
    format_results,
    read_calls,
    tool_call_id,
)
from toolrelay.answers import format_answers, match_results
from toolrelay.errors import SchemaMismatchError
from toolrelay.proxy import format_calls, read_results
from toolrelay.upstream import read_failure
from toolrelay_worker import ToolCallRouter, ToolRegistry
from toolrelay_worker.execution import execute


def test_every_case_of_the_layer_has_its_test() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}

    assert {name.replace("-", "_") for name in ids_of("L6")} <= tested


def result_of(given: dict[str, Any], **members: Any) -> NormalizedToolResult:
    """Make the result that a case describes."""
    error = given.get("error")
    fails = not given.get("ok", True)
    text = None
    if fails:
        blocks = [block["text"] for block in given.get("content", []) if block["type"] == "text"]
        text = "\n".join(blocks) if error is None else error["message"] or error.get("type", "")
    category = ErrorCategory(error.get("category", "execution")) if error else None
    identity = given.get("id", "c")
    return NormalizedToolResult(
        **{
            "tool_call_id": identity,
            "tool_name": "lookup",
            "provider_call_id": identity,
            "success": not fails,
            "output": None if fails else given.get("content", given.get("value")),
            "error": text,
            "error_category": category if fails else None,
            "retryable": bool(error and error.get("retryable")),
            **members,
        }
    )


def call_of(identity: str, name: str = "lookup") -> NormalizedToolRequest:
    return NormalizedToolRequest(tool_name=name, tool_call_id=identity, provider_call_id=identity)


def test_anthropic_results_in_one_message() -> None:
    """The user's own text goes behind what we give: ours is the message's beginning."""
    case = CASES["anthropic-results-in-one-message"]["input"]
    calls = [call_of(name) for name in case["calls"]]
    matched = match_results(calls, [result_of(given) for given in case["results"]])

    (message,) = format_results(matched.results, "anthropic")

    message["content"].append({"type": "text", "text": case["user_text"]})
    assert message["role"] == "user"
    first, second, third, text = message["content"]
    assert [block["tool_use_id"] for block in (first, second, third)] == ["t1", "t2", "t3"]
    assert "bad city" in first["content"]
    assert first["is_error"] is True
    assert "no result was produced" in second["content"]
    assert second["is_error"] is True
    assert third["content"] == "C"
    assert "is_error" not in third
    assert text == {"type": "text", "text": "go on"}


@pytest.mark.parametrize("provider", CASES["result-for-unknown-call"]["input"]["formats"])
def test_result_for_unknown_call(provider: str) -> None:
    """Stale and double results are an error before anything is sent; whoever wants to go on sends what matched."""
    case = CASES["result-for-unknown-call"]["input"]
    calls = [call_of(name) for name in case["calls"]]
    results = [result_of(given) for given in case["results"]]

    matched = match_results(calls, results)
    with pytest.raises(InvalidResultsError, match=r"'t0', which is no call of this turn; another result for 't1'"):
        format_answers(calls, results, format_named(provider))

    assert [result.output for result in matched.results] == ["A"]
    assert [result.tool_call_id for result in matched.unknown] == ["t0"]
    assert [result.output for result in matched.repeated] == ["A again"]
    text = json.dumps(format_results(matched.results, format_named(provider)))
    assert "stale" not in text
    assert "again" not in text


def test_a_call_without_a_result_is_an_error_before_anything_is_sent() -> None:
    with pytest.raises(InvalidResultsError, match="no result for 't2'"):
        format_answers([call_of("t1"), call_of("t2")], [result_of({"id": "t1", "value": 1})], "openai")


def test_a_call_with_a_problem_is_answered_with_it() -> None:
    calls = read_calls({"tool_calls": [{"id": "c1", "function": {"name": "x", "arguments": "[1]"}}]})

    (message,) = format_answers(calls, [])

    assert message["tool_call_id"] == "c1"
    assert "parse error" in message["content"]


def test_two_calls_with_one_id_take_their_results_in_order() -> None:
    calls = read_calls({"tool_calls": [{"id": "c", "function": {"name": "x"}}, {"id": "c", "function": {"name": "y"}}]})
    results = [result_of({"id": "c", "value": value}, tool_call_id=f"tc_{value}") for value in ("A", "B")]

    matched = match_results(calls, results)

    assert ([result.output for result in matched.results], matched.faults) == (["A", "B"], [])


def test_two_calls_with_one_id_and_no_results_are_both_answered() -> None:
    texts = ("[1]", "[1]", "{}", "{}")
    calls = read_calls({"tool_calls": [{"id": "c", "function": {"name": "x", "arguments": text}} for text in texts]})

    messages = format_results(match_results(calls, []).results, "openai")

    assert [message["tool_call_id"] for message in messages] == ["c"] * 4


def test_anthropic_error_content_rules() -> None:
    case = CASES["anthropic-error-content-rules"]["input"]

    (message,) = format_results([result_of(given) for given in case["results"]], "anthropic")

    silent, crashed = message["content"]
    assert silent["is_error"] is crashed["is_error"] is True
    assert "TimeoutError" in silent["content"]
    assert "page crashed" in crashed["content"]
    assert all(isinstance(block["content"], str) and block["content"] for block in message["content"])


def test_anthropic_id_charset() -> None:
    case = CASES["anthropic-id-charset"]["input"]
    identity = case["calls"][0]["provider_call_id"]
    call, result = call_of(identity), result_of({"id": identity, "value": "ok"})

    (assistant,) = format_calls([call], "anthropic")
    (user,) = format_results([result], "anthropic")

    used = assistant["content"][0]["id"]
    assert re.fullmatch(r"[a-zA-Z0-9_-]+", used)
    assert used == user["content"][0]["tool_use_id"]
    assert format_calls([call], "anthropic") == [assistant]
    assert format_calls([call], "openai")[0]["tool_calls"][0]["id"] == identity
    assert format_results([result], "openai")[0]["tool_call_id"] == identity


def test_gemini_response_must_be_an_object() -> None:
    """The wrapping key is ``output``, everywhere; a text stays a text, also if it looks like JSON."""
    case = CASES["gemini-response-must-be-an-object"]["input"]
    results = [
        result_of({"value": value}, provider_call_id=f"g{place}", tool_call_id=f"g{place}")
        for place, value in enumerate(case["results"])
    ]

    (content,) = format_results(results, "gemini")

    responses = [part["functionResponse"] for part in content["parts"]]
    assert [response["response"] for response in responses] == [
        {"output": [{"a": 1}]},
        {"output": "rain"},
        {"output": 7},
        {"output": None},
        {"temp": 3},
        {"output": '[{"a":1}]'},
    ]
    assert {"lookup"} == {response["name"] for response in responses}
    assert [f"g{place}" for place in range(6)] == [response["id"] for response in responses]


def test_openai_tool_message_is_text() -> None:
    """The picture is described and not forwarded: a user message in the middle of a turn is the agent's to write."""
    case = CASES["openai-tool-message-is-text"]["input"]

    page, nothing, members, empty = format_results([result_of(given) for given in case["results"]], "openai")

    assert "page" in page["content"]
    assert "image/png" in page["content"]
    assert "iVBOR" not in page["content"]
    assert (nothing["content"], members["content"], empty["content"]) == ("null", '{"t": "å"}', "")


def test_bedrock_json_must_be_an_object() -> None:
    case = CASES["bedrock-json-must-be-an-object"]

    (message,) = format_results([result_of(given) for given in case["input"]["results"]], "bedrock")

    *good, failed = case["expected"]["content"]
    assert message["role"] == "user"
    assert good == message["content"][:-1]
    assert failed["toolResult"]["status"] == message["content"][-1]["toolResult"]["status"] == "error"
    assert "no such city" in message["content"][-1]["toolResult"]["content"][0]["text"]


def test_error_flag_where_none_exists() -> None:
    case = CASES["error-flag-where-none-exists"]["input"]
    result = result_of(case["results"][0])

    (chat,) = format_results([result], "openai")
    (item,) = format_results([result], "openai_responses")
    (content,) = format_results([result], "gemini")

    said = "timeout: no answer in 5 s"
    assert chat == {"role": "tool", "tool_call_id": "c1", "content": f"Error: {said}"}
    assert item == {"type": "function_call_output", "call_id": "c1", "output": f"Error: {said}"}
    assert content["parts"][0]["functionResponse"]["response"] == {"error": said}


def test_mcp_error_result() -> None:
    variants = CASES["mcp-error-result"]["input"]["variants"]

    details, silent, good = (read_results({"jsonrpc": "2.0", "id": 1, "result": given})[0] for given in variants)

    assert details.success is silent.success is False
    assert "RATE_LIMITED" in (details.error or "")
    assert "30" in (details.error or "")
    assert silent.error
    assert (good.success, good.output) == (True, {"result": 5})


@dataclass
class Point:
    x: int
    y: int


class Color(Enum):
    RED = "red"


def test_results_json_cannot_hold() -> None:
    value = {
        "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "price": Decimal("10.10"),
        "ratio": float("nan"),
        "raw": b"\xff\x00",
        "tags": {"b", "a"},
        "pos": Point(1, 2),
        "state": Color.RED,
        "id": UUID(int=1),
        7: "seven",
    }

    (message,) = format_results([result_of({"id": "c", "value": value})], "openai")

    def refused(constant: str) -> None:
        raise AssertionError(constant)

    shown = json.loads(message["content"], parse_constant=refused)
    assert shown == {
        "at": "2026-01-02T03:04:05Z",
        "price": "10.10",
        "ratio": "nan",
        "raw": "/wA=",
        "tags": ["a", "b"],
        "pos": {"x": 1, "y": 2},
        "state": "red",
        "id": "00000000-0000-0000-0000-000000000001",
        "7": "seven",
    }


class Refused(Exception):
    def __init__(self, status: int, message: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.response = type("Response", (), {"headers": headers or {}})()


FAILURES: list[tuple[Any, bool, int | None]] = [
    (Refused(429, headers={"Retry-After": "7"}), True, 7000),
    ("HTTP 429 with Retry-After: 7", True, 7000),
    ({"status": 429, "headers": {"retry-after-ms": "250"}}, True, 250),
    (
        {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota", "details": [{"retryDelay": "3s"}]}},
        True,
        3000,
    ),
    (Refused(503, headers={"retry-after": "Mon, 30 Nov 2026 12:00:10 GMT"}), True, 10_000),
    ("HTTP 408", True, None),
    ("HTTP 500", True, None),
    ("HTTP 503", True, None),
    ("HTTP 529 overloaded_error", True, None),
    (Refused(529, "overloaded_error"), True, None),
    (ConnectionResetError("reset by peer"), True, None),
    (TimeoutError(), True, None),
    ("HTTP 400 invalid_request_error", False, None),
    (Refused(400), False, None),
    ("HTTP 401", False, None),
    ("HTTP 404", False, None),
    ("HTTP 422", False, None),
    (SchemaMismatchError("city must be a string"), False, None),
    ("unknown tool 'x'", False, None),
    (ValueError("bad city"), False, None),
    (Refused(503, headers={"retry-after": "soon"}), True, None),
]


@pytest.mark.parametrize(("error", "retryable", "wait"), FAILURES, ids=lambda value: repr(value)[:40])
def test_retry_classification(error: Any, retryable: bool, wait: int | None) -> None:
    failure = read_failure(error, now=datetime(2026, 11, 30, 12, 0, tzinfo=UTC))

    assert (retryable, wait) == (failure.retryable, failure.retry_after_ms)


def test_schema_errors_and_unknown_tools_go_back_to_the_model_at_once() -> None:
    assert not ErrorCategory.SCHEMA.is_retryable
    assert not ErrorCategory.NOT_FOUND.is_retryable


FORMATS = ("openai", "openai_responses", "anthropic", "gemini", "gemini_interactions", "langchain", "mcp", "bedrock")


@pytest.mark.parametrize("provider_format", [*FORMATS, "unknown"])
@pytest.mark.parametrize(
    "value", ["å€" * 5000, {"rows": [{"n": number} for number in range(10_000)]}], ids=["text", "rows"]
)
def test_oversized_result(provider_format: str, value: Any) -> None:
    limit = CASES["oversized-result"]["input"]["limit_bytes"]
    result = result_of({"id": "c", "value": value})

    (message,) = format_results([result], provider_format, max_bytes=limit)

    (text,) = [text for text in _texts(message) if "[cut: " in text]
    assert len(text.encode()) <= limit
    shown, whole = map(int, re.findall(r"\[cut: (\d+) of (\d+) bytes are shown\]$", text)[0])
    assert len(text.rpartition("\n[cut:")[0].encode()) == shown < whole
    assert result.output == value
    assert json.loads(json.dumps(message)) == message


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for inner in inside for text in _texts(inner)]


def test_a_cut_output_is_still_an_object_where_the_wire_wants_one() -> None:
    result = result_of({"id": "c", "value": {"rows": ["x" * 100] * 100}})

    (content,) = format_results([result], "gemini", max_bytes=500)
    (message,) = format_results([result], "bedrock", max_bytes=500)

    assert isinstance(content["parts"][0]["functionResponse"]["response"], dict)
    assert list(message["content"][0]["toolResult"]["content"][0]) == ["text"]


def test_a_limit_without_room_for_the_note_is_refused() -> None:
    with pytest.raises(ValueError, match="max_bytes must be 100 or more, got 10"):
        format_results([result_of({"value": 1})], "openai", max_bytes=10)


@pytest.mark.parametrize("error", ["x" * 10_000, "é" * 10_000], ids=["ascii", "accents"])
def test_a_long_failure_is_cut_too(error: str) -> None:
    result = result_of({"id": "c", "ok": False, "error": {"message": error}})

    (message,) = format_results([result], "openai", max_bytes=1000)

    assert len(message["content"].encode()) <= 1000
    assert "[cut: " in message["content"]


def test_one_bad_call_does_not_sink_its_siblings() -> None:
    """Of the outcomes that are right for ``multi_tool_use.parallel``, ours is the error: it is no tool of anyone's."""
    registry = ToolRegistry()
    registry.tool("weather/lookup")(_lookup)
    registry.tool("boom")(_boom)
    runner = ToolCallRouter(registry, "plan-1")._current_runner()
    first, second = CASES["one-bad-call-does-not-sink-its-siblings"]["input"]["turns"]
    names = {"weather_lookup": "weather/lookup", "boom": "boom"}

    def run(message: Any) -> list[NormalizedToolResult]:
        numbered = [
            call.model_copy(update={"tool_call_id": tool_call_id("plan-1", place)})
            for place, call in enumerate(read_calls(message, names=names))
        ]
        return [execute(call, registry, runner=runner).to_result(call) for call in numbered]

    results = run(first)
    (parallel,) = run(second)

    assert [result.error_category for result in results] == [None, "not_found", "parse", "execution"]
    assert "weather/lookup" in (results[1].error or "")
    assert [message["tool_call_id"] for message in format_results(results)] == ["c1", "c2", "c3", "c4"]
    assert (parallel.error_category, parallel.provider_call_id) == ("not_found", "c5")


def _lookup(city: str) -> str:
    """Say how the weather is."""
    return f"rain in {city}"


def _boom() -> None:
    """Fail."""
    raise ValueError("boom")
