"""Gemini Interactions: ``function_call`` steps. Every other ``…_call`` step is run by Google."""

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
    refuse_all,
    word,
)
from toolrelay.formats.shared.choices import Encode, WireChoice, inside_of, mode_of, read_word, text
from toolrelay.formats.shared.content import Block, Text
from toolrelay.formats.shared.finish import FinishKind, FinishWords, FoundFinish, why_void, words_of
from toolrelay.formats.shared.flat import is_flat_call
from toolrelay.formats.shared.ids import ANY_IDS
from toolrelay.formats.shared.output import call_id, error_text, shown_blocks, value_of, wire_name
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.shared.results import FoundResult, found_result, results_in_blocks
from toolrelay.formats.shared.served import ServerCall, served
from toolrelay.formats.shared.tools import (
    ExportedTool,
    ExportOptions,
    ImportedTool,
    described,
    exported,
    imported,
    schema_of,
)
from toolrelay.formats.shared.written import Cut, WrittenCall
from toolrelay.formats.streams.blocks import Blocks
from toolrelay.formats.streams.drafts import Drafts, fault_of
from toolrelay.models import NormalizedToolResult, ToolSpec
from toolrelay.names import Alphabet
from toolrelay.outputs import lenient_text
from toolrelay.schemas.export import to_gemini_json_schema
from toolrelay.schemas.gemini import from_gemini

FINISH_WORDS: Final[FinishWords] = {
    FinishKind.STOP: ("completed", "idle"),
    FinishKind.TOOL_CALLS: ("requires_action",),
    FinishKind.LENGTH: ("incomplete", "requires_continuation", "budget_exceeded"),
    FinishKind.CONTENT_FILTER: ("incomplete",),
    FinishKind.PAUSE: ("completed",),
    FinishKind.ERROR: ("failed", "cancelled"),
    FinishKind.MALFORMED: ("failed",),
}
#: https://ai.google.dev/api/interactions-api (``Interaction.status``). ``idle`` says that all is done, calls wait
FINISHED: Final = words_of(FINISH_WORDS, FinishKind.STOP, FinishKind.TOOL_CALLS)
#: a limit stopped the model: of a request's tokens, which ``continuation_token`` goes beyond, or of the whole's budget
CUT_OFF: Final = words_of(FINISH_WORDS, FinishKind.LENGTH)
DISOWNED: Final = words_of(FINISH_WORDS, FinishKind.ERROR)
#: what is there may not be whole, and will be read again
GOING_ON: Final = frozenset({"queued", "in_progress"})
CALL_IDS: Final = ANY_IDS
PLACES: Final = Places(
    holders=("interaction", "steps", "step", "content", "delta"),
    texts=("content", "text", "thinking", "summary"),
    turns=("input",),
)


def find_call(payload: Wire) -> FoundCall | None:
    """Read a ``function_call`` step or the flat shape; ``None`` for every other kind of step."""
    if payload.get("type", "function_call") != "function_call":
        return None
    return FoundCall(payload.get("name"), payload.get("arguments"), payload.get("id"), raw=payload)


def find_calls(message: Wire) -> list[FoundCall]:
    """Read the steps of an interaction, or a single step."""
    if "steps" not in message:
        call = find_call(message) if "type" in message or is_flat_call(message, "arguments") else None
        return [] if call is None else [call]
    steps = [step for item in as_list(message["steps"]) if (step := as_dict(item))]
    calls = [call for step in steps if "type" in step and (call := find_call(step)) is not None]
    status = word(message, "status")
    if status in CUT_OFF:
        cut_off(calls, _cut(status))
    elif status in DISOWNED:
        refuse_all(calls, why_void("status", status))
    elif status in GOING_ON:
        refuse_all(calls, f"the call may be truncated: the interaction goes on, its status is {status!r}")
    return calls


def _cut(status: str | None) -> str:
    return f"the call is truncated: the interaction is incomplete, its status is {status!r}"


def find_results(message: Wire) -> list[FoundResult]:
    """Read the ``function_result`` steps of an interaction, or a single one."""
    return results_in_blocks(message, "steps", _result)


def _result(step: Wire) -> FoundResult | None:
    if step.get("type") != "function_result":
        return None
    fails = bool(step.get("is_error"))
    return found_result(step.get("call_id"), step.get("name"), step.get("result"), fails=fails)


def find_cancelled(message: Wire) -> list[Any]:  # noqa: ARG001 # an interaction's status tells of it
    """Find none."""
    return []


def find_server_call(block: Wire) -> ServerCall | None:
    """Read any other step that is a call."""
    return None if block.get("type") == "function_call" else served(block, "_call")


def find_finish(message: Wire) -> FoundFinish | None:
    """Read the status of an interaction, or of a stream's event that tells it."""
    reason = word(as_dict(message.get("interaction")) or message, "status")
    return None if reason is None else FoundFinish(reason)


