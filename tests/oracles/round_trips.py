"""What a definition may have lost on its way to a provider and back, held against the losses that were reported.

A loss names a *spot*: its pointer or, where that is a schema and not a keyword, the keyword ``what`` below it. A
difference is covered by a loss if it stands at this spot or below. ``const`` counts as ``enum``, which it becomes, and
the members of an ``allOf`` as the schema that they make.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from jsonschema_rs import ValidationError, validator_for

from tests.unit.test_schema_dialects import with_nulls
from toolrelay import Loss, ToolSpec
from toolrelay.errors import SchemaMismatchError
from toolrelay.names import ArgumentNames
from toolrelay.schemas.validation import check_arguments

_MEMBER = re.compile(r"/allOf/\d+")


class Trip(NamedTuple):
    """A tool as it was given, as it came back, and what was said about it."""

    spec: ToolSpec
    back: ToolSpec
    losses: list[Loss]
    names: ArgumentNames
    is_strict: bool

    def beyond(self, arguments: dict[str, Any]) -> list[str]:
        """Give where the tool forbids arguments that can be said now, if no loss names it."""
        if not self.can_say(arguments) or (self.is_strict and self._is_meant(arguments)):
            return []
        errors = validator_for(self.spec.input_schema).iter_errors(arguments)
        return _unexplained(errors, lambda error: _is_named(_pointer(error.schema_path), self.losses))

    def forbidden(self, arguments: dict[str, Any]) -> list[str]:
        """Give where arguments that the tool takes are refused now, if no loss tells of the keyword that refuses them.

        That is ``type``, where a schema said nothing of it. Strict mode closes objects that say nothing of properties
        that they do not declare, and loses nothing by it.
        """
        if not validator_for(self.spec.input_schema).is_valid(arguments):
            return []
        told = {loss.what for loss in self.losses} & {"type"} | ({"additionalProperties"} if self.is_strict else set())
        errors = validator_for(self.back.input_schema).iter_errors(self._written(arguments))
        return _unexplained(errors, lambda error: error.kind.name in told)

    def _written(self, arguments: dict[str, Any]) -> Any:
        schema, wire = self.back.input_schema, self.names.encode(arguments)
        return with_nulls(schema, schema, wire) if self.is_strict else wire

    def can_say(self, arguments: dict[str, Any]) -> bool:
        """Whether a model that keeps to what came back can mean these arguments."""
        return bool(validator_for(self.back.input_schema).is_valid(self._written(arguments)))

    def _is_meant(self, arguments: dict[str, Any]) -> bool:
        """Whether the tool takes what a model in strict mode writes for it: null for whatever it leaves out."""
        try:
            check_arguments(self.spec.input_schema, self.names.decode(self._written(arguments)))
        except SchemaMismatchError:
            return False
        return True

    def altered(self) -> list[str]:
        """Give where the schema itself is another one, if no loss names it."""
        back = _under_own_names(self.back.input_schema, self.names)
        return [spot for spot in _differing(self.spec.input_schema, back) if not _is_named(spot, self.losses)]


def _pointer(path: Iterable[Any]) -> str:
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)


def _unexplained(errors: Iterable[ValidationError], explains: Callable[[ValidationError], bool]) -> list[str]:
    return [_pointer(error.schema_path) for error in errors if not _is_explained(error, explains)]


def _is_explained(error: ValidationError, explains: Callable[[ValidationError], bool]) -> bool:
    """Whether an error is explained, or every error of one of the alternatives that it is about."""
    branches = getattr(error.kind, "context", [])
    return explains(error) or any(all(_is_explained(inner, explains) for inner in branch) for branch in branches)


def _is_named(pointer: str, losses: list[Loss]) -> bool:
    plain = _plain(pointer)
    return any(plain == spot or plain.startswith(f"{spot}/") for spot in map(_spot, losses))


def _spot(loss: Loss) -> str:
    keyword = f"/{loss.what}"
    is_spot = loss.what == "name" or loss.pointer.endswith(keyword)
    return _plain(loss.pointer if is_spot else loss.pointer + keyword)


def _plain(pointer: str) -> str:
    return _MEMBER.sub("", f"{pointer}/").replace("/const/", "/enum/").removesuffix("/")


def _under_own_names(schema: dict[str, Any], names: ArgumentNames) -> dict[str, Any]:
    if "properties" not in schema:
        return schema
    properties = {names.own.get(name, name): inner for name, inner in schema["properties"].items()}
    required = {"required": [names.own.get(name, name) for name in schema["required"]]} if "required" in schema else {}
    return {**schema, "properties": properties, **required}


def _differing(first: Any, second: Any, pointer: str = "") -> Iterator[str]:
    if isinstance(first, dict) and isinstance(second, dict):
        for key in first.keys() | second.keys():
            inside = pointer + _pointer([key])
            if key in first and key in second:
                yield from _differing(first[key], second[key], inside)
            elif (key, second.get(key)) != ("items", {}):  # which says nothing; some providers want it said
                yield inside
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for place, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from _differing(one, other, f"{pointer}/{place}")
    elif type(first) is not type(second) or first != second:
        yield pointer
