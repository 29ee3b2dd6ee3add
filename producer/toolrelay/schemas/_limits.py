"""Limits of one alternative (lengths, bounds, formats, fixed values) in a dialect: kept, moved, or told in words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from toolrelay.schemas._dialects import Dialect
from toolrelay.schemas._document import Schema
from toolrelay.schemas._losses import Losses
from toolrelay.schemas._shape import Option
from toolrelay.schemas._words import in_words

#: written by the emitter, for they hold schemas, or names of properties
STRUCTURE: Final = frozenset({"properties", "required", "additionalProperties", "items", "prefixItems"})

#: bounds that an integer has in its neighbour too
_NEIGHBOURS: Final[dict[str, tuple[str, Callable[[Any], int], Callable[..., Any]]]] = {
    "exclusiveMinimum": ("minimum", lambda bound: math.floor(bound) + 1, max),
    "exclusiveMaximum": ("maximum", lambda bound: math.ceil(bound) - 1, min),
}
#: values that limit nothing
_UNLIMITED: Final[dict[str, tuple[Any, ...]]] = {
    "uniqueItems": (False,),
    **dict.fromkeys(("minLength", "minItems", "minProperties"), (0,)),
    **dict.fromkeys(("propertyNames", "unevaluatedProperties"), (True, {})),
}
#: annotations in 2020-12, which refuse nothing
_NEVER_CHECKED: Final = frozenset({"format", "contentEncoding", "contentMediaType"})


def write_limits(option: Option, dialect: Dialect, written: Schema, losses: Losses) -> list[str]:
    """Add an option's limits to what is written of it; give those that only words can tell."""
    notes: list[str] = []
    for keyword, value in option.keywords.items():
        if keyword in STRUCTURE or value in _UNLIMITED.get(keyword, ()):
            continue
        if keyword == "enum":
            is_written = _write_enum(option, value, dialect, written)
        elif keyword == "format":
            is_written = _write_format(option, value, dialect, written)
        else:
            is_written = _write_limit(option, keyword, value, dialect, written)
        if not is_written:
            notes += _tell(option, keyword, value, dialect, losses)
    return notes


def _tell(option: Option, keyword: str, value: Any, dialect: Dialect, losses: Losses) -> list[str]:
    words = None if keyword in dialect.never_described else in_words(keyword, value)
    moved = "" if words is None else ": moved to the description"
    checked = "" if keyword in _NEVER_CHECKED else "; checked when the call is validated"
    losses.add(f"{option.place.pointer}/{keyword}", keyword, f"{dialect.title} cannot say it{moved}{checked}")
    return [] if words is None else [words]


def _write_enum(option: Option, values: list[Any], dialect: Dialect, written: Schema) -> bool:
    is_text = all(isinstance(value, str) and value for value in values)
    if option.type in ("object", "array") or (dialect.is_enum_text and not is_text):
        return False
    written["enum"] = values
    return True


def _write_format(option: Option, name: str, dialect: Dialect, written: Schema) -> bool:
    is_known = dialect.formats is None or name in dialect.formats.get(option.type, ())
    if is_known:
        written["format"] = name
    return is_known


def _write_limit(option: Option, keyword: str, value: Any, dialect: Dialect, written: Schema) -> bool:
    if _can_say(keyword, value, dialect):
        written.setdefault(keyword, value)  # an exclusive bound may have come first, with both in mind
        return True
    neighbour, shift, narrower = _NEIGHBOURS.get(keyword, ("", int, max))
    if option.type != "integer" or neighbour not in dialect.keywords:
        return False
    bound = shift(value)
    written[neighbour] = narrower(bound, option.keywords.get(neighbour, bound))
    return True


def _can_say(keyword: str, value: Any, dialect: Dialect) -> bool:
    if keyword not in dialect.keywords:
        return False
    if keyword == "minItems" and dialect.max_min_items is not None:
        return bool(value <= dialect.max_min_items)
    return keyword != "pattern" or dialect.has_look_around or "(?" not in value.replace("(?:", "")
