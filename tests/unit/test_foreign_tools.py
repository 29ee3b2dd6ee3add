"""Definitions that others wrote: whose they are, what of them passes on, and what their SDKs' objects say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from toolrelay import InvalidToolError, ToolSpec, convert_tools, import_tools

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
ANTHROPIC = {"name": "a", "input_schema": SCHEMA}
CHAT = {"type": "function", "function": {"name": "a", "parameters": SCHEMA}}
FLAT = {"type": "function", "name": "a", "parameters": SCHEMA}
GEMINI = {"functionDeclarations": [{"name": "a", "parameters": SCHEMA}]}
BEDROCK = {"toolSpec": {"name": "a", "inputSchema": {"json": SCHEMA}}}


@pytest.mark.parametrize(
    ("tools", "target", "passed", "lost"),
    [
        pytest.param(
            [ANTHROPIC, {"type": "computer_toolset_20260801"}, {"type": "mcp_toolset", "mcp_server_name": "x"}],
            "openai",
            [],
            [
                "a tool of kind 'computer_toolset_20260801' is anthropic's own, and left out",
                "a tool of kind 'mcp_toolset' is anthropic's own, and left out",
            ],
            id="Anthropic's toolsets to OpenAI",
        ),
        pytest.param(
            [ANTHROPIC, {"type": "next_years_toolset"}],
            "openai",
            [],
            ["a tool of kind 'next_years_toolset' is anthropic's own, and left out"],
            id="an unknown kind beside Anthropic's",
        ),
        pytest.param(
            [CHAT, {"type": "next_years_search"}],
            "openai_responses",
            [{"type": "next_years_search"}],
            [],
            id="an unknown kind beside OpenAI's",
        ),
        pytest.param(
            [FLAT, {"type": "google_search"}, {"type": "file_search"}],
            "gemini_interactions",
            [{"type": "google_search"}, {"type": "file_search"}],
            [],
            id="Interactions' own stay there",
        ),
        pytest.param(
            [FLAT, {"type": "file_search", "vector_store_ids": ["v"]}],
            "gemini_interactions",
            [],
            ["a tool of kind 'file_search' is openai_responses's own, and left out"],
            id="a search of files that nothing says to be Google's",
        ),
        pytest.param(
            [BEDROCK, {"cachePoint": {"type": "default"}}],
            "gemini",
            [],
            ["a tool of kind 'cachePoint' is bedrock's own, and left out"],
            id="a cache point to Gemini",
        ),
        pytest.param(
            [BEDROCK, {"cachePoint": {"type": "default"}}],
            "bedrock",
            [{"cachePoint": {"type": "default"}}],
            [],
            id="a cache point stays in Bedrock",
        ),
        pytest.param(
            [{**GEMINI, "googleSearch": {}, "codeExecution": None}],
            "gemini",
            [{"googleSearch": {}}],
            [],
            id="a built-in beside declarations stays in Gemini",
        ),
        pytest.param(
            [{**GEMINI, "googleSearch": {}}],
            "openai",
            [],
            ["a tool of kind 'googleSearch' is gemini's own, and left out"],
            id="a built-in beside declarations is reported elsewhere",
        ),
        pytest.param(
            [{"type": "namespace", "name": "n", "description": "d", "tools": [FLAT, {"type": "web_search"}]}],
            "anthropic",
            [],
            [
                "the namespace's own has no place in a tool's definition",
                "a tool of kind 'namespace' is openai_responses's own, and left out",
            ],
            id="a hosted tool inside a namespace",
        ),
    ],
)
def test_what_a_provider_runs_itself_passes_to_its_own_formats_alone(
    tools: list[dict[str, Any]], target: str, passed: list[dict[str, Any]], lost: list[str]
) -> None:
    converted = convert_tools(tools, target)

    assert len(converted.names) == 1
    assert converted.tools[1:] == passed
    assert [loss.why for loss in converted.losses] == lost


def test_a_definition_by_itself_is_geminis_if_it_has_members_that_only_gemini_knows() -> None:
    members = {"name": "a", "parametersJsonSchema": None, "response": None, "behavior": None}
    parameters = {"type": "OBJECT", "properties": {"q": {"type": "STRING", "nullable": None}}, "required": ["q"]}

    for declaration in ({**members, "parameters": parameters}, {"name": "a", "parameters": parameters}):
        assert import_tools(SimpleNamespace(**declaration)) == [ToolSpec("a", "", SCHEMA)]


class Message:
    """Like the messages of Google's SDK: it has a schema as a class, and is one as an instance."""

    def __init__(self, **members: Any) -> None:
        self.members = members

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self.members

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        raise AssertionError("the schema of a class, of which this is an instance")


