"""OpenAI Chat Completions, and the many servers that speak it with an accent.

Met in the wild and read here: arguments as an object (Ollama), no ``id`` and no ``type`` (Ollama, old vLLM), the
deprecated ``function_call``, free-text ``custom`` calls, the flat ``{"name", "arguments"}``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolrelay.choices import ToolChoice
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
from toolrelay.formats.shared.finish import FinishKind, FinishWords, FoundFinish, why_cut, why_void, words_of
from toolrelay.formats.shared.flat import ARGUMENT_KEYS, is_definition, is_flat_call
from toolrelay.formats.shared.ids import ANY_IDS
from toolrelay.formats.shared.output import call_id, flagless_text, wire_name
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.shared.results import FoundResult, found_result
from toolrelay.formats.shared.served import ServerCall
from toolrelay.formats.shared.tools import (
    ExportedTool,
    ExportOptions,
    ImportedTool,
    described,
    exported,
    free_text,
    imported,
)
from toolrelay.formats.shared.written import Cut, WrittenCall
from toolrelay.formats.streams.deltas import Deltas
from toolrelay.formats.streams.drafts import Drafts, StreamFault, fault_of
from toolrelay.models import CallKind, NormalizedToolResult, ProblemKind, ToolSpec
from toolrelay.names import Alphabet
from toolrelay.schemas.export import to_openai

FINISH_WORDS: Final[FinishWords] = {
    FinishKind.STOP: ("stop",),
    FinishKind.TOOL_CALLS: ("tool_calls", "function_call"),
    FinishKind.LENGTH: ("length", "max_tokens", "model_length"),
    FinishKind.CONTENT_FILTER: ("content_filter",),
    FinishKind.PAUSE: ("stop",),
    FinishKind.MALFORMED: ("stop", "function_call_filter"),
    FinishKind.ERROR: (
        *("stop", "error", "cancelled", "canceled", "abort", "aborted"),
        "insufficient_system_resource",
    ),
}
#: the model was stopped by a limit or a filter: what it wrote last may not be whole
#: https://platform.openai.com/docs/api-reference/chat/object#chat/object-choices (``model_length`` is Mistral's)
CUT_OFF: Final = words_of(FINISH_WORDS, FinishKind.LENGTH, FinishKind.CONTENT_FILTER)
#: the turn failed: nothing of it may run. ``error`` is said by OpenRouter and Mistral, ``insufficient_system_resource``
#: by DeepSeek, ``abort`` by vLLM and SGLang, ``function_call_filter`` by Gemini's service in OpenAI's form
#: https://openrouter.ai/docs/api-reference/errors, https://docs.mistral.ai/api,
#: https://api-docs.deepseek.com/api/create-chat-completion
DISOWNED: Final = frozenset(
    {"error", "insufficient_system_resource", "abort", "aborted", "cancelled", "canceled", "function_call_filter"}
)
_USUAL: Final = ("tool_calls", "stop")
_LEGACY: Final = "legacy_function_call"
#: what must go back with the call: Gemini's thought signatures, in ``google.thought_signature``
#: https://ai.google.dev/gemini-api/docs/thought-signatures
_EXTRA: Final = "extra_content"
CALL_IDS: Final = ANY_IDS
PLACES: Final = Places(
    holders=("choices", "message", "delta", "content"),
    texts=("content", "text", "thinking", "reasoning", "reasoning_content", "refusal"),
    turns=("messages",),
)
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
    found = FoundCall(function.get("name"), function.get("arguments"), identity, _FUNCTION, {}, payload)
    if found.arguments is None:
        _look_elsewhere(found, function)
    if _EXTRA in payload:
        _keep_extra(found, payload)
    return found


def _find_odd(payload: Wire) -> FoundCall:
    identity = pick(payload, "id", "call_id")
    custom = as_dict(payload.get("custom"))
    if custom is not None:
        found = FoundCall(custom.get("name"), custom.get("input"), identity, CallKind.CUSTOM, raw=payload)
    else:
        function = as_dict(payload.get("function"))
        if function is None:
            function = payload
        found = FoundCall(function.get("name"), function.get("arguments"), identity, raw=payload)
        if found.arguments is None:
            _look_elsewhere(found, function)
    _keep_extra(found, payload)
    return found


def _look_elsewhere(found: FoundCall, function: Wire) -> None:
    """Take arguments from where other providers have them; a tool's definition has its schema there."""
    found.arguments = _elsewhere(function)
    schema = as_dict(found.arguments)
    if schema is not None and schema.get("type") == "object" and "parameters" in function:
        found.refuse("this is the definition of a tool, no call of it", ProblemKind.INVALID_PAYLOAD)


def _elsewhere(function: Wire) -> Any:
    return pick(function, "parameters", "input", "args")


def _keep_extra(found: FoundCall, payload: Wire) -> None:
    extra = payload.get(_EXTRA)
    if extra:
        found.metadata[_EXTRA] = extra


