"""What our documents show to be typed: it compiles, and the names and commands in it exist."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.documents import README, ROOT, commands, python_blocks
from toolrelay import ProviderFormat

PROTOCOL = ROOT / "docs" / "protocol.md"
DOCUMENTS = [README, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = [
    pytest.param(document, block, id=f"{document.relative_to(ROOT)}-{number}")
    for document in DOCUMENTS
    for number, block in enumerate(python_blocks(document), 1)
]


@pytest.mark.parametrize(("document", "block"), BLOCKS)
def test_python_in_a_document_compiles_and_imports_what_there_is(document: Path, block: str) -> None:
    compile(block, str(document), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    imports = [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("toolrelay")
        for alias in node.names
    ]

    missing = [(module, name) for module, name in imports if not hasattr(importlib.import_module(str(module)), name)]

    assert missing == []


def test_the_readme_shows_tools_and_an_agent() -> None:
    tools, agent = python_blocks(README)

    assert "@tool" in tools
    assert "Producer(" in agent


def test_the_page_about_translation_is_one_program_that_does_what_it_says() -> None:
    call = {"index": 0, "id": "call_1", "function": {"name": "weather_lookup", "arguments": '{"city": "Oslo"}'}}
    program: dict[str, Any] = {"events": [{"choices": [{"delta": {"tool_calls": [call]}}]}]}

    for block in python_blocks(ROOT / "docs" / "translation.md"):
        exec(block, program)

    assert program["exported"].names["weather_lookup"] == "weather/lookup"
    assert program["request"].fields["tool_choice"] == {"type": "tool", "name": "weather_lookup"}
    arguments = '{"city": "Oslo"}'
    function = {"name": "weather_lookup", "arguments": arguments}
    assert program["message"]["tool_calls"] == [{"id": "toolu_1", "type": "function", "function": function}]
    pieces = [chunk["choices"][0] for chunk in program["chunks"]]
    assert pieces[-1]["finish_reason"] == "tool_calls"
    assert {chunk["id"] for chunk in program["chunks"]} == {"chatcmpl-1"}
    assert program["answer"] == [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}]}
    ]


def test_the_page_about_translation_names_every_format() -> None:
    page = (ROOT / "docs" / "translation.md").read_text(encoding="utf-8")

    assert [name for name in ProviderFormat if f"\n| `{name}` | " not in page] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_a_make_command_in_a_document_exists(document: Path) -> None:
    targets = {line.partition(":")[0] for line in (ROOT / "Makefile").read_text().splitlines() if "##" in line}

    unknown = [words[1] for words in commands(document, "make") if words[1] not in targets]

    assert unknown == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: str(document.relative_to(ROOT)))
def test_a_link_in_a_document_leads_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text(encoding="utf-8"))

    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]

    assert missing == []
