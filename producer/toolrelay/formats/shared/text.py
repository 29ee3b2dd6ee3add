"""Text that every language can hold: no half of a surrogate pair, which Python reads and nobody can write."""

from __future__ import annotations

from typing import Any, Final

#: a longer number is nobody's id, and Python may refuse to write it
_MAX_ID_BITS: Final = 1024


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


def size_in_bytes(text: str) -> int:
    """Count the bytes of the text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def as_text(value: Any) -> str | None:
    """Give well-formed text; ``None`` for empty text and for what is no text.

    A number, which some servers send as an id, becomes its digits.
    """
    if isinstance(value, str):
        value = str.__str__(value)  # a member of an enum would call itself by another name
        return (value if value.isascii() else well_formed(value)) or None
    is_number = isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= _MAX_ID_BITS
    return str(value) if is_number else None
