"""What the formats' modules share where they write and read tool choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from toolrelay.choices import ChoiceMode, ToolChoice
from toolrelay.formats.protocol import Wire, pick
from toolrelay.formats.shared.plain import as_dict, as_list

#: from a tool's own name to the one on the wire
Encode = Callable[[str], str]

_MODES: Final = {
    "auto": ChoiceMode.AUTO,
    "none": ChoiceMode.NONE,
    "required": ChoiceMode.ANY,
    "any": ChoiceMode.ANY,
}


class WireChoice(NamedTuple):
    """A choice as a provider takes it."""

    value: Any
    is_whole: bool = True
    """``False``: the provider has no subsets, so only the choice's tools may be declared beside this value."""


def text(value: Any) -> str | None:
    """Give text that is not empty."""
    return value if isinstance(value, str) and value else None


def mode_of(word: Any) -> ChoiceMode | None:
    """Read a mode as OpenAI, Anthropic or Gemini spell it."""
    return _MODES.get(word.lower()) if isinstance(word, str) else None


def read_word(word: str) -> ToolChoice | None:
    """Read a bare word: one of the modes, or the name of a function."""
    if word in _MODES:
        return ToolChoice(_MODES[word])
    return ToolChoice.tool(word) if word else None


def named_tool(value: Wire, *kinds: str) -> ToolChoice | None:
    """Read an object that names one tool, flat or nested under its kind, or the old ``{"name": …}``."""
    kind = value.get("type")
    if kind is not None and kind not in kinds:
        return None
    inside = as_dict(value.get(kind)) if isinstance(kind, str) else as_dict(value.get("function"))
    name = text((inside or value).get("name"))
    return None if name is None else ToolChoice.tool(name)


def allowed_tools(value: Wire) -> ToolChoice | None:
    """Read OpenAI's ``allowed_tools``, nested (Chat) or flat (Responses)."""
    allowed = as_dict(value.get("allowed_tools")) or value
    mode = mode_of(allowed.get("mode"))
    entries = [named_tool(as_dict(entry) or {}, "function", "custom") for entry in as_list(allowed.get("tools"))]
    names = [entry.tools[0] for entry in entries if entry is not None]
    if mode is None or mode is ChoiceMode.NONE or not names or len(names) < len(entries):
        return None
    return ToolChoice(mode, tuple(names))


def openai_mode(choice: ToolChoice) -> str:
    """Spell a mode as OpenAI does."""
    return "required" if choice.is_forced else choice.mode.value


def write_openai(choice: ToolChoice, encode: Encode, *, is_flat: bool) -> WireChoice:
    """Write a choice for Chat (nested) or Responses (flat)."""

    def function(name: str) -> Wire:
        wire_name = encode(name)
        return {"type": "function", **({"name": wire_name} if is_flat else {"function": {"name": wire_name}})}

    if not choice.tools:
        return WireChoice(openai_mode(choice))
    if choice.is_forced and len(choice.tools) == 1:
        return WireChoice(function(choice.tools[0]))
    allowed = {"mode": openai_mode(choice), "tools": [function(name) for name in choice.tools]}
    return WireChoice({"type": "allowed_tools", **(allowed if is_flat else {"allowed_tools": allowed})})


def read_openai(value: Any) -> ToolChoice | None:
    """Read a choice of Chat or Responses, the deprecated ``function_call`` included."""
    if isinstance(value, str):
        return read_word(value)
    members = as_dict(value)
    if members is None:
        return None
    if members.get("type") == "allowed_tools":
        return allowed_tools(members)
    return named_tool(members, "function", "custom")


def inside_of(value: Any, *wrappers: str) -> Wire | None:
    """Give the members of a choice, out of the request's fields that it may still be wrapped in."""
    members = as_dict(value)
    for wrapper in wrappers:
        inner = None if members is None else as_dict(pick(members, *wrapper.split("|")))
        if inner is not None:
            members = inner
    return members
