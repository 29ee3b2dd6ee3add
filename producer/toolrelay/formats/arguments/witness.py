"""Checks that a proposed reading of broken JSON invents and drops nothing.

The text is read again, guided by the value that it is said to hold: brackets and colons must stand where the value has
them, every text, number and literal must be spelled there, in this order. Free are only the kind of quotes, escapes,
raw control characters, Python's literals, unquoted keys and the commas.
"""

from __future__ import annotations

import re
from typing import Any, Final

_TOKEN: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
_BARE_KEY: Final = re.compile(r"[A-Za-z_$][\w$-]*")
_SPACE: Final = re.compile(r"\s*")
_LITERALS: Final = {True: ("true", "True"), False: ("false", "False"), None: ("null", "None")}
_QUOTES: Final = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019"}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_MARKS: Final = frozenset(",:{}[]") | frozenset(_QUOTES) | frozenset(_QUOTES.values())
_HEX: Final = re.compile(r"[0-9a-fA-F]{4}")


class Mismatch(ValueError):
    """The text does not spell the value."""


def end_of(text: str, value: Any) -> int:
    """Give the position behind the text's spelling of ``value``; raises ``Mismatch`` if it does not spell it."""
    return _Witness(text).value(value, 0)


class _Witness:
    def __init__(self, text: str) -> None:
        self._text = text

    def value(self, value: Any, at: int) -> int:
        at = self._skip(at)
        if isinstance(value, dict):
            return self._object(value, at)
        if isinstance(value, list):
            return self._array(value, at)
        if isinstance(value, str):
            return self._quoted(value, at)
        if value is None or isinstance(value, bool):
            return self._literal(value, at)
        return self._number(value, at)

    def _object(self, members: dict[str, Any], at: int) -> int:
        at = self._char("{", at)
        for key, value in members.items():
            at = self._char(":", self._key(key, self._comma(at)))
            at = self.value(value, at)
        return self._char("}", self._comma(at))

    def _array(self, values: list[Any], at: int) -> int:
        at = self._char("[", at)
        for value in values:
            at = self.value(value, self._comma(at))
        return self._char("]", self._comma(at))

    def _key(self, key: str, at: int) -> int:
        if self._text[at : at + 1] in _QUOTES:
            if not _QUOTES.keys().isdisjoint(key):
                raise Mismatch  # where a key ends must not be a guess
            return self._quoted(key, at)
        bare = _BARE_KEY.match(self._text, at)
        if bare is None or bare[0] != key:
            raise Mismatch
        return bare.end()

    def _quoted(self, value: str, at: int) -> int:
        closing = _QUOTES.get(self._text[at : at + 1])
        if closing is None:
            raise Mismatch
        at += 1
        spelled = inner = 0
        while spelled < len(value):
            if self._text.startswith(closing, at):
                self._check_inner(at, is_opening=inner % 2 == 0)
                inner += 1
            piece, length = self._piece(at)
            if not value.startswith(piece, spelled):
                raise Mismatch
            spelled += len(piece)
            at += length
        if inner % 2:
            raise Mismatch
        return self._char(closing, at, skip=False)

    def _check_inner(self, at: int, *, is_opening: bool) -> None:
        """Let a quote inside of a text pass as one that lacks its backslash: around a word, never beside JSON's marks.

        A quote beside those ends a text, and behind it something is missing: a piece of a stream that was lost. So does
        one that opens where a word ends: ``"one" + "two"`` are two texts.
        """
        before, behind = self._text[:at].rstrip()[-1:], self._text[at + 1 :].lstrip()[:1]
        outside, inside = self._text[at - 1 : at], self._text[at + 1 : at + 2]
        if not is_opening:
            outside, inside = inside, outside
        if before in _MARKS or behind in _MARKS or outside.isalnum() or inside.isspace():
            raise Mismatch

    def _piece(self, at: int) -> tuple[str, int]:
        """Read what the next character or escape stands for, and its length."""
        char = self._text[at : at + 1]
        if char != "\\":
            if not char:
                raise Mismatch
            return char, 1
        escaped = self._text[at + 1 : at + 2]
        if escaped in _ESCAPES:
            return _ESCAPES[escaped], 2
        if escaped == "u":
            return self._code_unit(at)
        return char, 1  # a backslash before anything else stands for itself

    def _code_unit(self, at: int) -> tuple[str, int]:
        unit = _HEX.match(self._text, at + 2)
        if unit is None:
            raise Mismatch
        low = _HEX.match(self._text, at + 8) if self._text.startswith("\\u", at + 6) else None
        if low is not None and 0xD800 <= int(unit[0], 16) < 0xDC00 <= int(low[0], 16) < 0xE000:
            pair = bytes.fromhex(unit[0] + low[0])
            return pair.decode("utf-16-be"), 12
        return chr(int(unit[0], 16)), 6

    def _literal(self, value: bool | None, at: int) -> int:
        for spelling in _LITERALS[value]:
            end = at + len(spelling)
            if self._text.startswith(spelling, at) and not self._text[end : end + 1].isalnum():
                return end
        raise Mismatch

    def _number(self, value: float, at: int) -> int:
        token = _TOKEN.match(self._text, at)
        if token is None or not token[0]:
            raise Mismatch
        spelled = int(token[0]) if token[0].lstrip("-").isdigit() else float(token[0])
        if spelled != value or type(spelled) is not type(value):
            raise Mismatch
        return token.end()

    def _comma(self, at: int) -> int:
        at = self._skip(at)
        return self._skip(at + 1) if self._text.startswith(",", at) else at

    def _char(self, char: str, at: int, *, skip: bool = True) -> int:
        if skip:
            at = self._skip(at)
        if not self._text.startswith(char, at):
            raise Mismatch
        return at + 1

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at
