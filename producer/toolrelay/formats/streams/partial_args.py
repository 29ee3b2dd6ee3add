"""Arguments that come as values for JSON paths: what Vertex calls ``partialArgs``.

Paths are the plain ones of RFC 9535: ``$.parcels[0].sku``, ``$['odd name']``. Text may come in several pieces.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

from toolrelay.formats.arguments.strict_json import MAX_NESTING
from toolrelay.formats.protocol import Wire, pick
from toolrelay.formats.shared.plain import as_dict
from toolrelay.formats.shared.text import size_in_bytes

_STEP: Final = re.compile(r"""\.([^.\[\]'"]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_ESCAPED: Final = re.compile(r"\\u([0-9a-fA-F]{4})|\\(.)")
#: https://www.rfc-editor.org/rfc/rfc9535#name-name-selector
_ESCAPES: Final = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r"} | {char: char for char in "/\\'\""}

Step = int | str


class PathFault(ValueError):
    """A value that has no place in what came before: something is missing, or the path is none."""


class _Text:
    """Text that is still being written, and where it belongs."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.is_open = True
        self.holder: Any = None
        self.key: Step = ""


class PartialArgs:
    """An object that is filled value by value."""

    def __init__(self) -> None:
        self.size_in_bytes = 0
        """What the object costs so far, paths included."""
        self._root: dict[Any, Any] = {}
        self._texts: dict[tuple[Step, ...], _Text] = {}

    def add(self, partial: Wire) -> None:
        """Put one value in its place; raises ``PathFault``."""
        path = pick(partial, "jsonPath", "json_path")
        if not isinstance(path, str):
            raise PathFault("a value came without its path")
        self.size_in_bytes += size_in_bytes(path) + 16
        steps = _steps(path)
        goes_on = bool(pick(partial, "willContinue", "will_continue"))
        text = pick(partial, "stringValue", "string_value")
        if isinstance(text, str):
            self._add_text(steps, text, goes_on=goes_on)
        elif pick(partial, "nullValue", "null_value") is not None:
            self._set(steps, None)
        else:
            value = pick(partial, "numberValue", "number_value", "boolValue", "bool_value")
            if isinstance(value, (bool, int, float)):
                self._set(steps, value)
            elif steps in self._texts:
                self._texts[steps].is_open = goes_on
            elif not goes_on:
                raise PathFault(f"no value came for {path[:80]!r}")

    @property
    def is_open(self) -> bool:
        """Whether a text is not yet at its end."""
        return any(text.is_open for text in self._texts.values())

    def finish(self) -> dict[Any, Any]:
        """Give the object; nothing may be added afterwards."""
        for text in self._texts.values():
            text.holder[text.key] = "".join(text.pieces)
        return self._root

    def _add_text(self, steps: tuple[Step, ...], piece: str, *, goes_on: bool) -> None:
        text = self._texts.get(steps)
        if text is None:
            text = _Text()
            text.holder, text.key = self._set(steps, ""), steps[-1]
            self._texts[steps] = text
        elif not text.is_open:
            if "".join(text.pieces) != piece:
                raise PathFault(f"the text at {steps[-1]!r} went on after its end")
            return  # it came twice
        text.pieces.append(piece)
        text.is_open = goes_on
        self.size_in_bytes += size_in_bytes(piece)

    def _set(self, steps: tuple[Step, ...], value: Any) -> Any:
        self._texts.pop(steps, None)
        holder = self._holder(steps)
        if isinstance(holder, list) and steps[-1] == len(holder):
            holder.append(value)
        else:
            holder[steps[-1]] = value
        return holder

    def _holder(self, steps: tuple[Step, ...]) -> Any:
        """Give the object or array that the last step leads into, made where it is missing."""
        here: Any = self._root
        for step, after in pairwise(steps):
            _check(here, step)
            is_missing = step == len(here) if isinstance(here, list) else step not in here
            if is_missing:
                inside: Any = [] if isinstance(after, int) else {}
                if isinstance(here, list):
                    here.append(inside)
                else:
                    here[step] = inside
            here = here[step]
        _check(here, steps[-1])
        return here


def _check(holder: Any, step: Step) -> None:
    if isinstance(step, int):
        if not isinstance(holder, list):
            raise PathFault(f"[{step}] is an index into something that is not an array")
        if step > len(holder):
            raise PathFault(f"the value before [{step}] is missing")
    elif not isinstance(holder, dict):
        raise PathFault(f"{step[:80]!r} is a key of something that is not an object")


def _steps(path: str) -> tuple[Step, ...]:
    if not path.startswith("$"):
        raise PathFault(f"{path[:80]!r} is not a path")
    steps: list[Step] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None or len(steps) >= MAX_NESTING:
            raise PathFault(f"{path[:80]!r} is not a path, or too long a one")
        name, index, single, double = found.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(name if name is not None else _unquoted(single if single is not None else double))
        at = found.end()
    if not steps:
        raise PathFault("a value came for the whole of the arguments")
    return tuple(steps)


def _unquoted(name: str) -> str:
    """Read the escapes of a quoted name."""
    text = _ESCAPED.sub(_meant, name)
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")  # two escapes may be one character
    except UnicodeDecodeError:
        raise PathFault(f"{name[:80]!r} is no name: it holds half of a surrogate pair") from None


def _meant(escape: re.Match[str]) -> str:
    digits, char = escape.groups()
    if digits is not None:
        return chr(int(digits, 16))
    if char not in _ESCAPES:
        raise PathFault(f"{escape[0]!r} is no escape of a path")
    return _ESCAPES[char]


def partials_of(call: Wire) -> list[Wire]:
    """Give the ``partialArgs`` of a ``functionCall``."""
    found = pick(call, "partialArgs", "partial_args")
    return [partial for item in (found if isinstance(found, (list, tuple)) else ()) if (partial := as_dict(item))]
