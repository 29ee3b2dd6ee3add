"""How payloads are told apart and read as a whole: format, form, calls, the provider's own calls, the end."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.payloads import INDEX, PAYLOADS, format_of
from toolrelay import InvalidPayloadError, ProviderFormat
from toolrelay.reading import read_payload

BEDROCK = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t_1", "name": "lookup"}}, "contentBlockIndex": 0}},
    {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}, "contentBlockIndex": 0}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"messageStop": {"stopReason": "tool_use"}},
]


def jsonl(events: Sequence[Any]) -> str:
    return "\n".join(map(json.dumps, events))


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: entry["file"])
def test_every_payload_of_the_corpus_is_told_apart_and_read(entry: dict[str, Any]) -> None:
    reading = read_payload((PAYLOADS / entry["file"]).read_text())

    assert (reading.provider_format, reading.is_detected) == (format_of(entry), True)
    assert reading.form == {"whole": "message"}.get(entry["form"], "stream")
    expected = json.loads((PAYLOADS / entry["expected"]).read_text())
    names = [(call["name"], call["provider_call_id"]) for call in expected]
    assert [(call.tool_name, call.provider_call_id) for call in reading.calls] == names
    assert reading.is_sound == (reading.finish.problem is None and not any(call.problem for call in reading.calls))


@pytest.mark.parametrize("entry", [entry for entry in INDEX if entry["server_side"]], ids=lambda entry: entry["file"])
def test_what_the_provider_runs_is_named_once_and_in_order(entry: dict[str, Any]) -> None:
    reading = read_payload((PAYLOADS / entry["file"]).read_text())

    expected = [(each["name"], each.get("server_label") or each.get("server_name")) for each in entry["server_side"]]
    assert [(each.name, each.server) for each in reading.server_calls] == expected
    for each, call in zip(entry["server_side"], reading.server_calls, strict=True):
        assert each["provider_call_id"] in (None, call.call_id)


def test_a_stream_may_be_lines_a_list_or_server_sent_events() -> None:
    events = BEDROCK
    texts = [jsonl(events), json.dumps(events, indent=1), "".join(f"data: {json.dumps(one)}\n\n" for one in events)]

    readings = [read_payload(text) for text in texts]

    assert readings[0] == readings[1] == readings[2]
    assert (readings[0].provider_format, readings[0].form, readings[0].is_ended) == ("bedrock", "stream", True)
    assert (readings[0].finish.kind, readings[0].finish.reason) == ("tool_calls", "tool_use")


def test_a_stream_that_breaks_off_is_not_ended() -> None:
    reading = read_payload(jsonl(BEDROCK[:3]))

    assert reading.is_ended is False


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}, {"usageMetadata": {}}], "gemini"),
        ([{"setupComplete": {}}, {"serverContent": {}}], "gemini"),
        ([{"type": "ping"}, {"type": "message_stop"}], "anthropic"),
        ([{"type": "AIMessageChunk", "content": ""}] * 2, "langchain"),
        ([{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "clock"}}] * 2, "mcp"),
    ],
)
def test_streams_that_look_like_messages_are_told_by_their_number(events: list[Any], expected: str) -> None:
    reading = read_payload(jsonl(events))

    assert (reading.provider_format, reading.form) == (expected, "stream")


def test_messages_a_line_are_a_conversation() -> None:
    call = {"id": "c1", "function": {"name": "clock", "arguments": "{}"}}
    lines = [{"role": "user", "content": "What time?"}, {"role": "assistant", "tool_calls": [call]}]

    reading = read_payload(jsonl(lines))

    assert (reading.provider_format, reading.form) == ("openai", "messages")
    assert [call.tool_name for call in reading.calls] == ["clock"]


def test_a_given_format_is_believed() -> None:
    reading = read_payload('{"name": "clock", "input": {}}', "bedrock")

    assert (reading.provider_format, reading.is_detected) == (ProviderFormat.BEDROCK, False)


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", '"text"', "[1]", "{", "{}", '{"weather": 1}', "data: [DONE]", '{"role": "user"}\nand a word'),
        *('{"message":' * 900 + "{}" + "}" * 900, '{"content":[' * 400 + "{}" + "]}" * 400, "[" * 100_000),
    ],
)
def test_what_is_no_message_is_a_typed_error(text: str) -> None:
    with pytest.raises(InvalidPayloadError):
        read_payload(text)


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: entry["file"])
def test_half_a_payload_is_read_or_refused_and_nothing_else(entry: dict[str, Any]) -> None:
    text = (PAYLOADS / entry["file"]).read_text().strip()

    for end in range(0, len(text), max(1, len(text) // 20)):
        with contextlib.suppress(InvalidPayloadError):
            assert read_payload(text[:end]).form == "stream"


def test_integers_that_python_does_not_read_are_the_calls_problem() -> None:
    part = '{"functionCall": {"name": "count", "args": {"to": ' + "9" * 5000 + "}}}"

    reading = read_payload('{"candidates": [{"content": {"parts": [' + part + "]}}]}")

    assert reading.form == "message"
    assert [call.problem is not None for call in reading.calls] == [True]
