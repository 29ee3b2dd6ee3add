"""The root of a tool's schema: an object, and for most providers one without alternatives.

The alternatives of a root are joined into one object that has the properties of all of them and requires what all of
them require; which of them go together is checked when the call is validated.
"""

from __future__ import annotations

from typing import Any

from toolrelay.errors import ToolExportError
from toolrelay.schemas._document import Schema
from toolrelay.schemas._losses import Losses
from toolrelay.schemas._merge import both, merge
from toolrelay.schemas._shape import CONDITIONS, Place, Shaper


def root_object(shaper: Shaper, root: Schema, place: Place, losses: Losses, title: str) -> tuple[Schema, Place]:
    """Give the root as one object, without ``$ref``, ``allOf``, ``anyOf`` and ``oneOf``, and where it stands.

    ``title`` is what cannot have them, for the reason of the loss. Raises ``ToolExportError`` for what is no object.
    """
    flat, place = shaper.flatten(root, place)
    check_object(flat)
    for keyword in ("anyOf", "oneOf"):
        if keyword in flat:
            losses.add(
                f"/{keyword}",
                keyword,
                f"{title} has no alternatives at the root: joined into one object; checked when the call is validated",
            )
            flat = _joined(shaper, flat, keyword, place)
    return flat, place


def check_object(flat: Schema) -> None:
    """Raise ``ToolExportError`` for a root that is meant for something else than an object."""
    types = flat.get("type", "object")
    if "object" not in ([types] if isinstance(types, str) else types):
        raise ToolExportError(f"the arguments of a call are an object, and the schema wants {types!r}", pointer="/type")


def _joined(shaper: Shaper, flat: Schema, keyword: str, place: Place) -> Schema:
    base = {name: value for name, value in flat.items() if name != keyword}
    branches = [branch for branch in _branches(shaper, flat[keyword], place) if _is_object(branch)]
    if not branches:
        raise ToolExportError("the arguments of a call are an object, and no alternative is one", pointer=f"/{keyword}")
    properties: Schema = dict(base.get("properties", {}))
    for branch in branches:
        for name in branch.get("properties", {}):
            properties[name] = _any_of(name, base, branches)
    required = list(base.get("required", ()))
    for name in branches[0].get("required", ()):
        if name not in required and all(name in branch.get("required", ()) for branch in branches):
            required.append(name)
    joined = {**base, "type": "object", "properties": properties}
    if required:
        joined["required"] = required
    if "additionalProperties" not in base and all(map(_is_closed, branches)):
        joined["additionalProperties"] = False
    elif any(_is_for_more(branch, base) for branch in branches):
        joined["additionalProperties"] = True
    return joined


def _is_for_more(branch: Schema, base: Schema) -> bool:
    """Whether an alternative is there for properties that it does not declare: the whole may not be closed then."""
    rest = branch.get("additionalProperties")
    if "patternProperties" in branch or not CONDITIONS.isdisjoint(branch):
        return True
    return rest not in (None, False) or (rest is None and not (branch.get("properties") or base.get("properties")))


def _branches(shaper: Shaper, alternatives: list[Any], place: Place) -> list[Schema]:
    found: list[Schema] = []
    for alternative in alternatives:
        flat, reached = shaper.flatten(alternative, place)
        inner = next((keyword for keyword in ("anyOf", "oneOf") if keyword in flat), None)
        if inner is None:
            found.append(flat)
            continue
        rest = {name: value for name, value in flat.items() if name != inner}
        found += [merge(rest, branch)[0] for branch in _branches(shaper, flat[inner], reached)]
    return found


def _is_object(branch: Schema) -> bool:
    types = branch.get("type", "object")
    return branch.get("not") not in (True, {}) and "object" in ([types] if isinstance(types, str) else types)


def _is_closed(branch: Schema) -> bool:
    return branch.get("additionalProperties") is False and "patternProperties" not in branch


def _any_of(name: str, base: Schema, branches: list[Schema]) -> Any:
    own = base.get("properties", {}).get(name)
    schemas: list[Any] = []
    for branch in branches:
        schema = branch.get("properties", {}).get(name)
        if schema is None and own is not None:
            return own
        if schema is not None and schema not in schemas:
            schemas.append(schema)
    union = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
    return union if own is None else both(own, union)
