"""OpenAI Responses: output items. Which of them the client runs is a closed list, for hosted ones look just the same.

``function_call`` and ``custom_tool_call`` are the client's own tools. ``shell_call``, ``local_shell_call``,
``apply_patch_call``, ``computer_call`` and ``tool_search_call`` are defined by OpenAI and partly run there too.
The key of a call is ``call_id``; ``id`` only names the item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from toolrelay.choices import ToolChoice
from toolrelay.formats import _responses_outputs as outputs
from toolrelay.formats import openai_chat
from toolrelay.formats._responses_calls import item_of, write_events
from toolrelay.formats._responses_stream import Stream
from toolrelay.formats.protocol import (
    FoundCall,
    Places,
    ResultNames,
    Traits,
    Wire,
    WireRequest,
    cut_off,
    pick,
    refuse_all,
    word,
)
from toolrelay.formats.shared import choices as wire_choices
from toolrelay.formats.shared.choices import Encode, WireChoice
from toolrelay.formats.shared.finish import FinishKind, FinishWords, FoundFinish, why_void, words_of
from toolrelay.formats.shared.flat import is_flat_call
from toolrelay.formats.shared.ids import ANY_IDS
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.shared.results import FoundResult, results_in_blocks
from toolrelay.formats.shared.served import ServerCall, served
from toolrelay.formats.shared.text import as_text
from toolrelay.formats.shared.tools import (
    ExportedTool,
    ExportOptions,
    ImportedTool,
    Unread,
    described,
    exported,
    free_text,
    imported,
)
from toolrelay.formats.shared.written import Cut, WrittenCall
from toolrelay.formats.streams.drafts import Drafts
from toolrelay.models import CallKind, NormalizedToolResult, ToolSpec
from toolrelay.names import Alphabet
from toolrelay.schemas.export import to_openai

#: https://platform.openai.com/docs/api-reference/responses/object#responses/object-status
FINISH_WORDS: Final[FinishWords] = {
    FinishKind.STOP: ("completed",),
    FinishKind.TOOL_CALLS: ("completed",),
    FinishKind.LENGTH: ("incomplete", "max_output_tokens"),
    FinishKind.CONTENT_FILTER: ("incomplete",),
    FinishKind.PAUSE: ("completed",),
    FinishKind.ERROR: ("failed", "cancelled"),
    FinishKind.MALFORMED: ("failed",),
}
#: a status: ``max_output_tokens`` is only a reason beside it
CUT_OFF: Final = frozenset({"incomplete"})
DISOWNED: Final = words_of(FINISH_WORDS, FinishKind.ERROR)
CALL_IDS: Final = ANY_IDS
PLACES: Final = Places(
    holders=("response", "output", "item", "message", "content"),
    texts=("content", "text", "refusal", "summary"),
    turns=("input",),
)


def find_call(payload: Wire) -> FoundCall | None:
    """Read an output item or the flat shape; ``None`` for items that OpenAI runs, results and everything else."""
    kind = payload.get("type", "function_call")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    found = None if read is None else read(payload)
    if found is None:
        return None
    found.call_id = payload.get("call_id")
    found.raw = payload
    _keep_what_is_echoed(found, payload)
    status = payload.get("status")
    if status is not None and status != "completed":
        found.refuse(f"the call is truncated: its status is {as_text(status)!r}")
    return found


def _keep_what_is_echoed(found: FoundCall, item: Wire) -> None:
    namespace = item.get("namespace")
    # a deferred top-level function comes with its own name for a namespace
    if namespace is not None and namespace != found.name:
        found.metadata["namespace"] = namespace
    caller = as_dict(item.get("caller"))
    if caller is not None and caller.get("type") != "direct":
        found.metadata["caller"] = caller
    if pick(item, "async", "async_"):
        found.metadata["async"] = True


def _function(item: Wire) -> FoundCall:
    return FoundCall(item.get("name"), item.get("arguments"))


def _custom(item: Wire) -> FoundCall:
    return FoundCall(item.get("name"), item.get("input"), kind=CallKind.CUSTOM)


def _shell(item: Wire) -> FoundCall | None:
    environment = as_dict(item.get("environment"))
    if environment is not None and environment.get("type") != "local":
        return None  # it runs in OpenAI's container
    action = _action(item.get("action"))
    found = FoundCall("shell", action, kind=CallKind.SHELL)
    limit = action.get("max_output_length") if isinstance(action, dict) else None
    if limit is not None:
        found.metadata["max_output_length"] = limit
    return found


def _local_shell(item: Wire) -> FoundCall:
    found = FoundCall("local_shell", _action(item.get("action")), kind=CallKind.LOCAL_SHELL, metadata=_item_id(item))
    found.other_id = item.get("id")  # its output may name either
    return found


def _apply_patch(item: Wire) -> FoundCall:
    return FoundCall("apply_patch", _action(item.get("operation")), kind=CallKind.APPLY_PATCH)


def _computer(item: Wire) -> FoundCall:
    actions = _action({key: item.get(key) for key in ("action", "actions")})
    found = FoundCall("computer", actions, kind=CallKind.COMPUTER, metadata=_item_id(item))
    checks = item.get("pending_safety_checks")
    if checks:
        found.metadata["pending_safety_checks"] = checks
    return found


def _item_id(item: Wire) -> Wire:
    """Keep the item's own id, for kinds whose items are refused without one when they go back as history."""
    identity = item.get("id")
    return {"item_id": identity} if isinstance(identity, str) else {}


def _action(value: Any) -> Any:
    """Give an action as the wire has it: the SDK's objects write a null for every member that is not there."""
    if isinstance(value, (list, tuple)):
        return [_action(inner) for inner in value]
    members = as_dict(value)
    return value if members is None else {key: _action(inner) for key, inner in members.items() if inner is not None}


