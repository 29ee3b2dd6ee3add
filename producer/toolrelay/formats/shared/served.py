"""Calls that a provider runs itself, or asks to be allowed to: they are told, and never reach a worker."""

from __future__ import annotations

from typing import NamedTuple

from toolrelay.formats.protocol import Wire, pick
from toolrelay.formats.shared.text import as_text


class ServerCall(NamedTuple):
    """A call that the provider runs itself, or asks to be allowed to: it never reaches a worker."""

    kind: str
    """The provider's word for it, such as ``web_search_call``."""
    name: str
    call_id: str | None
    server: str | None
    """The MCP server that has the tool, as the request called it."""


def served(block: Wire, *endings: str) -> ServerCall | None:
    """Read a block whose ``type`` ends with one of these; ``None`` for every other."""
    kind = block.get("type")
    if not isinstance(kind, str) or not kind.endswith(endings):
        return None
    name = as_text(block.get("name")) or kind.removesuffix("_call")
    identity = as_text(pick(block, "call_id", "id", "toolUseId"))
    return ServerCall(kind, name, identity, as_text(pick(block, "server_label", "server_name")))
