"""Amazon Bedrock Converse: ``toolUse`` blocks, answered by ``toolResult`` blocks in one user message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolrelay.choices import ChoiceMode, ToolChoice
from toolrelay.errors import ToolChoiceError
from toolrelay.formats.protocol import (
    FoundCall,
    Places,
    ResultNames,
    Traits,
    Wire,
    WireRequest,
    pick,
    refuse_all,
    word,
)
from toolrelay.formats.shared.blocks import calls_in_content
from toolrelay.formats.shared.choices import Encode, WireChoice, inside_of, text
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
from toolrelay.formats.shared.output import call_id, shown_blocks, text_of, value_of
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.shared.results import FoundResult, found_result, picture, results_in_blocks
from toolrelay.formats.shared.served import ServerCall, served
from toolrelay.formats.shared.tools import ExportedTool, ExportOptions, ImportedTool, described, exported, imported
from toolrelay.formats.shared.written import Cut, WrittenCall
from toolrelay.formats.streams.blocks import Blocks
from toolrelay.formats.streams.drafts import Drafts, fault_of
from toolrelay.models import NormalizedToolResult, ToolSpec
from toolrelay.names import Alphabet
from toolrelay.schemas.export import to_bedrock

FINISH_WORDS: Final[FinishWords] = {
    FinishKind.STOP: ("end_turn", "stop_sequence"),
    FinishKind.TOOL_CALLS: ("tool_use",),
    FinishKind.LENGTH: ("max_tokens", "model_context_window_exceeded"),
    FinishKind.CONTENT_FILTER: ("content_filtered", "guardrail_intervened"),
    FinishKind.PAUSE: ("end_turn",),
    FinishKind.MALFORMED: ("end_turn", "malformed_tool_use", "malformed_model_output"),
    FinishKind.ERROR: ("end_turn",),
}
#: the model was stopped by a limit; in a stream the calls before that are known to be whole
#: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (``stopReason``)
CUT_OFF: Final = words_of(FINISH_WORDS, FinishKind.LENGTH)
#: nothing may run. Some of the models behind Converse stop with ``end_turn`` and mean their calls
DISOWNED: Final = frozenset(
    {"guardrail_intervened", "content_filtered", "malformed_tool_use", "malformed_model_output"}
)
CALL_IDS: Final = IdAlphabet("a-zA-Z0-9_.:-")
PLACES: Final = Places(
    holders=(
        *("output", "message", "content", "toolUse"),
        *("contentBlockStart", "start", "contentBlockDelta", "delta"),
    ),
    texts=("text",),
    turns=("messages",),
)


def find_call(payload: Wire) -> FoundCall | None:
    """Read a ``toolUse`` block, its inside, or the flat ``{"name", "input"}``."""
    use = as_dict(pick(payload, "toolUse", "tool_use")) or payload
    if use.get("type") == "server_tool_use":
        return None
    return FoundCall(use.get("name"), use.get("input"), pick(use, "toolUseId", "tool_use_id", "id"), raw=payload)


def find_calls(message: Wire) -> list[FoundCall]:
    """Read a Converse response, its message, or a single block."""
    output = as_dict(message.get("output")) or message
    calls = calls_in_content(as_dict(output.get("message")) or output, _block)
    reason = word(message, "stopReason", "stop_reason")
    if reason in CUT_OFF:
        refuse_all(calls, why_doubtful("stopReason", reason))
    elif reason in DISOWNED:
        refuse_all(calls, why_void("stopReason", reason))
    return calls


def _block(block: Wire) -> FoundCall | None:
    is_ours = pick(block, "toolUse", "tool_use", "toolUseId") is not None
    return find_call(block) if is_ours or ("type" not in block and is_flat_call(block, "input")) else None


def find_results(message: Wire) -> list[FoundResult]:
    """Read the ``toolResult`` blocks of a message, or a single one."""
    return results_in_blocks(message, "content", _result)


def _result(block: Wire) -> FoundResult | None:
    result = as_dict(block.get("toolResult"))
    if result is None:
        return None
    parts = [part for item in as_list(result.get("content")) if (part := as_dict(item))]
    fails = result.get("status") == "error"
    return found_result(result.get("toolUseId"), None, _value(parts), fails=fails)


def _value(parts: list[Wire]) -> Any:
    if any(as_dict(part.get("image")) for part in parts):
        return [_block_of(part) for part in parts]
    values = [part["json"] if "json" in part else part.get("text", part) for part in parts]
    return values[0] if len(values) == 1 else values


def _block_of(part: Wire) -> Wire:
    image = as_dict(part.get("image"))
    if image is None:
        return {"type": "text", "text": part.get("text", "")}
    source = as_dict(image.get("source")) or {}
    return picture(source.get("bytes"), f"image/{word(image, 'format')}")


def find_cancelled(message: Wire) -> list[Any]:  # noqa: ARG001 # what was said stands
    """Find none."""
    return []


def find_server_call(block: Wire) -> ServerCall | None:
    """Read the inside of a ``toolUse`` that Bedrock runs."""
    return served(block, "server_tool_use")


def find_finish(message: Wire) -> FoundFinish | None:
    """Read the stop reason of a response, or of a stream's last event."""
    reason = word(as_dict(message.get("messageStop")) or message, "stopReason", "stop_reason")
    return None if reason is None else FoundFinish(reason)


