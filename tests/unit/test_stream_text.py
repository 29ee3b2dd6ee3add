"""Streams as text: JSON laid out over lines, and calls that a model wrote into what it says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.test_streams import brief, delta, whole
from toolrelay import ProblemKind, StreamAssembler, read_calls
from toolrelay.formats.streams.events import EventText
from toolrelay.streams import read_stream

# Calls in the text, for who asks for them.

TAGGED = '<tool_call>\n{"name": "clock", "arguments": {"zone": "</tool_call>"}}\n</tool_call>'


def said(content: str | None, finish: str | None = None, choice: int = 0) -> dict[str, Any]:
    return {"choices": [{"index": choice, "delta": {"content": content}, "finish_reason": finish}]}


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_tagged_calls_of_a_streamed_text_come_when_their_choice_ends(size: int) -> None:
    text = f"I look. {TAGGED} {TAGGED}"
    events = [said(text[place : place + size]) for place in range(0, len(text), size)]
    stream = StreamAssembler("openai", text_calls=True)

    assert [call for event in events for call in stream.feed(event)] == []
    calls = stream.feed(said(None, "stop"))

    assert [(call.tool_name, call.arguments, call.sequence) for call in calls] == [
        ("clock", {"zone": "</tool_call>"}, 0),
        ("clock", {"zone": "</tool_call>"}, 1),
    ]
    message = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    assert [call.arguments for call in calls] == [
        call.arguments for call in read_calls(message, "openai", text_calls=True)
    ]
    assert read_stream([*events, said(None, "stop")], "openai") == []  # who does not ask gets none


@pytest.mark.parametrize(
    ("events", "kinds"),
    [
        ([said(TAGGED, "length")], [None]),
        ([said(TAGGED + TAGGED.removesuffix("</tool_call>"), "length")], [None, ProblemKind.TRUNCATED]),
        ([said(TAGGED.removesuffix("</tool_call>"), "stop")], [None]),
        ([said(TAGGED.removesuffix("</tool_call>"))], [ProblemKind.TRUNCATED]),
        ([said('<tool_call>{"name": "clock"', "stop")], [ProblemKind.NO_NAME]),
    ],
    ids=["closed", "second open", "open, but the model had done", "lost", "not whole"],
)
def test_a_tagged_call_that_was_cut_off_does_not_run(events: list[Any], kinds: list[ProblemKind | None]) -> None:
    calls = read_stream(events, "openai", text_calls=True)

    assert kinds == [call.problem and call.problem.kind for call in calls]


def test_the_text_beside_other_calls_is_only_text() -> None:
    events = [said(TAGGED), *whole(delta(0, "c1", "x", "{}")), said(TAGGED, "stop", choice=1)]

    assert [call.tool_name for call in read_stream(events, "openai", text_calls=True)] == ["x", "clock"]


def test_the_text_of_ollamas_own_stream_is_read_too() -> None:
    events = [
        {"message": {"role": "assistant", "content": TAGGED[:20]}, "done": False},
        {"message": {"role": "assistant", "content": TAGGED[20:]}, "done": True, "done_reason": "stop"},
    ]

    assert [call.tool_name for call in read_stream(events, "openai", text_calls=True)] == ["clock"]


def test_a_text_that_never_ends_fails_the_stream() -> None:
    stream = StreamAssembler("openai", text_calls=True, max_arguments_bytes=10_000)

    for _ in range(20):
        stream.feed(said("x" * 1000))

    assert stream.failure == "the text, in which calls may stand, is longer than the limit of 10000 bytes"


# JSON laid out over lines.


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_objects_are_cut_out_of_laid_out_text(size: int) -> None:
    objects = [{"a": '}"{\\'}, {"b": [{"c": "\\\\"}, []]}, {"]": "[\n"}]
    text = json.dumps(objects, indent=2) + " ] trailing"
    events = EventText()

    found = [event for place in range(0, len(text), size) for event in events.feed(text[place : place + size])]

    assert found + list(events.close()) == objects
    assert events.unreadable == 0


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_a_cut_off_array_had_whole_is_read(size: int) -> None:
    text = '[{"a": 1},\n{"b": 2},\n{"c'
    events = EventText()

    found = [event for place in range(0, len(text), size) for event in events.feed(text[place : place + size])]

    assert found + list(events.close()) == [{"a": 1}, {"b": 2}]
    assert events.unreadable == 1


def test_a_broken_first_line_does_not_hide_the_lines_after_it() -> None:
    events = EventText()

    found = [*events.feed('{"a": "\n{"b": 2}\n\n{"c": 3}\n'), *events.close()]

    assert {"c": 3} in found
    assert events.unreadable


def test_an_object_beyond_the_limit_is_left_out() -> None:
    events = EventText(max_chars=100)
    text = json.dumps([{"a": "x" * 200}, {"b": 2}], indent=2)

    found = [event for place in range(0, len(text), 10) for event in events.feed(text[place : place + 10])]

    assert found == [{"b": 2}]
    assert events.unreadable == 1


def test_laid_out_text_that_is_cut_behind_its_first_object_is_read_on() -> None:
    text = "\n".join(json.dumps(event, indent=1) for event in whole(delta(0, "c1", "x", '{"a":1}')))
    end = text.index("\n}\n") + 2

    assert brief([text[:end], text[end:]]) == [("x", {"a": 1}, None)]
