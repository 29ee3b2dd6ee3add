"""``StreamAssembler``: when calls come out, what is taken back, what a hostile or broken stream costs."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest

from toolrelay import CallStatus, ErrorCategory, ProblemKind, StreamAssembler
from toolrelay.formats.streams.events import EventText
from toolrelay.streams import read_stream


def chat(*deltas: dict[str, Any], finish: str | None = None, choice: int = 0) -> dict[str, Any]:
    delta = {"tool_calls": list(deltas)} if deltas else {}
    return {"choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}


def delta(index: Any = 0, identity: Any = None, name: Any = None, arguments: Any = None) -> dict[str, Any]:
    return {"index": index, "id": identity, "function": {"name": name, "arguments": arguments}}


def whole(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    return [*(chat(call) for call in calls), chat(finish="tool_calls")]


def block(index: int, *pieces: str, name: str = "x") -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": f"t{index}", "name": name, "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return [
        {"type": "content_block_start", "index": index, "content_block": use},
        *({"type": "content_block_delta", "index": index, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def stop(reason: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}}


def brief(events: list[Any], provider_format: str = "openai") -> list[tuple[Any, ...]]:
    return [
        (call.tool_name, call.arguments, call.problem and str(call.problem.kind))
        for call in read_stream(events, provider_format)
    ]


# When calls come out.


def test_a_whole_call_comes_out_when_the_next_one_begins() -> None:
    stream = StreamAssembler("openai")
    stream.feed(chat(delta(0, "c1", "x", '{"a":')))
    stream.feed(chat(delta(0, arguments="1}")))

    (first,) = stream.feed(chat(delta(1, "c2", "y", "")))
    (second,) = stream.feed(chat(finish="tool_calls"))

    assert (first.tool_name, first.arguments, first.sequence) == ("x", {"a": 1}, 0)
    assert (second.tool_name, second.arguments, second.sequence) == ("y", {}, 1)
    assert stream.is_ended
    assert stream.close() == []


def test_a_call_that_is_not_whole_waits_although_the_next_one_begins() -> None:
    stream = StreamAssembler("openai")
    stream.feed(chat(delta(0, "c1", "x", '{"a":')))

    assert stream.feed(chat(delta(1, "c2", "y", '{"b":2}'))) == []
    (second,) = stream.feed(chat(delta(2, "c3", "z", "{}")))
    assert second.tool_name == "y"
    assert stream.feed(chat(delta(0, arguments="1}"))) == []

    assert [call.tool_name for call in stream.feed(chat(finish="tool_calls"))] == ["x", "z"]


def test_an_anthropic_call_comes_out_at_the_stop_of_its_block() -> None:
    stream = StreamAssembler("anthropic")

    given = [stream.feed(event) for event in block(0, '{"a"', ":1}")]

    assert [len(calls) for calls in given] == [0, 0, 0, 1]


def test_a_call_without_input_waits_until_it_is_clear_that_none_was_cut_off() -> None:
    stream = StreamAssembler("anthropic")

    assert [call for event in block(0) for call in stream.feed(event)] == []
    (cut,) = stream.feed(stop("max_tokens"))

    assert cut.problem is not None
    assert cut.problem.kind is ProblemKind.TRUNCATED
    assert "max_tokens" in cut.problem.message


def test_names_are_turned_back() -> None:
    stream = StreamAssembler("openai", names={"weather_lookup": "weather/lookup"})
    stream.feed(chat(delta(0, "c1", "functions.weather_lookup", "{}")))

    (call,) = stream.close()

    assert call.tool_name == "weather/lookup"


# Dialects.

DIALECTS: dict[str, tuple[list[dict[str, Any]], list[tuple[Any, ...]]]] = {
    "a name in pieces": (
        whole(delta(0, "c1", "get_", ""), delta(0, None, "weather"), delta(0, None, None, "{}")),
        [("get_weather", {}, None)],
    ),
    "an index that counts the deltas": (
        whole(
            delta(0, "c1", "x"), delta(1, None, None, '{"a"'), delta(2, None, None, ":1}"), delta(3, "c2", "y", "{}")
        ),
        [("x", {"a": 1}, None), ("y", {}, None)],
    ),
    "an index that drifted and came back": (
        whole(delta(0, "c1", "x", '{"a":"'), delta(1, None, None, "{}"), delta(0, None, None, '"}')),
        [("x", {"a": "{}"}, "truncated")],
    ),
    "a new id with every delta": (
        whole(delta(0, "c1", "x"), delta(0, "c2", None, '{"a"'), delta(0, "c3", None, ":1}")),
        [("x", {"a": 1}, None)],
    ),
    "an id that comes late": (
        whole(delta(0, None, "x"), delta(0, "c1", None, '{"a":1}')),
        [("x", {"a": 1}, None)],
    ),
    "no ids and no index at all": (
        whole(delta(None, None, "x", '{"a":1}'), delta(None, None, "y", '{"b":2}')),
        [("x", {"a": 1}, None), ("y", {"b": 2}, None)],
    ),
    "one tool twice, without ids": (
        whole(delta(0, None, "x", '{"a":1}'), delta(0, None, "x", '{"a":2}')),
        [("x", {"a": 1}, None), ("x", {"a": 2}, None)],
    ),
    "two calls with one id": (
        whole(delta(0, "c", "x", '{"a":1}'), delta(1, "c", "x", '{"a":2}')),
        [("x", {"a": 1}, None), ("x", {"a": 2}, None)],
    ),
    "arguments as an object": (
        whole(delta(0, "c1", "x", {"a": 1}), delta(1, "c2", "y", {})),
        [("x", {"a": 1}, None), ("y", {}, None)],
    ),
    "a custom call": (
        [
            chat({"index": 0, "id": "c", "type": "custom", "custom": {"name": "run", "input": "{no"}}),
            chat({"index": 0, "custom": {"input": " json"}}, finish="tool_calls"),
        ],
        [("run", {"input": "{no json"}, None)],
    ),
    "the deprecated function_call": (
        [
            {"choices": [{"index": 0, "delta": {"function_call": {"name": "x", "arguments": '{"a"'}}}]},
            {"choices": [{"index": 0, "delta": {"function_call": {"arguments": ":1}"}}}]},
            chat(finish="function_call"),
        ],
        [("x", {"a": 1}, None)],
    ),
    "a server that does not stream": (
        [{"choices": [{"message": {"tool_calls": [{"id": "c", "function": {"name": "x", "arguments": "{}"}}]}}]}],
        [("x", {}, None)],
    ),
    "Ollama's own stream": (
        [
            {"message": {"tool_calls": [{"function": {"name": "x", "arguments": {"a": 1}}}]}, "done": False},
            {"message": {"content": ""}, "done": True, "done_reason": "stop"},
        ],
        [("x", {"a": 1}, None)],
    ),
    "Python's quotes": (whole(delta(0, "c1", "x", "{'a'"), delta(0, None, None, ": 1}")), [("x", {"a": 1}, None)]),
    "no delta and no choices": (
        [{"choices": [None, {"index": 0, "delta": None}]}, {"choices": None}, *whole(delta(0, "c", "x", "{}"))],
        [("x", {}, None)],
    ),
}


@pytest.mark.parametrize(("events", "calls"), DIALECTS.values(), ids=DIALECTS)
def test_chat_is_understood_in_every_dialect(events: list[dict[str, Any]], calls: list[tuple[Any, ...]]) -> None:
    found = brief(events)

    assert calls == [(name, given if kind is None else calls[0][1], kind) for name, given, kind in found]


def test_alternatives_are_numbered() -> None:
    events = [chat(delta(0, "a", "x", "{}")), chat(delta(0, "b", "y", "{}"), choice=1)]
    events += [chat(finish="tool_calls"), chat(finish="tool_calls", choice=1)]

    calls = read_stream(events, "openai")

    assert [(call.tool_name, call.provider_metadata.get("choice")) for call in calls] == [("x", 0), ("y", 1)]


def test_bedrock_streams_by_blocks() -> None:
    events: list[dict[str, Any]] = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"delta": {"text": "hm"}, "contentBlockIndex": 0}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "u1", "name": "x"}}, "contentBlockIndex": 1}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"a"'}}, "contentBlockIndex": 1}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": ": 1}"}}, "contentBlockIndex": 1}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
        {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "u2", "name": "y"}}, "contentBlockIndex": 2}},
        {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"b'}}, "contentBlockIndex": 2}},
        {"contentBlockStop": {"contentBlockIndex": 2}},
    ]

    ended = brief([*events, {"messageStop": {"stopReason": "tool_use"}}], "bedrock")
    cut = brief([*events, {"messageStop": {"stopReason": "max_tokens"}}], "bedrock")

    assert ended == cut == [("x", {"a": 1}, None), ("y", {}, "truncated")]


def test_an_mcp_session_takes_requests_back() -> None:
    stream = StreamAssembler("mcp")
    (call,) = stream.feed({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "x"}})

    stream.feed({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})

    assert [(call.sequence, "cancelled")] == [
        (each.sequence, each.problem and each.problem.kind) for each in stream.disowned
    ]


# What is taken back.


def test_a_cancellation_takes_back_a_call_that_was_given_out() -> None:
    stream = StreamAssembler("gemini")
    calls = stream.feed({"toolCall": {"functionCalls": [{"id": "a", "name": "x"}, {"id": "b", "name": "y"}]}})

    assert stream.feed({"toolCallCancellation": {"ids": ["b", "b", "stranger"]}}) == []

    (taken,) = stream.disowned
    assert [call.problem for call in calls] == [None, None]
    assert (taken.provider_call_id, taken.sequence) == ("b", 1)
    assert taken.problem is not None
    assert (taken.problem.kind, taken.problem.category) == (ProblemKind.CANCELLED, ErrorCategory.CANCELLED)
    assert str(CallStatus.CANCELLED) == str(taken.problem.category)


DISOWNING: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any]]] = {
    "Anthropic, a refusal": ("anthropic", block(0, "{}"), stop("refusal")),
    "Anthropic, a pause": ("anthropic", block(0, "{}"), stop("pause_turn")),
    "Anthropic, overloaded": ("anthropic", block(0, "{}"), {"type": "error", "error": {"type": "overloaded_error"}}),
    "Chat, an error": (
        "openai",
        [chat(delta(0, "a", "x", "{}")), chat(delta(1, "b", "y", "{}"))],
        {"error": {"message": "the server is gone", "code": 500}},
    ),
    "Responses, failed": (
        "openai_responses",
        [
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"},
            }
        ],
        {"type": "response.failed", "response": {"status": "failed"}},
    ),
    "Gemini, a malformed call": (
        "gemini",
        [{"candidates": [{"content": {"parts": [{"functionCall": {"name": "x"}}]}}]}],
        {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]},
    ),
    "Gemini, a limit": (
        "gemini",
        [{"candidates": [{"content": {"parts": [{"functionCall": {"name": "x"}}]}}]}],
        {"candidates": [{"finishReason": "MAX_TOKENS"}]},
    ),
    "Interactions, cancelled": (
        "gemini_interactions",
        [
            {"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "i", "name": "x"}},
            {"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": "{}"}},
            {"event_type": "step.stop", "index": 0},
        ],
        {"event_type": "interaction.completed", "interaction": {"status": "cancelled"}},
    ),
    "Bedrock, throttled": (
        "bedrock",
        [
            {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "u", "name": "x"}}, "contentBlockIndex": 0}},
            {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}, "contentBlockIndex": 0}},
            {"contentBlockStop": {"contentBlockIndex": 0}},
        ],
        {"throttlingException": {"message": "slow down"}},
    ),
}


@pytest.mark.parametrize(("provider_format", "events", "end"), DISOWNING.values(), ids=DISOWNING)
def test_a_turn_that_ends_badly_takes_its_calls_back(
    provider_format: str, events: list[dict[str, Any]], end: dict[str, Any]
) -> None:
    stream = StreamAssembler(provider_format)
    given = [call for event in events for call in stream.feed(event)]

    rest = stream.feed(end) + stream.close()

    assert [call.problem for call in given] == [None]
    assert [call.sequence for call in stream.disowned] == [0]
    assert all(call.problem is not None for call in [*stream.disowned, *rest])
    assert stream.failure is not None or stream.is_ended


def test_a_lost_connection_leaves_whole_calls_alone() -> None:
    stream = StreamAssembler("openai")
    stream.feed(chat(delta(0, "a", "x", '{"a":1}')))
    (first,) = stream.feed(chat(delta(1, "b", "y", '{"b"')))

    (second,) = stream.close()

    assert (first.problem, stream.disowned, stream.failure, stream.is_ended) == (None, [], None, False)
    assert second.problem is not None
    assert second.problem.kind is ProblemKind.TRUNCATED
    assert second.problem.raw_arguments == '{"b"'


def test_pieces_behind_the_end_of_a_call_take_it_back() -> None:
    stream = StreamAssembler("openai")
    stream.feed(chat(delta(0, "a", "x", '{"a":1}')))
    stream.feed(chat(finish="tool_calls"))

    stream.feed(chat(delta(0, None, None, ',"b":2}')))

    (taken,) = stream.disowned
    assert taken.problem is not None
    assert "went on" in taken.problem.message


# Streams that begin too late, never end, or are no streams.


def test_a_stream_that_began_before_we_came_gives_a_call_without_a_name() -> None:
    for provider_format, event in {
        "openai": chat(delta(0, None, None, '"a":1}')),
        "anthropic": block(0, '"a":1}')[1],
        "openai_responses": {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "1}"},
        "gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"partialArgs": [], "id": "a"}}]}}]},
        "gemini_interactions": {
            "event_type": "step.delta",
            "index": 0,
            "delta": {"type": "arguments_delta", "arguments": "1}"},
        },
    }.items():
        assert [(name, kind) for name, _, kind in brief([event], provider_format)] == [("", "no_name")]


def test_arguments_that_never_end_are_dropped_beyond_the_limit() -> None:
    stream = StreamAssembler("openai", max_arguments_bytes=10_000)
    stream.feed(chat(delta(0, "a", "x", '{"a":"')))
    piece = chat(delta(0, None, None, "x" * 1000))

    tracemalloc.start()
    for _ in range(20_000):
        stream.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    (call,) = stream.feed(chat(finish="tool_calls"))

    assert peak < 200_000
    assert call.problem is not None
    assert "longer than the limit of 10000 bytes" in call.problem.message
    assert call.arguments == {}


def test_the_limit_counts_bytes() -> None:
    fits, does_not = '{"a":"' + "ä" * 46 + '"}', '{"a":"' + "ä" * 47 + '"}'
    stream = StreamAssembler("openai", max_arguments_bytes=100)
    pieces = [delta(index, f"c{index}", "x", text) for index, text in enumerate((fits, does_not))]

    first, second = read_stream([chat(*pieces)], "openai")
    calls = stream.feed(chat(*pieces, finish="tool_calls"))

    assert [call.problem is None for call in (first, second)] == [True, True]
    assert [call.problem is None for call in calls] == [True, False]


def test_calls_that_never_end_fail_the_stream() -> None:
    stream = StreamAssembler("openai", max_calls=10)

    given = [call for number in range(50) for call in stream.feed(chat(delta(number, f"c{number}", "x", "{}")))]
    given += stream.close()

    assert len(given) == 10
    assert stream.failure == "the stream has more than 10 calls"
    assert {call.sequence for call in stream.disowned} == {call.sequence for call in given if call.problem is None}


def test_a_live_session_may_last_longer_than_any_limit() -> None:
    stream = StreamAssembler("gemini", max_calls=20)

    given = [
        call
        for number in range(200)
        for call in stream.feed({"toolCall": {"functionCalls": [{"id": f"f{number}", "name": "x"}]}})
    ]
    stream.feed({"toolCallCancellation": {"ids": ["f199"]}})

    assert (len(given), len({call.sequence for call in given})) == (200, 200)
    assert stream.failure is None
    assert [call.sequence for call in stream.disowned] == [199]


def test_a_line_that_never_ends_is_let_go() -> None:
    text = EventText(max_chars=1000)

    for _ in range(100):
        assert list(text.feed("data: {" + "x" * 100)) == []

    assert text.unreadable > 0


@pytest.mark.parametrize("event", [None, 5, "data: {oops}\n\n", b"\xff\xfe{}\n", object(), "no event at all\n"])
def test_an_event_that_nobody_can_read_costs_the_calls_it_may_belong_to(event: Any) -> None:
    stream = StreamAssembler("openai")
    stream.feed(chat(delta(0, "a", "x", "{}")))
    (first,) = stream.feed(chat(delta(1, "b", "y", '{"b":')))

    stream.feed(event)
    (second,) = stream.feed(chat(delta(1, None, None, "1}"), finish="tool_calls"))

    assert first.problem is None
    assert second.problem is not None
    assert "could not be read" in second.problem.message


def test_comments_pings_and_the_end_mark_say_nothing() -> None:
    event = json.dumps(chat(delta(0, "a", "x", "{}"), finish="tool_calls"))
    text = f": keep-alive\n\nevent: message\nid: 1\nretry: 10\ndata: {event}\n\ndata: [DONE]\n\n"

    assert brief([text]) == brief(text.splitlines()) == brief(text.splitlines(keepends=True)) == [("x", {}, None)]


def test_data_may_be_spread_over_lines() -> None:
    event = json.dumps(chat(delta(0, "a", "x", "{}"), finish="tool_calls"), indent=1)
    text = "".join(f"data: {line}\n" for line in event.splitlines()) + "\n"

    assert brief([text]) == brief([text[:40], text[40:]]) == [("x", {}, None)]


def test_a_document_of_events_is_a_stream_too() -> None:
    events = whole(delta(0, "a", "x", "{}"))

    assert brief([json.dumps(events)]) == brief([json.dumps(events, indent=2)]) == [("x", {}, None)]


# Vertex.


def vertex(*partials: dict[str, Any], **members: Any) -> dict[str, Any]:
    call = {**members, "partialArgs": list(partials)} if partials else members
    return {"candidates": [{"content": {"parts": [{"functionCall": call}]}}]}


PARTIALS: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "quoted names": ([{"jsonPath": "$['a b'].c", "numberValue": 1}], {"a b": {"c": 1}}),
    "double quotes": ([{"jsonPath": '$["it\'s"]', "boolValue": False}], {"it's": False}),
    "escapes": ([{"jsonPath": r"$['it\'s']", "nullValue": "NULL_VALUE"}], {"it's": None}),
    "lists of lists": (
        [{"jsonPath": "$.a[0][0]", "numberValue": 1}, {"jsonPath": "$.a[0][1]", "stringValue": "x"}],
        {"a": [[1, "x"]]},
    ),
    "a text in pieces": (
        [
            {"jsonPath": "$.a", "stringValue": "He", "willContinue": True},
            {"jsonPath": "$.b", "numberValue": 2},
            {"jsonPath": "$.a", "stringValue": "llo"},
        ],
        {"a": "Hello", "b": 2},
    ),
    "an empty text": ([{"jsonPath": "$.a", "stringValue": ""}], {"a": ""}),
    "a text whose end says nothing": (
        [{"jsonPath": "$.a", "stringValue": "x", "willContinue": True}, {"jsonPath": "$.a"}],
        {"a": "x"},
    ),
    "a gap": ([{"jsonPath": "$.a[1]", "numberValue": 1}], None),
    "a huge index": ([{"jsonPath": "$.a[999999999]", "numberValue": 1}], None),
    "no path": ([{"numberValue": 1}], None),
    "no real path": ([{"jsonPath": "a.b", "numberValue": 1}], None),
    "a wild card": ([{"jsonPath": "$.a[*]", "numberValue": 1}], None),
    "the whole": ([{"jsonPath": "$", "numberValue": 1}], None),
    "a path through a number": (
        [{"jsonPath": "$.a", "numberValue": 1}, {"jsonPath": "$.a.b", "numberValue": 1}],
        None,
    ),
    "an array that is an object": (
        [{"jsonPath": "$.a.b", "numberValue": 1}, {"jsonPath": "$.a[0]", "numberValue": 1}],
        None,
    ),
    "a text that goes on after its end": (
        [{"jsonPath": "$.a", "stringValue": "x"}, {"jsonPath": "$.a", "stringValue": "y"}],
        None,
    ),
    "no value": ([{"jsonPath": "$.a"}], None),
    "a text that is not ended": ([{"jsonPath": "$.a", "stringValue": "x", "willContinue": True}], None),
}


@pytest.mark.parametrize(("partials", "expected"), PARTIALS.values(), ids=PARTIALS)
def test_partial_arguments_are_put_in_their_place(partials: list[dict[str, Any]], expected: Any) -> None:
    events = [vertex(name="x", willContinue=True), *(vertex(each, willContinue=True) for each in partials), vertex()]

    ((name, arguments, problem),) = brief(events, "gemini")

    assert name == "x"
    assert (arguments, problem) == (expected, None) if expected is not None else problem == "truncated"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("$[0]", "[0] is an index into something that is not an array"),
        ("$.a[0]", "[0] is an index into something that is not an array"),
        ("$.a.b", "'b' is a key of something that is not an object"),
    ],
)
def test_a_path_that_does_not_fit_what_came_before_is_named(path: str, words: str) -> None:
    first, second = {"jsonPath": "$.a", "numberValue": 1}, {"jsonPath": path, "numberValue": 1}
    stream = StreamAssembler("gemini")

    calls = [*stream.feed(vertex(first, second, name="x", willContinue=True)), *stream.feed(vertex())]

    (problem,) = [call.problem for call in calls]
    assert problem is not None
    assert problem.message.startswith(f"the call is truncated or damaged: {words}. ")


def test_a_call_in_pieces_that_is_overtaken_was_cut_off() -> None:
    events = [vertex(name="x", willContinue=True), vertex(name="y", args={})]

    assert brief(events, "gemini") == [("x", {}, "truncated"), ("y", {}, None)]


# Responses.


def item(index: int, text: str = "", **members: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": f"c{index}", "name": "x", "arguments": text, **members}


def test_an_item_whose_beginning_was_lost_is_read_from_its_end() -> None:
    events = [
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '"a":1}'},
        {"type": "response.output_item.done", "output_index": 0, "item": item(0, '{"a":1}')},
    ]

    assert brief(events, "openai_responses") == [("x", {"a": 1}, None)]


def test_a_response_that_says_it_is_complete_completes_what_was_lost() -> None:
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item(0)},
        {
            "type": "response.completed",
            "response": {"status": "completed", "output": [item(0, '{"a":1}'), item(1, "{}")]},
        },
    ]

    assert brief(events, "openai_responses") == [("x", {"a": 1}, None), ("x", {}, None)]


def test_a_number_that_is_missing_makes_pieces_worthless() -> None:
    pieces = ['{"a":', "1", "}"]
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item(0), "sequence_number": 0},
        *(
            {
                "type": "response.function_call_arguments.delta",
                "output_index": 0,
                "delta": piece,
                "sequence_number": number,
            }
            for number, piece in zip((1, 2, 4), pieces, strict=True)
        ),
        {"type": "response.completed", "response": {"status": "completed"}, "sequence_number": 5},
    ]

    assert brief(events, "openai_responses") == [("x", {"a": 1}, "truncated")]


def test_an_incomplete_response_refuses_what_it_cut() -> None:
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item(0)},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"},
        {"type": "response.incomplete", "response": {"status": "incomplete"}},
    ]

    assert brief(events, "openai_responses") == [("x", {}, "truncated")]


def test_an_item_with_nothing_in_it_is_passed_over() -> None:
    added = {"type": "response.output_item.added", "output_index": 0, "item": None}
    stream = StreamAssembler("openai_responses")

    assert [stream.feed(event) for event in (added, {"type": "error", "message": "no"})] == [[], []]
    assert stream.failure == "the provider ended the stream with an error (error, no)"
