"""Schemas in the providers' dialects: what was valid can still be said, and what can be said beyond it is reported."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import meta, validator_for

from tests.unit.tricky_schemas import TRICKY, Tricky
from toolrelay.errors import ToolExportError
from toolrelay.schemas._document import Document, escape
from toolrelay.schemas.export import (
    ExportedSchema,
    as_is,
    to_anthropic,
    to_bedrock,
    to_gemini,
    to_gemini_json_schema,
    to_openai,
)
from toolrelay.schemas.gemini import from_gemini
from toolrelay.schemas.validation import check_arguments

Export = Callable[[dict[str, Any]], ExportedSchema]

TARGETS: dict[str, Export] = {
    "openai": to_openai,
    "openai strict": lambda schema: to_openai(schema, strict=True),
    "anthropic": to_anthropic,
    "anthropic strict": lambda schema: to_anthropic(schema, strict=True),
    "gemini": to_gemini,
    "gemini in upper case": lambda schema: to_gemini(schema, upper_case_types=True),
    "gemini json schema": to_gemini_json_schema,
    "bedrock": to_bedrock,
    "bedrock strict": lambda schema: to_bedrock(schema, strict=True),
    "mcp": as_is,
}
every_target = pytest.mark.parametrize("target", TARGETS)


def meaning(exported: ExportedSchema) -> dict[str, Any]:
    """Give what a provider reads, as JSON Schema."""
    found = from_gemini(exported.schema) if exported.form == "parameters" else exported.schema
    assert isinstance(found, dict)
    return found


def can_say(exported: ExportedSchema, arguments: dict[str, Any]) -> bool:
    """Whether a model that keeps to the exported schema can mean these arguments."""
    read = meaning(exported)
    wire = exported.names.encode(arguments)
    if exported.form == "strict":
        wire = with_nulls(read, read, wire)
    return bool(validator_for(read).is_valid(wire))


def with_nulls(schema: Any, root: dict[str, Any], value: Any) -> Any:
    """Write every property that a strict schema requires and the arguments leave out as null, as a model does."""
    if not isinstance(schema, dict):
        return value
    if "$ref" in schema:
        target = root if schema["$ref"] == "#" else root["$defs"][schema["$ref"].rpartition("/")[2]]
        return with_nulls(target, root, value)
    for branch in schema.get("anyOf", ()):
        filled = with_nulls(branch, root, value)
        if validator_for({**branch, "$defs": root.get("$defs", {})}).is_valid(filled):
            return filled
    if isinstance(value, list):
        return [with_nulls(schema.get("items"), root, item) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties", {})
    given_ones = {name: with_nulls(properties.get(name), root, inner) for name, inner in value.items()}
    return {**dict.fromkeys(name for name in schema.get("required", ()) if name not in value), **given_ones}


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Give a written schema and all that are inside of it."""
    if not isinstance(schema, dict):
        return
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    for keyword in ("anyOf", "prefixItems"):
        inner += schema.get(keyword, [])
    for keyword in ("items", "additionalProperties"):
        inner.append(schema.get(keyword))
    for one in inner:
        yield from parts(one)


GEMINI_WORDS = {
    *("type", "format", "description", "nullable", "enum", "items", "properties", "required", "anyOf", "default"),
    *(
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
    ),
}
GEMINI_JSON_WORDS = {
    *(
        "$defs",
        "$ref",
        "type",
        "format",
        "title",
        "description",
        "enum",
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
    ),
    *("minimum", "maximum", "anyOf", "properties", "additionalProperties", "required"),
}
OPENAI_STRICT_WORDS = {
    *("$defs", "$ref", "type", "format", "title", "description", "enum", "items", "minItems", "maxItems", "minimum"),
    *("maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern", "anyOf", "properties"),
    *("additionalProperties", "required"),
}
ANTHROPIC_STRICT_WORDS = {
    *("type", "format", "title", "description", "default", "enum", "items", "minItems", "anyOf", "properties"),
    *("additionalProperties", "required"),
}


def check_gemini(part: dict[str, Any]) -> None:
    assert part.keys() <= GEMINI_WORDS
    assert part.keys() == {"anyOf"} or "type" in part
    assert ("type" in part) != ("anyOf" in part)
    assert "anyOf" not in part or part.keys() == {"anyOf"}
    assert isinstance(part.get("type", ""), str)
    assert "enum" not in part or part["type"] == "string"
    assert all(isinstance(value, str) and value for value in part.get("enum", ["x"]))
    assert part.get("type") != "array" or part["items"].keys() & {"type", "anyOf"}
    assert part.get("properties") != {}
    assert set(part.get("required", ())) <= part.get("properties", {}).keys()


