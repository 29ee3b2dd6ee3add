"""The targets of a conversion: the dialect or rules of each provider, and what is sent where a dialect is unfit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from toolrelay.errors import ToolExportError
from toolrelay.names import ArgumentNames
from toolrelay.schemas import _dialects, _plain
from toolrelay.schemas._dialects import Dialect
from toolrelay.schemas._document import Document, Schema
from toolrelay.schemas._emit import Emitter, Unfit
from toolrelay.schemas._losses import Loss, Losses
from toolrelay.schemas._plain import Rules, write_plain
from toolrelay.schemas._sanity import check_sanity

Converted = tuple[Schema, ArgumentNames, str]


def convert(root: Schema, target: str) -> tuple[Schema, ArgumentNames, str, tuple[Loss, ...]]:
    """Write a schema for a target; the root is the conversion's own, and may be changed."""
    losses = Losses()
    document = Document(root)
    check_sanity(document, losses)
    schema, names, form = _TARGETS[target](document, losses)
    return schema, names, form, tuple(losses)


def _emitted(document: Document, losses: Losses, dialect: Dialect, form: str) -> Converted:
    found = Losses()  # of a dialect that turns out to be unfit nothing is lost
    schema, names = Emitter(document, dialect, found).root()
    losses.extend(found)
    return schema, names, form


def _as_it_is(document: Document, losses: Losses, rules: Rules) -> Converted:
    return (*write_plain(document, rules, losses), "plain")


def _strict(document: Document, losses: Losses, dialect: Dialect, rules: Rules) -> Converted:
    try:
        return _emitted(document, losses, dialect, "strict")
    except Unfit as unfit:
        why = f"sent without it, for {dialect.title} cannot say {unfit.what!r}: {unfit.why}"
        losses.add(unfit.pointer, "strict", why)
    except ToolExportError as error:  # perhaps only too large with its references followed
        losses.add(error.pointer, "strict", f"sent without it: {error.why}")
    return _as_it_is(document, losses, rules)


def _gemini(document: Document, losses: Losses, dialect: Dialect) -> Converted:
    try:
        return _emitted(document, losses, dialect, "parameters")
    except Unfit:
        return _gemini_json_schema(document, losses)


def _gemini_json_schema(document: Document, losses: Losses) -> Converted:
    return _emitted(document, losses, _dialects.GEMINI_JSON_SCHEMA, "json_schema")


_TARGETS: Final[dict[str, Callable[[Document, Losses], Converted]]] = {
    "gemini": partial(_gemini, dialect=_dialects.GEMINI_PARAMETERS),
    "gemini_upper": partial(_gemini, dialect=replace(_dialects.GEMINI_PARAMETERS, upper_case_types=True)),
    "gemini_json_schema": _gemini_json_schema,
    "openai": partial(_as_it_is, rules=_plain.OPENAI),
    "openai_strict": partial(_strict, dialect=_dialects.OPENAI_STRICT, rules=_plain.OPENAI),
    "anthropic": partial(_as_it_is, rules=_plain.ANTHROPIC),
    "anthropic_strict": partial(_strict, dialect=_dialects.ANTHROPIC_STRICT, rules=_plain.ANTHROPIC),
    "bedrock": partial(_as_it_is, rules=_plain.BEDROCK),
    "as_is": partial(_as_it_is, rules=_plain.AS_IS),
}
