"""MCP: a ``tools/call`` request, and ``tool_use`` blocks of a sampling answer, which a client's model wrote.

The call's id is the JSON-RPC id, outside of the request's object; where it came along, the answer is a whole response.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolrelay.choices import ChoiceMode, ToolChoice
from toolrelay.formats.protocol import (
    FoundCall,
    Places,
    ResultNames,
    Traits,
    Wire,
    WireRequest,
    cut_off,
    pick,
    word,
)
from toolrelay.formats.shared.blocks import calls_in_content
from toolrelay.formats.shared.choices import Encode, WireChoice, inside_of, mode_of
from toolrelay.formats.shared.content import Media, as_block, content_of
from toolrelay.formats.shared.finish import FinishKind, FinishWords, FoundFinish, why_cut, words_of
from toolrelay.formats.shared.flat import is_flat_call
from toolrelay.formats.shared.ids import ANY_IDS
from toolrelay.formats.shared.output import call_id, text_of, value_of
from toolrelay.formats.shared.plain import as_dict
from toolrelay.formats.shared.results import FoundResult, found_result, results_in_blocks
from toolrelay.formats.shared.served import ServerCall
from toolrelay.formats.shared.tools import ExportedTool, ExportOptions, ImportedTool, described, exported, imported
from toolrelay.formats.shared.written import Cut, WrittenCall
from toolrelay.formats.streams.drafts import Drafts, WholeMessages
from toolrelay.models import NormalizedToolResult, ToolSpec
from toolrelay.names import Alphabet
from toolrelay.schemas.export import as_is

_RPC_ID: Final = "jsonrpc_id"
_SAMPLING: Final = "sampling"
CALL_IDS: Final = ANY_IDS
PLACES: Final = Places(holders=("content",), texts=("content", "text"), turns=("messages",))
#: how a sampled turn ends
FINISH_WORDS: Final[FinishWords] = {
    FinishKind.STOP: ("endTurn", "stopSequence"),
    FinishKind.TOOL_CALLS: ("toolUse",),
    FinishKind.LENGTH: ("maxTokens",),
    FinishKind.CONTENT_FILTER: ("endTurn",),
    FinishKind.PAUSE: ("endTurn",),
    FinishKind.MALFORMED: ("endTurn",),
    FinishKind.ERROR: ("endTurn",),
}
CUT_OFF: Final = words_of(FINISH_WORDS, FinishKind.LENGTH)


def find_call(payload: Wire) -> FoundCall | None:
    """Read a ``tools/call`` request, its ``params``, or a sampling block; ``None`` for other methods and blocks."""
    if payload.get("type") == "tool_use":
        found = FoundCall(payload.get("name"), payload.get("input"), payload.get("id"), raw=payload)
        found.metadata[_SAMPLING] = True
        return found
    if payload.get("method", "tools/call") != "tools/call" or "type" in payload:
        return None
    params = as_dict(payload.get("params")) or payload
    identity = payload.get("id")
    metadata = {} if identity is None or isinstance(identity, bool) else {_RPC_ID: identity}
    return FoundCall(params.get("name"), params.get("arguments"), identity, metadata=metadata, raw=payload)


def find_calls(message: Wire) -> list[FoundCall]:
    """Read a request or a sampling answer; results, listings and other requests hold no calls."""
    result = as_dict(message.get("result"))
    if result is not None and "method" not in message:  # a client's answer, in which a sampled turn may stand
        return _in_turn(result) if "content" in result else []
    if "content" in message:
        return _in_turn(message)
    is_call = pick(message, "method", "params") is not None or is_flat_call(message, "arguments")
    call = find_call(message) if is_call else None
    return [] if call is None else [call]


def _in_turn(turn: Wire) -> list[FoundCall]:
    """Read a sampled turn; what looks like an answer in it is none, however deep it goes."""
    calls = calls_in_content(turn, _block)
    reason = word(turn, "stopReason", "stop_reason")
    if reason in CUT_OFF:
        cut_off(calls, why_cut(reason))
    return calls


def _block(block: Wire) -> FoundCall | None:
    return find_call(block) if block.get("type") == "tool_use" else None


def find_results(message: Wire) -> list[FoundResult]:
    """Read a ``CallToolResult``, a JSON-RPC response that holds one or an error, or the blocks that answer sampling."""
    if "jsonrpc" not in message:
        return results_in_blocks(message, "content", _sampled) or _answers(message, is_flagged=True)
    identity = message.get("id")
    metadata = {} if identity is None or isinstance(identity, bool) else {_RPC_ID: identity}
    error = as_dict(message.get("error"))
    if error is not None:
        return [found_result(identity, None, error.get("message"), fails=True, metadata=metadata)]
    found = _answers(as_dict(message.get("result")) or {}, is_flagged=False)
    return [one._replace(call_id=identity, metadata=metadata) for one in found]


def _answers(answer: Wire, *, is_flagged: bool) -> list[FoundResult]:
    """Read a ``CallToolResult``; outside of a response only its own members tell it from a model's turn."""
    is_known = pick(answer, "isError", "is_error", "structuredContent", "structured_content") is not None
    is_plain = not is_flagged and isinstance(answer.get("content"), list)
    if "role" in answer or "tool_call_id" in answer or not (is_known or is_plain):
        return []
    return [_result(answer, None)]


