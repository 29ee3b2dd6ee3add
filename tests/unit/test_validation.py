from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrelay.errors import ErrorCategory, RegistrationError, SchemaMismatchError
from toolrelay.schemas.validation import check_arguments, check_output, check_schema, compile_schema

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "days": {"type": "integer"},
        "ratio": {"type": "number"},
        "raw": {"type": "boolean"},
        "note": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "integer"}},
        "meta": {"type": "object", "properties": {"deep": {"type": "boolean"}}},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "limits": {"type": ["integer", "null"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "ids": {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]},
        "node": {"$ref": "#/$defs/Node"},
        "level": {"enum": ["low", "high"]},
        "a/b~c": {"type": "integer"},
    },
    "$defs": {"Node": {"type": "object", "properties": {"size": {"type": "integer"}}, "additionalProperties": False}},
}


@pytest.mark.parametrize(
    ("given_value", "expected", "path"),
    [
        pytest.param({"days": "5"}, {"days": 5}, "/days", id="an integer as text"),
        pytest.param({"days": "-12"}, {"days": -12}, "/days", id="a negative integer as text"),
        pytest.param(
            {"days": "9007199254740993"}, {"days": 9007199254740993}, "/days", id="beyond a double's precision"
        ),
        pytest.param({"days": 3.0}, {"days": 3}, "/days", id="an integer as float"),
        pytest.param({"ratio": "0.5"}, {"ratio": 0.5}, "/ratio", id="a number as text"),
        pytest.param({"ratio": "2"}, {"ratio": 2}, "/ratio", id="a whole number as text"),
        pytest.param({"raw": "true"}, {"raw": True}, "/raw", id="true as text"),
        pytest.param({"raw": "false"}, {"raw": False}, "/raw", id="false as text, which is not a true value"),
        pytest.param({"tags": "[1, 2]"}, {"tags": [1, 2]}, "/tags", id="a list as text"),
        pytest.param({"meta": '{"deep": true}'}, {"meta": {"deep": True}}, "/meta", id="an object as text"),
        pytest.param({"tags": [1, "2"]}, {"tags": [1, 2]}, "/tags/1", id="inside a list"),
        pytest.param({"tags": [1, 2.0]}, {"tags": [1, 2]}, "/tags/1", id="a float inside a list"),
        pytest.param({"node": {"size": "7"}}, {"node": {"size": 7}}, "/node/size", id="behind a $ref"),
        pytest.param({"limit": "7"}, {"limit": 7}, "/limit", id="in an anyOf"),
        pytest.param({"limit": 7.0}, {"limit": 7}, "/limit", id="a float in an anyOf"),
        pytest.param({"limits": "7"}, {"limits": 7}, "/limits", id="one of several types"),
        pytest.param({"ids": "[7]"}, {"ids": [7]}, "/ids", id="a list as text in an anyOf"),
        pytest.param({"ids": ["7"]}, {"ids": [7]}, "/ids/0", id="inside a list in an anyOf"),
        pytest.param({"a/b~c": "1"}, {"a/b~c": 1}, "/a~1b~0c", id="a name that a pointer escapes"),
    ],
)
def test_a_value_of_the_wrong_type_is_coerced_where_nothing_is_lost(
    given_value: dict[str, Any], expected: dict[str, Any], path: str
) -> None:
    checked = check_arguments(SCHEMA, given_value)

    assert checked.arguments == expected
    assert json.dumps(checked.arguments) == json.dumps(expected)  # 3.0 == 3 and True == 1, but they are not the same
    assert [(repair.kind, repair.path) for repair in checked.repairs] == [("coerced", path)]


def test_layers_of_text_are_taken_off_one_by_one() -> None:
    checked = check_arguments(SCHEMA, {"tags": '["1", 2.0]', "meta": '{"deep": "true"}'})

    assert json.dumps(checked.arguments) == '{"tags": [1, 2], "meta": {"deep": true}}'
    assert [repair.path for repair in checked.repairs] == ["/tags", "/meta", "/tags/0", "/meta/deep", "/tags/1"]


TEXT = {"type": "string"}
INTEGER = {"type": "integer"}


