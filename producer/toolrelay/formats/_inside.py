"""What else a message or a stream's event holds besides the client's calls: calls that the provider runs, and text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from toolrelay.formats import FORMATS
from toolrelay.formats._plain import as_dict
from toolrelay.formats._protocol import Wire, pick
from toolrelay.formats._text import as_text
from toolrelay.models import ProviderFormat

#: the members that hold a turn's parts, whatever the provider; arguments and outputs are in none of them
_HOLDERS: Final = (
    *("choices", "candidates", "steps", "output", "message", "content", "parts", "delta", "response", "interaction"),
    *("item", "content_block", "step", "start", "toolUse", "contentBlockStart", "contentBlockDelta"),
)
_DEEPEST: Final = 12
_CALLS: Final = ("_call", "_use", "_approval_request")
_TEXTS: Final = ("text", "thinking", "reasoning", "reasoning_content", "refusal", "content", "summary")


class ServerCall(NamedTuple):
    """A call that the provider runs itself, or asks to be allowed to: it never reaches a worker."""

    kind: str
    """The provider's word for it, such as ``web_search_call``."""
    name: str
    call_id: str | None
    server: str | None
    """The MCP server that has the tool, as the request called it."""


def server_calls(message: Wire, provider_format: ProviderFormat) -> Iterator[ServerCall]:
    """Give the calls in it that are not the client's, in order; an event of a stream may tell of one again."""
    for block in blocks_in(message):
        found = _server_call(block, provider_format)
        if found is not None:
            yield found


def has_text(message: Wire) -> bool:
    """Whether the model said something besides its calls, its reasoning included."""
    return any(isinstance(block.get(key), str) and block[key] for block in blocks_in(message) for key in _TEXTS)


def blocks_in(message: Wire, depth: int = 0) -> Iterator[Wire]:
    """Give a message and everything in it that may be one of the turn's parts."""
    yield message
    if depth == _DEEPEST:
        return
    for key in _HOLDERS:
        value = message.get(key)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            inner = as_dict(item)
            if inner is not None:
                yield from blocks_in(inner, depth + 1)


def _server_call(block: Wire, provider_format: ProviderFormat) -> ServerCall | None:
    kind = block.get("type")
    if isinstance(kind, str) and (kind.endswith(_CALLS) or kind == "program"):
        if FORMATS[provider_format].find_call(block) is not None:
            return None
        name = as_text(block.get("name")) or kind.removesuffix("_call")
        identity = as_text(pick(block, "call_id", "id", "toolUseId"))
        return ServerCall(kind, name, identity, as_text(pick(block, "server_label", "server_name")))
    return _gemini(block)


def _gemini(part: Wire) -> ServerCall | None:
    call = as_dict(pick(part, "toolCall", "tool_call"))
    name = None if call is None else as_text(pick(call, "toolType", "tool_type"))
    if call is not None and name is not None:
        return ServerCall("toolCall", name, as_text(call.get("id")), None)
    code = as_dict(pick(part, "executableCode", "executable_code"))
    return None if code is None else ServerCall("executableCode", "code_execution", as_text(code.get("id")), None)