def _sampled(block: Wire) -> FoundResult | None:
    if block.get("type") != "tool_result" or "toolUseId" not in block:
        return None
    return _result(block, block["toolUseId"])._replace(metadata={_SAMPLING: True})


def _result(answer: Wire, identity: Any) -> FoundResult:
    return found_result(identity, None, _value(answer), fails=bool(pick(answer, "isError", "is_error")))


def _value(answer: Wire) -> Any:
    """Give the one output that a result holds: what is structured, else its content; both where one is a picture."""
    structured = pick(answer, "structuredContent", "structured_content")
    content = answer.get("content")
    if structured is None:
        return content
    has_media = any(isinstance(block, Media) for block in content_of(content) or ())
    return {"content": content, "structuredContent": structured} if has_media else structured


def find_cancelled(message: Wire) -> list[Any]:
    """Read a notification that takes a request back."""
    if message.get("method") != "notifications/cancelled":
        return []
    identity = (as_dict(message.get("params")) or {}).get("requestId")
    return [] if identity is None else [identity]


def find_server_call(block: Wire) -> ServerCall | None:  # noqa: ARG001 # a server's own calls are its own business
    """Find none."""
    return None


def find_finish(message: Wire) -> FoundFinish | None:
    """Read the stop reason of a sampling answer."""
    reason = word(message, "stopReason", "stop_reason")
    return None if reason is None else FoundFinish(reason)


class Session(WholeMessages):
    """Requests as they come in; a notification takes one back."""

    def feed(self, event: Wire) -> None:
        """Give out the call of a request, or take one back."""
        cancelled = find_cancelled(event)
        if cancelled:
            self._drafts.cancel(cancelled)
        else:
            super().feed(event)