def find_calls(message: Wire) -> list[FoundCall]:
    """Read the calls of a completion, a choice, a message, or a single call."""
    choices = message.get("choices")
    if choices is None:
        return _in_choice(message)
    listed = choices if type(choices) is list else as_list(choices)
    if len(listed) == 1:
        choice = listed[0] if type(listed[0]) is dict else as_dict(listed[0])
        found = [] if choice is None else _in_choice(choice)
    else:
        found = _in_choices(listed)
    error = message.get("error")
    if error:
        refuse_all(found, fault_of(message, as_dict(error)))
    return found


def _in_choices(listed: list[Any]) -> list[FoundCall]:
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
    message = choice.get("message")
    if type(message) is not dict:
        message = as_dict(message)
    calls = _in_message(choice if message is None else message)
    reason = choice.get("finish_reason")
    if reason not in _USUAL:
        judge(calls, word(choice, "finish_reason", "done_reason"))
    if choice.get("error"):
        refuse_all(calls, fault_of(choice, as_dict(choice["error"])))
    return calls


def judge(calls: list[FoundCall], reason: str | None) -> None:
    """Refuse the calls of a choice that the end of its turn forbids to run."""
    void, cut = void_by(reason), cut_by(reason)
    if void is not None:
        refuse_all(calls, void)
    elif cut is not None:
        cut_off(calls, cut)


def cut_by(reason: str | None) -> str | None:
    """Say why what was written last may not be whole; ``None`` if it is."""
    is_cut = reason is not None and _bare(reason) in CUT_OFF
    return why_cut(reason) if is_cut else None


def void_by(reason: str | None) -> str | None:
    """Say why nothing of the turn may run; ``None`` if it may."""
    is_void = reason is not None and _bare(reason) in DISOWNED
    return why_void("finish_reason", reason) if is_void else None


def _bare(reason: str) -> str:
    return reason.partition(":")[0]  # "content_filter: PROHIBITED_CONTENT", as Gemini says it


def _in_message(message: Wire) -> list[FoundCall]:
    listed = message.get("tool_calls")
    if type(listed) is not list:
        listed = entries_of(listed)
    calls = [find_call(item) if type(item) is dict else _in_list(item) for item in listed]
    if calls:
        return calls
    legacy = as_dict(message.get("function_call"))
    if legacy is not None:
        return [FoundCall(legacy.get("name"), legacy.get("arguments"), metadata={_LEGACY: True}, raw=legacy)]
    return [find_call(message)] if _is_call(message) else []


def entries_of(calls: Any) -> list[Any]:
    """Give the entries of ``tool_calls``; some servers write one without a list, or number them by keys."""
    if calls is None or isinstance(calls, (list, tuple)):
        return as_list(calls)
    single = as_dict(calls) or {}
    is_one = any(key in single for key in ("function", "custom", "name", "arguments", "id"))
    return [single] if is_one else list(single.values())


def _in_list(item: Any) -> FoundCall:
    payload = as_dict(item)
    return FoundCall(None, raw=item) if payload is None else find_call(payload)


def _is_call(payload: Wire) -> bool:
    """Whether this is a call outside of a message; messages and definitions have names, too."""
    if "role" in payload:
        return False
    function = as_dict(payload.get("function"))
    if function is not None:
        return not is_definition(function)
    custom = as_dict(payload.get("custom"))
    return is_flat_call(payload, *ARGUMENT_KEYS) if custom is None else "input" in custom


def find_results(message: Wire) -> list[FoundResult]:
    """Read a ``role: tool`` message, the deprecated ``role: function``, or Ollama's with ``tool_name``."""
    role = message.get("role")
    if role not in ("tool", "function") or message.get("type") == "tool":
        return []
    identity, name = message.get("tool_call_id"), pick(message, "name", "tool_name")
    metadata = {_LEGACY: True} if role == "function" else {}
    return [found_result(identity, name, message.get("content"), fails=False, is_marked=True, metadata=metadata)]


def find_cancelled(message: Wire) -> list[Any]:  # noqa: ARG001 # what was said stands
    """Find none."""
    return []


def find_server_call(block: Wire) -> ServerCall | None:  # noqa: ARG001 # Chat's servers run nothing
    """Find none."""
    return None


def find_finish(message: Wire) -> FoundFinish | None:
    """Read the finish reason of a completion's first choice, of a choice, or of Ollama's message."""
    choices = (choice for item in as_list(message.get("choices")) if (choice := as_dict(item)))
    reason = word(next(choices, message), "finish_reason", "done_reason")
    return None if reason is None else FoundFinish(reason)


def _inside(entry: Wire) -> tuple[CallKind, Wire]:
    """Give what an entry's call is, and where its name and arguments stand."""
    custom = as_dict(entry.get("custom"))
    if custom is not None or entry.get("type") == "custom":
        return CallKind.CUSTOM, custom or {}
    function = as_dict(entry.get("function"))
    return _FUNCTION, entry if function is None else function


