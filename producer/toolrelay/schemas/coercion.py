"""Arguments of the wrong JSON type that say the right thing: ``"5"`` where an integer is asked, a list written as text.

The validator leads: it names the place and the type it wanted, and only there, and only where nothing is lost, a value
is written anew. So a text parameter that holds JSON stays text, and ``$ref``, ``anyOf`` and conditions need no second
reading of the schema. https://json-schema.org/draft/2020-12/json-schema-validation#name-type

A null that the schema does not take, in a place that may be left out, is left out: a strict form of the schema makes
models write every property, and null is its word for "none". Models do so without being asked, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any, Final, NamedTuple

from jsonschema_rs import ValidationError, ValidationErrorKind, Validator

from toolrelay.models import Repair

Path = tuple[str | int, ...]

_MAX_ROUNDS: Final = 8  # a list written as text may hold integers written as text; each layer takes a round
_MAX_CHOICES: Final = 32  # places whose type is one of several, tried one by one in each round
_MAX_ERRORS: Final = 10_000
_NOTHING: Final = object()
_LEFT_OUT: Final = object()

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_MAX_DIGITS: Final = 4000  # CPython refuses to read integers of more than 4300


class Coerced(NamedTuple):
    """A value that fits better, the changes that were made, and what the validator still finds wrong."""

    value: Any
    repairs: tuple[Repair, ...]
    errors: list[ValidationError]


class _Edit(NamedTuple):
    path: Path
    value: Any
    detail: str
    kind: str = "coerced"


def coerce(validator: Validator, value: Any) -> Coerced:
    """Make every coercion that loses nothing. The value itself is left as it is; what changes is copied."""
    edits: dict[Path, _Edit] = {}
    errors = errors_of(validator, value)
    for _ in range(_MAX_ROUNDS):
        made = _plain_edits(value, errors)
        changed = _apply(value, made)
        if made:
            errors = errors_of(validator, changed)
            needed = _missed(made, errors)
            if needed:
                made = [edit for edit in made if edit.path not in needed]
                changed = _apply(value, made)
                errors = errors_of(validator, changed)
        for choice in [error for error in errors if _branches(error)][:_MAX_CHOICES]:
            for edit_group in _branch_edits(changed, choice):
                attempt = _apply(changed, edit_group)
                remaining = errors_of(validator, attempt)
                if not any(_is_same(choice, other) for other in remaining) and not _missed(edit_group, remaining):
                    made, changed, errors = [*made, *edit_group], attempt, remaining
                    break
        if not made:
            break
        value = changed
        edits |= {edit.path: edit for edit in made}
    return _with_whole_floats(validator, value, edits, errors)


def errors_of(validator: Validator, value: Any) -> list[ValidationError]:
    """List what the validator finds wrong, up to a number that nobody reads."""
    return list(islice(validator.iter_errors(value), _MAX_ERRORS))


def pointer(path: Iterable[str | int]) -> str:
    """Write a path as a JSON pointer (RFC 6901); ``""`` is the whole value."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def _with_whole_floats(
    validator: Validator, value: Any, edits: dict[Path, _Edit], errors: list[ValidationError]
) -> Coerced:
    """Write ``3.0`` as ``3`` where an integer is asked. JSON Schema calls 3.0 an integer, Python's tools do not.

    Nothing complains about it, so the places are found with a probe: a copy that has 0.5 for each such float.
    """
    paths = [path for path, leaf in _leaves(value, ()) if isinstance(leaf, float) and leaf.is_integer()]
    if paths:
        probe = _apply(value, [_Edit(path, 0.5, "") for path in paths])
        integral = {path for error in errors_of(validator, probe) for path in _integer_paths(error)}
        found = [_Edit(path, int(_at(value, path)), "number → integer") for path in paths if path in integral]
        if found:
            value = _apply(value, found)
            edits |= {edit.path: edit for edit in found}
            errors = errors_of(validator, value)
    repairs = tuple(Repair(kind=edit.kind, path=pointer(edit.path), detail=edit.detail) for edit in edits.values())
    return Coerced(value, repairs, errors)


def _integer_paths(error: ValidationError) -> Iterator[Path]:
    kind = error.kind
    if isinstance(kind, ValidationErrorKind.Type) and "integer" in kind.types and "number" not in kind.types:
        yield tuple(error.instance_path)
    for branch in _branches(error):
        for inner in branch:
            yield from _integer_paths(inner)


def _plain_edits(value: Any, errors: list[ValidationError]) -> list[_Edit]:
    edits: dict[Path, _Edit] = {}
    for error in errors:
        edit = _edit(value, error)
        if edit is not None:
            edits.setdefault(edit.path, edit)
    return list(edits.values())


def _branch_edits(value: Any, error: ValidationError) -> Iterator[list[_Edit]]:
    for branch in _branches(error):
        edits = [_edit(value, inner) for inner in branch]
        found = [edit for edit in edits if edit is not None]
        if found:
            yield found


def _branches(error: ValidationError) -> list[list[ValidationError]]:
    if isinstance(error.kind, ValidationErrorKind.AnyOf | ValidationErrorKind.OneOfNotValid):
        return error.kind.context
    return []


def _is_same(error: ValidationError, other: ValidationError) -> bool:
    return error.instance_path == other.instance_path and error.schema_path == other.schema_path


def _missed(edits: list[_Edit], errors: list[ValidationError]) -> set[Path]:
    """Find what was left out and must not be: the model then hears of its null, not of something missing."""
    required = {
        (*error.instance_path, error.kind.property)
        for error in errors
        if isinstance(error.kind, ValidationErrorKind.Required)
    }
    return {edit.path for edit in edits if edit.value is _LEFT_OUT and edit.path in required}


def _edit(value: Any, error: ValidationError) -> _Edit | None:
    path = tuple(error.instance_path)
    text = _at(value, path)
    if text is None and path and isinstance(path[-1], str):
        return _Edit(path, _LEFT_OUT, "null → left out", kind="left_out")
    if not isinstance(error.kind, ValidationErrorKind.Type):
        return None
    if not isinstance(text, str):
        return None
    for wanted in error.kind.types:
        read = _READERS.get(wanted)
        coerced = read(text) if read is not None else _NOTHING
        if coerced is not _NOTHING:
            return _Edit(path, coerced, f"string → {wanted}")
    return None


def _read_integer(text: str) -> Any:
    return int(text) if len(text) <= _MAX_DIGITS and _INTEGER.fullmatch(text) else _NOTHING


def _read_number(text: str) -> Any:
    if len(text) > _MAX_DIGITS or not _NUMBER.fullmatch(text):
        return _NOTHING
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text)
    return number if Decimal(repr(number)) == Decimal(text) else _NOTHING


def _read_boolean(text: str) -> Any:
    return {"true": True, "false": False}.get(text, _NOTHING)


def _read_container(kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return _NOTHING
        return value if isinstance(value, kind) else _NOTHING

    return read


_READERS: Mapping[str, Callable[[str], Any]] = {
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "object": _read_container(dict),
    "array": _read_container(list),
}


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is there twice")
    return result


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    else:
        yield path, value


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _apply(value: Any, edits: Iterable[_Edit]) -> Any:
    """Give a copy with other values at some places; containers off the way to them are shared."""
    copies: set[int] = set()
    holder = [value]
    for edit in edits:
        parent: Any = holder
        key: str | int = 0
        for part in edit.path:
            child = parent[key]
            if id(child) not in copies:
                child = parent[key] = child.copy()
                copies.add(id(child))
            parent, key = child, part
        if edit.value is _LEFT_OUT:
            del parent[key]
        else:
            parent[key] = edit.value
    return holder[0]