def takes(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def optional(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


LIMIT = takes(max=INTEGER)
FILTER = takes("name", name=TEXT, limit=optional(LIMIT))
TERM = {
    "anyOf": [
        takes("kind", "of", kind={"const": "and"}, of={"type": "array", "items": {"$ref": "#/$defs/Term"}}),
        takes("kind", "n", kind={"const": "leaf"}, n=INTEGER),
    ]
}
IN_UNIONS: dict[str, Any] = {
    **takes(
        filter=optional(FILTER),
        limits=optional({"type": "array", "items": optional(LIMIT)}),
        either={"oneOf": [INTEGER, {"type": "array", "items": INTEGER}]},
        term={"$ref": "#/$defs/Term"},
    ),
    "$defs": {"Term": TERM},
}


@pytest.mark.parametrize(
    ("given_value", "expected", "repairs"),
    [
        (
            {"filter": {"name": "x", "limit": {"max": None}}},
            {"filter": {"name": "x", "limit": {}}},
            [("left_out", "/filter/limit/max")],
        ),
        (
            {"filter": {"name": "x", "limit": {"max": "7"}}},
            {"filter": {"name": "x", "limit": {"max": 7}}},
            [("coerced", "/filter/limit/max")],
        ),
        (
            {"filter": '{"name": "x", "limit": {"max": "7"}}'},
            {"filter": {"name": "x", "limit": {"max": 7}}},
            [("coerced", "/filter"), ("coerced", "/filter/limit/max")],
        ),
        (
            {"limits": [{"max": "1"}, None, {"max": None}, '{"max": "3"}']},
            {"limits": [{"max": 1}, None, {}, {"max": 3}]},
            [
                ("coerced", "/limits/0/max"),
                ("left_out", "/limits/2/max"),
                ("coerced", "/limits/3"),
                ("coerced", "/limits/3/max"),
            ],
        ),
        ({"either": '["1"]'}, {"either": [1]}, [("coerced", "/either"), ("coerced", "/either/0")]),
        ({"either": "1"}, {"either": 1}, [("coerced", "/either")]),
        (
            {"term": {"kind": "and", "of": [{"kind": "and", "of": [{"kind": "leaf", "n": "5"}]}]}},
            {"term": {"kind": "and", "of": [{"kind": "and", "of": [{"kind": "leaf", "n": 5}]}]}},
            [("coerced", "/term/of/0/of/0/n")],
        ),
    ],
)
def test_what_stands_in_alternatives_within_alternatives_is_coerced_as_well(
    given_value: dict[str, Any], expected: dict[str, Any], repairs: list[tuple[str, str]]
) -> None:
    checked = check_arguments(IN_UNIONS, given_value)

    assert json.dumps(checked.arguments) == json.dumps(expected)
    assert [(repair.kind, repair.path) for repair in checked.repairs] == repairs


def test_a_thousand_items_with_alternatives_are_all_coerced_with_few_looks_at_the_whole() -> None:
    checked = check_arguments(IN_UNIONS, {"limits": [{"max": str(number)} for number in range(1000)]})

    assert checked.arguments == {"limits": [{"max": number} for number in range(1000)]}
    assert len(checked.repairs) == 1000


@pytest.mark.parametrize(
    ("given_value", "expected"),
    [
        ({"mode": "a", "x": "s", "y": None}, {"mode": "a", "x": "s"}),
        ({"mode": "b", "x": None, "y": None}, {"mode": "b", "y": None}),
    ],
)
def test_a_null_for_what_the_alternative_does_not_have_is_left_out(
    given_value: dict[str, Any], expected: dict[str, Any]
) -> None:
    closed = {"additionalProperties": False}
    first = {**takes("mode", "x", mode={"const": "a"}, x=TEXT), **closed}
    second = {**takes("mode", "y", mode={"const": "b"}, y={"type": ["integer", "null"]}), **closed}

    checked = check_arguments({"anyOf": [first, second]}, given_value)

    assert checked.arguments == expected
    assert [repair.kind for repair in checked.repairs] == ["left_out"]


@pytest.mark.parametrize(
    "text",
    ['{"a": 1e400}', '{"a": "\\ud800"}', '{"a": ' + "[" * 900 + "]" * 900 + "}", '{"a": -Infinity}', '{"a": 1} x'],
)
def test_text_that_no_arguments_may_hold_is_no_object_either(text: str) -> None:
    with pytest.raises(SchemaMismatchError, match="/m: expected object, got string"):
        check_arguments(takes(m={"type": "object"}), {"m": text})


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"note": '{"keep": "as text"}'}, id="text that holds JSON where text is asked"),
        pytest.param({"either": "5"}, id="text where text is one of the alternatives"),
        pytest.param({"ratio": 3.0}, id="a float where a number is asked"),
        pytest.param({"limit": None}, id="null where null is allowed"),
        pytest.param({"more": {"un": "declared"}}, id="an undeclared property"),
        pytest.param({}, id="nothing at all"),
    ],
)
def test_what_fits_stays_the_very_same_object(arguments: dict[str, Any]) -> None:
    checked = check_arguments(SCHEMA, arguments)

    assert checked.arguments is arguments
    assert checked.repairs == ()


