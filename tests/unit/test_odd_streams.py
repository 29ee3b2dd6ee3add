"""What compatible servers, SDKs and translators make of the providers' shapes: read right, or refused, never half."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from toolrelay import InvalidPayloadError, NormalizedToolRequest, StreamAssembler, read_calls
from toolrelay.proxy import format_calls
from toolrelay.reading import read_payload
from toolrelay.streaming import StreamingTurn
from toolrelay.streams import read_stream

Wire = dict[str, Any]
Brief = list[tuple[str, Any, str | None]]


def brief(calls: list[NormalizedToolRequest]) -> Brief:
    return [
        (call.tool_name, call.arguments, None if call.problem is None else str(call.problem.kind)) for call in calls
    ]


def chat(*entries: Wire, finish: str | None = None) -> Wire:
    return {"choices": [{"index": 0, "delta": {"tool_calls": list(entries)}, "finish_reason": finish}]}


def entry(name: str | None, arguments: Any, **members: Any) -> Wire:
    return {**members, "function": {"name": name, "arguments": arguments}}


STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}

# One event holds several calls.

BESIDE: dict[str, tuple[list[Wire], Brief]] = {
    "two empty ones": ([chat(entry("f", ""), entry("g", ""))], [("f", {}, None), ("g", {}, None)]),
    "two empty ones of one index": (
        [chat(entry("f", "", index=0), entry("g", "", index=0))],
        [("f", {}, None), ("g", {}, None)],
    ),
    "two alike": ([chat(entry("f", '{"a":1}'), entry("f", '{"a":1}'))], [("f", {"a": 1}, None), ("f", {"a": 1}, None)]),
    "two alike, as objects": ([chat(entry("f", {"a": 1}), entry("f", {"a": 1}))], [("f", {"a": 1}, None)] * 2),
    "two alike, ids and all": ([chat(*[entry("f", "{}", id="c", index=0)] * 2)], [("f", {}, None)] * 2),
    "two empty ones alike": ([chat(entry("f", ""), entry("f", ""))], [("f", {}, None)] * 2),
    "numbers for ids": (
        [chat(entry("f", '{"a":1}', id=1, index=0)), chat(entry("f", '{"a":1}', id=2, index=0))],
        [("f", {"a": 1}, None)] * 2,
    ),
    "pieces of one call": (
        [chat(entry("f", '{"a"', id="c", index=0), entry(None, ":1}", index=0))],
        [("f", {"a": 1}, None)],
    ),
    "pieces of one call, id and name repeated": (
        [chat(entry("f", '{"a"', id="c", index=0), entry("f", ":1}", id="c", index=0))],
        [("f", {"a": 1}, None)],
    ),
    "one event that came twice": ([chat(entry("f", '{"a":1}', index=0))] * 2, [("f", {"a": 1}, None)]),
    "one call without its list": (
        [{"choices": [{"delta": {"tool_calls": entry("f", "{}", id="c")}}]}],
        [("f", {}, None)],
    ),
    "calls numbered by keys": (
        [{"choices": [{"delta": {"tool_calls": {"0": entry("f", "{}", id="c"), "1": entry("g", "{}", id="d")}}}]}],
        [("f", {}, None), ("g", {}, None)],
    ),
    "a message beside an empty delta": (
        [
            {
                "choices": [
                    {"delta": {}, "message": {"tool_calls": [entry("f", "{}", id="c")]}, "finish_reason": "tool_calls"}
                ]
            }
        ],
        [("f", {}, None)],
    ),
    "arguments under another name": (
        [{"choices": [{"delta": {"tool_calls": [{"id": "c", "function": {"name": "f", "parameters": {"a": 1}}}]}}]}],
        [("f", {"a": 1}, None)],
    ),
}


@pytest.mark.parametrize(("events", "calls"), BESIDE.values(), ids=BESIDE)
def test_the_entries_of_one_event_are_kept_apart(events: list[Wire], calls: Brief) -> None:
    assert calls == brief(read_stream([*events, STOP], "openai"))


@pytest.mark.parametrize(
    ("tool_calls", "calls"),
    [
        (entry("f", '{"a":1}', id="c"), [("f", {"a": 1}, None)]),
        ({"0": entry("f", "{}"), "1": entry("g", "{}")}, [("f", {}, None), ("g", {}, None)]),
        ([{"id": "c", "function": {"name": "f", "parameters": {"a": 1}}}], [("f", {"a": 1}, None)]),
        ([{"id": "c", "function": {"name": "f", "input": '{"a":1}'}}], [("f", {"a": 1}, None)]),
        (
            [{"function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}],
            [("f", {"type": "object", "properties": {}}, "invalid_payload")],
        ),
    ],
)
def test_a_whole_chat_message_is_read_in_these_dialects_too(tool_calls: Any, calls: Brief) -> None:
    assert calls == brief(read_calls({"role": "assistant", "tool_calls": tool_calls}))


def test_what_gemini_signs_by_openais_form_is_kept_and_written_back() -> None:
    extra = {"google": {"thought_signature": "c2ln"}}
    whole = entry("f", "{}", id="c", type="function", extra_content=extra)

    (read,) = read_calls({"role": "assistant", "tool_calls": [whole]})
    (streamed,) = read_stream([chat({**whole, "index": 0}), STOP], "openai")

    assert read.provider_metadata == streamed.provider_metadata == {"extra_content": extra}
    assert format_calls([read], "openai")[0]["tool_calls"] == [whole]


# Arguments that come as an object where text is due.


def anthropic(*pieces: Any) -> list[Wire]:
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return [
        {"type": "content_block_start", "index": 0, "content_block": use},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]


def bedrock(*pieces: Any) -> list[Wire]:
    return [
        {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t", "name": "f"}}, "contentBlockIndex": 0}},
        *({"contentBlockDelta": {"delta": {"toolUse": {"input": piece}}, "contentBlockIndex": 0}} for piece in pieces),
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "tool_use"}},
    ]


def interactions(*pieces: Any) -> list[Wire]:
    deltas = [{"type": "arguments_delta", "arguments": piece} for piece in pieces]
    return [
        {"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "t", "name": "f"}},
        *({"event_type": "step.delta", "index": 0, "delta": delta} for delta in deltas),
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": {"status": "requires_action"}},
    ]


def responses(*pieces: Any) -> list[Wire]:
    item = {"type": "function_call", "call_id": "t", "name": "f", "arguments": "", "status": "in_progress"}
    return [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": piece} for piece in pieces),
        {"type": "response.completed", "response": {"status": "completed", "output": None}},
    ]


def openai(*pieces: Any) -> list[Wire]:
    return [chat(entry("f", "", id="t", index=0)), *(chat(entry(None, piece, index=0)) for piece in pieces), STOP]


def langchain(*pieces: Any) -> list[Wire]:
    chunks: list[Wire] = [{"name": "f", "args": "", "id": "t", "index": 0}]
    chunks += [{"name": None, "args": piece, "id": None, "index": 0} for piece in pieces]
    return [
        *({"type": "AIMessageChunk", "tool_call_chunks": [chunk]} for chunk in chunks),
        {"type": "AIMessageChunk", "chunk_position": "last"},
    ]


WRITERS = {
    "anthropic": anthropic,
    "bedrock": bedrock,
    "gemini_interactions": interactions,
    "openai_responses": responses,
    "openai": openai,
    "langchain": langchain,
}


@pytest.mark.parametrize("provider_format", WRITERS)
@pytest.mark.parametrize(
    ("pieces", "arguments", "is_sound"),
    [
        (({"x": 1},), {"x": 1}, True),
        ((SimpleNamespace(x=1),), {"x": 1}, True),
        (({}, '{"x":1}'), {"x": 1}, True),
        (({"x": 1}, {"y": 2}), {"x": 1}, False),
        (({"x": 1}, '{"y":2}'), {"y": 2}, False),
        (('{"y"', {"x": 1}), None, False),
        (([1],), {}, False),
    ],
)
def test_arguments_as_an_object_are_taken_or_the_call_is_refused(
    provider_format: str, pieces: tuple[Any, ...], arguments: Any, is_sound: bool
) -> None:
    calls = read_stream(WRITERS[provider_format](*pieces), provider_format)

    assert [is_sound] * len(calls) == [call.problem is None for call in calls]
    assert calls[0].tool_name == "f"
    if is_sound:
        assert [arguments] == [call.arguments for call in calls]


def test_the_object_that_a_text_says_again_is_no_contradiction() -> None:
    start, *rest = anthropic('{"x":', "1}")
    start["content_block"]["input"] = {"x": 1}

    assert brief(read_stream([start, *rest], "anthropic")) == [("f", {"x": 1}, None)]
    start["content_block"]["input"] = {"x": 2}
    assert brief(read_stream([start, *rest], "anthropic")) == [("f", {"x": 1}, "truncated")]


def test_an_interactions_whole_text_may_be_an_object_as_well() -> None:
    added, *_, end = responses()
    done = {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": {"x": 1}}

    assert brief(read_stream([added, done, end], "openai_responses")) == [("f", {"x": 1}, None)]


# Sums of LangChain's chunks.


@pytest.mark.parametrize(
    ("args", "calls"),
    [
        ('{"amount": 12', [("pay", {}, "truncated")]),
        ('{"amount": 1299}', [("pay", {"amount": 1299}, None)]),
        ("", [("pay", {}, None)]),
        (None, [("pay", {}, None)]),
    ],
)
def test_a_sum_of_chunks_says_what_its_text_says_not_what_langchain_made_of_it(args: Any, calls: Brief) -> None:
    guess = {"name": "pay", "args": {"amount": 12}, "id": "c", "type": "tool_call"}
    chunk = {"name": "pay", "args": args, "id": "c", "index": 0, "type": "tool_call_chunk"}
    message = {"type": "AIMessageChunk", "content": "", "tool_calls": [guess], "tool_call_chunks": [chunk]}
    pieces = [{**chunk, "args": ""}, {**chunk, "name": None, "id": None}]

    assert calls == brief(read_calls(message))
    assert calls == brief(read_calls({**message, "tool_call_chunks": pieces}))
    assert calls == brief(read_calls({**message, "tool_calls": [], "invalid_tool_calls": [{**guess, "args": args}]}))


# Calls of Gemini in pieces, in one message.


def part(**call: Any) -> Wire:
    return {"functionCall": call}


def value(path: str, text: str, **members: Any) -> Wire:
    return {"jsonPath": path, "stringValue": text, **members}


@pytest.mark.parametrize(
    ("parts", "calls"),
    [
        ([part(name="f", willContinue=True)], [("f", {}, "truncated")]),
        ([part(name="f", willContinue=True, partialArgs=[value("$.a", "x")])], [("f", {}, "truncated")]),
        ([part(name="f", partialArgs=[value("$.a", "x")])], [("f", {"a": "x"}, None)]),
        ([part(name="f", partialArgs=[value("$.a", "x", willContinue=True)])], [("f", {}, "truncated")]),
        (
            [
                part(name="f", willContinue=True),
                part(partialArgs=[value("$.a", "x", willContinue=True)], willContinue=True),
                part(partialArgs=[value("$.a", "y")]),
                part(name="g", args={"b": 1}),
            ],
            [("f", {"a": "xy"}, None), ("g", {"b": 1}, None)],
        ),
        (
            [part(name="f", willContinue=True, args={}), {"text": "and"}, part(name="g", args={"b": 1})],
            [("f", {}, "truncated"), ("g", {"b": 1}, None)],
        ),
        ([part(partialArgs=[value("$['\\u0041']", "x")], name="f")], [("f", {"A": "x"}, None)]),
        ([part(partialArgs=[value("$['it\\'s \\n \\/ \\\\']", "x")], name="f")], [("f", {"it's \n / \\": "x"}, None)]),
        ([part(partialArgs=[value("$['\\ud83d\\ude00']", "x")], name="f")], [("f", {"\U0001f600": "x"}, None)]),
        ([part(partialArgs=[value("$['\\ud83d']", "x")], name="f")], [("f", {}, "truncated")]),
        ([part(partialArgs=[value("$['\\q']", "x")], name="f")], [("f", {}, "truncated")]),
    ],
)
def test_a_call_in_pieces_is_put_together_or_refused(parts: list[Wire], calls: Brief) -> None:
    message = {"candidates": [{"content": {"role": "model", "parts": parts}}]}

    assert calls == brief(read_calls(message))
    assert calls == brief(read_calls({"role": "model", "parts": parts}))
    assert calls == brief(read_stream([message], "gemini"))
    if len(parts) == 1:
        assert calls == brief(read_calls(parts[0]))


# Items of OpenAI Responses.


def item(kind: str, identity: str, **members: Any) -> Wire:
    return {"type": kind, "id": f"i_{identity}", "call_id": identity, **members}


def around(kind: str, one: Wire, index: int = 0) -> Wire:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": one}


ENDED = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": None}}


@pytest.mark.parametrize("has_done", [True, False])
@pytest.mark.parametrize("is_interleaved", [False, True])
def test_items_that_a_server_gives_one_index_are_all_read(has_done: bool, is_interleaved: bool) -> None:
    begun, ended = [], []
    for name in ("f", "g"):
        added = around("added", item("function_call", name, name=name, arguments="", status="in_progress"))
        delta = {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": f'{{"{name}":1}}'}
        done = around("done", item("function_call", name, name=name, arguments=f'{{"{name}":1}}', status="completed"))
        begun.append([added, delta])
        ended.append([done] if has_done else [])
    order = [*begun, *ended] if is_interleaved else [begun[0], ended[0], begun[1], ended[1]]

    calls = read_stream([*(event for events in order for event in events), ENDED], "openai_responses")

    assert brief(calls) == [("f", {"f": 1}, None), ("g", {"g": 1}, None)]


@pytest.mark.parametrize("environment", [None, {"type": "local"}])
def test_a_shell_call_is_given_out_once_it_is_clear_who_runs_it(environment: Wire | None) -> None:
    action = {"commands": ["ls"]}
    begin = around("added", item("shell_call", "s", action={"commands": []}, status="in_progress"))
    local = around("done", item("shell_call", "s", action=action, status="completed", environment=environment))
    hosted = {"type": "container_reference", "container_id": "cntr"}
    served = around("done", item("shell_call", "s", action=action, status="completed", environment=hosted))
    begin_local = around("added", {**begin["item"], "environment": {"type": "local"}})

    assert brief(read_stream([begin, local, ENDED], "openai_responses")) == [("shell", action, None)]
    for beginning in (begin, begin_local):
        assert read_stream([beginning, served, ENDED], "openai_responses") == []
    assert read_stream([begin], "openai_responses") == []


def test_a_second_response_is_read_as_well() -> None:
    stream = StreamAssembler("openai_responses")
    given = []
    for turn in ("f", "g"):
        done = around("done", item("function_call", turn, name=turn, arguments="{}", status="completed"))
        for number, event in enumerate([{"type": "response.created", "response": {"id": turn}}, done, ENDED]):
            given += stream.feed({**event, "sequence_number": number})
    stream.feed({"type": "response.created", "response": {"id": "h"}})
    stream.feed({"type": "response.failed", "response": {"id": "h", "status": "failed"}})

    assert [call.tool_name for call in given] == ["f", "g"]
    assert [call.sequence for call in given] == [0, 1]
    assert stream.disowned == []


# Messages of other shapes.


def test_a_request_that_came_twice_is_one_call() -> None:
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "f", "arguments": {"a": 1}}}

    calls = read_stream([request, request, {**request, "id": 8}], "mcp")

    assert [(call.tool_name, call.provider_call_id) for call in calls] == [("f", "7"), ("f", "8")]


class LiveServerToolCall:
    """As Google's SDK has it."""

    def __init__(self) -> None:
        self.function_calls = [SimpleNamespace(id="a", name="f", args={"a": 1})]


