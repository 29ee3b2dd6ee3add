"""Anthropic Messages: ``tool_use`` blocks. ``server_tool_use`` and ``mcp_tool_use`` look the same and run elsewhere.

A turn's tools are run only if it stopped for them (``stop_reason`` ``tool_use``), as the SDK's own runner does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolrelay.choices import ChoiceMode, ToolChoice
from toolrelay.formats.protocol import FoundCall, Places, ResultNames, Traits, Wire, WireRequest, refuse_all, word
from toolrelay.formats.shared.blocks import calls_in_content
from toolrelay.formats.shared.choices import Encode, WireChoice, inside_of, mode_of, named_tool, read_word
from toolrelay.formats.shared.content import Block, Text
from toolrelay.formats.shared.finish import (
    FinishKind,
    FinishWords,
    FoundFinish,
    why_cut,
    why_doubtful,
    why_void,
    words_of,
)
from toolrelay.formats.shared.flat import is_flat_call
from toolrelay.formats.shared.ids import IdAlphabet
from toolrelay.formats.shared.output import call_id, shown_blocks, text_of
from toolrelay.formats.shared.plain import as_dict
from toolrelay.formats.shared.results import FoundResult, found_result, results_in_blocks
from toolrelay.formats.shared.served import ServerCall, served
from toolrelay.formats.shared.tools import ExportedTool, ExportOptions, ImportedTool, described, exported, imported
from toolrelay.formats.shared.written import Cut, WrittenCall
from toolrelay.formats.streams.blocks import Blocks
from toolrelay.formats.streams.drafts import Drafts, fault_of
from toolrelay.models import NormalizedToolResult, ToolSpec
from toolrelay.names import Alphabet
from toolrelay.schemas.export import to_anthropic

FINISH_WORDS: Final[FinishWords] = {
    FinishKind.STOP: ("end_turn", "stop_sequence"),
    FinishKind.TOOL_CALLS: ("tool_use",),
    FinishKind.LENGTH: ("max_tokens", "model_context_window_exceeded"),
    FinishKind.CONTENT_FILTER: ("refusal",),
    FinishKind.PAUSE: ("pause_turn", "compaction"),
    FinishKind.MALFORMED: ("end_turn",),
    FinishKind.ERROR: ("end_turn",),
}
#: the turn goes on: it is sent back as it is, and nothing is run in between
#: https://docs.claude.com/en/api/handling-stop-reasons
PAUSED: Final = words_of(FINISH_WORDS, FinishKind.PAUSE)
#: the model was stopped while it wrote; in a stream the calls before that are known to be whole
CUT_OFF: Final = words_of(FINISH_WORDS, FinishKind.LENGTH)
#: nothing may run, whoever passes the word on; here, that is so for all but ``tool_use``
DISOWNED: Final = words_of(FINISH_WORDS, FinishKind.CONTENT_FILTER)
#: the API checks it on the call and on its answer
CALL_IDS: Final = IdAlphabet("a-zA-Z0-9_-")
PLACES: Final = Places(
    holders=("message", "content", "content_block", "delta"), texts=("content", "text", "thinking"), turns=("messages",)
)


def find_call(payload: Wire) -> FoundCall | None:
    """Read a ``tool_use`` block or the flat ``{"name", "input"}``; ``None`` for every other kind of block."""
    if payload.get("type", "tool_use") != "tool_use":
        return None
    metadata: dict[str, Any] = {}
    toolset = payload.get("toolset_name")
    if toolset is not None:
        metadata["toolset"] = toolset
    caller = as_dict(payload.get("caller"))
    if caller is not None and caller.get("type") != "direct":
        metadata["caller"] = caller
    return FoundCall(payload.get("name"), payload.get("input"), payload.get("id"), metadata=metadata, raw=payload)


def find_calls(message: Wire) -> list[FoundCall]:
    """Read the blocks of a message, or a single block."""
    reason = word(message, "stop_reason")
    if reason in PAUSED:
        return []
    calls = calls_in_content(message, _block)
    if reason in CUT_OFF:
        refuse_all(calls, why_doubtful("stop_reason", reason))
    elif reason is not None and reason != "tool_use":
        refuse_all(calls, why_void("stop_reason", reason))
    return calls


def _block(block: Wire) -> FoundCall | None:
    return find_call(block) if "type" in block or is_flat_call(block, "input") else None


def find_results(message: Wire) -> list[FoundResult]:
    """Read the ``tool_result`` blocks of a message, or a single one."""
    return results_in_blocks(message, "content", _result)


def _result(block: Wire) -> FoundResult | None:
    if block.get("type") != "tool_result" or "toolUseId" in block:  # which is MCP's
        return None
    toolset = block.get("toolset_name")
    return found_result(
        block.get("tool_use_id"),
        None,
        block.get("content"),
        fails=bool(block.get("is_error")),
        metadata={} if toolset is None else {"toolset": toolset},
    )


def find_cancelled(message: Wire) -> list[Any]:  # noqa: ARG001 # what was said stands
    """Find none."""
    return []


def find_server_call(block: Wire) -> ServerCall | None:
    """Read ``server_tool_use`` and ``mcp_tool_use`` blocks."""
    return None if block.get("type") == "tool_use" else served(block, "_use")


def find_finish(message: Wire) -> FoundFinish | None:
    """Read the stop reason of a message, or of the events that hold one."""
    inside = as_dict(message.get("delta")) or as_dict(message.get("message")) or message
    reason = word(inside, "stop_reason")
    return None if reason is None else FoundFinish(reason)


class Stream:
    """``content_block_*`` events between ``message_start`` and ``message_stop``."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._blocks = Blocks(drafts)

    def feed(self, event: Wire) -> None:
        """Read one event; ``ping`` and what is not known say nothing about calls."""
        kind = event.get("type")
        if kind == "content_block_delta":
            delta = as_dict(event.get("delta")) or {}
            if delta.get("type") == "input_json_delta":
                self._blocks.write(event.get("index"), delta.get("partial_json"))
        elif kind == "content_block_start":
            block = as_dict(event.get("content_block")) or {}
            self._blocks.start(event.get("index"), _block(block))
        elif kind == "content_block_stop":
            self._blocks.stop(event.get("index"))
        else:
            self._around_blocks(kind, event)

    def _around_blocks(self, kind: Any, event: Wire) -> None:
        if kind == "message_start":
            self._drafts.begin_turn()
            self._drafts.model = (as_dict(event.get("message")) or {}).get("model")
        elif kind == "message_delta":
            self._stop(word(as_dict(event.get("delta")) or {}, "stop_reason"))
        elif kind == "message_stop":
            self._drafts.seal_rest()
            self._drafts.is_ended = True
        elif kind == "error" or (kind is None and event.get("error")):
            self._drafts.fail(fault_of(event, as_dict(event.get("error"))))
        elif kind == "message":  # a server that does not stream answers with a whole one
            self._drafts.take(event, find_calls)

    def _stop(self, reason: str | None) -> None:
        if reason is None:
            return
        if reason == "tool_use":
            self._drafts.seal_all()
        elif reason in CUT_OFF:
            self._blocks.cut_off(why_cut(reason))
        else:
            if reason in PAUSED:
                self._drafts.drop_open()
            self._drafts.refuse_all(why_void("stop_reason", reason))
        self._drafts.is_ended = True

    def close(self) -> None:
        """The connection is gone: what is not whole never will be."""
        self._drafts.seal_rest()