class Stream:
    """Completion chunks, and the whole messages that Ollama's own stream is made of."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._choices: dict[int, Deltas] = {}

    def feed(self, event: Wire) -> None:
        """Read one chunk; usage, filters and the like come in chunks without choices."""
        if self._drafts.model is None:
            self._drafts.model = event.get("model")
        if event.get("error"):  # OpenRouter sends one with a choice
            self._drafts.fail(fault_of(event, as_dict(event["error"])))
            return
        choices = event.get("choices")
        if choices:
            for item in as_list(choices):
                choice = item if type(item) is dict else as_dict(item)
                if choice is not None:
                    self._choice(choice)
        elif "message" in event:
            self._native(event)

    def _choice(self, choice: Wire) -> None:
        delta = choice.get("delta")
        if type(delta) is not dict:
            delta = as_dict(delta)
        reason = choice.get("finish_reason")
        if reason is not None:
            reason = word(choice, "finish_reason")
        if not delta and (reason or delta is None) and choice.get("message") is not None:
            self._drafts.take(choice, _in_choice)  # a server that does not stream
            return
        deltas = self._deltas_of(choice.get("index"))
        if delta:
            self._delta(deltas, delta)
        if choice.get("error"):
            self._drafts.fail(fault_of(choice, as_dict(choice["error"])))
        elif reason:
            void = void_by(reason)
            if void is None:
                deltas.settle(cut_by(reason))
            else:
                deltas.refuse(void)
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
        if deltas.touched:
            deltas.touched.clear()
        calls = delta.get("tool_calls")
        if not calls:
            legacy = as_dict(delta.get("function_call"))
            if legacy is not None:
                draft = deltas.add(None, None, legacy.get("name"), legacy.get("arguments"))
                draft.call.metadata[_LEGACY] = True
            return
        for item in calls if type(calls) is list else entries_of(calls):
            entry = item if type(item) is dict else as_dict(item) or {}
            kind, function = _FUNCTION, entry.get("function")
            if type(function) is not dict:
                kind, function = _inside(entry)
            key = "arguments" if kind is _FUNCTION else "input"
            arguments = function.get(key)
            if arguments is None:
                arguments = _elsewhere(function)
            draft = deltas.add(entry.get("index"), entry.get("id"), function.get("name"), arguments, kind)
            if _EXTRA in entry:
                _keep_extra(draft.call, entry)

    def _native(self, event: Wire) -> None:
        calls = _in_choice(event)
        for call in calls:
            self._drafts.whole(call)
        reason = word(event, "done_reason")
        void, cut = void_by(reason), cut_by(reason)
        if void is not None:
            self._drafts.refuse_all(void)
        elif cut is not None and not calls:
            self._drafts.cut_off_last(cut)
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
TRAITS: Final = Traits(
    has_parallel=True,
    can_forbid_tools=True,
    forces_while_thinking=True,
    has_results_beside_calls=False,
    is_strict_by_request=False,
    result_names=ResultNames.NONE,
)
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
    return wire_choices.write_openai(choice, encode, is_flat=False)


def import_choice(value: Any) -> ToolChoice | None:
    """Read ``tool_choice``, or the deprecated ``function_call``."""
    return wire_choices.read_openai(value)


def request_fields(tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:
    """Give the request's fields; the flag is refused where there are no tools."""
    fields: Wire = {"tools": tools}
    if choice is not None:
        fields["tool_choice"] = choice
    return fields if parallel is None else {**fields, "parallel_tool_calls": parallel}


def read_request(body: Wire) -> WireRequest:
    """Read the request's fields; without ``tools`` the deprecated ``functions`` and ``function_call`` count."""
    parallel = body.get("parallel_tool_calls")
    tools, choice = body.get("tools"), body.get("tool_choice")
    if tools is None:
        tools, choice = body.get("functions"), pick(body, "tool_choice", "function_call")
    return WireRequest(tools, choice, parallel if isinstance(parallel, bool) else None)


def write_calls(calls: Sequence[WrittenCall]) -> list[Wire]:
    """Write one assistant message."""
    if len(calls) == 1 and calls[0].echo(_LEGACY):
        function = {"name": calls[0].name, "arguments": calls[0].text}
        return [{"role": "assistant", "content": None, "function_call": function}]
    return [{"role": "assistant", "content": None, "tool_calls": [_entry(call) for call in calls]}] if calls else []


def _entry(call: WrittenCall) -> Wire:
    if call.is_custom:
        said: Wire = {"type": "custom", "custom": {"name": call.name, "input": call.free_text}}
    else:
        said = {"type": "function", "function": {"name": call.name, "arguments": call.text}}
    return {"id": call.call_id, **said, **_extra_of(call)}


def _extra_of(call: WrittenCall) -> Wire:
    extra = call.echo(_EXTRA)
    return {} if extra is None else {_EXTRA: extra}


def write_stream(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:
    """Write completion chunks: id, type and name with a call's first, then its arguments, then the finish reason."""
    deltas: list[Wire] = []
    for index, call in enumerate(calls):
        kind, key = ("custom", "input") if call.is_custom else ("function", "arguments")
        first = {
            "index": index,
            "id": call.call_id,
            "type": kind,
            kind: {"name": call.name, key: ""},
            **_extra_of(call),
        }
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
