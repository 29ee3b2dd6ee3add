"""Gemini generateContent and Live: ``functionCall`` parts. ``toolCall`` and ``executableCode`` parts run at Google's.

The wire is camelCase, the SDK's objects are snake_case: both are read. A call may have no id; then its answer has none,
and Gemini pairs the two by name and order.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

from toolrelay.choices import ChoiceMode, ToolChoice
from toolrelay.formats._gemini_stream import (
    CUT_OFF,
    FINISHED,
    WORDS,
    Stream,
    assembled,
    block_reason,
    cancelled_in,
    is_in_pieces,
    live_reason,
)
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
from toolrelay.formats.shared.choices import Encode, WireChoice, inside_of, read_word, text
from toolrelay.formats.shared.content import Media, Text
from toolrelay.formats.shared.finish import FinishKind, FoundFinish, why_cut, why_void
from toolrelay.formats.shared.flat import is_flat_call
from toolrelay.formats.shared.ids import ANY_IDS
from toolrelay.formats.shared.output import error_text, shown_blocks, value_of, wire_name
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.shared.results import FoundResult, found_result, picture, results_in_blocks
from toolrelay.formats.shared.served import ServerCall
from toolrelay.formats.shared.text import as_text
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
from toolrelay.formats.streams.drafts import Drafts
from toolrelay.models import NormalizedToolResult, ToolSpec
from toolrelay.names import Alphabet
from toolrelay.outputs import lenient_text
from toolrelay.schemas.export import to_gemini
from toolrelay.schemas.gemini import from_gemini

_SIGNATURE: Final = "thought_signature"
CALL_IDS: Final = ANY_IDS
PLACES: Final = Places(holders=("candidates", "content", "parts"), texts=("text",), turns=("contents",))
FINISH_WORDS: Final = WORDS


def find_call(payload: Wire) -> FoundCall | None:
    """Read a ``functionCall`` part, its inside, or the flat ``{"name", "args"}``."""
    return next(iter(assembled([payload], _whole)), None) if is_in_pieces(payload) else _whole(payload)


def _whole(payload: Wire) -> FoundCall | None:
    call = as_dict(pick(payload, "functionCall", "function_call")) or payload
    metadata: dict[str, Any] = {}
    signature = pick(payload, "thoughtSignature", _SIGNATURE)
    if signature is not None:
        metadata[_SIGNATURE] = _base64(signature)
    return FoundCall(call.get("name"), call.get("args"), call.get("id"), metadata=metadata, raw=payload)


def _base64(signature: Any) -> Any:
    # the SDK decodes it; on the wire, and for the way back, it is text
    return base64.b64encode(signature).decode() if isinstance(signature, bytes) else signature


def find_calls(message: Wire) -> list[FoundCall]:
    """Read a response, a candidate, a content, a Live message, or a single part."""
    candidates = message.get("candidates")
    if candidates is None:
        return _in_live(message) if _live_calls(message) else _in_candidate(message)
    found: list[FoundCall] = []
    several = len(as_list(candidates)) > 1
    for position, candidate in enumerate(map(as_dict, as_list(candidates))):
        if candidate is None:
            continue
        calls = _in_candidate(candidate)
        index = candidate.get("index")
        if several:
            for call in calls:
                call.metadata["choice"] = position if index is None else index
        found += calls
    return found


def _live_calls(message: Wire) -> list[Any]:
    tool_call = as_dict(pick(message, "toolCall", "tool_call")) or message
    return as_list(pick(tool_call, "functionCalls", "function_calls"))


def _in_live(message: Wire) -> list[FoundCall]:
    return _in_parts([as_dict(item) or {} for item in _live_calls(message)])


def _in_candidate(candidate: Wire) -> list[FoundCall]:
    content = as_dict(candidate.get("content")) or candidate
    parts = [content] if "parts" not in content else [as_dict(part) or {} for part in as_list(content["parts"])]
    calls = _in_parts([part for part in parts if _is_call(part)])
    reason = word(candidate, "finishReason", "finish_reason")
    if reason in CUT_OFF:
        cut_off(calls, why_cut(reason))
    elif reason is not None and reason not in FINISHED:
        refuse_all(calls, why_void("finishReason", reason))
    return calls


def _in_parts(parts: list[Wire]) -> list[FoundCall]:
    if any(map(is_in_pieces, parts)):
        return assembled(parts, _whole)
    return [call for part in parts if (call := _whole(part)) is not None]


def _is_call(part: Wire) -> bool:
    return pick(part, "functionCall", "function_call") is not None or is_flat_call(part, "args")


def find_results(message: Wire) -> list[FoundResult]:
    """Read the ``functionResponse`` parts of a content, a single one, or a Live client's ``toolResponse``."""
    live = as_dict(pick(message, "toolResponse", "tool_response"))
    if live is None:
        return results_in_blocks(as_dict(message.get("content")) or message, "parts", _result)
    responses = map(as_dict, as_list(pick(live, "functionResponses", "function_responses")))
    return [_response_of(response) for response in responses if response is not None]


