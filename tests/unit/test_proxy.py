"""The way out: calls written in a provider's shape, whole and streamed, are read back as the calls they were."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.payloads import WHOLE, load
from toolrelay import (
    CallKind,
    InvalidPayloadError,
    NormalizedToolRequest,
    NormalizedToolResult,
    ProblemKind,
    ProviderFormat,
    ToolSpec,
    export_tools,
    format_results,
    read_calls,
    tool_call_id,
)
from toolrelay.formats.shared.ids import IdAlphabet
from toolrelay.names import NameMap
from toolrelay.outputs import as_base64
from toolrelay.proxy import (
    FinishKind,
    PendingCalls,
    finish_reason,
    format_calls,
    read_finish,
    read_results,
    restore_signatures,
    split_text_calls,
    stream_calls,
)
from toolrelay.streams import StreamAssembler, read_stream

FORMATS = pytest.mark.parametrize("provider_format", ProviderFormat)
WITH_IDS = [each for each in ProviderFormat if each is not ProviderFormat.GEMINI]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
names = st.from_regex(r"[a-z][a-z_]{0,20}", fullmatch=True)
identities = st.from_regex(r"[a-zA-Z0-9]{1,30}", fullmatch=True)


@st.composite
def turns(draw: st.DrawFn) -> list[NormalizedToolRequest]:
    found = draw(st.lists(identities, min_size=1, max_size=4, unique=True))
    arguments = st.dictionaries(texts, values, max_size=4)
    return [
        NormalizedToolRequest(tool_name=draw(names), arguments=draw(arguments), provider_call_id=identity)
        for identity in found
    ]


def told(calls: list[NormalizedToolRequest]) -> list[Any]:
    return [
        (call.tool_name, json.dumps(call.arguments), call.provider_call_id, call.problem, call.kind) for call in calls
    ]


@FORMATS
@settings(max_examples=15)
@given(calls=turns())
def test_what_is_written_is_read_back(provider_format: ProviderFormat, calls: list[NormalizedToolRequest]) -> None:
    messages = format_calls(calls, provider_format)

    assert told(calls) == told(read_calls(json.dumps(messages), provider_format))


@FORMATS
@settings(max_examples=15)
@given(calls=turns(), size=st.integers(1, 20))
def test_what_is_streamed_is_put_together_again(
    provider_format: ProviderFormat, calls: list[NormalizedToolRequest], size: int
) -> None:
    events = stream_calls(calls, provider_format, piece_chars=size, head={"id": "r-1", "model": "m"})

    assembler = StreamAssembler(provider_format)
    found = [call for event in events for call in assembler.feed(event)]

    assert told(calls) == told(sorted(found, key=lambda call: call.sequence or 0))
    assert assembler.is_ended
    assert assembler.close() == []
    assert json.loads(json.dumps(events)) == events


@FORMATS
def test_a_turn_without_calls_is_a_stream_without_calls(provider_format: ProviderFormat) -> None:
    assert read_stream(stream_calls([], provider_format), provider_format) == []
    assert format_calls([], provider_format) == []


def test_chat_chunks_begin_with_id_type_and_name_and_end_with_the_finish_reason() -> None:
    call = NormalizedToolRequest(tool_name="clock", arguments={"a": 1}, provider_call_id="c1")

    chunks = stream_calls([call], "openai", piece_chars=5, head={"id": "chatcmpl-1", "model": "m"})

    around = {"object": "chat.completion.chunk", "id": "chatcmpl-1", "model": "m"}
    opening = {"index": 0, "id": "c1", "type": "function", "function": {"name": "clock", "arguments": ""}}
    deltas = [
        {"role": "assistant", "content": None, "tool_calls": [opening]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": " 1}"}}]},
        {},
    ]
    assert chunks == [
        {**around, "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "tool_calls"}]}
        for delta in deltas
    ]


@pytest.mark.parametrize("entry", WHOLE, ids=lambda entry: entry["file"])
def test_every_message_of_the_corpus_survives_the_way_there_and_back(entry: dict[str, Any]) -> None:
    calls = [call for call in read_calls(load(entry["file"])) if call.problem is None]
    if any("choice" in call.provider_metadata for call in calls):
        calls = calls[:1]  # alternatives are not one turn
    if not calls:
        return
    provider_format = calls[0].provider_format

    back = read_calls(format_calls(calls, provider_format), provider_format)
    streamed = read_stream(stream_calls(calls, provider_format), provider_format)

    if provider_format is ProviderFormat.MCP and calls[0].provider_call_id is None:
        return  # the id is outside of the request's object: the way back makes one up
    kept = ("namespace", "toolset", "caller", "thought_signature", "async", "legacy_function_call")
    for found in (back, streamed):
        assert told(calls) == told(found) or entry["file"] == "openai_chat/legacy_function_call.json"
    for before, after in zip(calls, back, strict=True):
        assert {key: before.provider_metadata.get(key) for key in kept} == {
            key: after.provider_metadata.get(key) for key in kept
        }


def test_a_custom_call_stays_free_text() -> None:
    call = NormalizedToolRequest(
        tool_name="run", arguments={"input": "print(1)\n{"}, provider_call_id="c", kind=CallKind.CUSTOM
    )

    for provider_format in ("openai", "openai_responses"):
        (found,) = read_stream(stream_calls([call], provider_format, piece_chars=3), provider_format)
        assert (found.kind, found.arguments) == (CallKind.CUSTOM, call.arguments)


@pytest.mark.parametrize("provider_format", WITH_IDS)
def test_a_call_without_an_id_gets_one_that_its_answer_has_too(provider_format: ProviderFormat) -> None:
    call = NormalizedToolRequest(tool_name="clock", tool_call_id=tool_call_id("plan", 0))
    result = NormalizedToolResult(tool_call_id=call.tool_call_id or "", tool_name="clock", success=True, output="noon")

    (read,) = read_calls(format_calls([call], provider_format), provider_format)
    (answer,) = format_results([result], provider_format)

    assert re.fullmatch(r"call_[0-9a-f]{24}", read.provider_call_id or "")
    if provider_format is not ProviderFormat.MCP:  # there the JSON-RPC id is kept beside the result
        assert str(read.provider_call_id) in json.dumps(answer)
    assert format_calls([call], provider_format) == format_calls([call], provider_format)


def test_gemini_is_sent_no_id_that_it_did_not_send() -> None:
    (content,) = format_calls([NormalizedToolRequest(tool_name="clock", tool_call_id=tool_call_id("p", 0))], "gemini")

    assert content == {"role": "model", "parts": [{"functionCall": {"name": "clock", "args": {}}}]}


def test_three_equal_calls_without_ids_get_three_ids() -> None:
    calls = [NormalizedToolRequest(tool_name="clock")] * 3

    (message,) = format_calls(calls, "openai")

    assert len({call["id"] for call in message["tool_calls"]}) == 3


@given(
    st.lists(st.text(min_size=1, max_size=80), unique=True, max_size=8),
    st.sampled_from(["a-zA-Z0-9_-", "a-zA-Z0-9_.:-"]),
)
def test_ids_are_rewritten_so_that_no_two_become_one(identities: list[str], characters: str) -> None:
    alphabet = IdAlphabet(characters)

    found = [alphabet.encode(identity) for identity in identities]
    found += [alphabet.encode(identity) for identity in found if identity not in identities]

    assert all(re.fullmatch(f"[{characters}]{{1,64}}", identity) for identity in found)
    assert len(set(found[: len(identities)])) == len(identities)


@pytest.mark.parametrize(
    "identity", ["functions_lookup_0", "functions.lookup:0", "esc-functions-2elookup-3a0", "a-b", "a.b"]
)
def test_an_id_that_looks_rewritten_is_told_from_one_that_was(identity: str) -> None:
    others = {"functions_lookup_0", "functions.lookup:0", "esc-functions-2elookup-3a0", "a-b", "a.b"} - {identity}
    alphabet = IdAlphabet("a-zA-Z0-9_-")

    assert alphabet.encode(identity) not in {alphabet.encode(other) for other in others}


def test_names_and_arguments_that_could_not_be_read_go_back_as_the_wire_wants_them() -> None:
    (call,) = read_calls({"tool_calls": [{"id": "c", "function": {"name": "x", "arguments": '{"a": "b'}}]})

    written = [format_calls([call], each)[0] for each in ("openai", "anthropic", "gemini", "langchain")]

    raw = {"raw_arguments": '{"a": "b'}
    assert json.loads(written[0]["tool_calls"][0]["function"]["arguments"]) == raw
    assert written[1]["content"][0]["input"] == raw
    assert written[2]["parts"][0]["functionCall"]["args"] == raw
    assert written[3]["invalid_tool_calls"][0]["args"] == '{"a": "b'


def test_a_tools_wire_name_comes_from_the_map() -> None:
    names = NameMap({"weather/lookup": "weather_lookup"})
    call = NormalizedToolRequest(tool_name="weather/lookup", provider_call_id="c")

    (message,) = format_calls([call], "openai", names=names)

    assert message["tool_calls"][0]["function"]["name"] == "weather_lookup"


def test_a_piece_has_a_size() -> None:
    with pytest.raises(ValueError, match="piece_chars must be 1 or more, got 0"):
        stream_calls([], "openai", piece_chars=0)


def test_a_proxy_finds_the_call_that_a_tool_message_answers() -> None:
    """Gemini behind a Chat client: no ids upstream, ids for the client, and the answer in Gemini's shape."""
    parts = [{"functionCall": {"name": "clock"}}, {"functionCall": {"name": "clock"}, "thoughtSignature": "c2ln"}]
    pending = PendingCalls()
    calls = pending.add(read_calls({"candidates": [{"content": {"parts": parts}}]}))
    (assistant,) = format_calls(calls, "openai")
    ids = [call["id"] for call in assistant["tool_calls"]]
    replies = [
        {"role": "tool", "tool_call_id": identity, "content": f"at {identity[-2:]}"} for identity in reversed(ids)
    ]

    results = read_results(replies, pending)
    (content,) = format_results(results, "gemini")

    assert len(set(ids)) == 2
    assert ids == list(pending)
    assert [{"name": "clock", "response": {"output": f"at {identity[-2:]}"}} for identity in reversed(ids)] == [
        part["functionResponse"] for part in content["parts"]
    ]
    assert pending.take(ids[0]).provider_call_id is None
    assert len(pending) == 1
    with pytest.raises(KeyError):
        pending.take("call_unknown")


