"""What tools return, as JSON: one way through a value, and two opinions of what to do where JSON has no word for it.

``strict_json`` refuses with type and place: a worker can still tell the tool's author. ``lenient_json`` writes the
nearest thing, or describes it: whoever formats a result has nobody left to tell.

Where several spellings are known, these are taken, for both alike:

- Bytes are text where they are UTF-8, for a model reads it and programs and web pages answer in it (pydantic's models
  do the same); else base64 in the standard alphabet, which is what every wire's pictures and every language's decoder
  want, and not pydantic's URL-safe one.
- Keys are text: ``None``, ``True`` and ``7`` as JSON spells them, and everything else as it would stand in a list.
- Sets are lists, sorted where their members can be compared, else by their JSON.
- Pydantic's models and dataclasses are written by their own serializers and aliases; where such a serializer gives up
  (bytes that are no UTF-8, a member that pydantic does not know), their members are gone through like any others.
- Plain dataclasses are objects of their fields, enums their values, dates and durations ISO 8601, decimals text.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView, Sequence, Set
from enum import Enum
from itertools import islice
from typing import Any, Final, Protocol

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolrelay.errors import SchemaMismatchError
from toolrelay.formats.arguments.strict_json import MAX_INTEGER_BITS, MAX_NESTING, Way, pointer
from toolrelay.formats.shared.text import is_well_formed, well_formed

MAX_DEPTH: Final = MAX_NESTING
"""Deepest nesting of an output. pydantic's JSON reader gives up at 200, where the output stands inside a result."""
MAX_VALUES: Final = 1_000_000
"""Most values of one output. One list that stands in many places is written many times: thirty lines of Python build an
output that no memory holds."""

_MAX_ITERATED: Final = 10_000
_LEFT_OUT: Final = "…"


def strict_json(value: Any) -> Any:
    """Turn a tool's output into JSON values; the value itself is left as it is.

    Raises ``SchemaMismatchError``, which names type and place of what JSON cannot hold: NaN, infinity, half a surrogate
    pair, unknown objects, iterators, what contains itself, is too deep or too large, and keys that become one.
    """
    return _Walk(_Strict()).value(value, None, 0)


def lenient_json(value: Any) -> Any:
    """Give the nearest thing to ``value`` that JSON can hold; never raises, and gives JSON back as it is.

    Numbers that JSON does not know are text, half a surrogate pair is U+FFFD, unknown objects are what they say of
    themselves or ``<Type>``, what contains itself or is too much ends in ``…``. An iterator is read, up to 10,000
    items: whoever looks at the value again finds it empty.
    """
    return _Walk(_Lenient()).value(value, None, 0)


def lenient_text(value: Any) -> str:
    """Write any value as text; text stays as it is, ``None`` is ``null``."""
    plain = lenient_json(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def as_base64(value: Any) -> str:
    """Write the bytes that stand in a message of Bedrock's, for ``json.dumps(messages, default=as_base64)``.

    The service's own JSON has base64 there, and ``read_results`` takes either. ``TypeError`` for everything else.
    """
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"a message holds JSON and bytes, not a value of type {type(value).__name__}")


class _Policy(Protocol):
    """What to do about a value that JSON cannot hold."""

    def unfit(self, what: str, way: Way, instead: Callable[[], Any]) -> Any:
        """Say so, or give something ``instead`` of it."""

    def read(self, values: Iterator[Any], way: Way) -> list[Any]:
        """Read an iterator to its end, which may never come, or refuse to."""


class _Refused(SchemaMismatchError):
    """Told apart from what a tool's own classes may raise while they are read."""


class _Strict:
    def unfit(self, what: str, way: Way, instead: Callable[[], Any]) -> Any:  # noqa: ARG002 # there is no instead
        place = pointer(way)
        where = f"the value at {place[:200]}" if place else "it"
        raise _Refused(f"the tool ran, but its output cannot be given back: {where} {what}")

    def read(self, values: Iterator[Any], way: Way) -> list[Any]:
        refused: list[Any] = self.unfit(f"{_no_json(values)}; return a list", way, list)
        return refused


class _Lenient:
    def unfit(self, what: str, way: Way, instead: Callable[[], Any]) -> Any:  # noqa: ARG002 # nobody is told
        return instead()

    def read(self, values: Iterator[Any], way: Way) -> list[Any]:  # noqa: ARG002 # nobody is told
        read = list(islice(values, _MAX_ITERATED + 1))
        return read if len(read) <= _MAX_ITERATED else [*read[:_MAX_ITERATED], _LEFT_OUT]


