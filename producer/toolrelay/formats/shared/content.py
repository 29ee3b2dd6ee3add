"""What a tool returned as content blocks, MCP's way: texts, pictures, sounds, resources.

A bare list of blocks and a whole ``CallToolResult`` are both taken apart. One text alone is the output itself, parsed
if it is JSON; pictures go where the wire has a place for them, and are described where it has none.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Final, NamedTuple

from toolrelay.formats.protocol import Wire, pick
from toolrelay.formats.shared.plain import as_dict
from toolrelay.formats.shared.text import well_formed
from toolrelay.outputs import lenient_text

_RESULT_KEYS: Final = frozenset(
    {"content", "isError", "is_error", "structuredContent", "structured_content", "_meta", "resultType", "result_type"}
)
SILENT: Final = "the tool failed and did not say why"
#: base64 comes in lines too, and in the URL-safe alphabet (pydantic writes it): no provider takes either
_STANDARD: Final = str.maketrans("-_", "+/", " \t\r\n")
#: what Anthropic, OpenAI and Gemini all take
IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class Text(NamedTuple):
    """A block of text, or the description of a block that cannot be sent."""

    text: str


class Media(NamedTuple):
    """A picture or a sound: its media type, and base64."""

    kind: str
    media_type: str
    data: str

    @property
    def is_image(self) -> bool:
        """Whether every provider that takes pictures takes this one."""
        return self.kind == "image" and self.media_type in IMAGE_TYPES

    @property
    def raw(self) -> bytes | None:
        """The bytes themselves; ``None`` where ``data`` is no base64."""
        try:
            return base64.b64decode(self.data, validate=True)
        except (binascii.Error, ValueError):
            return None

    def described(self) -> str:
        """Say what is not shown."""
        raw = self.raw
        size = len(self.data) if raw is None else len(raw)
        return f"[{self.kind} {self.media_type}, {size} bytes, returned by the tool and not shown here]"


Block = Text | Media


def content_of(output: Any) -> list[Block] | None:
    """Take an output apart; ``None`` for one that is no list of blocks."""
    if isinstance(output, dict):
        if "content" not in output or not output.keys() <= _RESULT_KEYS:
            return None
        blocks = [] if output["content"] in ([], ()) else content_of(output["content"])
        structured = pick(output, "structuredContent", "structured_content")
        if blocks is None:
            return None
        has_text = any(isinstance(block, Text) for block in blocks)
        # its text twin says the same, and stands for it
        return blocks if structured is None or has_text else [Text(lenient_text(structured)), *blocks]
    if not isinstance(output, (list, tuple)):
        return None
    found: list[Block] = []
    for item in output:
        block = _block(item) if isinstance(item, dict) else None
        if block is None:
            return None
        found.append(block)
    return found or None


def as_block(block: Block) -> Wire:
    """Write a block as MCP has it; a resource, whose place nobody knows any more, is described."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if block.kind == "resource":
        return {"type": "text", "text": block.described()}
    return {"type": block.kind, "data": block.data, "mimeType": block.media_type}


def failure_in(output: Any) -> str | None:
    """Say why a tool failed that returned a whole ``CallToolResult`` with its error flag; ``None`` for all else.

    MCP's tools tell their errors that way (specification 2025-11-25, server/tools, "Error Handling").
    """
    is_result = isinstance(output, dict) and bool(output) and output.keys() <= _RESULT_KEYS
    if not is_result or pick(output, "isError", "is_error") is not True:
        return None
    blocks = content_of({"content": [], **output})
    said = lenient_text(output.get("content")) if blocks is None else described(blocks)
    return said if said.strip() else SILENT


def single_value(blocks: list[Block]) -> tuple[bool, Any]:
    """Give the value of content that holds one text and nothing else, and whether it is such."""
    if len(blocks) != 1 or not isinstance(blocks[0], Text):
        return False, None
    text = blocks[0].text
    if not text.lstrip().startswith(("{", "[")):
        return True, text
    try:
        return True, json.loads(text)
    except (ValueError, RecursionError):
        return True, text


def described(blocks: list[Block]) -> str:
    """Write content as text, with a note for each block that is none."""
    return "\n".join(block.text if isinstance(block, Text) else block.described() for block in blocks)


def _block(block: Wire) -> Block | None:
    kind = block.get("type")
    if kind == "text":
        text = block.get("text")
        return Text(well_formed(text)) if isinstance(text, str) else None
    if kind in ("image", "audio"):
        return _media(kind, block)
    if kind == "resource_link" and isinstance(block.get("uri"), str):
        return Text(well_formed(f"[resource {block['uri']}]"))
    return _resource(as_dict(block.get("resource"))) if kind == "resource" else None


def _media(kind: str, block: Wire) -> Media | None:
    source = as_dict(block.get("source")) or block
    data = source.get("data")
    media_type = pick(source, "mimeType", "mime_type", "media_type")
    if not isinstance(data, str) or not isinstance(media_type, str):
        return None
    return Media(kind, media_type, data.translate(_STANDARD))


def _resource(resource: Wire | None) -> Block | None:
    if resource is None:
        return None
    if isinstance(resource.get("text"), str):
        return Text(well_formed(resource["text"]))
    media_type = pick(resource, "mimeType", "mime_type") or "application/octet-stream"
    blob = resource.get("blob")
    return Media("resource", str(media_type), blob.translate(_STANDARD)) if isinstance(blob, str) else None
