"""Messages whose ``content`` is a list of blocks: what Anthropic, Bedrock and MCP sampling have in common."""

from __future__ import annotations

from collections.abc import Callable

from toolrelay.formats.protocol import FoundCall, Wire
from toolrelay.formats.shared.plain import as_dict, as_list


def calls_in_content(message: Wire, find_block: Callable[[Wire], FoundCall | None]) -> list[FoundCall]:
    """Read the blocks of a message; a message that has no ``content`` is taken for a block itself."""
    if "content" not in message:
        blocks = [message]
    else:
        content = message["content"]
        single = as_dict(content)
        blocks = [single] if single is not None else [block for item in as_list(content) if (block := as_dict(item))]
    return [call for block in blocks if (call := find_block(block)) is not None]
