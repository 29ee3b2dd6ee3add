"""One call that is still being written."""

from __future__ import annotations

from io import StringIO
from typing import Any, Final

from toolrelay.formats.arguments.strict_json import decode_fast
from toolrelay.formats.protocol import FoundCall
from toolrelay.formats.shared.plain import as_dict, json_copy
from toolrelay.formats.shared.text import size_in_bytes
from toolrelay.formats.streams.json_text import Objects
from toolrelay.models import CallKind

_TWICE: Final = "the stream is damaged: it has other arguments for this call as an object than as text"


class Draft:
    """One call on its way. ``call.arguments`` is not final before the call is sealed."""

    __slots__ = (
        *("_buffer", "_end", "_is_object", "_read_at", "call", "index", "is_overflowed", "is_sealed", "is_stopped"),
        *("place", "size", "size_in_bytes"),
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
        self._end: _End | None = None
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

    def forget(self) -> None:
        """Drop what was gathered of the arguments: they come again, whole."""
        self.take(self.call)
        self.call.arguments = None

    def take(self, call: FoundCall) -> None:
        """Let a whole call stand in the place of what was gathered."""
        self.call = call
        self._buffer, self._end = None, None
        self.size = self.size_in_bytes = self._read_at = 0

    def overflow(self) -> None:
        """Drop the text, and with it what still follows."""
        self._buffer = None
        self.is_overflowed = True

    def is_whole(self) -> bool:
        """Whether the text is one JSON object as it stands: nothing can follow that would still belong to it."""
        if self.call.kind is CallKind.CUSTOM or self.call.refusal is not None:
            return False
        if self._buffer is None or not self.size:
            return self.call.arguments is not None  # an object that came in one piece
        if self.size != self._read_at:  # else the answer is known: reading is not cheap
            if self._read_at:  # who asks once, at the end, is answered by the parser; who goes on asking is not
                self._end = self._end or _End()
                self._is_object = self._end.has_come(self._buffer)
            else:
                self._is_object = _is_object(self.text())
            self._read_at = self.size
        return self._is_object

    def close(self) -> None:
        """Make the text the call's arguments."""
        if self.size and not self.is_overflowed:
            text = self.text()
            if not is_nothing(self.call.arguments) and not _says(text, self.call.arguments):
                self.call.refuse(_TWICE)
            self.call.arguments = text
        self._buffer = self._end = None
        self.is_sealed = True


def is_nothing(arguments: Any) -> bool:
    """Whether this says nothing of a call's arguments: it holds their place until they come."""
    return not arguments or as_dict(arguments) == {}


class _End:
    """Whether a text is one JSON object, asked again and again while it grows: each character is looked at once."""

    __slots__ = ("_is_object", "_objects", "_seen")

    def __init__(self) -> None:
        self._objects = Objects()
        self._seen = 0
        self._is_object: bool | None = None
        """``None`` as long as the object has not ended."""

    def has_come(self, buffer: StringIO) -> bool:
        """Look at what was written since the last time."""
        buffer.seek(self._seen)
        piece = buffer.read()
        self._seen += len(piece)
        if self._is_object is None:
            end = next((place for place, is_begin in self._objects.edges(piece) if not is_begin), None)
            if end is not None:
                self._is_object = not piece[end:].strip() and _is_object(buffer.getvalue())
        elif self._is_object and piece.strip():
            self._is_object = False
        return self._is_object is True


def _is_object(text: str) -> bool:
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(decode_fast(text), dict)
    except (ValueError, RecursionError):
        return False


def _says(text: str, arguments: Any) -> bool:
    try:
        return bool(decode_fast(text) == json_copy(arguments))
    except (ValueError, RecursionError):
        return False