def open_stream(drafts: Drafts) -> Stream:
    """Read a stream of message events."""
    return Stream(drafts)


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one user message that holds every ``tool_result``: the API wants them all, first, and together."""
    return [{"role": "user", "content": [_tool_result(result) for result in results]}] if results else []


def _tool_result(result: NormalizedToolResult) -> Wire:
    block: Wire = {"type": "tool_result", "tool_use_id": CALL_IDS.encode(call_id(result)), "content": _content(result)}
    if not result.success:
        block["is_error"] = True
    toolset = result.provider_metadata.get("toolset")
    if toolset is not None:
        block["toolset_name"] = toolset
    return block


TOOL_NAMES: Final = Alphabet("a-zA-Z0-9_-", 128)
TRAITS: Final = Traits(
    has_parallel=True,
    can_forbid_tools=True,
    forces_while_thinking=False,  # https://docs.claude.com/en/docs/build-with-claude/extended-thinking
    has_results_beside_calls=False,
    is_strict_by_request=False,
    result_names=ResultNames.NONE,
)
_READ: Final = frozenset({"input_schema"})


def export_tool(spec: ToolSpec, name: str, options: ExportOptions) -> ExportedTool:
    """Write a tool of the client's; ``strict`` only where it holds."""
    schema = to_anthropic(spec.input_schema, strict=options.strict)
    tool: Wire = {"name": name, **described(spec, options), "input_schema": schema.schema}
    if schema.form == "strict":
        tool["strict"] = True
    return exported(tool, spec, schema, options, title="Anthropic", no_strict=None)


