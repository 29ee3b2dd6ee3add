"""Which tool a call means, and what a model hears when there is no such tool: the same on every side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from toolrelay.models import NormalizedToolRequest

_NAMES_SHOWN: Final = 20
_NAME_LENGTH_SHOWN: Final = 200


def candidate_names(request: NormalizedToolRequest) -> Iterator[str]:
    """Give the registry names a call may mean: in the namespace or toolset it was offered in, then the plain name."""
    for key in ("namespace", "toolset"):
        prefix = request.provider_metadata.get(key)
        if isinstance(prefix, str):
            yield f"{prefix}/{request.tool_name}"
    yield request.tool_name


def unknown_tool(name: str, known: Sequence[str]) -> str:
    """Tell a model that a tool does not exist, and which do.

    >>> unknown_tool("clok", ["clock", "math/add"])
    "Tool 'clok' not found; the tools are: clock, math/add"
    """
    more = f" and {len(known) - _NAMES_SHOWN} more" if len(known) > _NAMES_SHOWN else ""
    shown = ", ".join(known[:_NAMES_SHOWN]) or "none"
    return f"Tool {name[:_NAME_LENGTH_SHOWN]!r} not found; the tools are: {shown}{more}"