def test_two_calls_with_one_id_are_told_apart_for_the_client() -> None:
    pending = PendingCalls()

    first, second = pending.add(
        read_calls({"tool_calls": [{"id": "call_0", "function": {"name": name}} for name in ("x", "y")]})
    )

    assert first.provider_call_id == "call_0" != second.provider_call_id
    assert pending[second.provider_call_id or ""].tool_name == "y"
    assert second.provider_metadata["provider_id"] == "call_0"


def chat_calls(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": list(calls)}


def test_an_id_that_comes_again_in_a_later_turn_is_another_call() -> None:
    """Servers that count ``call_0`` anew in every turn, behind a client that sends its whole conversation each time."""
    pending = PendingCalls()
    turns = [
        pending.add(read_calls(chat_calls({"id": "call_0", "function": {"name": name, "arguments": "{}"}})))
        for name in ("clock", "depot", "clock")
    ]
    ids = [call.provider_call_id for (call,) in turns]
    history = [{"role": "tool", "tool_call_id": identity, "content": f"of {identity}"} for identity in ids]

    results = read_results(history, pending)

    assert ids[0] == "call_0"
    assert len({*ids}) == len(pending) == 3
    assert [(result.tool_name, result.output, result.provider_call_id) for result in results] == [
        (name, f"of {identity}", "call_0") for name, identity in zip(("clock", "depot", "clock"), ids, strict=True)
    ]
    assert len({result.tool_call_id for result in results}) == 3
    assert pending.take("call_0").tool_name == "clock"
    assert (
        pending.add(read_calls(chat_calls({"id": "call_0", "function": {"name": "x"}})))[0].provider_call_id not in ids
    )


def test_results_under_one_id_answer_the_calls_that_had_it_in_order() -> None:
    pending = PendingCalls()
    for name in ("clock", "depot"):
        pending.add(read_calls(chat_calls({"id": "call_0", "function": {"name": name, "arguments": "{}"}})))
    history = [{"role": "tool", "tool_call_id": "call_0", "content": text} for text in ("noon", "full")]

    results = read_results(history, pending)

    assert [(result.tool_name, result.output) for result in results] == [("clock", "noon"), ("depot", "full")]
    assert len(format_results(results, "gemini")[0]["parts"]) == 2


def test_the_same_turns_get_the_same_ids_and_a_placed_call_keeps_its_own() -> None:
    calls = read_calls({"parts": [{"functionCall": {"name": "clock"}}, {"functionCall": {"name": "clock"}}]})
    placed = [call.model_copy(update={"tool_call_id": tool_call_id("p", place)}) for place, call in enumerate(calls)]

    def ids(*turns: list[NormalizedToolRequest]) -> list[str | None]:
        pending = PendingCalls()
        return [call.provider_call_id for turn in turns for call in pending.add(turn)]

    assert ids(calls, calls) == ids(calls, calls)
    assert len({*ids(calls, calls)}) == 4
    assert ids(placed, placed) == ids(placed) * 2


@FORMATS
def test_a_call_without_a_name_is_not_written(provider_format: ProviderFormat) -> None:
    calls = read_calls(
        chat_calls({"id": "c0", "function": {"arguments": "{}"}}, {"id": "c1", "function": {"name": "x"}})
    )

    whole, streamed = format_calls(calls, provider_format), stream_calls(calls, provider_format)

    assert [call.tool_name for call in calls] == ["", "x"]
    assert [call.tool_name for message in whole for call in read_calls(message, provider_format)] == ["x"]
    assert '"name": ""' not in json.dumps([whole, streamed])


def test_items_that_want_an_id_have_it() -> None:
    items: list[dict[str, Any]] = [
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "c1", "status": "completed"}
        | {"action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "computer_call", "id": "cu_1", "call_id": "c2", "status": "completed", "pending_safety_checks": []}
        | {"action": {"type": "screenshot"}},
    ]

    assert format_calls(read_calls({"output": items}), "openai_responses") == items
    bare = [{key: value for key, value in item.items() if key not in ("id", "pending_safety_checks")} for item in items]
    bare[0]["action"] = {"command": ["ls"]}
    again = format_calls(read_calls({"output": bare}), "openai_responses")
    assert again == [{**items[0], "id": "lsh_c1"}, {**items[1], "id": "cu_c2"}]


results = st.builds(
    NormalizedToolResult,
    tool_call_id=identities,
    provider_call_id=identities,
    tool_name=names,
    success=st.just(True),
    output=texts.filter(lambda text: not text.startswith("Error: ") and text.strip() == text),
)


@FORMATS
@settings(max_examples=15)
@given(result=results)
def test_a_text_result_is_read_back(provider_format: ProviderFormat, result: NormalizedToolResult) -> None:
    (found,) = read_results(format_results([result], provider_format))

    assert (True, result.output) == (found.success, found.output) or _is_json(result.output)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "["))


