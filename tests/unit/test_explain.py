"""``toolrelay explain``: what is printed where, and with what code it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.command_line import chat_message
from tests.support.invoking import run
from tests.unit.payloads import INDEX, PAYLOADS, load

CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "clock", "arguments": "{}"}}]}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "noon"}
TOOL = {"name": "clock", "description": "The time.", "inputSchema": {"type": "object", "properties": {}}}


def test_json_has_every_key_and_no_argument() -> None:
    ended = run(f"explain --json {PAYLOADS / 'openai_responses/server_tools_mixed.json'}")

    assert ended.code == 0
    (line,) = ended.stdout.splitlines()
    found = json.loads(line)
    assert "Oslo" not in line
    keys = {"provider_format", "is_detected", "form", "calls", "answered_calls", "server_calls"}
    assert found.keys() == {*keys, "finish", "is_ended", "failure"}
    assert found["calls"] == [
        {
            "tool_name": "weather-lookup",
            "provider_format": "openai_responses",
            "provider_call_id": "call_a",
            "kind": "function",
            "repairs": [],
            "argument_names": ["city", "unit"],
            "arguments": None,
            "raw_arguments": None,
            "problem": None,
        }
    ]
    assert found["server_calls"][3] == {"kind": "mcp_call", "name": "stock", "call_id": "mcp_1", "server": "depot"}
    assert found["finish"] == {"kind": "stop", "reason": "completed", "problem": None, "is_retryable": False}


def test_arguments_are_shown_when_they_are_asked_for() -> None:
    file = PAYLOADS / "openai_chat/truncated_by_length.json"

    quiet, shown = run(f"explain --json {file}"), run(f"explain --json --arguments {file}")

    assert quiet.code == shown.code == 1
    assert "ORD-1" not in quiet.stdout
    assert shown.answer["calls"][0]["raw_arguments"] == '{"order_id": "ORD-1", "amount_cents": 5,'
    assert "ORD-1" in run(f"explain --arguments {file}").stdout


def test_the_text_says_all_of_it() -> None:
    text = run(f"explain {PAYLOADS / 'gemini/server_tools_mixed.json'}").stdout

    lines = [line.split() for line in text.splitlines()]
    assert lines[:3] == [
        ["format:", "gemini", "(detected),", "one", "message"],
        ["calls:", "1"],
        ["finish:", "stop", "(STOP)"],
    ]
    assert ["1", "weather-lookup", "fc-1", "function", "city,", "unit", "ok"] in lines
    assert "not run by toolrelay: the provider runs it" in text


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: entry["file"])
def test_every_payload_is_explained(entry: dict[str, Any]) -> None:
    as_text, as_json = run(f"explain {PAYLOADS / entry['file']}"), run(f"explain --json {PAYLOADS / entry['file']}")

    found = as_json.answer
    is_bad = any(call["problem"] for call in found["calls"]) or found["finish"]["problem"] is not None
    assert as_text.code == as_json.code == (1 if is_bad else 0)
    assert all(str(call["provider_call_id"]) in as_text.stdout for call in found["calls"] if call["provider_call_id"])


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, "anthropic"),
        ({"type": "error", "code": "server_error", "message": "busy"}, "openai_responses"),
        ({"error": {"message": "busy"}}, "openai"),
    ],
)
def test_a_stream_that_failed_is_bad_news(event: dict[str, Any], expected: str) -> None:
    ended = run("explain --json -", f"data: {json.dumps(event)}\n\n")

    assert (ended.code, ended.answer["provider_format"]) == (1, expected)
    assert "busy" in ended.answer["failure"]


def test_calls_that_are_answered_are_counted() -> None:
    conversation = [{"role": "user", "content": "Hm"}, CALL, ANSWER]

    as_text, as_json = run("explain -", conversation), run("explain --json -", conversation)

    assert "calls: 0; 1 more is answered already\n" in as_text.stdout
    assert as_json.answer["answered_calls"] == [{"tool_name": "clock", "provider_call_id": "c1"}]


def test_what_no_model_said_is_told() -> None:
    assert "it looks like a request's body (tools)" in run("explain -", {"tools": [TOOL]}).stdout


def test_what_cannot_be_read_is_2() -> None:
    ended = run("explain -", "no JSON")

    assert (ended.code, ended.stdout) == (2, "")
    assert "not valid JSON" in ended.stderr


def test_escape_sequences_do_not_reach_the_terminal() -> None:
    ended = run("explain -", chat_message(("clock\x1b[2J", {"a\x1b[2J": 1})))

    assert "\x1b" not in ended.stdout


def test_a_payload_may_come_from_the_corpus_in_a_list() -> None:
    message = load("anthropic/single_use.json")

    ended = run("explain --json -", [{"role": "user", "content": "Hm"}, message])

    assert (ended.answer["provider_format"], ended.answer["form"]) == ("anthropic", "messages")