class Stream:
    """Events of ``ConverseStream``: dicts with one member that names the event."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._blocks = Blocks(drafts)

    def feed(self, event: Wire) -> None:
        """Read one event; members that end in ``Exception`` are how the service reports its failures."""
        for kind, value in event.items():
            body = as_dict(value)
            if body is None:
                continue
            if kind == "messageStart":
                self._drafts.begin_turn()
                continue
            index = body.get("contentBlockIndex")
            if kind == "contentBlockDelta":
                use = as_dict((as_dict(body.get("delta")) or {}).get("toolUse"))
                if use is not None:
                    self._blocks.write(index, use.get("input"))
            elif kind == "contentBlockStart":
                self._blocks.start(index, _block(as_dict(body.get("start")) or {}))
            elif kind == "contentBlockStop":
                self._blocks.stop(index)
            elif kind == "messageStop":
                self._stop(word(body, "stopReason"))
            elif str(kind).endswith("Exception") or (kind == "error" and body):
                self._drafts.fail(fault_of({"type": kind, **body}, None))

    def _stop(self, reason: str | None) -> None:
        if reason in CUT_OFF:
            self._blocks.cut_off(why_cut(reason))
        elif reason is None:
            self._drafts.seal_rest()
        elif reason in DISOWNED:
            self._drafts.refuse_all(why_void("stopReason", reason))
        else:
            self._drafts.seal_all()
        self._drafts.is_ended = True

    def close(self) -> None:
        """The connection is gone: what is not whole never will be."""
        self._drafts.seal_rest()


def open_stream(drafts: Drafts) -> Stream:
    """Read a stream of Converse events."""
    return Stream(drafts)


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one user message that holds every ``toolResult``; the ``bytes`` of a picture are bytes, as boto3 wants."""
    return [{"role": "user", "content": [_tool_result(result) for result in results]}] if results else []


def _tool_result(result: NormalizedToolResult) -> Wire:
    status = "success" if result.success else "error"
    identity = CALL_IDS.encode(call_id(result))
    return {"toolResult": {"toolUseId": identity, "content": _contents(result), "status": status}}


def _contents(result: NormalizedToolResult) -> list[Wire]:
    return [_shown(block) for block in shown_blocks(result)] or [_content(result)]


def _shown(block: Block) -> Wire:
    if isinstance(block, Text):
        return {"text": block.text}
    raw = block.raw
    if raw is None:
        return {"text": block.described()}
    # bytes and no base64: nearly everyone reaches the service through boto3, which takes bytes and encodes them itself,
    # so that base64 would arrive encoded twice. Whoever writes JSON passes default=as_base64
    return {"image": {"format": block.media_type.removeprefix("image/"), "source": {"bytes": raw}}}


def _content(result: NormalizedToolResult) -> Wire:
    # the json member takes objects only
    output = value_of(result) if result.success else None
    return {"json": output} if isinstance(output, dict) else {"text": text_of(result)}