@pytest.mark.parametrize(
    ("provider_format", "kind"),
    [
        *((each, CallKind.FUNCTION) for each in ProviderFormat),
        *((ProviderFormat.OPENAI_RESPONSES, k) for k in CallKind),
    ],
)
def test_a_failure_is_read_back_as_one(provider_format: ProviderFormat, kind: CallKind) -> None:
    result = NormalizedToolResult(
        tool_call_id="c",
        tool_name="x",
        success=False,
        error="no answer",
        error_category="timeout",
        retryable=True,
        kind=kind,
    )

    (found,) = read_results(format_results([result], provider_format))

    assert (
        found.success,
        found.error,
        found.error_category,
        found.retryable,
    ) == (False, "no answer", "timeout", True)
    assert (found.output, found.kind) == (None, kind)


#: a whole result, its id, its name where the shape has one, and its output
WRITTEN: list[tuple[dict[str, Any], str | None, str, Any]] = [
    (
        {"type": "tool", "data": {"content": "ok", "type": "tool", "tool_call_id": "c", "status": "success"}},
        "c", "", "ok",
    ),
    (
        {
            "lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "ToolMessage"],
            "kwargs": {"content": "ok", "type": "tool", "tool_call_id": "c", "status": "success"},
        },
        "c", "", "ok",
    ),
    ({"functionResponse": {"id": "c", "name": "f", "response": {"error": None, "result": 5}}}, "c", "f", 5),
    ({"functionResponse": {"id": "c", "name": "f", "response": {"error": None, "output": None}}}, "c", "f", None),
    ({"toolResponse": {"functionResponses": [{"id": "c", "name": "f", "response": {"output": 5}}]}}, "c", "f", 5),
    ({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "ok"}]}}, "1", "", "ok"),
    ({"tool_call_id": "c", "name": "f", "content": "ok", "is_error": False}, "c", "f", "ok"),
    ({"role": "tool", "tool_name": "f", "content": "ok"}, None, "f", "ok"),
    ({"type": "local_shell_call_output", "id": "c", "output": "ok"}, "c", "", "ok"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "identity", "name", "output"), WRITTEN, ids=range(len(WRITTEN)))
