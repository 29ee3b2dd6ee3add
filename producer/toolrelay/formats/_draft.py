"""One call that is still being written."""

from __future__ import annotations

from io import StringIO
from typing import Any

from toolrelay.formats._json import decode_fast
from toolrelay.formats._protocol import FoundCall
from toolrelay.formats._text import size_in_bytes
from toolrelay.models import CallKind


class Draft:
    """One call on its way. ``call.arguments`` is not final before the call is sealed."""

    __slots__ = (
        *("_buffer", "_is_object", "_read_at", "call", "index", "is_overflowed", "is_sealed", "is_stopped", "place"),
        *("size", "size_in_bytes"),
    )

    def __init__(self, call: FoundCall, place: int, index: Any = None) -> None:
        self.call = call
        self.place = place
        """Which of the client's calls it is, counted from 0 in the order in which they were opened."""
        self.index = index
        """What its pieces are labelled with, where the wire has labels."""
        self.size = 0
        """Characters of argument text so far."""
        self.size_in_bytes = 0
        """Of that text in UTF-8."""
        self.is_overflowed = False
        """The text was longer than the limit, and is dropped."""
        self.is_stopped = False
        """The wire said that its block is closed; why the turn ended is not yet known."""
        self.is_sealed = False
        self._buffer: StringIO | None = None
        self._read_at = 0
        self._is_object = False

    def write(self, piece: str) -> None:
        """Append a piece of argument text."""
        if self._buffer is None:
            self._buffer = StringIO()
        self._buffer.write(piece)
        self.size += len(piece)
        self.size_in_bytes += size_in_bytes(piece)

    def text(self) -> str:
        """Give the argument text so far."""
        return "" if self._buffer is None else self._buffer.getvalue()

    def replace(self, text: str) -> None:
        """Put the whole text in the place of what was gathered."""
        self._forget_text()
        self.write(text)

    def take(self, call: FoundCall) -> None:
        """Let a whole call stand in the place of what was gathered."""
        self.call = call
        self._forget_text()

    def overflow(self) -> None:
        """Drop the text, and with it what still follows."""
        self._buffer = None
        self.is_overflowed = True

    def _forget_text(self) -> None:
        self._buffer, self.size, self.size_in_bytes = None, 0, 0

    def is_whole(self) -> bool:
        """Whether the text is one JSON object as it stands: nothing can follow that would still belong to it."""
        if self.call.kind is CallKind.CUSTOM or self.call.refusal is not None:
            return False
        if not self.size:
            return self.call.arguments is not None  # an object that came in one piece
        if self.size != self._read_at:  # else the answer is known: reading is not cheap
            self._read_at, self._is_object = self.size, _is_object(self.text())
        return self._is_object

    def close(self) -> None:
        """Make the text the call's arguments."""
        if self.size and not self.is_overflowed:
            self.call.arguments = self.text()
        self._buffer = None
        self.is_sealed = True


def _is_object(text: str) -> bool:
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(decode_fast(text), dict)
    except (ValueError, RecursionError):
        return False
