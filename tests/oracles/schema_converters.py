"""How other libraries write a tool's JSON Schema for a provider, and how toolrelay does.

Each converter takes a schema of its own, for some change what they are given, and gives what goes on the wire. Nothing
here corrects a library; what it raises is passed on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from anthropic import transform_schema
from google.genai import _mcp_utils, _transformers
from langchain_anthropic.chat_models import convert_to_anthropic_tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_google_genai._function_utils import convert_to_genai_function_declarations
from litellm.litellm_core_utils.prompt_templates.factory import _bedrock_tools_pt
from litellm.llms.anthropic.chat.transformation import AnthropicConfig
from litellm.llms.vertex_ai.common_utils import build_vertex_schema
from llm_rosetta import tool_ops
from mcp.types import Tool
from openai.lib._pydantic import _ensure_strict_json_schema

from toolrelay.schemas.export import (
    ExportedSchema,
    to_anthropic,
    to_bedrock,
    to_gemini,
    to_gemini_json_schema,
    to_openai,
)


class SchemaConverter(NamedTuple):
    """One way of one library to write a schema for a target."""

    library: str
    target: str
    convert: Callable[[dict[str, Any]], Any]


OURS: Final[dict[str, Callable[[dict[str, Any]], ExportedSchema]]] = {
    "openai": to_openai,
    "openai strict": lambda schema: to_openai(schema, strict=True),
    "anthropic": to_anthropic,
    "anthropic strict": lambda schema: to_anthropic(schema, strict=True),
    "gemini": to_gemini,
    "gemini_interactions": to_gemini_json_schema,
    "bedrock": to_bedrock,
}
#: the form of a target in which the others write
FORMS: Final = {
    "openai strict": "strict",
    "anthropic strict": "strict",
    "gemini": "parameters",
    "gemini_interactions": "json_schema",
}


def _chat_tool(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "tool", "description": "d", "parameters": schema}}


def _langchain_tool(schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": "tool", "description": "d", "parameters": schema}


def _of_openai(tool: Any) -> Any:
    return tool["function"].get("parameters")


def _rosetta(write: Callable[[Any], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda schema: write(tool_ops.from_openai_chat(_chat_tool(schema)))


def _of_declaration(declaration: Any) -> Any:
    parameters = declaration.parameters
    return declaration.parameters_json_schema if parameters is None else _on_the_wire(parameters)


def _on_the_wire(message: Any) -> Any:
    return None if message is None else message.model_dump(mode="json", exclude_none=True, by_alias=True)


def _langchain_gemini(schema: dict[str, Any]) -> Any:
    (tool,) = convert_to_genai_function_declarations([_langchain_tool(schema)])
    return _of_declaration(tool.function_declarations[0])


def _genai_mcp(schema: dict[str, Any]) -> Any:
    tool = _mcp_utils.mcp_to_gemini_tool(Tool(name="tool", description="d", input_schema=schema))
    return _of_declaration(tool.function_declarations[0])


CONVERTERS: Final = (
    SchemaConverter("openai", "openai strict", lambda schema: _ensure_strict_json_schema(schema, path=(), root=schema)),
    SchemaConverter(
        "langchain",
        "openai strict",
        lambda schema: _of_openai(convert_to_openai_tool(_langchain_tool(schema), strict=True)),
    ),
    SchemaConverter("langchain", "openai", lambda schema: _of_openai(convert_to_openai_tool(_langchain_tool(schema)))),
    SchemaConverter("llm-rosetta", "openai", lambda schema: _of_openai(_rosetta(tool_ops.to_openai_chat)(schema))),
    SchemaConverter("anthropic", "anthropic strict", transform_schema),
    SchemaConverter(
        "langchain", "anthropic", lambda schema: convert_to_anthropic_tool(_langchain_tool(schema))["input_schema"]
    ),
    SchemaConverter("llm-rosetta", "anthropic", lambda schema: _rosetta(tool_ops.to_anthropic)(schema)["input_schema"]),
    SchemaConverter(
        "litellm",
        "anthropic",
        lambda schema: dict(AnthropicConfig()._map_tool_helper(_chat_tool(schema))[0]["input_schema"]),
    ),
    SchemaConverter("google-genai", "gemini", lambda schema: _on_the_wire(_transformers.t_schema(None, schema))),
    SchemaConverter("google-genai mcp", "gemini", _genai_mcp),
    SchemaConverter("langchain", "gemini", _langchain_gemini),
    SchemaConverter("litellm", "gemini", build_vertex_schema),
    SchemaConverter(
        "llm-rosetta",
        "gemini",
        lambda schema: _rosetta(tool_ops.to_google_generate)(schema)["function_declarations"][0].get("parameters"),
    ),
    SchemaConverter(
        "llm-rosetta",
        "gemini_interactions",
        lambda schema: _rosetta(tool_ops.to_google_interactions)(schema).get("parameters"),
    ),
    SchemaConverter(
        "litellm",
        "bedrock",
        lambda schema: _bedrock_tools_pt([_chat_tool(schema)])[0]["toolSpec"]["inputSchema"]["json"],
    ),
)
