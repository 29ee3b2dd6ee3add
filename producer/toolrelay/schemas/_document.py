"""A JSON Schema as a document: which members are schemas and which are data, and where a ``$ref`` points.

The values of ``default``, ``const``, ``enum`` and ``examples`` are data, and so are the keys of ``properties``: a
parameter may be called ``title`` or ``$ref``. https://json-schema.org/draft/2020-12/json-schema-core
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote

from toolrelay.errors import ToolExportError

Schema = dict[str, Any]

_MAPS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_ONES: Final = frozenset(
    {
        *("items", "additionalItems", "additionalProperties", "not", "if", "then", "else", "contains"),
        *("propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema"),
    }
)
#: the keywords that hold a schema, or several
APPLICATORS: Final = _MAPS | _LISTS | _ONES


REFERENCES: Final = frozenset({"$ref", "$dynamicRef"})
_SAME: Final = frozenset({"allOf", "anyOf", "oneOf", "if", "then", "else", "dependentSchemas"})


_NOTHING: Final = object()
#: RFC 6901 has no leading zeros; Python reads no number of more than 4300 digits
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


class Located(NamedTuple):
    """A schema and where it stands in its document, as a JSON pointer."""

    schema: Any
    pointer: str


def escape(step: str) -> str:
    """Write one step of a JSON pointer (RFC 6901)."""
    return step.replace("~", "~0").replace("/", "~1") if "~" in step or "/" in step else step


def reference_to(pointer: str) -> str:
    """Write a ``$ref`` that points to a place in its own document."""
    return "#" + quote(pointer, safe="/~!$&'()*+,;=:@")


def free_name(pointer: str, taken: Collection[str]) -> str:
    """Give a name for the definition that stands at a pointer."""
    name = pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    found, number = name, 1
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found


def subschemas(schema: Schema, pointer: str = "") -> Iterator[Located]:
    """Give the schemas right inside of a schema; ``True`` and ``False`` are schemas too, and are left out."""
    for keyword in schema.keys() & APPLICATORS:
        value = schema[keyword]
        if keyword in _MAPS and isinstance(value, dict):
            for name, inner in value.items():
                if isinstance(inner, dict):
                    yield Located(inner, f"{pointer}/{keyword}/{escape(name)}")
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                if isinstance(inner, dict):
                    yield Located(inner, f"{pointer}/{keyword}/{index}")
        elif keyword in _ONES and isinstance(value, dict):
            yield Located(value, f"{pointer}/{keyword}")


def same_object(schema: Schema, pointer: str = "") -> Iterator[Located]:
    """Give the schemas right inside of a schema that are about the same value as it is itself."""
    return subschemas({keyword: schema[keyword] for keyword in schema.keys() & _SAME}, pointer)


def walk(schema: Schema, pointer: str = "") -> Iterator[Located]:
    """Give a schema and all that are inside of it, the outer ones first."""
    waiting = [Located(schema, pointer)]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(subschemas(*found))


def replace_subschemas(schema: Schema, replace: Callable[[Schema], Schema]) -> Schema:
    """Give a copy of a schema with other schemas right inside of it; data is shared."""
    copy: Schema = {}
    for keyword, value in schema.items():
        if keyword in _MAPS and isinstance(value, dict):
            copy[keyword] = {key: replace(inner) if isinstance(inner, dict) else inner for key, inner in value.items()}
        elif keyword in APPLICATORS and isinstance(value, list):
            copy[keyword] = [replace(inner) if isinstance(inner, dict) else inner for inner in value]
        elif keyword in _ONES and isinstance(value, dict):
            copy[keyword] = replace(value)
        else:
            copy[keyword] = value
    return copy


class Document:
    """One tool's schema, which answers what its references mean. Nothing outside of it is ever looked up."""

    __slots__ = ("_identified", "root")

    def __init__(self, root: Schema) -> None:
        self.root = root
        self._identified: dict[str, Located] | None = None

    def target(self, reference: Any, at: str) -> Located:
        """Give what a ``$ref`` that stands ``at`` a pointer means.

        Raises ``ToolExportError`` for a reference out of the document, and for one that points to nothing.
        """
        if not isinstance(reference, str):
            raise ToolExportError(f"$ref must be text, got {reference!r:.60}", pointer=f"{at}/$ref")
        identity = self.root.get("$id")
        local = reference
        if isinstance(identity, str) and identity.partition("#")[0] and local.startswith(identity.partition("#")[0]):
            local = "#" + local[len(identity.partition("#")[0]) :].removeprefix("#")
        found = self._local(local[1:]) if local.startswith("#") else self._by_identity().get(local)
        if found is not None:
            return found
        if local.startswith("#"):
            raise ToolExportError(f"the reference {reference!r:.120} points to nothing", pointer=f"{at}/$ref")
        raise ToolExportError(
            f"the reference {reference!r:.120} leaves the schema, and no provider follows it: put the schema in $defs",
            pointer=f"{at}/$ref",
        )

    def parts(self) -> Iterator[Located]:
        """Give every schema: those inside of the root, then those that references reach where no schema has to be."""
        walked: set[int] = set()
        references: list[tuple[Any, str]] = []
        waiting = [Located(self.root, "")]
        while waiting:
            for found in walk(*waiting.pop()):
                walked.add(id(found.schema))
                yield found
                references += [(found.schema[keyword], found.pointer) for keyword in REFERENCES & found.schema.keys()]
            while references and not waiting:
                with contextlib.suppress(ToolExportError):
                    target = self.target(*references.pop())
                    if isinstance(target.schema, dict) and id(target.schema) not in walked:
                        waiting.append(target)

    def check_references(self) -> bool:
        """Raise ``ToolExportError`` for the first reference that cannot be followed; say whether there are any."""
        found = False
        for schema, pointer in self.parts():
            for keyword in REFERENCES & schema.keys():
                self.target(schema[keyword], pointer)
                found = True
        return found

    def has(self, pointer: str) -> bool:
        """Whether anything stands at a JSON pointer."""
        return self._at(pointer) is not _NOTHING

    def _at(self, pointer: str) -> Any:
        node: Any = self.root
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, dict) and name in node:
                node = node[name]
            elif isinstance(node, list) and _INDEX.fullmatch(name) and int(name) < len(node):
                node = node[int(name)]
            else:
                return _NOTHING
        return node

    def _local(self, fragment: str) -> Located | None:
        if fragment and not fragment.startswith("/"):
            return self._by_identity().get("#" + unquote(fragment))
        node = self._at(unquote(fragment))
        return Located(node, unquote(fragment)) if isinstance(node, dict | bool) else None

    def _by_identity(self) -> dict[str, Located]:
        if self._identified is None:
            self._identified = {}
            for found in walk(self.root):
                for keyword, prefix in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", "")):
                    name = found.schema.get(keyword)
                    if isinstance(name, str):
                        self._identified.setdefault(prefix + name, found)
        return self._identified
