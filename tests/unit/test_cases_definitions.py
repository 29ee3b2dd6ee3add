"""Layer 1 of the case list: tool definitions. What a case demands in words stands here as an assertion."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.cases import CASES, format_named, ids_of
from toolrelay import (
    ErrorCategory,
    ExportedTools,
    SchemaMismatchError,
    ToolSpec,
    export_tools,
    read_calls,
)
from toolrelay.schemas.validation import check_arguments


def spec_of(tool: dict[str, Any]) -> ToolSpec:
    return ToolSpec(tool["name"], tool.get("description", ""), tool.get("parameters", {}))


def exported(name: str, target: str | None = None) -> ExportedTools:
    given = CASES[name]["input"]
    before = copy.deepcopy(given)
    tools = given.get("tools") or [given["tool"]]
    result = export_tools(
        [spec_of(tool) for tool in tools],
        format_named(target or given["target"]),
        strict=given.get("strict", False),
    ).raise_for_refused()
    assert before == given  # nothing that comes in is changed
    json.dumps(result.tools)
    return result


def declaration(name: str) -> dict[str, Any]:
    (tool,) = exported(name).tools
    (found,) = tool["functionDeclarations"]
    assert isinstance(found, dict)
    return found


def parameters(name: str) -> dict[str, Any]:
    schema = declaration(name)["parameters"]
    assert isinstance(schema, dict)
    return schema


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Give a schema and those inside of it, by the keywords that are left when a provider has been written for."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("items", "additionalProperties"):
        yield from nodes(schema.get(key))
    for inner in [*schema.get("properties", {}).values(), *schema.get("anyOf", []), *schema.get("$defs", {}).values()]:
        yield from nodes(inner)


def keywords(schema: Any) -> set[str]:
    return {keyword for node in nodes(schema) for keyword in node}


def refused(name: str, arguments: dict[str, Any]) -> SchemaMismatchError:
    schema = CASES[name]["input"]["tool"]["parameters"]
    with pytest.raises(SchemaMismatchError) as caught:
        check_arguments(schema, arguments)
    return caught.value


def test_every_case_of_the_layer_is_a_test() -> None:
    assert [name for name in ids_of("L1") if f"test_{name.replace('-', '_')}" not in globals()] == []


def test_gemini_strips_unknown_schema_keywords() -> None:
    name = "gemini-strips-unknown-schema-keywords"

    # accepted too: the unchanged schema as parametersJsonSchema; `parameters` is what every model of Gemini's takes
    assert CASES[name]["expected"]["accept"][0]["functionDeclaration.parameters"] == parameters(name)
    assert {"$schema", "additionalProperties"}.isdisjoint(keywords(parameters(name)))
    assert sorted(
        (loss.pointer.removesuffix("/additionalProperties"), loss.what) for loss in exported(name).losses
    ) == [("", "additionalProperties"), ("/properties/filters", "additionalProperties")]


def test_gemini_exclusive_bound() -> None:
    name = "gemini-exclusive-bound"

    # accepted too: the bound in the description; for an integer nothing has to be lost
    assert parameters(name)["properties"]["limit"] == {"type": "integer", "minimum": 1, "maximum": 50}
    assert "exclusiveMinimum" not in keywords(parameters(name))
    assert exported(name).losses == []
    assert "/limit" in str(refused(name, {"limit": 0}))


def test_gemini_ref_to_sibling_property() -> None:
    schema = parameters("gemini-ref-to-sibling-property")

    assert schema["properties"]["steps"]["items"] == {"type": "object"}
    assert {"$ref", "ref"}.isdisjoint(keywords(schema))


def test_gemini_recursive_schema_terminates() -> None:
    name = "gemini-recursive-schema-terminates"

    # accepted too: an error; a tool of which one level is described is more use than none
    node = parameters(name)["properties"]["root"]
    assert node["properties"]["children"]["items"] == {"type": "object", "description": "Same structure as Node."}
    assert "$ref" not in keywords(parameters(name))
    assert len(json.dumps(parameters(name))) < 1000
    ((pointer, what, why, tool),) = exported(name).losses
    assert (pointer, what, tool) == ("/$defs/Node/properties/children/items/$ref", "$ref", "tree/store")
    assert why.endswith("cannot be recursive: 'Node' is written one level deep; below that any value is accepted")


def test_same_definition_used_twice_is_not_a_cycle() -> None:
    name = "same-definition-used-twice-is-not-a-cycle"

    number = {"type": "number"}
    geo = {"type": "object", "properties": {"lat": number, "lon": number}, "required": ["lat", "lon"]}
    place = {"type": "object", "properties": {"geo": geo}, "required": ["geo"]}
    assert {"from": place, "to": place} == parameters(name)["properties"]
    assert exported(name).losses == []


def test_gemini_integer_enum() -> None:
    name = "gemini-integer-enum"

    # accepted too: a string with an enum of strings; like this the declared type survives, and 60 stays a number
    minutes = parameters(name)["properties"]["minutes"]
    assert minutes == {"type": "integer", "description": "one of 60, 1440, 4320"}
    assert all(node["type"] == "string" for node in nodes(parameters(name)) if "enum" in node)
    assert "/minutes" in str(refused(name, {"minutes": 61}))
    assert check_arguments(CASES[name]["input"]["tool"]["parameters"], {"minutes": 60.0}).arguments == {"minutes": 60}


def test_gemini_string_formats() -> None:
    name = "gemini-string-formats"

    assert CASES[name]["expected"]["properties"] == parameters(name)["properties"]
    assert sorted(loss.pointer for loss in exported(name).losses) == [
        "/properties/link/format",
        "/properties/mail/format",
    ]


def test_gemini_type_array_with_null() -> None:
    name = "gemini-type-array-with-null"

    schema = parameters(name)
    assert CASES[name]["expected"]["properties.name"] == schema["properties"]["name"]
    assert all(isinstance(node.get("type", ""), str) and "," not in node.get("type", "") for node in nodes(schema))
    assert exported(name).losses == []


def test_required_names_undeclared_property() -> None:
    name = "required-names-undeclared-property"

    schema = parameters(name)
    assert schema["properties"] == {"text": {"type": "string"}}
    assert schema["required"] == ["text"]
    assert [loss.why for loss in exported(name).losses] == ["'ref' is required, but not among the properties"]


def test_array_without_items() -> None:
    accepted: list[dict[str, Any]] = [
        {"tags": ["x", 1, None, [], {}]},
        {"tags": [], "extra": None},
        {"tags": [], "extra": [True]},
    ]
    name = "array-without-items"
    schema = CASES[name]["input"]["tool"]["parameters"]

    openai = exported(name, "openai_chat").tools[0]["function"]["parameters"]
    arrays = [node for node in nodes(openai) if node.get("type") == "array"]
    assert [array["items"] for array in arrays] == [{}, {}]

    gemini = exported(name, "gemini").tools[0]["functionDeclarations"][0]["parameters"]
    arrays = [node for node in nodes(gemini) if node.get("type") == "array"]
    assert len(arrays) == 4  # the two, and the lists that may be in them
    for array in arrays:
        # one type would be an invention: every type is offered
        assert {"string", "number", "boolean", "object"} <= {one["type"] for one in array["items"]["anyOf"]}
    for arguments in accepted:
        assert arguments == check_arguments(schema, arguments).arguments


def test_gemini_function_without_parameters() -> None:
    for tool in CASES["gemini-function-without-parameters"]["input"]["variants"]:
        result = export_tools([spec_of(tool)], "gemini")

        assert result.tools == [{"functionDeclarations": [{"name": "clock_now", "description": "Current time."}]}]
        assert result.losses == []


def test_anthropic_root_level_anyof() -> None:
    name = "anthropic-root-level-anyof"

    (tool,) = exported(name).tools
    assert CASES[name]["expected"]["input_schema"] == tool["input_schema"]
    assert {"anyOf", "oneOf", "allOf"}.isdisjoint(tool["input_schema"])
    assert [(loss.pointer, loss.what) for loss in exported(name).losses] == [("/anyOf", "anyOf")]
    assert refused(name, {"id": "7"}).category is ErrorCategory.SCHEMA


def test_anthropic_property_key_pattern() -> None:
    result = exported("anthropic-property-key-pattern")
    (tool,) = result.tools
    schema = tool["input_schema"]

    assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key) for key in schema["properties"])
    assert schema["required"] == ["filter_name_"]
    block = {"type": "tool_use", "id": "t1", "name": tool["name"], "input": {"filter_name_": "demo", "_top": 5}}
    (call,) = read_calls(block, names=result.names)
    assert (call.tool_name, call.arguments) == ("apps/list", {"filter[name]": "demo", "$top": 5})
    assert {"/properties/filter[name]", "/properties/$top"} == {loss.pointer for loss in result.losses}


def test_openai_tool_name_with_slash() -> None:
    name = "openai-tool-name-with-slash"
    result = exported(name)
    wire_name = result.tools[0]["function"]["name"]
    returned = copy.deepcopy(CASES[name]["input"]["model_returns"])
    returned["function"]["name"] = wire_name

    (call,) = read_calls(returned, names=result.names)

    assert wire_name == "weather_lookup"
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", wire_name)
    shown = {
        "tool_name": call.tool_name,
        "arguments": call.arguments,
        "provider_call_id": call.provider_call_id,
    }
    assert CASES[name]["expected"]["calls"] == [shown]


def test_names_equal_after_sanitising() -> None:
    # accepted too: an error that names both; two legal names are to be had
    result = exported("names-equal-after-sanitising")
    wire_names = [tool["function"]["name"] for tool in result.tools]

    assert len(set(wire_names)) == 2
    assert wire_names[1] == "notes_search"
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", wire_name) for wire_name in wire_names)
    assert [result.names.decode(wire_name) for wire_name in wire_names] == ["notes.search", "notes_search"]
    calls = read_calls(
        [{"function": {"name": wire_name, "arguments": "{}"}} for wire_name in wire_names], names=result.names
    )
    assert [call.tool_name for call in calls] == ["notes.search", "notes_search"]


def test_name_limits_differ_by_provider() -> None:
    name = "name-limits-differ-by-provider"
    own = CASES[name]["input"]["tool"]["name"]

    assert own == exported(name, "anthropic").tools[0]["name"]
    openai = exported(name, "openai_chat")
    wire_name = openai.tools[0]["function"]["name"]
    assert len(wire_name) <= 64
    assert own == openai.names.decode(wire_name)


def test_parameter_called_title() -> None:
    name = "parameter-called-title"

    assert CASES[name]["expected"]["schema"] == parameters(name)


def test_input_schema_without_type() -> None:
    name = "input-schema-without-type"
    (tool,) = exported(name).tools

    assert CASES[name]["expected"]["function.parameters"] == tool["function"]["parameters"]
    assert tool["function"]["strict"] is True


def test_description_length_limit() -> None:
    for text in ("d" * 3000, "\N{GRINNING FACE}" * 3000):
        spec = ToolSpec("weather/lookup", text, {})

        # by default unchanged; both are accepted, as a limit that is asked for and says what it did
        for target in ("openai", "anthropic", "gemini"):
            assert text in json.dumps(export_tools([spec], target).tools, ensure_ascii=False)
        cut = export_tools([spec], "openai", max_description_length=1024)
        assert text[:1023] + "…" == cut.tools[0]["function"]["description"]
        assert [loss.why for loss in cut.losses] == ["cut from 3000 to 1024 characters"]
        cut.tools[0]["function"]["description"].encode()  # no half of a character
