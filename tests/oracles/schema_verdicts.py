"""What is wrong with a schema that was written for a provider: judged by the provider's rules and by instances."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from google.genai import types as gemini_types

from tests.oracles.disagreements import Difference
from tests.oracles.schema_converters import FORMS, OURS, SchemaConverter
from tests.unit.test_schema_dialects import (
    ANTHROPIC_STRICT_WORDS,
    GEMINI_JSON_WORDS,
    GEMINI_WORDS,
    OPENAI_STRICT_WORDS,
    can_say,
    names_in,
    parts,
)
from tests.unit.tricky_schemas import TRICKY, Tricky
from toolrelay.names import ArgumentNames
from toolrelay.schemas._document import replace_subschemas
from toolrelay.schemas.export import ExportedSchema

#: nothing is wrong with it
FINE: Final = "fine"
#: a kind of flaw, and its example
Flaw = tuple[str, str]

_UNIONS: Final = ("anyOf", "oneOf", "allOf")
_EMPTY: Final[dict[str, Any]] = {"type": "object", "properties": {}}
_NOTES: Final = {"$schema", "$id", "title", "description", "examples"}


def difference_of(case: str, converter: SchemaConverter) -> Difference | None:
    """Judge what a library makes of a tricky schema, and what toolrelay does; ``None`` where it is the same."""
    tricky = TRICKY[case]
    theirs = _flaws_of_theirs(tricky, converter)
    ours = list(flaws(tricky, OURS[converter.target](tricky.schema), converter.target))
    if {kind for kind, _ in theirs} == {kind for kind, _ in ours}:
        return None
    return Difference(f"{converter.target}: {case}", converter.library, _told(theirs), _told(ours))


def _told(found: list[Flaw]) -> str:
    return "; ".join(" ".join(filter(None, flaw)) for flaw in found) or FINE


def _flaws_of_theirs(tricky: Tricky, converter: SchemaConverter) -> list[Flaw]:
    try:
        written = _readable(json.dumps(converter.convert(copy.deepcopy(tricky.schema))), converter.target)
    except Exception as exc:  # noqa: BLE001 # whatever a library raises for a schema is its answer
        return [("raises", type(exc).__name__)]
    form = FORMS.get(converter.target, "plain")
    return list(flaws(tricky, ExportedSchema(written, (), ArgumentNames(), form), converter.target))


def _readable(text: str, target: str) -> dict[str, Any]:
    """Give what the provider reads: definitions of either name, and for Interactions only the words that it honours."""
    written = json.loads(text.replace("#/definitions/", "#/$defs/")) or _EMPTY
    if "definitions" in written:
        written["$defs"] = written.pop("definitions")
    return _honoured(written) if target == "gemini_interactions" else written


def _honoured(schema: dict[str, Any]) -> dict[str, Any]:
    spelled = {word.replace("oneOf", "anyOf"): value for word, value in schema.items()}
    known = {word: value for word, value in spelled.items() if word in GEMINI_JSON_WORDS}
    return replace_subschemas(known, _honoured)


def flaws(tricky: Tricky, exported: ExportedSchema, target: str) -> Iterator[Flaw]:
    """Give each kind of flaw once: what is refused, lost, can no longer be said, and can be said beyond the schema."""
    rules = _PLAIN[target.removesuffix(" strict")] if exported.form == "plain" else _RULES[target, exported.form]
    refused = next(rules(exported.schema), None)
    if refused is not None:
        yield "is refused:", refused
    kept = {exported.names.own.get(name, name) for name in names_in(exported.schema)}
    own = names_in({key: value for key, value in tricky.schema.items() if key != "$defs"})
    lost = [name for name in dict.fromkeys(own) if name not in kept]
    if lost:
        yield "loses", ", ".join(lost)
    yield from _misunderstood(tricky, exported)


def _misunderstood(tricky: Tricky, exported: ExportedSchema) -> Iterator[Flaw]:
    try:
        unsaid = [arguments for arguments in tricky.taken if not can_say(exported, arguments)]
        beyond = [arguments for arguments in tricky.refused if can_say(exported, arguments)]
    except (ValueError, KeyError):
        yield "refers to nothing", ""
        return
    if unsaid:
        yield "cannot say", json.dumps(unsaid[0], ensure_ascii=False)
    if beyond:
        yield "takes more", ""


# what each provider refuses

Rules = Callable[[dict[str, Any]], Iterator[str]]
_PARAMETER: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_GEMINI_PARAMETER: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")


def _root(root: dict[str, Any], *forbidden: str) -> Iterator[str]:
    if root.get("type") not in ("object", "OBJECT"):
        yield "a root without `type: object`"
    yield from (f"`{word}` at the root" for word in (*_UNIONS, *forbidden) if word in root)


def _openai(root: dict[str, Any]) -> Iterator[str]:
    yield from _root(root, "enum", "not", "const")
    if any(part.get("type") == "array" and "items" not in part for part in parts(root)):
        yield "an array without `items`"


def _anthropic(root: dict[str, Any]) -> Iterator[str]:
    yield from _root(root)
    yield from (f"the name {name!r}" for name in root.get("properties", ()) if not _PARAMETER.fullmatch(name))


def _unknown(part: dict[str, Any], words: set[str]) -> Iterator[str]:
    yield from (f"`{word}`" for word in part if word not in words)


def _openai_strict(root: dict[str, Any]) -> Iterator[str]:
    yield from _root(root)
    for part in parts(root):
        yield from _unknown(part, OPENAI_STRICT_WORDS | _NOTES | {"const"})
        if "$ref" in part and len(part) > 1:
            yield "words beside `$ref`"
        if not part.keys() & {"type", "anyOf", "$ref", "enum", "const"}:
            yield "a value of any type"
        if part.get("type") == "array" and not part.get("items"):
            yield "an array of anything"
        yield from _unclosed(part)
        if set(part.get("properties", ())) - set(part.get("required", ())):
            yield "a property that is not required"


def _unclosed(part: dict[str, Any]) -> Iterator[str]:
    if part.get("type") == "object" and part.get("additionalProperties") is not False:
        yield "an open object"


def _anthropic_strict(root: dict[str, Any]) -> Iterator[str]:
    yield from _anthropic(root)
    for part in parts(root):
        yield from _unknown(part, ANTHROPIC_STRICT_WORDS | _NOTES | {"const", "$ref", "$defs", "allOf"})
        yield from _unclosed(part)
    if _recurs(root, root, ()):
        yield "a recursion"


def _gemini(root: dict[str, Any]) -> Iterator[str]:
    try:
        message = gemini_types.Schema.model_validate(root)
    except (ValueError, AttributeError):  # the second: a list where one type is asked for
        yield "a schema that the SDK's own type does not take"
        return
    if message.type is None or message.type.value != "OBJECT":
        yield "a root without `type: object`"
    for part in parts(message.model_dump(mode="json", exclude_none=True, by_alias=True)):
        yield from _unknown(part, GEMINI_WORDS | {"title", "example", "propertyOrdering"})
        yield from _gemini_part(part)


def _gemini_part(part: dict[str, Any]) -> Iterator[str]:
    if not part.keys() & {"type", "anyOf"}:
        yield "a value of any type"
    if "anyOf" in part and len(part) > 1:
        yield "words beside `anyOf`"
    if part.get("type") == "OBJECT" and part.get("properties") == {}:
        yield "empty `properties`"
    if not all(isinstance(value, str) and value for value in part.get("enum", ())):
        yield "an enum of anything but non-empty text"
    if part.get("type") == "ARRAY" and not part.get("items"):
        yield "an array without `items`"
    properties = part.get("properties", {})
    if part.get("type") == "OBJECT" and set(part.get("required", ())) - set(properties):
        yield "a required property that is not there"
    yield from (f"the name {name!r}" for name in properties if not _GEMINI_PARAMETER.fullmatch(name))


def _gemini_json(root: dict[str, Any]) -> Iterator[str]:
    yield from _root(root)
    for part in parts(root):
        names = part.get("properties", ())
        yield from (f"the name {name!r}" for name in names if not _GEMINI_PARAMETER.fullmatch(name))
    if _recurs(root, root, ()):
        yield "a recursion through what is required"


def _recurs(part: dict[str, Any], root: dict[str, Any], chain: tuple[str, ...]) -> bool:
    """Whether a definition requires itself inside of itself."""
    reference = part.get("$ref")
    if reference is not None:
        target = root.get("$defs", {}).get(reference.rpartition("/")[2], {})
        return reference in chain or _recurs(target, root, (*chain, reference))
    inside = [part["properties"][name] for name in part.get("required", ()) if name in part.get("properties", {})]
    return any(_recurs(one, root, chain) for one in [*inside, part.get("items")] if isinstance(one, dict))


_PLAIN: Final[dict[str, Rules]] = {"openai": _openai, "anthropic": _anthropic, "bedrock": _anthropic}
_RULES: Final[dict[tuple[str, str], Rules]] = {
    ("openai strict", "strict"): _openai_strict,
    ("anthropic strict", "strict"): _anthropic_strict,
    ("gemini", "parameters"): _gemini,
    ("gemini", "json_schema"): _gemini_json,
    ("gemini_interactions", "json_schema"): _gemini_json,
}
