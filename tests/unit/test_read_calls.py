"""Whole messages beyond the corpus: dialects, lists, names, and turns that ended in a way that forbids to run calls."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.payloads import Slotted, load
from toolrelay import read_calls
from toolrelay.errors import InvalidPayloadError, UnknownProviderFormatError
from toolrelay.models import CallKind, ProviderFormat
from toolrelay.streams import StreamAssembler
from toolrelay.translate import read_call


def function(name: Any = "x", arguments: Any = "{}", **members: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **members}


def chat(*calls: dict[str, Any], **choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "tool_calls": list(calls)}, **choice}]}


DIALECTS: list[tuple[str, Any, str, list[tuple[str, Any, Any]]]] = [
    (
        "Ollama: arguments as objects, no ids, no types",
        {
            "message": {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"function": {"name": "a", "arguments": {"n": 1}}},
                    {"function": {"name": "b", "index": 1, "arguments": {}}},
                ],
            },
            "done": True,
            "done_reason": "stop",
        },
        "openai",
        [("a", {"n": 1}, None), ("b", {}, None)],
    ),
    ("empty and repeated ids", chat(function(id=""), function(id="c"), function(id="c")), "openai",
     [("x", {}, None), ("x", {}, "c"), ("x", {}, "c")]),
    ("an id that is a number", chat(function(id=7)), "openai", [("x", {}, "7")]),
    ("null tool_calls", {"choices": [{"message": {"content": "hi", "tool_calls": None}}]}, "openai", []),
    ("null choices' message", {"choices": [{"message": None}, None]}, "openai", []),
    ("a message's author is no call", {"role": "assistant", "name": "bot", "content": "hi"}, "openai", []),
    ("the deprecated field beside its successor",
     {"role": "assistant", "function_call": {"name": "x", "arguments": "{}"}, "tool_calls": [function(id="c")]},
     "openai", [("x", {}, "c")]),
    ("a single wrapped call", function(id="c"), "openai", [("x", {}, "c")]),
    ("a single flat call", {"name": "x", "arguments": "{}"}, "openai", [("x", {}, None)]),
    ("a single unknown call", {"name": "x", "parameters": {"a": 1}}, "unknown", [("x", {"a": 1}, None)]),
    ("a Responses item", {"type": "function_call", "id": "fc", "call_id": "c", "name": "x", "arguments": "{}"},
     "openai_responses", [("x", {}, "c")]),
    ("the last event of a Responses stream",
     {"type": "response.completed", "response": {"output": [{"type": "function_call", "call_id": "c", "name": "x"}]}},
     "openai_responses", [("x", {}, "c")]),
    ("a namespace that is the tool's own name",
     {"type": "function_call", "call_id": "c", "name": "x", "namespace": "x", "arguments": ""},
     "openai_responses", [("x", {}, "c")]),
    ("an Anthropic block", {"type": "tool_use", "id": "t", "name": "x", "input": {}}, "anthropic", [("x", {}, "t")]),
    ("an Anthropic message without a stop reason",
     {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x", "input": {}}]},
     "anthropic", [("x", {}, "t")]),
    ("a Gemini content", {"role": "model", "parts": [{"functionCall": {"name": "x"}}, {"text": "hi"}]},
     "gemini", [("x", {}, None)]),
    ("a Gemini candidate", {"content": {"parts": [{"functionCall": {"name": "x", "id": "g"}}]}, "finishReason": "STOP"},
     "gemini", [("x", {}, "g")]),
    ("a Gemini Live message", {"toolCall": {"functionCalls": [{"id": "l", "name": "x", "args": {"a": 1}}]}},
     "gemini", [("x", {"a": 1}, "l")]),
    ("a Gemini part that Google runs", {"toolCall": {"id": "t", "toolType": "URL_CONTEXT", "args": {}}}, "gemini", []),
    ("a Converse response",
     {
         "output": {
             "message": {
                 "role": "assistant",
                 "content": [
                     {"text": "Looking."},
                     {"toolUse": {"toolUseId": "b1", "name": "x", "input": {"a": 1}}},
                     {"toolUse": {"toolUseId": "b2", "name": "hosted", "input": {}, "type": "server_tool_use"}},
                     {"toolUse": {"toolUseId": "b3", "name": "y", "input": {}}},
                 ],
             }
         },
         "stopReason": "tool_use",
         "usage": {},
     },
     "bedrock", [("x", {"a": 1}, "b1"), ("y", {}, "b3")]),
    ("a Converse message", {"role": "assistant", "content": [{"toolUse": {"toolUseId": "b", "name": "x"}}]},
     "bedrock", [("x", {}, "b")]),
    ("a JSON-RPC request", {"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "x"}},
     "mcp", [("x", {}, "6")]),
    ("another JSON-RPC request", {"jsonrpc": "2.0", "id": 6, "method": "tools/list", "params": {}}, "mcp", []),
    ("a dumped LangChain message", {"type": "ai", "data": {"tool_calls": [{"name": "x", "args": {}, "id": "l"}]}},
     "langchain", [("x", {}, "l")]),
    ("a LangChain call in three places",
     {
         "type": "ai",
         "content": [{"type": "tool_use", "id": "l", "name": "x", "input": {}}],
         "tool_calls": [{"name": "x", "args": {}, "id": "l"}],
         "additional_kwargs": {"tool_calls": [function(id="l")]},
     },
     "langchain", [("x", {}, "l")]),
    ("a LangChain call only in its raw place",
     {"type": "ai", "content": "", "tool_calls": [], "additional_kwargs": {"tool_calls": [function(id="l")]}},
     "langchain", [("x", {}, "l")]),
    ("a LangChain call only in a content block",
     {"type": "ai", "content": ["text", {"type": "tool_call", "id": "l", "name": "x", "args": {}}], "tool_calls": []},
     "langchain", [("x", {}, "l")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("message", "provider_format", "calls"), [case[1:] for case in DIALECTS], ids=[case[0] for case in DIALECTS]
)
def test_dialects_are_understood(message: Any, provider_format: str, calls: list[tuple[str, Any, Any]]) -> None:
    read = read_calls(message)

    assert calls == [(call.tool_name, call.arguments, call.provider_call_id) for call in read]
    assert {ProviderFormat(provider_format)} >= {call.provider_format for call in read}
    assert not any(call.problem for call in read)


def blocks(*names: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": name, "name": name, "input": {}} for name in names]


def items(*names: str, **members: Any) -> list[dict[str, Any]]:
    return [{"type": "function_call", "call_id": name, "name": name, "arguments": "{}", **members} for name in names]


def parts(*names: str) -> list[dict[str, Any]]:
    return [{"functionCall": {"name": name}} for name in names]


def uses(*names: str) -> list[dict[str, Any]]:
    return [{"toolUse": {"toolUseId": name, "name": name, "input": {}}} for name in names]


ENDINGS: list[tuple[Any, list[str], list[str]]] = [
    # message, calls that may run, calls that must not
    (chat(function("a"), function("b"), finish_reason="tool_calls"), ["a", "b"], []),
    (chat(function("a"), function("b"), finish_reason="stop"), ["a", "b"], []),
    (chat(function("a"), function("b"), finish_reason="length"), ["a"], ["b"]),
    (chat(function("a"), function("b"), finish_reason="content_filter"), ["a"], ["b"]),
    ({"message": {"tool_calls": [function("a")]}, "done_reason": "length"}, [], ["a"]),
    ({"content": blocks("a", "b"), "stop_reason": "tool_use"}, ["a", "b"], []),
    ({"content": blocks("a", "b"), "stop_reason": None}, ["a", "b"], []),
    ({"content": blocks("a", "b"), "stop_reason": "max_tokens"}, [], ["a", "b"]),
    ({"content": blocks("a"), "stop_reason": "end_turn"}, [], ["a"]),
    ({"content": blocks("a"), "stop_reason": "refusal"}, [], ["a"]),
    ({"content": blocks("a"), "stop_reason": "something new"}, [], ["a"]),
    ({"content": blocks("a"), "stop_reason": "pause_turn"}, [], []),
    ({"content": blocks("a"), "stop_reason": "compaction"}, [], []),
    ({"content": blocks("a", "b"), "stopReason": "maxTokens"}, ["a"], ["b"]),
    ({"output": items("a", "b"), "status": "completed"}, ["a", "b"], []),
    ({"output": items("a", "b"), "status": "incomplete"}, ["a"], ["b"]),
    ({"output": items("a", status="completed"), "status": "incomplete"}, ["a"], []),
    ({"output": items("a", status="incomplete")}, [], ["a"]),
    ({"output": items("a", status="in_progress")}, [], ["a"]),
    ({"output": items("a", "b"), "status": "failed"}, [], ["a", "b"]),
    ({"candidates": [{"content": {"parts": parts("a", "b")}, "finishReason": "MAX_TOKENS"}]}, ["a"], ["b"]),
    ({"candidates": [{"content": {"parts": parts("a")}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}, [], ["a"]),
    ({"output": {"message": {"content": uses("a", "b")}}, "stopReason": "max_tokens"}, [], ["a", "b"]),
    ({"output": {"message": {"content": uses("a")}}, "stopReason": "end_turn"}, ["a"], []),
    (
        {"steps": [{"type": "function_call", "id": "a", "name": "a", "arguments": {}}], "status": "incomplete"},
        [],
        ["a"],
    ),
    ({"steps": [{"type": "function_call", "id": "a", "name": "a", "arguments": {}}], "status": "failed"}, [], ["a"]),
    (
        {
            "type": "ai",
            "tool_calls": [{"name": "a", "args": {}}, {"name": "b", "args": {}}],
            "response_metadata": {"finish_reason": "length"},
        },
        ["a"],
        ["b"],
    ),
]


@pytest.mark.parametrize(("message", "whole", "cut"), ENDINGS)
def test_what_the_turns_end_forbids_is_a_truncated_call(message: Any, whole: list[str], cut: list[str]) -> None:
    calls = read_calls(message)

    assert whole == [call.tool_name for call in calls if call.problem is None]
    assert cut == [call.tool_name for call in calls if call.problem is not None]
    assert {"truncated"} >= {str(call.problem.kind) for call in calls if call.problem}


WHY = [
    ({"content": blocks("a"), "stop_reason": "refusal"}, "was not run: the turn ended with stop_reason 'refusal'"),
    (
        {"content": blocks("a"), "stop_reason": "max_tokens"},
        "may be truncated: the turn ended with stop_reason 'max_tokens'",
    ),
    (
        {"output": {"message": {"content": uses("a")}}, "stopReason": "content_filtered"},
        "was not run: the turn ended with stopReason 'content_filtered'",
    ),
    (
        {"output": {"message": {"content": uses("a")}}, "stopReason": "max_tokens"},
        "may be truncated: the turn ended with stopReason 'max_tokens'",
    ),
    (chat(function("a"), finish_reason="error"), "was not run: the turn ended with finish_reason 'error'"),
    (
        chat(function("a"), finish_reason="length"),
        "is truncated: the model was stopped (length) while it wrote it",
    ),
    ({"output": items("a"), "status": "failed"}, "was not run: the turn ended with status 'failed'"),
    (
        {"candidates": [{"content": {"parts": parts("a")}, "finishReason": "SAFETY"}]},
        "was not run: the turn ended with finishReason 'SAFETY'",
    ),
    (
        {"steps": [{"type": "function_call", "id": "a", "name": "a", "arguments": {}}], "status": "failed"},
        "was not run: the turn ended with status 'failed'",
    ),
    (
        {"type": "ai", "tool_calls": [{"name": "a", "args": {}}], "response_metadata": {"stop_reason": "refusal"}},
        "was not run: the turn ended with reason 'refusal'",
    ),
    (
        {"content": blocks("a"), "stopReason": "maxTokens"},
        "is truncated: the model was stopped (maxTokens) while it wrote it",
    ),
]


@pytest.mark.parametrize(("message", "why"), WHY)
def test_a_model_is_told_in_its_providers_word_why_its_call_was_not_run(message: Any, why: str) -> None:
    (call,) = read_calls(message)

    assert call.problem is not None
    assert call.problem.message.startswith(f"the call {why}")


def test_one_bad_call_costs_its_siblings_nothing() -> None:
    calls = read_calls(
        chat(
            function("good", '{"a": 1}', id="1"),
            function(None, id="2"),
            function("", id="3"),
            function("bad", "[1]", id="4"),
            {"type": "function", "id": "5"},
            "not even a dict",  # type: ignore[arg-type]  # what a broken server sends
            function("last", "{}", id="6"),
        )
    )

    problems = [None if call.problem is None else str(call.problem.kind) for call in calls]
    assert problems == [None, "no_name", "no_name", "not_an_object", "no_name", "no_name", None]
    assert [call.tool_name for call in calls] == ["good", "", "", "bad", "", "", "last"]
    assert [call.provider_call_id for call in calls] == ["1", "2", "3", "4", "5", None, "6"]


def test_a_langchain_message_keeps_the_models_order_of_good_and_bad_calls() -> None:
    calls = read_calls(
        {
            "type": "ai",
            "tool_calls": [{"name": "b", "args": {}, "id": "2"}],
            "invalid_tool_calls": [{"name": "a", "args": "{oops", "id": "1", "error": "no JSON"}],
            "additional_kwargs": {"tool_calls": [function("a", "{oops", id="1"), function("b", id="2")]},
        }
    )

    assert [call.tool_name for call in calls] == ["a", "b"]
    assert calls[0].problem is not None
    assert (calls[0].problem.kind, calls[0].problem.raw_arguments) == ("invalid_json", "{oops")
    assert "no JSON" in calls[0].problem.message


HISTORIES: list[tuple[str, list[Any], list[str]]] = [
    ("calls", [function("a"), function("b")], ["a", "b"]),
    ("blocks", [{"type": "text", "text": "hi"}, *blocks("a"), {"type": "thinking", "thinking": ""}], ["a"]),
    ("items", [{"type": "reasoning"}, *items("a"), {"type": "web_search_call"}], ["a"]),
    ("parts", [{"text": "hi"}, *parts("a"), {"executableCode": {"code": "1"}}], ["a"]),
    ("several formats", [function("a"), *blocks("b"), *parts("c")], ["a", "b", "c"]),
    (
        "a Chat conversation",
        [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "tool_calls": [function("a", id="c"), function("b", id="d")]},
            {"role": "tool", "tool_call_id": "c", "content": "1"},
            {"role": "tool", "tool_call_id": "d", "content": "2"},
            {"role": "assistant", "tool_calls": [function("again", id="c")]},
        ],
        ["again"],
    ),
    (
        "an Anthropic conversation",
        [
            {"role": "assistant", "content": blocks("a", "b")},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": ""}]},
        ],
        ["a"],
    ),
    ("Responses items", [*items("a", "b"), {"type": "function_call_output", "call_id": "a", "output": ""}], ["b"]),
    (
        "a Gemini conversation without ids",
        [
            {"role": "model", "parts": parts("a", "a")},
            {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {}}}]},
        ],
        ["a"],
    ),
    (
        "a Converse conversation",
        [
            {"role": "assistant", "content": uses("a", "b")},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": []}}]},
        ],
        ["b"],
    ),
    ("an empty list", [], []),
]


@pytest.mark.parametrize(("messages", "names"), [case[1:] for case in HISTORIES], ids=[case[0] for case in HISTORIES])
def test_a_list_is_read_in_order_without_the_calls_that_it_answers(messages: list[Any], names: list[str]) -> None:
    assert names == [call.tool_name for call in read_calls(messages)]
    assert names == [call.tool_name for call in read_calls(json.dumps(messages))]


def test_a_call_knows_its_candidate() -> None:
    candidates = [{"index": index, "content": {"parts": parts("a")}} for index in (1, 0, None)]

    calls = read_calls({"candidates": candidates})

    assert [call.provider_metadata["choice"] for call in calls] == [1, 0, 2]


def test_a_type_that_is_no_text_is_said_in_a_line_however_deep_it_goes() -> None:
    kind: list[Any] = []
    for _ in range(3000):
        kind = [kind]

    with pytest.raises(InvalidPayloadError, match="the payload, of type None, is not a call that the client runs"):
        read_call({"type": kind, "name": "a", "input": {}}, "anthropic")


def test_an_answer_in_an_answer_is_none_however_deep_it_goes() -> None:
    message: dict[str, Any] = {"content": [{"type": "tool_use", "id": "1", "name": "a", "input": {}}]}
    for _ in range(3000):
        message = {"content": [], "result": message}

    assert read_calls({"jsonrpc": "2.0", "id": 1, "result": message}) == []
    assert read_calls({"jsonrpc": "2.0", "id": 1, "result": message}, "mcp") == []
    for _ in range(3000):
        message = message["result"]
    assert [call.tool_name for call in read_calls({"jsonrpc": "2.0", "id": 1, "result": message})] == ["a"]


@pytest.mark.parametrize("fault", [TypeError, ValueError, AttributeError, KeyError, RecursionError])
def test_an_object_that_cannot_give_its_members_is_no_message(fault: type[Exception]) -> None:
    class Broken:
        def __init__(self) -> None:
            self.tool_calls = [function("a")]

        def model_dump(self, **_: Any) -> dict[str, Any]:
            raise fault("a member cannot be written")

    with pytest.raises(InvalidPayloadError, match="the message is of type Broken; pass the provider's response"):
        read_calls(Broken())
    with pytest.raises(InvalidPayloadError, match=r"entry 1 of the list is of type Broken"):
        read_calls([chat(function("a")), Broken()])
    (call,) = read_calls({"tool_calls": [function("a", {"b": Broken()})]})
    assert call.problem is not None
    assert "the value at /b is of type Broken" in call.problem.message


def test_a_stream_whose_event_cannot_give_its_members_doubts_the_call_that_is_being_written() -> None:
    class Broken:
        def model_dump(self) -> dict[str, Any]:
            raise ValueError("a member cannot be written")

    def chunk(**entry: Any) -> dict[str, Any]:
        return {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": entry}]}}]}

    stream = StreamAssembler("openai")
    given = [stream.feed(event) for event in (chunk(name="a", arguments='{"b": '), Broken(), chunk(arguments="1}"))]

    (call,) = stream.close()
    assert given == [[], [], []]
    assert call.problem is not None
    assert "could not be read" in call.problem.message


def test_an_mcp_request_that_was_taken_back_must_not_run() -> None:
    def request(identity: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": {"name": "a", "arguments": {}}}

    def cancelled(**params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}

    live = {"toolCall": {"functionCalls": [{"id": 1, "name": "g"}, {"name": "h"}]}}
    lines = [request(1), request("1"), request(2), live, cancelled(requestId=1), cancelled(), cancelled(requestId=[])]

    calls = read_calls(lines)

    assert [(call.tool_name, call.problem and str(call.problem.kind)) for call in calls] == [
        ("a", "cancelled"),
        ("a", None),
        ("a", None),
        ("g", None),
        ("h", None),
    ]
    assert [call.provider_metadata.get("cancelled") for call in calls] == [True, None, None, None, None]


def test_a_call_that_gemini_live_takes_back_must_not_run() -> None:
    lines = [
        {"toolCall": {"functionCalls": [{"id": "1", "name": "a"}, {"id": "2", "name": "b"}]}},
        {"toolCallCancellation": {"ids": ["2"]}},
    ]

    kept, cancelled = read_calls(lines)

    assert kept.problem is None
    assert cancelled.problem is not None
    assert (cancelled.problem.kind, cancelled.problem.category) == ("cancelled", "cancelled")
    assert cancelled.provider_metadata["cancelled"] is True


NAMES = [
    ("weather_lookup", "weather_lookup", False),
    ("functions.weather_lookup", "weather_lookup", True),
    ("default_api.weather_lookup", "weather_lookup", True),
    ("default_api:weather_lookup", "weather_lookup", True),
    ("weather_lookup<|channel|>commentary", "weather_lookup", True),
    (" weather_lookup ", "weather_lookup", True),
    ("functions.", "functions.", False),
    ("<|channel|>", "<|channel|>", False),
    ("my.functions.x", "my.functions.x", False),
    ("weather/lookup", "weather/lookup", False),
]


@pytest.mark.parametrize(("wire", "name", "is_repaired"), NAMES)
def test_what_models_put_around_names_is_taken_off(wire: str, name: str, is_repaired: bool) -> None:
    (call,) = read_calls(chat(function(wire)))

    assert name == call.tool_name
    assert (["tool_name"] if is_repaired else []) == [repair.kind for repair in call.repairs]
    assert (wire if is_repaired else None) == call.provider_metadata.get("wire_name")


class Decoder:
    """A name map that gives back what it does not know."""

    def decode(self, wire_name: str, /) -> str:
        return {"weather_lookup": "weather/lookup", "functions.odd": "odd"}.get(wire_name, wire_name)


class Strict:
    """A name map that refuses what it does not know."""

    def decode(self, wire_name: str, /) -> str:
        return {"weather_lookup": "weather/lookup", "functions.odd": "odd"}[wire_name]


@pytest.mark.parametrize("names", [{"weather_lookup": "weather/lookup", "functions.odd": "odd"}, Decoder(), Strict()])
@pytest.mark.parametrize(
    ("wire", "name", "repairs"),
    [
        ("weather_lookup", "weather/lookup", 0),
        ("default_api.weather_lookup", "weather/lookup", 1),
        ("functions.odd", "odd", 0),  # the exact name comes first
        ("stranger", "stranger", 0),
    ],
)
def test_a_name_map_turns_wire_names_back(names: Any, wire: str, name: str, repairs: int) -> None:
    (call,) = read_calls(chat(function(wire)), names=names)

    assert (name, repairs) == (call.tool_name, len(call.repairs))
    assert (None if wire == name else wire) == call.provider_metadata.get("wire_name")


def test_a_name_that_no_language_can_write_is_made_writable() -> None:
    (call,) = read_calls(chat(function("a\ud800", id="\udfff")))

    assert (call.tool_name, call.provider_call_id) == ("a\ufffd", "\ufffd")


def test_the_model_is_kept_and_the_raw_call_stays_beside() -> None:
    message = load("openai_chat/single_call.json")

    (call,) = read_calls(message)

    assert call.provider_metadata["model"] == "gpt-5.6-terra"
    assert message["choices"][0]["message"]["tool_calls"][0] is call.raw


def test_objects_with_slots_are_read() -> None:
    (call,) = read_calls(Slotted([SimpleNamespace(message=SimpleNamespace(tool_calls=[function("x")]))], "m"))

    assert (call.tool_name, call.provider_metadata["model"]) == ("x", "m")


def test_an_action_of_an_sdk_object_has_no_nulls_for_members_that_are_not_there() -> None:
    (call,) = read_calls(
        {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["ls"], "user": None}}
    )

    assert (call.kind, call.arguments) == (CallKind.LOCAL_SHELL, {"type": "exec", "command": ["ls"]})


def test_a_bare_computer_action_keeps_its_safety_checks() -> None:
    checks = [{"id": "s", "code": "c", "message": "m"}]

    (call,) = read_calls(
        {"type": "computer_call", "call_id": "c", "action": {"type": "wait"}, "pending_safety_checks": checks}
    )

    assert ({"action": {"type": "wait"}}, checks) == (call.arguments, call.provider_metadata["pending_safety_checks"])


BAD: list[tuple[Any, str]] = [
    ("", "is empty"),
    ("hello", "not valid JSON"),
    ('{"a":', "not valid JSON"),
    (b"\xff\xfe\xff", "not valid JSON"),
    ("7", "of type int"),
    ('"text"', "of type str"),
    ("null", "null"),
    ("true", "of type bool"),
    ("[" * 100_000, "nested too deep"),
    (None, "null"),
    (7, "of type int"),
    (object(), "of type object"),
    (print, "of type builtin_function_or_method"),
    ([1], "entry 0 of the list is of type int"),
    ([[]], "entry 0 of the list is of type list"),
    ({}, "none"),
    ({"foo": 1}, "'foo'"),
    ([{"foo": 1}], "the 1 in the list"),
    ('[{"foo": 1}, {"bar": 2}]', "the 2 in the list"),
    (ValueError("no message"), "none"),
]


@pytest.mark.parametrize(("message", "words"), BAD, ids=range(len(BAD)))
def test_what_is_no_message_is_refused_with_what_it_is_and_what_to_pass(message: Any, words: str) -> None:
    with pytest.raises(InvalidPayloadError, match=r"(?s).*the provider's response") as caught:
        read_calls(message)

    assert words in str(caught.value)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UnknownProviderFormatError, match="provider_format"):
        read_calls({}, "no such")


@pytest.mark.parametrize("provider_format", list(ProviderFormat))
@pytest.mark.parametrize(
    "message",
    [
        {},
        {"choices": 7, "tool_calls": 7, "content": 7, "output": 7, "candidates": 7, "steps": 7, "message": 7},
        {"choices": [7], "tool_calls": [7], "content": [7], "output": [7], "candidates": [7], "steps": [7]},
        {"content": [{"type": []}], "output": [{"type": {}}], "steps": [{"type": None}], "type": []},
        {"candidates": [{"content": {"parts": 7}, "finishReason": {}}], "stop_reason": [], "status": {}},
    ],
)
def test_no_shape_of_a_message_raises_anything_else(message: Any, provider_format: ProviderFormat) -> None:
    assert all(call.problem for call in read_calls(message, provider_format))


def test_an_absurd_number_in_json_text_costs_only_its_own_call() -> None:
    text = '{"content": [{"type": "tool_use", "name": "a", "input": {"n": %s}}, {"type": "tool_use", "name": "b"}]}'

    bad, good = read_calls(text % ("9" * 5000))

    assert bad.problem is not None
    assert "digits" in bad.problem.message
    assert good.problem is None