def test_a_result_is_read_whoever_wrote_it(message: Any, identity: str | None, name: str, output: Any) -> None:
    (found,) = read_results(message)

    assert (found.success, found.provider_call_id, found.tool_name, found.output) == (True, identity, name, output)


@pytest.mark.parametrize(
    ("message", "metadata"),
    [
        ({"jsonrpc": "2.0", "id": 7, "result": {"content": []}}, {"jsonrpc_id": 7}),
        (
            {"role": "user", "content": [{"type": "tool_result", "toolUseId": "c", "content": []}]},
            {"sampling": True},
        ),
        ({"role": "function", "name": "f", "content": "ok"}, {"legacy_function_call": True}),
        (
            {"type": "tool_result", "tool_use_id": "c", "toolset_name": "browser", "content": "ok"},
            {"toolset": "browser"},
        ),
        (
            {"type": "function_call_output", "call_id": "c", "output": "ok", "caller": {"type": "program"}},
            {"caller": {"type": "program"}},
        ),
    ],
)
def test_what_a_result_has_to_repeat_is_kept(message: Any, metadata: dict[str, Any]) -> None:
    (found,) = read_results(message)

    assert found.provider_metadata == metadata
    (written,) = format_results([found])
    assert read_results(written) == [found]


def test_a_remark_that_follows_no_result_is_none() -> None:
    remark = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Error: no"}]}

    assert read_results([remark]) == []
    (found,) = read_results([{"type": "function_call_output", "call_id": "c", "output": "ok"}, remark])
    assert found.success


