"""A tool's JSON Schema in each provider's dialect, with what it costs. Pure functions; nothing passed in is changed.

Raises ``ToolExportError``, with a JSON pointer, for a schema that no form of the provider's can express.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from toolrelay.errors import ToolExportError
from toolrelay.names import ArgumentNames
from toolrelay.schemas import _dialects, _plain
from toolrelay.schemas._dialects import Dialect
from toolrelay.schemas._document import Document, Schema
from toolrelay.schemas._emit import Emitter, Unfit
from toolrelay.schemas._losses import Loss, Losses
from toolrelay.schemas._plain import Rules, write_plain
from toolrelay.schemas._sanity import check_sanity

_MAX_CACHED: Final = 512


class ExportedSchema(NamedTuple):
    """A schema in a provider's dialect."""

    schema: Schema
    losses: tuple[Loss, ...]
    names: ArgumentNames
    """What was renamed: how arguments that come back are mapped to the tool's own names."""
    form: str
    """``"parameters"`` or ``"json_schema"`` for Gemini, ``"strict"`` or ``"plain"`` for the others."""


def to_gemini(schema: Mapping[str, Any], *, upper_case_types: bool = False) -> ExportedSchema:
    """Write the ``parameters`` of a function declaration or its ``parametersJsonSchema``: ``form`` says which it is.

    It is ``parameters``, which all models take, unless the schema has typed maps or tuples, which only
    ``parametersJsonSchema`` can say.
    """
    return _exported(schema, _gemini_upper if upper_case_types else _gemini)


def to_gemini_json_schema(schema: Mapping[str, Any]) -> ExportedSchema:
    """Write ``parametersJsonSchema``, or the ``parameters`` of Gemini Interactions."""
    return _exported(schema, _gemini_json)


def to_openai(schema: Mapping[str, Any], *, strict: bool = False) -> ExportedSchema:
    """Write ``parameters`` for Chat and Responses; a schema that cannot be strict comes out plain, with the reason."""
    return _exported(schema, _openai_strict if strict else _openai)


def to_anthropic(schema: Mapping[str, Any], *, strict: bool = False) -> ExportedSchema:
    """Write ``input_schema``; a schema that cannot be strict comes out plain, with the reason among its losses."""
    return _exported(schema, _anthropic_strict if strict else _anthropic)


def to_bedrock(schema: Mapping[str, Any]) -> ExportedSchema:
    """Write ``inputSchema.json`` of a Converse tool."""
    return _exported(schema, _bedrock)


def as_is(schema: Mapping[str, Any]) -> ExportedSchema:
    """Give the schema for those who take any, with ``type: object`` at its root: MCP."""
    return _exported(schema, _as_is)


class _Kept(NamedTuple):
    text: str
    losses: tuple[Loss, ...]
    names: ArgumentNames
    form: str


_Converter = Callable[[Document, Losses], tuple[Schema, ArgumentNames, str]]
_ENCODER: Final = json.JSONEncoder(allow_nan=False)


def _exported(schema: Mapping[str, Any], converter: _Converter) -> ExportedSchema:
    # As text: a key that changes with the schema, and a copy that nobody else holds, both at C's speed.
    try:
        text = _ENCODER.encode(schema if isinstance(schema, dict) else dict(schema))
    except (TypeError, ValueError, RecursionError) as exc:
        raise ToolExportError(f"the schema is no JSON: {exc}"[:300]) from exc
    kept = _converted(text, converter)
    return ExportedSchema(json.loads(kept.text), kept.losses, kept.names, kept.form)


@functools.lru_cache(maxsize=_MAX_CACHED)
def _converted(text: str, converter: _Converter) -> _Kept:
    losses = Losses()
    try:
        document = Document(json.loads(text))
        check_sanity(document.root)
        schema, names, form = converter(document, losses)
        return _Kept(json.dumps(schema), tuple(losses), names, form)
    except RecursionError as exc:
        raise ToolExportError("the schema is nested too deeply") from exc


def _emitted(document: Document, losses: Losses, dialect: Dialect) -> tuple[Schema, ArgumentNames]:
    found = Losses()
    result = Emitter(document, dialect, found).root()
    losses.extend(found)
    return result


def _strict(document: Document, losses: Losses, dialect: Dialect, rules: Rules) -> tuple[Schema, ArgumentNames, str]:
    try:
        return (*_emitted(document, losses, dialect), "strict")
    except Unfit as unfit:
        losses.add(
            unfit.pointer, "strict", f"sent without it, for {dialect.title} cannot say {unfit.what!r}: {unfit.why}"
        )
    return (*write_plain(document, rules, losses), "plain")


def _openai(document: Document, losses: Losses) -> tuple[Schema, ArgumentNames, str]:
    return (*write_plain(document, _plain.OPENAI, losses), "plain")


def _openai_strict(document: Document, losses: Losses) -> tuple[Schema, ArgumentNames, str]:
    return _strict(document, losses, _dialects.OPENAI_STRICT, _plain.OPENAI)


def _anthropic(document: Document, losses: Losses) -> tuple[Schema, ArgumentNames, str]:
    return (*write_plain(document, _plain.ANTHROPIC, losses), "plain")


def _anthropic_strict(document: Document, losses: Losses) -> tuple[Schema, ArgumentNames, str]:
    return _strict(document, losses, _dialects.ANTHROPIC_STRICT, _plain.ANTHROPIC)


def _bedrock(document: Document, losses: Losses) -> tuple[Schema, ArgumentNames, str]:
    return (*write_plain(document, _plain.BEDROCK, losses), "plain")


def _as_is(document: Document, losses: Losses) -> tuple[Schema, ArgumentNames, str]:
    return (*write_plain(document, _plain.AS_IS, losses), "plain")


def _gemini_json(document: Document, losses: Losses) -> tuple[Schema, ArgumentNames, str]:
    return (*_emitted(document, losses, _dialects.GEMINI_JSON_SCHEMA), "json_schema")


def _gemini(document: Document, losses: Losses, *, upper_case_types: bool = False) -> tuple[Schema, ArgumentNames, str]:
    dialect = replace(_dialects.GEMINI_PARAMETERS, upper_case_types=upper_case_types)
    try:
        return (*_emitted(document, losses, dialect), "parameters")
    except Unfit:
        return _gemini_json(document, losses)


def _gemini_upper(document: Document, losses: Losses) -> tuple[Schema, ArgumentNames, str]:
    return _gemini(document, losses, upper_case_types=True)
