"""The list of faults that people really hit with tool calls, each with the outcome that is right, under its own id."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent.parent / "data" / "cases" / "tool_calls.json").read_text())
}


def ids_of(layer: str) -> list[str]:
    return [name for name, case in CASES.items() if case["layer"] == layer]


def format_named(name: str) -> str:
    """Give our name for the format that a case names."""
    ours = {"openai_chat": "openai", "bedrock_converse": "bedrock", "ollama": "openai"}
    return ours.get(name, name)
