from __future__ import annotations

import copy

import pytest

from toolrelay import normalize_schema
from toolrelay.models import ProviderFormat, ToolSpec

SCHEMA = {"type": "object", "properties": {"key": {"type": "string"}}}
SPEC = ToolSpec(name="test/echo", description="d" * 2000, input_schema=SCHEMA)

KEYS = [
    ("openai", "parameters"),
    ("openai_responses", "parameters"),
    ("gemini", "parameters"),
    (ProviderFormat.GEMINI, "parameters"),
    ("langchain", "args_schema"),
    ("anthropic", "input_schema"),
    ("mcp", "input_schema"),
    ("bedrock", "input_schema"),
    ("gemini_interactions", "input_schema"),
    ("unknown", "input_schema"),
    ("never heard of", "input_schema"),
]


@pytest.mark.parametrize(("provider", "key"), KEYS)
def test_the_schema_stands_under_the_one_key_of_its_provider(provider: ProviderFormat | str, key: str) -> None:
    schema = normalize_schema(SPEC, provider)

    assert {"name": "test/echo", "description": "d" * 1024, key: SCHEMA} == schema


@pytest.mark.parametrize(("length", "kept"), [(1, 1), (10, 10), (5000, 2000)])
def test_a_description_is_cut_to_the_given_length(length: int, kept: int) -> None:
    schema = normalize_schema(SPEC, "openai", max_description_length=length)

    assert "d" * kept == schema["description"]


@pytest.mark.parametrize("length", [0, -1])
def test_a_length_below_one_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="max_description_length"):
        normalize_schema(SPEC, "openai", max_description_length=length)


def test_changing_what_came_out_does_not_change_the_tool() -> None:
    before = copy.deepcopy(SPEC.input_schema)

    normalize_schema(SPEC, "openai")["parameters"]["properties"].clear()

    assert before == SPEC.input_schema
