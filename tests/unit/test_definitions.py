"""Tools and choices out to each provider and back in."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import validator_for

from tests.unit.test_schema_dialects import Pair, tools, with_nulls
from tests.unit.tricky_schemas import TRICKY
from toolrelay import (
    ChoiceMode,
    InvalidToolError,
    NameMap,
    ProviderFormat,
    ToolChoice,
    ToolChoiceError,
    ToolExportError,
    ToolSpec,
    UnknownProviderFormatError,
    build_request,
    convert_tools,
    export_tool_choice,
    export_tools,
    import_request,
    import_tool_choice,
    import_tools,
)
from toolrelay.schemas._convert import convert
from toolrelay_worker import ToolRegistry

every_format = pytest.mark.parametrize("wire_format", ProviderFormat)
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
SPEC = ToolSpec("find", "Find it.", SCHEMA)

WIRE: list[tuple[str, list[dict[str, Any]]]] = [
    ("openai", [{"type": "function", "function": {"name": "find", "description": "Find it.", "parameters": SCHEMA}}]),
    (
        "openai_responses",
        [{"type": "function", "name": "find", "description": "Find it.", "parameters": SCHEMA, "strict": False}],
    ),
    ("anthropic", [{"name": "find", "description": "Find it.", "input_schema": SCHEMA}]),
    ("gemini", [{"functionDeclarations": [{"name": "find", "description": "Find it.", "parameters": SCHEMA}]}]),
    ("gemini_interactions", [{"type": "function", "name": "find", "description": "Find it.", "parameters": SCHEMA}]),
    (
        "langchain",
        [{"type": "function", "function": {"name": "find", "description": "Find it.", "parameters": SCHEMA}}],
    ),
    ("mcp", [{"name": "find", "description": "Find it.", "inputSchema": SCHEMA}]),
    ("bedrock", [{"toolSpec": {"name": "find", "description": "Find it.", "inputSchema": {"json": SCHEMA}}}]),
    ("unknown", [{"name": "find", "description": "Find it.", "input_schema": SCHEMA}]),
]


@pytest.mark.parametrize(("wire_format", "wire"), WIRE)
def test_a_tool_in_each_providers_words(wire_format: str, wire: list[dict[str, Any]]) -> None:
    exported = export_tools([SPEC], wire_format)

    assert exported.tools == wire
    assert exported.losses == []
    assert import_tools(wire, wire_format) == [SPEC]
    assert import_tools(wire) == [SPEC]
    assert import_tools(json.dumps(wire)) == [SPEC]
    assert import_tools({"tools": wire, "messages": []}) == [SPEC]


@pytest.mark.parametrize(("wire_format", "wire"), WIRE)
def test_an_sdks_objects_are_read_as_well(wire_format: str, wire: list[dict[str, Any]]) -> None:
    def as_object(value: Any) -> Any:
        if isinstance(value, list):
            return [as_object(inner) for inner in value]
        if not isinstance(value, dict) or "properties" in value:
            return value
        return SimpleNamespace(**{key: as_object(inner) for key, inner in value.items()})

    assert import_tools(as_object(wire)) == [SPEC]


@every_format
@settings(max_examples=25)
@given(
    drawn=st.lists(
        st.tuples(st.text(alphabet="ab/._ é", min_size=1, max_size=8), st.text(max_size=9), tools()), max_size=3
    ),
    strict=st.booleans(),
)
def test_tools_come_back_as_they_went_but_for_what_was_reported(
    wire_format: ProviderFormat, drawn: list[tuple[str, str, Pair]], strict: bool
) -> None:
    specs = list({name: ToolSpec(name, text, schema) for name, text, (schema, _) in drawn}.values())
    arguments = {name: value for name, _, (__, value) in drawn}
    before = copy.deepcopy(specs)

    exported = export_tools(specs, wire_format, strict=strict)
    back = import_tools(json.loads(json.dumps(exported.tools)), wire_format)

    assert specs == before
    assert exported.refused == []
    assert [exported.names.decode(spec.name) for spec in back] == [spec.name for spec in specs]
    assert [spec.description for spec in back] == [spec.description for spec in specs]
    for spec, again in zip(specs, back, strict=True):
        if any(loss.tool == spec.name for loss in exported.losses):
            continue
        ours, theirs = validator_for(spec.input_schema), validator_for(again.input_schema)
        for sample in (arguments[spec.name], {}, {"a": 1}, {"a": "x", "title": None}):
            if strict and not spec.input_schema["properties"].keys() >= sample.keys():
                continue  # strict closes what says nothing of other properties
            if strict:  # every property is asked for there, and null says that it was left out
                filled = with_nulls(again.input_schema, again.input_schema, sample)
                assert ours.is_valid(sample) <= (theirs.is_valid(sample) or theirs.is_valid(filled))
            else:
                assert ours.is_valid(sample) == theirs.is_valid(sample)


@every_format
def test_tricky_tools_go_out_side_by_side_and_a_broken_one_takes_none_along(wire_format: ProviderFormat) -> None:
    specs = [ToolSpec(name, "", tricky.schema) for name, tricky in TRICKY.items()]
    broken = ToolSpec("broken", "", {"properties": {"a": {"$ref": "https://example.com/a"}}})

    exported = export_tools([*specs[:3], broken, *specs[3:], specs[0]], wire_format)

    assert list(exported.names.tools) == [spec.name for spec in specs]
    first, second = exported.refused
    assert (first.tool, first.pointer) == ("broken", "/properties/a/$ref")
    assert (second.tool, second.why) == (specs[0].name, "another tool in the list has this name")
    with pytest.raises(ToolExportError, match="broken"):
        exported.raise_for_refused()


@every_format
@pytest.mark.parametrize(
    "broken",
    [
        {"anyOf": [{}], "properties": {"a": {"$ref": "#/anyOf/" + "1" * 5000}}},
        {"properties": {"a": {"$ref": "#/anyOf/01"}}, "anyOf": [{}, {}]},
    ],
)
def test_a_reference_to_a_place_that_no_list_has_takes_no_tool_along(
    wire_format: ProviderFormat, broken: dict[str, Any]
) -> None:
    exported = export_tools([SPEC, ToolSpec("broken", "", broken)], wire_format)

    assert [list(exported.names.tools), [one.tool for one in exported.refused]] == [["find"], ["broken"]]
    assert exported.refused[0].pointer == "/properties/a/$ref"


@pytest.mark.parametrize(
    ("first", "second", "multiple"),
    [(10**400, 0.5, 10**400), (0.5, 10**400, 10**400), (1e308, 5e-324, 1e308), (6, 4, 6)],
)
def test_multiples_of_any_size_are_joined_exactly_where_one_says_both(first: Any, second: Any, multiple: Any) -> None:
    schema = {"properties": {"a": {"type": "number", "multipleOf": first, "allOf": [{"multipleOf": second}]}}}

    exported = export_tools([ToolSpec("x", "", schema)], "openai", strict=True).raise_for_refused()

    assert exported.tools[0]["function"]["parameters"]["properties"]["a"]["multipleOf"] == multiple


@pytest.mark.parametrize("fault", [OverflowError("too large"), ValueError("too many digits")])
def test_a_number_that_cannot_be_counted_with_takes_no_tool_along(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(root: dict[str, Any], target: str) -> Any:
        if "odd" in root["properties"]:
            raise fault
        return convert(root, target)

    monkeypatch.setattr("toolrelay.schemas._convert.convert", fail)
    odd = ToolSpec("odd", "", {"properties": {"odd": {"title": str(fault)}}})

    exported = export_tools([odd, SPEC], "openai")

    assert [one.why for one in exported.refused] == [f"the schema cannot be converted: {fault}"]
    assert list(exported.names.tools) == ["find"]


def test_what_a_provider_is_not_told_of_a_tool_is_reported() -> None:
    spec = ToolSpec("check", "", {}, {"type": "object"}, "validation")

    told = {
        target: [loss.what for loss in export_tools([spec], target).losses] for target in ("openai", "mcp", "gemini")
    }

    assert told == {"openai": ["output_schema", "tool_type"], "mcp": ["tool_type"], "gemini": ["tool_type"]}
    (again,) = import_tools(export_tools([spec], "mcp").tools, "mcp")
    assert again.output_schema == {"type": "object"}


def test_gemini_types_may_be_in_upper_case() -> None:
    exported = export_tools([SPEC], "gemini", upper_case_types=True)

    schema = exported.tools[0]["functionDeclarations"][0]["parameters"]
    assert schema == {"type": "OBJECT", "properties": {"q": {"type": "STRING"}}, "required": ["q"]}
    assert import_tools(exported.tools) == [SPEC]


def test_geminis_own_words_are_read_as_json_schema() -> None:
    parameters = {
        "type": "OBJECT",
        "properties": {
            "n": {"type": "INTEGER", "enum": ["1", "-2"], "nullable": True},
            "a": {"type": "ARRAY", "items": {"type": "STRING"}, "minItems": "2"},
            "u": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}], "nullable": True},
            "nullable": {"type": "BOOLEAN"},
        },
        "propertyOrdering": ["n", "a"],
    }

    (spec,) = import_tools({"function_declarations": [{"name": "x", "parameters": parameters}]})

    assert spec.input_schema == {
        "type": "object",
        "properties": {
            "n": {"type": ["integer", "null"], "enum": [1, -2, None]},
            "a": {"type": "array", "items": {"type": "string"}, "minItems": 2},
            "u": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "null"}]},
            "nullable": {"type": "boolean"},
        },
    }


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "web_search"},
        {"type": "mcp", "server_label": "x", "server_url": "https://example.com"},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "computer_toolset_20260801"},
        {"type": "web_search_20250305", "name": "web_search"},
        {"googleSearch": {}},
        {"cachePoint": {"type": "default"}},
        {"type": "code_execution"},
    ],
)
def test_kinds_that_the_provider_defines_are_skipped(tool: dict[str, Any]) -> None:
    assert import_tools([tool, *WIRE[0][1]]) == [SPEC]


@pytest.mark.parametrize(
    ("tools", "where"),
    [
        (
            [WIRE[0][1][0], {"type": "function", "function": {"parameters": {}}}],
            r"tools\[1\]: the function has no name",
        ),
        ([{"type": "function", "name": ""}], r"tools\[0\]"),
        ([{"input_schema": {}}], r"tools\[0\]"),
        ([{"functionDeclarations": [{"name": "a"}, {"description": "b"}]}], r"tools\[0\].functionDeclarations\[1\]"),
        ([{"type": "namespace", "name": "n", "tools": [{"type": "function"}]}], r"tools\[0\].tools\[0\]"),
        ([{"toolSpec": {"inputSchema": {}}}], r"tools\[0\]"),
        ([{"name": "a", "parameters": 5}], r"tools\[0\] \('a'\): the schema must be an object"),
        (["clock"], r"tools\[0\]: a definition is an object, got str"),
        ("{", "not valid JSON"),
        (5, "a list or an object"),
    ],
)
def test_a_definition_that_cannot_be_read_is_an_error_that_says_which(tools: Any, where: str) -> None:
    with pytest.raises(InvalidToolError, match=where):
        import_tools(tools)


def looked_up(city: str) -> str:
    """Weather of a city."""
    return city


@pytest.mark.parametrize("export", [export_tools, build_request])
@pytest.mark.parametrize(
    ("thing", "advice"),
    [
        (looked_up, r"got function '<function looked_up .*: for tools made with @tool: default_registry.specs\(\)"),
        ("weather/lookup", r"got str 'weather/lookup': "),
        ({"name": "a", "input_schema": {}}, "read a provider's definitions with import_tools first"),
        (ToolRegistry().register(ToolSpec("a", "", {}), looked_up), r"got RegisteredTool .*: pass its \.spec"),
    ],
    ids=["a function", "a name", "a definition", "a registered tool"],
)
def test_what_is_no_spec_is_an_error_that_says_where_specs_come_from(export: Any, thing: Any, advice: str) -> None:
    with pytest.raises(InvalidToolError, match=advice):
        export([thing], "openai")


def test_tools_of_a_namespace_carry_it_in_their_names() -> None:
    inside = {"type": "function", "name": "open", "parameters": SCHEMA}

    assert [spec.name for spec in import_tools([{"type": "namespace", "name": "crm", "tools": [inside]}])] == [
        "crm/open"
    ]


@pytest.mark.parametrize("flat", [False, True], ids=["chat", "responses"])
def test_a_free_text_tool_is_a_function_of_one_text(flat: bool) -> None:
    grammar = {"syntax": "regex", "definition": "SELECT.*"}
    form = {"type": "grammar", **(grammar if flat else {"grammar": grammar})}
    custom = {"name": "sql", "description": "d", "format": form}

    (spec,) = import_tools([{"type": "custom", **(custom if flat else {"custom": custom})}])

    assert spec.input_schema["required"] == ["input"]
    assert "SELECT.*" in spec.input_schema["properties"]["input"]["description"]


def test_a_langchain_tool_is_read_by_its_args_schema() -> None:
    class Schema:
        @staticmethod
        def model_json_schema() -> dict[str, Any]:
            return SCHEMA

    tool = SimpleNamespace(name="find", description="Find it.", args_schema=Schema, return_direct=False)

    assert import_tools([tool], "langchain") == [SPEC]
    assert import_tools([{"name": "find", "description": "Find it.", "args_schema": SCHEMA}]) == [SPEC]


def test_strict_stays_with_the_tool_that_had_it() -> None:
    first = {"type": "function", "function": {"name": "a", "parameters": SCHEMA, "strict": True}}
    second = {"type": "function", "function": {"name": "b", "parameters": SCHEMA}}

    assert [tool.get("strict", False) for tool in convert_tools([first, second], "anthropic").tools] == [True, False]
    assert [tool["strict"] for tool in convert_tools([first, second], "openai_responses").tools] == [True, False]


def test_a_strict_choice_makes_the_tools_strict_where_the_choice_cannot_say_it() -> None:
    request = build_request([SPEC], "openai", ToolChoice(strict=True))

    assert request.fields["tool_choice"] == "auto"
    assert [tool["function"]["strict"] for tool in request.fields["tools"]] == [True]
    assert request.losses == []


def test_what_mcp_says_in_meta_is_reported() -> None:
    tool = {"name": "a", "inputSchema": SCHEMA, "_meta": {"x": 1}}

    assert [loss.what for loss in convert_tools([tool], "openai").losses] == ["_meta"]


def test_bedrock_has_strict_tools() -> None:
    closed = {**SCHEMA, "additionalProperties": False}

    exported = export_tools(
        [ToolSpec("find", "", closed), ToolSpec("any", "", {"type": "object"})], "bedrock", strict=True
    )

    assert [tool["toolSpec"].get("strict") for tool in exported.tools] == [True, None]
    assert exported.tools[0]["toolSpec"]["inputSchema"] == {"json": closed}
    assert [(loss.tool, loss.what) for loss in exported.losses] == [("any", "strict")]


def test_what_another_provider_has_no_place_for_is_reported() -> None:
    tool = {"name": "a", "input_schema": SCHEMA, "input_examples": [{"q": "x"}], "defer_loading": True}

    converted = convert_tools([tool, {"type": "bash_20250124", "name": "bash"}], "openai")

    assert [tool["function"]["name"] for tool in converted.tools] == ["a"]
    assert [loss.what for loss in converted.losses] == ["defer_loading", "input_examples", "tool"]


CHOICES = [
    ToolChoice(),
    ToolChoice(ChoiceMode.ANY),
    ToolChoice(ChoiceMode.NONE),
    ToolChoice.tool("weather/lookup"),
    ToolChoice.subset(["weather/lookup", "clock"]),
    ToolChoice.subset(["weather/lookup", "clock"], "any"),
]
WITH_SUBSETS = ("openai", "openai_responses", "gemini_interactions", "unknown")


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@every_format
def test_a_choice_comes_back_as_it_went(wire_format: ProviderFormat, choice: ToolChoice) -> None:
    names = export_tools([ToolSpec("weather/lookup", "", {}), ToolSpec("clock", "", {})], wire_format).names
    try:
        value = export_tool_choice(choice, wire_format, names)
    except ToolChoiceError:
        assert (wire_format, choice.mode) == (ProviderFormat.BEDROCK, ChoiceMode.NONE)
        return

    back = import_tool_choice(json.loads(json.dumps(value)), wire_format, names)

    assert back == import_tool_choice(value, names=names)
    assert back is not None
    assert back.mode == choice.mode
    if wire_format in WITH_SUBSETS or (len(choice.tools) < 2 and wire_format is not ProviderFormat.MCP):
        assert back.tools == choice.tools


@pytest.mark.parametrize(
    ("value", "choice"),
    [
        ("lookup", ToolChoice.tool("lookup")),
        ({"name": "lookup"}, ToolChoice.tool("lookup")),
        ({"type": "custom", "custom": {"name": "sql"}}, ToolChoice.tool("sql")),
        ({"type": "custom", "name": "sql"}, ToolChoice.tool("sql")),
        ({"type": "tool", "name": "auto"}, ToolChoice.tool("auto")),
        ({"type": "any", "disable_parallel_tool_use": True}, ToolChoice(ChoiceMode.ANY, parallel=False)),
        ({"type": "auto", "disable_parallel_tool_use": False}, ToolChoice(parallel=True)),
        ({"function_calling_config": {"mode": "VALIDATED"}}, ToolChoice(strict=True)),
        ({"mode": "ANY", "allowedFunctionNames": ["a", "b"]}, ToolChoice.subset(["a", "b"], "any")),
        ({"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}, ToolChoice(ChoiceMode.NONE)),
        ({"tool": {"name": "x"}}, ToolChoice.tool("x")),
        ({"mode": "required"}, ToolChoice(ChoiceMode.ANY)),
        (SimpleNamespace(type="tool", name="x"), ToolChoice.tool("x")),
        ("", None),
        (None, None),
        (5, None),
        ([], None),
        ({}, None),
        ({"type": "function"}, None),
        ({"type": "function", "function": {}}, None),
        ({"type": "mcp", "server_label": "x"}, None),
        ({"type": "web_search_preview"}, None),
        ({"type": "sometimes"}, None),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "mcp", "server_label": "x"}]}, None),
        ({"functionCallingConfig": {"mode": "SOMETIMES"}}, None),
        ({"auto": {}, "any": {}}, None),
    ],
)
def test_a_choice_is_read_or_is_none(value: Any, choice: ToolChoice | None) -> None:
    assert import_tool_choice(value) == choice


def test_a_choice_names_tools_as_they_are_declared() -> None:
    names = NameMap({"weather/lookup": "weather_lookup_1"})

    assert export_tool_choice(ToolChoice.tool("weather/lookup"), "anthropic", names)["name"] == "weather_lookup_1"
    assert export_tool_choice(ToolChoice.tool("weather/lookup"), "anthropic")["name"] == "weather_lookup"


@pytest.mark.parametrize("given_one", [{"mode": "sometimes"}, {"mode": "none", "tools": ("a",)}])
def test_a_choice_that_makes_no_sense_is_refused(given_one: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"sometimes|forbids every tool"):
        ToolChoice(**given_one)


def test_no_parallel_calls_is_a_loss_where_there_is_no_switch() -> None:
    for target in ("gemini", "bedrock", "mcp"):
        assert [loss.what for loss in build_request([SPEC], target, ToolChoice(parallel=False)).losses] == ["parallel"]
    assert build_request([SPEC], "openai", ToolChoice(parallel=False)).fields["parallel_tool_calls"] is False


def test_strict_on_gemini_is_a_matter_of_the_request() -> None:
    request = build_request([SPEC], "gemini", strict=True)

    assert request.fields["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}
    assert request.losses == []


@pytest.mark.parametrize(
    "wire_format", ["openai", "openai_responses", "anthropic", "gemini", "gemini_interactions", "bedrock"]
)
def test_a_request_is_read_back_from_its_body(wire_format: str) -> None:
    built = build_request([SPEC, ToolSpec("other", "", {})], wire_format, ToolChoice.tool("find"))

    specs, choice = import_request({"model": "m", **built.fields}, wire_format)

    assert [spec.name for spec in specs] == ["find", "other"]
    assert choice == ToolChoice.tool("find")
    assert (specs, choice) == import_request(json.dumps({"model": "m", **built.fields}))


def test_an_unknown_provider_is_an_error_that_lists_the_known() -> None:
    for call in (
        lambda: export_tools([], "acme"),
        lambda: import_tools([], "acme"),
        lambda: convert_tools([], "acme"),
        lambda: export_tool_choice(ToolChoice(), "acme"),
        lambda: import_tool_choice("auto", "acme"),
        lambda: build_request([], "acme"),
    ):
        with pytest.raises(UnknownProviderFormatError, match=r"anthropic.*'acme'"):
            call()


def test_a_request_tells_which_tools_it_does_not_declare() -> None:
    fine = ToolSpec("clock", "The time.", {"type": "object", "properties": {}})
    foreign = ToolSpec("remote", "", {"type": "object", "properties": {"a": {"$ref": "https://example.org/schema"}}})

    request = build_request([foreign, fine], "openai")

    assert [tool["function"]["name"] for tool in request.fields["tools"]] == ["clock"]
    assert [(refusal.tool, refusal.pointer) for refusal in request.refused] == [("remote", "/properties/a/$ref")]
    with pytest.raises(ToolExportError, match="leaves the schema"):
        build_request([foreign], "openai")
    with pytest.raises(ToolExportError, match="leaves the schema"):
        build_request([foreign, fine], "openai", ToolChoice.tool("remote"))
