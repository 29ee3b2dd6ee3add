"""The payload corpus: whole messages and streams of every provider, and beside each what is to be read from it.

The shapes were built and checked with the providers' own SDKs; the values are invented. ``index.json`` lists the files
and the calls in them that the provider runs itself.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from toolrelay.models import NormalizedToolRequest, ProviderFormat

PAYLOADS = Path(__file__).parent.parent / "data" / "payloads"
INDEX: list[dict[str, Any]] = json.loads((PAYLOADS / "index.json").read_text())["files"]
WHOLE = [entry for entry in INDEX if entry["form"] == "whole"]
STREAMS = [entry for entry in INDEX if entry["form"] == "stream"]


def files_on_disk() -> set[str]:
    return {path.relative_to(PAYLOADS).as_posix() for path in PAYLOADS.rglob("*") if path.is_file()}


def load(name: str) -> Any:
    return json.loads((PAYLOADS / name).read_text())


def load_events(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (PAYLOADS / name).read_text().splitlines() if line.strip()]


def format_of(entry: dict[str, Any]) -> ProviderFormat:
    return ProviderFormat(entry["provider"].replace("openai_chat", "openai"))


class Dumping:
    """An object as pydantic-based SDKs have them: read through ``model_dump``, which gives plain members."""

    def __init__(self, members: dict[str, Any]) -> None:
        self._members = members

    def model_dump(self, *, by_alias: bool = False, warnings: bool = True) -> dict[str, Any]:
        return self._members


class Converting:
    """An object of an SDK that has its own idea of a dump: no options, and objects again inside."""

    def __init__(self, members: dict[str, Any]) -> None:
        self._members = members

    def to_dict(self) -> dict[str, Any]:
        return self._members


class Slotted:
    """An object without a ``__dict__``."""

    __slots__ = ("choices", "model")

    def __init__(self, choices: Any, model: str) -> None:
        self.choices = choices
        self.model = model


def as_objects(value: Any, kind: type[Any]) -> Any:
    """Turn every dict inside into an object of this kind; ``SimpleNamespace`` has nothing but attributes."""
    if isinstance(value, dict):
        members = {key: as_objects(inner, kind) for key, inner in value.items()}
        return SimpleNamespace(**members) if kind is SimpleNamespace else kind(members)
    return [as_objects(inner, kind) for inner in value] if isinstance(value, list) else value


def in_sdk_spelling(value: Any) -> Any:
    """Spell the wire's camelCase members as google-genai and mcp name their attributes; arguments stay as they are."""
    if isinstance(value, list):
        return [in_sdk_spelling(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    members: dict[str, Any] = {}
    for key, inner in value.items():
        name = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
        members[name] = inner if key in ("args", "arguments", "input") else in_sdk_spelling(inner)
        if key == "thoughtSignature":
            members[name] = base64.b64decode(inner)
    return members


def as_expected(request: NormalizedToolRequest) -> dict[str, Any]:
    """Write a request the way the corpus writes its expectations."""
    metadata = request.provider_metadata
    shown: dict[str, Any] = {
        "name": request.tool_name,
        "arguments": request.arguments["input"] if request.kind == "custom" else request.arguments,
        "provider_call_id": request.provider_call_id,
    }
    if request.kind != "function":
        shown["kind"] = str(request.kind)
    for key in ("namespace", "toolset", "async", "cancelled", "choice", "thought_signature"):
        if key in metadata:
            shown[key] = metadata[key]
    if "caller" in metadata:
        shown["caller"] = metadata["caller"].get("caller_id") or metadata["caller"].get("tool_id")
    if request.problem is not None and "cancelled" not in metadata:  # the corpus says this by "cancelled" alone
        shown["error"] = str(request.problem.kind)
        shown["arguments"] = request.arguments or None
        if request.problem.raw_arguments is not None:
            shown["raw"] = request.problem.raw_arguments
    for repair in request.repairs:
        shown["warning"] = repair.kind
    return shown
