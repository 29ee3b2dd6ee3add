"""Layer 4 of the case list: strict schemas and the arguments that come back, each demand as an assertion."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.unit.cases import CASES, ids_of
from tests.unit.test_cases_definitions import exported, keywords, nodes
from toolrelay import ErrorCategory, SchemaMismatchError, ToolSpec, export_tools
from toolrelay.schemas.validation import check_arguments


def function_of(schema: dict[str, Any]) -> dict[str, Any]:
    result = export_tools([ToolSpec("t", "", schema)], "openai", strict=True).raise_for_refused()
    function = result.tools[0]["function"]
    assert isinstance(function, dict)
    return function


def test_every_case_of_the_layer_is_a_test() -> None:
    assert [name for name in ids_of("L4") if f"test_{name.replace('-', '_')}" not in globals()] == []


def test_strict_optional_becomes_nullable() -> None:
    name = "strict-optional-becomes-nullable"
    (tool,) = exported(name).tools

    assert CASES[name]["expected"]["function.parameters"] == tool["function"]["parameters"]
    assert tool["function"]["strict"] is True
    assert ("/properties/limit/default", "default") in [(loss.pointer, loss.what) for loss in exported(name).losses]


def test_strict_null_means_absent() -> None:
    name = "strict-null-means-absent"
    given = copy.deepcopy(CASES[name]["input"])

    checked = check_arguments(given["tool"]["parameters"], given["arguments"])

    assert CASES[name]["expected"]["arguments"] == checked.arguments
    assert "limit" not in checked.arguments
    assert "label" in checked.arguments
    assert [(one.kind, one.path) for one in checked.repairs] == [("left_out", "/limit"), ("left_out", "/opts/deep")]
    assert CASES[name]["input"] == given


@pytest.mark.parametrize("number", range(4))
def test_strict_free_form_map(number: int) -> None:
    variant = CASES["strict-free-form-map"]["input"]["variants"][number]
    schema = {"type": "object", "properties": {"meta": variant}, "required": ["meta"]}

    # accepted too: an error, or JSON in a string; sent without strict, the model fills an object as it always did
    function = function_of(schema)
    assert function["strict"] is False
    assert variant == function["parameters"]["properties"]["meta"]


def test_strict_unsupported_composition() -> None:
    shapes, conditional = CASES["strict-unsupported-composition"]["input"]["variants"]

    function = function_of(shapes)
    assert function["strict"] is True
    assert {"oneOf", "allOf", "if", "then", "not"}.isdisjoint(keywords(function["parameters"]))
    for branch in function["parameters"]["properties"]["shape"]["anyOf"]:
        assert branch["additionalProperties"] is False
        assert list(branch["properties"]) == branch["required"]

    # accepted too: strict false; what the condition says is checked when the call is validated
    function = function_of(conditional)
    assert function["strict"] is True
    assert {"oneOf", "allOf", "if", "then", "not"}.isdisjoint(keywords(function["parameters"]))
    dropped = export_tools([ToolSpec("t", "", conditional)], "openai", strict=True).losses
    assert {"if", "then"} <= {loss.what for loss in dropped}


def test_strict_ref_with_siblings() -> None:
    name = "strict-ref-with-siblings"
    (tool,) = exported(name).tools

    # accepted too: the bare reference; inlined, the description stays
    role = tool["function"]["parameters"]["properties"]["role"]
    assert CASES[name]["expected"]["accept"][0]["properties.role"] == role
    assert all(node.keys() == {"$ref"} for node in nodes(tool["function"]["parameters"]) if "$ref" in node)


def test_string_for_number_and_boolean() -> None:
    name = "string-for-number-and-boolean"
    given = copy.deepcopy(CASES[name]["input"])
    schema = given["tool"]["parameters"]

    first, *others = given["variants"]
    right = CASES[name]["expected"]["per_variant"][0]["arguments"]
    checked = check_arguments(schema, first)
    assert right == checked.arguments
    assert checked.arguments["raw"] is False
    for arguments in others:
        with pytest.raises(SchemaMismatchError, match="/offset: ") as caught:
            check_arguments(schema, arguments)
        assert caught.value.category is ErrorCategory.SCHEMA
    for arguments in given["variants"]:
        with pytest.raises(SchemaMismatchError):
            check_arguments(schema, arguments, lenient=False)
    assert CASES[name]["input"] == given


def test_json_text_where_a_list_is_declared() -> None:
    name = "json-text-where-a-list-is-declared"
    given = CASES[name]["input"]

    checked = check_arguments(given["tool"]["parameters"], given["arguments"])

    assert CASES[name]["expected"]["arguments"] == checked.arguments
    assert isinstance(checked.arguments["note"], str)


@pytest.mark.parametrize(
    ("schema", "arguments", "kept"),
    [
        ({"properties": {"a": {"type": "integer"}}}, {"a": None}, {}),
        ({"properties": {"a": {"enum": ["x"]}}}, {"a": None}, {}),
        ({"properties": {"a": {"anyOf": [{"type": "object"}, {"type": "string"}]}}}, {"a": None}, {}),
        ({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "array"}}}, {"a": None}, {}),
        (
            {"properties": {"l": {"items": {"type": "object", "properties": {"a": {"type": "integer"}}}}}},
            {"l": [{"a": None}, {"a": 1}]},
            {"l": [{}, {"a": 1}]},
        ),
        (
            {
                "properties": {
                    "u": {"anyOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"type": "string"}]}
                }
            },
            {"u": {"a": None}},
            {"u": {}},
        ),
        ({"properties": {"a": {"type": ["integer", "null"]}}}, {"a": None}, {"a": None}),
        ({"properties": {}}, {"undeclared": None}, {"undeclared": None}),
    ],
)
def test_a_null_is_left_out_only_where_the_schema_does_not_take_it(
    schema: dict[str, Any], arguments: dict[str, Any], kept: dict[str, Any]
) -> None:
    assert kept == check_arguments(schema, arguments).arguments


@pytest.mark.parametrize(
    ("schema", "arguments", "said"),
    [
        ({"properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"a": None}, "/a: expected integer, got null"),
        ({"properties": {"a": {"items": {"type": "integer"}}}}, {"a": [None]}, "/a/0: expected integer, got null"),
    ],
)
def test_a_null_that_stands_for_something_needed_is_told_as_a_null(
    schema: dict[str, Any], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(SchemaMismatchError, match=said):
        check_arguments(schema, arguments)
