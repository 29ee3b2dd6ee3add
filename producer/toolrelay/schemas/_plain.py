"""A tool's schema for providers that take JSON Schema as it is, but for a few rules: mostly about its root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from toolrelay.names import Alphabet, ArgumentNames
from toolrelay.schemas._document import (
    Document,
    Located,
    Schema,
    escape,
    free_name,
    reference_to,
    replace_subschemas,
    walk,
)
from toolrelay.schemas._drafts import modern
from toolrelay.schemas._losses import Losses
from toolrelay.schemas._root import check_object, root_object
from toolrelay.schemas._shape import Place, Shaper


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a provider wants of a schema that it otherwise takes as it is."""

    title: str
    """How it is called in a loss's reason."""
    forbidden_at_root: frozenset[str] = frozenset()
    is_modern: bool = False
    """Words of older drafts are written in those of 2020-12."""
    has_items: bool = False
    """Every array has ``items``."""
    parameter_names: Alphabet | None = None
    """What the parameters themselves, not what is inside of them, may be called."""


_UNIONS: Final = frozenset({"anyOf", "oneOf", "allOf"})
#: names of properties, or schemas about them: they would have to be renamed too
_ABOUT_NAMES: Final = ("if", "then", "else", "not", "dependentRequired", "dependentSchemas", "propertyNames")

OPENAI: Final = Rules(
    title="OpenAI", forbidden_at_root=_UNIONS | {"enum", "not", "const"}, is_modern=True, has_items=True
)
ANTHROPIC: Final = Rules(
    title="Anthropic", forbidden_at_root=_UNIONS, is_modern=True, parameter_names=Alphabet("a-zA-Z0-9_.-", 64)
)
BEDROCK: Final = Rules(
    title="Bedrock", forbidden_at_root=_UNIONS, is_modern=True, parameter_names=Alphabet("a-zA-Z0-9_.-", 64)
)
AS_IS: Final = Rules(title="MCP")


def write_plain(document: Document, rules: Rules, losses: Losses) -> tuple[Schema, ArgumentNames]:
    """Write a document that obeys the rules, and say which parameters were renamed."""
    has_references = document.check_references()
    root = document.root
    if rules.forbidden_at_root.isdisjoint(root):
        check_object(_plain_root(document, rules, Losses()) if "$ref" in root else root)
    if rules.forbidden_at_root and not (rules.forbidden_at_root | {"$ref"}).isdisjoint(root):
        root = _plain_root(document, rules, losses)
    root, names = _with_legal_names(root, rules, losses)
    if rules.is_modern or "$schema" not in root:
        root = Rewriter(document, rules, has_references=has_references).rewrite_root(root)
    root = {"type": "object", "properties": {}, **root} if rules.forbidden_at_root else {"type": "object", **root}
    root["type"] = "object"
    return root, names


def _plain_root(document: Document, rules: Rules, losses: Losses) -> Schema:
    shaper = Shaper(document, losses, _stop)
    root, _ = root_object(shaper, document.root, Place("", frozenset({""})), losses, rules.title)
    for keyword in sorted(root.keys() & rules.forbidden_at_root):
        _drop(root := dict(root), keyword, rules, losses)
    definitions: Schema = {key: document.root[key] for key in ("$defs", "definitions") if key in document.root}
    return {**root, **definitions}


def _stop(_: Located, __: Place) -> Schema:
    return {}  # a root that is itself again: what stands beside the reference says all


def _drop(root: Schema, keyword: str, rules: Rules, losses: Losses) -> None:
    del root[keyword]
    losses.add(f"/{keyword}", keyword, f"{rules.title} refuses it at the root; checked when the call is validated")


class Rewriter:
    """Writes schemas in the words of 2020-12, and references to where in the written document their targets stand."""

    def __init__(self, document: Document, rules: Rules, *, has_references: bool) -> None:
        self._document = document
        self._rules = rules
        self._has_references = has_references
        #: by the identity of what was rewritten, which the document keeps alive
        self._written: dict[int, Schema] = {}
        self._pointing: list[Schema] = []

    def rewrite_root(self, root: Schema) -> Schema:
        """Rewrite the whole; ``root`` may be another than the document's, with parts of the document in it.

        Then a reference to the document's root means that one, as it was: it is put among the definitions.
        """
        written = self._rewrite(root)
        if self._pointing:
            self._point(written)
        if self._rules.is_modern:
            written.pop("$schema", None)
        return written

    def _rewrite(self, node: Schema) -> Schema:
        result = replace_subschemas(modern(node), self._rewrite)
        kind = result.get("type")
        if (
            self._rules.has_items
            and "items" not in result
            and (kind == "array" or (kind.__class__ is list and "array" in kind))
        ):
            result["items"] = {}
        if "definitions" in result and "$defs" not in result:
            result["$defs"] = result.pop("definitions")
        if self._has_references:
            self._note(node, result)
        return result

    def _note(self, node: Schema, result: Schema) -> None:
        self._written[id(node)] = result
        if "$dynamicRef" in result and "$ref" not in result:
            result["$ref"] = result.pop("$dynamicRef")
        if "$ref" in result:
            self._pointing.append(result)
        # a place that is known by its pointer needs no other name, and an $id would change what pointers start from
        for keyword in ("$id", "$anchor", "$dynamicAnchor"):
            result.pop(keyword, None)

    def _point(self, root: Schema) -> None:
        places = {id(schema): pointer for schema, pointer in walk(root)}
        for schema in self._pointing:  # grows
            target = self._document.target(schema["$ref"], "")
            written = self._written.get(id(target.schema)) if isinstance(target.schema, dict) else target.schema
            if written is None:
                written = self._rewrite(target.schema)
                if not target.pointer:  # the definitions stand in the written root
                    written.pop("$defs", None)
            pointer = places.get(id(written))
            if pointer is None:
                pointer = _define(root, target.pointer, written)
                if isinstance(written, dict):
                    places |= {id(inner): at for inner, at in walk(written, pointer)}
            schema["$ref"] = reference_to(pointer)


def _define(root: Schema, pointer: str, schema: Any) -> str:
    """Put what stands where no schema has to be, or no longer stands in the root, among the definitions."""
    definitions = root.setdefault("$defs", {})
    name = free_name(pointer or "/whole", definitions)
    definitions[name] = schema
    return f"/$defs/{escape(name)}"


def _with_legal_names(root: Schema, rules: Rules, losses: Losses) -> tuple[Schema, ArgumentNames]:
    properties: Schema = root.get("properties", {})
    if rules.parameter_names is None or all(map(rules.parameter_names.allows, properties)):
        return root, ArgumentNames()
    wire = rules.parameter_names.encode(properties)
    own = {wire_name: name for name, wire_name in wire.items() if wire_name != name}
    for wire_name, name in own.items():
        why = f"called {wire_name!r} on the wire, and mapped back when a call is read with these names"
        losses.add(f"/properties/{escape(name)}", "name", why)
    for keyword in _ABOUT_NAMES:
        if keyword in root:
            _drop(root := dict(root), keyword, rules, losses)
    root = {**root, "properties": {wire[name]: schema for name, schema in properties.items()}}
    if "required" in root:
        root["required"] = [wire.get(name, name) for name in root["required"]]
    return root, ArgumentNames(own)
