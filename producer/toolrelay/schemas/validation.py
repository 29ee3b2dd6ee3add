"""A tool's own JSON Schema (2020-12) against what a model sent and what the tool gave back.

Producer and worker check with the same code, so a call that passes here is not refused there. What is refused goes back
to the model, which can only repair what it is told: the place, what was expected, every problem, never a whole value.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jsonschema_rs import ValidationError, ValidationErrorKind, validator_for

from toolrelay.errors import RegistrationError, SchemaMismatchError
from toolrelay.models import Repair
from toolrelay.schemas._recursion import errors_at_worst, recursive_alternatives
from toolrelay.schemas.coercion import Coerced, alternatives_of, coerce, errors_of, pointer

_MAX_COMPILED: Final = 512
_MAX_PROBLEMS: Final = 5
_MAX_PROBLEM_LENGTH: Final = 300
_MAX_ALTERNATIVES: Final = 3
_MAX_ERRORS_AT_WORST: Final = 8192  # about a second's work
_MOST_ALTERNATIVES: Final = 10
_TOO_DEEP: Final = (
    "the value is nested too deeply in recursive alternatives to say where it does not fit; send it less deeply nested"
)
_MAX_VALUES_LENGTH: Final = 600  # of allowed values, which a model can do nothing without


@dataclass(frozen=True, slots=True)
class CheckedArguments:
    """Arguments that fit the schema, and what had to be written anew for it."""

    arguments: dict[str, Any] = field(repr=False)
    """The very object that was passed in when nothing had to be changed."""
    repairs: tuple[Repair, ...] = ()


class CompiledSchema:
    """A JSON Schema ready to check values with. Safe to share between threads; later changes to the schema go unseen.

    Never opens a file or a connection for a ``$ref``. ``RegistrationError`` when the schema is broken.
    """

    __slots__ = ("_alternatives", "_schema", "_validator")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        # The mask stands for the value in every message. Formats are annotations in 2020-12, so they are not checked.
        options: dict[str, Any] = {"mask": "the value", "offline": True, "validate_formats": False}
        try:
            self._validator = validator_for(dict(schema), **options)
        except ValidationError as exc:
            raise RegistrationError(_schema_problem(schema, exc)) from exc
        except (ValueError, RecursionError) as exc:
            raise RegistrationError(f"the schema is not valid JSON: {exc}") from exc
        self._schema = schema
        self._alternatives: int | None = None

    def check_arguments(self, arguments: dict[str, Any], *, lenient: bool = True) -> CheckedArguments:
        """Check a call's arguments; see the function of this name."""
        try:
            coerced = self._coerced(arguments, lenient=lenient)
        except RecursionError as exc:
            raise SchemaMismatchError("the arguments are nested too deeply") from exc
        except ValueError as exc:
            raise SchemaMismatchError(
                f"the arguments hold something that is not valid JSON: {exc}"[:_MAX_PROBLEM_LENGTH]
            ) from exc
        if coerced is None or coerced.errors:
            problems = _TOO_DEEP if coerced is None else _problems(coerced.errors)
            raise SchemaMismatchError(f"the arguments do not fit the tool's schema: {problems}")
        return CheckedArguments(coerced.value, coerced.repairs)

    def _coerced(self, arguments: dict[str, Any], *, lenient: bool) -> Coerced | None:
        """Give the arguments as they fit best; ``None`` where they do not fit and nest too deep to say why."""
        fits = self._validator.is_valid(arguments)
        if fits and not (lenient and _has_whole_float(arguments)):
            return Coerced(arguments, (), [])
        if self._is_endless(arguments):
            return Coerced(arguments, (), []) if fits else None
        if lenient:
            return coerce(self._validator, arguments)
        return Coerced(arguments, (), errors_of(self._validator, arguments))

    def check_output(self, output: Any) -> None:
        """Check a tool's output as it is; see the function of this name."""
        if self._validator.is_valid(output):
            return
        problems = _TOO_DEEP if self._is_endless(output) else _problems(errors_of(self._validator, output))
        raise SchemaMismatchError(f"the tool ran, but its output does not fit its output schema: {problems}")

    def _is_endless(self, value: Any) -> bool:
        """Whether listing what is wrong with a value would take long, and nobody could read it."""
        if errors_at_worst(value, _MOST_ALTERNATIVES) <= _MAX_ERRORS_AT_WORST:
            return False  # whatever the schema is
        if self._alternatives is None:
            self._alternatives = recursive_alternatives(self._schema)
        return self._alternatives > 1 and errors_at_worst(value, self._alternatives) > _MAX_ERRORS_AT_WORST