class _Walk:
    """One way through one value."""

    __slots__ = ("_left", "_open", "_policy")

    def __init__(self, policy: _Policy) -> None:
        self._policy = policy
        self._open: set[int] = set()  # what is being written: to meet it again is to go round in a circle
        self._left = MAX_VALUES

    def value(self, value: Any, way: Way, depth: int) -> Any:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return self.text(value, way)
        if kind is int or kind is float:
            return self.number(value, way)
        identity = id(value)
        if identity in self._open:
            return self._policy.unfit("contains itself", way, lambda: _LEFT_OUT)
        if depth >= MAX_DEPTH:
            return self._policy.unfit(f"is nested more than {MAX_DEPTH} levels deep", way, lambda: _LEFT_OUT)
        self._open.add(identity)
        try:
            if kind is dict:
                return self._object(value.items(), way, depth)
            if kind is list or kind is tuple:
                return self.items(value, way, depth)
            return self._foreign(value, way, depth)
        finally:
            self._open.discard(identity)

    def text(self, value: str, way: Way) -> Any:
        if is_well_formed(value):
            return value
        what = "is text with half a surrogate pair, which UTF-8 cannot hold"
        return self._policy.unfit(what, way, lambda: well_formed(value))

    def number(self, value: float, way: Way) -> Any:
        if isinstance(value, int):
            if value.bit_length() <= MAX_INTEGER_BITS:
                return value
            return self._policy.unfit(f"is an integer of {value.bit_length()} bits", way, lambda: hex(value))
        if value - value == 0:
            return value
        return self._policy.unfit(f"is {value!r}, a float that JSON has no word for", way, lambda: str(value))

    def items(self, values: Iterable[Any], way: Way, depth: int) -> Any:
        items = list(islice(values, self._left + 1))  # a class of the tool's may never come to an end
        if not self._has_room(len(items)):
            return self._too_many(way)
        return [self.value(item, (way, index), depth + 1) for index, item in enumerate(items)]

    def _object(self, pairs: Iterable[tuple[Any, Any]], way: Way, depth: int) -> Any:
        members = list(islice(pairs, self._left + 1))
        if not self._has_room(len(members)):
            return self._too_many(way)
        result: dict[str, Any] = {}
        for key, item in members:
            name = self.text(key, way) if type(key) is str else self._key(key, way, depth)
            if name in result:  # whoever is lenient keeps the last one, as readers of JSON do
                self._policy.unfit(f"has two keys that are both written {name!r} in JSON", way, str)
            result[name] = self.value(item, (way, name), depth + 1)
        return result

    def _has_room(self, count: int) -> bool:
        self._left = max(0, self._left - count - 1)
        return self._left > 0

    def _too_many(self, way: Way) -> Any:
        return self._policy.unfit(f"brings the output to more than {MAX_VALUES} values", way, lambda: _LEFT_OUT)

    def _key(self, key: Any, way: Way, depth: int) -> str:
        try:
            plain = self.value(key, way, depth + 1)
        except _Refused:
            what = f"has a key of type {type(key).__qualname__}, which JSON cannot hold"
            plain = self._policy.unfit(what, way, str)
        return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)

    def _foreign(self, value: Any, way: Way, depth: int) -> Any:
        try:
            for kinds, read in _READERS:
                if isinstance(value, kinds):
                    return read(self, value, way, depth)
            return self._other(value, way, depth)
        except _Refused:
            raise
        except Exception as exc:  # noqa: BLE001 - the tool's own classes run here
            what = f"{_no_json(value)}: it raised {type(exc).__name__} when it was read"
            return self._policy.unfit(what, way, lambda: _name_of(value))

    def enum(self, value: Enum, way: Way, depth: int) -> Any:
        return self.value(value.value, way, depth)

    def mapping(self, value: Mapping[Any, Any], way: Way, depth: int) -> Any:
        return self._object(value.items(), way, depth)

    def iterator(self, value: Iterator[Any], way: Way, depth: int) -> Any:
        return self.items(self._policy.read(value, way), way, depth)

    def unordered(self, value: Set[Any], way: Way, depth: int) -> Any:
        items = self.items(value, way, depth)
        return _sorted(items) if isinstance(items, list) else items

    def _other(self, value: Any, way: Way, depth: int) -> Any:
        serializer = getattr(type(value), "__pydantic_serializer__", None)
        if serializer is not None:
            return self._of_pydantic(serializer, value, way, depth)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
            return self._object(fields, way, depth)
        try:
            plain = to_jsonable_python(value)  # dates, decimals, UUIDs, paths, URLs …
        except (PydanticSerializationError, ValueError):
            return self._policy.unfit(_no_json(value), way, lambda: _described(value))
        return self.value(plain, way, depth + 1)

    def _of_pydantic(self, serializer: Any, value: Any, way: Way, depth: int) -> Any:
        if not self._is_bounded(value):  # the serializer would go through all of it before we see any
            return self._too_many(way)
        try:
            plain = serializer.to_python(value, mode="json", by_alias=True, warnings=False)
        except (PydanticSerializationError, ValueError):
            plain = serializer.to_python(value, by_alias=True, warnings=False)
        return self.value(plain, way, depth + 1)  # once more: pydantic lets NaN and lone surrogates pass

    def _is_bounded(self, value: Any) -> bool:
        left, waiting = self._left, [value]
        while waiting and left > 0:
            inside = _members(waiting.pop())
            left -= len(inside) + 1
            waiting += inside
        return left > 0


#: how to read what is none of Python's plain values; the first row that fits decides
_READERS: Final[tuple[tuple[Any, Callable[[_Walk, Any, Way, int], Any]], ...]] = (
    (Enum, _Walk.enum),
    (str, lambda walk, value, way, _: walk.text(str.__str__(value), way)),
    (int, lambda walk, value, way, _: walk.number(int(value), way)),
    (float, lambda walk, value, way, _: walk.number(float(value), way)),
    ((bytes, bytearray, memoryview), lambda *given: _bytes(bytes(given[1]))),
    (Mapping, _Walk.mapping),
    (Iterator, _Walk.iterator),
    ((Sequence, MappingView), _Walk.items),
    (Set, _Walk.unordered),
)


def _members(value: Any) -> list[Any]:
    if isinstance(value, (str, bytes, int, float)):
        return []
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return list(value)
    return list(getattr(value, "__dict__", {}).values()) if hasattr(value, "__pydantic_serializer__") else []


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def _sorted(items: list[Any]) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def _no_json(value: Any) -> str:
    return f"is of type {type(value).__qualname__}, which cannot be turned into JSON"


def _described(value: Any) -> str:
    """Give what an object says of itself, unless that is where it lies in memory."""
    text = str(value)
    return _name_of(value) if not text or " at 0x" in text else well_formed(text)


def _name_of(value: Any) -> str:
    return f"<{type(value).__name__}>"
