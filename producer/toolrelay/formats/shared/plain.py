"""Plain Python out of whatever holds a message: an SDK's object or a mapping.

No SDK is imported: its objects are read through ``model_dump``, ``to_dict`` or their attributes. Nothing here changes
what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolrelay.formats.arguments.strict_json import (
    MAX_INTEGER_BITS,
    MAX_INTEGER_DIGITS,
    MAX_NESTING,
    JsonFault,
    Way,
    pointer,
    too_deep,
)
from toolrelay.formats.shared.text import is_well_formed
from toolrelay.models import ProblemKind

#: what an SDK's own code raises where it cannot give its object's members
_BROKEN: Final = (TypeError, ValueError, AttributeError, LookupError, RuntimeError)
_NO_OBJECTS: Final = (str, bytes, bytearray, int, float, list, tuple, set, frozenset)


def as_dict(value: Any) -> dict[str, Any] | None:
    """Give the members of a dict, a mapping or an SDK's object; ``None`` for everything else, and for a broken one.

    Goes one level deep: what is inside may be objects again.
    """
    if isinstance(value, dict):
        return value
    if value is None or isinstance(value, _NO_OBJECTS) or callable(value):
        return None
    try:
        return _members(value)
    except _BROKEN:
        return None


def _members(value: Any) -> dict[str, Any] | None:
    if isinstance(value, Mapping):
        return dict(value)
    for name in ("model_dump", "to_dict"):
        dump = getattr(value, name, None)
        if callable(dump):
            return _dumped(dump)
    return _attributes(value)


def _dumped(dump: Any) -> dict[str, Any] | None:
    try:
        # the wire's own spelling ("async", not "async_"); a value that the SDK did not expect is no news to us
        members = dump(by_alias=True, warnings=False)
    except TypeError:
        members = dump()
    return members if isinstance(members, dict) else None


def _attributes(value: Any) -> dict[str, Any] | None:
    members = getattr(value, "__dict__", None)
    if isinstance(members, dict):
        return members
    slots: list[str] = []
    for kind in type(value).__mro__:
        declared = getattr(kind, "__slots__", ())
        slots.extend((declared,) if isinstance(declared, str) else declared)
    return {slot: getattr(value, slot) for slot in slots if hasattr(value, slot)} or None


def as_list(value: Any) -> list[Any]:
    """Give the members of a list or tuple; an empty list for everything else."""
    if isinstance(value, list):
        return value
    return list(value) if isinstance(value, tuple) else []


def json_copy(value: Any, way: Way = None, depth: int = 0) -> Any:
    """Copy a value, checking that JSON can hold it; raises ``JsonFault`` where it cannot.

    A copy, so that a tool which changes its arguments does not change the caller's message.
    """
    if isinstance(value, str):
        if is_well_formed(value):
            return value
        raise _fault(way, "the text", "holds half of a surrogate pair")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        return _number(value, way)
    if depth >= MAX_NESTING:
        raise too_deep()
    if isinstance(value, (list, tuple)):
        return [json_copy(inner, (way, index), depth + 1) for index, inner in enumerate(value)]
    members = as_dict(value)
    if members is None:
        raise _fault(way, "the value", f"is of type {type(value).__name__}, which JSON cannot hold")
    return {_key(key, way): json_copy(inner, (way, key), depth + 1) for key, inner in members.items()}


def _number(value: float, way: Way) -> float:
    if isinstance(value, int):
        if value.bit_length() > MAX_INTEGER_BITS:
            raise _fault(way, "the integer", f"has more than {MAX_INTEGER_DIGITS} digits")
    elif value - value != 0:
        raise _fault(way, f"{value}", "is not a JSON number")
    return value


def _key(key: Any, way: Way) -> str:
    if isinstance(key, str) and is_well_formed(key):
        return key
    raise _fault(way, "a key of the object", "is not text that JSON can hold")


def _fault(way: Way, what: str, why: str) -> JsonFault:
    return JsonFault(ProblemKind.INVALID_JSON, f"{what} at {pointer(way) or '/'} {why}")