TOOL_NAMES: Final = Alphabet("a-zA-Z0-9_-", 64, first="a-zA-Z", padding="t_")
TRAITS: Final = Traits(
    has_parallel=False,
    can_forbid_tools=False,
    forces_while_thinking=True,
    has_results_beside_calls=False,
    is_strict_by_request=False,
    result_names=ResultNames.NONE,
)
_READ: Final = frozenset({"inputSchema", "input_schema"})


def export_tool(spec: ToolSpec, name: str, options: ExportOptions) -> ExportedTool:
    """Write a ``toolSpec``; ``strict`` only where it holds."""
    schema = to_bedrock(spec.input_schema, strict=options.strict)
    tool_spec: Wire = {"name": name, **described(spec, options), "inputSchema": {"json": schema.schema}}
    if schema.form == "strict":
        tool_spec["strict"] = True
    return exported({"toolSpec": tool_spec}, spec, schema, options, title="Bedrock", no_strict=None)


def import_tool(tool: Wire, where: str) -> list[ImportedTool]:
    """Read a ``toolSpec``; cache points and the models' own tools give nothing."""
    tool_spec = as_dict(pick(tool, "toolSpec", "tool_spec"))
    if tool_spec is None:
        return []
    schema = as_dict(pick(tool_spec, "inputSchema", "input_schema")) or {}
    return [imported(tool_spec, where, schema.get("json"), read=_READ)]


def export_choice(choice: ToolChoice, encode: Encode) -> WireChoice:
    """Write ``toolChoice``. Converse cannot forbid tools that are declared: ``ToolChoiceError``."""
    if choice.mode is ChoiceMode.NONE:
        raise ToolChoiceError("Bedrock Converse cannot forbid tools: declare none, or let build_request leave them out")
    if choice.is_forced and len(choice.tools) == 1:
        return WireChoice({"tool": {"name": encode(choice.tools[0])}})
    return WireChoice({choice.mode.value: {}}, is_whole=not choice.tools)


def import_choice(value: Any) -> ToolChoice | None:
    """Read ``toolChoice``."""
    members = inside_of(value, "toolConfig", "toolChoice|tool_choice") or {}
    if len(members) != 1:
        return None
    named = as_dict(members.get("tool"))
    if named is not None:
        name = text(named.get("name"))
        return None if name is None else ToolChoice.tool(name)
    if as_dict(members.get("auto")) is not None:
        return ToolChoice()
    return ToolChoice(ChoiceMode.ANY) if as_dict(members.get("any")) is not None else None


def request_fields(tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:  # noqa: ARG001 # has no such switch
    """Give the request's fields."""
    config: Wire = {"tools": tools}
    return {"toolConfig": config if choice is None else {**config, "toolChoice": choice}}


def read_request(body: Wire) -> WireRequest:
    """Read ``toolConfig``, which holds both."""
    config = as_dict(pick(body, "toolConfig", "tool_config")) or {}
    return WireRequest(config.get("tools"), pick(config, "toolChoice", "tool_choice") or body.get("toolChoice"))


def write_calls(calls: Sequence[WrittenCall]) -> list[Wire]:
    """Write one assistant message."""
    content = [{"toolUse": {**_tool_use(call), "input": call.arguments}} for call in calls]
    return [{"role": "assistant", "content": content}] if calls else []


def _tool_use(call: WrittenCall) -> Wire:
    return {"toolUseId": CALL_IDS.encode(call.call_id), "name": call.name}


def write_stream(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:  # noqa: ARG001 # see below
    """Write events of ``ConverseStream``; they have no place for what is in ``head``."""
    events: list[Wire] = [{"messageStart": {"role": "assistant"}}]
    for index, call in enumerate(calls):
        place = {"contentBlockIndex": index}
        events.append({"contentBlockStart": {"start": {"toolUse": _tool_use(call)}, **place}})
        inputs: list[Wire] = [{"toolUse": {"input": piece}} for piece in cut(call.text)]
        events += [{"contentBlockDelta": {"delta": delta, **place}} for delta in inputs]
        events.append({"contentBlockStop": place})
    return [*events, {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}]