def test_mcps_error_flag_may_be_left_out() -> None:
    content = [{"type": "text", "text": "noon"}]
    sampled = {"role": "assistant", "content": content, "model": "m"}

    (found,) = read_results({"jsonrpc": "2.0", "id": 1, "result": {"content": content}})

    assert (found.success, found.output) == (True, "noon")
    assert read_results({"jsonrpc": "2.0", "id": 1, "result": sampled}) == []


def test_mcps_picture_stays_beside_what_is_structured() -> None:
    answer = {"content": PICTURE[1:2], "structuredContent": {"n": 1}, "isError": False}

    (message,) = format_results(read_results(answer), "anthropic")

    assert [block["type"] for block in message["content"][0]["content"]] == ["text", "image"]


def test_what_is_no_message_holds_no_results() -> None:
    assert read_results({"role": "user", "content": "hello"}) == []
    with pytest.raises(InvalidPayloadError):
        read_results(None)


PICTURE = [
    {"type": "text", "text": "Chart:"},
    {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
    {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
]
SHOWN = {
    "openai_responses": ["output", 1, "image_url"],
    "anthropic": ["content", 0, "content", 1, "source", "data"],
    "gemini": ["parts", 0, "functionResponse", "parts", 0, "inlineData", "data"],
    "gemini_interactions": ["result", 1, "data"],
    "langchain": ["content", 1, "base64"],
    "mcp": ["content", 1, "data"],
    "bedrock": ["content", 0, "toolResult", "content", 1, "image", "source", "bytes"],
}


@pytest.mark.parametrize(("provider_format", "way"), SHOWN.items(), ids=SHOWN)
@pytest.mark.parametrize("output", [PICTURE, {"content": PICTURE, "isError": False}], ids=["blocks", "CallToolResult"])
def test_a_picture_goes_where_the_wire_has_a_place_for_it(provider_format: str, way: list[Any], output: Any) -> None:
    result = NormalizedToolResult(tool_call_id="c", tool_name="chart", success=True, output=output)

    (message,) = format_results([result], provider_format)

    found: Any = message
    for step in way:
        found = found[step]
    if provider_format == "bedrock":  # as boto3 takes it
        assert found == b"\x89PNG\r\n\x1a\n"
    else:
        assert found.endswith("iVBORw0KGgo=")
    assert provider_format == "mcp" or "UklGRg" not in json.dumps(message, default=as_base64)


@pytest.mark.parametrize("provider_format", SHOWN)
@pytest.mark.parametrize("output", [PICTURE[:2], PICTURE[1:2]], ids=["beside text", "alone"])
def test_a_picture_is_read_back(provider_format: str, output: list[dict[str, Any]]) -> None:
    result = NormalizedToolResult(tool_call_id="c", tool_name="chart", success=True, output=output)

    messages = format_results([result], provider_format)
    (found,), (stored,) = read_results(messages), read_results(json.loads(json.dumps(messages, default=as_base64)))

    shown = [format_results([each], "anthropic")[0]["content"][0]["content"] for each in (result, found, stored)]
    assert shown[0] == shown[1] == shown[2]


def test_a_picture_in_an_sdks_bytes_is_read() -> None:
    parts = [{"inline_data": {"mime_type": "image/png", "data": b"hi"}}]
    response = {"name": "x", "response": {"output": ""}, "parts": parts}

    (found,) = read_results({"role": "user", "parts": [{"function_response": response}]})

    assert found.output == [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]


@pytest.mark.parametrize("output", [{"result": 5}, {"output": 5}, {"error": 5}, {"result": 5, "n": 1}])
def test_an_object_is_read_back_from_gemini_whatever_its_members_are_called(output: dict[str, int]) -> None:
    result = NormalizedToolResult(tool_call_id="c", tool_name="x", success=True, output=output)

    (found,) = read_results(format_results([result], "gemini"))

    assert (found.success, found.output) == (True, output)


@pytest.mark.parametrize("provider_format", ["openai", "unknown"])
def test_a_picture_is_described_where_there_is_no_place_for_it(provider_format: str) -> None:
    result = NormalizedToolResult(tool_call_id="c", tool_name="chart", success=True, output=PICTURE)

    (message,) = format_results([result], provider_format)

    assert message["content"] == (
        "Chart:\n[image image/png, 8 bytes, returned by the tool and not shown here]\n"
        "[audio audio/wav, 4 bytes, returned by the tool and not shown here]"
    )


@pytest.mark.parametrize(
    ("output", "response"),
    [
        ([{"type": "text", "text": '{"qty": 4}'}], {"qty": 4}),
        ([{"type": "text", "text": "[1, 2]"}], {"output": [1, 2]}),
        ([{"type": "text", "text": "rain"}], {"output": "rain"}),
        ([{"type": "text", "text": "{rain"}], {"output": "{rain"}),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], {"output": "a\nb"}),
        ({"content": [], "structuredContent": {"qty": 4}}, {"qty": 4}),
        ({"content": [{"type": "text", "text": '{"qty": 4}'}], "structuredContent": {"qty": 4}}, {"qty": 4}),
        ([], {"output": []}),
        ([{"type": "text"}], {"output": [{"type": "text"}]}),
        (
            {"content": [], "structuredContent": {"at": date(2026, 1, 2), "n": float("nan")}},
            {"at": "2026-01-02", "n": "nan"},
        ),
        ({"content": "rain"}, {"content": "rain"}),
    ],
    ids=repr,
)
def test_content_blocks_are_unwrapped(output: Any, response: Any) -> None:
    result = NormalizedToolResult(tool_call_id="c", tool_name="x", success=True, output=output)

    (content,) = format_results([result], "gemini")

    assert content["parts"][0]["functionResponse"]["response"] == response


