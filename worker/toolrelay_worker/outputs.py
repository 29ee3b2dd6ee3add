"""What tools return, as JSON that every reader of a result can hold.

The tool has done its work when this runs: an output that JSON cannot hold must become a result that says so, not an
exception that makes somebody run the tool again.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolrelay.errors import SchemaMismatchError

MAX_DEPTH = 128
"""Deepest nesting of an output. pydantic's JSON reader gives up at 200, where the output stands inside a result."""

_MAX_INT_BITS = 4096  # CPython refuses to write integers of more than 4300 digits


def to_json(value: Any) -> Any:
    """Turn a tool's output into JSON values: pydantic models, dataclasses, dates, ``Decimal``, sets, bytes …

    Sets come out sorted, bytes as URL-safe base64, dictionary keys as text. The value itself is left as it is.
    ``SchemaMismatchError`` names type and place of what JSON cannot hold: NaN, infinity, unknown objects, iterators.
    """
    return _to_json(value, "", 0)


def _to_json(value: Any, path: str, depth: int) -> Any:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return _text(value, path)
    if kind is int or kind is float:
        return _number(value, path)
    if depth >= MAX_DEPTH:
        raise _refuse(f"is nested more than {MAX_DEPTH} levels deep, or contains itself", path)
    if kind is dict:
        return _object(value, path, depth)
    if kind is list or kind is tuple:
        return [_to_json(item, f"{path}/{index}", depth + 1) for index, item in enumerate(value)]
    if kind is set or kind is frozenset:
        return sorted((_to_json(item, path, depth + 1) for item in value), key=_sort_key)
    return _foreign(value, path, depth)


def _text(value: str, path: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as exc:
            raise _refuse("is text with half a surrogate pair, which UTF-8 cannot hold", path) from exc
    return value


def _number(value: float, path: str) -> float:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _refuse(f"is {value!r}, a float that JSON has no word for", path)
    elif value.bit_length() > _MAX_INT_BITS:
        raise _refuse(f"is an integer of {value.bit_length()} bits", path)
    return value


def _object(value: dict[Any, Any], path: str, depth: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in value.items():
        name = key if type(key) is str else _key(key, path)
        if name in result:
            raise _refuse(f"has two keys that are both written {name!r} in JSON", path)
        result[_text(name, path)] = _to_json(item, f"{path}/{_escape(name)}", depth + 1)
    return result


def _key(key: Any, path: str) -> str:
    try:
        (name,) = to_jsonable_python({key: None})
    except PydanticSerializationError as exc:
        raise _refuse(f"has a key of type {type(key).__qualname__}, which JSON cannot hold", path) from exc
    return str(name)


def _foreign(value: Any, path: str, depth: int) -> Any:
    refusal = f"is of type {type(value).__qualname__}, which cannot be turned into JSON"
    if _is_plain_dataclass(value):
        return _object({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, path, depth)
    if isinstance(value, Iterator):  # pydantic would read it to its end, which may never come
        raise _refuse(f"{refusal}; return a list", path)
    try:
        plain = to_jsonable_python(value, bytes_mode="base64", by_alias=True)
    except (PydanticSerializationError, ValueError, RecursionError) as exc:
        raise _refuse(refusal, path) from exc
    return _to_json(plain, path, depth)  # once more: pydantic lets NaN and lone surrogates pass


def _is_plain_dataclass(value: Any) -> bool:
    is_instance = dataclasses.is_dataclass(value) and not isinstance(value, type)
    return is_instance and not hasattr(value, "__pydantic_serializer__")


def _sort_key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _refuse(what: str, path: str) -> SchemaMismatchError:
    where = f"the value at {path[:200]}" if path else "it"
    return SchemaMismatchError(f"the tool ran, but its output cannot be given back: {where} {what}")
