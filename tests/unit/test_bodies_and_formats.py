"""Whole requests, and messages of another format than the named one: their calls are read or refused, never missed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.payloads import WHOLE, format_of, load
from toolrelay import InvalidPayloadError, ProviderFormat, detect_format, read_calls
from toolrelay.conversion import convert_calls, convert_results
from toolrelay.proxy import format_calls, read_results
from toolrelay.reading import read_payload

USER = {"role": "user", "content": "hi"}
CHAT = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]}
FUNCTION = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
PART = {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "f", "args": {}}}]}
CONVERSE = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "f", "input": {}}}]}
SCHEMA = {"type": "object", "properties": {}}

BODIES: dict[str, dict[str, Any]] = {
    "openai": {"model": "m", "messages": [USER, CHAT], "tools": [{"type": "function", "function": {"name": "z"}}]},
    "openai_responses": {"model": "m", "input": [USER, FUNCTION], "tools": [{"type": "function", "name": "z"}]},
    "anthropic": {"model": "m", "messages": [USER, USE], "tools": [{"name": "z", "input_schema": SCHEMA}]},
    "gemini": {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}, PART],
        "tools": [{"functionDeclarations": [{"name": "z"}]}],
    },
    "gemini_interactions": {
        "model": "m",
        "input": [{"type": "function_call", "id": "c1", "name": "f", "arguments": {}}],
        "tools": [{"type": "function", "name": "z"}],
    },
    "langchain": {"messages": [{"type": "human", "data": {"content": "hi"}}, {"type": "ai", "data": {
        "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "c1"}]}}]},
    "bedrock": {"modelId": "m", "messages": [USER, CONVERSE], "toolConfig": {"tools": [{"toolSpec": {"name": "z"}}]}},
}  # fmt: skip
ANSWERS: dict[str, dict[str, Any]] = {
    "openai": {"role": "tool", "tool_call_id": "c1", "content": "noon"},
    "openai_responses": {"type": "function_call_output", "call_id": "c1", "output": "noon"},
    "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "noon"}]},
    "gemini": {
        "role": "user",
        "parts": [{"functionResponse": {"id": "c1", "name": "f", "response": {"output": "noon"}}}],
    },
    "gemini_interactions": {"type": "function_result", "call_id": "c1", "name": "f", "result": "noon"},
    "langchain": {"type": "tool", "data": {"content": "noon", "tool_call_id": "c1", "name": None, "type": "tool"}},
    "bedrock": {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "noon"}]}}]},
}
EVERY_BODY = pytest.mark.parametrize("provider_format", BODIES)


def answered(provider_format: str) -> dict[str, Any]:
    body = BODIES[provider_format]
    key = next(key for key in ("messages", "contents", "input") if key in body)
    return {**body, key: [*body[key], ANSWERS[provider_format]]}


@EVERY_BODY
@pytest.mark.parametrize("is_given", [True, False])
def test_a_requests_body_is_read_as_its_conversation(provider_format: str, is_given: bool) -> None:
    chosen = provider_format if is_given else None

    (call,) = read_calls(json.dumps(BODIES[provider_format]), chosen)

    assert (call.tool_name, call.provider_call_id, call.provider_format) == ("f", "c1", provider_format)
    assert read_calls(answered(provider_format), chosen) == []


@EVERY_BODY
def test_a_body_is_detected_by_its_conversation(provider_format: str) -> None:
    assert detect_format(BODIES[provider_format]) == provider_format
    assert detect_format(answered(provider_format)) == provider_format


@EVERY_BODY
def test_a_body_is_explained_and_converted_as_its_conversation(provider_format: str) -> None:
    reading = read_payload(json.dumps(BODIES[provider_format]))

    assert (reading.form, [call.tool_name for call in reading.calls]) == ("messages", ["f"])
    assert reading.provider_format == provider_format
    assert read_calls(convert_calls(reading, "openai").value) != []
    (result,) = read_results(answered(provider_format))
    assert (result.output, result.provider_call_id) == ("noon", "c1")
    (message,) = convert_results(answered(provider_format), "gemini").value
    assert message["parts"][0]["functionResponse"]["name"] == "f"


@pytest.mark.parametrize(
    "body",
    [
        {"model": "m", "input": "What time is it?"},
        {"model": "m", "messages": []},
        {"model": "m", "messages": [USER], "functions": [{"name": "z"}], "function_call": "auto"},
        {"model": "m", "max_tokens": 9, "messages": [USER], "tools": [{"name": "z", "input_schema": SCHEMA}]},
        {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": [{"functionDeclarations": []}]},
    ],
)
@pytest.mark.parametrize("provider_format", [None, *ProviderFormat])
def test_a_body_that_asks_for_the_first_turn_has_no_calls(body: Any, provider_format: ProviderFormat | None) -> None:
    assert read_calls(body, provider_format) == []


def test_a_flat_call_whose_argument_is_a_list_is_no_body() -> None:
    (call,) = read_calls({"name": "f", "input": [{"role": "user"}]})

    assert call.problem is not None
    assert call.problem.kind == "not_an_object"


@pytest.mark.parametrize("entry", [entry for entry in WHOLE if entry["calls"]], ids=lambda entry: entry["file"])
@pytest.mark.parametrize("provider_format", [one for one in ProviderFormat if one is not ProviderFormat.UNKNOWN])
def test_another_formats_calls_are_never_lost_in_silence(
    entry: dict[str, Any], provider_format: ProviderFormat
) -> None:
    """Formats share shapes: what is read there is read as it stands. What is not read at all is refused."""
    message = load(entry["file"])
    if not any(expected["name"] for expected in load(entry["expected"])):
        return
    try:
        said = f"{len(read_calls(message, provider_format))} calls"
    except InvalidPayloadError as refusal:
        said = str(refusal)

    assert said in (
        f"this is not a message of the format {provider_format}; it looks like {format_of(entry)}",
        *(f"{number} calls" for number in range(1, entry["calls"] + 1)),
    )


def test_the_refusal_says_whose_the_message_is() -> None:
    (message,) = format_calls(read_calls(CHAT), "anthropic")

    for given in (message, [USER, message], json.dumps(message)):
        with pytest.raises(
            InvalidPayloadError, match=r"^this is not a message of the format openai; it looks like anthropic$"
        ):
            read_calls(given, "openai")
    with pytest.raises(
        InvalidPayloadError, match=r"^this is not a message of the format openai; it looks like anthropic$"
    ):
        read_payload(json.dumps(message), "openai")


@pytest.mark.parametrize("provider_format", ProviderFormat)
@pytest.mark.parametrize(
    "message",
    [
        USER,
        {"role": "assistant", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"},
        {"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]},
        {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]},
        {"content": USE["content"], "stop_reason": "pause_turn"},
        [CHAT, ANSWERS["openai"]],
        [USE, ANSWERS["anthropic"], {"role": "assistant", "content": "noon"}],
    ],
)
def test_a_message_whose_calls_are_done_or_that_has_none_is_anyones(
    message: Any, provider_format: ProviderFormat
) -> None:
    assert read_calls(message) == []
    assert all(call.tool_name for call in read_calls(message, provider_format))
