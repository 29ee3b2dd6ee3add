"""From the shape of a schema to one of the providers' smaller dialects.

What a dialect cannot say goes into the description where it helps a model, and into the losses always; what would make
a valid value impossible is not said at all: ``Unfit`` is raised, and another form of the tool is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from toolrelay.errors import ToolExportError
from toolrelay.names import ArgumentNames
from toolrelay.schemas._dialects import Dialect
from toolrelay.schemas._document import Document, Located, Schema, escape, free_name, reference_to
from toolrelay.schemas._limits import write_limits
from toolrelay.schemas._losses import Losses
from toolrelay.schemas._merge import ANNOTATIONS, BOOKKEEPING, CUT
from toolrelay.schemas._root import root_object
from toolrelay.schemas._shape import MAX_PARTS, RECURSION, Option, Place, Shape, Shaper
from toolrelay.schemas._sharing import sharing_of

_SCALARS: Final = ("string", "number", "boolean")
_SILENT: Final = frozenset({"$comment", "$schema", "$id", CUT})

_OPEN: Final = "an open object cannot be closed: what it is for could no longer be sent"

Written = tuple[Schema, ArgumentNames]


class Unfit(Exception):
    """This dialect cannot say a schema without making something valid impossible."""

    def __init__(self, pointer: str, what: str, why: str) -> None:
        super().__init__(why)
        self.pointer, self.what, self.why = pointer, what, why


class Emitter:
    """Writes one document in one dialect."""

    def __init__(
        self,
        document: Document,
        dialect: Dialect,
        losses: Losses,
        max_parts: int = MAX_PARTS,
        *,
        cuts_early: bool = False,
    ) -> None:
        """``cuts_early``: where a recursion cannot be said, and is too large to be followed once, none is followed."""
        self._document = document
        self._dialect = dialect
        self._losses = losses
        self._shaper = Shaper(document, losses, self._cut, max_parts)
        self._has_recursion = False
        self._cuts_early = cuts_early
        self._early = frozenset[str]()
        #: the definitions that refer to themselves: pointer to name
        self._definitions: dict[str, str] = {}
        self._wire_names: dict[str, str] = {}
        if dialect.parameter_names is not None:
            names = (name for schema, _ in document.parts() for name in schema.get("properties", ()))
            self._wire_names = dialect.parameter_names.encode(names)
        renamed = {wire_name: name for name, wire_name in self._wire_names.items() if wire_name != name}
        self._everywhere = ArgumentNames.everywhere(renamed)

    def root(self) -> Written:
        """Write the whole: an object, whose properties may be none."""
        flat, place = root_object(
            self._shaper, self._document.root, Place("", frozenset({""})), self._losses, self._dialect.title
        )
        if self._dialect.has_references:
            self._keep_references()
        if not flat.get("properties") and self._dialect.is_closed:
            flat = self._closed_root(flat)
        shape = self._shaper.shape({"properties": {}, **flat, "type": "object"}, place)
        if not shape.options:
            raise ToolExportError("the schema refers to nothing but itself", pointer="/$ref")
        written, names = self._option(shape.options[0])
        self._annotate(written, shape.annotations, shape.place)
        if self._definitions:
            written["$defs"] = self._written_definitions()
        return written, names

    def _keep_references(self) -> None:
        sharing = sharing_of(self._document)
        self._has_recursion = self._dialect.has_needed_recursion or not sharing.is_endless
        recursive = sharing.recursive if self._has_recursion or self._cuts_early else frozenset()
        self._shaper.kept = (sharing.shared - sharing.recursive) | recursive
        self._early = frozenset() if self._has_recursion else recursive

    def _closed_root(self, flat: Schema) -> Schema:
        if "patternProperties" in flat:
            raise Unfit("", "patternProperties", _OPEN)
        rest = flat.get("additionalProperties")
        is_silent = not flat.keys() - ANNOTATIONS - BOOKKEEPING
        if rest is False or is_silent or ("properties" in flat and rest is None):
            return {**flat, "additionalProperties": False}  # a tool without parameters
        raise Unfit("", "additionalProperties", "the whole is an open object")

    def _written_definitions(self) -> Schema:
        written: dict[str, Schema] = {}
        self._shaper.kept -= self._early
        while waiting := [pointer for pointer in self._definitions if pointer not in written]:
            for pointer in waiting:
                target = self._document.target(reference_to(pointer), pointer)
                written[pointer], _ = self.schema(target.schema, Place(pointer, self._early | {"", pointer}))
        definitions = {name: written[pointer] for pointer, name in self._definitions.items()}
        for pointer in written:
            self._check_content(pointer, definitions)
        return definitions

    def _check_content(self, pointer: str, definitions: dict[str, Schema]) -> None:
        schema = definitions[self._definitions[pointer]]
        for _ in definitions:
            if schema.keys() != {"$ref"} or schema["$ref"] == "#":
                return
            schema = Document({"$defs": definitions}).target(schema["$ref"], pointer).schema
        raise Unfit(pointer, "$ref", "a definition is nothing but a reference to itself")

    def _cut(self, target: Located, place: Place) -> Schema:
        """Give what stands for a definition inside of itself."""
        if self._has_recursion:
            return {RECURSION: target.pointer}
        if self._dialect.is_closed:
            raise Unfit(place.pointer, "$ref", "the schema is recursive")
        name = target.pointer.rpartition("/")[2] or "the whole"
        self._losses.add(
            f"{place.pointer}/$ref",
            "$ref",
            f"{self._dialect.title} cannot be recursive: {name!r} is written one level deep; "
            "below that any value is accepted",
        )
        kind = target.schema.get("type", "object" if "properties" in target.schema else None)
        cut: Schema = {"description": f"Same structure as {name}.", CUT: True}
        return {**cut, "type": kind} if isinstance(kind, str) else cut

    def schema(self, schema: Any, place: Place) -> Written:
        """Write one schema, and say what was renamed in it."""
        return self._write(self._shaper.shape(schema, place))

    def _write(self, shape: Shape) -> Written:
        if shape.recursion is not None:
            return self._beside_reference(shape, self._reference_to(shape.recursion)), self._everywhere
        names = self._everywhere if CUT in shape.annotations else ArgumentNames()
        if shape.is_any:
            return self._anything(shape), names
        alternatives: list[Schema] = []
        written: Schema
        for option in shape.options:
            alternative, renamed = self._option(option)
            alternatives.append(alternative)
            names = names | renamed
        if names and any(option.type == "string" for option in shape.options):
            names = names | ArgumentNames(is_text_too=True)
        written = alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
        if not alternatives:
            written = {"type": self._type("null")}
        elif shape.nullable:
            written = nullable(written, self._dialect)
        is_told_twice = "description" in written and "description" in shape.annotations
        told: list[str] = [written.pop("description")] if is_told_twice else []
        self._annotate(written, shape.annotations, shape.place, told, shape.origins)
        return self._spread(written, shape.place, shape.origins), names

    def _spread(self, written: Schema, place: Place, origins: Mapping[str, str]) -> Schema:
        """Say in each alternative what may not stand beside them."""
        if not self._dialect.is_union_alone or "anyOf" not in written:
            return written
        if "default" in written:
            why = f"{self._dialect.title} has no place for it beside alternatives"
            self._losses.add(origins.get("default", f"{place.pointer}/default"), "default", why)
        beside = {keyword: written[keyword] for keyword in ("nullable",) if keyword in written}
        told = written.get("description")
        return {"anyOf": [{**alternative, **beside, **_told(told, alternative)} for alternative in written["anyOf"]]}

    def _beside_reference(self, shape: Shape, reference: Schema) -> Schema:
        description = shape.annotations.get("description")
        # a strict $ref stands alone
        return {"anyOf": [reference], "description": description} if description else reference

    def _reference_to(self, pointer: str) -> Schema:
        if not pointer:
            return {"$ref": "#"}
        if pointer not in self._definitions:
            self._definitions[pointer] = free_name(pointer, self._definitions.values())
        return {"$ref": reference_to(f"/$defs/{escape(self._definitions[pointer])}")}

    def _anything(self, shape: Shape) -> Schema:
        if self._dialect.is_closed:
            raise Unfit(shape.place.pointer, "type", "a value of any type cannot be described")
        written: Schema = {}
        if not self._dialect.has_untyped:
            scalars: list[Schema] = [{"type": self._type(name)} for name in (*_SCALARS, "object")]
            items = self._spread({"anyOf": scalars, "nullable": True}, shape.place, shape.origins)
            written = {"anyOf": [*scalars, {"type": self._type("array"), "items": items}], "nullable": True}
            why = f"{self._dialect.title} wants a type: any but lists within lists are offered"
            self._losses.add(shape.place.pointer, "type", why)
        self._annotate(written, shape.annotations, shape.place, origins=shape.origins)
        return self._spread(written, shape.place, shape.origins)

    def _option(self, option: Option) -> Written:
        if RECURSION in option.keywords:
            return self._reference_to(option.keywords[RECURSION]), self._everywhere
        written: Schema = {"type": self._type(option.type)}
        names = ArgumentNames()
        if option.type == "object":
            names = self._object(option, written)
        elif option.type == "array":
            names = self._array(option, written)
        if CUT in option.annotations:
            names = self._everywhere
        notes = write_limits(option, self._dialect, written, self._losses)
        self._annotate(written, option.annotations, option.place, notes)
        return written, names

    def _type(self, name: str) -> str:
        return name.upper() if self._dialect.upper_case_types else name

    def _object(self, option: Option, written: Schema) -> ArgumentNames:
        properties: Schema = option.keywords.get("properties", {})
        if self._dialect.is_closed:
            self._check_closed(option, properties)
        required = option.keywords.get("required", ())
        own: dict[str, str] = {}
        inside: dict[str, ArgumentNames] = {}
        named: Schema = {}
        for name, schema in properties.items():
            shape = self._shaper.shape(schema, option.place.below("properties", escape(name)))
            if shape.is_impossible:
                why = f"{self._dialect.title} cannot forbid a property; checked when the call is validated"
                if not self._dialect.is_closed:
                    self._losses.add(shape.place.pointer, "properties", why)
                continue
            wire_name = self._wire_name(option, name)
            if wire_name != name:
                own[wire_name] = name
            named[wire_name], inside[name] = self._write(shape)
            if self._dialect.is_all_required and name not in required and not shape.nullable:
                named[wire_name] = nullable(named[wire_name], self._dialect)
        if named or self._dialect.is_closed:
            written["properties"] = named
        self._require(option, written, named)
        return ArgumentNames(own, inside, rest=self._rest(option, written))

    def _require(self, option: Option, written: Schema, named: Schema) -> None:
        required = option.keywords.get("required", ())
        wire_names = [self._wire_names.get(name, name) for name in required]
        wanted = list(named) if self._dialect.is_all_required else [name for name in wire_names if name in named]
        if wanted or self._dialect.is_all_required:
            written["required"] = wanted
        for name in required:
            if name in option.keywords.get("properties", {}):
                continue
            why = f"{name!r} is required, but not among the properties"
            if self._dialect.is_closed:
                raise Unfit(option.place.pointer, "required", why)
            self._losses.add(f"{option.place.pointer}/required", "required", why)

    def _rest(self, option: Option, written: Schema) -> ArgumentNames | None:
        """Write what properties that are not declared may be."""
        rest = option.keywords.get("additionalProperties", True)
        is_known = self._dialect.has_maps and "patternProperties" not in option.keywords
        if self._dialect.is_closed or (rest is False and is_known):
            written["additionalProperties"] = False
        elif rest is False:
            what = "patternProperties" if self._dialect.has_maps else "it"
            why = f"{self._dialect.title} does not know {what}; checked when the call is validated"
            self._losses.add(f"{option.place.pointer}/additionalProperties", "additionalProperties", why)
        elif rest not in (True, {}):
            if not self._dialect.has_maps:
                raise Unfit(option.place.pointer, "additionalProperties", "the values of a map cannot be described")
            written["additionalProperties"], names = self.schema(rest, option.place.below("additionalProperties"))
            return names
        return None

    def _check_closed(self, option: Option, properties: Schema) -> None:
        keywords = option.keywords
        if "patternProperties" in keywords:
            raise Unfit(option.place.pointer, "patternProperties", _OPEN)
        if keywords.get("additionalProperties") is False:
            return
        if option.has_more:
            raise Unfit(option.place.pointer, "if", "conditions declare properties that it would not have")
        if "additionalProperties" not in keywords and keywords.get("unevaluatedProperties") is False:
            return
        if "additionalProperties" in keywords or not properties:
            raise Unfit(option.place.pointer, "additionalProperties", _OPEN)
        # Nothing is lost by closing an object that says nothing of others: no model can mean a property that it was
        # not told of, and a tool that takes any says so with additionalProperties.

    def _wire_name(self, option: Option, name: str) -> str:
        wire_name = self._wire_names.get(name, name)
        if wire_name != name:
            why = f"called {wire_name!r} on the wire, and mapped back when a call is read with these names"
            self._losses.add(f"{option.place.pointer}/properties/{escape(name)}", "name", why)
        return wire_name

    def _array(self, option: Option, written: Schema) -> ArgumentNames:
        names = ArgumentNames()
        items = option.keywords.get("items", True)
        places = option.keywords.get("prefixItems", [])
        if places and not self._dialect.has_tuples:
            raise Unfit(option.place.pointer, "prefixItems", "a list with a place for each item cannot be described")
        if places:
            written["prefixItems"] = []
        for index, schema in enumerate(places):
            place, renamed = self.schema(schema, option.place.below("prefixItems", str(index)))
            written["prefixItems"].append(place)
            names = names | renamed
        if items is False:
            written["maxItems"] = len(places)
            items = True
        written["items"], renamed = self.schema(items, option.place.below("items"))
        return ArgumentNames(items=names | renamed)

    def _annotate(
        self,
        written: Schema,
        annotations: Schema,
        place: Place,
        notes: list[str] | None = None,
        origins: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        for keyword, value in annotations.items():
            if keyword in self._dialect.annotations:
                written.setdefault(keyword, value)
            elif keyword not in _SILENT and not _is_made_of_name(keyword, value, place):
                why = f"{self._dialect.title} has no place for it"
                self._losses.add(origins.get(keyword, f"{place.pointer}/{keyword}"), keyword, why)
        if notes:
            told = "; ".join(notes)
            description = written.get("description")
            written["description"] = f"{description} ({told})" if description else told


def nullable(written: Schema, dialect: Dialect) -> Schema:
    """Let ``null`` be another value of a schema that is written."""
    if dialect.has_nullable:
        return {**written, "nullable": True}
    kind = written.get("type")
    if isinstance(kind, str) and kind not in ("object", "array", "null"):
        enum = {"enum": [*written["enum"], None]} if "enum" in written else {}
        return {**written, "type": [kind, "null"], **enum}
    if kind == "null" or isinstance(kind, list) or not written.keys() - ANNOTATIONS:
        return written  # null fits already
    if "anyOf" in written:
        return {**written, "anyOf": [*written["anyOf"], {"type": "null"}]}
    outside = {keyword: value for keyword, value in written.items() if keyword in ANNOTATIONS}
    inside = {keyword: value for keyword, value in written.items() if keyword not in ANNOTATIONS}
    return {**outside, "anyOf": [inside, {"type": "null"}]}


def _told(description: str | None, alternative: Schema) -> Schema:
    own = alternative.get("description")
    return {"description": f"{description} ({own})" if own else description} if description else {}


def _is_made_of_name(keyword: str, value: Any, place: Place) -> bool:
    """Whether a title only repeats what the property, or the definition, is called; the root's repeats the tool."""
    name = place.pointer.rpartition("/")[2]
    return keyword == "title" and (not name or _plain(value) == _plain(name))


def _plain(text: str) -> str:
    return text.casefold().replace("_", "").replace(" ", "").replace("-", "")