def import_tool(tool: Wire, where: str) -> list[ImportedTool]:
    """Read a tool of the client's; Anthropic's own and toolsets give nothing."""
    if (tool.get("type") or "custom") != "custom":
        return []
    return [imported(tool, where, tool.get("input_schema"), read=_READ)]


def export_choice(choice: ToolChoice, encode: Encode) -> WireChoice:
    """Write ``tool_choice``, which holds the parallel switch too; there are no subsets of several tools."""
    if choice.mode is ChoiceMode.NONE:
        return WireChoice({"type": "none"})
    value: Wire = {"type": choice.mode.value}
    is_one = choice.is_forced and len(choice.tools) == 1
    if is_one:
        value = {"type": "tool", "name": encode(choice.tools[0])}
    if choice.parallel is False:
        value["disable_parallel_tool_use"] = True
    return WireChoice(value, is_whole=is_one or not choice.tools)


def import_choice(value: Any) -> ToolChoice | None:
    """Read ``tool_choice``."""
    if isinstance(value, str):
        return read_word(value)
    members = inside_of(value, "tool_choice") or {}
    is_mode = members.get("type") in ("auto", "any", "none")
    mode = mode_of(members.get("type")) if is_mode else None
    choice = named_tool(members, "tool") if mode is None else ToolChoice(mode)
    disabled = members.get("disable_parallel_tool_use")
    if choice is None or not isinstance(disabled, bool):
        return choice
    return ToolChoice(choice.mode, choice.tools, parallel=not disabled)


def request_fields(tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:
    """Give the request's fields; the parallel switch needs a choice to stand in."""
    if choice is None and parallel is False:
        choice = {"type": "auto", "disable_parallel_tool_use": True}
    return {"tools": tools} if choice is None else {"tools": tools, "tool_choice": choice}


def read_request(body: Wire) -> WireRequest:
    """Read ``tools`` and ``tool_choice``, which has the parallel switch inside."""
    return WireRequest(body.get("tools"), body.get("tool_choice"))


def _content(result: NormalizedToolResult) -> str | list[Wire]:
    # an error's content must be text, and never empty
    return [_shown(block) for block in shown_blocks(result)] or text_of(result)


def _shown(block: Block) -> Wire:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    source = {"type": "base64", "media_type": block.media_type, "data": block.data}
    return {"type": "image", "source": source}


def write_calls(calls: Sequence[WrittenCall]) -> list[Wire]:
    """Write one assistant message."""
    return [{"role": "assistant", "content": [_tool_use(call, call.arguments) for call in calls]}] if calls else []


def _tool_use(call: WrittenCall, arguments: Wire) -> Wire:
    block = {"type": "tool_use", "id": CALL_IDS.encode(call.call_id), "name": call.name, "input": arguments}
    toolset, caller = call.echo("toolset"), call.echo("caller")
    if toolset is not None:
        block["toolset_name"] = toolset
    if caller is not None:
        block["caller"] = caller
    return block


def write_stream(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:
    """Write message events: a block a call, its input in pieces."""
    usage = as_dict(head.get("usage")) or {"input_tokens": 0, "output_tokens": 0}
    message = {"type": "message", "role": "assistant", "usage": usage, **head, "content": []}
    message |= {"stop_reason": None, "stop_sequence": None}
    events: list[Wire] = [{"type": "message_start", "message": message}]
    for index, call in enumerate(calls):
        events.append({"type": "content_block_start", "index": index, "content_block": _tool_use(call, {})})
        for piece in cut(call.text):
            delta = {"type": "input_json_delta", "partial_json": piece}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    # the SDK's accumulator takes the count from here without asking whether there is one
    counted = {"output_tokens": usage.get("output_tokens", 0)}
    events.append({"type": "message_delta", "delta": end, "usage": counted})
    return [*events, {"type": "message_stop"}]
