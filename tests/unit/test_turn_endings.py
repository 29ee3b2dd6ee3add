"""How a turn's end decides over its calls: each provider's words, whole and streamed, as text and as enum members."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from typing import Any

import pytest

from toolrelay import StreamAssembler, read_calls
from toolrelay.proxy import FinishKind, read_finish
from toolrelay.streams import read_stream

Wire = dict[str, Any]

#: two calls, ``first`` and ``last``, as each format has them: a whole message, and the events of a stream
CHAT_CALLS = [
    {"index": place, "id": name, "type": "function", "function": {"name": name, "arguments": '{"a":1}'}}
    for place, name in enumerate(("first", "last"))
]
BLOCKS = [{"type": "tool_use", "id": name, "name": name, "input": {"a": 1}} for name in ("first", "last")]
USES = [{"toolUse": {"toolUseId": name, "name": name, "input": {"a": 1}}} for name in ("first", "last")]
PARTS = [{"functionCall": {"id": name, "name": name, "args": {"a": 1}}} for name in ("first", "last")]
STEPS = [{"type": "function_call", "id": name, "name": name, "arguments": {"a": 1}} for name in ("first", "last")]
ITEMS = [{"type": "function_call", "call_id": name, "name": name, "arguments": '{"a":1}'} for name in ("first", "last")]
LANGCHAIN_CALLS = [{"name": name, "args": {"a": 1}, "id": name} for name in ("first", "last")]


def chat(reason: Any) -> Wire:
    return {"choices": [{"message": {"role": "assistant", "tool_calls": CHAT_CALLS}, "finish_reason": reason}]}


def chat_events(reason: Any) -> list[Wire]:
    deltas = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]} for call in CHAT_CALLS
    ]
    return [*deltas, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}]


def anthropic(reason: Any) -> Wire:
    return {"type": "message", "role": "assistant", "content": BLOCKS, "stop_reason": reason}


def anthropic_events(reason: Any) -> list[Wire]:
    events: list[Wire] = []
    for index, block in enumerate(BLOCKS):
        piece = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events += [
            {"type": "content_block_start", "index": index, "content_block": {**block, "input": {}}},
            {"type": "content_block_delta", "index": index, "delta": piece},
            {"type": "content_block_stop", "index": index},
        ]
    return [*events, {"type": "message_delta", "delta": {"stop_reason": reason}}]


def bedrock(reason: Any) -> Wire:
    return {"output": {"message": {"role": "assistant", "content": USES}}, "stopReason": reason}


def bedrock_events(reason: Any) -> list[Wire]:
    events: list[Wire] = []
    for index, block in enumerate(USES):
        use = {key: value for key, value in block["toolUse"].items() if key != "input"}
        events += [
            {"contentBlockStart": {"start": {"toolUse": use}, "contentBlockIndex": index}},
            {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"a":1}'}}, "contentBlockIndex": index}},
            {"contentBlockStop": {"contentBlockIndex": index}},
        ]
    return [*events, {"messageStop": {"stopReason": reason}}]


def gemini(reason: Any) -> Wire:
    return {"candidates": [{"content": {"role": "model", "parts": PARTS}, "finishReason": reason}]}


def gemini_events(reason: Any) -> list[Wire]:
    chunks = [{"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in PARTS]
    return [*chunks, {"candidates": [{"finishReason": reason}]}]


def interaction(status: Any) -> Wire:
    return {"id": "i", "steps": STEPS, "status": status}


def interaction_events(status: Any) -> list[Wire]:
    events: list[Wire] = []
    for index, step in enumerate(STEPS):
        piece = {"type": "arguments_delta", "arguments": '{"a":1}'}
        events += [
            {"event_type": "step.start", "index": index, "step": {**step, "arguments": {}}},
            {"event_type": "step.delta", "index": index, "delta": piece},
            {"event_type": "step.stop", "index": index},
        ]
    return [*events, {"event_type": "interaction.completed", "interaction": {"status": status}}]


def response(status: Any) -> Wire:
    return {"object": "response", "output": ITEMS, "status": status}


def response_events(status: Any) -> list[Wire]:
    done = [
        {"type": "response.output_item.done", "output_index": place, "item": item} for place, item in enumerate(ITEMS)
    ]
    return [*done, {"type": "response.completed", "response": {"status": status, "output": []}}]


def langchain(key: str) -> Callable[[Any], Wire]:
    return lambda word: {"type": "ai", "tool_calls": LANGCHAIN_CALLS, "response_metadata": {key: word}}


def langchain_events(key: str) -> Callable[[Any], list[Wire]]:
    def events(word: Any) -> list[Wire]:
        chunks: list[Wire] = [
            {
                "type": "AIMessageChunk",
                "tool_call_chunks": [{"name": name, "args": '{"a":1}', "id": name, "index": index}],
            }
            for index, name in enumerate(("first", "last"))
        ]
        return [*chunks, {"type": "AIMessageChunk", "response_metadata": {key: word}}]

    return events


def langchain_sum(key: str) -> Callable[[Any], Wire]:
    def message(word: Any) -> Wire:
        chunks = [
            {"name": name, "args": '{"a":1}', "id": name, "index": index}
            for index, name in enumerate(("first", "last"))
        ]
        guess = {"tool_calls": LANGCHAIN_CALLS, "tool_call_chunks": chunks}
        return {"type": "AIMessageChunk", **guess, "response_metadata": {key: word}}

    return message


FORMS: dict[str, tuple[str, Callable[[Any], Wire], Callable[[Any], list[Wire]]]] = {
    "openai": ("openai", chat, chat_events),
    "anthropic": ("anthropic", anthropic, anthropic_events),
    "bedrock": ("bedrock", bedrock, bedrock_events),
    "gemini": ("gemini", gemini, gemini_events),
    "interactions": ("gemini_interactions", interaction, interaction_events),
    "responses": ("openai_responses", response, response_events),
    **{
        f"langchain {key}": ("langchain", langchain(key), langchain_events(key))
        for key in ("finish_reason", "stop_reason", "stopReason", "status")
    },
    **{
        f"langchain sum {key}": ("langchain", langchain_sum(key), langchain_events(key))
        for key in ("finish_reason", "stop_reason", "stopReason", "status")
    },
}

RUN, CUT, NONE, GONE = (None, None), (None, "truncated"), ("truncated", "truncated"), ()
Outcome = tuple[str | None, ...]

#: the form, its words, what becomes of the two calls of a whole message, and of a stream
WORDS: list[tuple[str, str, Outcome, Outcome]] = [
    ("openai", "tool_calls stop function_call eos", RUN, RUN),
    ("openai", "length max_tokens model_length content_filter", CUT, CUT),
    ("openai", "error insufficient_system_resource abort cancelled", NONE, NONE),
    ("anthropic", "tool_use", RUN, RUN),
    ("anthropic", "end_turn stop_sequence refusal", NONE, NONE),
    ("anthropic", "pause_turn compaction", GONE, NONE),
    ("anthropic", "max_tokens model_context_window_exceeded", NONE, RUN),
    ("bedrock", "tool_use end_turn stop_sequence", RUN, RUN),
    ("bedrock", "guardrail_intervened content_filtered malformed_tool_use malformed_model_output", NONE, NONE),
    ("bedrock", "max_tokens model_context_window_exceeded", NONE, RUN),
    ("gemini", "STOP", RUN, RUN),
    ("gemini", "MAX_TOKENS CONTINUATION", CUT, CUT),
    ("gemini", "SAFETY MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL OTHER TOMORROWS_REASON", NONE, NONE),
    ("interactions", "completed requires_action idle", RUN, RUN),
    ("interactions", "incomplete requires_continuation budget_exceeded", CUT, RUN),
    ("interactions", "failed cancelled", NONE, NONE),
    ("interactions", "queued in_progress", NONE, RUN),
    ("responses", "completed", RUN, RUN),
    ("responses", "incomplete", CUT, RUN),
    ("responses", "failed cancelled", NONE, NONE),
    *(
        (f"langchain{form} {key}", words, whole, streamed)
        for form in ("", " sum")
        for key, words, whole, streamed in [
            ("finish_reason", "tool_calls stop STOP STOPSTOP", RUN, RUN),
            ("finish_reason", "length MAX_TOKENS content_filter lengthlength CONTINUATION", CUT, CUT),
            ("finish_reason", "SAFETY MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL error abort", NONE, NONE),
            ("stop_reason", "tool_use end_turn", RUN, RUN),
            ("stop_reason", "refusal", NONE, NONE),
            ("stop_reason", "pause_turn", GONE, ("truncated",)),  # the last was open, and is gone
            ("stop_reason", "max_tokens model_context_window_exceeded", CUT, CUT),
            ("stopReason", "tool_use", RUN, RUN),
            ("stopReason", "max_tokens", CUT, CUT),
            ("stopReason", "malformed_tool_use guardrail_intervened", NONE, NONE),
            ("status", "completed", RUN, RUN),
            ("status", "incomplete", CUT, CUT),
            ("status", "failed cancelled", NONE, NONE),
        ]
    ),
]
CASES = [(form, word, whole, streamed) for form, words, whole, streamed in WORDS for word in words.split()]


def as_enum(word: str) -> Any:
    """Give a member of an enum as SDKs have them: its own text is another one."""
    reasons: Any = enum.Enum("Reason", {"MEMBER": word}, type=str)  # type: ignore[misc]  # made of the word at hand
    return reasons["MEMBER"]


def outcome(calls: list[Any]) -> Outcome:
    return tuple(call.problem and str(call.problem.kind) for call in calls)


@pytest.mark.parametrize("spell", [str, as_enum], ids=["text", "enum"])
@pytest.mark.parametrize(("form", "word", "whole", "streamed"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_a_turns_end_decides_over_its_calls(
    form: str, word: str, whole: Outcome, streamed: Outcome, spell: Callable[[str], Any]
) -> None:
    provider_format, write, write_events = FORMS[form]
    calls = read_calls(write(spell(word)), provider_format)
    stream = read_stream(write_events(spell(word)), provider_format)

    assert (whole, streamed) == (outcome(calls), outcome(stream))
    assert all("Reason." not in call.problem.message for call in [*calls, *stream] if call.problem)
    assert all(
        word.partition(":")[0] in call.problem.message or "incomplete" in call.problem.message
        for call in stream
        if call.problem and "STOP" not in word and word != "lengthlength"
    )


@pytest.mark.parametrize("spell", [str, as_enum], ids=["text", "enum"])
@pytest.mark.parametrize(
    ("message", "kind", "reason"),
    [
        (chat, FinishKind.ERROR, "abort"),
        (chat, FinishKind.MALFORMED, "function_call_filter: MALFORMED_FUNCTION_CALL"),
        (bedrock, FinishKind.MALFORMED, "malformed_tool_use"),
        (gemini, FinishKind.CONTENT_FILTER, "MODEL_ARMOR"),
        (gemini, FinishKind.LENGTH, "CONTINUATION"),
        (interaction, FinishKind.LENGTH, "requires_continuation"),
        (interaction, FinishKind.STOP, "idle"),
        (langchain("stopReason"), FinishKind.CONTENT_FILTER, "guardrail_intervened"),
        (langchain("status"), FinishKind.ERROR, "failed"),
    ],
)
def test_the_word_is_told_and_sorted(
    message: Callable[[Any], Wire], kind: FinishKind, reason: str, spell: Callable[[str], Any]
) -> None:
    finish = read_finish(message(spell(reason)))

    assert (kind, reason) == (finish.kind, finish.reason)
    assert type(finish.reason) is str


@pytest.mark.parametrize(("status", "is_ended"), [("queued", False), ("in_progress", False), ("idle", True)])
def test_an_interaction_that_goes_on_has_not_ended(status: str, is_ended: bool) -> None:
    stream = StreamAssembler("gemini_interactions")

    stream.feed({"event_type": "interaction.status_update", "status": status})

    assert is_ended == stream.is_ended


# Errors in the middle.

ERROR = {"code": 502, "message": "the provider is gone"}


def test_an_error_beside_a_choice_fails_the_stream_and_takes_its_calls_back() -> None:
    stream = StreamAssembler("openai")
    *deltas, _ = chat_events("stop")
    given = [call for event in deltas for call in stream.feed(event)]

    rest = stream.feed({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}], "error": ERROR})

    assert [call.tool_name for call in given] == ["first"]
    assert [call.tool_name for call in stream.disowned] == ["first"]
    assert [(call.tool_name, *outcome([call])) for call in rest] == [("last", "truncated")]
    assert stream.failure is not None
    assert "the provider is gone" in stream.failure


@pytest.mark.parametrize("place", ["message", "choice"])
def test_a_whole_message_with_an_error_runs_nothing(place: str) -> None:
    message = chat("stop")
    (message if place == "message" else message["choices"][0])["error"] = ERROR

    assert outcome(read_calls(message)) == NONE


@pytest.mark.parametrize("form", ["anthropic", "responses", "interactions", "bedrock", "gemini", "openai"])
def test_an_error_without_a_type_fails_the_stream(form: str) -> None:
    provider_format, _, write_events = FORMS[form]
    *events, _ = write_events("unused")
    stream = StreamAssembler(provider_format)
    given = [call for event in events for call in stream.feed(event)]

    given += stream.feed({"error": ERROR})

    assert stream.failure is not None
    assert [call.tool_name for call in given] == ["first", "last"]
    runnable = [call.tool_name for call in given if call.problem is None]
    assert runnable == [call.tool_name for call in stream.disowned]


def test_a_tagged_call_of_a_failed_turn_does_not_run() -> None:
    text = '<tool_call>{"name": "x", "arguments": {}}</tool_call>'
    message = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "error"}]}
    delta = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "error"}]}

    assert outcome(read_calls(message, text_calls=True)) == ("truncated",)
    assert outcome(read_stream([delta], "openai", text_calls=True)) == ("truncated",)


def test_what_becomes_of_a_second_turn_does_not_touch_the_first() -> None:
    for form, begin in {"anthropic": {"type": "message_start", "message": {}}, "bedrock": {"messageStart": {}}}.items():
        provider_format, _, write_events = FORMS[form]
        stream = StreamAssembler(provider_format)
        for event in [begin, *write_events("tool_use"), begin]:
            stream.feed(event)

        stream.feed(write_events("guardrail_intervened")[-1])

        assert (stream.disowned, stream.is_ended) == ([], True)


# A prompt that was blocked.

BLOCKED = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}


@pytest.mark.parametrize("message", [BLOCKED, {"candidates": None, "prompt_feedback": {"block_reason": "SAFETY"}}])
def test_a_blocked_prompt_has_no_calls_and_says_why(message: Wire) -> None:
    stream = StreamAssembler("gemini")

    assert read_calls(message) == []
    assert stream.feed(message) == []
    assert (stream.is_ended, stream.failure, stream.close()) == (True, None, [])
    assert read_finish(message)[:2] == (FinishKind.CONTENT_FILTER, "SAFETY")
    other = read_finish({"promptFeedback": {"blockReason": as_enum("OTHER")}})
    assert other[:2] == (FinishKind.CONTENT_FILTER, "OTHER")


@pytest.mark.parametrize(
    "message",
    [
        chat("length:\ud800"),
        {**gemini("STOP"), "promptFeedback": {"blockReason": "\ud800"}},
        gemini("MALFORMED_FUNCTION_CALL:\ud800"),
    ],
    ids=["chat", "blocked", "malformed"],
)
def test_a_providers_word_that_is_no_whole_text_leaves_calls_that_can_be_written(message: Wire) -> None:
    calls = read_calls(message)

    assert [call.tool_name for call in calls] == ["first", "last"]
    assert [call.problem for call in calls if call.problem and "\ud800" in call.problem.message] == []
    assert [type(call).model_validate_json(call.model_dump_json()).problem for call in calls] == [
        call.problem for call in calls
    ]


def test_what_is_said_of_a_malformed_turn_is_whole_text() -> None:
    problem = read_finish(gemini("MALFORMED_FUNCTION_CALL:\ud800")).problem

    assert problem is not None
    assert problem.message == (
        "the model failed to form a call (gemini: MALFORMED_FUNCTION_CALL:\ufffd); nothing was run. Ask it again."
    )


@pytest.mark.parametrize(
    ("added_up", "reason", "kind"),
    [
        ("lengthlength", "length", "length"),
        ("STOPSTOP", "STOP", "stop"),
        ("stopstopstop", "stop", "stop"),
        ("requires_actionrequires_action", "requires_action", "tool_calls"),
        ("refusalrefusal", "refusal", "content_filter"),
        ("pause_turnpause_turn", "pause_turn", "pause"),
        ("tootoo", "tootoo", "unknown"),
    ],
)
def test_langchains_repeated_words_are_understood_by_all_who_read_them(added_up: str, reason: str, kind: str) -> None:
    message = {"type": "ai", "tool_calls": [], "response_metadata": {"finish_reason": added_up}}

    assert read_finish(message)[:2] == (kind, reason)
    assert read_finish({"lc": 1, "type": "constructor", "kwargs": message})[:2] == (kind, reason)


@pytest.mark.parametrize(
    "reason", ["tool_calls", "tool_use", "end_turn", "STOP", "completed", "requires_action", "idle"]
)
def test_each_models_own_word_settles_langchains_stream(reason: str) -> None:
    chunk = {
        "type": "AIMessageChunk",
        "content": "",
        "tool_call_chunks": [{"name": "f", "args": "{}", "id": "1", "index": 0}],
        "response_metadata": {"finish_reason": reason},
    }
    stream = StreamAssembler("langchain")

    assert outcome(stream.feed(chunk)) == (None,)

    assert stream.is_ended