def compile_schema(schema: Mapping[str, Any]) -> CompiledSchema:
    """Give the compiled schema, from a cache of the last 512. ``RegistrationError`` when the schema is broken."""
    try:
        text = json.dumps(schema)
    except (TypeError, ValueError, RecursionError) as exc:
        raise RegistrationError(f"the schema is not valid JSON: {exc}") from exc
    return _compile(text)


def check_arguments(schema: Mapping[str, Any], arguments: dict[str, Any], *, lenient: bool = True) -> CheckedArguments:
    """Check a call's arguments, coercing what loses nothing and recording each coercion as a ``Repair``.

    >>> check_arguments({"properties": {"days": {"type": "integer"}}}, {"days": "5"})
    CheckedArguments(repairs=(Repair(kind='coerced', path='/days', detail='string → integer'),))

    A null that is not allowed, of a property that may be left out, is left out. ``lenient=False`` changes nothing.

    The arguments are never changed in place. ``SchemaMismatchError`` says for the model what it has to repair. Who
    checks the same schema often keeps ``compile_schema(schema)``.
    """
    return compile_schema(schema).check_arguments(arguments, lenient=lenient)


def check_output(schema: Mapping[str, Any], output: Any) -> None:
    """Check what a tool gave back; nothing is coerced. ``SchemaMismatchError`` when it does not fit.

    A validation tool's ``mode`` is no keyword of JSON Schema, so it takes no part.
    """
    compile_schema(schema).check_output(output)


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise ``RegistrationError`` with a JSON pointer to what is wrong with the schema itself."""
    compile_schema(schema)


@functools.lru_cache(maxsize=_MAX_COMPILED)
def _compile(text: str) -> CompiledSchema:
    return CompiledSchema(json.loads(text))


def _has_whole_float(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value) and value.is_integer()
    if isinstance(value, dict):
        return any(map(_has_whole_float, value.values()))
    return isinstance(value, list) and any(map(_has_whole_float, value))


def _problems(errors: list[ValidationError]) -> str:
    told = [problem for error in errors for problem in _meant(error)]
    shown = [_problem(error) for error in told[:_MAX_PROBLEMS]]
    if len(told) > len(shown):
        shown.append(f"and {len(told) - len(shown)} more")
    return "; ".join(shown)


def _meant(error: ValidationError) -> list[ValidationError]:
    """Give what is wrong within the one alternative that the value can have been meant for; else the error itself."""
    branches = _likely(error)
    return [problem for inner in branches[0] for problem in _meant(inner)] if len(branches) == 1 else [error]


def _likely(error: ValidationError) -> list[list[ValidationError]]:
    """Give the alternatives that the value can have been meant for: of its type, and with its discriminator's value."""
    branches = [branch for branch in alternatives_of(error) if branch]
    for is_other in (_is_other_type, _is_other_kind):
        left = [branch for branch in branches if not any(is_other(error, inner) for inner in branch)]
        branches = left or branches
    return branches


def _is_other_type(union: ValidationError, error: ValidationError) -> bool:
    return isinstance(error.kind, ValidationErrorKind.Type) and error.instance_path == union.instance_path


def _is_other_kind(union: ValidationError, error: ValidationError) -> bool:
    """Whether a property, or the value itself, would have to have another one of some fixed values."""
    is_fixed = isinstance(error.kind, ValidationErrorKind.Constant | ValidationErrorKind.Enum)
    return is_fixed and len(error.instance_path) <= len(union.instance_path) + 1


def _problem(error: ValidationError) -> str:
    kind = error.kind
    path: list[str | int] = list(error.instance_path)
    if isinstance(kind, ValidationErrorKind.Required):
        return f"{pointer([*path, kind.property])}: required, but missing"[:_MAX_PROBLEM_LENGTH]
    if isinstance(kind, ValidationErrorKind.AdditionalProperties | ValidationErrorKind.UnevaluatedProperties):
        names = ", ".join(repr(name[:50]) for name in kind.unexpected[:_MAX_PROBLEMS])
        return f"{_place(path)}: no such property: {names}"[:_MAX_PROBLEM_LENGTH]
    if alternatives_of(error):
        return _alternatives(error)
    values = _allowed(error)
    if values:
        return f"{_place(path)[:_MAX_PROBLEM_LENGTH]}: the value is not {_one_of(values)}"
    return f"{_place(path)}: {_expectation(error)}"[:_MAX_PROBLEM_LENGTH]


