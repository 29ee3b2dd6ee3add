"""Content parts as each provider spells them, as plain blocks: the way back of what the formats write of pictures."""

from __future__ import annotations

import base64
from typing import Any, Final

from toolrelay.formats._plain import as_dict
from toolrelay.formats._protocol import Wire, pick
from toolrelay.outputs import as_base64

_TEXTS: Final = ("input_text", "output_text")
_INSIDE: Final = ";base64,"


def as_blocks(value: Any) -> Any:
    """Give a list of parts as blocks; what is none of these stays as it is."""
    return [_block(item) for item in value] if isinstance(value, list) else value


def _block(item: Any) -> Any:
    part = as_dict(item)
    if part is None:
        return item
    kind = part.get("type")
    if kind in _TEXTS:
        return {**part, "type": "text"}
    if kind == "input_image":
        return _of_url(part.get("image_url")) or item
    if kind == "image" and isinstance(part.get("base64"), str):
        return picture(part["base64"], pick(part, "mime_type", "mimeType"))
    return item


def _of_url(url: Any) -> Wire | None:
    if not isinstance(url, str) or not url.startswith("data:") or _INSIDE not in url:
        return None
    media_type, _, data = url.removeprefix("data:").partition(_INSIDE)
    return picture(data, media_type)


def picture(data: Any, media_type: Any) -> Wire:
    """Give the block of a picture, as MCP has it; Google's and Amazon's own objects hold bytes."""
    text = base64.b64encode(data).decode() if isinstance(data, bytes) else data
    return {"type": "image", "data": text, "mimeType": media_type}


def of_bedrock(parts: list[Wire]) -> list[Wire]:
    """Give the contents of a ``toolResult`` that holds a picture as blocks, or nothing."""
    images = [as_dict(part.get("image")) for part in parts]
    if not any(images):
        return []
    return [
        {"type": "text", "text": part.get("text", "")} if image is None else _of_bedrock(image)
        for part, image in zip(parts, images, strict=True)
    ]


def _of_bedrock(image: Wire) -> Wire:
    data = (as_dict(image.get("source")) or {}).get("bytes")
    # bytes where boto3 is spoken, base64 where it has been written as JSON
    return picture(as_base64(data) if isinstance(data, bytes) else data, f"image/{image.get('format')}")


def of_gemini(parts: list[Wire]) -> list[Wire]:
    """Give the pictures among the parts of a ``functionResponse``."""
    inline = [as_dict(pick(part, "inlineData", "inline_data")) for part in parts]
    return [picture(one.get("data"), pick(one, "mimeType", "mime_type")) for one in inline if one is not None]
