"""Whose tool definitions a list holds: known kinds decide, and the other entries where several may write the same."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from toolrelay.formats.gemini import DECLARATIONS
from toolrelay.formats.protocol import Wire, pick
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.models import ProviderFormat as Format

_BY_KEY: Final = (
    ("toolSpec", Format.BEDROCK),
    ("tool_spec", Format.BEDROCK),
    ("cachePoint", Format.BEDROCK),
    ("systemTool", Format.BEDROCK),
    ("functionDeclarations", Format.GEMINI),
    ("function_declarations", Format.GEMINI),
    ("parametersJsonSchema", Format.GEMINI),
    ("parameters_json_schema", Format.GEMINI),
    ("args_schema", Format.LANGCHAIN),
    ("inputSchema", Format.MCP),
    ("outputSchema", Format.MCP),
    ("input_schema", Format.ANTHROPIC),
)
#: members of a Gemini declaration that no function of OpenAI's has; an SDK's object has them even where they are null
_OF_DECLARATIONS: Final = frozenset(
    {
        *("parametersJsonSchema", "parameters_json_schema", "responseJsonSchema", "response_json_schema"),
        *("response", "behavior"),
    }
)

#: kinds that one provider alone defines (openai ``responses.ToolParam``, google-genai ``interactions.Tool``)
_KINDS: Final[dict[str, Format]] = {
    **dict.fromkeys(
        (
            *("web_search", "web_search_preview", "computer", "computer_use_preview", "mcp", "code_interpreter"),
            *("programmatic_tool_calling", "image_generation", "local_shell", "shell", "namespace", "tool_search"),
            *("web_search_2025_08_26", "web_search_preview_2025_03_11", "apply_patch"),
        ),
        Format.OPENAI_RESPONSES,
    ),
    **dict.fromkeys(("mcp_toolset", "tool_search_tool_bm25", "tool_search_tool_regex"), Format.ANTHROPIC),
    **dict.fromkeys(
        ("google_search", "google_maps", "code_execution", "url_context", "computer_use", "mcp_server", "retrieval"),
        Format.GEMINI_INTERACTIONS,
    ),
}
#: Anthropic's kinds carry the day of their release: ``bash_20250124``
_ANTHROPIC_KIND: Final = re.compile(r"\w+_20\d{6}")
_WRAPPERS: Final = ("function", "custom")
_FAMILIES: Final = {Format.OPENAI_RESPONSES: Format.OPENAI}


def detect_tools(tools: Iterable[Wire]) -> list[Format]:
    """Tell whose each definition of a list is.

    One that several providers may write, such as a flat function, is of those that the others of the list are of.
    """
    possible = [_candidates(tool) for tool in tools]
    certain = {candidates[0] for candidates in possible if len(candidates) == 1}
    families = set(map(family_of, certain))

    def choose(candidates: tuple[Format, ...]) -> Format:
        likely = [one for one in candidates if one in certain] + [
            one for one in candidates if family_of(one) in families
        ]
        return [*likely, *candidates][0]

    return list(map(choose, possible))


def _candidates(tool: Wire) -> tuple[Format, ...]:
    """Give the formats that a definition may be of, the likeliest first."""
    for wrapper in _WRAPPERS:
        if as_dict(tool.get(wrapper)) is not None:
            return (Format.OPENAI,)
    for key, found in _BY_KEY:
        if tool.get(key) is not None:
            # mcp's own objects spell their members as Anthropic does, and have others that tell
            return (Format.MCP if found is Format.ANTHROPIC and tool.get("output_schema") is not None else found,)
    kind = tool.get("type")
    if isinstance(kind, str):
        return _of_kind(kind, tool)
    if not _OF_DECLARATIONS.isdisjoint(tool) or _is_upper_case(tool.get("parameters")):
        return (Format.GEMINI,)
    if "parameters" in tool:
        return (Format.OPENAI, Format.GEMINI)  # the deprecated functions, a declaration by itself
    return (Format.UNKNOWN,) if "name" in tool else (Format.GEMINI, Format.BEDROCK)


def _of_kind(kind: str, tool: Wire) -> tuple[Format, ...]:
    if kind in _KINDS:
        return (_KINDS[kind],)
    if _ANTHROPIC_KIND.fullmatch(kind):
        return (Format.ANTHROPIC,)
    if kind == "function":
        responses, interactions = Format.OPENAI_RESPONSES, Format.GEMINI_INTERACTIONS
        return (responses,) if "strict" in tool else (responses, interactions)
    if kind == "custom":
        return (Format.OPENAI_RESPONSES, Format.ANTHROPIC)
    typed = (Format.OPENAI_RESPONSES, Format.ANTHROPIC, Format.GEMINI_INTERACTIONS)
    return (typed[1], typed[0], typed[2]) if "name" in tool and kind != "file_search" else typed


def _is_upper_case(schema: Any) -> bool:
    members = as_dict(schema) or {}
    kind = members.get("type")
    return isinstance(kind, str) and kind.isupper()


def parts_of(tool: Wire) -> list[Wire]:
    """Give an entry as several, where it holds functions and what the provider runs itself: Gemini's, a namespace."""
    if pick(tool, *DECLARATIONS) is not None:
        functions = {key: value for key, value in tool.items() if key in DECLARATIONS}
        others = {key: value for key, value in tool.items() if key not in DECLARATIONS and value is not None}
        return [functions, others] if others else [tool]
    if tool.get("type") == "namespace":
        inside = [as_dict(entry) or {} for entry in as_list(tool.get("tools"))]
        hosted = [entry for entry in inside if entry.get("type", "function") not in ("function", "custom")]
        own = [entry for entry in inside if not any(entry is one for one in hosted)]
        return [{**tool, "tools": own}, {**tool, "tools": hosted}] if hosted and own else [tool]
    return [tool]


def is_single_definition(members: Wire) -> bool:
    """Whether this is a definition by itself, and not the body of a request, which has neither name nor type."""
    return any(key in members for key in ("name", "type", *_WRAPPERS, *(key for key, _ in _BY_KEY)))


def family_of(provider_format: Format) -> Format:
    """Give the format whose own kinds of tools this one takes as they are."""
    return _FAMILIES.get(provider_format, provider_format)
