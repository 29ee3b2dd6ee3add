"""The providers' own types for what a client sends: they refuse what does not fit, unknown members included."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import botocore.session
from anthropic.types import MessageParam, ToolChoiceParam, ToolParam
from botocore.validate import validate_parameters
from google.genai import interactions
from google.genai import types as gemini_types
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_openai import ChatOpenAI
from mcp.types import CallToolRequest, CallToolResult, Tool, ToolChoice
from mcp_types import _v2025_11_25, _v2026_07_28
from openai.types.chat import (
    ChatCompletionMessageParam,
    ChatCompletionToolChoiceOptionParam,
    ChatCompletionToolUnionParam,
)
from openai.types.responses import ResponseInputItemParam, response_create_params
from openai.types.responses import ToolParam as ResponsesToolParam
from pydantic import ConfigDict, TypeAdapter

Accept = Callable[[Any], object]


class Acceptors(NamedTuple):
    """What refuses each part of a request, by raising; each takes one entry of a list."""

    tool: Accept
    choice: Callable[[Mapping[str, Any]], object]
    """Takes the request's fields."""
    call: Accept
    result: Accept


def _typed(kind: Any) -> Accept:
    # in a list, for pydantic takes a config for no TypedDict by itself
    adapter = TypeAdapter(list[kind], config=ConfigDict(extra="forbid"))

    def accept(value: Any) -> object:
        _exhaust(adapter.validate_python([value]))
        return None

    return accept


def _exhaust(value: Any) -> None:
    """Look inside: pydantic checks the members of an ``Iterable`` when they are asked for."""
    if isinstance(value, dict):
        for inner in value.values():
            _exhaust(inner)
    elif isinstance(value, list | tuple) or (isinstance(value, Iterator) and not isinstance(value, str)):
        for inner in value:
            _exhaust(inner)


def _field(name: str, accept: Accept) -> Callable[[Mapping[str, Any]], object]:
    return lambda fields: accept(fields[name]) if name in fields else None


def _mcp_call(message: Any) -> object:
    assert message.keys() == {"jsonrpc", "id", "method", "params"}
    return CallToolRequest.model_validate({"method": message["method"], "params": message["params"]})


def _mcp_result(message: Any) -> object:
    for revision in (_v2025_11_25, _v2026_07_28):
        revision.CallToolResult.model_validate(message)
    return CallToolResult.model_validate(message)


def _interactions_choice(fields: Mapping[str, Any]) -> object:
    config = fields.get("generation_config", {})
    return _interactions_word(config["tool_choice"]) if config else None


def _langchain_choice(fields: Mapping[str, Any]) -> object:
    """Have LangChain write the choice for OpenAI: its own words for one, such as "any", are no provider's."""
    if "tool_choice" not in fields:
        return None
    bound = _gpt().bind_tools(fields["tools"], tool_choice=fields["tool_choice"])
    return _chat_choice(bound.kwargs["tool_choice"])


@functools.cache
def _converse() -> Any:
    return botocore.session.get_session().get_service_model("bedrock-runtime")


def _of_converse(shape: str) -> Accept:
    """Ask the service's own description: it knows all members, and no patterns."""

    def accept(value: Any) -> object:
        validate_parameters(value, _converse().shape_for(shape))
        return None

    return accept


@functools.cache
def _gpt() -> Any:
    return ChatOpenAI(model="gpt-5.6-terra", api_key="offline")


_interactions_word: Final = _typed(interactions.ToolChoice)
_chat_choice: Final = _typed(ChatCompletionToolChoiceOptionParam)
_message: Final = _typed(ChatCompletionMessageParam)
_item: Final = _typed(ResponseInputItemParam)
_turn: Final = _typed(MessageParam)

ACCEPTORS: Final[dict[str, Acceptors]] = {
    "openai": Acceptors(
        _typed(ChatCompletionToolUnionParam),
        _field("tool_choice", _chat_choice),
        _message,
        _message,
    ),
    "openai_responses": Acceptors(
        _typed(ResponsesToolParam), _field("tool_choice", _typed(response_create_params.ToolChoice)), _item, _item
    ),
    "anthropic": Acceptors(_typed(ToolParam), _field("tool_choice", _typed(ToolChoiceParam)), _turn, _turn),
    "gemini": Acceptors(
        gemini_types.Tool.model_validate,
        _field("toolConfig", gemini_types.ToolConfig.model_validate),
        gemini_types.Content.model_validate,
        gemini_types.Content.model_validate,
    ),
    "gemini_interactions": Acceptors(
        _typed(interactions.Function),
        _interactions_choice,
        _typed(interactions.FunctionCallStep),
        _typed(interactions.FunctionResultStep),
    ),
    "langchain": Acceptors(
        convert_to_openai_tool,
        _langchain_choice,
        AIMessage.model_validate,
        ToolMessage.model_validate,
    ),
    "bedrock": Acceptors(
        _of_converse("Tool"),
        _field("toolConfig", _of_converse("ToolConfiguration")),
        _of_converse("Message"),
        _of_converse("Message"),
    ),
    "mcp": Acceptors(Tool.model_validate, _field("toolChoice", ToolChoice.model_validate), _mcp_call, _mcp_result),
}
