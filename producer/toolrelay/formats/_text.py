"""Text that every language can hold: no half of a surrogate pair, which Python reads and nobody can write."""

from __future__ import annotations

from typing import Any


def is_well_formed(text: str) -> bool:
    """Whether the text can be written as UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def well_formed(text: str) -> str:
    """Give the text with each half of a surrogate pair replaced by U+FFFD."""
    return text if is_well_formed(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def as_text(value: Any) -> str | None:
    """Give well-formed text; ``None`` for empty text and for what is no text.

    A number, which some servers send as an id, becomes its digits.
    """
    if isinstance(value, str):
        return well_formed(value) or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