def test_thought_signatures_are_put_back_on_the_first_call_of_each_step() -> None:
    call: dict[str, Any] = {"functionCall": {"name": "a", "args": {}}}
    steps = [[{**call, "thoughtSignature": "c2lnLUE="}, call], [{**call, "thoughtSignature": "c2lnLUI="}]]
    calls = [found for parts in steps for found in read_calls({"parts": parts})]
    bare: list[dict[str, Any]] = [
        {"role": "model", "parts": [call, call]},
        {"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {}}}]},
        {"role": "model", "parts": [call]},
    ]
    before = json.dumps(bare)

    contents = restore_signatures(bare, calls)

    assert [steps[0], bare[1]["parts"], steps[1]] == [content["parts"] for content in contents]
    assert before == json.dumps(bare)
    assert restore_signatures(contents, calls) == contents


RENAMED = ToolSpec(
    "weather/lookup", "", {"type": "object", "properties": {"bad-name!": {"type": "string"}, "n": {"type": "number"}}}
)


@pytest.mark.parametrize("identity", [{}, {"id": "fc-1"}], ids=["without an id", "with an id"])
@pytest.mark.parametrize("which", ["as they were read", "as they were kept", "from JSON"])
def test_signatures_come_back_after_the_way_through_another_providers_client(
    identity: dict[str, str], which: str
) -> None:
    """Gemini behind a Chat client, whose history comes back under the names and ids that the client was given."""
    gemini, chat = export_tools([RENAMED], "gemini").names, export_tools([RENAMED], "openai").names
    wire_args = {"bad_name_": "x", "n": 2.0}
    part = {"functionCall": {"name": "weather_lookup", "args": wire_args, **identity}, "thoughtSignature": "c2ln"}
    content = {"role": "model", "parts": [part]}
    pending = PendingCalls()
    read = read_calls({"candidates": [{"content": content}]}, names=gemini)
    kept = pending.add(read)
    (assistant,) = format_calls(kept, "openai", names=chat)
    reply = {"role": "tool", "tool_call_id": assistant["tool_calls"][0]["id"], "content": "rain"}
    stored = [NormalizedToolRequest.model_validate_json(call.model_dump_json()) for call in read]
    known = {"as they were read": read, "as they were kept": kept, "from JSON": stored}[which]
    back = read_calls(json.dumps(assistant), names=chat)
    bare = [*format_calls(back, "gemini", names=gemini), *format_results(read_results(reply), "gemini")]

    contents = restore_signatures(bare, known, names=gemini)

    assert contents[0] == content
    assert contents[1]["parts"][0]["functionResponse"].get("id") == identity.get("id")
    assert restore_signatures(contents, known, names=gemini) == contents


def test_an_id_that_is_no_text_names_no_call() -> None:
    (call,) = read_calls({"parts": [{"functionCall": {"name": "a", "args": {}}, "thoughtSignature": "c2ln"}]})
    kept = call.model_copy(update={"provider_metadata": {**call.provider_metadata, "provider_id": []}})
    part = {"functionCall": {"name": "a", "args": {}, "id": []}}

    for known in (call, kept):
        (content,) = restore_signatures([{"role": "model", "parts": [part]}], [known])

        assert content["parts"] == [{"functionCall": {"name": "a", "args": {}}, "thoughtSignature": "c2ln"}]


def test_a_parameter_may_have_any_name_and_only_a_call_with_a_problem_is_written_as_a_bad_one() -> None:
    arguments = {"raw_arguments": "x"}
    good = NormalizedToolRequest(
        tool_call_id=None, tool_name="a", arguments=arguments, provider_format="openai", provider_call_id="1"
    )
    (bad,) = read_calls({"tool_calls": [{"id": "2", "function": {"name": "b", "arguments": "[1]"}}]})

    (message,) = format_calls([good, bad], "langchain")

    assert message["tool_calls"] == [{"type": "tool_call", "name": "a", "args": arguments, "id": "1"}]
    assert [(call["id"], call["args"]) for call in message["invalid_tool_calls"]] == [("2", "[1]")]
    kept, refused = read_calls(message)
    assert (kept.arguments, kept.problem) == (arguments, None)
    assert refused.problem is not None


FINISHES = [
    ({"choices": [{"finish_reason": "length", "message": {}}]}, "length", "length"),
    ({"choices": [{"finish_reason": "tool_calls", "message": {}}]}, "tool_calls", "tool_calls"),
    ({"stop_reason": "max_tokens", "content": []}, "length", "max_tokens"),
    ({"stop_reason": "pause_turn", "content": []}, "pause", "pause_turn"),
    ({"status": "incomplete", "output": []}, "length", "incomplete"),
    ({"type": "response.completed", "response": {"status": "completed"}}, "stop", "completed"),
    ({"candidates": [{"finishReason": "SAFETY"}]}, "content_filter", "SAFETY"),
    ({"steps": [], "status": "requires_action"}, "tool_calls", "requires_action"),
    ({"stopReason": "guardrail_intervened", "output": {"message": {}}}, "content_filter", "guardrail_intervened"),
    ({"type": "ai", "response_metadata": {"finish_reason": "stop"}}, "stop", "stop"),
    ({"choices": []}, "unknown", None),
    ({"choices": [{"finish_reason": "new_word"}]}, "unknown", "new_word"),
]


@pytest.mark.parametrize(("message", "kind", "reason"), FINISHES, ids=lambda value: str(value)[:30])
def test_the_end_of_a_turn_is_told_in_the_providers_word_and_ours(message: Any, kind: str, reason: str | None) -> None:
    finish = read_finish(message)

    assert (kind, reason, None) == (finish.kind, finish.reason, finish.problem)


@FORMATS
@pytest.mark.parametrize("kind", [kind for kind in FinishKind if kind is not FinishKind.UNKNOWN])
def test_every_format_has_a_word_for_every_end(provider_format: ProviderFormat, kind: FinishKind) -> None:
    word = finish_reason(kind, provider_format)

    assert (word is None) == (provider_format is ProviderFormat.UNKNOWN)


def test_a_call_in_the_text_that_is_cut_off_does_not_run() -> None:
    text, calls = split_text_calls(
        'see <tool_call>{"name": "x", "arguments": {"a": "</tool_call>"}}</tool_call> and '
        '<tool_call>{"name": "y", "argum'
    )

    assert text == "see  and"
    assert calls[0].arguments == {"a": "</tool_call>"}
    assert calls[1].problem is not None
    assert calls[1].problem.kind in (ProblemKind.NO_NAME, ProblemKind.TRUNCATED)


def test_streams_have_what_the_providers_sdks_take_from_them_without_asking() -> None:
    calls = [NormalizedToolRequest(tool_name="clock", provider_call_id="c1")]

    anthropic = stream_calls(calls, "anthropic", head={"usage": {"input_tokens": 7, "output_tokens": 3}})
    responses = stream_calls(calls, "openai_responses")

    assert anthropic[0]["message"]["usage"] == {"input_tokens": 7, "output_tokens": 3}
    assert anthropic[-2]["usage"] == {"output_tokens": 3}
    assert stream_calls(calls, "anthropic")[-2]["usage"] == {"output_tokens": 0}
    items = [event["item"]["id"] for event in responses if "item" in event]
    places = [event["item_id"] for event in responses if "item_id" in event]
    assert {*items, *places} == {"fc_c1"}