def _result(part: Wire) -> FoundResult | None:
    response = as_dict(pick(part, "functionResponse", "function_response"))
    return None if response is None else _response_of(response)


def _response_of(response: Wire) -> FoundResult:
    body = as_dict(response.get("response")) or {}
    identity, name = response.get("id"), response.get("name")
    if body.get("error") is not None:
        return found_result(identity, name, body["error"], fails=True)
    said = {key: value for key, value in body.items() if key != "error"}
    output = next((said[key] for key in ("output", "result") if key in said and len(said) == 1), said)
    pictures = _pictures(response)
    if pictures:
        told = [] if output in ("", {}) else [{"type": "text", "text": lenient_text(output)}]
        output = [*told, *pictures]
    return found_result(identity, name, output, fails=False)


def _pictures(response: Wire) -> list[Wire]:
    parts = [part for item in as_list(response.get("parts")) if (part := as_dict(item))]
    inline = [as_dict(pick(part, "inlineData", "inline_data")) for part in parts]
    return [picture(one.get("data"), pick(one, "mimeType", "mime_type")) for one in inline if one is not None]


def find_cancelled(message: Wire) -> list[Any]:
    """Read a Live session's ``toolCallCancellation``."""
    return cancelled_in(message) or []


def find_server_call(block: Wire) -> ServerCall | None:
    """Read ``toolCall`` and ``executableCode`` parts; a Live message's ``toolCall`` names no type."""
    call = as_dict(pick(block, "toolCall", "tool_call"))
    name = None if call is None else as_text(pick(call, "toolType", "tool_type"))
    if call is not None and name is not None:
        return ServerCall("toolCall", name, as_text(call.get("id")), None)
    code = as_dict(pick(block, "executableCode", "executable_code"))
    return None if code is None else ServerCall("executableCode", "code_execution", as_text(code.get("id")), None)


def find_finish(message: Wire) -> FoundFinish | None:
    """Read the finish reason of a response's first candidate, or of a candidate; or why the prompt was refused."""
    blocked = block_reason(message)
    if blocked is not None:
        return FoundFinish(blocked, FinishKind.CONTENT_FILTER)
    live = live_reason(message)
    if live is not None:
        return FoundFinish(live)
    candidates = (candidate for item in as_list(message.get("candidates")) if (candidate := as_dict(item)))
    reason = word(next(candidates, message), "finishReason", "finish_reason")
    return None if reason is None else FoundFinish(reason)


def open_stream(drafts: Drafts) -> Stream:
    """Read a stream of responses, or the messages of a Live session."""
    return Stream(drafts, _whole, _live_calls)


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one user content that holds every ``functionResponse``: as many as there were calls, in their order."""
    return [{"role": "user", "parts": [_part(result) for result in results]}] if results else []


def _part(result: NormalizedToolResult) -> Wire:
    response: Wire = {"name": wire_name(result), "response": _response(result)}
    if result.provider_call_id is not None:
        response["id"] = result.provider_call_id
    pictures = [block for block in shown_blocks(result) if isinstance(block, Media)]
    if pictures:
        texts = [block.text for block in shown_blocks(result) if isinstance(block, Text)]
        response["response"] = {"output": "\n".join(texts)}
        response["parts"] = [{"inlineData": {"mimeType": one.media_type, "data": one.data}} for one in pictures]
    return {"functionResponse": response}


def _response(result: NormalizedToolResult) -> Wire:
    """Give the object that Gemini wants; ``output`` and ``error`` in it have a meaning, else all of it is output.

    Others write ``result`` for ``output``: an object that is this alone would be read as what is in it.
    """
    if not result.success:
        return {"error": error_text(result)}
    output = value_of(result)
    is_plain = isinstance(output, dict) and output.keys().isdisjoint({"output", "error"})
    return output if is_plain and output.keys() != {"result"} else {"output": output}


TOOL_NAMES: Final = Alphabet("a-zA-Z0-9_.:-", 128, first="a-zA-Z_")
TRAITS: Final = Traits(
    has_parallel=False,
    can_forbid_tools=True,
    forces_while_thinking=True,
    has_results_beside_calls=False,
    is_strict_by_request=True,
    result_names=ResultNames.REQUIRED,
)
_NO_STRICT: Final = "is strict by the request: build_request asks for its mode VALIDATED"
#: what holds the functions in an entry of the tools, as the wire has it and as the SDK does
DECLARATIONS: Final = ("functionDeclarations", "function_declarations")
_READ: Final = frozenset(
    {
        *("parameters", "parametersJsonSchema", "parameters_json_schema"),
        *("response", "responseJsonSchema", "response_json_schema"),
    }
)


def export_tool(spec: ToolSpec, name: str, options: ExportOptions) -> ExportedTool:
    """Write a function declaration; one without parameters has no schema, for an empty object is refused."""
    schema = to_gemini(spec.input_schema, upper_case_types=options.upper_case_types)
    declaration: Wire = {"name": name, **described(spec, options)}
    if schema.form == "json_schema":
        declaration["parametersJsonSchema"] = schema.schema
    elif schema.schema.get("properties"):
        declaration["parameters"] = schema.schema
    if spec.output_schema is not None:
        declaration["responseJsonSchema"] = spec.output_schema
    return exported(declaration, spec, schema, options, title="Gemini", has_output=True, no_strict=_NO_STRICT)


def import_tool(tool: Wire, where: str) -> list[ImportedTool]:
    """Read the declarations of a tool, or a single one; Google's own tools give nothing."""
    declarations = pick(tool, *DECLARATIONS)
    if declarations is None:
        return [_declaration(tool, where)] if "name" in tool else []
    listed = [as_dict(entry) or {} for entry in as_list(declarations)]
    return [_declaration(entry, f"{where}.functionDeclarations[{index}]") for index, entry in enumerate(listed)]


