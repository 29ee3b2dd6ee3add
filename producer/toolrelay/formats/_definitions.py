"""Whose tool definition a dict is."""

from __future__ import annotations

from typing import Final

from toolrelay.formats._plain import as_dict
from toolrelay.formats._protocol import Wire
from toolrelay.models import ProviderFormat as Format

_BY_KEY: Final = (
    ("toolSpec", Format.BEDROCK),
    ("tool_spec", Format.BEDROCK),
    ("functionDeclarations", Format.GEMINI),
    ("function_declarations", Format.GEMINI),
    ("parametersJsonSchema", Format.GEMINI),
    ("parameters_json_schema", Format.GEMINI),
    ("args_schema", Format.LANGCHAIN),
    ("inputSchema", Format.MCP),
    ("outputSchema", Format.MCP),
    ("input_schema", Format.ANTHROPIC),
)
_FAMILIES: Final = {Format.OPENAI_RESPONSES: Format.OPENAI}


def detect_tool(tool: Wire) -> Format:
    """Tell the formats' definitions apart by their keys, and ``type`` where there is one."""
    kind = tool.get("type")
    for wrapper in ("function", "custom"):
        if as_dict(tool.get(wrapper)) is not None:
            return Format.OPENAI
    for key, found in _BY_KEY:
        if tool.get(key) is not None:
            # mcp's own objects spell their members as Anthropic does, and have others that tell
            return Format.MCP if found is Format.ANTHROPIC and tool.get("output_schema") is not None else found
    if isinstance(kind, str):
        is_anthropic = "name" in tool and kind not in ("function", "custom", "namespace")
        return Format.ANTHROPIC if is_anthropic else Format.OPENAI_RESPONSES
    if "parameters" in tool:
        return Format.OPENAI  # the deprecated functions
    return Format.UNKNOWN if "name" in tool else Format.GEMINI


def family_of(provider_format: Format) -> Format:
    """Give the format whose own kinds of tools this one takes as they are."""
    return _FAMILIES.get(provider_format, provider_format)
