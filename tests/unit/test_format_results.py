"""From a message through fake results to what must be appended to the conversation, asserted to the last member."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pydantic
import pytest

from tests.unit.payloads import load
from toolrelay import format_results, read_calls
from toolrelay.errors import ErrorCategory, InvalidResultsError, UnknownProviderFormatError
from toolrelay.models import NormalizedToolRequest, NormalizedToolResult, ProviderFormat


def answered(
    call: NormalizedToolRequest, place: int, output: Any = None, error: str | None = None, **members: Any
) -> NormalizedToolResult:
    """Make the result of a call from nothing but what a result carries: there is no ``raw`` in it."""
    return NormalizedToolResult(
        tool_call_id=f"tc_{place}",
        tool_name=call.tool_name,
        provider_format=call.provider_format,
        provider_call_id=call.provider_call_id,
        provider_metadata=json.loads(json.dumps(call.provider_metadata)),
        kind=call.kind,
        success=error is None,
        output=output,
        error=error,
        error_category=None if error is None else ErrorCategory.TIMEOUT,
        **members,
    )


def round_trip(message: Any, *outcomes: dict[str, Any], names: Any = None) -> list[dict[str, Any]]:
    calls = read_calls(message, names=names)
    pairs = zip(calls, outcomes, strict=True)
    return format_results([answered(call, place, **outcome) for place, (call, outcome) in enumerate(pairs)])


OK: dict[str, Any] = {"output": {"temp": 3}}
TEXT: dict[str, Any] = {"output": "rain"}
FAILED: dict[str, Any] = {"error": "no answer in 5 s"}

ROUND_TRIPS: list[tuple[str, Any, list[dict[str, Any]], list[dict[str, Any]]]] = [
    (
        "Chat",
        load("openai_chat/two_parallel.json"),
        [OK, FAILED],
        [
            {"role": "tool", "tool_call_id": "call_Ab1", "content": '{"temp": 3}'},
            {"role": "tool", "tool_call_id": "call_Cd2", "content": "Error: timeout: no answer in 5 s"},
        ],
    ),
    (
        "Chat, a custom call",
        load("openai_chat/custom_and_function.json"),
        [TEXT, TEXT],
        [
            {"role": "tool", "tool_call_id": "call_Ab1", "content": "rain"},
            {"role": "tool", "tool_call_id": "call_Cd2", "content": "rain"},
        ],
    ),
    (
        "Chat, the deprecated function_call",
        load("openai_chat/legacy_function_call.json"),
        [TEXT],
        [{"role": "function", "name": "weather-lookup", "content": "rain"}],
    ),
    (
        "Chat, a call without an id: ours",
        {"message": {"tool_calls": [{"function": {"name": "x", "arguments": {}}}]}},
        [TEXT],
        [{"role": "tool", "tool_call_id": "tc_0", "content": "rain"}],
    ),
    (
        "Chat, two calls with one id",
        {"tool_calls": [{"id": "c", "function": {"name": "x"}}, {"id": "c", "function": {"name": "y"}}]},
        [TEXT, OK],
        [
            {"role": "tool", "tool_call_id": "c", "content": "rain"},
            {"role": "tool", "tool_call_id": "c", "content": '{"temp": 3}'},
        ],
    ),
    (
        "Responses",
        load("openai_responses/two_parallel.json"),
        [OK, FAILED],
        [
            {"type": "function_call_output", "call_id": "call_a", "output": '{"temp": 3}'},
            {"type": "function_call_output", "call_id": "call_b", "output": "Error: timeout: no answer in 5 s"},
        ],
    ),
    (
        "Responses, a custom call in a namespace",
        load("openai_responses/namespaces.json"),
        [TEXT, TEXT, TEXT],
        [
            {"type": "function_call_output", "call_id": "call_a", "output": "rain"},
            {"type": "function_call_output", "call_id": "call_b", "output": "rain"},
            {"type": "custom_tool_call_output", "call_id": "call_x", "output": "rain"},
        ],
    ),
    (
        "Responses, a program's call",
        load("openai_responses/programmatic_caller.json"),
        [TEXT],
        [
            {
                "type": "function_call_output",
                "call_id": "call_a",
                "output": "rain",
                "caller": {"caller_id": "call_prog", "type": "program"},
            }
        ],
    ),
    (
        "Responses, OpenAI's own tools",
        load("openai_responses/client_builtin_tools.json"),
        [
            {"output": [{"stdout": "notes.txt\n", "stderr": "", "exit_code": 0}, {"stdout": "", "exit_code": 2}]},
            {"output": "patched"},
            {"output": "data:image/png;base64,iVBORw0="},
            {"output": "hi\n"},
        ],
        [
            {
                "type": "shell_call_output",
                "call_id": "call_s",
                "output": [
                    {"stdout": "notes.txt\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                    {"stdout": "", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}},
                ],
                "max_output_length": 4096,
            },
            {"type": "apply_patch_call_output", "call_id": "call_p", "status": "completed", "output": "patched"},
            {
                "type": "computer_call_output",
                "call_id": "call_c",
                "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0="},
            },
            {"type": "local_shell_call_output", "call_id": "call_l", "id": "call_l", "output": "hi\n"},
        ],
    ),
    (
        "Responses, a shell that says one thing",
        {"output": [{"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}}]},
        [TEXT],
        [
            {
                "type": "shell_call_output",
                "call_id": "s",
                "output": [{"stdout": "rain", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
            }
        ],
    ),
    (
        "Responses, a tool search of the client's",
        load("openai_responses/tool_search.json"),
        [{"output": [{"type": "function", "name": "refund"}]}],
        [
            {
                "type": "tool_search_output",
                "call_id": "call_t",
                "execution": "client",
                "status": "completed",
                "tools": [{"type": "function", "name": "refund"}],
            }
        ],
    ),
    (
        "Anthropic",
        load("anthropic/two_parallel.json"),
        [OK, FAILED],
        [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_01", "content": '{"temp": 3}'},
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_02",
                        "content": "timeout: no answer in 5 s",
                        "is_error": True,
                    },
                ],
            }
        ],
    ),
    (
        "Anthropic, toolsets",
        load("anthropic/toolset_members.json"),
        [TEXT, TEXT, TEXT],
        [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_01", "content": "rain", "toolset_name": "computer"},
                    {"type": "tool_result", "tool_use_id": "toolu_02", "content": "rain", "toolset_name": "browser"},
                    {"type": "tool_result", "tool_use_id": "toolu_03", "content": "rain"},
                ],
            }
        ],
    ),
    (
        "Gemini, ids only where the calls have some",
        [
            {"functionCall": {"id": "fc-1", "name": "a"}, "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "b"}},
            {"functionCall": {"name": "b"}},
        ],
        [OK, TEXT, FAILED],
        [
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "fc-1", "name": "a", "response": {"temp": 3}}},
                    {"functionResponse": {"name": "b", "response": {"output": "rain"}}},
                    {"functionResponse": {"name": "b", "response": {"error": "timeout: no answer in 5 s"}}},
                ],
            }
        ],
    ),
    (
        "Interactions",
        load("gemini_interactions/two_calls.json"),
        [OK, FAILED],
        [
            {"type": "function_result", "call_id": "int-1", "name": "weather-lookup", "result": {"temp": 3}},
            {
                "type": "function_result",
                "call_id": "int-2",
                "name": "shipment_create",
                "result": "timeout: no answer in 5 s",
                "is_error": True,
            },
        ],
    ),
    (
        "LangChain",
        load("langchain/ai_message_two_calls.json"),
        [OK, FAILED],
        [
            {
                "type": "tool",
                "content": '{"temp": 3}',
                "tool_call_id": "lc-1",
                "name": "weather-lookup",
                "status": "success",
            },
            {
                "type": "tool",
                "content": "timeout: no answer in 5 s",
                "tool_call_id": "lc-2",
                "name": "shipment_create",
                "status": "error",
            },
        ],
    ),
    (
        "MCP, the JSON-RPC id being elsewhere",
        load("mcp/call_request.json"),
        [OK],
        [
            {
                "content": [{"type": "text", "text": '{"temp": 3}'}],
                "isError": False,
                "resultType": "complete",
                "structuredContent": {"temp": 3},
            }
        ],
    ),
    (
        "MCP, whole JSON-RPC",
        [
            {"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "x"}},
            {"jsonrpc": "2.0", "id": "six", "method": "tools/call", "params": {"name": "x"}},
        ],
        [TEXT, FAILED],
        [
            {
                "jsonrpc": "2.0",
                "id": 6,
                "result": {"content": [{"type": "text", "text": "rain"}], "isError": False, "resultType": "complete"},
            },
            {
                "jsonrpc": "2.0",
                "id": "six",
                "result": {
                    "content": [{"type": "text", "text": "timeout: no answer in 5 s"}],
                    "isError": True,
                    "resultType": "complete",
                },
            },
        ],
    ),
    (
        "MCP sampling",
        load("mcp/sampling_tool_use.json"),
        [TEXT, FAILED],
        [
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "toolUseId": "su-1",
                        "content": [{"type": "text", "text": "rain"}],
                        "isError": False,
                    },
                    {
                        "type": "tool_result",
                        "toolUseId": "su-2",
                        "content": [{"type": "text", "text": "timeout: no answer in 5 s"}],
                        "isError": True,
                    },
                ],
            }
        ],
    ),
    (
        "Bedrock",
        {"content": [{"toolUse": {"toolUseId": name, "name": "x", "input": {}}} for name in ("b1", "b2", "b3", "b4")]},
        [{"output": [1, 2]}, {"output": "42"}, OK, FAILED],
        [
            {
                "role": "user",
                "content": [
                    {"toolResult": {"toolUseId": "b1", "content": [{"text": "[1, 2]"}], "status": "success"}},
                    {"toolResult": {"toolUseId": "b2", "content": [{"text": "42"}], "status": "success"}},
                    {"toolResult": {"toolUseId": "b3", "content": [{"json": {"temp": 3}}], "status": "success"}},
                    {
                        "toolResult": {
                            "toolUseId": "b4",
                            "content": [{"text": "timeout: no answer in 5 s"}],
                            "status": "error",
                        }
                    },
                ],
            }
        ],
    ),
    (
        "no known format",
        [{"name": "x", "parameters": {}, "id": "c"}, {"name": "y", "parameters": {}}],
        [TEXT, FAILED],
        [
            {"tool_call_id": "c", "name": "x", "content": "rain", "is_error": False},
            {"tool_call_id": "tc_1", "name": "y", "content": "timeout: no answer in 5 s", "is_error": True},
        ],
    ),
]


@pytest.mark.parametrize(
    ("message", "outcomes", "answer"), [case[1:] for case in ROUND_TRIPS], ids=[case[0] for case in ROUND_TRIPS]
)
def test_results_go_back_in_the_shape_their_calls_came_in(
    message: Any, outcomes: list[dict[str, Any]], answer: list[dict[str, Any]]
) -> None:
    assert answer == round_trip(message, *outcomes)


def test_a_failure_of_openais_own_tools_is_told_where_each_has_a_place_for_it() -> None:
    shell, patch, computer, told, local = round_trip(load("openai_responses/client_builtin_tools.json"), *[FAILED] * 4)
    search, told_too = round_trip(load("openai_responses/tool_search.json"), FAILED)

    said = "timeout: no answer in 5 s"
    assert [{"stdout": "", "stderr": said, "outcome": {"type": "timeout"}}] == shell["output"]
    assert ("failed", said) == (patch["status"], patch["output"])
    assert computer["output"]["type"] == "computer_screenshot"
    assert f"Error: {said}" == local["output"]
    assert search["tools"] == []
    apology = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": f"Error: {said}"}]}
    assert apology == told == told_too


def test_a_shell_that_failed_otherwise_has_an_exit_code() -> None:
    (call,) = read_calls({"output": [{"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}}]})

    (item,) = format_results([answered(call, 0, error="boom").model_copy(update={"error_category": None})])

    assert item["output"] == [{"stdout": "", "stderr": "boom", "outcome": {"type": "exit", "exit_code": 1}}]


def test_a_computer_tool_decides_which_safety_checks_it_acknowledges() -> None:
    message = {"output": [{"type": "computer_call", "call_id": "c", "pending_safety_checks": [{"id": "s"}]}]}

    (plain,) = round_trip(message, {"output": {"image_url": "https://x/y.png"}})
    (acknowledged,) = round_trip(message, {"output": {"file_id": "f", "acknowledged_safety_checks": [{"id": "s"}]}})

    assert plain["output"] == {"type": "computer_screenshot", "image_url": "https://x/y.png"}
    assert "acknowledged_safety_checks" not in plain
    assert acknowledged["output"] == {"type": "computer_screenshot", "file_id": "f"}
    assert acknowledged["acknowledged_safety_checks"] == [{"id": "s"}]


@pytest.mark.parametrize("wire", ["weather_lookup", "default_api.weather_lookup"])
def test_the_answer_names_the_tool_as_the_model_did(wire: str) -> None:
    (content,) = round_trip([{"functionCall": {"name": wire}}], TEXT, names={"weather_lookup": "weather/lookup"})

    assert wire == content["parts"][0]["functionResponse"]["name"]


ERRORS = [
    ("bad city", ErrorCategory.EXECUTION, "execution: bad city"),
    ("bad city", None, "bad city"),
    ("", ErrorCategory.TIMEOUT, "timeout: the tool failed and did not say why"),
    (" ", None, "the tool failed and did not say why"),
    ("half \ud800", None, "half \ufffd"),
]


@pytest.mark.parametrize(("error", "category", "text"), ERRORS)
def test_an_error_result_is_never_empty(error: str, category: ErrorCategory | None, text: str) -> None:
    result = NormalizedToolResult.model_construct(
        tool_call_id="tc", tool_name="x", success=False, error=error, error_category=category
    )

    (message,) = format_results([result], "anthropic")

    assert [{"type": "tool_result", "tool_use_id": "tc", "content": text, "is_error": True}] == message["content"]


def result_of(output: Any) -> NormalizedToolResult:
    return NormalizedToolResult(tool_call_id="tc", tool_name="x", success=True, output=output)


GEMINI: list[tuple[Any, dict[str, Any]]] = [
    ([{"a": 1}], {"output": [{"a": 1}]}),
    ("rain", {"output": "rain"}),
    (7, {"output": 7}),
    (None, {"output": None}),
    ({"temp": 3}, {"temp": 3}),
    ({}, {}),
    ('[{"a":1}]', {"output": '[{"a":1}]'}),
    ({"error": "is data here"}, {"output": {"error": "is data here"}}),
    ({"output": 1, "more": 2}, {"output": {"output": 1, "more": 2}}),
]


@pytest.mark.parametrize(("output", "response"), GEMINI)
def test_gemini_gets_an_object_whose_meaning_is_not_changed(output: Any, response: dict[str, Any]) -> None:
    (content,) = format_results([result_of(output)], ProviderFormat.GEMINI)

    assert response == content["parts"][0]["functionResponse"]["response"]


@dataclass
class Point:
    x: int
    y: float


class Color(Enum):
    RED = "red"


class Forecast(pydantic.BaseModel):
    at: datetime
    temp: Decimal


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LOOP: list[Any] = []
LOOP.append(LOOP)

OUTPUTS: list[tuple[Any, str]] = [
    (None, "null"),
    ("", ""),
    ("r\u00e9sum\u00e9", "r\u00e9sum\u00e9"),
    (True, "true"),
    (7, "7"),
    (2**70, str(2**70)),
    (10**5000, hex(10**5000)),
    (1.5, "1.5"),
    ({"t": "\u00e5"}, '{"t": "\u00e5"}'),
    ([1, None], "[1, null]"),
    ((1, 2), "[1, 2]"),
    ({"b", "a"}, '["a", "b"]'),
    ({7: "seven", None: 1, True: 2}, '{"7": "seven", "null": 1, "true": 2}'),
    (float("nan"), "nan"),
    ({"ratio": float("inf")}, '{"ratio": "inf"}'),
    (b"text", "text"),
    (b"\xff\x00", "/wA="),
    ("half \ud800", "half \ufffd"),
    ({"half \ud800": 1}, '{"half \ufffd": 1}'),
    (NOON, "2026-01-02T12:00:00Z"),
    (timedelta(seconds=90), "PT1M30S"),
    (Decimal("10.10"), "10.10"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Color.RED, "red"),
    (Point(1, 2.5), '{"x": 1, "y": 2.5}'),
    (Point(1, float("nan")), '{"x": 1, "y": "nan"}'),
    (Forecast(at=NOON, temp=Decimal("1.0")), '{"at": "2026-01-02T12:00:00Z", "temp": "1.0"}'),
    (ValueError("boom"), "boom"),
]


@pytest.mark.parametrize(("output", "text"), OUTPUTS, ids=range(len(OUTPUTS)))
def test_any_output_becomes_text(output: Any, text: str) -> None:
    (message,) = format_results([result_of(output)], ProviderFormat.OPENAI)

    assert text == message["content"]


@pytest.mark.parametrize("provider_format", list(ProviderFormat))
@pytest.mark.parametrize("output", [Unprintable(), LOOP, {"a": [Unprintable()]}, print, iter([1])], ids=range(5))
def test_no_output_makes_an_answer_that_cannot_be_sent(output: Any, provider_format: ProviderFormat) -> None:
    messages = format_results([result_of(output)], provider_format)

    assert messages == json.loads(json.dumps(messages, allow_nan=False))
    assert "0x" not in json.dumps(messages)


@pytest.mark.parametrize("provider_format", [None, *ProviderFormat])
def test_no_results_are_no_messages(provider_format: ProviderFormat | None) -> None:
    assert format_results([], provider_format) == []


def test_results_may_come_as_an_iterator() -> None:
    assert format_results([result_of(1)]) == format_results(iter([result_of(1)]))


@pytest.mark.parametrize("rows", [lambda results: results, iter])
def test_two_results_of_one_call_are_refused(rows: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidResultsError, match="two results for 'tc'"):
        format_results(rows([result_of(1), result_of(2)]), "openai")


def test_results_of_several_formats_need_a_format_to_write() -> None:
    chat = result_of(1).model_copy(update={"provider_format": ProviderFormat.OPENAI, "tool_call_id": "tc_1"})
    results = [chat, result_of(2)]

    with pytest.raises(InvalidResultsError, match=r"several formats \(openai, unknown\)"):
        format_results(results)
    assert len(format_results(results, ProviderFormat.OPENAI)) == 2


def test_another_format_is_refused() -> None:
    with pytest.raises(UnknownProviderFormatError, match="provider_format"):
        format_results([], "no such")


@pytest.mark.parametrize("max_bytes", [None, 1000])
@pytest.mark.parametrize("provider_format", list(ProviderFormat))
def test_an_iterator_is_read_once(provider_format: ProviderFormat, max_bytes: int | None) -> None:
    result = result_of(number for number in range(3))

    messages = format_results([result], provider_format, max_bytes=max_bytes)

    assert messages == format_results([result_of([0, 1, 2])], provider_format)


BOOM = {"content": [{"type": "text", "text": "boom"}], "isError": True}
TOLD: dict[str, dict[str, Any]] = {
    "openai": {"role": "tool", "tool_call_id": "tc", "content": "Error: execution: boom"},
    "anthropic": {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "tc", "content": "execution: boom", "is_error": True},
        ],
    },
    "mcp": {
        "content": [{"type": "text", "text": "execution: boom"}],
        "isError": True,
        "resultType": "complete",
    },
}


@pytest.mark.parametrize(("provider_format", "message"), TOLD.items(), ids=TOLD)
def test_an_output_that_is_a_failed_call_tool_result_is_told_as_a_failure(
    provider_format: str, message: dict[str, Any]
) -> None:
    assert [message] == format_results([result_of(BOOM)], provider_format)
