"""Results of tools, and the ids that they go under, from one provider's shape to another's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

import llm_rosetta
from anthropic.lib.tools._beta_functions import ToolError
from anthropic.lib.tools.mcp import _convert_tool_result
from google.genai import types as gemini_types
from langchain_anthropic.chat_models import _format_messages, _normalize_tool_call_id
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_google_genai.chat_models import _convert_tool_message_to_parts
from langchain_openai.chat_models.base import _convert_message_to_dict
from litellm.google_genai.adapters.transformation import GoogleGenAIAdapter
from litellm.litellm_core_utils.prompt_templates.factory import (
    _convert_to_bedrock_tool_call_result,
    _sanitize_bedrock_tool_use_id,
    convert_to_anthropic_tool_result,
    convert_to_gemini_tool_call_result,
    sanitize_anthropic_tool_use_id,
)
from litellm.llms.anthropic.messages.adapters.transformation import LiteLLMAnthropicMessagesAdapter
from llm_rosetta.converters.base.helpers import sanitize_tool_call_id
from mcp.types import CallToolResult

from tests.oracles.acceptors import ACCEPTORS
from tests.oracles.translation_disagreements import RESULTS
from tests.oracles.translations import Topic, Translator, Way, is_accepted
from toolrelay import NormalizedToolRequest, NormalizedToolResult, format_results
from toolrelay.proxy import PendingCalls, read_results

Wire = dict[str, Any]

# the cases: what a tool gave, as each provider writes it

_PNG: Final = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
_PICTURE: Final = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}


def _openai(content: Any) -> Wire:
    return {"role": "tool", "tool_call_id": "call_1", "content": content}


_OPENAI: Final = {
    "text": _openai("12 degrees"),
    "JSON text": _openai('{"temp": 12}'),
    "an array": _openai("[1, 2]"),
    "empty": _openai(""),
    "two texts": _openai([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
}


def _anthropic(content: Any, **more: Any) -> Wire:
    return {"type": "tool_result", "tool_use_id": "call_1", "content": content, **more}


_ANTHROPIC: Final = {
    "text": _anthropic("12 degrees"),
    "an error": _anthropic("unknown order", is_error=True),
    "blocks": _anthropic([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
    "a picture": _anthropic([{"type": "text", "text": "a"}, _PICTURE]),
    "nothing": {"type": "tool_result", "tool_use_id": "call_1"},
}
_GEMINI: Final = {
    "an object": {"temp": 12},
    "output": {"output": "12 degrees"},
    "result": {"result": "12 degrees"},
    "an error": {"error": "unknown order"},
}


def _langchain(content: Any, status: str = "success") -> Wire:
    return {"type": "tool", "content": content, "tool_call_id": "call_1", "name": "find", "status": status}


_LANGCHAIN: Final = {
    "text": _langchain("12 degrees"),
    "JSON text": _langchain('{"temp": 12}'),
    "an array": _langchain("[1, 2]"),
    "an error": _langchain("unknown order", "error"),
    "an error without text": _langchain("", "error"),
    "a picture": _langchain([{"type": "image", "base64": "aGk=", "mime_type": "image/png"}]),
}
_MCP: Final = {
    "text": {"content": [{"type": "text", "text": "12 degrees"}]},
    "JSON text": {"content": [{"type": "text", "text": '{"temp": 12}'}]},
    "two texts": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    "structured only": {"content": [], "structuredContent": {"temp": 12}},
    "structured and text": {"content": [{"type": "text", "text": "12"}], "structuredContent": {"temp": 12}},
    "an error": {"content": [{"type": "text", "text": "unknown order"}], "isError": True},
    "a picture": {"content": [{"type": "text", "text": "a"}, _PNG]},
    "a picture of another kind": {"content": [{**_PNG, "mimeType": "image/bmp"}]},
    "a sound": {"content": [{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}]},
    "a link": {"content": [{"type": "resource_link", "uri": "file:///a", "name": "a"}]},
    "a text resource": {"content": [{"type": "resource", "resource": {"uri": "file:///a", "text": "x"}}]},
}
_IDS: Final = {
    "characters that are refused": ("functions.lookup:0",),
    "two that differ in such a character": ("functions.lookup:0", "functions_lookup_0"),
    "80 characters": ("x" * 80,),
    "two that differ in the 80th": ("x" * 80, "x" * 79 + "y"),
    "empty": ("",),
    "a usual one": ("call_Ab1",),
}

# what a model makes of a result


def _read(text: str) -> Any:
    try:
        return json.loads(text) if text.startswith(("{", "[")) else text
    except ValueError:
        return text


_DESCRIBED: Final = re.compile(r"\[(\w+) [\w/]+, \d+ bytes, returned by the tool and not shown here\]")
_MAX_SHOWN: Final = 60


def _told(kind: str, value: Any, *others: str) -> str:
    if isinstance(value, str):
        # toolrelay's own word for a tool that failed, before its text
        value = _read(_DESCRIBED.sub(r"[the \1, described]", value.removeprefix("execution: ")))
    shown = json.dumps(value)
    return " and ".join((f"{kind} {shown[:_MAX_SHOWN]}{'…' if len(shown) > _MAX_SHOWN else ''}", *others))


def _by_anthropic(block: Any) -> str:
    fails = bool(block.get("is_error"))
    content = block.get("content", "")
    if not is_accepted(ACCEPTORS["anthropic"].result, {"role": "user", "content": [block]}):
        return "is refused by the provider's type"
    if fails and not content:
        return "is refused: an error without text"
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [one["text"] for one in blocks if one["type"] == "text"]
    others = [one["type"] for one in blocks if one["type"] != "text"]
    return _told("error" if fails else "output", "\n".join(texts), *others)


def _by_openai(message: Any) -> str:
    if not is_accepted(ACCEPTORS["openai"].result, message):
        return "is refused by the provider's type"
    content = message["content"]
    return _told("text", content if isinstance(content, str) else "\n".join(part["text"] for part in content))


def _by_gemini(parts: Any) -> str:
    *before, part = parts if isinstance(parts, list) else [parts]
    read = gemini_types.Part.model_validate(part).function_response
    if read.name != "find":
        return f"is refused: a result of {read.name!r}, which was not called"
    pictures = ["image"] * len([*before, *(read.parts or ())])
    response = json.loads(json.dumps(read.response, default=lambda inner: inner.model_dump(exclude_none=True)))
    if "error" in response:
        return _told("error", response["error"], *pictures)
    output = response.get("output", response)
    return _told("output", "" if output == [] else output, *pictures)


def _by_bedrock(block: Any) -> str:
    result = block["toolResult"]
    values = [content.get("json", content.get("text")) for content in result["content"]]
    value = values[0] if len(values) == 1 else "\n".join(values)
    return _told("error" if result.get("status") == "error" else "output", value)


def _ids_for(pattern: str) -> Callable[[Any], str]:
    def told(ids: Any) -> str:
        refused = [one for one in ids if not re.fullmatch(pattern, one)]
        if refused:
            return (
                f"is refused: {'an empty id' if not refused[0] else 'an id of ' + str(len(refused[0])) + ' characters'}"
            )
        return "legal" if len(set(ids)) == len(ids) else "two become one"

    return told


# the converters

_CALL: Final = NormalizedToolRequest(tool_name="find", provider_call_id="call_1")


def _ours(target: str, wrap: Callable[[Any], Any] = lambda given: given) -> Callable[[Any], Any]:
    def convert(given: Any) -> Any:
        pending = PendingCalls()
        pending.add([_CALL])
        found = [one.model_copy(update={"tool_name": "find"}) for one in read_results(wrap(given), pending)]
        (message,) = format_results(found, target)
        (content,) = message.get("parts") or (message["content"] if message["role"] == "user" else [message])
        return content

    return convert


def _part(response: Wire) -> Wire:
    return {"functionResponse": {"name": "find", "response": response}}


def _in_mcp(result: Wire) -> Wire:
    return {"jsonrpc": "2.0", "id": "call_1", "result": result}


_CHAT_CALL: Final = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
_CHAT_TURN: Final = {"role": "assistant", "content": None, "tool_calls": [_CHAT_CALL]}
_CLAUDE_TURN: Final = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "call_1", "name": "find", "input": {}}],
}
_GEMINI_TURN: Final = {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}]}


def _conversation(source: str, given: Any) -> Wire:
    if source == "openai_chat":
        return {"model": "m", "messages": [{"role": "user", "content": "q"}, _CHAT_TURN, given]}
    if source == "anthropic":
        last = {"role": "user", "content": [given]}
        return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}, _CLAUDE_TURN, last]}
    first, last = {"role": "user", "parts": [{"text": "q"}]}, {"role": "user", "parts": [_part(given)]}
    return {"model": "m", "contents": [first, _GEMINI_TURN, last]}


def _rosetta(source: str, target: str) -> Callable[[Any], Any]:
    def convert(given: Any) -> Any:
        written = llm_rosetta.convert(_conversation(source, given), target, source)
        last = (written.get("messages") or written["contents"])[-1]
        return last if last["role"] == "tool" else (last.get("parts") or last["content"])[0]

    return convert


def _litellm_of_anthropic(block: Any) -> Any:
    messages = _conversation("anthropic", block)["messages"]
    return LiteLLMAnthropicMessagesAdapter().translate_anthropic_messages_to_openai(messages)[-1]


def _litellm_of_gemini(response: Any) -> Any:
    body = _conversation("google", response)
    return GoogleGenAIAdapter().translate_generate_content_to_completion("m", body["contents"])["messages"][-1]


def _langchain_anthropic(message: Any) -> Any:
    call = {"name": "find", "args": {}, "id": "call_1", "type": "tool_call"}
    history = [HumanMessage("q"), AIMessage("", tool_calls=[call]), ToolMessage.model_validate(message)]
    return _format_messages(history, model="claude-sonnet-5-5")[1][-1]["content"][0]


def _langchain_gemini(message: Any) -> Any:
    return _convert_tool_message_to_parts(ToolMessage.model_validate(message), name="find")


def _genai_mcp(result: Any) -> Any:
    response = gemini_types.FunctionResponse.from_mcp_response(
        name="find", response=CallToolResult.model_validate(result)
    )
    return {"function_response": response}


def _anthropic_mcp(result: Any) -> Any:
    try:
        return _anthropic(_convert_tool_result(CallToolResult.model_validate(result)))
    except ToolError as error:
        return _anthropic(error.content, is_error=True)


def _our_ids(target: str) -> Callable[[Any], Any]:
    def convert(ids: Any) -> Any:
        found = [
            NormalizedToolResult(tool_call_id=f"tc_{place}", tool_name="find", provider_call_id=one, success=True)
            for place, one in enumerate(ids)
        ]
        (message,) = format_results(found, target)
        return [block.get("tool_use_id") or block["toolResult"]["toolUseId"] for block in message["content"]]

    return convert


def _each(rewrite: Callable[[str], str]) -> Callable[[Any], Any]:
    return lambda ids: list(map(rewrite, ids))


_WAYS: Final = {
    "OpenAI to Anthropic": Way(_OPENAI, _ours("anthropic"), _by_anthropic),
    "OpenAI to Gemini": Way(_OPENAI, _ours("gemini"), _by_gemini),
    "OpenAI to Bedrock": Way(_OPENAI, _ours("bedrock"), _by_bedrock),
    "Anthropic to OpenAI": Way(_ANTHROPIC, _ours("openai"), _by_openai),
    "Anthropic to Gemini": Way(_ANTHROPIC, _ours("gemini"), _by_gemini),
    "Gemini to OpenAI": Way(_GEMINI, _ours("openai", _part), _by_openai),
    "Gemini to Anthropic": Way(_GEMINI, _ours("anthropic", _part), _by_anthropic),
    "LangChain to Anthropic": Way(_LANGCHAIN, _ours("anthropic"), _by_anthropic),
    "LangChain to Gemini": Way(_LANGCHAIN, _ours("gemini"), _by_gemini),
    "LangChain to OpenAI": Way(_LANGCHAIN, _ours("openai"), _by_openai),
    "MCP to Gemini": Way(_MCP, _ours("gemini", _in_mcp), _by_gemini),
    "MCP to Anthropic": Way(_MCP, _ours("anthropic", _in_mcp), _by_anthropic),
    # more than 64 characters are not known to be refused by Anthropic
    "ids for Anthropic": Way(_IDS, _our_ids("anthropic"), _ids_for("[a-zA-Z0-9_-]+")),
    "ids for Bedrock": Way(_IDS, _our_ids("bedrock"), _ids_for("[a-zA-Z0-9_.:-]{1,64}")),
}
_TRANSLATORS: Final = (
    Translator("llm-rosetta", "OpenAI to Anthropic", _rosetta("openai_chat", "anthropic")),
    Translator("litellm", "OpenAI to Anthropic", convert_to_anthropic_tool_result),
    Translator("llm-rosetta", "OpenAI to Gemini", _rosetta("openai_chat", "google")),
    Translator(
        "litellm", "OpenAI to Gemini", lambda message: convert_to_gemini_tool_call_result(message, dict(_CHAT_TURN))
    ),
    Translator("litellm", "OpenAI to Bedrock", _convert_to_bedrock_tool_call_result),
    Translator("llm-rosetta", "Anthropic to OpenAI", _rosetta("anthropic", "openai_chat")),
    Translator("litellm", "Anthropic to OpenAI", _litellm_of_anthropic),
    Translator("llm-rosetta", "Anthropic to Gemini", _rosetta("anthropic", "google")),
    Translator("llm-rosetta", "Gemini to OpenAI", _rosetta("google", "openai_chat")),
    Translator("litellm", "Gemini to OpenAI", _litellm_of_gemini),
    Translator("llm-rosetta", "Gemini to Anthropic", _rosetta("google", "anthropic")),
    Translator("langchain", "LangChain to Anthropic", _langchain_anthropic),
    Translator("langchain", "LangChain to Gemini", _langchain_gemini),
    Translator(
        "langchain",
        "LangChain to OpenAI",
        lambda message: _convert_message_to_dict(ToolMessage.model_validate(message)),
    ),
    Translator("google-genai", "MCP to Gemini", _genai_mcp),
    Translator("anthropic", "MCP to Anthropic", _anthropic_mcp),
    Translator("llm-rosetta", "ids for Anthropic", _each(sanitize_tool_call_id)),
    Translator("litellm", "ids for Anthropic", _each(sanitize_anthropic_tool_use_id)),
    Translator("langchain", "ids for Anthropic", _each(_normalize_tool_call_id)),
    Translator("litellm", "ids for Bedrock", _each(_sanitize_bedrock_tool_use_id)),
)

TOPIC: Final = Topic(_WAYS, _TRANSLATORS, RESULTS)