def _tool_search(item: Wire) -> FoundCall | None:
    if item.get("execution") != "client":
        return None
    return FoundCall("tool_search", item.get("arguments"), kind=CallKind.TOOL_SEARCH)


_READERS: Final[dict[str, Callable[[Wire], FoundCall | None]]] = {
    "function_call": _function,
    "custom_tool_call": _custom,
    "shell_call": _shell,
    "local_shell_call": _local_shell,
    "apply_patch_call": _apply_patch,
    "computer_call": _computer,
    "tool_search_call": _tool_search,
}


def find_calls(message: Wire) -> list[FoundCall]:
    """Read a response, the last event of its stream, or a single item."""
    response = as_dict(message.get("response")) or message
    if "output" not in response:
        call = find_call(response) if "type" in response or is_flat_call(response, "arguments") else None
        return [] if call is None else [call]
    items = [item for entry in as_list(response["output"]) if (item := as_dict(entry))]
    calls = [call for item in items if "type" in item and (call := find_call(item)) is not None]
    status = word(response, "status")
    if status in DISOWNED:
        refuse_all(calls, why_void("status", status))
    elif status in CUT_OFF and calls and calls[-1].raw is items[-1] and items[-1].get("status") is None:
        cut_off(calls, "the call is truncated: the response is incomplete")
    return calls


def find_results(message: Wire) -> list[FoundResult]:
    """Read the ``…_output`` items of a response, or a single one."""
    response = as_dict(message.get("response")) or message
    return results_in_blocks(response, "output", outputs.result_of)


def find_cancelled(message: Wire) -> list[Any]:  # noqa: ARG001 # what was said stands
    """Find none."""
    return []


def find_server_call(block: Wire) -> ServerCall | None:
    """Read the items of tools that OpenAI runs, and its requests for approval."""
    found = served(block, "_call", "_approval_request", "program")
    return None if found is None or find_call(block) is not None else found


def find_finish(message: Wire) -> FoundFinish | None:
    """Read the status of a response, or of the response in a stream's event."""
    reason = word(as_dict(message.get("response")) or message, "status")
    return None if reason is None else FoundFinish(reason)


def open_stream(drafts: Drafts) -> Stream:
    """Read a stream of ``response.*`` events."""
    return Stream(drafts, find_call, find_calls)


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one item a result, of the kind that its call asks for."""
    return [item for result in results for item in outputs.items_for(result)]


TOOL_NAMES: Final = Alphabet("a-zA-Z0-9_-", 64)
TRAITS: Final = Traits(
    has_parallel=True,
    can_forbid_tools=True,
    forces_while_thinking=True,
    has_results_beside_calls=True,
    is_strict_by_request=False,
    result_names=ResultNames.NONE,
)
_NAMESPACE: Final = Unread("description", "the namespace's own has no place in a tool's definition")
_READ: Final = frozenset({"parameters", "output_schema"})


def export_tool(spec: ToolSpec, name: str, options: ExportOptions) -> ExportedTool:
    """Write a flat function tool. ``strict`` always stands there: left out, it would mean yes, unlike in Chat."""
    schema = to_openai(spec.input_schema, strict=options.strict)
    tool: Wire = {"type": "function", "name": name, **described(spec, options), "parameters": schema.schema}
    tool["strict"] = schema.form == "strict"
    if spec.output_schema is not None:
        tool["output_schema"] = spec.output_schema
    return exported(tool, spec, schema, options, title="OpenAI Responses", has_output=True, no_strict=None)


def import_tool(tool: Wire, where: str) -> list[ImportedTool]:
    """Read a function or custom tool, or those of a namespace; what OpenAI runs itself gives nothing."""
    kind = tool.get("type", "function")
    if kind == "namespace":
        inside = [(index, as_dict(entry) or {}) for index, entry in enumerate(as_list(tool.get("tools")))]
        return [one for index, entry in inside for one in _in_namespace(entry, f"{where}.tools[{index}]", tool)]
    return _in_namespace(tool, where, {})


def _in_namespace(tool: Wire, where: str, namespace: Wire) -> list[ImportedTool]:
    kind = tool.get("type", "function")
    name = word(namespace, "name")
    if kind == "custom":
        return [free_text(as_dict(tool.get("custom")) or tool, where, namespace=name)]
    if kind != "function":
        return []
    function = as_dict(tool.get("function")) or tool
    schema, output = function.get("parameters"), function.get("output_schema")
    found = imported(function, where, schema, read=_READ, output=output, namespace=name)
    if namespace.get("description"):
        found = found._replace(unread=(*found.unread, _NAMESPACE))
    return [found]


def export_choice(choice: ToolChoice, encode: Encode) -> WireChoice:
    """Write ``tool_choice``: flat, where Chat has it nested."""
    return wire_choices.write_openai(choice, encode, is_flat=True)


def import_choice(value: Any) -> ToolChoice | None:
    """Read ``tool_choice``; one that names a hosted tool gives ``None``."""
    return wire_choices.read_openai(value)


def request_fields(tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:
    """Give the request's fields, which are Chat's."""
    return openai_chat.request_fields(tools, choice, parallel)


def read_request(body: Wire) -> WireRequest:
    """Read the request's fields, which are Chat's."""
    return openai_chat.read_request(body)


def write_calls(calls: Sequence[WrittenCall]) -> list[Wire]:
    """Write one item a call, of the kind that it is."""
    return [item_of(call) for call in calls]


def write_stream(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:
    """Write ``response.*`` events, numbered from 0."""
    return write_events(calls, cut, head)
