"""Calls as OpenAI Responses has them in its output: one item each, of the kind that the call is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.written import Cut, WrittenCall
from toolrelay.models import CallKind

#: the item's type, and the member that holds what it says
_ITEMS: Final = {
    CallKind.FUNCTION: ("function_call", "arguments"),
    CallKind.CUSTOM: ("custom_tool_call", "input"),
    CallKind.SHELL: ("shell_call", "action"),
    CallKind.LOCAL_SHELL: ("local_shell_call", "action"),
    CallKind.APPLY_PATCH: ("apply_patch_call", "operation"),
    CallKind.COMPUTER: ("computer_call", ""),
    CallKind.TOOL_SEARCH: ("tool_search_call", "arguments"),
}
#: whose items the API refuses without an id of their own (``LocalShellCall`` and ``ResponseComputerToolCallParam`` of
#: the SDK's ``ResponseInputItemParam``), and what the API lets an item's id begin with
_WANT_ID: Final = frozenset({CallKind.LOCAL_SHELL, CallKind.COMPUTER})
_ID_PREFIXES: Final = {CallKind.CUSTOM: "ctc", CallKind.LOCAL_SHELL: "lsh", CallKind.COMPUTER: "cu"}
#: members that an action must have, though a server may leave them out
_WANTED: Final[dict[CallKind, Wire]] = {CallKind.LOCAL_SHELL: {"type": "exec", "env": {}}}
#: kinds whose text is streamed, and what its events are called
_STREAMED: Final = {
    CallKind.FUNCTION: "response.function_call_arguments",
    CallKind.CUSTOM: "response.custom_tool_call_input",
}


def item_of(call: WrittenCall) -> Wire:
    """Write the item of a whole call."""
    kind, key = _ITEMS[call.request.kind]
    item: Wire = {"type": kind, "call_id": call.call_id}
    if call.request.kind in _WANT_ID:
        item["id"] = _item_id(call)
    if call.request.kind in _STREAMED:
        item["name"] = call.name
        item[key] = _text(call)
    elif key:
        wanted = _WANTED.get(call.request.kind, {})
        item[key] = {**call.arguments, **{name: value for name, value in wanted.items() if name not in call.arguments}}
    else:
        item.update(call.arguments)
    item.update(_echoes(call))
    if not call.is_custom:
        item["status"] = "completed"
    return item


def _text(call: WrittenCall) -> str:
    return call.free_text if call.is_custom else call.text


def _echoes(call: WrittenCall) -> Wire:
    echoes = {key: call.echo(key) for key in ("namespace", "caller", "async", "pending_safety_checks")}
    found = {key: value for key, value in echoes.items() if value is not None}
    if call.request.kind is CallKind.TOOL_SEARCH:
        found["execution"] = "client"
    if call.request.kind is CallKind.COMPUTER:
        found.setdefault("pending_safety_checks", [])
    return found


def write_events(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:
    """Write the events of a response that holds these calls."""
    items = [{**item_of(call), "id": _item_id(call)} for call in calls]
    response = {"object": "response", **head}
    events: list[Wire] = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}]
    for index, (call, item) in enumerate(zip(calls, items, strict=True)):
        events += _item_events(call, item, index, cut)
    events.append({"type": "response.completed", "response": {**response, "status": "completed", "output": items}})
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _item_id(call: WrittenCall) -> str:
    own = call.echo("item_id")
    return own if isinstance(own, str) else f"{_ID_PREFIXES.get(call.request.kind, 'fc')}_{call.call_id}"


def _item_events(call: WrittenCall, item: Wire, index: int, cut: Cut) -> list[Wire]:
    place: dict[str, Any] = {"output_index": index}
    of_item = {"item_id": item["id"], **place}  # the SDK's types want both
    added = dict(item)
    if "status" in added:
        added["status"] = "in_progress"
    name = _STREAMED.get(call.request.kind)
    between: list[Wire] = []
    if name is not None:
        key = _ITEMS[call.request.kind][1]
        added[key] = ""
        between = [{"type": f"{name}.delta", "delta": piece, **of_item} for piece in cut(_text(call))]
        between.append({"type": f"{name}.done", key: _text(call), **of_item})
    start: Wire = {"type": "response.output_item.added", "item": added, **place}
    end: Wire = {"type": "response.output_item.done", "item": item, **place}
    return [start, *between, end]
