"""Where another library and toolrelay read a payload of the corpus differently, in words that stay the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tests.oracles.disagreements import Difference
from tests.oracles.readers import READERS, UNREAD, Call, Reader
from tests.unit.payloads import PAYLOADS, STREAMS, WHOLE, format_of, load, load_events
from toolrelay import NormalizedToolRequest, StreamAssembler, read_calls
from toolrelay.models import CallKind

_MAX_SHOWN: Final = 70


def cases() -> Iterator[tuple[dict[str, Any], Reader]]:
    """Give every payload that has calls in it, with every reader that is made for it."""
    for entry in (*WHOLE, *STREAMS):
        for reader in READERS:
            if (reader.provider, reader.form) == (entry["provider"], entry["form"]) and _has_calls(entry):
                yield entry, reader


def _has_calls(entry: dict[str, Any]) -> bool:
    return entry["sdk_type"] not in ("mcp.CallToolResult", "mcp.ListToolsResult") and (
        entry["provider"] != "mcp" or entry["sdk_type"] == "mcp.CallToolRequest"
    )


def difference_of(entry: dict[str, Any], reader: Reader) -> Difference | None:
    """Read a payload both ways; ``None`` where the calls are the same."""
    ours = _ours(entry)
    data = load_events(entry["file"]) if entry["form"] == "stream" else load(entry["file"])
    try:
        theirs = list(reader.read(data))
        theirs = _in_order(theirs, _text_of(entry)) if len(theirs) == len(ours) else theirs
    except Exception as exc:  # noqa: BLE001 # whatever a library raises for a payload is its answer
        found: tuple[str, str] | None = (f"raises {type(exc).__name__}", _counted(len(ours)))
    else:
        found = _compare(theirs, ours, _text_of(entry))
    return None if found is None else Difference(entry["file"], reader.library, *found)


def _in_order(calls: Iterable[Call], payload: str) -> list[Call]:
    """Put calls where they stand in the payload: a library that keeps bad ones apart is not wrong about their order."""
    return sorted(calls, key=lambda call: payload.find(json.dumps(call.call_id)))


def _text_of(entry: dict[str, Any]) -> str:
    text: str = (PAYLOADS / entry["file"]).read_text()
    return text


def _ours(entry: dict[str, Any]) -> list[Call]:
    if entry["form"] == "whole":
        return [_as_call(request) for request in read_calls(load(entry["file"]), format_of(entry))]
    stream = StreamAssembler(format_of(entry))
    calls = [call for event in load_events(entry["file"]) for call in stream.feed(event)] + stream.close()
    calls = [call for call in calls if call.sequence not in {taken.sequence for taken in stream.disowned}]
    calls = sorted([*calls, *stream.disowned], key=lambda call: call.sequence or 0)
    return [_as_call(call) for call in calls]


def _as_call(request: NormalizedToolRequest) -> Call:
    arguments: Any = request.arguments if request.problem is None else UNREAD
    if request.kind is CallKind.CUSTOM and request.problem is None:
        arguments = request.arguments["input"]
    # a server's own name: what toolrelay puts a namespace before
    name = request.provider_metadata.get("wire_name", request.tool_name)
    return Call(name, arguments, request.provider_call_id)


def _compare(theirs: list[Call], ours: list[Call], payload: str) -> tuple[str, str] | None:
    if len(theirs) != len(ours):
        return f"{_counted(len(theirs))}{_named(theirs)}", f"{_counted(len(ours))}{_named(ours)}"
    pairs: list[tuple[str, str]] = []
    for place, (other, own) in enumerate(zip(theirs, ours, strict=True), 1):
        head = f"call {place}: " if len(ours) > 1 else ""
        different = [what for what in Call._fields if not _is_same(getattr(other, what), getattr(own, what))]
        pairs += [
            (head + _shown(what, getattr(other, what), payload), head + _shown(what, getattr(own, what), payload))
            for what in different
        ]
    return ("; ".join(their for their, _ in pairs), "; ".join(our for _, our in pairs)) if pairs else None


def _counted(number: int) -> str:
    return f"{number} call" if number == 1 else f"{number} calls"


def _named(calls: list[Call]) -> str:
    names = ", ".join(str(call.name) for call in calls)
    return f" ({names[:_MAX_SHOWN]}{'…' if len(names) > _MAX_SHOWN else ''})" if names else ""


def _shown(what: str, value: Any, payload: str) -> str:
    if what == "call_id" and isinstance(value, str) and value not in payload:
        return "an id that the provider never sent"
    if what == "call_id" and value is None:
        return "no id"
    if value == UNREAD:
        return "a problem: nothing to run"
    text = json.dumps(value, ensure_ascii=False)
    return f"{what.removeprefix('call_')} {text[:_MAX_SHOWN]}{'…' if len(text) > _MAX_SHOWN else ''}"


def _is_same(first: Any, second: Any) -> bool:
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_is_same(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_same, first, second))
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    return bool(first == second)
