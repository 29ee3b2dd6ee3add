"""Calls that come under a tool's name on the wire, without the map of the request's names."""

from __future__ import annotations

from typing import Any

import pytest

from toolrelay import ErrorCategory, ExecutionPolicy, ToolSpec, export_tools, read_calls
from toolrelay.admission import Admission, admit
from toolrelay.protocol.replies import CatalogueEntry

ODD = {"type": "object", "properties": {"bad-name!": {"type": "integer"}}, "required": ["bad-name!"]}


def admitted(name: str, arguments: dict[str, Any], *tools: str, provider_format: str = "gemini") -> Admission:
    specs = [ToolSpec(tool, "", ODD if tool.startswith("odd") else {"type": "object"}) for tool in tools]
    catalogue = {spec.name: CatalogueEntry(spec, ExecutionPolicy()) for spec in specs}
    (call,) = read_calls({"functionCall": {"name": name, "args": arguments}}, "gemini")
    call = call.model_copy(update={"tool_call_id": "tc", "provider_format": provider_format})
    return admit(call, catalogue, max_arguments_bytes=1000)


def test_a_name_on_the_wire_finds_the_one_tool_that_it_can_mean() -> None:
    admission = admitted("weather_lookup", {}, "weather/lookup", "clock")

    assert admission.refusal is None
    assert admission.request.tool_name == "weather/lookup"
    assert admission.request.provider_metadata == {"wire_name": "weather_lookup"}


@pytest.mark.parametrize("tools", [("a/b", "a+b"), ("clock",), ("a/bc",)], ids=["two tools", "none", "another"])
def test_a_name_that_may_mean_several_tools_or_none_is_not_guessed(tools: tuple[str, ...]) -> None:
    admission = admitted("a_b", {}, *tools)

    assert admission.refusal is not None
    assert admission.refusal.category == ErrorCategory.NOT_FOUND


@pytest.mark.parametrize("name", ["a/b", "a+b"])
def test_a_name_with_a_hash_finds_its_tool(name: str) -> None:
    specs = [ToolSpec(each, "", {"type": "object"}) for each in ("a/b", "a+b")]
    wire_name = export_tools(specs, "gemini").names.encode(name)

    assert admitted(wire_name, {}, "a/b", "a+b").request.tool_name == name


def test_a_tool_of_exactly_this_name_is_meant() -> None:
    assert admitted("a_b", {}, "a/b", "a_b").request.tool_name == "a_b"


def test_the_alphabet_is_that_of_the_calls_own_format() -> None:
    assert admitted("a.b_c", {}, "a.b/c").request.tool_name == "a.b/c"
    assert admitted("a.b_c", {}, "a.b/c", provider_format="openai").refusal is not None


@pytest.mark.parametrize("name", ["odd/one", "odd_one"])
def test_parameters_under_their_names_on_the_wire_get_their_own(name: str) -> None:
    admission = admitted(name, {"bad_name_": 3}, "odd/one")

    assert admission.refusal is None
    assert (admission.request.tool_name, admission.request.arguments) == ("odd/one", {"bad-name!": 3})


def test_parameters_under_their_own_names_stay() -> None:
    assert admitted("odd_one", {"bad-name!": 3}, "odd/one").request.arguments == {"bad-name!": 3}


def test_what_the_schema_refuses_under_either_name_is_refused() -> None:
    admission = admitted("odd_one", {"bad_name_": "x"}, "odd/one")

    assert admission.refusal is not None
    assert admission.refusal.category == ErrorCategory.SCHEMA
