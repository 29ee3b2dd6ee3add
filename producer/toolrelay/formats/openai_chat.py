"""OpenAI Chat Completions, and the many servers that speak it with an accent.

Met in the wild and read here: arguments as an object (Ollama), no ``id`` and no ``type`` (Ollama, old vLLM), the
deprecated ``function_call``, free-text ``custom`` calls, the flat ``{"name", "arguments"}``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolrelay.choices import ToolChoice
from toolrelay.formats import _choices
from toolrelay.formats._choices import Encode, WireChoice
from toolrelay.formats._deltas import Deltas
from toolrelay.formats._output import call_id, flagless_text, wire_name
from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import FoundCall, Wire, cut_off, pick, word
from toolrelay.formats._stream import Drafts, StreamFault, fault_of
from toolrelay.formats._tools import ExportedTool, ExportOptions, ImportedTool, described, exported, free_text, imported
from toolrelay.formats._written import Cut, WrittenCall
from toolrelay.models import CallKind, NormalizedToolResult, ToolSpec
from toolrelay.names import Alphabet
from toolrelay.schemas.export import to_openai

#: the model was stopped by a limit or a filter: what it wrote last may not be whole
CUT_OFF: Final = frozenset({"length", "max_tokens", "model_length", "content_filter"})
_LEGACY: Final = "legacy_function_call"
_FUNCTION: Final = CallKind.FUNCTION  # a name of the module is found sooner than a member of an enum
#: nobody asks for more alternatives; a stream that goes on numbering them is broken or malicious
MAX_CHOICES: Final = 1000


def find_call(payload: Wire) -> FoundCall:
    """Read a function call, a custom call or the flat shape."""
    function = payload.get("function")
    if type(function) is not dict or "custom" in payload:
        return _find_odd(payload)
    identity = payload.get("id")
    if identity is None:
        identity = payload.get("call_id")
    return FoundCall(function.get("name"), function.get("arguments"), identity, _FUNCTION, {}, payload)


def _find_odd(payload: Wire) -> FoundCall:
    identity = pick(payload, "id", "call_id")
    custom = as_dict(payload.get("custom"))
    if custom is not None:
        return FoundCall(custom.get("name"), custom.get("input"), identity, CallKind.CUSTOM, raw=payload)
    function = as_dict(payload.get("function"))
    if function is None:
        function = payload
    return FoundCall(function.get("name"), function.get("arguments"), identity, raw=payload)


def find_calls(message: Wire) -> list[FoundCall]:
    """Read the calls of a completion, a choice, a message, or a single call."""
    choices = message.get("choices")
    if choices is None:
        return _in_choice(message)
    listed = as_list(choices)
    if len(listed) == 1:
        choice = as_dict(listed[0])
        return [] if choice is None else _in_choice(choice)
    found: list[FoundCall] = []
    for position, choice in enumerate(map(as_dict, listed)):
        if choice is not None:
            calls = _in_choice(choice)
            _number(calls, choice.get("index", position))
            found += calls
    return found


def _number(calls: list[FoundCall], index: Any) -> None:
    for call in calls:
        call.metadata["choice"] = index


def _in_choice(choice: Wire) -> list[FoundCall]:
    message = as_dict(choice.get("message"))
    calls = _in_message(choice if message is None else message)
    reason = choice.get("finish_reason")
    if type(reason) is not str:
        reason = word(choice, "finish_reason", "done_reason")
    if reason in CUT_OFF:
        cut_off(calls, f"the call is truncated: the model was stopped ({reason}) while it wrote it")
    return calls


def _in_message(message: Wire) -> list[FoundCall]:
    listed = as_list(message.get("tool_calls"))
    calls = [find_call(item) if type(item) is dict else _in_list(item) for item in listed]
    if calls:
        return calls
    legacy = as_dict(message.get("function_call"))
    if legacy is not None:
        return [FoundCall(legacy.get("name"), legacy.get("arguments"), metadata={_LEGACY: True}, raw=legacy)]
    if "function" in message or "custom" in message or "name" in message or "arguments" in message:
        return _alone(message)
    return []


def _in_list(item: Any) -> FoundCall:
    payload = as_dict(item)
    return FoundCall(None, raw=item) if payload is None else find_call(payload)


def _alone(payload: Wire) -> list[FoundCall]:
    if "role" in payload:  # a message may have a "name": its author's
        return []
    return [find_call(payload)]


class Stream:
    """Completion chunks, and the whole messages that Ollama's own stream is made of."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._choices: dict[int, Deltas] = {}

    def feed(self, event: Wire) -> None:
        """Read one chunk; usage, filters and the like come in chunks without choices."""
        if self._drafts.model is None:
            self._drafts.model = event.get("model")
        choices = event.get("choices")
        if choices:
            for item in as_list(choices):
                choice = as_dict(item)
                if choice is not None:
                    self._choice(choice)
        elif event.get("error"):
            self._drafts.fail(fault_of(event, as_dict(event["error"])))
        elif "message" in event:
            self._native(event)

    def _choice(self, choice: Wire) -> None:
        delta = as_dict(choice.get("delta"))
        if delta is None and choice.get("message") is not None:  # a server that does not stream
            self._drafts.take(choice, _in_choice)
            return
        deltas = self._deltas_of(choice.get("index"))
        if delta is not None:
            self._delta(deltas, delta)
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str):
            deltas.settle(reason if reason in CUT_OFF else None)
            self._drafts.is_ended = True

    def _deltas_of(self, index: Any) -> Deltas:
        key = index if isinstance(index, int) else 0
        deltas = self._choices.get(key)
        if deltas is None:
            if len(self._choices) >= MAX_CHOICES:
                raise StreamFault(f"the stream has more than {MAX_CHOICES} choices")
            deltas = self._choices[key] = Deltas(self._drafts)
            if len(self._choices) > 1:
                for number, known in self._choices.items():
                    known.number(number)
        return deltas

    def _delta(self, deltas: Deltas, delta: Wire) -> None:
        calls = delta.get("tool_calls")
        if not calls:
            legacy = as_dict(delta.get("function_call"))
            if legacy is not None:
                draft = deltas.add(None, None, legacy.get("name"), legacy.get("arguments"))
                draft.call.metadata[_LEGACY] = True
            return
        for item in as_list(calls):
            entry = as_dict(item) or {}
            custom = as_dict(entry.get("custom"))
            if custom is not None or entry.get("type") == "custom":
                custom = custom or {}
                deltas.add(
                    entry.get("index"), entry.get("id"), custom.get("name"), custom.get("input"), CallKind.CUSTOM
                )
                continue
            function = as_dict(entry.get("function"))
            if function is None:
                function = entry
            deltas.add(entry.get("index"), entry.get("id"), function.get("name"), function.get("arguments"))

    def _native(self, event: Wire) -> None:
        calls = _in_choice(event)
        for call in calls:
            self._drafts.whole(call)
        if word(event, "done_reason") in CUT_OFF and not calls:
            self._drafts.cut_off_last("the call is truncated: the model was stopped while it wrote it")
        self._drafts.is_ended = bool(event.get("done", True))

    def close(self) -> None:
        """The connection is gone: what is not whole never will be."""
        self._drafts.seal_rest()


