from __future__ import annotations

from typing import Any

import pytest

from toolrelay import detect_format, normalize_tool_call
from toolrelay.errors import (
    InvalidArgumentsError,
    InvalidPayloadError,
    MissingNameError,
    ToolrelayError,
    UnknownProviderFormatError,
)
from toolrelay.models import ProviderFormat

FORMATS: list[tuple[Any, str]] = [
    ({"name": "test/echo", "arguments": '{"key": "value"}'}, "openai"),
    ({"name": "test/echo", "arguments": {"a": 1}}, "openai"),
    ({"name": "test/echo", "arguments": None}, "openai"),
    ({"name": "test/echo", "input": {"key": "value"}}, "anthropic"),
    ({"name": "test/echo", "type": "tool_call", "args": {"key": "value"}}, "langchain"),
    ({"name": "test/echo", "args": {"key": "value"}}, "langchain"),
    ({}, "unknown"),
    ({"name": "test/echo", "parameters": {}}, "unknown"),
    ({"foo": 1}, "unknown"),
    (None, "unknown"),
    ([{"name": "test/echo", "arguments": {}}], "unknown"),
    ("text", "unknown"),
    (7, "unknown"),
    # where two markers meet
    ({"name": "x", "type": "tool_call", "arguments": {}, "args": {}}, "langchain"),
    ({"name": "x", "type": "tool_use", "arguments": {}}, "anthropic"),
    ({"name": "x", "type": "function", "input": {}}, "openai"),
    ({"name": "x", "type": "no such type", "input": {}, "args": {}}, "anthropic"),
    ({"name": "x", "arguments": {}, "input": {}, "args": {}}, "openai"),
    ({"name": "x", "input": {}, "args": {}}, "anthropic"),
    # wrapped calls and whole messages
    ({"id": "c", "type": "function", "function": {"name": "x", "arguments": ""}}, "openai"),
    ({"function": {"name": "x", "arguments": {}}}, "openai"),
    ({"id": "c", "type": "custom", "custom": {"name": "x", "input": "text"}}, "openai"),
    ({"type": "function_call", "call_id": "c", "name": "x", "arguments": "{}"}, "openai_responses"),
    ({"type": "custom_tool_call", "call_id": "c", "name": "x", "input": "text"}, "openai_responses"),
    ({"type": "function_call", "id": "c", "name": "x", "arguments": {}}, "gemini_interactions"),
    ({"type": "tool_use", "id": "t", "name": "x", "input": {}}, "anthropic"),
    ({"functionCall": {"name": "x", "args": {}}}, "gemini"),
    ({"function_call": {"name": "x", "args": {}}, "text": None}, "gemini"),
    ({"role": "assistant", "content": None, "function_call": {"name": "x", "arguments": "{}"}}, "openai"),
    ({"method": "tools/call", "params": {"name": "x"}}, "mcp"),
    ({"toolUse": {"toolUseId": "t", "name": "x", "input": {}}}, "bedrock"),
    ({"toolUseId": "t", "name": "x", "input": {}}, "bedrock"),
    ({"message": {"role": "assistant", "tool_calls": []}, "done": True}, "openai"),
    ({"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "tool_use"}, "bedrock"),
    ({"output": [], "object": "response", "tools": []}, "openai_responses"),
    ({"type": "ai", "content": "", "tool_calls": []}, "langchain"),
    ({"tool_calls": [{"name": "x", "args": {}, "id": "1"}]}, "langchain"),
    ({"role": "assistant", "content": [{"toolUse": {"name": "x"}}]}, "bedrock"),
    ({"role": "user", "content": "hello"}, "openai"),
]


@pytest.mark.parametrize(("payload", "provider_format"), FORMATS)
def test_a_format_is_told_by_its_markers(payload: Any, provider_format: str) -> None:
    assert ProviderFormat(provider_format) == detect_format(payload)


ARGUMENTS: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    ({"arguments": '{"a": 1}'}, "openai", {"a": 1}),
    ({"arguments": {"a": 1}}, "openai", {"a": 1}),
    ({"input": {"a": 1}}, "anthropic", {"a": 1}),
    ({"args": {"a": 1}}, "langchain", {"a": 1}),
    ({"arguments": ""}, "openai", {}),
    ({"arguments": None}, "openai", {}),
    ({"input": None}, "anthropic", {}),
    ({"input": ""}, "anthropic", {}),
    ({"args": None}, "langchain", {}),
    ({"args": ""}, "langchain", {}),
    ({"arguments": "{'a': True}"}, "openai", {"a": True}),
    ({"parameters": {"x": 1}}, "unknown", {"x": 1}),
    ({"parameters": '{"x": 1}'}, "unknown", {"x": 1}),
    ({"parameters": {}}, "unknown", {}),
    ({}, "unknown", {}),
]


@pytest.mark.parametrize(("members", "provider_format", "arguments"), ARGUMENTS)
def test_arguments_become_a_dict(members: dict[str, Any], provider_format: str, arguments: dict[str, Any]) -> None:
    request = normalize_tool_call({"name": "test/echo", **members})

    assert ("test/echo", arguments, provider_format) == (request.tool_name, request.arguments, request.provider_format)
    assert (request.tool_call_id, request.plan_id, request.sequence) == (None, None, None)


UNKNOWN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"arguments": {"a": 1}, "parameters": {"b": 2}, "input": {"c": 3}, "args": {"d": 4}}, {"a": 1}),
    ({"parameters": {"b": 2}, "input": {"c": 3}, "args": {"d": 4}}, {"b": 2}),
    ({"input": {"c": 3}, "args": {"d": 4}}, {"c": 3}),
    ({"args": {"d": 4}}, {"d": 4}),
    ({"arguments": "not json", "parameters": {"b": 2}}, {"b": 2}),
    ({"arguments": [1], "parameters": '{"b": 2}'}, {"b": 2}),
    ({"arguments": None, "parameters": {"b": 2}}, {"b": 2}),
    ({"arguments": ""}, {}),
]


