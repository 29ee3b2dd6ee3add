"""Results that are too long for a conversation: cut where a character ends, and never without saying so."""

from __future__ import annotations

from typing import Final

from toolrelay.formats._output import flagless_text, success_text
from toolrelay.models import CallKind, NormalizedToolResult

#: below this, there is room for little but the note
MIN_BYTES: Final = 100
#: kinds whose output has a shape of its own, which a cut would break
_UNCUT: Final = frozenset({CallKind.COMPUTER, CallKind.TOOL_SEARCH})


def limited(result: NormalizedToolResult, max_bytes: int | None) -> NormalizedToolResult:
    """Give the result with its text held to ``max_bytes``, the note included; the same one if it is short enough."""
    if max_bytes is None or result.kind in _UNCUT:
        return result
    if max_bytes < MIN_BYTES:
        raise ValueError(f"max_bytes must be {MIN_BYTES} or more, got {max_bytes!r}")
    if result.success:
        text = success_text(result)
        short = cut(text, max_bytes)
        return result if short is text else result.model_copy(update={"output": short})
    error = result.error or ""
    around = len(flagless_text(result)) - len(error)  # the category and the word "Error", where a wire has no flag
    short = cut(error, max_bytes - max(around, 0))
    return result if short is error else result.model_copy(update={"error": short})


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