@pytest.mark.parametrize(
    ("arguments", "path", "expected"),
    [
        pytest.param({"days": "abc"}, "/days", "integer", id="no number at all"),
        pytest.param({"days": "12.5"}, "/days", "integer", id="a fraction as text"),
        pytest.param({"days": 12.5}, "/days", "integer", id="a fraction"),
        pytest.param({"days": "5.0"}, "/days", "integer", id="a float as text"),
        pytest.param({"days": "05"}, "/days", "integer", id="a leading zero"),
        pytest.param({"days": " 5"}, "/days", "integer", id="a space"),
        pytest.param({"days": "\u0665"}, "/days", "integer", id="a digit that JSON does not know"),
        pytest.param({"days": "9" * 5000}, "/days", "integer", id="more digits than Python reads"),
        pytest.param({"days": True}, "/days", "integer", id="a boolean, which Python calls an integer"),
        pytest.param({"tags": [None]}, "/tags/0", "integer", id="null where it cannot be left out"),
        pytest.param({"ratio": "1e999"}, "/ratio", "number", id="a number that would become infinite"),
        pytest.param({"ratio": "0.12345678901234567890"}, "/ratio", "number", id="more digits than a float has"),
        pytest.param({"ratio": "NaN"}, "/ratio", "number", id="not a number"),
        pytest.param({"raw": "yes"}, "/raw", "boolean", id="yes"),
        pytest.param({"raw": "True"}, "/raw", "boolean", id="Python's True"),
        pytest.param({"raw": 1}, "/raw", "boolean", id="one"),
        pytest.param({"note": 5}, "/note", "string", id="a number where text is asked"),
        pytest.param({"tags": "1, 2"}, "/tags", "array", id="a list that is no JSON"),
        pytest.param({"tags": 1}, "/tags", "array", id="a bare item"),
        pytest.param({"tags": "[NaN]"}, "/tags", "array", id="NaN inside a list as text"),
        pytest.param({"meta": '{"deep": true, "deep": false}'}, "/meta", "object", id="a key that is there twice"),
        pytest.param({"meta": "[" * 100_000}, "/meta", "object", id="text nested without end"),
        pytest.param({"limit": "x"}, "/limit", "integer or null", id="neither of two types"),
        pytest.param({"node": {"size": "x"}}, "/node/size", "integer", id="behind a $ref"),
    ],
)
def test_anything_else_is_a_schema_error_that_says_where_and_what_was_expected(
    arguments: dict[str, Any], path: str, expected: str
) -> None:
    with pytest.raises(SchemaMismatchError, match=f"{path}: expected {expected}") as caught:
        check_arguments(SCHEMA, arguments)

    assert caught.value.category is ErrorCategory.SCHEMA


