"""Schemas that went out wrong once: each with what is sent instead, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.test_schema_dialects import TARGETS, can_say
from toolrelay.schemas.export import ExportedSchema

TEXT = {"type": "string"}
INTEGER = {"type": "integer"}


def takes(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def told(exported: ExportedSchema) -> list[tuple[str, str]]:
    return [(loss.pointer, loss.what) for loss in exported.losses]


BY_PATTERN = {"type": "object", "patternProperties": {"^x-": TEXT}, "additionalProperties": False}
ON_CONDITION = {**takes(a=TEXT), "if": {"properties": {"a": {"const": "x"}}}, "then": {"properties": {"b": INTEGER}}}
DEPENDENT = {**takes(a=TEXT), "dependentSchemas": {"a": {"allOf": [{"$ref": "#/$defs/B"}]}}}


@pytest.mark.parametrize("target", ["openai strict", "anthropic strict"])
@pytest.mark.parametrize(
    ("schema", "arguments", "pointer", "named"),
    [
        (takes(m=BY_PATTERN), {"m": {"x-a": "1"}}, "/properties/m", "patternProperties"),
        (BY_PATTERN, {"x-a": "1"}, "", "patternProperties"),
        (
            takes(m={"type": "object", "additionalProperties": INTEGER, "unevaluatedProperties": False}),
            {"m": {"a": 1}},
            "/properties/m",
            "additionalProperties",
        ),
        (ON_CONDITION, {"a": "x", "b": 1}, "", "if"),
        ({**ON_CONDITION, "unevaluatedProperties": False}, {"a": "x", "b": 1}, "", "if"),
        ({**DEPENDENT, "$defs": {"B": takes(b=INTEGER)}}, {"a": "x", "b": 1}, "", "if"),
        (
            takes(m={"anyOf": [ON_CONDITION, {"type": "null"}]}),
            {"m": {"a": "x", "b": 1}},
            "/properties/m/anyOf/0",
            "if",
        ),
        ({"anyOf": [BY_PATTERN, {**takes(b=INTEGER), "additionalProperties": False}]}, {"x-a": "1"}, "", "additional"),
        ({"anyOf": [{"type": "object", "additionalProperties": INTEGER}, takes(b=TEXT)]}, {"c": 1}, "", "additional"),
    ],
)
def test_what_would_make_properties_impossible_is_not_closed(
    target: str, schema: dict[str, Any], arguments: dict[str, Any], pointer: str, named: str
) -> None:
    exported = TARGETS[target](schema)

    assert exported.form == "plain"
    (why,) = [loss.why for loss in exported.losses if (loss.pointer, loss.what) == (pointer, "strict")]
    assert f"cannot say '{named}" in why
    assert can_say(exported, arguments)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("schema", [takes(m=BY_PATTERN), BY_PATTERN], ids=["inside", "at the root"])
def test_properties_by_pattern_stay_possible_everywhere(target: str, schema: dict[str, Any]) -> None:
    arguments = {"m": {"x-a": "1"}} if "properties" in schema else {"x-a": "1"}

    assert can_say(TARGETS[target](schema), arguments)


def test_conditions_on_declared_properties_alone_keep_no_schema_from_being_strict() -> None:
    schema = {**takes(a=TEXT), "if": {"required": ["a"]}, "then": {"properties": {"a": {"minLength": 1}}}}

    exported = TARGETS["anthropic strict"](schema)

    assert exported.form == "strict"
    assert told(exported)[:2] == [("/if", "if"), ("/then", "then")]