def _expectation(error: ValidationError) -> str:
    kind = error.kind
    if isinstance(kind, ValidationErrorKind.Type):
        return f"expected {' or '.join(kind.types)}, got {_type_name(error.instance)}"
    if isinstance(kind, ValidationErrorKind.FalseSchema):
        # The validator does not name the property where the schema declares none.
        is_any_property = error.schema_path[-1:] == ["additionalProperties"]
        return "no properties are allowed here" if is_any_property else "no value is allowed here"
    return error.message


def _alternatives(error: ValidationError) -> str:
    """Say what each alternative wanted; those that only differ in type, or in a fixed value, become one list of it."""
    branches = _likely(error)
    place = _place(error.instance_path)
    if all(len(branch) == 1 and _is_other_type(error, branch[0]) for branch in branches):
        types = dict.fromkeys(name for branch in branches for name in _types(branch[0]))
        return f"{place}: expected {' or '.join(types)}, got {_type_name(error.instance)}"[:_MAX_PROBLEM_LENGTH]
    others = [[inner for inner in branch if _is_other_kind(error, inner)] for branch in branches]
    places = {_place(inner.instance_path) for branch in others for inner in branch}
    if len(places) == 1 and all(others):
        values = [value for branch in others for inner in branch for value in _allowed(inner)]
        return f"{places.pop()[:_MAX_PROBLEM_LENGTH]}: the value is not {_one_of(values)}"
    told = [[_problem(inner) for inner in branch] for branch in branches]
    common = [problem for problem in told[0] if all(problem in other for other in told)]
    if common:
        return common[0]
    count = len(alternatives_of(error))
    wishes = [f"({number}) {problems[0]}" for number, problems in enumerate(told[:_MAX_ALTERNATIVES], start=1)]
    return f"{place}: fits none of {count} alternatives: {' '.join(wishes)}"[: _MAX_PROBLEM_LENGTH + _MAX_VALUES_LENGTH]


def _types(error: ValidationError) -> list[str]:
    return list(error.kind.types) if isinstance(error.kind, ValidationErrorKind.Type) else []


def _allowed(error: ValidationError) -> list[str]:
    """Give the fixed values that would have been right, as JSON; none for errors of other kinds."""
    kind = error.kind
    if isinstance(kind, ValidationErrorKind.Constant):
        return [json.dumps(kind.expected_value, ensure_ascii=False)]
    if isinstance(kind, ValidationErrorKind.Enum) and isinstance(kind.options, list):
        return [json.dumps(value, ensure_ascii=False) for value in kind.options]
    return []


def _one_of(values: list[str]) -> str:
    values = list(dict.fromkeys(values))
    shown: list[str] = []
    room = _MAX_VALUES_LENGTH
    for value in values:
        room -= len(value) + len(", ")
        if room < 0:
            break
        shown.append(value)
    if len(shown) < len(values):
        more = f"{len(values) - len(shown)} others"
        return f"one of {', '.join(shown)} or {more}" if shown else f"one of {more}"
    return f"one of {', '.join(shown[:-1])} or {shown[-1]}" if len(shown) > 1 else shown[0]


def _place(path: Iterable[str | int]) -> str:
    return pointer(path) or "the whole"


def _type_name(value: Any) -> str:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _schema_problem(schema: Mapping[str, Any], error: ValidationError) -> str:
    path: tuple[str | int, ...] = tuple(error.instance_path)
    if isinstance(error.kind, ValidationErrorKind.Referencing):
        blamed = next(_blamed_references(schema, (), error.message), ("$schema",))
        advice = " (a $ref must point into the schema itself)" if blamed[-1] == "$ref" else ""
        return f"the schema is broken at {_place(blamed)}: {error.message}{advice}"
    return f"the schema is broken at {_place(path)}: {_meta_problem(path, error)}"


def _meta_problem(path: tuple[str | int, ...], error: ValidationError) -> str:
    if path and path[-1] == "type":
        return f"{error.instance!r:.50} is not a JSON type"
    return _expectation(error)[:_MAX_PROBLEM_LENGTH]


def _blamed_references(node: Any, path: tuple[str | int, ...], message: str) -> Iterator[tuple[str | int, ...]]:
    """Find the references that the message can mean: it names the target, not the place."""
    if isinstance(node, Mapping):
        target = node.get("$ref")
        if isinstance(target, str) and target.lstrip("#") and target.lstrip("#") in message:
            yield (*path, "$ref")
    children: Iterable[tuple[str | int, Any]] = ()
    if isinstance(node, Mapping):
        children = node.items()
    elif isinstance(node, list):
        children = enumerate(node)
    for key, child in children:
        yield from _blamed_references(child, (*path, key), message)
