"""A tool's JSON Schema in each provider's dialect, with what it costs. Pure functions; nothing passed in is changed.

Raises ``ToolExportError``, with a JSON pointer, for a schema that no form of the provider's can express.
"""

from __future__ import annotations

import functools
import json
import marshal
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from toolrelay.errors import ToolExportError
from toolrelay.names import ArgumentNames
from toolrelay.schemas._document import Schema
from toolrelay.schemas._losses import Loss

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
    return _exported(schema, "gemini_upper" if upper_case_types else "gemini")


def to_gemini_json_schema(schema: Mapping[str, Any]) -> ExportedSchema:
    """Write ``parametersJsonSchema``, or the ``parameters`` of Gemini Interactions."""
    return _exported(schema, "gemini_json_schema")


def to_openai(schema: Mapping[str, Any], *, strict: bool = False) -> ExportedSchema:
    """Write ``parameters`` for Chat and Responses; a schema that cannot be strict comes out plain, with the reason."""
    return _exported(schema, "openai_strict" if strict else "openai")


def to_anthropic(schema: Mapping[str, Any], *, strict: bool = False) -> ExportedSchema:
    """Write ``input_schema``; a schema that cannot be strict comes out plain, with the reason among its losses."""
    return _exported(schema, "anthropic_strict" if strict else "anthropic")


def to_bedrock(schema: Mapping[str, Any], *, strict: bool = False) -> ExportedSchema:
    """Write ``inputSchema.json`` of a Converse tool; one that cannot be strict comes out plain, with the reason."""
    return _exported(schema, "bedrock_strict" if strict else "bedrock")


def as_is(schema: Mapping[str, Any]) -> ExportedSchema:
    """Give the schema for those who take any, with ``type: object`` at its root: MCP."""
    return _exported(schema, "as_is")


class _Kept(NamedTuple):
    data: bytes
    losses: tuple[Loss, ...]
    names: ArgumentNames
    form: str


_ENCODER: Final = json.JSONEncoder(allow_nan=False)
_NO_SHARING: Final = 2  # the last of marshal's versions in which equal values are equal bytes


def _exported(schema: Mapping[str, Any], target: str) -> ExportedSchema:
    kept = _converted(_key(schema), target)
    # Out of bytes: a copy that nobody else holds, at C's speed.
    copy = marshal.loads(kept.data)  # noqa: S302 # bytes that _converted has written
    return ExportedSchema(copy, kept.losses, kept.names, kept.form)


def _key(schema: Any) -> bytes:
    """Give what tells a schema from every other one; the schema may change later, and then has another key."""
    try:
        return marshal.dumps(schema, _NO_SHARING)
    except ValueError:  # something that is not one of Python's own types, such as another kind of mapping
        text = _text(dict(schema))
    return marshal.dumps(json.loads(text), _NO_SHARING)


def _text(schema: Any) -> str:
    try:
        return _ENCODER.encode(schema)
    except (TypeError, ValueError, RecursionError) as exc:
        raise ToolExportError(f"the schema is not valid JSON: {exc}"[:300]) from exc


@functools.lru_cache(maxsize=_MAX_CACHED)
def _converted(key: bytes, target: str) -> _Kept:
    from toolrelay.schemas._convert import convert  # whoever only reads calls does not pay for it

    root = json.loads(_text(marshal.loads(key)))  # noqa: S302 # bytes that _key has written
    try:
        schema, names, form, losses = convert(root, target)
        # through text, so that nothing in it is the same object twice
        return _Kept(marshal.dumps(json.loads(json.dumps(schema))), losses, names, form)
    except RecursionError as exc:
        raise ToolExportError("the schema is nested too deeply") from exc
    except ToolExportError:
        raise
    except (ArithmeticError, ValueError) as exc:  # a number that Python cannot count with, or not write
        raise ToolExportError(f"the schema cannot be converted: {exc}"[:300]) from exc