SAMPLED = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]}


@pytest.mark.parametrize(
    "message",
    [
        LiveServerToolCall(),
        {"functionCalls": [{"id": "a", "name": "f", "args": {"a": 1}}]},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c"}]},
        },
        {"jsonrpc": "2.0", "id": 1, "result": {**SAMPLED, "stopReason": "toolUse", "model": "m"}},
    ],
    ids=["an object of a Live session", "its dict", "LangChain's dumpd", "a sampled answer's response"],
)
def test_calls_are_found_in_these_messages_too(message: Any) -> None:
    assert brief(read_calls(message)) == [("f", {"a": 1}, None)]


def test_the_result_of_a_request_is_no_call() -> None:
    result = {"content": [{"type": "text", "text": "3"}], "isError": False}

    assert read_calls({"jsonrpc": "2.0", "id": 1, "result": result}) == []


# Events of another format than was said.

EVENTS: dict[str, list[Wire]] = {
    **{name: write('{"x":1}') for name, write in WRITERS.items()},
    "gemini": [{"candidates": [{"content": {"parts": [part(name="f", args={"x": 1})]}, "finishReason": "STOP"}]}],
    "mcp": [{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "f", "arguments": {"x": 1}}}],
}


@pytest.mark.parametrize("said", EVENTS)
@pytest.mark.parametrize("real", EVENTS)
def test_a_stream_of_another_format_fails_instead_of_looking_empty(said: str, real: str) -> None:
    stream = StreamAssembler(said)

    calls = [call for event in EVENTS[real] for call in stream.feed(event)] + stream.close()

    if said == real:
        assert (brief(calls), stream.failure) == ([("f", {"x": 1}, None)], None)
    else:
        assert (calls, stream.is_ended) == ([], False)
        assert stream.failure is not None
        assert f"'{real}', not of '{said}'" in stream.failure


def test_an_event_that_says_nothing_hides_nothing() -> None:
    stream = StreamAssembler("openai")

    for event in [{"type": "ping"}, *anthropic("{}")]:
        stream.feed(event)

    assert stream.failure is not None


class Sender:
    """What a turn needs of a producer, where nothing is ever sent."""

    def catalogue(self, requests: list[NormalizedToolRequest]) -> dict[str, Any]:
        raise NotImplementedError

    def enqueue(self, requests: list[NormalizedToolRequest]) -> list[Any]:
        raise NotImplementedError

    def close(self, count: int) -> None:
        assert count == 0


def test_there_is_no_turn_for_that_reason() -> None:
    streaming = StreamingTurn(anthropic("{}"), StreamAssembler("openai"), lambda request: request, Sender())

    with pytest.raises(InvalidPayloadError, match="not of 'openai'"):
        _ = streaming.turn
    assert streaming.failure is not None
    assert "not of 'openai'" in streaming.failure


def test_whoever_names_the_wrong_format_is_told_by_the_reading_as_well() -> None:
    text = "\n".join(json.dumps(event) for event in anthropic("{}"))

    reading = read_payload(text, "openai")

    assert not reading.is_sound
    assert reading.failure is not None
    assert "'anthropic'" in reading.failure
