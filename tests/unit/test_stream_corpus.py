"""Every stream of the corpus comes out of ``StreamAssembler`` as its expectation says, however its events are cut."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.payloads import (
    STREAMS,
    Dumping,
    as_expected,
    as_objects,
    format_of,
    in_sdk_spelling,
    load,
    load_events,
)
from tests.unit.recutting import Cut, as_sse, numbered, recut
from toolrelay.formats.streams import draft
from toolrelay.formats.streams.draft import Draft
from toolrelay.formats.streams.json_text import Objects
from toolrelay.models import NormalizedToolRequest
from toolrelay.streams import StreamAssembler, read_stream

FILES = pytest.mark.parametrize("entry", STREAMS, ids=lambda entry: entry["file"])

FORMS: dict[str, Callable[[Any], Any]] = {
    "dict": lambda event: event,
    "JSON text": json.dumps,
    "JSON bytes": lambda event: json.dumps(event, ensure_ascii=False).encode(),
    "data line": lambda event: f"data: {json.dumps(event)}",
    "server-sent event": lambda event: f"event: {event.get('type')}\r\ndata: {json.dumps(event)}\r\n\r\n",
    "attributes": lambda event: as_objects(event, SimpleNamespace),
    "model_dump": lambda event: as_objects(event, Dumping),
    "list": lambda event: [event],
}

#: Events that neither their loss nor their repetition leaves a trace of: what remains is a stream that the provider may
#: well send, for only Responses numbers its events. The arguments have another shape then, which the schema finds.
TRACELESS = {
    ("anthropic/stream_thinking_text_tool.jsonl", 11),  # "address" becomes "adress" or "adddress"
    ("gemini/stream_partial_args.jsonl", 1),  # the first piece of a text
    ("gemini/stream_partial_args.jsonl", 3),  # values of their own
    ("gemini_interactions/stream_two_calls.jsonl", 3),  # from the middle of one key to the middle of another
}


@st.composite
def cuts(draw: st.DrawFn) -> Cut:
    seed = draw(st.lists(st.floats(0, 1, allow_nan=False), max_size=6))
    size = draw(st.sampled_from([0, 1, 2, 3, 7]))

    def cut(length: int) -> list[int]:
        return list(range(size, length, size)) if size else [int(place * length) for place in seed]

    return cut


def shown(calls: list[NormalizedToolRequest]) -> list[dict[str, Any]]:
    return [as_expected(call) for call in calls]


@FILES
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_stream_is_read_as_expected(entry: dict[str, Any], form: Callable[[Any], Any]) -> None:
    calls = read_stream(map(form, load_events(entry["file"])), format_of(entry))

    assert load(entry["expected"]) == shown(calls)


@FILES
def test_calls_are_given_out_once_and_keep_their_place(entry: dict[str, Any]) -> None:
    assembler = StreamAssembler(format_of(entry))
    given = [call for event in load_events(entry["file"]) for call in assembler.feed(event)]

    given += assembler.close()

    assert entry["calls"] == len(given)
    assert sorted(call.sequence for call in given if call.sequence is not None) == list(range(len(given)))
    assert assembler.close() == []
    assert assembler.feed({"choices": []}) == []


@pytest.mark.parametrize(
    "entry", [entry for entry in STREAMS if entry["provider"] == "gemini"], ids=lambda entry: entry["file"]
)
def test_the_snake_case_of_sdk_attributes_is_read_like_the_wire(entry: dict[str, Any]) -> None:
    events = [as_objects(in_sdk_spelling(event), SimpleNamespace) for event in load_events(entry["file"])]

    calls = read_stream(events, format_of(entry))

    assert load(entry["expected"]) == shown(calls)


@FILES
def test_reading_changes_nothing(entry: dict[str, Any]) -> None:
    events = load_events(entry["file"])
    before = copy.deepcopy(events)

    for call in read_stream(events, format_of(entry)):
        for value in call.arguments.values():
            if isinstance(value, (dict, list)):
                value.clear()

    assert before == events


@FILES
@settings(max_examples=10)
@given(cut=cuts())
def test_other_deltas_make_the_same_calls(entry: dict[str, Any], cut: Cut) -> None:
    events = numbered(recut(load_events(entry["file"]), format_of(entry), cut))

    calls = read_stream(events, format_of(entry))

    assert load(entry["expected"]) == shown(calls)


LAYOUTS: dict[str, Callable[[list[Any]], str]] = {
    "server-sent events": as_sse,
    "one a line": lambda events: "".join(json.dumps(event) + "\n" for event in events),
    "an array": lambda events: json.dumps(events, indent=2),
    "an array, an event a line": lambda events: "[" + "\n,\r\n".join(map(json.dumps, events)) + "\n]\n",
    "an array on one line": lambda events: json.dumps(events, ensure_ascii=False),
    "laid out one after the other": lambda events: "\n".join(json.dumps(event, indent=1) for event in events),
}


@FILES
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@settings(max_examples=5)
@given(data=st.data())
def test_the_text_of_a_stream_may_be_cut_anywhere(
    entry: dict[str, Any], layout: Callable[[list[Any]], str], data: st.DataObject
) -> None:
    raw = layout(load_events(entry["file"])).encode()
    size = data.draw(st.sampled_from([1, 13, 100, 1000, len(raw)]))
    start = data.draw(st.integers(1, size))
    chunks = [raw[:start], *(raw[place : place + size] for place in range(start, len(raw), size))]

    calls = read_stream(chunks, format_of(entry))

    assert load(entry["expected"]) == shown(calls)


def _losses() -> list[tuple[dict[str, Any], int]]:
    places = [(entry, place) for entry in STREAMS for place in range(len(load_events(entry["file"])))]
    return [(entry, place) for entry, place in places if (entry["file"], place) not in TRACELESS]


@pytest.mark.parametrize(
    ("entry", "lost"), _losses(), ids=lambda value: value["file"] if isinstance(value, dict) else str(value)
)
def test_a_lost_event_never_makes_another_call(entry: dict[str, Any], lost: int) -> None:
    """What runs is among what the model wrote. A call that was wholly in the lost event cannot be told from none."""
    events = load_events(entry["file"])
    del events[lost]

    calls = read_stream(events, format_of(entry))

    to_run = [call for call in shown(calls) if "error" not in call]
    allowed = [{**call} for call in load(entry["expected"]) if "error" not in call]
    assert all(_without_echoes(call) in [_without_echoes(one) for one in allowed] for call in to_run)
    assert len(to_run) <= len(allowed)


def _without_echoes(call: dict[str, Any]) -> dict[str, Any]:
    # a cancellation that is lost is one that nobody can know of
    return {key: value for key, value in call.items() if key not in ("cancelled", "warning")}


@FILES
def test_a_stream_that_ends_early_gives_no_half_call(entry: dict[str, Any]) -> None:
    events = load_events(entry["file"])
    allowed = [_without_echoes(call) for call in load(entry["expected"])]

    for end in range(len(events)):
        for call in shown(read_stream(events[:end], format_of(entry))):
            assert "error" in call or _without_echoes(call) in allowed


@FILES
def test_a_repeated_event_never_makes_another_call(entry: dict[str, Any]) -> None:
    """Delivered twice, an event costs at most the call it belongs to."""
    events = load_events(entry["file"])
    allowed = [_without_echoes(call) for call in load(entry["expected"])]

    for place in range(len(events)):
        if (entry["file"], place) in TRACELESS:
            continue
        for call in shown(read_stream([*events[: place + 1], *events[place:]], format_of(entry))):
            assert "error" in call or _without_echoes(call) in allowed


#: what the deltas of one call carry besides its arguments, by their number
DIALECTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "id and name once": lambda number: {"index": 0, "id": None if number else "c", "name": None if number else "f"},
    "id and name repeated": lambda _: {"index": 0, "id": "c", "name": "f"},
    "a new id a delta": lambda number: {"index": 0, "id": f"c{number}", "name": None if number else "f"},
    "an index that counts": lambda number: {"index": number, "id": None, "name": None if number else "f"},
}


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"provider_format must be one of openai, .*; got 'cohere'"):
        StreamAssembler("cohere")


def _counting(function: Callable[..., Any], work: list[int]) -> Callable[..., Any]:
    """Note how many characters the function is given, and how many it gives."""

    def counted(*given: Any) -> Any:
        result = function(*given)
        work.append(sum(len(text) for text in (*given, result) if isinstance(text, str)))
        return result

    return counted


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_arguments_in_many_pieces_cost_what_their_characters_cost(
    dialect: Callable[[int], dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each character is looked at a few times, however many deltas there are."""
    work: list[int] = []
    for owner, name in [(Objects, "edges"), (Draft, "write"), (Draft, "text"), (draft, "_is_object")]:
        monkeypatch.setattr(owner, name, _counting(getattr(owner, name), work))
    text = json.dumps({"text": "x" * 40_000})
    pieces = [text[place : place + 20] for place in range(0, len(text), 20)]
    entries = [{**dialect(number), "arguments": piece} for number, piece in enumerate(pieces)]
    calls = [{"index": one["index"], "id": one["id"], "function": one} for one in entries]

    (call,) = read_stream([{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls], "openai")

    assert call.arguments == {"text": "x" * 40_000}
    assert sum(work) <= 5 * len(text)


def test_what_a_lost_event_took_without_a_trace_is_missed_by_the_schema() -> None:
    """No reader can find these losses; the call is well-formed, and lacks a property or has one too many."""
    for file, place in sorted(TRACELESS - {("gemini/stream_partial_args.jsonl", 1)}):
        (entry,) = [entry for entry in STREAMS if entry["file"] == file]
        events = load_events(file)
        del events[place]

        found = [_shape(call["arguments"]) for call in shown(read_stream(events, format_of(entry)))]

        assert found != [_shape(call["arguments"]) for call in load(entry["expected"])]


def _shape(value: Any) -> Any:
    return {key: _shape(inner) for key, inner in value.items()} if isinstance(value, dict) else None
