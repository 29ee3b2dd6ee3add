"""Schemas that went out wrong once: each with what is sent instead, and what is said of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema_rs import meta

from tests.unit.test_schema_dialects import TARGETS, can_say
from toolrelay.errors import ToolExportError
from toolrelay.schemas._document import Document
from toolrelay.schemas.export import ExportedSchema
from toolrelay.schemas.validation import check_arguments

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
    assert told(exported) == [("/if", "if"), ("/then", "then")]


def test_strict_of_a_schema_that_says_nothing_of_other_properties_loses_nothing() -> None:
    assert TARGETS["openai strict"](takes(a=TEXT, b=takes(c=INTEGER))).losses == ()


UNIT = {"$defs": {"Unit": {"enum": ["c", "f"], "description": "A unit."}}}


@pytest.mark.parametrize(
    ("target", "schema", "lost"),
    [
        ("gemini", takes(k={"const": 3}), [("/properties/k/const", "const")]),
        ("gemini json schema", takes(k={"format": "uri"}), [("/properties/k/format", "format")]),
        ("gemini", takes(k=False, n=INTEGER), [("/properties/k", "properties")]),
        (
            "openai strict",
            {**takes(unit={"$ref": "#/$defs/Unit", "default": "c"}), **UNIT},
            [("/properties/unit/default", "default")],
        ),
        (
            "gemini",
            takes(a={"allOf": [{"type": "string", "format": "uri"}, {"minLength": 1}]}),
            [("/properties/a", "format")],
        ),
        (
            "anthropic strict",
            takes(a={"allOf": [{**takes(x=TEXT), "additionalProperties": False}, takes(y=TEXT)]}),
            [("/properties/a", "additionalProperties")],
        ),
    ],
)
def test_a_loss_points_to_what_stands_in_the_schema(
    target: str, schema: dict[str, Any], lost: list[tuple[str, str]]
) -> None:
    assert told(TARGETS[target](schema)) == lost


PLAIN = ("openai", "anthropic", "bedrock", "mcp")
PET = {"components": {"schemas": {"Pet": takes(n={"$ref": "#/components/schemas/N"}), "N": INTEGER}}}


@pytest.mark.parametrize("target", PLAIN)
@pytest.mark.parametrize(
    ("schema", "references"),
    [
        pytest.param(
            {
                "$id": "https://example.com/t",
                **takes(p={"$ref": "https://example.com/t#/$defs/P"}),
                "$defs": {"P": TEXT},
            },
            {"p": "#/$defs/P"},
            id="an absolute one",
        ),
        pytest.param(
            takes(p={"$ref": "#place"}, q={"$anchor": "place", "type": "string"}),
            {"p": "#/properties/q"},
            id="an anchor",
        ),
        pytest.param(
            {**takes(p={"$ref": "#/definitions/P"}), "definitions": {"P": TEXT}},
            {"p": "#/$defs/P"},
            id="definitions at the root",
        ),
        pytest.param(
            takes(p={"$ref": "#/properties/q/definitions/P"}, q={**takes(), "definitions": {"P": TEXT}}),
            {"p": "#/properties/q/$defs/P"},
            id="definitions further inside",
        ),
        pytest.param(
            takes(p={"$ref": "#/properties/q/items/1"}, q={"type": "array", "items": [TEXT, INTEGER]}),
            {"p": "#/properties/q/prefixItems/1"},
            id="a place in a tuple of draft 7",
        ),
        pytest.param(
            {**takes(p={"$ref": "#/components/schemas/Pet"}), **PET},
            {"p": "#/$defs/Pet"},
            id="where no schema has to be",
        ),
        pytest.param(
            {**takes(p={"$ref": "#/$defs/a~1b%20c"}), "$defs": {"a/b c": TEXT}},
            {"p": "#/$defs/a~1b%20c"},
            id="a name that is escaped",
        ),
        pytest.param(takes(p={"$recursiveRef": "#"}), {"p": "#"}, id="recursive, as draft 2019-09 has it"),
        pytest.param(
            {**takes(p={"$dynamicRef": "#P"}), "$defs": {"P": {"$dynamicAnchor": "P", "type": "string"}}},
            {"p": "#/$defs/P"},
            id="a dynamic one",
        ),
    ],
)
def test_references_point_to_where_their_targets_stand_on_the_wire(
    target: str, schema: dict[str, Any], references: dict[str, str]
) -> None:
    written = TARGETS[target](schema).schema

    Document(written).check_references()
    assert {name: written["properties"][name]["$ref"] for name in references} == references


@pytest.mark.parametrize("target", ["openai", "anthropic", "bedrock"])
def test_a_reference_into_alternatives_that_were_joined_points_to_a_definition(target: str) -> None:
    schema = {
        "anyOf": [takes(a=takes(n=INTEGER)), takes(b={"$ref": "#/anyOf/0/properties/a"}, c={"$ref": "#/anyOf/0"})]
    }

    written = TARGETS[target](schema).schema

    assert written["properties"]["b"] == {"$ref": "#/properties/a"}
    assert written["properties"]["c"] == {"$ref": "#/$defs/0"}
    assert written["$defs"] == {"0": takes(a=takes(n=INTEGER))}


def test_a_reference_to_a_renamed_parameter_follows_it_and_one_to_the_root_keeps_the_names() -> None:
    schema = takes(**{"foo bar": takes(n=INTEGER), "x": {"$ref": "#/properties/foo%20bar"}, "y": {"$ref": "#"}})

    exported = TARGETS["anthropic"](schema)

    assert can_say(exported, {"foo bar": {"n": 1}, "x": {"n": 2}, "y": {"foo bar": {"n": 3}}})
    assert not can_say(exported, {"x": {"n": "2"}})
    assert not can_say(exported, {"y": {"foo bar": {"n": "3"}}})
    assert set(exported.schema["properties"]) == {"foo_bar", "x", "y"}


def test_mcp_says_a_root_that_is_a_reference_to_alternatives() -> None:
    schema = {"$ref": "#/$defs/U", "$defs": {"U": {"anyOf": [takes(a=TEXT), takes(b=TEXT)]}}}

    exported = TARGETS["mcp"](schema)

    assert exported.schema == {"type": "object", **schema}
    assert exported.losses == ()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("broken", "keyword"),
    [
        ({"properties": [1]}, "properties"),
        ({"type": {"a": 1}}, "type"),
        ({"anyOf": {"a": 1}}, "anyOf"),
        ({"required": "a"}, "required"),
        ({"$ref": 5}, "$ref"),
    ],
)
def test_a_broken_schema_where_no_schema_has_to_be_is_a_typed_error(
    target: str, broken: dict[str, Any], keyword: str
) -> None:
    schema = {**takes(p={"$ref": "#/components/schemas/Pet"}), "components": {"schemas": {"Pet": broken}}}

    with pytest.raises(ToolExportError) as caught:
        TARGETS[target](schema)

    assert caught.value.pointer == f"/components/schemas/Pet/{keyword}"


@pytest.mark.parametrize("target", PLAIN)
@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ({"type": "object", "required": ["a", "a"]}, {"type": "object", "required": ["a"]}, []),
        ({"type": ["string", "string", "null"]}, {"type": ["string", "null"]}, []),
        ({"type": "string", "examples": "foo"}, {"type": "string", "examples": ["foo"]}, []),
        ({"type": "string", "deprecated": "yes"}, TEXT, [("/properties/p/deprecated", "deprecated")]),
        ({"type": "string", "description": None, "format": None}, TEXT, []),
        ({"type": "string", "allOf": []}, TEXT, []),
        ({"type": "string", "$anchor": "not an anchor"}, TEXT, []),
        (
            {"type": "array", "items": {}, "uniqueItems": "true", "prefixItems": []},
            {"type": "array", "items": {}, "uniqueItems": True},
            [],
        ),
        (
            {"dependentRequired": {"a": ["b", "b"]}},
            {"dependentRequired": {"a": ["b"]}},
            [],
        ),
    ],
)
def test_what_is_not_quite_json_schema_is_mended_where_it_can_only_mean_one_thing(
    target: str, before: dict[str, Any], after: dict[str, Any], lost: list[tuple[str, str]]
) -> None:
    exported = TARGETS[target](takes(p=before))

    assert exported.schema["properties"]["p"] == after
    assert told(exported) == lost
    assert meta.is_valid(exported.schema)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("broken", "keyword"),
    [
        ({"anyOf": []}, "anyOf"),
        ({"oneOf": []}, "oneOf"),
        ({"type": []}, "type"),
        ({"uniqueItems": "perhaps"}, "uniqueItems"),
        ({"minContains": "1"}, "minContains"),
        ({"contentEncoding": 64}, "contentEncoding"),
        ({"required": ["a", 1]}, "required"),
    ],
)
def test_what_may_mean_several_things_is_refused_with_a_pointer(
    target: str, broken: dict[str, Any], keyword: str
) -> None:
    with pytest.raises(ToolExportError) as caught:
        TARGETS[target](takes(p=broken))

    assert caught.value.pointer == f"/properties/p/{keyword}"


@pytest.mark.parametrize(
    ("kind", "name", "is_sent"),
    [
        ("string", "date-time", True),
        ("string", "int64", False),
        ("string", "double", False),
        ("string", "uri", False),
        ("integer", "int32", True),
        ("integer", "int64", True),
        ("integer", "date-time", False),
        ("integer", "double", False),
        ("number", "double", True),
        ("number", "int64", False),
    ],
)
def test_gemini_is_sent_a_format_only_with_the_type_that_has_it(kind: str, name: str, is_sent: bool) -> None:
    exported = TARGETS["gemini"](takes(x={"type": kind, "format": name}))

    assert exported.schema["properties"]["x"] == ({"type": kind, "format": name} if is_sent else {"type": kind})
    assert told(exported) == ([] if is_sent else [("/properties/x/format", "format")])


@pytest.mark.parametrize("name", ["uuid", "date"])
def test_strict_is_sent_formats_of_text_with_text_alone(name: str) -> None:
    for target in ("openai strict", "anthropic strict"):
        schema = {**takes(x={"type": "integer", "format": name}), "required": ["x"], "additionalProperties": False}

        assert TARGETS[target](schema).schema["properties"]["x"] == {"type": "integer"}


TREE = {
    **takes(t={"$ref": "#/$defs/T"}),
    "$defs": {"T": takes(**{"my-id": INTEGER, "kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}})},
}


@pytest.mark.parametrize("target", ["gemini", "gemini json schema"])
def test_renamed_parameters_inside_of_a_recursion_are_mapped_back(target: str) -> None:
    names = TARGETS[target](TREE).names
    tree = {"t": {"my-id": 1, "kids": [{"my-id": 2, "kids": [{"my-id": 3, "kids": []}]}]}}
    sent = {"t": {"my_id": 1, "kids": [{"my_id": 2, "kids": [{"my_id": 3, "kids": []}]}]}}

    assert names.encode(tree) == sent
    assert names.decode(sent) == tree


def test_names_are_mapped_back_inside_of_an_object_that_was_sent_as_text() -> None:
    schema = takes(t=takes(**{"my-id": INTEGER}), u={"anyOf": [takes(**{"my-id": INTEGER}), TEXT]})
    names = TARGETS["gemini"](schema).names
    text = '{"my_id": 1}'

    assert names.decode({"t": text, "u": text}) == {"t": '{"my-id": 1}', "u": text}
    assert names.decode({"t": '{"my_id": 1, "my_id": 2}'}) == {"t": '{"my_id": 1, "my_id": 2}'}
    assert check_arguments(schema, names.decode({"t": text})).arguments == {"t": {"my-id": 1}}


def mutual(count: int, *, is_required: bool = False) -> dict[str, Any]:
    """Types each of which has one of each other, or a list."""
    definitions: dict[str, Any] = {}
    for own in range(count):
        others: dict[str, Any] = {f"t{other}": {"$ref": f"#/$defs/T{other}"} for other in range(count) if other != own}
        if is_required:
            others = {name: {"type": "array", "items": other} for name, other in others.items()}
        definitions[f"T{own}"] = {**takes(v=TEXT, **others), **({"required": list(others)} if is_required else {})}
    return {**takes(x={"$ref": "#/$defs/T0"}), "$defs": definitions}


@pytest.mark.parametrize(
    ("target", "form", "size"),
    [
        ("openai strict", "strict", 4_000),
        ("gemini", "json_schema", 2_000),
        ("gemini json schema", "json_schema", 2_000),
    ],
)
def test_types_that_refer_to_each_other_are_written_once_each(target: str, form: str, size: int) -> None:
    exported = TARGETS[target](mutual(7))

    assert exported.form == form
    assert sorted(exported.schema["$defs"]) == [f"T{number}" for number in range(7)]
    assert len(json.dumps(exported.schema)) < size
    assert can_say(exported, {"x": {"v": "a", "t3": {"v": "b", "t5": {"v": "c"}}}})
    assert not can_say(exported, {"x": {"v": "a", "t3": {"v": "b", "t5": {"v": 1}}}})


@pytest.mark.parametrize("target", ["gemini", "gemini json schema"])
def test_gemini_has_no_reference_to_itself_through_what_is_required(target: str) -> None:
    exported = TARGETS[target](mutual(7, is_required=True))

    assert exported.schema["properties"]["x"] == {"$ref": "#/$defs/T0"}
    assert list(exported.schema["$defs"]) == ["T0"]
    assert ("/$defs/T0/properties/t1/items/$ref", "$ref") in told(exported)
    others: dict[str, Any] = {f"t{number}": [] for number in range(1, 7)}
    assert can_say(exported, {"x": {"v": "a", **others, "t1": [{"v": "b", "t0": [], **others}]}})


def test_many_parameters_are_no_matter_of_references() -> None:
    schema = takes(**{f"p{number}": TEXT for number in range(10_500)})

    assert len(TARGETS["gemini"](schema).schema["properties"]) == 10_500


def test_a_definition_that_is_used_twice_stands_in_place_where_that_is_short() -> None:
    schema = {**takes(a={"$ref": "#/$defs/U"}, b={"$ref": "#/$defs/U"}), "$defs": {"U": takes(n=INTEGER)}}

    assert "$defs" not in TARGETS["gemini json schema"](schema).schema
