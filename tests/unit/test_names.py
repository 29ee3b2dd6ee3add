"""Names on the wire: legal, never two tools under one, and turned back when a call is read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolrelay import NameMap, ProviderFormat, StreamAssembler, ToolSpec, export_tools, read_calls
from toolrelay.formats import FORMATS
from toolrelay.names import Alphabet, ArgumentNames

#: what each wire allows, in the providers' own words
LEGAL = {
    ProviderFormat.OPENAI: r"[a-zA-Z0-9_-]{1,64}",
    ProviderFormat.OPENAI_RESPONSES: r"[a-zA-Z0-9_-]{1,64}",
    ProviderFormat.ANTHROPIC: r"[a-zA-Z0-9_-]{1,128}",
    ProviderFormat.GEMINI: r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
    ProviderFormat.GEMINI_INTERACTIONS: r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
    ProviderFormat.LANGCHAIN: r"[a-zA-Z0-9_-]{1,64}",
    ProviderFormat.MCP: r"[A-Za-z0-9._-]{1,128}",
    ProviderFormat.BEDROCK: r"[a-zA-Z][a-zA-Z0-9_-]{0,63}",
    ProviderFormat.UNKNOWN: r"[a-zA-Z0-9_-]{1,64}",
}
every_format = pytest.mark.parametrize("wire_format", ProviderFormat)

# few characters, so that names meet when the illegal ones are replaced
crowded = st.text(alphabet="a_/.:-é1", min_size=1, max_size=5)
sets_of_names = st.sets(crowded | st.text(min_size=1, max_size=200), min_size=1, max_size=40)


@every_format
@settings(max_examples=50)
@given(names=sets_of_names)
def test_any_names_get_legal_ones_that_turn_back(wire_format: ProviderFormat, names: set[str]) -> None:
    name_map = NameMap.of(names, FORMATS[wire_format].TOOL_NAMES)

    wire_names = {name: name_map.encode(name) for name in names}
    assert len(set(wire_names.values())) == len(names)
    assert all(re.fullmatch(LEGAL[wire_format], wire_name) for wire_name in wire_names.values())
    assert names == {name_map.decode(wire_name) for wire_name in wire_names.values()}
    assert all(wire_names[name] == name for name in names if re.fullmatch(LEGAL[wire_format], name))


@every_format
def test_five_hundred_names_stay_apart(wire_format: ProviderFormat) -> None:
    separators = "/.:_ -é"
    names = [f"tool{a}{number}{b}x" for number in range(11) for a in separators for b in separators][:500]

    name_map = NameMap.of(names, FORMATS[wire_format].TOOL_NAMES)

    assert len(names) == 500
    assert len({name_map.encode(name) for name in names}) == 500
    assert names == [name_map.decode(name_map.encode(name)) for name in names]


@settings(max_examples=50)
@given(names=st.lists(crowded, unique=True, min_size=2), other=crowded)
def test_the_order_of_the_tools_does_not_matter(names: list[str], other: str) -> None:
    alphabet = Alphabet("a-zA-Z0-9_-", 64)

    assert alphabet.encode(names) == alphabet.encode(reversed(names))


def test_a_name_too_long_is_told_from_one_that_begins_alike() -> None:
    names = ["x" * 70, "x" * 71, "x" * 64]

    wire = Alphabet("a-zA-Z0-9_-", 64).encode(names)

    assert wire["x" * 64] == "x" * 64
    assert {len(wire_name) for wire_name in wire.values()} == {64}
    assert len(set(wire.values())) == 3


def test_a_map_in_which_two_tools_are_one_is_refused() -> None:
    with pytest.raises(ValueError, match="same name on the wire"):
        NameMap({"a/b": "a_b", "a.b": "a_b"})


def test_a_legal_name_that_looks_decorated_is_found_before_anything_is_taken_off_it() -> None:
    names = export_tools([ToolSpec("functions.lookup", "", {}), ToolSpec("lookup", "", {})], "gemini").names
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": name, "args": {}}} for name in ("functions.lookup", "lookup", "default_api.lookup")
    ]

    calls = read_calls({"parts": parts}, names=names)

    assert [call.tool_name for call in calls] == ["functions.lookup", "lookup", "lookup"]


NESTED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "filter[name]": {"type": "string"},
        "filter_name_": {"type": "string"},
        "orders": {"type": "array", "items": {"type": "object", "properties": {"$id": {"type": "integer"}}}},
        "either": {"anyOf": [{"type": "object", "properties": {"a b": {"type": "integer"}}}, {"type": "string"}]},
        "free": {"type": "object"},
    },
}


def test_parameters_are_renamed_where_the_schema_has_them_and_nowhere_else() -> None:
    exported = export_tools([ToolSpec("find", "", NESTED)], "gemini")
    declared = exported.tools[0]["functionDeclarations"][0]["parameters"]["properties"]
    (renamed,) = [name for name in declared if name.startswith("filter_name__")]
    args = {renamed: "x", "filter_name_": "y", "orders": [{"_id": 1}], "either": {"a_b": 2}, "free": {"_id": "data"}}

    (call,) = read_calls({"functionCall": {"name": "find", "args": args}}, names=exported.names)

    assert call.arguments == {
        "filter[name]": "x",
        "filter_name_": "y",
        "orders": [{"$id": 1}],
        "either": {"a b": 2},
        "free": {"_id": "data"},
    }
    arguments = exported.names.arguments_of("find")
    assert arguments is not None
    assert arguments.encode(call.arguments) == args
    assert len(exported.losses) == 3


def test_a_model_that_writes_both_spellings_loses_neither() -> None:
    names = ArgumentNames({"a_b": "a b"})

    assert names.decode({"a_b": 1, "a b": 2}) == {"a_b": 1, "a b": 2}


def test_a_model_that_uses_the_tools_own_name_has_its_parameters_mapped_too() -> None:
    names = export_tools([ToolSpec("apps/list", "", {"properties": {"$top": {"type": "integer"}}})], "anthropic").names

    (call,) = read_calls({"type": "tool_use", "id": "t", "name": "apps/list", "input": {"_top": 5}}, names=names)

    assert (call.tool_name, call.arguments) == ("apps/list", {"$top": 5})


def test_a_stream_is_read_with_the_same_names() -> None:
    names = export_tools([ToolSpec("apps/list", "", {"properties": {"$top": {"type": "integer"}}})], "anthropic").names
    assembler = StreamAssembler("anthropic", names=names)
    block = {"type": "tool_use", "id": "t", "name": "apps_list", "input": {}}
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"_top"'}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ": 5}"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]

    calls = [call for event in events for call in assembler.feed(event)] + assembler.close()

    assert [(call.tool_name, call.arguments) for call in calls] == [("apps/list", {"$top": 5})]
