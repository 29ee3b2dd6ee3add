"""A tool's schema for providers that take JSON Schema as it is, but for a few rules: mostly about its root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from toolrelay.names import Alphabet, ArgumentNames
from toolrelay.schemas._document import Document, Located, Schema, escape, replace_subschemas
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
    document.check_references()
    root = document.root
    check_object(root)
    renames_definitions = rules.is_modern and "definitions" in root and "$defs" not in root
    if "$ref" in root or not rules.forbidden_at_root.isdisjoint(root):
        root = _plain_root(document, rules, losses)
    root = _rewritten(root, rules, renames_definitions=renames_definitions)
    root = {"type": "object", "properties": {}, **root} if rules.forbidden_at_root else {"type": "object", **root}
    root["type"] = "object"
    if rules.is_modern:
        root.pop("$schema", None)
    return _with_legal_names(root, rules, losses)


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


def _rewritten(schema: Schema, rules: Rules, *, renames_definitions: bool) -> Schema:
    if not rules.is_modern:
        return schema

    def rewrite(node: Schema) -> Schema:
        result = replace_subschemas(modern(node), rewrite)
        kind = result.get("type")
        if (
            rules.has_items
            and "items" not in result
            and (kind == "array" or (kind.__class__ is list and "array" in kind))
        ):
            result["items"] = {}
        if renames_definitions:
            _rename_definitions(result)
        return result

    return rewrite(schema)


def _rename_definitions(node: Schema) -> None:
    if "definitions" in node:
        node["$defs"] = node.pop("definitions")
    reference = node.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/definitions/"):
        node["$ref"] = reference.replace("/definitions/", "/$defs/", 1)


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
            _drop(root, keyword, rules, losses)
    moved = {f"#/properties/{escape(name)}": f"#/properties/{escape(wire_name)}" for wire_name, name in own.items()}

    def rewrite(node: Schema) -> Schema:
        result = replace_subschemas(node, rewrite)
        reference: Any = result.get("$ref")
        for old, new in moved.items():
            if isinstance(reference, str) and (reference == old or reference.startswith(f"{old}/")):
                result["$ref"] = new + reference[len(old) :]
        return result

    root = rewrite(root)
    root["properties"] = {wire[name]: schema for name, schema in root["properties"].items()}
    if "required" in root:
        root["required"] = [wire.get(name, name) for name in root["required"]]
    return root, ArgumentNames(own)
