"""Events out of whatever a stream hands over: dicts, an SDK's objects, JSON text, server-sent events.

Text may be cut anywhere, also within a character; an event is read as soon as it is there. A line that is fed without
its end, as HTTP clients' line iterators give it, counts as whole if it reads as JSON. Text whose first line opens an
array or an object and does not close it is JSON laid out over lines.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from io import StringIO
from typing import Any, Final

from toolrelay.formats.arguments.strict_json import bounded_integer
from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.plain import as_dict
from toolrelay.formats.streams.json_text import JsonText

#: a line beyond this is no event of any provider
MAX_LINE_CHARS: Final = 64 * 1024 * 1024
#: enough of a line to tell what it is
_HEAD_CHARS: Final = 64
_DONE: Final = "[DONE]"
#: lines of server-sent events that carry no data
_FIELDS: Final = (":", "event:", "id:", "retry:")


class EventText:
    """The text of one stream, and the part of it that is no event yet."""

    def __init__(self, max_chars: int = MAX_LINE_CHARS) -> None:
        self.unreadable = 0
        """How many events were there that nobody could read: a piece of a call may have been in any of them."""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest: StringIO | None = None
        self._rest_chars = 0
        self._head = ""
        """How the unfinished line begins."""
        self._data: list[str] = []
        self._data_chars = 0
        self._max_chars = max_chars
        self._is_first_line = True
        self._json: JsonText | None = None
        """Reads all that comes, once the first line has shown that lines are not events."""

    def feed(self, text: str | bytes | bytearray) -> Iterator[Wire]:
        """Give the events that this text completes."""
        if not isinstance(text, str):
            text = self._decode(bytes(text))
        if self._json is not None:
            yield from self._laid_out(self._json, text)
            return
        if self._rest is None and not self._data and (whole := _parsed(text)) is not None:
            if self._is_first_line and "\n" in text.strip():
                self._json = JsonText(self._max_chars)  # one event, laid out over lines: so will be the next
            self._is_first_line = False
            yield from dicts_in(whole)
            return
        if self._rest is not None and text.startswith(("data:", "{")) and self._is_line(self._head):
            yield from self._line(self._with_rest(""))  # a line iterator took its end away
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for number, line in enumerate(lines[:-1]):
            whole_line = self._with_rest(line)
            if self._is_first_line and _is_laid_out(whole_line):
                self._json = JsonText(self._max_chars)
                yield from self._laid_out(self._json, "\n".join([whole_line, *lines[number + 1 :]]))
                return
            yield from self._line(whole_line)
        yield from self._keep(lines[-1], starts_line=len(lines) > 1 or self._rest is None)

    def close(self) -> Iterator[Wire]:
        """Give the event that an unfinished last line may be."""
        rest = self._with_rest("")
        if self._json is None and self._is_first_line and _is_laid_out(rest):
            self._json = JsonText(self._max_chars)
            yield from self._laid_out(self._json, rest)
        elif rest:
            yield from self._line(rest)
        yield from self._dispatch()
        self.unreadable += self._json is not None and self._json.is_open

    def _laid_out(self, json_text: JsonText, piece: str) -> Iterator[Wire]:
        for one in json_text.feed(piece):
            value = _parsed(one)
            if value is None:
                self.unreadable += 1
            else:
                yield from dicts_in(value)
        self.unreadable += json_text.unreadable
        json_text.unreadable = 0

    @staticmethod
    def _is_line(rest: str) -> bool:
        return rest.startswith(_FIELDS) or (rest.startswith("data:") and not rest[5:].lstrip().startswith(("{", "[{")))

    def _with_rest(self, line: str) -> str:
        if self._rest is None:
            return line
        self._rest.write(line)
        line = self._rest.getvalue()
        self._forget_rest()
        return line

    def _forget_rest(self) -> None:
        self._rest, self._rest_chars, self._head = None, 0, ""

    def _keep(self, piece: str, *, starts_line: bool) -> Iterator[Wire]:
        """Keep the beginning of a line, unless it reads as a whole event; no line is looked at twice."""
        if not piece:
            return
        if starts_line and not self._data and (whole := _parsed(_payload(piece))) is not None:
            self._is_first_line = False
            yield from dicts_in(whole)
            return
        self._rest = self._rest or StringIO()
        self._rest.write(piece)
        self._rest_chars += len(piece)
        if len(self._head) < _HEAD_CHARS:
            self._head += piece[:_HEAD_CHARS]
        if self._rest_chars > self._max_chars:
            self.unreadable += 1
            self._forget_rest()

    def _line(self, line: str) -> Iterator[Wire]:
        """Read one line: data, a blank one that ends an event, or a field or comment that says nothing about calls."""
        if not line.strip():
            yield from self._dispatch()
            return
        self._is_first_line = False
        if line.startswith("data:") or line.lstrip().startswith(("{", "[")):
            data = _payload(line)
            whole = None if self._data else _parsed(data)
            if whole is not None:
                yield from dicts_in(whole)
            elif data.strip() not in ("", _DONE):
                self._data.append(data)
                self._data_chars += len(data)
                if self._data_chars > self._max_chars:
                    self.unreadable += 1
                    self._data, self._data_chars = [], 0
        elif not line.startswith(_FIELDS):
            self.unreadable += 1

    def _dispatch(self) -> Iterator[Wire]:
        if not self._data:
            return
        value = _parsed("\n".join(self._data))
        self._data, self._data_chars = [], 0
        if value is None:
            self.unreadable += 1
        else:
            yield from dicts_in(value)


def _is_laid_out(line: str) -> bool:
    """Whether the first line of a text is only the beginning of its JSON."""
    begin = line.strip()
    return (begin == "{" or begin.startswith("[")) and begin != _DONE and _parsed(begin) is None


def dicts_in(value: Any) -> Iterator[Wire]:
    """Give an event, or the events of a list of some."""
    for item in value if isinstance(value, (list, tuple)) else (value,):
        event = as_dict(item)
        if event is not None:
            yield event


def _payload(line: str) -> str:
    return line.removeprefix("data:")


def _parsed(text: str) -> Any:
    """Read an event's JSON; ``None`` for what is none. An integer that no tool can take is refused with its call."""
    stripped = text.strip()
    if not stripped.endswith(("}", "]")) or not stripped.startswith(("{", "[")) or stripped == _DONE:
        return None
    try:
        return json.loads(stripped)
    except json.JSONDecodeError:
        return None
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(stripped, parse_int=bounded_integer)
    except (ValueError, RecursionError):
        return None
