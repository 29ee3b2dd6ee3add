"""What a tool returned, as text or as JSON that every language reads; and a failure as words for the model."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolrelay.formats._content import Block, Media, Text, content_of, described, single_value
from toolrelay.formats._ids import call_id_of
from toolrelay.formats._json import MAX_INTEGER_BITS, MAX_NESTING
from toolrelay.formats._text import well_formed
from toolrelay.models import NormalizedToolResult

_TOO_DEEP: Final = "…"


def call_id(result: NormalizedToolResult) -> str:
    """Give the id to echo: the provider's, or one made of ours where it sent none."""
    return call_id_of(result.provider_call_id, result.tool_call_id) or result.tool_call_id


def wire_name(result: NormalizedToolResult) -> str:
    """Give the tool's name as the model wrote it."""
    name = result.provider_metadata.get("wire_name")
    return name if isinstance(name, str) else result.tool_name


def success_text(result: NormalizedToolResult) -> str:
    """Write the output as text: text stays as it is, everything else becomes JSON; pictures are described."""
    return to_text(value_of(result))


def value_of(result: NormalizedToolResult) -> Any:
    """Give the output as JSON: content blocks become the one value that they hold, or the text that they make."""
    blocks = content_of(result.output)
    if blocks is None:
        return to_json(result.output)
    is_single, value = single_value(blocks)
    return to_json(value) if is_single else well_formed(described(blocks))


def shown_blocks(result: NormalizedToolResult) -> list[Block]:
    """Give the content of an output that holds a picture, what cannot be shown described; else nothing."""
    blocks = content_of(result.output) if result.success else None
    if blocks is None or not any(isinstance(block, Media) and block.is_image for block in blocks):
        return []
    return [
        Text(block.described()) if isinstance(block, Media) and not block.is_image else block
        for block in blocks
        if not (isinstance(block, Text) and not block.text)
    ]


def error_text(result: NormalizedToolResult) -> str:
    """Say what went wrong, never with empty text: for wires that have an error flag of their own."""
    category = result.error_category
    message = well_formed(result.error or "").strip() or "the tool failed and did not say why"
    return f"{category}: {message}" if category else message


def text_of(result: NormalizedToolResult) -> str:
    """Write the output or the failure as text: for wires that flag a failure beside it."""
    return success_text(result) if result.success else error_text(result)


def flagless_text(result: NormalizedToolResult) -> str:
    """Write the output, or the failure so that it cannot be mistaken for one: for wires without an error flag."""
    return success_text(result) if result.success else f"Error: {error_text(result)}"


def to_text(output: Any) -> str:
    """Write any value as text; ``None`` is ``null``."""
    value = to_json(output)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def to_json(value: Any, depth: int = 0) -> Any:
    """Give the nearest thing to ``value`` that JSON can hold; never raises.

    Dates are ISO 8601, exact decimals and numbers that JSON does not know are text, bytes are text or base64.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return to_json(value.value, depth)
    if isinstance(value, str):
        return well_formed(str(value))
    if isinstance(value, (int, float)):
        return _number(value)
    if depth >= MAX_NESTING:
        return _TOO_DEEP
    if isinstance(value, Mapping):
        return {_key(key): to_json(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((to_json(inner, depth + 1) for inner in value), key=repr)
    if isinstance(value, (list, tuple)):
        return [to_json(inner, depth + 1) for inner in value]
    return _foreign(value, depth)


def _number(value: float) -> Any:
    if isinstance(value, int):
        return int(value) if value.bit_length() <= MAX_INTEGER_BITS else hex(value)
    return float(value) if value - value == 0 else str(value)


def _key(key: Any) -> str:
    plain = to_json(key)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _foreign(value: Any, depth: int) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _bytes(bytes(value))
    try:
        plain = to_jsonable_python(value, serialize_unknown=True)
    except (PydanticSerializationError, ValueError, RecursionError):
        plain = None
    # the second pass is for what pydantic lets pass: NaN, half surrogates
    return f"<{type(value).__name__}>" if plain is None else to_json(plain, depth + 1)


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