class Stream:
    """``step.*`` events of an interaction."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._blocks = Blocks(drafts)

    def feed(self, event: Wire) -> None:
        """Read one event."""
        kind = pick(event, "event_type", "type")
        index = event.get("index")
        if kind == "step.delta":
            delta = as_dict(event.get("delta")) or {}
            if delta.get("type") == "arguments_delta":
                self._blocks.write(index, delta.get("arguments"))
        elif kind == "step.start":
            step = as_dict(event.get("step")) or {}
            self._blocks.start(index, find_call(step) if "type" in step else None)
        elif kind == "step.stop":
            self._blocks.stop(index)
        elif kind == "error" or (kind is None and event.get("error")):
            self._drafts.fail(fault_of(event, as_dict(event.get("error"))))
        else:
            if kind == "interaction.created":
                self._drafts.begin_turn()
            self._status(as_dict(event.get("interaction")) or event)

    def _status(self, interaction: Wire) -> None:
        status = word(interaction, "status")
        if status in FINISHED:
            self._drafts.seal_all()
        elif status in CUT_OFF:
            self._blocks.cut_off(_cut(status))
        elif status in DISOWNED:
            self._drafts.refuse_all(why_void("status", status))
        else:
            return  # it is still going on
        self._drafts.is_ended = True

    def close(self) -> None:
        """The connection is gone: what is not whole never will be."""
        self._drafts.seal_rest()


def open_stream(drafts: Drafts) -> Stream:
    """Read a stream of an interaction's events."""
    return Stream(drafts)


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one ``function_result`` a result, the next interaction's input."""
    return [_function_result(result) for result in results]


def _function_result(result: NormalizedToolResult) -> Wire:
    step: Wire = {"type": "function_result", "call_id": call_id(result), "name": wire_name(result)}
    if not result.success:
        return {**step, "result": error_text(result), "is_error": True}
    # a list would be read as content blocks: everything but an object goes as text
    shown = [_shown(block) for block in shown_blocks(result)]
    if shown:
        return {**step, "result": shown}
    output = value_of(result)
    return {**step, "result": output if isinstance(output, dict) else lenient_text(output)}


TOOL_NAMES: Final = Alphabet("a-zA-Z0-9_.:-", 128, first="a-zA-Z_")
TRAITS: Final = Traits(
    has_parallel=False,
    can_forbid_tools=True,
    forces_while_thinking=True,
    has_results_beside_calls=True,
    is_strict_by_request=True,
    result_names=ResultNames.OPTIONAL,
)
_NO_STRICT: Final = "is strict by the request: build_request asks for its mode VALIDATED"
_READ: Final = frozenset({"parameters"})


def export_tool(spec: ToolSpec, name: str, options: ExportOptions) -> ExportedTool:
    """Write a flat function tool."""
    schema = to_gemini_json_schema(spec.input_schema)
    tool: Wire = {"type": "function", "name": name, **described(spec, options)}
    if len(schema.schema) > 1:  # more than its type
        tool["parameters"] = schema.schema
    return exported(tool, spec, schema, options, title="Gemini Interactions", no_strict=_NO_STRICT)


def import_tool(tool: Wire, where: str) -> list[ImportedTool]:
    """Read a function tool; Google's own give nothing."""
    if tool.get("type", "function") != "function":
        return []
    return [imported(tool, where, from_gemini(schema_of(tool.get("parameters"), where)), read=_READ)]


def export_choice(choice: ToolChoice, encode: Encode) -> WireChoice:
    """Write ``generation_config.tool_choice``."""
    is_validated = choice.strict and choice.mode is ChoiceMode.AUTO
    mode = "validated" if is_validated else choice.mode.value
    if not choice.tools:
        return WireChoice(mode)
    return WireChoice({"allowed_tools": {"mode": mode, "tools": [encode(name) for name in choice.tools]}})


def import_choice(value: Any) -> ToolChoice | None:
    """Read ``tool_choice``."""
    if isinstance(value, str):
        return ToolChoice(strict=True) if value == "validated" else read_word(value)
    allowed = inside_of(value, "generation_config", "tool_choice", "allowed_tools") or {}
    is_validated = allowed.get("mode") == "validated"
    mode = ChoiceMode.AUTO if is_validated else mode_of(allowed.get("mode"))
    names = tuple(name for name in as_list(allowed.get("tools")) if text(name))
    if mode is None or mode is ChoiceMode.NONE or not names:
        return None
    return ToolChoice(mode, names, strict=is_validated)


def request_fields(tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:  # noqa: ARG001 # has no such switch
    """Give the request's fields."""
    fields: Wire = {"tools": tools}
    return fields if choice is None else {**fields, "generation_config": {"tool_choice": choice}}


def read_request(body: Wire) -> WireRequest:
    """Read ``tools``, and the choice inside ``generation_config``."""
    config = as_dict(pick(body, "generation_config", "generationConfig")) or {}
    return WireRequest(body.get("tools"), config.get("tool_choice"))


def _shown(block: Block) -> Wire:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image", "data": block.data, "mime_type": block.media_type}


def write_calls(calls: Sequence[WrittenCall]) -> list[Wire]:
    """Write one ``function_call`` step a call."""
    return [_step(call, call.arguments) for call in calls]


def _step(call: WrittenCall, arguments: Wire) -> Wire:
    return {"type": "function_call", "id": call.call_id, "name": call.name, "arguments": arguments}


def write_stream(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:
    """Write the events of an interaction: a step a call, its arguments in pieces."""
    events: list[Wire] = [{"event_type": "interaction.created", "interaction": {**head, "status": "in_progress"}}]
    for index, call in enumerate(calls):
        events.append({"event_type": "step.start", "index": index, "step": _step(call, {})})
        for piece in cut(call.text):
            delta = {"type": "arguments_delta", "arguments": piece}
            events.append({"event_type": "step.delta", "index": index, "delta": delta})
        events.append({"event_type": "step.stop", "index": index})
    status = "requires_action" if calls else "completed"
    return [*events, {"event_type": "interaction.completed", "interaction": {**head, "status": status}}]
