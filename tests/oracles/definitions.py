"""Definitions of tools, from one provider to another: names, flags, free text, no parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import llm_rosetta
from google.genai import _mcp_utils
from google.genai import types as gemini_types
from langchain_anthropic.chat_models import convert_to_anthropic_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_google_genai._function_utils import convert_to_genai_function_declarations
from litellm.google_genai.adapters.transformation import GoogleGenAIAdapter
from litellm.litellm_core_utils.prompt_templates.factory import _bedrock_tools_pt
from litellm.llms.anthropic.chat.transformation import AnthropicConfig
from litellm.llms.anthropic.messages.adapters.transformation import LiteLLMAnthropicMessagesAdapter
from litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini import VertexGeminiConfig
from mcp.types import Tool

from tests.oracles.acceptors import ACCEPTORS
from tests.oracles.translation_disagreements import DEFINITIONS
from tests.oracles.translations import Topic, Translator, Way, is_accepted
from toolrelay import convert_tools

Wire = dict[str, Any]

_SCHEMA: Final = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
    "required": ["q"],
    "additionalProperties": False,
}
_GRAMMAR: Final = {"type": "grammar", "grammar": {"syntax": "regex", "definition": "SELECT .*"}}

# the cases


def _function(name: str = "find", **more: Any) -> Wire:
    return {"type": "function", "function": {"name": name, "description": "d", "parameters": _SCHEMA, **more}}


_OPENAI: Final = {
    "strict": _function(strict=True),
    "a name with a dot": _function("weather.lookup"),
    "a name of 100 characters": _function("x" * 100),
    "no description": {"type": "function", "function": {"name": "find", "parameters": _SCHEMA}},
    "no parameters": {"type": "function", "function": {"name": "clock", "description": "d"}},
    "an optional parameter": _function(parameters={"type": "object", "properties": {"q": {"type": "string"}}}),
    "free text": {"type": "custom", "custom": {"name": "sql", "description": "d"}},
    "free text of a grammar": {"type": "custom", "custom": {"name": "sql", "description": "d", "format": _GRAMMAR}},
}


def _anthropic(**more: Any) -> Wire:
    return {"name": "find", "description": "d", "input_schema": _SCHEMA, **more}


_ANTHROPIC: Final = {
    "plain": _anthropic(),
    "type custom": _anthropic(type="custom"),
    "strict": _anthropic(strict=True),
    "a name of 100 characters": _anthropic(name="x" * 100),
    "members that OpenAI has no place for": _anthropic(
        input_examples=[{"q": "x"}], defer_loading=True, cache_control={"type": "ephemeral"}
    ),
    "a tool that Anthropic runs": {"type": "web_search_20250305", "name": "web_search"},
    "a tool of Anthropic's that the client runs": {"type": "bash_20250124", "name": "bash"},
}
_GEMINI: Final = {
    "parameters": {
        "name": "find",
        "description": "d",
        "parameters": {"type": "OBJECT", "properties": {"q": {"type": "STRING"}}, "required": ["q"]},
    },
    "parametersJsonSchema": {"name": "find", "description": "d", "parametersJsonSchema": _SCHEMA},
    "no parameters": {"name": "clock", "description": "d"},
    "a name with a dot": {"name": "weather.lookup", "description": "d", "parametersJsonSchema": _SCHEMA},
    "null": {
        "name": "find",
        "description": "d",
        "parameters": {"type": "OBJECT", "properties": {"q": {"type": "STRING", "nullable": True}}, "required": ["q"]},
    },
}
_OPEN: Final = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
_MCP: Final = {
    "plain": {"name": "find", "description": "d", "inputSchema": _OPEN},
    "closed": {"name": "find", "description": "d", "inputSchema": _SCHEMA},
    "a title, an output": {
        "name": "find",
        "title": "Find",
        "description": "d",
        "inputSchema": _OPEN,
        "outputSchema": {"type": "object"},
    },
    "no description": {"name": "find", "inputSchema": _OPEN},
    "no parameters": {"name": "clock", "description": "d", "inputSchema": {"type": "object"}},
    "a name with a dot": {"name": "weather.lookup", "description": "d", "inputSchema": _OPEN},
}

# what a provider makes of a definition

_ALPHABETS: Final = {
    "anthropic": re.compile(r"[a-zA-Z0-9_-]{1,128}"),
    "openai": re.compile(r"[a-zA-Z0-9_-]{1,64}"),
    "bedrock": re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}"),
    "gemini": re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"),
}


def _told(target: str, definition: Wire, schema: Any) -> str:
    name = definition.get("name", "")
    if not _ALPHABETS[target].fullmatch(name):
        return f"is refused: the name {name if len(name) < 30 else 'of ' + str(len(name)) + ' characters'}"
    described = "" if definition.get("description") else " without a description"
    strict = "strict " if definition.get("strict") else ""
    return f"a {strict}tool{described} that takes {_taken(schema or {})}"


def _taken(schema: Wire) -> str:
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    return ", ".join(name if name in required else f"{name} or not" for name in properties) or "nothing"


def _by_anthropic(tool: Any) -> str:
    if not is_accepted(ACCEPTORS["anthropic"].tool, tool):
        return "is refused by the provider's type"
    return _told("anthropic", tool, tool["input_schema"])


def _by_openai(tool: Any) -> str:
    if not is_accepted(ACCEPTORS["openai"].tool, tool):
        return "is refused by the provider's type"
    return _told("openai", tool["function"], tool["function"].get("parameters"))


def _by_gemini(declaration: Any) -> str:
    read = gemini_types.FunctionDeclaration.model_validate(declaration)
    parameters = read.parameters_json_schema
    if parameters is None and read.parameters is not None:
        parameters = read.parameters.model_dump(exclude_none=True)
    return _told("gemini", {"name": read.name or "", "description": read.description}, parameters)


def _by_bedrock(tool: Any) -> str:
    return _told("bedrock", tool["toolSpec"], tool["toolSpec"]["inputSchema"]["json"])


# the converters


def _ours(source: str, target: str) -> Callable[[Wire], Any]:
    def convert(tool: Wire) -> Any:
        return _only(convert_tools([tool], target, source).tools)

    return convert


def _only(tools: list[Any]) -> Any:
    (tool,) = tools or [None]
    declarations = None if tool is None else tool.get("functionDeclarations", tool.get("function_declarations"))
    return tool if declarations is None else declarations[0]


_ASKED: Final[Mapping[str, Wire]] = {
    "openai_chat": {"model": "m", "messages": [{"role": "user", "content": "q"}]},
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]},
    "google": {"model": "m", "contents": [{"role": "user", "parts": [{"text": "q"}]}]},
}


def _rosetta(source: str, target: str) -> Callable[[Wire], Any]:
    def convert(tool: Wire) -> Any:
        tools = [{"functionDeclarations": [tool]}] if source == "google" else [tool]
        written = llm_rosetta.convert({**_ASKED[source], "tools": tools}, target, source)
        return _only(written.get("config", written).get("tools", []))

    return convert


def _litellm_anthropic(tool: Wire) -> Any:
    config, model = AnthropicConfig(), "claude-sonnet-4-5"
    mapped = config.map_openai_params({"tools": [tool]}, {}, model, False)
    # names are made legal where the request is put together
    return _only(config.transform_request(model, [{"role": "user", "content": "q"}], mapped, {}, {})["tools"])


def _litellm_gemini(tool: Wire) -> Any:
    return _only(VertexGeminiConfig().map_openai_params({"tools": [tool]}, {}, "gemini-3.5-flash", False)["tools"])


def _litellm_of_anthropic(tool: Wire) -> Any:
    tools, _ = LiteLLMAnthropicMessagesAdapter().translate_anthropic_tools_to_openai([tool])
    return _only(tools)


def _litellm_of_gemini(declaration: Wire) -> Any:
    return _only(
        GoogleGenAIAdapter()._transform_google_genai_tools_to_openai([{"functionDeclarations": [declaration]}])
    )


def _langchain_gemini(tool: Wire) -> Any:
    return _declared(convert_to_genai_function_declarations([tool])[0])


def _genai_mcp(tool: Wire) -> Any:
    return _declared(_mcp_utils.mcp_to_gemini_tool(Tool.model_validate(tool)))


def _declared(tool: Any) -> Any:
    return tool.function_declarations[0].model_dump(exclude_none=True)


_WAYS: Final = {
    "OpenAI to Anthropic": Way(_OPENAI, _ours("openai", "anthropic"), _by_anthropic),
    "OpenAI to Gemini": Way(_OPENAI, _ours("openai", "gemini"), _by_gemini),
    "OpenAI to Bedrock": Way(_OPENAI, _ours("openai", "bedrock"), _by_bedrock),
    "Anthropic to OpenAI": Way(_ANTHROPIC, _ours("anthropic", "openai"), _by_openai),
    "Gemini to OpenAI": Way(_GEMINI, _ours("gemini", "openai"), _by_openai),
    "MCP to Gemini": Way(_MCP, _ours("mcp", "gemini"), _by_gemini),
}
_TRANSLATORS: Final = (
    Translator("llm-rosetta", "OpenAI to Anthropic", _rosetta("openai_chat", "anthropic")),
    Translator("litellm", "OpenAI to Anthropic", _litellm_anthropic),
    Translator("langchain", "OpenAI to Anthropic", convert_to_anthropic_tool),
    Translator("llm-rosetta", "OpenAI to Gemini", _rosetta("openai_chat", "google")),
    Translator("litellm", "OpenAI to Gemini", _litellm_gemini),
    Translator("langchain", "OpenAI to Gemini", _langchain_gemini),
    Translator("litellm", "OpenAI to Bedrock", lambda tool: _bedrock_tools_pt([tool])[0]),
    Translator("llm-rosetta", "Anthropic to OpenAI", _rosetta("anthropic", "openai_chat")),
    Translator("litellm", "Anthropic to OpenAI", _litellm_of_anthropic),
    Translator("langchain", "Anthropic to OpenAI", convert_to_openai_tool),
    Translator("llm-rosetta", "Gemini to OpenAI", _rosetta("google", "openai_chat")),
    Translator("litellm", "Gemini to OpenAI", _litellm_of_gemini),
    Translator("google-genai", "MCP to Gemini", _genai_mcp),
)

TOPIC: Final = Topic(_WAYS, _TRANSLATORS, DEFINITIONS)
