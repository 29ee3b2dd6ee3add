"""Objects out of JSON text that is laid out over lines: an array that grows, or one object after the other.

Gemini's REST service streams such an array to whoever does not ask for server-sent events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import StringIO
from typing import Final

#: what opens, closes, or hides brackets in a text
_MARK: Final = re.compile(r'[{}\[\]]|["\\]')
_IN_TEXT: Final = re.compile(r'["\\]')


class Objects:
    """Finds where objects begin and end in text that comes in pieces; looks at each character once."""

    def __init__(self) -> None:
        self._depth = 0
        """How many brackets are open within the object; 0 outside of one, where only arrays are opened and closed."""
        self._is_in_text = False
        self._is_escaped = False

    @property
    def is_open(self) -> bool:
        """Whether an object has begun and not ended."""
        return self._depth > 0

    def edges(self, piece: str) -> Iterator[tuple[int, bool]]:
        """Give each object's beginning in this piece, with ``True``, and the place behind its end, with ``False``."""
        at = 0
        while (place := self._next_mark(piece, at)) is not None:
            at = place + 1
            if self._depth == 0:
                if piece[place] == "{":
                    self._depth = 1
                    yield place, True
            elif self._ends_object(piece[place]):
                yield at, False

    def _next_mark(self, piece: str, at: int) -> int | None:
        if self._is_escaped and at < len(piece):
            self._is_escaped = False
            at += 1
        while (match := (_IN_TEXT if self._is_in_text else _MARK).search(piece, at)) is not None:
            at = match.end()
            if match[0] == '"':
                self._is_in_text = self._depth > 0 and not self._is_in_text
            elif match[0] != "\\":
                return match.start()
            elif self._is_in_text:
                self._is_escaped = at == len(piece)
                at += 1
        return None

    def _ends_object(self, mark: str) -> bool:
        self._depth += 1 if mark in "{[" else -1
        return self._depth == 0


class JsonText:
    """Cuts text, which comes in pieces, into its objects."""

    def __init__(self, max_chars: int) -> None:
        self.unreadable = 0
        """How many objects were longer than ``max_chars``."""
        self._max_chars = max_chars
        self._objects = Objects()
        self._object = StringIO()
        self._chars = 0

    @property
    def is_open(self) -> bool:
        """Whether an object has begun and not ended."""
        return self._objects.is_open

    def feed(self, piece: str) -> Iterator[str]:
        """Give the text of each object that this piece completes."""
        begin = 0
        for place, is_begin in self._objects.edges(piece):
            if is_begin:
                begin = place
            else:
                self._keep(piece[begin:place])
                yield from self._take()
        if self.is_open:
            self._keep(piece[begin:])

    def _keep(self, text: str) -> None:
        self._chars += len(text)
        if self._chars <= self._max_chars:
            self._object.write(text)

    def _take(self) -> Iterator[str]:
        if self._chars <= self._max_chars:
            yield self._object.getvalue()
        else:
            self.unreadable += 1
        self._object, self._chars = StringIO(), 0
