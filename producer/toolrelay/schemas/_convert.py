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
from toolrelay.schemas._shape import MAX_PARTS, TooLargeError

#: parts that Gemini's ``parameters`` may have more than the schema, for they have no references
_MAX_REPEATED: Final = 2000

Converted = tuple[Schema, ArgumentNames, str]


def convert(root: Schema, target: str) -> tuple[Schema, ArgumentNames, str, tuple[Loss, ...]]:
    """Write a schema for a target; the root is the conversion's own, and may be changed."""
    losses = Losses()
    document = Document(root)
    check_sanity(document, losses)
    mended = tuple(losses)
    schema, names, form = _TARGETS[target](document, losses)
    located = dict.fromkeys(_located(document, loss) for loss in losses[len(mended) :])
    return schema, names, form, (*mended, *located)


def _located(document: Document, loss: Loss) -> Loss:
    """Let a loss point to what is there: keywords that were merged, or made of others, are not in the schema."""
    holder, _, keyword = loss.pointer.rpartition("/")
    if keyword == "enum" and document.has(f"{holder}/const") and not document.has(loss.pointer):
        return loss._replace(pointer=f"{holder}/const", what="const")
    pointer = loss.pointer
    while not document.has(pointer):
        pointer = pointer.rpartition("/")[0]
    return loss._replace(pointer=pointer)


def _emitted(
    document: Document,
    losses: Losses,
    dialect: Dialect,
    form: str,
    max_parts: int = MAX_PARTS,
    *,
    cuts_early: bool = False,
) -> Converted:
    found = Losses()  # of a dialect that turns out to be unfit nothing is lost
    schema, names = Emitter(document, dialect, found, max_parts, cuts_early=cuts_early).root()
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
        return _emitted(document, losses, dialect, "parameters", _MAX_REPEATED)
    except (Unfit, ToolExportError):  # perhaps only too large without references, which the other form has
        return _gemini_json_schema(document, losses)


def _gemini_json_schema(document: Document, losses: Losses) -> Converted:
    try:
        return _emitted(document, losses, _dialects.GEMINI_JSON_SCHEMA, "json_schema")
    except TooLargeError:
        return _emitted(document, losses, _dialects.GEMINI_JSON_SCHEMA, "json_schema", cuts_early=True)


_TARGETS: Final[dict[str, Callable[[Document, Losses], Converted]]] = {
    "gemini": partial(_gemini, dialect=_dialects.GEMINI_PARAMETERS),
    "gemini_upper": partial(_gemini, dialect=replace(_dialects.GEMINI_PARAMETERS, upper_case_types=True)),
    "gemini_json_schema": _gemini_json_schema,
    "openai": partial(_as_it_is, rules=_plain.OPENAI),
    "openai_strict": partial(_strict, dialect=_dialects.OPENAI_STRICT, rules=_plain.OPENAI),
    "anthropic": partial(_as_it_is, rules=_plain.ANTHROPIC),
    "anthropic_strict": partial(_strict, dialect=_dialects.ANTHROPIC_STRICT, rules=_plain.ANTHROPIC),
    "bedrock": partial(_as_it_is, rules=_plain.BEDROCK),
    "bedrock_strict": partial(_strict, dialect=_dialects.BEDROCK_STRICT, rules=_plain.BEDROCK),
    "as_is": partial(_as_it_is, rules=_plain.AS_IS),
}