@pytest.mark.parametrize(
    ("schema", "arguments", "said"),
    [
        ({"required": ["city"]}, {}, "/city: required, but missing"),
        ({"properties": {"a": {"required": ["b"]}}}, {"a": {}}, "/a/b: required, but missing"),
        ({"properties": {}, "additionalProperties": False}, {"zip": 1}, "the whole: no such property: 'zip'"),
        ({"additionalProperties": False}, {"zip": 1}, "the whole: no properties are allowed here"),
        (SCHEMA, {"node": {"zip": 1}}, "/node: no such property: 'zip'"),
        (SCHEMA, {"level": "secret"}, '/level: the value is not one of "low" or "high"'),
        ({"properties": {"n": {"maximum": 5}}}, {"n": 777}, "/n: the value is greater than the maximum of 5"),
        ({"properties": {"n": False}}, {"n": 777}, "/n: no value is allowed here"),
        (
            {"properties": {"n": {"oneOf": [{"required": ["x"]}, {"required": ["y"]}]}}},
            {"n": {}},
            "/n: fits none of 2 alternatives: (1) /n/x: required, but missing (2) /n/y: required, but missing",
        ),
    ],
)
def test_every_kind_of_problem_is_told_so_that_a_model_can_act(
    schema: dict[str, Any], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(SchemaMismatchError) as caught:
        check_arguments(schema, arguments)

    assert said in str(caught.value)


CHOICES = [f"value{number}" for number in range(40)]
KINDS = {"oneOf": [takes("kind", "n", kind={"const": f"v{number}"}, n=INTEGER) for number in range(10)]}


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        (optional(takes(n=INTEGER)), {"n": "abc"}, "/f/n: expected integer, got string"),
        (optional(takes(n=INTEGER)), 7, "/f: expected object or null, got integer"),
        (optional({"type": "array", "items": INTEGER}), [1, "x"], "/f/1: expected integer, got string"),
        (optional(FILTER), {"name": "x", "limit": {"max": "x"}}, "/f/limit/max: expected integer, got string"),
        (
            {"enum": CHOICES},
            "secret",
            "/f: the value is not one of "
            + ", ".join(f'"{choice}"' for choice in CHOICES[:-1])
            + f' or "{CHOICES[-1]}"',
        ),
        ({"const": "v1"}, "secret", '/f: the value is not "v1"'),
        (KINDS, {"kind": "v9"}, "/f/n: required, but missing"),
        (KINDS, {"kind": "v3", "n": "x"}, "/f/n: expected integer, got string"),
        (
            KINDS,
            {"kind": "secret", "n": 1},
            '/f/kind: the value is not one of "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8" or "v9"',
        ),
        (KINDS, {"n": 1}, "/f/kind: required, but missing"),
    ],
)
def test_of_alternatives_the_one_that_was_meant_is_told(schema: dict[str, Any], value: Any, said: str) -> None:
    with pytest.raises(SchemaMismatchError) as caught:
        check_arguments(takes(f=schema), {"f": value})

    assert str(caught.value) == f"the arguments do not fit the tool's schema: {said}"


def test_of_very_many_allowed_values_the_first_are_told_and_the_rest_counted() -> None:
    with pytest.raises(SchemaMismatchError) as caught:
        check_arguments(takes(f={"enum": [f"value{number:04}" for number in range(5000)]}), {"f": "secret"})

    assert str(caught.value).endswith('"value0045" or 4954 others')


def test_a_rejected_value_is_never_repeated() -> None:
    secret = "hunter2 " * 1000
    schema = {"properties": {name: {"enum": [1]} for name in "abc"} | {"d": {"pattern": "^x$"}, "e": {"maxLength": 3}}}

    with pytest.raises(SchemaMismatchError) as caught:
        check_arguments(schema, dict.fromkeys("abcde", secret))

    assert "hunter2" not in str(caught.value)


def test_of_many_problems_the_first_five_are_told_and_the_rest_counted() -> None:
    with pytest.raises(SchemaMismatchError) as caught:
        check_arguments(SCHEMA, {"tags": ["x"] * 12})

    assert [f"/tags/{index}:" in str(caught.value) for index in range(6)] == [True] * 5 + [False]
    assert "and 7 more" in str(caught.value)


def test_a_refused_call_with_long_names_stays_short() -> None:
    with pytest.raises(SchemaMismatchError) as caught:
        check_arguments(
            {"properties": {}, "additionalProperties": False}, {f"{'x' * 10_000}{index}": 1 for index in range(100)}
        )

    assert len(str(caught.value)) < 1000


def test_what_is_coerced_is_a_copy() -> None:
    arguments = {"tags": ["1", "2"], "node": {"size": 3.0}, "meta": {"deep": True}}
    before = copy.deepcopy(arguments)

    checked = check_arguments(SCHEMA, arguments)

    assert arguments == before
    assert isinstance(arguments["node"], dict)
    assert isinstance(arguments["node"]["size"], float)
    assert checked.arguments["meta"] is arguments["meta"]  # what is off the way to a change is shared


def test_values_that_are_no_json_are_refused_not_crashed_on() -> None:
    with pytest.raises(SchemaMismatchError, match="not valid JSON"):
        check_arguments({"required": ["x"]}, {1: "a key that is no text"})  # type: ignore[dict-item] # on purpose


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=4), children, max_size=4),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(SCHEMA["properties"], json_values)))
def test_whatever_comes_is_either_refused_or_fits_and_is_never_changed(arguments: dict[str, Any]) -> None:
    before = copy.deepcopy(arguments)
    try:
        checked = check_arguments(SCHEMA, arguments)
    except SchemaMismatchError:
        pass
    else:
        again = check_arguments(SCHEMA, checked.arguments)
        assert again.arguments is checked.arguments
        assert again.repairs == ()

    assert arguments == before