def test_a_schema_that_is_an_sdks_object_is_read_by_what_it_holds() -> None:
    schema = Message(type="OBJECT", properties={"q": Message(type="STRING", format=None)}, required=["q"])

    for tools in (
        [{"functionDeclarations": [{"name": "a", "parameters": schema}]}],
        [{"type": "function", "name": "a", "parameters": schema}, {"type": "google_search"}],
    ):
        assert import_tools(tools) == [ToolSpec("a", "", SCHEMA)]


def test_geminis_references_examples_and_fixed_nulls_are_read() -> None:
    parameters = {
        "type": "OBJECT",
        "properties": {"p": {"ref": "#/defs/P"}, "ref": {"type": "STRING", "example": "x"}, "n": {"const": None}},
        "defs": {"P": {"type": "STRING"}},
    }

    (spec,) = import_tools([{"functionDeclarations": [{"name": "a", "parameters": parameters}]}])

    assert spec.input_schema == {
        "type": "object",
        "properties": {
            "p": {"$ref": "#/$defs/P"},
            "ref": {"type": "string", "examples": ["x"]},
            "n": {"const": None},
        },
        "$defs": {"P": {"type": "string"}},
    }


@pytest.mark.parametrize(
    "tool",
    [
        {"name": "a", "parameters": SCHEMA, 1: 2},
        {"type": "function", "function": {"name": "a", "parameters": SCHEMA, None: 2}},
        {"name": "a", "input_schema": SCHEMA, b"x": 2},
        {"functionDeclarations": [{"name": "a", "parameters": SCHEMA, (): 2}]},
    ],
)
def test_members_whose_names_are_no_text_are_passed_over(tool: Any) -> None:
    assert import_tools([tool]) == [ToolSpec("a", "", SCHEMA)]
    assert convert_tools([tool], "mcp").losses == []


def test_a_kind_of_the_providers_own_passes_without_members_whose_names_are_no_text() -> None:
    tool: Any = {"type": "web_search", 1: 2}

    assert convert_tools([tool], "openai").tools == [{"type": "web_search"}]
    with pytest.raises(InvalidToolError, match=r"'web_search' is not valid JSON: nan at /x"):
        convert_tools([{"type": "web_search", "x": float("nan")}], "openai")


def test_a_name_has_to_be_whole_text_and_a_description_is_made_so() -> None:
    with pytest.raises(InvalidToolError, match=r"tools\[0\]: the name '\\ud800' holds half of a surrogate pair"):
        import_tools([{"name": "\ud800", "parameters": SCHEMA}])
    tool = {"name": "a", "description": "x\ud800", "parameters": SCHEMA}
    assert import_tools([tool]) == [ToolSpec("a", "x\ufffd", SCHEMA)]


def test_a_number_of_gemini_that_nobody_can_read_stays_text() -> None:
    digits = "1" * 5000
    parameters = {"properties": {"p": {"type": "NUMBER", "enum": ["7", "1.5", digits, "nan", "-inf"]}}}

    (spec,) = import_tools([{"functionDeclarations": [{"name": "a", "parameters": parameters}]}])

    assert spec.input_schema["properties"]["p"]["enum"] == [7, 1.5, digits, "nan", "-inf"]
    counted = {"type": "OBJECT", "properties": {"p": {"type": "STRING", "maxLength": digits, "minLength": "3"}}}
    (spec,) = import_tools([{"functionDeclarations": [{"name": "a", "parameters": counted}]}])
    assert spec.input_schema["properties"]["p"] == {"type": "string", "maxLength": digits, "minLength": 3}


def langchain_tool(args: dict[str, Any], called_with: dict[str, Any], args_schema: Any = None) -> Any:
    schema = type("Schema", (), {"model_json_schema": staticmethod(lambda: called_with)})
    return SimpleNamespace(
        name="find", description="Find it.", args=args, args_schema=args_schema, tool_call_schema=schema
    )


def test_a_langchain_tool_is_what_a_model_may_call_it_with() -> None:
    injected = langchain_tool(SCHEMA["properties"], SCHEMA, args_schema=object)  # type: ignore[arg-type] # a dict
    simple = langchain_tool({"tool_input": {"type": "string"}}, {"properties": {"args": {}, "config": {}}})

    (first,), (second,) = import_tools([injected]), import_tools(simple, "langchain")

    assert first == ToolSpec("find", "Find it.", SCHEMA)
    assert second.input_schema == {
        "type": "object",
        "properties": {"tool_input": {"type": "string"}},
        "required": ["tool_input"],
    }