def open_stream(drafts: Drafts) -> Stream:
    """Read a stream of completion chunks."""
    return Stream(drafts)


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one ``role: tool`` message a result; the API has text there and no error flag."""
    return [_message(result) for result in results]


def _message(result: NormalizedToolResult) -> Wire:
    if result.provider_metadata.get(_LEGACY):
        return {"role": "function", "name": wire_name(result), "content": flagless_text(result)}
    return {"role": "tool", "tool_call_id": call_id(result), "content": flagless_text(result)}


TOOL_NAMES: Final = Alphabet("a-zA-Z0-9_-", 64)
HAS_PARALLEL: Final = True
_READ: Final = frozenset({"parameters"})


def export_tool(spec: ToolSpec, name: str, options: ExportOptions) -> ExportedTool:
    """Write a function tool; ``strict`` is written where it was asked for, ``false`` where the schema cannot be."""
    schema = to_openai(spec.input_schema, strict=options.strict)
    function: Wire = {"name": name, **described(spec, options), "parameters": schema.schema}
    if options.strict:
        function["strict"] = schema.form == "strict"
    tool = {"type": "function", "function": function}
    return exported(tool, spec, schema, options, title="OpenAI Chat", no_strict=None)


def import_tool(tool: Wire, where: str) -> list[ImportedTool]:
    """Read a function, nested, flat or of the old ``functions``, or a custom tool; other kinds give nothing."""
    custom = as_dict(tool.get("custom"))
    if custom is not None:
        return [free_text(custom, where)]
    if tool.get("type", "function") != "function":
        return []
    function = as_dict(tool.get("function")) or tool
    return [imported(function, where, function.get("parameters"), read=_READ)]


def export_choice(choice: ToolChoice, encode: Encode) -> WireChoice:
    """Write ``tool_choice``."""
    return _choices.write_openai(choice, encode, is_flat=False)


def import_choice(value: Any) -> ToolChoice | None:
    """Read ``tool_choice``, or the deprecated ``function_call``."""
    return _choices.read_openai(value)


def request_fields(tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:
    """Give the request's fields; the flag is refused where there are no tools."""
    fields: Wire = {"tools": tools}
    if choice is not None:
        fields["tool_choice"] = choice
    return fields if parallel is None else {**fields, "parallel_tool_calls": parallel}


def write_calls(calls: Sequence[WrittenCall]) -> list[Wire]:
    """Write one assistant message."""
    if len(calls) == 1 and calls[0].echo(_LEGACY):
        function = {"name": calls[0].name, "arguments": calls[0].text}
        return [{"role": "assistant", "content": None, "function_call": function}]
    return [{"role": "assistant", "content": None, "tool_calls": [_entry(call) for call in calls]}] if calls else []


def _entry(call: WrittenCall) -> Wire:
    if call.is_custom:
        return {"id": call.call_id, "type": "custom", "custom": {"name": call.name, "input": call.free_text}}
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": call.text}}


def write_stream(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:
    """Write completion chunks: id, type and name with a call's first, then its arguments, then the finish reason."""
    deltas: list[Wire] = []
    for index, call in enumerate(calls):
        kind, key = ("custom", "input") if call.is_custom else ("function", "arguments")
        first = {"index": index, "id": call.call_id, "type": kind, kind: {"name": call.name, key: ""}}
        deltas.append({"tool_calls": [first]})
        text = call.free_text if call.is_custom else call.text
        deltas += [{"tool_calls": [{"index": index, kind: {key: piece}}]} for piece in cut(text)]
    if deltas:
        deltas[0] = {"role": "assistant", "content": None, **deltas[0]}
    last = _chunk({}, head, "tool_calls" if calls else "stop")
    return [*(_chunk(delta, head, None) for delta in deltas), last]


def _chunk(delta: Wire, head: Wire, reason: str | None) -> Wire:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"object": "chat.completion.chunk", **head, "choices": [choice]}
