"""What a tool returned, as the text or the value that a wire has a place for; and a failure as words for the model."""

from __future__ import annotations

from typing import Any

from toolrelay.errors import classify_error
from toolrelay.formats.shared.content import SILENT, Block, Media, Text, content_of, described, failure_in, single_value
from toolrelay.formats.shared.ids import call_id_of
from toolrelay.formats.shared.text import well_formed
from toolrelay.models import NormalizedToolResult
from toolrelay.outputs import lenient_json, lenient_text


def settled(result: NormalizedToolResult) -> NormalizedToolResult:
    """Give the result as the formats take it: its output is JSON, and a ``CallToolResult`` that failed is a failure.

    Each output goes through here once, before anything looks at it: an iterator cannot be read twice.
    """
    if not result.success:
        return result
    output = lenient_json(result.output)
    why = failure_in(output)
    if why is None:
        return result if output is result.output else result.model_copy(update={"output": output})
    category = result.error_category or classify_error(why)
    return result.model_copy(update={"success": False, "output": None, "error": why, "error_category": category})


def call_id(result: NormalizedToolResult) -> str:
    """Give the id to echo: the provider's, or one made of ours where it sent none."""
    return call_id_of(result.provider_call_id, result.tool_call_id) or result.tool_call_id


def wire_name(result: NormalizedToolResult) -> str:
    """Give the tool's name as the model wrote it."""
    name = result.provider_metadata.get("wire_name")
    return name if isinstance(name, str) else result.tool_name


def success_text(result: NormalizedToolResult) -> str:
    """Write the output as text: text stays as it is, everything else becomes JSON; pictures are described."""
    return lenient_text(value_of(result))


def value_of(result: NormalizedToolResult) -> Any:
    """Give the output as JSON: content blocks become the one value that they hold, or the text that they make."""
    blocks = content_of(result.output)
    if blocks is None:
        return result.output
    is_single, value = single_value(blocks)
    return lenient_json(value) if is_single else well_formed(described(blocks))


def has_picture(blocks: list[Block]) -> bool:
    """Whether there is one that a wire may have a place for."""
    return any(isinstance(block, Media) and block.is_image for block in blocks)


def shown_blocks(result: NormalizedToolResult) -> list[Block]:
    """Give the content of an output that holds a picture, what cannot be shown described; else nothing."""
    blocks = content_of(result.output) if result.success else None
    if blocks is None or not has_picture(blocks):
        return []
    return [
        Text(block.described()) if isinstance(block, Media) and not block.is_image else block
        for block in blocks
        if not (isinstance(block, Text) and not block.text)
    ]


def shell_commands(output: Any) -> list[dict[str, Any]] | None:
    """Give what each command of a shell wrote: objects with ``stdout``; ``None`` for an output of another shape."""
    commands = output if isinstance(output, list) else [output]
    is_shell = bool(commands) and all(isinstance(command, dict) and "stdout" in command for command in commands)
    return commands if is_shell else None


def error_text(result: NormalizedToolResult) -> str:
    """Say what went wrong, never with empty text: for wires that have an error flag of their own."""
    category = result.error_category
    message = well_formed(result.error or "")
    if not message.strip():
        message = SILENT
    return f"{category}: {message}" if category else message


def text_of(result: NormalizedToolResult) -> str:
    """Write the output or the failure as text: for wires that flag a failure beside it."""
    return success_text(result) if result.success else error_text(result)


def flagless_text(result: NormalizedToolResult) -> str:
    """Write the output, or the failure so that it cannot be mistaken for one: for wires without an error flag."""
    return success_text(result) if result.success else f"Error: {error_text(result)}"
