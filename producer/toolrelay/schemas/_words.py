"""Limits in a model's words, for the descriptions of parameters whose limits a provider cannot be told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

_MAX_LENGTH: Final = 200


def in_words(keyword: str, value: Any) -> str | None:
    """Say what a keyword asks for; ``None`` for one that cannot be said in a few words."""
    say = _WORDS.get(keyword)
    text = None if say is None else say(value)
    return text if text is not None and len(text) <= _MAX_LENGTH else None


def _one_of(values: list[Any]) -> str:
    told = ", ".join(json.dumps(value, ensure_ascii=False) for value in values)
    return f"one of {told}" if len(values) > 1 else f"always {told}"


def _counted(value: Any, what: str) -> str:
    return f"{value} {what}" if value == 1 else f"{value} {what}s"


_WORDS: Final[dict[str, Callable[[Any], str]]] = {
    "enum": _one_of,
    "minimum": lambda value: f"at least {value}",
    "maximum": lambda value: f"at most {value}",
    "exclusiveMinimum": lambda value: f"greater than {value}",
    "exclusiveMaximum": lambda value: f"less than {value}",
    "multipleOf": lambda value: f"a multiple of {value}",
    "minLength": lambda value: f"at least {_counted(value, 'character')}",
    "maxLength": lambda value: f"at most {_counted(value, 'character')}",
    "pattern": lambda value: f"matches the pattern {value}",
    "minItems": lambda value: f"at least {_counted(value, 'item')}",
    "maxItems": lambda value: f"at most {_counted(value, 'item')}",
    "uniqueItems": lambda _: "no item twice",
    "minProperties": lambda value: f"at least {_counted(value, 'member')}",
    "maxProperties": lambda value: f"at most {_counted(value, 'member')}",
}
