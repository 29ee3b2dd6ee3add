"""A schema taken apart into alternatives of one type each, from which every dialect can be written.

``$ref`` is followed, ``allOf`` merged, ``anyOf``, ``oneOf`` and lists of types become alternatives, ``const`` becomes
an ``enum``. Whatever cannot be kept on the way is dropped so that more is accepted, never less, and reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from toolrelay.errors import ToolExportError
from toolrelay.schemas._disjoint import are_disjoint
from toolrelay.schemas._document import Document, Located, Schema, escape, same_object
from toolrelay.schemas._drafts import modern
from toolrelay.schemas._losses import Losses
from toolrelay.schemas._merge import ANNOTATIONS, BOOKKEEPING, Beside, both, merge

#: stands in a schema where a definition that is being written refers to itself; its value is the definition's pointer
RECURSION: Final = "$recursion"

#: beyond those of the schema itself: definitions that use each other may double in size with each one
MAX_PARTS: Final = 10_000
_MAX_BRANCHES: Final = 400

_UNENFORCED: Final = "the providers' schemas cannot say it; checked when the call is validated"
_UNDERSTOOD_NOWHERE: Final = frozenset({"not", "if", "then", "else", "unevaluatedItems"})

KEYWORDS: Final[dict[str, frozenset[str]]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"}),
    "number": frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}),
    "array": frozenset(
        {"items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"}
    ),
    "object": frozenset(
        {
            *("properties", "required", "additionalProperties", "patternProperties", "minProperties"),
            *("maxProperties", "propertyNames", "dependentRequired", "dependentSchemas", "unevaluatedProperties"),
        }
    ),
    "boolean": frozenset(),
}
#: what may declare properties that are no ``properties`` of the schema itself
CONDITIONS: Final = frozenset({"if", "then", "else", "dependentSchemas"})
KEYWORDS["integer"] = KEYWORDS["number"]
_TYPED: Final = frozenset(keyword for keywords in KEYWORDS.values() for keyword in keywords) - {"format"}
_KNOWN: Final = _TYPED | ANNOTATIONS | BOOKKEEPING | _UNDERSTOOD_NOWHERE | {"type", "enum", "format", "anyOf", "oneOf"}


class Place(NamedTuple):
    """Where in the document a schema stands, and which references were followed to come there."""

    pointer: str
    chain: frozenset[str] = frozenset()

    def below(self, *steps: str) -> Place:
        """Give the place of a schema inside of this one; the steps are escaped already."""
        return Place("/".join((self.pointer, *steps)), self.chain)


@dataclass(slots=True)
class Option:
    """One alternative: a single type, and the keywords that say something about it."""

    type: str
    keywords: Schema
    place: Place
    annotations: Schema = field(default_factory=dict)
    has_more: bool = False
    """Whether conditions declare properties that are not among its own."""


@dataclass(slots=True)
class Shape:
    """What a schema accepts: any of its options, ``null`` if nullable; or everything."""

    place: Place
    annotations: Schema
    options: list[Option] = field(default_factory=list)
    nullable: bool = False
    is_any: bool = False
    origins: dict[str, str] = field(default_factory=dict)
    """Where annotations stand that the schema has beside its reference to the place: keyword to pointer."""
    recursion: str | None = None
    """The pointer of the definition that is being written, and begins anew here."""

    @property
    def is_impossible(self) -> bool:
        """Whether no value fits."""
        return not (self.options or self.nullable or self.is_any) and self.recursion is None


class TooLargeError(ToolExportError):
    """A schema whose references, followed, lead to more than anybody reads."""


class Shaper:
    """Takes the schemas of one document apart. ``on_cycle`` gives the schema to stand for a reference to itself."""

    def __init__(
        self,
        document: Document,
        losses: Losses,
        on_cycle: Callable[[Located, Place], Schema],
        max_parts: int = MAX_PARTS,
    ) -> None:
        self._document = document
        self._losses = losses
        self._on_cycle = on_cycle
        #: pointers of definitions whose references are kept
        self.kept: frozenset[str] = frozenset()
        self._count = 0
        self._max_parts = max_parts
        self._limit = max_parts

    def shape(self, schema: Any, place: Place) -> Shape:
        """Take one schema apart; those inside of it stay as they are."""
        stated = place.pointer
        flat, place = self.flatten(schema, place)
        annotations = {keyword: value for keyword, value in flat.items() if keyword in ANNOTATIONS}
        shape = Shape(place, annotations)
        if place.pointer != stated and isinstance(schema, dict):
            shape.origins = {keyword: f"{stated}/{keyword}" for keyword in annotations if keyword in schema}
        if flat.get("not") in (True, {}):
            return shape
        if RECURSION in flat:
            shape.recursion = flat[RECURSION]
            self._report(place, flat.keys() - ANNOTATIONS - BOOKKEEPING - {RECURSION}, "it stands beside a recursion")
            return shape
        self._report(place, flat.keys() & _UNDERSTOOD_NOWHERE, _UNENFORCED)
        self._report(place, flat.keys() - _KNOWN, "no keyword of JSON Schema")
        base = {keyword: value for keyword, value in flat.items() if keyword in _TYPED or keyword in _VALUES}
        branches = self._branches(flat, place)
        if branches is None:
            self._add_options(shape, base)
        else:
            seen: set[_Seen] = set()
            for branch, at in branches:
                part, reached = self.flatten(branch, at, keeps=self._says_all(base, branch, at))
                part = self._merge(part, base, reached) if RECURSION not in part else part
                self._add_branch(shape, self.shape(part, reached), seen)
        if not CONDITIONS.isdisjoint(flat) and self._conditional_names(flat, place) - flat.get("properties", {}).keys():
            for option in shape.options:
                option.has_more = True
        return shape

    def _conditional_names(self, flat: Schema, place: Place) -> set[str]:
        """Give the properties that conditions speak of, of the object that they are conditions of."""
        names: set[str] = set()
        waiting = [flat[keyword] for keyword in ("if", "then", "else") if keyword in flat]
        waiting += flat.get("dependentSchemas", {}).values()
        followed: set[str] = set()
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, dict):
                continue
            names |= schema.get("properties", {}).keys()
            waiting += [inner.schema for inner in same_object(schema)]
            if (
                "$ref" in schema
                and (target := self._document.target(schema["$ref"], place.pointer)).pointer not in followed
            ):
                followed.add(target.pointer)
                waiting.append(target.schema)
        return names

    def _says_all(self, base: Schema, branch: Any, at: Place) -> bool:
        """Whether a reference says all that an alternative and what stands beside the alternatives say together."""
        if not base:
            return True
        if base.keys() != {"type"} or not isinstance(branch, dict) or "$ref" not in branch:
            return False
        target = self._document.target(branch["$ref"], at.pointer).schema
        return isinstance(target, dict) and target.get("type") == base["type"]

    def flatten(self, schema: Any, place: Place, *, keeps: bool = True) -> tuple[Schema, Place]:
        """Give a schema without ``$ref``, ``allOf`` and ``const``; what stands beside a ``$ref`` wins over it.

        A reference to one of the ``kept`` definitions becomes ``RECURSION`` if nothing but notes stands beside it.
        """
        self._count += 1
        if self._count > self._limit:
            self._check_size(place)
        if not isinstance(schema, dict):
            return {} if schema is True else {"not": {}}, place
        own = modern(schema)
        if own.keys().isdisjoint(_TAKEN_OUT):
            return own, place
        flat = {keyword: value for keyword, value in own.items() if keyword not in _TAKEN_OUT}
        if "const" in own:
            flat = self._merge(flat, {"enum": [own["const"]]}, place)
        is_bare = flat.keys() <= ANNOTATIONS | BOOKKEEPING and "allOf" not in own
        if keeps and is_bare and self.kept and "$ref" in own and "$dynamicRef" not in own:
            target = self._document.target(own["$ref"], place.pointer)
            if target.pointer in self.kept:
                return {**flat, RECURSION: target.pointer}, place
        for member, at in self._members(own, place):
            part, reached = self.flatten(member, at, keeps=keeps and is_bare)
            place = reached if is_bare else Place(place.pointer, place.chain | reached.chain)
            flat = self._merge(flat, part, place)
        return flat, place

    def _check_size(self, place: Place) -> None:
        if self._limit == self._max_parts:
            self._limit += sum(1 for _ in self._document.parts())
        if self._count > self._limit:
            why = f"the schema has more than {self._limit} parts once its references are followed"
            raise TooLargeError(why, pointer=place.pointer)

    def _members(self, schema: Schema, place: Place) -> list[tuple[Any, Place]]:
        members: list[tuple[Any, Place]] = []
        for keyword in ("$ref", "$dynamicRef"):
            if keyword in schema:
                target = self._document.target(schema[keyword], place.pointer)
                if target.pointer in place.chain:
                    members.append((self._on_cycle(target, place), place))
                else:
                    members.append((target.schema, Place(target.pointer, place.chain | {target.pointer})))
        beside = schema.get("allOf", ())
        for index, member in enumerate(beside):
            members.append((member, place if isinstance(beside, Beside) else place.below("allOf", str(index))))
        return members

    def _merge(self, first: Schema, second: Schema, place: Place) -> Schema:
        merged, dropped = merge(first, second)
        for keyword in dropped:
            self._losses.add(place.pointer, keyword, f"allOf asks for two that no one schema can say; {_CHECKED}")
        return merged

    def _report(self, place: Place, keywords: Iterable[str], why: str) -> None:
        for keyword in sorted(keywords):
            self._losses.add(f"{place.pointer}/{escape(keyword)}", keyword, why)

    def _branches(self, flat: Schema, place: Place) -> list[tuple[Any, Place]] | None:
        unions = [keyword for keyword in ("anyOf", "oneOf") if keyword in flat]
        if not unions:
            return None
        first = unions[0]
        branches = [(branch, place.below(first, str(index))) for index, branch in enumerate(flat[first])]
        if "oneOf" in unions and not are_disjoint([self.flatten(one, place, keeps=False)[0] for one in flat["oneOf"]]):
            self._losses.add(f"{place.pointer}/oneOf", "oneOf", f"written as anyOf, which lets several fit; {_CHECKED}")
        if len(unions) > 1 and len(branches) * len(flat["oneOf"]) > _MAX_BRANCHES:
            self._losses.add(f"{place.pointer}/oneOf", "oneOf", f"too many alternatives beside anyOf; {_CHECKED}")
        elif len(unions) > 1:
            branches = [(both(branch, other), at) for branch, at in branches for other in flat["oneOf"]]
        return branches

    def _add_branch(self, shape: Shape, branch: Shape, seen: set[_Seen]) -> None:
        if branch.recursion is not None:
            # a definition that is nothing but itself, among others, adds nothing; with structure between, it is kept
            key = (RECURSION, branch.recursion, frozenset[str](), False)
            if key not in seen:
                seen.add(key)
                shape.options.append(Option("", {RECURSION: branch.recursion}, branch.place, branch.annotations))
        shape.is_any = shape.is_any or branch.is_any
        shape.nullable = shape.nullable or branch.nullable
        for option in branch.options:
            option.annotations = {**branch.annotations, **option.annotations}
            content = json.dumps([option.keywords, option.annotations], sort_keys=True)
            # references in an object or a list may mean something else after another chain
            chain = option.place.chain if option.type in ("object", "array") else frozenset()
            key = (option.type, content, chain, option.has_more)
            if key not in seen:
                seen.add(key)
                shape.options.append(option)

    def _add_options(self, shape: Shape, base: Schema) -> None:
        enum = base.get("enum")
        types = _types_of(base)
        if enum is not None:
            values = [value for value in enum if types is None or _fits(value, types)]
            types = list(dict.fromkeys(map(type_of, values)))
        elif types is None:
            types = self._implied(base, shape.place)
        if types is None:
            shape.is_any = True
            self._report(shape.place, base.keys() & {"format"}, "no type is there that it could be a format of")
            return
        for name in types:
            if name == "null":
                shape.nullable = True
                continue
            keywords = {keyword: value for keyword, value in base.items() if keyword in KEYWORDS[name]}
            if enum is not None:
                keywords["enum"] = [value for value in values if type_of(value) == name]
            shape.options.append(Option(name, keywords, shape.place))

    def _implied(self, base: Schema, place: Place) -> list[str] | None:
        """Find the type that an untyped schema is meant for: its keywords tell."""
        implied = [name for name in ("object", "array", "string", "number") if base.keys() & (KEYWORDS[name] - _SHARED)]
        for name in implied:
            self._losses.add(place.pointer, "type", f"there is no type; its keywords were taken to mean {name!r}")
        return implied or None


_Seen = tuple[str, str, frozenset[str], bool]
_CHECKED: Final = "checked when the call is validated"
_VALUES: Final = frozenset({"type", "enum", "format"})
_SHARED: Final = frozenset({"format"})
_TAKEN_OUT: Final = frozenset({"$ref", "$dynamicRef", "allOf", "const", "$recursiveRef"})


def type_of(value: Any) -> str:
    """Give the JSON type of a value; a whole float is an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    for kind, name in ((float, "number"), (str, "string"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "array"


def _types_of(base: Schema) -> list[str] | None:
    declared = base.get("type")
    if declared is None:
        return None
    types = [declared] if isinstance(declared, str) else list(dict.fromkeys(declared))
    return [name for name in types if name != "integer" or "number" not in types]


def _fits(value: Any, types: list[str]) -> bool:
    name = type_of(value)
    return name in types or (name == "integer" and "number" in types)