@pytest.mark.parametrize(("members", "arguments"), UNKNOWN)
def test_an_unknown_format_takes_the_first_usable_of_the_usual_keys(
    members: dict[str, Any], arguments: dict[str, Any]
) -> None:
    request = normalize_tool_call({"name": "x", **members}, "unknown")

    assert (arguments, "unknown") == (request.arguments, request.provider_format)


BAD: list[tuple[Any, type[ToolrelayError], str]] = [
    ({"name": "x", "args": [1]}, InvalidArgumentsError, "must be a dict"),
    ({"name": "x", "arguments": "[1]"}, InvalidArgumentsError, "must be a dict"),
    ({"name": "x", "arguments": "7"}, InvalidArgumentsError, "must be a dict"),
    ({"name": "x", "input": [1]}, InvalidArgumentsError, "must be a dict"),
    ({"name": "x", "arguments": "not json"}, InvalidArgumentsError, "parse error"),
    ({"name": "x", "arguments": '{"key": '}, InvalidArgumentsError, "parse error"),
    ({"name": "x", "parameters": "bad", "input": "[1]"}, InvalidArgumentsError, "parse error"),
    ({"name": "x", "parameters": "[1]"}, InvalidArgumentsError, "parse error"),
    ({"arguments": {}}, MissingNameError, "name"),
    ({"name": "", "arguments": {}}, MissingNameError, "name"),
    ({"name": None, "input": {}}, MissingNameError, "name"),
    ({"name": 7, "args": {}}, MissingNameError, "name"),
    ({}, MissingNameError, "name"),
    ([], InvalidPayloadError, "dict"),
    (None, InvalidPayloadError, "dict"),
    ("text", InvalidPayloadError, "dict"),
    ({"type": "server_tool_use", "name": "bash_code_execution", "input": {}}, InvalidPayloadError, "server_tool_use"),
    ({"type": "mcp_call", "name": "stock", "arguments": "{}"}, InvalidPayloadError, "mcp_call"),
]


@pytest.mark.parametrize(("payload", "error", "words"), BAD)
def test_a_call_that_cannot_be_run_is_refused_with_what_is_wrong(
    payload: Any, error: type[ToolrelayError], words: str
) -> None:
    with pytest.raises(error, match=f"(?i){words}") as caught:
        normalize_tool_call(payload)

    assert isinstance(caught.value, ValueError)


def test_a_given_format_is_used_even_if_another_would_be_detected() -> None:
    payload = {"name": "x", "arguments": {"a": 1}, "input": {"b": 2}}

    request = normalize_tool_call(payload, ProviderFormat.ANTHROPIC)

    assert request.arguments == {"b": 2}
    assert request == normalize_tool_call(payload, "anthropic")


@pytest.mark.parametrize("provider_format", ["", "OpenAI", "no such", 7])
def test_another_format_is_refused(provider_format: Any) -> None:
    with pytest.raises(UnknownProviderFormatError, match="provider_format"):
        normalize_tool_call({"name": "x"}, provider_format)


def test_the_name_is_taken_as_it_stands() -> None:
    assert normalize_tool_call({"name": "functions.x", "arguments": {}}).tool_name == "functions.x"
