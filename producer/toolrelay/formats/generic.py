"""No provider's format: a dict with a name, and the arguments under one of the usual keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolrelay.choices import ToolChoice
from toolrelay.formats import openai_chat
from toolrelay.formats.arguments.reading import read_arguments
from toolrelay.formats.protocol import FoundCall, Places, ResultNames, Traits, Wire, WireRequest, pick, word
from toolrelay.formats.shared.choices import Encode, WireChoice
from toolrelay.formats.shared.finish import FinishWords, FoundFinish
from toolrelay.formats.shared.flat import ARGUMENT_KEYS, is_flat_call
from toolrelay.formats.shared.ids import ANY_IDS
from toolrelay.formats.shared.output import call_id, text_of, wire_name
from toolrelay.formats.shared.results import FoundResult, found_result
from toolrelay.formats.shared.served import ServerCall
from toolrelay.formats.shared.tools import ExportedTool, ExportOptions, ImportedTool, described, exported, imported
from toolrelay.formats.shared.written import Cut, WrittenCall
from toolrelay.formats.streams.drafts import Drafts, WholeMessages
from toolrelay.models import NormalizedToolResult, ToolSpec
from toolrelay.names import Alphabet
from toolrelay.schemas.export import as_is

CALL_IDS: Final = ANY_IDS
PLACES: Final = Places(holders=(), texts=("content", "text"), turns=())
FINISH_WORDS: Final[FinishWords] = {}


def find_call(payload: Wire) -> FoundCall | None:
    """Read the first of the usual keys that holds a usable object; unusable ones are passed over for a later one."""
    found = FoundCall(payload.get("name"), call_id=pick(payload, "id", "call_id", "tool_call_id"), raw=payload)
    present = [payload[key] for key in ARGUMENT_KEYS if payload.get(key) not in (None, "")]
    usable = next((value for value in present if read_arguments(value).problem is None), None)
    found.arguments = usable if usable is not None else next(iter(present), None)
    return found


def find_calls(message: Wire) -> list[FoundCall]:
    """Read a single call: a message of an unknown format cannot be taken apart."""
    call = find_call(message) if "name" in message and is_flat_call(message, *ARGUMENT_KEYS) else None
    return [] if call is None else [call]


def find_results(message: Wire) -> list[FoundResult]:
    """Read a single result, as ``format_results`` writes it."""
    if "tool_call_id" not in message or "is_error" not in message or "role" in message:
        return []
    fails = bool(message["is_error"])
    return [found_result(message["tool_call_id"], message.get("name"), message.get("content"), fails=fails)]


def find_cancelled(message: Wire) -> list[Any]:  # noqa: ARG001 # nobody is there to take any back
    """Find none."""
    return []


def find_server_call(block: Wire) -> ServerCall | None:  # noqa: ARG001 # nobody is there to run any
    """Find none."""
    return None


def find_finish(message: Wire) -> FoundFinish | None:
    """Read the reason under one of the usual keys."""
    reason = word(message, "finish_reason", "stop_reason", "finishReason", "stopReason", "status")
    return None if reason is None else FoundFinish(reason)


def open_stream(drafts: Drafts) -> WholeMessages:
    """Read calls that come one by one."""
    return WholeMessages(drafts, find_calls)


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one plain dict a result."""
    return [
        {
            "tool_call_id": call_id(result),
            "name": wire_name(result),
            "content": text_of(result),
            "is_error": not result.success,
        }
        for result in results
    ]


TOOL_NAMES: Final = Alphabet("a-zA-Z0-9_-", 64)
TRAITS: Final = Traits(
    has_parallel=True,
    can_forbid_tools=True,
    forces_while_thinking=True,
    has_results_beside_calls=False,
    is_strict_by_request=False,
    result_names=ResultNames.OPTIONAL,
)
_SCHEMA_KEYS: Final = ("input_schema", "inputSchema", "parameters", "args_schema")


def export_tool(spec: ToolSpec, name: str, options: ExportOptions) -> ExportedTool:
    """Write a plain dict; its name is one that most providers take."""
    schema = as_is(spec.input_schema)
    tool: Wire = {"name": name, **described(spec, options), "input_schema": schema.schema}
    return exported(tool, spec, schema, options, title="this format")


def import_tool(tool: Wire, where: str) -> list[ImportedTool]:
    """Read a dict with a name and a schema under one of the usual keys; any other kind of thing gives nothing."""
    schema = pick(tool, *_SCHEMA_KEYS)
    if "name" not in tool and schema is None:
        return []
    return [imported(tool, where, schema, read=frozenset(_SCHEMA_KEYS))]


def export_choice(choice: ToolChoice, encode: Encode) -> WireChoice:
    """Write a choice as OpenAI Chat does, which most others read."""
    return openai_chat.export_choice(choice, encode)


def import_choice(value: Any) -> ToolChoice | None:
    """Read a choice as OpenAI Chat writes it."""
    return openai_chat.import_choice(value)


def request_fields(tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:
    """Give the request's fields as OpenAI Chat has them."""
    return openai_chat.request_fields(tools, choice, parallel)


def read_request(body: Wire) -> WireRequest:
    """Read the request's fields as OpenAI Chat has them."""
    return openai_chat.read_request(body)


def write_calls(calls: Sequence[WrittenCall]) -> list[Wire]:
    """Write one plain dict a call."""
    return [{"id": call.call_id, "name": call.name, "arguments": call.arguments} for call in calls]


def write_stream(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:  # noqa: ARG001 # whole calls
    """Write the same dicts: a format that nobody knows has no deltas."""
    return write_calls(calls)