def _declaration(declaration: Wire, where: str) -> ImportedTool:
    schema = pick(declaration, "parametersJsonSchema", "parameters_json_schema")
    if schema is None:
        schema = from_gemini(schema_of(declaration.get("parameters"), where))
    output = pick(declaration, "responseJsonSchema", "response_json_schema")
    if output is None:
        output = from_gemini(schema_of(declaration.get("response"), where))
    return imported(declaration, where, schema, read=_READ, output=output)


def export_choice(choice: ToolChoice, encode: Encode) -> WireChoice:
    """Write ``toolConfig``. Names beside ``AUTO`` are refused, so a subset that need not be called is ``VALIDATED``."""
    mode = choice.mode.value.upper()
    if choice.mode is ChoiceMode.AUTO and (choice.tools or choice.strict):
        mode = "VALIDATED"
    config: Wire = {"mode": mode}
    if choice.tools:
        config["allowedFunctionNames"] = [encode(name) for name in choice.tools]
    return WireChoice({"functionCallingConfig": config})


def import_choice(value: Any) -> ToolChoice | None:
    """Read ``toolConfig``, or a ``functionCallingConfig``."""
    if isinstance(value, str):
        return read_word(value)
    config = inside_of(value, "toolConfig|tool_config", "functionCallingConfig|function_calling_config") or {}
    spelled = text(config.get("mode"))
    mode = {"AUTO": ChoiceMode.AUTO, "VALIDATED": ChoiceMode.AUTO, "ANY": ChoiceMode.ANY, "NONE": ChoiceMode.NONE}.get(
        spelled or ""
    )
    if mode is None:
        return None
    allowed = as_list(pick(config, "allowedFunctionNames", "allowed_function_names"))
    names = tuple(name for name in allowed if text(name)) if mode is not ChoiceMode.NONE else ()
    return ToolChoice(mode, names, strict=spelled == "VALIDATED")


def request_fields(tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:  # noqa: ARG001 # has no such switch
    """Give the request's fields: all declarations are one tool."""
    fields: Wire = {"tools": _grouped(tools)}
    return fields if choice is None else {**fields, "toolConfig": choice}


def read_request(body: Wire) -> WireRequest:
    """Read ``tools`` and ``toolConfig``, or the SDK's ``config`` that holds them."""
    fields = as_dict(body.get("config")) or body
    return WireRequest(fields.get("tools"), pick(fields, "toolConfig", "tool_config"))


def _grouped(tools: list[Wire]) -> list[Wire]:
    """Put declarations into the one tool that holds them, beside tools of other kinds."""
    declarations = [tool for tool in tools if "name" in tool]
    others = [tool for tool in tools if "name" not in tool]
    return [{"functionDeclarations": declarations}, *others] if declarations else others


def write_calls(calls: Sequence[WrittenCall]) -> list[Wire]:
    """Write one content of the model: one step, its calls together, each signature on the part that came with it."""
    return [{"role": "model", "parts": [_call_part(call) for call in calls]}] if calls else []


def _call_part(call: WrittenCall) -> Wire:
    function: Wire = {"name": call.name, "args": call.arguments}
    if call.has_id:  # an id that Gemini never sent has no meaning there
        function["id"] = call.call_id
    signature = call.echo(_SIGNATURE)
    part: Wire = {"functionCall": function}
    return part if signature is None else {**part, "thoughtSignature": signature}


def write_stream(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:  # noqa: ARG001 # whole calls
    """Write a chunk a call: outside of Vertex, Gemini does not cut calls."""
    parts = [_call_part(call) for call in calls]
    chunks = [{"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]} for part in parts]
    last = {"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}
    around = {"responseId": head.get("id"), "modelVersion": head.get("model")}
    known = {key: value for key, value in around.items() if value is not None}
    return [{**chunk, **known} for chunk in [*chunks, {"candidates": [last]}]]
