"""Results that are too long for a conversation: cut where a character ends, and never without saying so."""

from __future__ import annotations

from typing import Any, Final

from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.content import Block, Media, Text, as_block, content_of
from toolrelay.formats.shared.output import flagless_text, has_picture, shell_commands, success_text
from toolrelay.formats.shared.text import size_in_bytes
from toolrelay.models import CallKind, NormalizedToolResult

#: below this, there is room for little but the note
MIN_BYTES: Final = 100
#: below this, a part of a text is not worth its note
_MIN_PART: Final = 60
_NO_ROOM: Final = "[cut]"
#: where a shell's command has text
_STREAMS: Final = ("stdout", "stderr")
#: kinds whose output has a shape of its own, which a cut would break
_UNCUT: Final = frozenset({CallKind.COMPUTER, CallKind.TOOL_SEARCH})


def limited(result: NormalizedToolResult, max_bytes: int | None) -> NormalizedToolResult:
    """Give the result with its text held to ``max_bytes``, the note included; the same one if it is short enough."""
    if max_bytes is None or result.kind in _UNCUT:
        return result
    if max_bytes < MIN_BYTES:
        raise ValueError(f"max_bytes must be {MIN_BYTES} or more, got {max_bytes!r}")
    if result.success:
        output = _limited_output(result, max_bytes)
        return result if output is result.output else result.model_copy(update={"output": output})
    error = result.error or ""
    around = len(flagless_text(result)) - len(error)  # the category and the word "Error", where a wire has no flag
    short = cut(error, max_bytes - max(around, 0))
    return result if short is error else result.model_copy(update={"error": short})


def _limited_output(result: NormalizedToolResult, max_bytes: int) -> Any:
    commands = shell_commands(result.output) if result.kind is CallKind.SHELL else None
    if commands is not None:
        return _limited_commands(commands, max_bytes)
    blocks = content_of(result.output)
    if blocks is not None and has_picture(blocks):
        return _limited_blocks(blocks, max_bytes)
    text = success_text(result)
    short = cut(text, max_bytes)
    return result.output if short is text else short


def _limited_commands(commands: list[dict[str, Any]], max_bytes: int) -> list[dict[str, Any]]:
    """Cut what the commands wrote, and nothing else: an exit code that is gone would read as a success."""
    places = [(command, name) for command in commands for name in _STREAMS if isinstance(command.get(name), str)]
    texts = iter(_shared([command[name] for command, name in places], max_bytes))
    return [
        {**command, **{name: next(texts) for name in _STREAMS if isinstance(command.get(name), str)}}
        for command in commands
    ]


def _limited_blocks(blocks: list[Block], max_bytes: int) -> list[Wire]:
    """Cut the texts beside pictures. A picture stays: half of it is none, and no text stands for it."""
    described = sum(size_in_bytes(block.described()) + 1 for block in blocks if isinstance(block, Media))
    texts = iter(_shared([block.text for block in blocks if isinstance(block, Text)], max_bytes - described))
    return [as_block(Text(next(texts)) if isinstance(block, Text) else block) for block in blocks]


def _shared(texts: list[str], max_bytes: int) -> list[str]:
    """Cut texts that share a limit: short ones stay whole, long ones get equal parts of what these leave."""
    sizes = [size_in_bytes(text) for text in texts]
    left, share = max_bytes, 0
    for count, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        share = max(0, left) // count
        if size > share:
            break
        left -= size
    else:
        return texts
    return [text if size <= share else _part(text, share) for text, size in zip(texts, sizes, strict=True)]


def _part(text: str, max_bytes: int) -> str:
    return cut(text, max_bytes) if max_bytes >= _MIN_PART else _NO_ROOM


def cut(text: str, max_bytes: int) -> str:
    """Cut text to this many bytes of UTF-8, the note of what is missing included."""
    if len(text) * 4 <= max_bytes:
        return text
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= max_bytes:
        return text
    # the note is never longer than with the full length in both places
    room = max(0, max_bytes - len(_note(len(encoded), len(encoded)).encode()))
    shown = encoded[:room].decode("utf-8", "ignore")
    return shown + _note(len(shown.encode()), len(encoded))


def _note(shown: int, whole: int) -> str:
    return f"\n[cut: {shown} of {whole} bytes are shown]"