def open_stream(drafts: Drafts) -> Session:
    """Read the messages of a session; sampled answers come whole as well."""
    return Session(drafts, find_calls)


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one ``CallToolResult`` a result, as a JSON-RPC response if the call had an id; sampling: one message."""
    sampled = [result for result in results if result.provider_metadata.get(_SAMPLING)]
    if sampled and len(sampled) == len(results):
        return [{"role": "user", "content": [_sampling_result(result) for result in results]}]
    return [_response(result) for result in results]


def _response(result: NormalizedToolResult) -> Wire:
    # 2026-07-28 wants the member, and older revisions ignore members that they do not know
    answer = {**_call_tool_result(result), "resultType": "complete"}
    identity: Any = result.provider_metadata.get(_RPC_ID)
    return answer if identity is None else {"jsonrpc": "2.0", "id": identity, "result": answer}


def _call_tool_result(result: NormalizedToolResult) -> Wire:
    blocks = content_of(result.output) if result.success else None
    content = [as_block(block) for block in blocks or ()] or [{"type": "text", "text": text_of(result)}]
    answer: Wire = {"content": content, "isError": not result.success}
    # protocols before 2026-07-28 take objects only
    output = value_of(result) if result.success else None
    return {**answer, "structuredContent": output} if isinstance(output, dict) else answer


def _sampling_result(result: NormalizedToolResult) -> Wire:
    return {"type": "tool_result", "toolUseId": call_id(result), **_call_tool_result(result)}


TOOL_NAMES: Final = Alphabet("a-zA-Z0-9._-", 128)
TRAITS: Final = Traits(
    has_parallel=False,
    can_forbid_tools=True,
    forces_while_thinking=True,
    has_results_beside_calls=False,
    is_strict_by_request=False,
    result_names=ResultNames.NONE,
)
_READ: Final = frozenset({"inputSchema", "input_schema", "outputSchema", "output_schema"})


def export_tool(spec: ToolSpec, name: str, options: ExportOptions) -> ExportedTool:
    """Write a ``Tool`` as ``tools/list`` has it; output schemas that are no objects need the protocol 2026-07-28."""
    schema = as_is(spec.input_schema)
    tool: Wire = {"name": name, **described(spec, options), "inputSchema": schema.schema}
    has_output = spec.output_schema is not None and spec.output_schema.get("type") == "object"
    if has_output:
        tool["outputSchema"] = spec.output_schema
    return exported(tool, spec, schema, options, title="MCP", has_output=has_output)


def import_tool(tool: Wire, where: str) -> list[ImportedTool]:
    """Read a ``Tool`` in the wire's spelling or the SDK's."""
    schema, output = pick(tool, "inputSchema", "input_schema"), pick(tool, "outputSchema", "output_schema")
    return [imported(tool, where, schema, read=_READ, output=output)]


def export_choice(choice: ToolChoice, encode: Encode) -> WireChoice:  # noqa: ARG001 # it never names a tool
    """Write the ``toolChoice`` of a sampling request, which knows no single tools."""
    mode = "required" if choice.is_forced else choice.mode.value
    return WireChoice({"mode": mode}, is_whole=not choice.tools)


def import_choice(value: Any) -> ToolChoice | None:
    """Read a ``toolChoice``."""
    members = inside_of(value, "toolChoice|tool_choice") or {}
    mode = mode_of(members.get("mode"))
    is_known = members.get("mode") in ("auto", "required", "none") and members.keys() == {"mode"}
    return ToolChoice(mode or ChoiceMode.AUTO) if is_known else None


def request_fields(tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:  # noqa: ARG001 # has no such switch
    """Give the fields of a sampling request."""
    return {"tools": tools} if choice is None else {"tools": tools, "toolChoice": choice}


def read_request(body: Wire) -> WireRequest:
    """Read the fields of a sampling request, or the answer to ``tools/list``; in JSON-RPC or out of it."""
    fields = as_dict(pick(body, "params", "result")) or body
    return WireRequest(fields.get("tools"), pick(fields, "toolChoice", "tool_choice"))


def write_calls(calls: Sequence[WrittenCall]) -> list[Wire]:
    """Write one ``tools/call`` request a call, or one sampling answer if the calls were sampled."""
    if calls and all(call.echo(_SAMPLING) for call in calls):
        uses = [{"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.arguments} for call in calls]
        return [{"role": "assistant", "content": uses, "stopReason": "toolUse"}]
    return [_request(call) for call in calls]


def _request(call: WrittenCall) -> Wire:
    identity = call.echo(_RPC_ID)
    return {
        "jsonrpc": "2.0",
        "id": call.call_id if identity is None else identity,
        "method": "tools/call",
        "params": {"name": call.name, "arguments": call.arguments},
    }


def write_stream(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:  # noqa: ARG001 # whole messages
    """Write the same messages: MCP does not cut them."""
    return write_calls(calls)
