"""Arguments of the wrong JSON type that say the right thing: ``"5"`` where an integer is asked, a list written as text.

The validator leads: it names the place and the type it wanted, and only there, and only where nothing is lost, a value
is written anew. So a text parameter that holds JSON stays text, and ``$ref``, ``anyOf`` and conditions need no second
reading of the schema. https://json-schema.org/draft/2020-12/json-schema-validation#name-type

A null that the schema does not take, in a place that may be left out, is left out: a strict form of the schema makes
models write every property, and null is its word for "none". Models do so without being asked, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice
from typing import Any, Final, NamedTuple

from jsonschema_rs import ValidationError, ValidationErrorKind, Validator

from toolrelay.formats.arguments.strict_json import decode_whole, is_plain
from toolrelay.models import Repair

Path = tuple[str | int, ...]

_MAX_ROUNDS: Final = 8  # a list written as text may hold integers written as text; each layer takes a round
_MAX_ATTEMPTS: Final = 100  # each validates the whole; an alternative takes one for all the places where it may fit
_MAX_ERRORS: Final = 10_000
_NOTHING: Final = object()
_LEFT_OUT: Final = object()

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_MAX_DIGITS: Final = 4000  # CPython refuses to read integers of more than 4300


#: what stays wrong unless the value itself is written anew
_STAYS: Final = (
    *(ValidationErrorKind.Type, ValidationErrorKind.Constant, ValidationErrorKind.Enum),
    *(ValidationErrorKind.Required, ValidationErrorKind.FalseSchema),
)


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


#: asks what is wrong once these edits are made, and ends with those that are to stay
_Search = Generator[list[_Edit], list[ValidationError], list[_Edit]]
#: the same for one place with alternatives; ``None`` says that one of them fits now
_Choice = Generator[list[_Edit], ValidationError | None, None]


def coerce(validator: Validator, value: Any) -> Coerced:
    """Make every coercion that loses nothing. The value itself is left as it is; what changes is copied."""
    errors = errors_of(validator, value)
    search = _search(errors)
    changed, edits = value, []
    try:
        wanted = next(search)
        for _ in range(_MAX_ATTEMPTS):
            wanted = search.send(errors_of(validator, _apply(value, wanted)))
    except StopIteration as end:
        edits = end.value
    if edits:
        changed = _apply(value, edits)
        errors = errors_of(validator, changed)
    return _with_whole_floats(validator, changed, {edit.path: edit for edit in edits}, errors)


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
    for branch in alternatives_of(error):
        for inner in branch:
            yield from _integer_paths(inner)


def _search(errors: list[ValidationError]) -> _Search:
    """Look for the edits after which the fewest of these errors are left; they are all of a value, or of a branch."""
    made: list[_Edit] = []
    for _ in range(_MAX_ROUNDS):
        plain = _plain_edits(errors)
        if plain:
            errors = yield [*made, *plain]
            missed = _missed(plain, errors)
            if missed:
                plain = [edit for edit in plain if edit.path not in missed]
                errors = yield [*made, *plain]
        chosen = yield from _chosen([*made, *plain], errors)
        if chosen:
            errors = yield [*made, *plain, *chosen]
        if not plain and not chosen:
            break
        made += [*plain, *chosen]
    return made


def _chosen(made: list[_Edit], errors: list[ValidationError]) -> _Search:
    """Find edits that let an alternative fit, at every place with alternatives: one attempt asks about all places."""
    chosen: list[_Edit] = []
    choices = {_key(error): _choice(error) for error in errors if alternatives_of(error)}
    wanted = {key: edits for key, choice in choices.items() if (edits := next(choice, None)) is not None}
    while wanted:
        errors = yield [*made, *chosen, *(edit for edits in wanted.values() for edit in edits)]
        left = {_key(error): error for error in errors}
        again: dict[Any, list[_Edit]] = {}
        for key, edits in wanted.items():
            if key not in left and not _missed(edits, errors):
                chosen += edits
            elif (other := _next(choices[key], left.get(key))) is not None:
                again[key] = other
        wanted = again
    return chosen


def _choice(error: ValidationError) -> _Choice:
    """Try one alternative after the other."""
    for index, branch in enumerate(alternatives_of(error)):
        search = _search(branch)
        edits = next(search, None) if _is_promising(branch) else None
        while edits is not None:
            found = yield edits
            branches = [] if found is None else alternatives_of(found)
            edits = _next(search, branches[index]) if index < len(branches) else None


def _is_promising(branch: list[ValidationError]) -> bool:
    """Whether edits can mend a branch: one that asks for another fixed value, or for what is missing, is not tried."""
    changed = {edit.path for error in branch for edit in _edits(error)}
    return all(_can_be_mended(error, changed) for error in branch)


def _can_be_mended(error: ValidationError, changed: set[Path]) -> bool:
    path = tuple(error.instance_path)
    if any(path[:length] in changed for length in range(len(path) + 1)):
        return True
    if isinstance(error.kind, ValidationErrorKind.AdditionalProperties | ValidationErrorKind.UnevaluatedProperties):
        return all((*path, name) in changed for name in error.kind.unexpected)
    branches = alternatives_of(error)
    return any(map(_is_promising, branches)) if branches else not isinstance(error.kind, _STAYS)


def _next(search: Generator[list[_Edit], Any, Any], answer: Any) -> list[_Edit] | None:
    try:
        return search.send(answer)
    except StopIteration:
        return None


def _plain_edits(errors: list[ValidationError]) -> list[_Edit]:
    edits: dict[Path, _Edit] = {}
    for error in errors:
        for edit in _edits(error):
            edits.setdefault(edit.path, edit)
    return list(edits.values())


def _key(error: ValidationError) -> tuple[Path, Path]:
    return tuple(error.instance_path), tuple(error.schema_path)


def alternatives_of(error: ValidationError) -> list[list[ValidationError]]:
    if isinstance(error.kind, ValidationErrorKind.AnyOf | ValidationErrorKind.OneOfNotValid):
        return error.kind.context
    return []


def _missed(edits: list[_Edit], errors: list[ValidationError]) -> set[Path]:
    """Find what was left out and must not be: the model then hears of its null, not of something missing."""
    required = {
        (*error.instance_path, error.kind.property)
        for error in errors
        if isinstance(error.kind, ValidationErrorKind.Required)
    }
    return {edit.path for edit in edits if edit.value is _LEFT_OUT and edit.path in required}


def _edits(error: ValidationError) -> list[_Edit]:
    path = tuple(error.instance_path)
    found: Any = error.instance
    if isinstance(error.kind, ValidationErrorKind.AdditionalProperties | ValidationErrorKind.UnevaluatedProperties):
        return [_left_out((*path, name)) for name in error.kind.unexpected if found[name] is None]
    if found is None and path and isinstance(path[-1], str):
        return [_left_out(path)]
    if not isinstance(error.kind, ValidationErrorKind.Type) or not isinstance(found, str):
        return []
    for wanted in error.kind.types:
        read = _READERS.get(wanted)
        coerced = read(found) if read is not None else _NOTHING
        if coerced is not _NOTHING:
            return [_Edit(path, coerced, f"string → {wanted}")]
    return []


def _left_out(path: Path) -> _Edit:
    return _Edit(path, _LEFT_OUT, "null → left out", kind="left_out")


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
    opening = "{" if kind is dict else "["

    def read(text: str) -> Any:
        if not text.lstrip().startswith(opening) or not is_plain(text):
            return _NOTHING
        try:
            value, repeated = decode_whole(text)
        except ValueError:
            return _NOTHING
        return value if isinstance(value, kind) and not repeated else _NOTHING

    return read


_READERS: Mapping[str, Callable[[str], Any]] = {
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "object": _read_container(dict),
    "array": _read_container(list),
}


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