def check_gemini_json(part: dict[str, Any]) -> None:
    assert part.keys() <= GEMINI_JSON_WORDS
    assert part.keys() == {"$ref"} or "$ref" not in part
    assert part.get("type") != "array" or "items" in part


def check_strict(part: dict[str, Any], words: set[str], *, is_all_required: bool) -> None:
    assert part.keys() <= words
    assert part.keys() == {"$ref"} or part.keys() & {"type", "anyOf"}
    if part.get("type") == "object":
        assert part["additionalProperties"] is False
        if is_all_required:
            assert part["required"] == list(part["properties"])
    if part.get("type") == "array":
        assert part["items"]


def check_form(exported: ExportedSchema, target: str) -> None:
    root = exported.schema
    assert meta.is_valid(meaning(exported))
    Document(root).check_references()
    assert root["type"] in ("object", "OBJECT")
    if exported.form == "plain":
        assert target == "mcp" or root.keys().isdisjoint({"anyOf", "oneOf", "allOf", "$ref", "$schema"})
        return
    assert "anyOf" not in root
    for part in parts(root):
        if exported.form == "parameters":
            if target == "gemini in upper case" and "type" in part:
                assert part["type"] == part["type"].upper()
            check_gemini({**part, "type": part["type"].lower()} if "type" in part else part)
        elif exported.form == "json_schema":
            check_gemini_json(part)
        elif target == "openai strict":
            check_strict(part, OPENAI_STRICT_WORDS, is_all_required=True)
        else:
            check_strict(part, ANTHROPIC_STRICT_WORDS, is_all_required=False)


