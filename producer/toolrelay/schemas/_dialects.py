"""What each provider's smaller dialects of JSON Schema have: tables, so that a change at a provider is a change here.

Sources: https://ai.google.dev/api/caching#Schema (``parameters``), the same page on ``parametersJsonSchema``;
https://platform.openai.com/docs/guides/structured-outputs#supported-schemas and
https://docs.claude.com/en/docs/build-with-claude/structured-outputs for the strict forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from toolrelay.names import Alphabet

_ANY_FORMAT: Final[Mapping[str, frozenset[str]] | None] = None
_STRICT_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What may be said, and how."""

    title: str
    """How it is called in a loss's reason."""
    keywords: frozenset[str]
    """Limits that it knows; all others go into the description."""
    formats: Mapping[str, frozenset[str]] | None
    """Formats that it knows of each type; ``None``: any text is taken."""
    annotations: frozenset[str]
    has_nullable: bool = False
    """``nullable: true`` beside one type, instead of a list of types."""
    is_union_alone: bool = False
    """Nothing may stand beside ``anyOf``: Vertex AI refuses the whole request."""
    is_enum_text: bool = False
    """Members of an ``enum`` are non-empty strings."""
    is_closed: bool = False
    """Every object has ``additionalProperties: false``: open ones cannot be said."""
    is_all_required: bool = False
    """Every property is required; what may be left out is nullable instead."""
    has_references: bool = False
    """``$ref`` may point to a definition."""
    has_needed_recursion: bool = False
    """A recursion may go through what is required."""
    has_maps: bool = False
    has_tuples: bool = False
    has_untyped: bool = False
    """``{}`` may stand for any value."""
    has_look_around: bool = True
    """Patterns may look ahead and behind."""
    max_min_items: int | None = None
    """The largest ``minItems``."""
    parameter_names: Alphabet | None = None
    upper_case_types: bool = False
    never_described: frozenset[str] = field(default=frozenset({"format", "additionalProperties"}))
    """What says little to a model, or what its description says anyway: lost, not moved into the description."""


_GEMINI_NAMES: Final = Alphabet("a-zA-Z0-9_", 64, first="a-zA-Z_")

GEMINI_PARAMETERS: Final = Dialect(
    title="Gemini's parameters",
    keywords=frozenset(
        {
            *("minimum", "maximum", "minLength", "maxLength", "pattern"),
            *("minItems", "maxItems", "minProperties", "maxProperties"),
        }
    ),
    formats={
        "string": frozenset({"date-time", "enum"}),
        "number": frozenset({"float", "double"}),
        "integer": frozenset({"int32", "int64"}),
    },
    annotations=frozenset({"description", "default"}),
    has_nullable=True,
    is_union_alone=True,
    is_enum_text=True,
    parameter_names=_GEMINI_NAMES,
)
GEMINI_JSON_SCHEMA: Final = Dialect(
    title="Gemini's parametersJsonSchema",
    keywords=frozenset({"minimum", "maximum", "minItems", "maxItems"}),
    formats=_ANY_FORMAT,
    annotations=frozenset({"description"}),
    has_maps=True,
    has_tuples=True,
    has_untyped=True,
    has_references=True,
    parameter_names=_GEMINI_NAMES,
)
OPENAI_STRICT: Final = Dialect(
    title="OpenAI's strict mode",
    keywords=frozenset(
        {
            *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
            *("pattern", "minItems", "maxItems"),
        }
    ),
    formats={"string": _STRICT_FORMATS},
    annotations=frozenset({"description", "title"}),
    is_closed=True,
    is_all_required=True,
    has_references=True,
    has_needed_recursion=True,
    has_look_around=False,
)
ANTHROPIC_STRICT: Final = Dialect(
    title="Anthropic's strict mode",
    keywords=frozenset({"minItems"}),
    formats={"string": _STRICT_FORMATS | {"uri"}},
    annotations=frozenset({"description", "title", "default"}),
    is_closed=True,
    max_min_items=1,
    parameter_names=Alphabet("a-zA-Z0-9_.-", 64),
)
#: botocore's ``ToolSpecification`` has ``strict``; the models behind it enforce what Anthropic's API does
BEDROCK_STRICT: Final = replace(ANTHROPIC_STRICT, title="Bedrock's strict mode")
