"""Layer 2 of the case list: what a request says of tools and choices, each demand as an assertion."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.cases import CASES, format_named, ids_of
from toolrelay import (
    ChoiceMode,
    ErrorCategory,
    NameMap,
    ToolChoice,
    ToolChoiceError,
    ToolSpec,
    UndeclaredToolError,
    build_request,
    convert_tools,
    export_tool_choice,
    import_request,
    import_tool_choice,
)


def converted(name: str, target: str, names: NameMap | None = None) -> Any:
    given = CASES[name]["input"]
    choice = import_tool_choice(given["tool_choice"], format_named(given["from"]))
    assert choice is not None
    assert choice == import_tool_choice(given["tool_choice"])  # whose it is tells its shape
    return export_tool_choice(choice, format_named(target), names)


def specs_of(tools: list[dict[str, Any]]) -> list[ToolSpec]:
    return [ToolSpec(tool["name"], tool.get("description", ""), tool["parameters"]) for tool in tools]


def test_every_case_of_the_layer_is_a_test() -> None:
    assert [name for name in ids_of("L2") if f"test_{name.replace('-', '_')}" not in globals()] == []


def test_choice_required_to_anthropic() -> None:
    name = "choice-required-to-anthropic"
    expected = CASES[name]["expected"]

    assert expected["anthropic"]["tool_choice"] == converted(name, "anthropic")
    assert expected["gemini"]["toolConfig"] == converted(name, "gemini")
    assert expected["bedrock_converse"]["toolChoice"] == converted(name, "bedrock_converse")


def test_choice_none_must_not_become_auto() -> None:
    name = "choice-none-must-not-become-auto"
    expected = CASES[name]["expected"]

    assert expected["anthropic"]["tool_choice"] == converted(name, "anthropic")
    assert expected["gemini"]["toolConfig"] == converted(name, "gemini")
    # Converse has no word for it: that is said, and the tools are left out where the request is built
    with pytest.raises(ToolChoiceError, match="cannot forbid"):
        converted(name, "bedrock")
    request = build_request([ToolSpec("a", "", {})], "bedrock", ToolChoice(ChoiceMode.NONE))
    assert request.fields == {}
    assert [loss.what for loss in request.losses] == ["tool_choice"]


def test_named_choice_to_gemini() -> None:
    name = "named-choice-to-gemini"
    names = NameMap(CASES[name]["input"]["exposed_names"])

    assert CASES[name]["expected"]["gemini"]["toolConfig"] == converted(name, "gemini", names)
    assert "weather/lookup" not in json.dumps(converted(name, "gemini"))


def test_allowed_tools_auto_on_gemini() -> None:
    name = "allowed-tools-auto-on-gemini"

    # of the three that are accepted, VALIDATED keeps "whether to call any" with the model and needs no other tool list
    config = converted(name, "gemini")["functionCallingConfig"]
    assert CASES[name]["expected"]["accept"][1] == config
    specs = [ToolSpec(tool, "", {}) for tool in CASES[name]["input"]["tools"]]
    request = build_request(specs, "gemini", ToolChoice.subset(["a", "b"]))
    assert config == request.fields["toolConfig"]["functionCallingConfig"]
    assert config["mode"] != "AUTO"
    assert "c" not in config["allowedFunctionNames"]


def test_a_subset_for_a_provider_without_subsets_declares_only_those() -> None:
    specs = [ToolSpec(name, "", {}) for name in ("a/x", "b", "c")]

    request = build_request(specs, "anthropic", ToolChoice.subset(["a/x", "b"], "any"))

    assert request.fields["tool_choice"] == {"type": "any"}
    assert [tool["name"] for tool in request.fields["tools"]] == ["a_x", "b"]


def test_named_choice_chat_to_responses() -> None:
    name = "named-choice-chat-to-responses"
    flat = CASES[name]["expected"]["openai_responses"]["tool_choice"]

    assert flat == converted(name, "openai_responses")
    for value in ("auto", "none", "required", flat):
        choice = import_tool_choice(value, "openai")
        assert choice is not None
        assert value == export_tool_choice(choice, "openai_responses")


def test_tools_chat_to_responses_keep_non_strict() -> None:
    name = "tools-chat-to-responses-keep-non-strict"
    given = CASES[name]["input"]

    result = convert_tools(given["tools"], "openai_responses", format_named(given["from"]))

    assert CASES[name]["expected"]["tools"] == result.tools
    assert result.losses == []


def test_no_parallel_calls_on_anthropic() -> None:
    name = "no-parallel-calls-on-anthropic"
    given = CASES[name]["input"]

    for variant, expected in zip(given["variants"], CASES[name]["expected"]["per_variant"], strict=True):
        choice = import_request(variant).choice
        request = build_request(specs_of(given["tools"]), "anthropic", choice)

        assert expected["tool_choice"] == request.fields["tool_choice"]
        assert "parallel_tool_calls" not in request.fields
        assert request.losses == []


def test_parallel_flag_without_tools() -> None:
    first, second, third = CASES["parallel-flag-without-tools"]["input"]["variants"]

    def fields(variant: dict[str, Any]) -> dict[str, Any]:
        return build_request(specs_of(variant["tools"]), "openai", import_request(variant, "openai").choice).fields

    assert fields(first) == {}
    assert fields(second)["parallel_tool_calls"] is False
    assert {"tools"} == fields(third).keys()


def test_forced_choice_while_thinking() -> None:
    given = CASES["forced-choice-while-thinking"]["input"]
    choice = import_tool_choice(given["tool_choice"])
    specs = specs_of(given["tools"])

    # accepted too: one of the two wishes gives way with a warning; which, only the caller can know
    with pytest.raises(ToolChoiceError, match=r"forced tool choice while thinking") as caught:
        build_request(specs, "anthropic", choice, is_thinking=True)
    assert caught.value.category is ErrorCategory.SCHEMA
    unforced = build_request(specs, "anthropic", ToolChoice(), is_thinking=True)
    assert unforced.fields["tool_choice"] == {"type": "auto"}


def test_forced_tool_missing_from_declarations() -> None:
    given = CASES["forced-tool-missing-from-declarations"]["input"]
    choice = import_tool_choice(given["tool_choice"])

    with pytest.raises(UndeclaredToolError, match="b/write") as caught:
        build_request(specs_of(given["tools"]), "gemini", choice)

    assert caught.value.category is ErrorCategory.NOT_FOUND


def test_legacy_functions_and_tools_together() -> None:
    old, both = CASES["legacy-functions-and-tools-together"]["input"]["variants"]

    def fields(body: dict[str, Any]) -> dict[str, Any]:
        specs, choice = import_request(body, "openai")
        return build_request(specs, "openai", choice).fields

    assert [tool["function"]["name"] for tool in fields(old)["tools"]] == ["old_a"]
    assert fields(old)["tool_choice"] == {"type": "function", "function": {"name": "old_a"}}
    assert [tool["function"]["name"] for tool in fields(both)["tools"]] == ["new_b"]
    assert fields(both)["tool_choice"] == "auto"
    assert all({"functions", "function_call"}.isdisjoint(fields(body)) for body in (old, both))


def test_both_old_and_new_choice() -> None:
    assert import_tool_choice({"name": "old_a"}) == import_tool_choice("old_a") == ToolChoice.tool("old_a")