def names_in(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for keyword, value in schema.items():
            if keyword == "properties":
                yield from value
                for inner in value.values():
                    yield from names_in(inner)
            elif keyword not in ("default", "enum", "const", "examples"):
                yield from names_in(value)
    elif isinstance(schema, list):
        for inner in schema:
            yield from names_in(inner)


def is_told(exported: ExportedSchema, arguments: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Whether a loss stands where the schema refuses these arguments: there, around it, or within."""
    places = {loss.pointer for loss in exported.losses} - {""}
    document = Document(schema)
    cut = [loss.pointer for loss in exported.losses if loss.what == "$ref"]
    places |= {
        document.target(found.schema["$ref"], "").pointer
        for found in document.parts()
        if f"{found.pointer}/$ref" in cut
    }
    refusing = [list(error.schema_path) for error in validator_for(schema).iter_errors(arguments)]
    pointers = ["/".join(("", *(escape(str(step)) for step in path))) for path in refusing]
    return all(
        any(covers(place, pointer) or covers(pointer, place) for place in places) or _is_of_the_whole(exported, pointer)
        for pointer in pointers
    )


def covers(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(f"{outer}/")


def _is_of_the_whole(exported: ExportedSchema, pointer: str) -> bool:
    """Whether what is refused is said of the root itself, and so is a loss."""
    keyword = pointer.rpartition("/")[2]
    return any(loss.pointer in ("", f"/{loss.what}") and (loss.what == keyword) for loss in exported.losses)


@every_target
@pytest.mark.parametrize("tricky", TRICKY.values(), ids=TRICKY.keys())
def test_a_tricky_schema_keeps_its_meaning(tricky: Tricky, target: str) -> None:
    before = copy.deepcopy(tricky.schema)

    exported = TARGETS[target](tricky.schema)

    assert before == tricky.schema
    assert [arguments for arguments in tricky.taken if not can_say(exported, arguments)] == []
    check_form(exported, target)
    said_beyond = [arguments for arguments in tricky.refused if can_say(exported, arguments)]
    assert all(is_told(exported, arguments, tricky.schema) for arguments in said_beyond)
    kept = {name for own in names_in(exported.schema) for name in (exported.names.own.get(own, own),)}
    assert set(names_in({key: value for key, value in tricky.schema.items() if key != "$defs"})) <= kept


@pytest.mark.parametrize(
    "name",
    ["a tuple", "a map", "a free object", "anything", "a list of anything", "a default that looks like a schema"],
)
def test_what_cannot_be_strict_is_sent_without_and_said(name: str) -> None:
    schema = TRICKY[name].schema

    for exported in (to_openai(schema, strict=True), to_anthropic(schema, strict=True)):
        assert exported.form == "plain"
        assert "strict" in [loss.what for loss in exported.losses]
        assert [arguments for arguments in TRICKY[name].taken if not can_say(exported, arguments)] == []


@pytest.mark.parametrize(
    ("name", "form"), [("a tuple", "json_schema"), ("a map", "json_schema"), ("anything", "parameters")]
)
def test_gemini_gets_parameters_unless_only_its_json_schema_can_say_it(name: str, form: str) -> None:
    assert to_gemini(TRICKY[name].schema).form == form


def test_strict_keeps_a_recursion_and_names_its_definition() -> None:
    exported = to_openai(TRICKY["a recursion through what is required"].schema, strict=True)

    kids = exported.schema["$defs"]["T"]["properties"]["kids"]
    assert kids == {"type": "array", "items": {"$ref": "#/$defs/T"}}


def test_the_root_may_be_a_reference_to_itself_in_strict() -> None:
    schema = {"type": "object", "properties": {"more": {"$ref": "#"}, "n": {"type": "integer"}}, "required": ["n"]}

    exported = to_openai(schema, strict=True)

    assert exported.schema["properties"]["more"] == {"anyOf": [{"$ref": "#"}, {"type": "null"}]}
    assert can_say(exported, {"n": 1, "more": {"n": 2}})


@pytest.mark.parametrize(
    ("schema", "pointer", "said"),
    [
        ({"properties": {"a": {"$ref": "https://example.com/a.json"}}}, "/properties/a/$ref", "leaves the schema"),
        ({"properties": {"a": {"items": {"$ref": "#/$defs/A"}}}}, "/properties/a/items/$ref", "points to nothing"),
        ({"properties": {"a/b": {"type": "objekt"}}}, "/properties/a~1b/type", "'objekt'"),
        ({"properties": {"a": {"minLength": "5"}}}, "/properties/a/minLength", "integer from 0 up"),
        ({"type": "array", "items": {"type": "string"}}, "/type", "arguments of a call are an object"),
        ({"enum": [float("nan")]}, "", "not valid JSON"),
    ],
)
@every_target
def test_what_no_form_can_say_is_an_error_with_a_pointer(
    target: str, schema: dict[str, Any], pointer: str, said: str
) -> None:
    with pytest.raises(ToolExportError, match=said) as caught:
        TARGETS[target](schema)

    assert caught.value.pointer == pointer


def test_a_local_reference_may_point_anywhere() -> None:
    schema = {
        "$id": "https://example.com/tool",
        "type": "object",
        "properties": {
            "anchored": {"$ref": "#place"},
            "by its id": {"$ref": "https://example.com/tool#/$defs/Place"},
            "escaped": {"$ref": "#/$defs/a~1b%25"},
            "listed": {"$ref": "#/properties/either/anyOf/1"},
            "either": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
        },
        "$defs": {"Place": {"$anchor": "place", "type": "boolean"}, "a/b%": {"type": "number"}},
    }

    properties = to_gemini_json_schema(schema).schema["properties"]

    assert [one["type"] for one in properties.values()] == [
        "boolean",
        "boolean",
        "number",
        "integer",
        ["integer", "null"],
    ]


def test_older_drafts_are_read_as_what_they_mean() -> None:
    schema = {
        "type": "object",
        "properties": {
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False},
            "n": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
        },
    }

    written = to_anthropic(schema).schema["properties"]

    assert written["pair"] == {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "items": False,
    }
    assert written["n"] == {"type": "number", "exclusiveMinimum": 0}


def test_limits_go_where_a_model_reads_them() -> None:
    schema = {
        "properties": {"n": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5, "description": "Share."}}
    }

    exported = to_gemini(schema)

    assert exported.schema["properties"]["n"]["description"] == "Share. (greater than 0; a multiple of 0.5)"
    assert [loss.what for loss in exported.losses] == ["exclusiveMinimum", "multipleOf"]


def test_gemini_is_told_in_each_alternative_what_vertex_refuses_beside_them() -> None:
    limited = {"type": "number", "multipleOf": 2}
    union = {"anyOf": [{"type": "string"}, limited, {"type": "null"}], "description": "How many.", "default": "all"}

    exported = to_gemini({"properties": {"n": union}})

    assert exported.schema["properties"]["n"] == {
        "anyOf": [
            {"type": "string", "nullable": True, "description": "How many."},
            {"type": "number", "nullable": True, "description": "How many. (a multiple of 2)"},
        ]
    }
    assert ("/properties/n/default", "default") in [loss[:2] for loss in exported.losses]


@pytest.mark.parametrize("keyword", ["properties", "anyOf", "allOf"])
def test_a_schema_that_doubles_with_each_definition_keeps_its_references_or_is_refused(keyword: str) -> None:
    definitions: dict[str, Any] = {"D0": {"type": "object", "properties": {"x": {"type": "string"}}}}
    for level in range(1, 40):
        half = {"$ref": f"#/$defs/D{level - 1}"}
        halves: Any = {"l": half, "r": half} if keyword == "properties" else [half, half]
        definitions[f"D{level}"] = {"type": "object", keyword: halves}
    schema = {"properties": {"d": {"$ref": "#/$defs/D39"}}, "$defs": definitions}

    if keyword == "allOf":  # which has to be merged, and cannot be with references in place
        with pytest.raises(ToolExportError, match="more than 10121 parts"):
            to_gemini(schema)
        assert to_openai(schema, strict=True).form == "plain"
        return
    for exported, form in ((to_gemini(schema), "json_schema"), (to_openai(schema, strict=True), "strict")):
        assert exported.form == form
        assert list(exported.schema["$defs"])[:2] == ["D38", "D37"]
        assert len(json.dumps(exported.schema)) < 10_000


def test_many_alternatives_take_time_in_proportion() -> None:
    choices = {"anyOf": [{"const": f"v{number}"} for number in range(2000)]}

    written = to_gemini({"properties": {"x": choices}}).schema["properties"]["x"]

    assert len(written["anyOf"]) == 2000


def test_what_comes_out_is_the_callers_own() -> None:
    schema = TRICKY["plain"].schema

    to_openai(schema).schema["properties"].clear()

    assert to_openai(schema).schema["properties"]


# random schemas, each with arguments that it takes

Pair = tuple[dict[str, Any], Any]
names = st.sampled_from(["a", "b", "title", "type", "filter[x]", "$top", "ü", "1st", "x.y", "properties"])
scalars = st.none() | st.booleans() | st.integers(-50, 50) | st.sampled_from(["", "a", "bc", "5"])


NUMBERS: list[Callable[[int], dict[str, Any]]] = [
    lambda value: {"type": "integer"},
    lambda value: {"type": "integer", "minimum": value, "maximum": value + 3},
    lambda value: {"type": "integer", "exclusiveMinimum": value - 1},
    lambda value: {"type": "number", "exclusiveMaximum": value + 0.5, "multipleOf": 1},
    lambda value: {"const": value},
    lambda value: {"type": "integer", "enum": [value, value + 1]},
    lambda value: {"enum": [value, "x", None, True]},
    lambda value: {"type": ["integer", "string"], "minLength": 1},
    lambda value: {"type": ["integer", "null"]},
    lambda value: {},
]
TEXTS: list[Callable[[str], dict[str, Any]]] = [
    lambda value: {"type": "string"},
    lambda value: {"type": "string", "minLength": len(value), "maxLength": 5, "pattern": "^[a-z]*$"},
    lambda value: {"type": "string", "enum": [value, "other"]},
    lambda value: {"const": value},
    lambda value: {"type": "string", "format": "uri", "title": "Text", "examples": ["x"]},
    lambda value: {"not": {"type": "integer"}},
    lambda value: {"anyOf": [{"type": "string"}, {"type": "null"}]},
    lambda value: {"if": {"type": "integer"}, "then": {"minimum": 3}},
]
OTHERS: list[Pair] = [
    ({"type": "boolean"}, False),
    ({"enum": [True]}, True),
    ({"type": ["null", "boolean"]}, None),
    ({"type": "object"}, {"k": 1}),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, {"k": 1}),
    ({"type": "array"}, ["x", 1]),
    ({"type": "array", "prefixItems": [{"type": "string"}]}, ["x", 2]),
]


@st.composite
def leaves(draw: st.DrawFn) -> Pair:
    number, text = draw(st.integers(-20, 20)), draw(st.sampled_from(["", "a", "bc"]))
    found: list[Pair] = [
        (draw(st.sampled_from(NUMBERS))(number), number),
        (draw(st.sampled_from(TEXTS))(text), text),
        draw(st.sampled_from(OTHERS)),
    ]
    return copy.deepcopy(draw(st.sampled_from(found)))


@st.composite
def objects(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    members = draw(st.dictionaries(names, inner, min_size=1, max_size=3))
    required = draw(st.lists(st.sampled_from(sorted(members)), unique=True))
    given_ones = {*required, *draw(st.lists(st.sampled_from(sorted(members)), unique=True))}
    schema: dict[str, Any] = {"type": "object", "properties": {name: pair[0] for name, pair in members.items()}}
    if required:
        schema["required"] = required
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    return schema, {name: members[name][1] for name in members if name in given_ones}


@st.composite
def combined(draw: st.DrawFn, inner: st.SearchStrategy[Pair]) -> Pair:
    (first, value), (second, _) = draw(inner), draw(inner)
    alternatives = draw(st.permutations([first, second]))
    found: list[Pair] = [
        ({"anyOf": alternatives}, value),
        ({"allOf": [first, {"description": "more"}]}, value),
        ({"type": "array", "items": first, "maxItems": 3}, [value, value]),
        ({"type": "array", "items": first, "minItems": 1, "uniqueItems": True}, [value]),
        ({"anyOf": [first, {"type": "null"}], "default": None}, None),
    ]
    return draw(st.sampled_from(found))


pairs = st.recursive(leaves(), lambda inner: objects(inner) | combined(inner), max_leaves=6)


@st.composite
def tools(draw: st.DrawFn) -> Pair:
    schema, value = draw(objects(pairs))
    if draw(st.booleans()):  # one of the parameters stands in a definition, used under a description of its own
        name = draw(st.sampled_from(sorted(schema["properties"])))
        definition = schema["properties"][name]
        schema["properties"][name] = {"$ref": "#/$defs/One", "description": "its own"}
        schema["$defs"] = {"One": definition}
    return schema, value


quick = settings(max_examples=30)


@every_target
@quick
@given(tool=tools())
def test_no_valid_call_becomes_impossible(target: str, tool: Pair) -> None:
    schema, arguments = tool
    before = json.dumps(schema)
    check_arguments(schema, arguments)

    exported = TARGETS[target](schema)

    assert before == json.dumps(schema)
    check_form(exported, target)
    assert can_say(exported, arguments)
    assert exported.names.decode(exported.names.encode(arguments)) == arguments
    if exported.form == "strict":  # what a model has to write null for is taken back
        read = meaning(exported)
        sent = exported.names.decode(with_nulls(read, read, exported.names.encode(arguments)))
        assert validator_for(schema).is_valid(check_arguments(schema, sent).arguments)


@every_target
@quick
@given(tool=tools(), data=st.data())
def test_what_can_be_said_beyond_the_schema_is_reported(target: str, tool: Pair, data: st.DataObject) -> None:
    schema, arguments = tool
    exported = TARGETS[target](schema)
    name = data.draw(st.sampled_from(sorted(schema["properties"])))
    other = {**arguments, name: data.draw(scalars | st.lists(scalars, max_size=2))}

    if exported.form == "strict" and other[name] is None and name not in schema.get("required", ()):
        del other[name]  # that is what this null says

    is_beyond = can_say(exported, other) and not validator_for(schema).is_valid(other)

    assert not is_beyond or is_told(exported, other, schema)


keyword_values = st.recursive(
    scalars | st.sampled_from(["object", "array", "#/$defs/a", "#", "string", ["a"], 0]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "type",
                        "properties",
                        "items",
                        "anyOf",
                        "oneOf",
                        "allOf",
                        "$ref",
                        "$defs",
                        "a",
                        "enum",
                        "const",
                        "not",
                    ),
                    *(
                        "required",
                        "additionalProperties",
                        "prefixItems",
                        "minimum",
                        "exclusiveMinimum",
                        "pattern",
                        "if",
                    ),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(
    schema=st.dictionaries(st.sampled_from(["type", "properties", "anyOf", "allOf", "$ref", "$defs"]), keyword_values)
)
def test_nothing_but_typed_errors_comes_out_of_any_schema(schema: dict[str, Any]) -> None:
    for export in TARGETS.values():
        with contextlib.suppress(ToolExportError):
            exported = export(schema)
            json.dumps(exported.schema)
            assert meta.is_valid(meaning(exported))
            Document(exported.schema).check_references()