@given(
    st.fixed_dictionaries({}, optional={"days": st.integers(), "raw": st.booleans(), "tags": st.lists(st.integers())})
)
def test_text_is_read_as_exactly_what_it_says(arguments: dict[str, Any]) -> None:
    as_text = {name: json.dumps(value) for name, value in arguments.items()}

    assert check_arguments(SCHEMA, as_text).arguments == arguments


def test_an_output_is_checked_as_it_is() -> None:
    check_output({"type": "object", "required": ["total"]}, {"total": 1})

    with pytest.raises(SchemaMismatchError, match="/total: expected integer, got string"):
        check_output({"properties": {"total": {"type": "integer"}}}, {"total": "1"})


def test_a_validation_tools_mode_takes_no_part() -> None:
    check_output({"mode": "strict", "type": "object"}, {"passed": True})


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "objekt"}, "/type"),
        ({"properties": []}, "/properties"),
        ({"properties": {"a": {"type": 5}}}, "/properties/a/type"),
        ({"properties": {"a/b": {"pattern": "("}}}, "/properties/a~1b/pattern"),
        ({"properties": {"q": {"$ref": "#/$defs/Missing"}}}, "/properties/q/$ref"),
        ({"properties": {"q": {"$ref": "https://example.com/schema"}}}, "/properties/q/$ref"),
        ({"allOf": [{}, {"$ref": "file:///etc/passwd"}]}, "/allOf/1/$ref"),
        ({"$schema": "https://example.com/dialect"}, "/$schema"),
    ],
)
def test_a_broken_schema_is_refused_with_a_pointer_to_what_is_wrong(schema: dict[str, Any], pointer: str) -> None:
    with pytest.raises(RegistrationError, match=f"broken at {pointer.replace('$', '[$]')}: "):
        check_schema(schema)


def test_a_schema_that_is_no_json_is_refused() -> None:
    with pytest.raises(RegistrationError, match="not valid JSON"):
        check_schema({"enum": [{1, 2}]})


def test_a_schema_of_an_older_draft_is_read_by_its_own_rules() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"pair": {"items": [{"type": "integer"}, {"type": "string"}]}},
    }

    assert check_arguments(schema, {"pair": ["1", "x"]}).arguments == {"pair": [1, "x"]}


def test_equal_schemas_are_compiled_once() -> None:
    assert compile_schema({"type": "object"}) is compile_schema({"type": "object"})


def expression_schema(*, optional_only: bool = False) -> dict[str, Any]:
    kinds = ["add"] if optional_only else ["add", "negate"]
    branches = [
        {"type": "object", "properties": {"op": {"const": op}, "of": {"$ref": "#/$defs/E"}}, "required": ["op"]}
        for op in kinds
    ]
    return {"properties": {"e": {"$ref": "#/$defs/E"}}, "$defs": {"E": {"anyOf": [*branches, {"type": "integer"}]}}}


def nested(levels: int, leaf: Any) -> dict[str, Any]:
    value = leaf
    for _ in range(levels):
        value = {"op": "add", "of": value}
    return {"e": value}


def test_what_nests_deep_in_alternatives_that_contain_themselves_is_refused_at_once() -> None:
    schema = expression_schema()

    with pytest.raises(SchemaMismatchError, match=r"/e/of/of/of: expected object or integer, got string"):
        check_arguments(schema, nested(3, "x"))
    with pytest.raises(SchemaMismatchError, match="nested too deeply in recursive alternatives"):
        check_arguments(schema, nested(60, "x"))  # each level would double what there is to list
    with pytest.raises(SchemaMismatchError, match="nested too deeply in recursive alternatives"):
        check_output(schema, nested(60, "x"))


@pytest.mark.parametrize("leaf", [1, 1.0])
def test_what_nests_deep_and_fits_is_taken(leaf: float) -> None:
    arguments = nested(60, leaf)

    assert check_arguments(expression_schema(), arguments).arguments == arguments


def test_one_way_to_nest_can_be_followed_to_its_end() -> None:
    with pytest.raises(SchemaMismatchError, match=r"/e(/of){60}: expected object or integer, got string"):
        check_arguments(expression_schema(optional_only=True), nested(60, "x"))
