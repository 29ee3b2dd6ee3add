"""LangChain messages: ``tool_calls``, ``invalid_tool_calls`` and v1 content blocks.

One call stands in several places of a message: as a ``tool_calls`` entry, as a content block, and raw in
``additional_kwargs``. It is read from the first of these that has any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolrelay.choices import ToolChoice
from toolrelay.formats import (
    _gemini_stream,
    anthropic,
    bedrock,
    gemini_interactions,
    openai_chat,
    openai_responses,
)
from toolrelay.formats.arguments.reading import MAX_ARGUMENTS_BYTES
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
from toolrelay.formats.shared.choices import Encode, WireChoice
from toolrelay.formats.shared.content import Block, Text
from toolrelay.formats.shared.finish import FinishKind, FinishWords, FoundFinish, why_cut, why_void, words_of
from toolrelay.formats.shared.flat import is_flat_call
from toolrelay.formats.shared.ids import ANY_IDS
from toolrelay.formats.shared.output import call_id, shown_blocks, text_of, wire_name
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.shared.results import FoundResult, found_result, picture
from toolrelay.formats.shared.served import ServerCall, served
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
from toolrelay.formats.streams.deltas import Deltas
from toolrelay.formats.streams.drafts import Drafts
from toolrelay.models import NormalizedToolResult, ProblemKind, ToolSpec
from toolrelay.names import Alphabet
from toolrelay.schemas.export import to_openai

#: where a message's metadata has the provider's word, by LangChain's integrations: OpenAI, Mistral and Google;
#: Anthropic; Ollama; Bedrock Converse; OpenAI Responses
_REASONS: Final = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
#: the words of whatever models stand behind
_MODELS_WORDS: Final = (
    openai_chat.FINISH_WORDS,
    anthropic.FINISH_WORDS,
    bedrock.FINISH_WORDS,
    _gemini_stream.WORDS,
    openai_responses.FINISH_WORDS,
    gemini_interactions.FINISH_WORDS,
)
#: how providers say that the model was done; other words stand for themselves, and nothing is settled by them
_FINISHED: Final = frozenset[str]().union(
    *(words_of(words, FinishKind.STOP, FinishKind.TOOL_CALLS) for words in _MODELS_WORDS)
)
#: the provider's own format says why
_CUT_OFF: Final = (
    openai_chat.CUT_OFF | anthropic.CUT_OFF | bedrock.CUT_OFF | _gemini_stream.CUT_OFF | openai_responses.CUT_OFF
) | gemini_interactions.CUT_OFF
_DISOWNED: Final = (
    openai_chat.DISOWNED | anthropic.DISOWNED | bedrock.DISOWNED | _gemini_stream.DISOWNED | openai_responses.DISOWNED
) | gemini_interactions.DISOWNED
_PAUSED: Final = anthropic.PAUSED
_KNOWN: Final = _FINISHED | _CUT_OFF | _DISOWNED | _PAUSED
_INVALID: Final = "invalid_tool_call"
CALL_IDS: Final = ANY_IDS
PLACES: Final = Places(
    holders=("data", "kwargs", "content"),
    texts=("content", "text", "thinking", "reasoning"),
    turns=("messages",),
)
#: written as Chat's; what is read are the words of whatever model stands behind
FINISH_WORDS: Final[FinishWords] = openai_chat.FINISH_WORDS


def find_call(payload: Wire) -> FoundCall | None:
    """Read a ``tool_call``, an ``invalid_tool_call`` or the flat ``{"name", "args"}``; ``None`` for other blocks."""
    kind = payload.get("type", "tool_call")
    if kind not in ("tool_call", _INVALID):
        return None
    found = FoundCall(payload.get("name"), payload.get("args"), payload.get("id"), raw=payload)
    extras = payload.get("extras")
    if extras:
        found.metadata["extras"] = extras
    if kind == _INVALID:
        said = as_text(payload.get("error"))
        reason = f": {said[:200]}" if said else ""
        found.refuse(f"parse error: LangChain could not read the arguments{reason}", ProblemKind.INVALID_JSON)
    return found


def find_calls(message: Wire) -> list[FoundCall]:
    """Read an ``AIMessage`` in any of its forms (dumped, serialised), or a single call."""
    message = _unwrapped(message)
    if message.get("type") in ("tool_call", _INVALID) or ("args" in message and is_flat_call(message, "args")):
        alone = find_call(message)
        return [] if alone is None else [alone]
    reason = _reason_of(message)
    if reason in _PAUSED:
        return []
    if as_list(message.get("tool_call_chunks")):
        return _in_chunks(message)  # its tool_calls hold what LangChain made of text that may not be whole
    calls = _listed(message) or _in_blocks(message) or _raw(message)
    if reason in _DISOWNED:
        refuse_all(calls, why_void("reason", reason))
    elif reason in _CUT_OFF:
        cut_off(calls, why_cut(reason))
    return calls


def _reason_of(message: Wire) -> str | None:
    reason = word(as_dict(message.get("response_metadata")) or {}, *_REASONS)
    if reason is None or reason in _KNOWN:
        return reason
    bare = reason.partition(":")[0]
    once = bare[: (bare + bare).find(bare, 1)]  # chunks that are added up repeat the word: "STOPSTOP"
    return once if once in _KNOWN else reason


def _in_chunks(message: Wire) -> list[FoundCall]:
    """Read chunks that were added up: the text of their pieces counts."""
    drafts = Drafts(MAX_ARGUMENTS_BYTES, max_calls=len(message["tool_call_chunks"]) + 1)
    Stream(drafts).feed_chunk(message)
    drafts.seal_all()
    return [draft.call for draft in sorted(drafts.sealed, key=lambda draft: draft.place)]


def _unwrapped(message: Wire) -> Wire:
    """Give the message inside of what ``dumpd`` or ``message_to_dict`` wrote."""
    return as_dict(pick(message, "kwargs", "data")) or message


def find_results(message: Wire) -> list[FoundResult]:
    """Read a ``ToolMessage`` in any of its forms."""
    message = _unwrapped(message)
    if message.get("type") != "tool":
        return []
    content = message.get("content")
    value = [_block_of(item) for item in content] if isinstance(content, list) else content
    fails = message.get("status") == "error"
    return [found_result(message.get("tool_call_id"), message.get("name"), value, fails=fails)]


def _block_of(item: Any) -> Any:
    part = as_dict(item)
    if part is None or part.get("type") != "image" or not isinstance(part.get("base64"), str):
        return item
    return picture(part["base64"], part.get("mime_type"))


def find_cancelled(message: Wire) -> list[Any]:  # noqa: ARG001 # what was said stands
    """Find none."""
    return []


def find_server_call(block: Wire) -> ServerCall | None:
    """Read ``server_tool_call`` blocks, and the providers' own in the content that LangChain passes on."""
    kind = block.get("type")
    return None if kind in ("tool_call", _INVALID, "tool_use", "function_call") else served(block, "_call", "_use")


def find_finish(message: Wire) -> FoundFinish | None:
    """Read what the model said to LangChain."""
    reason = _reason_of(_unwrapped(message))
    return None if reason is None else FoundFinish(reason)


def _listed(message: Wire) -> list[FoundCall]:
    valid = _typed(message.get("tool_calls"), "tool_call")
    invalid = _typed(message.get("invalid_tool_calls"), _INVALID)
    found = [call for item in valid + invalid if (call := find_call(item)) is not None]
    return _in_order(found, message) if valid and invalid else found


def _typed(items: Any, kind: str) -> list[Wire]:
    # the list an entry stands in tells its kind; its own "type" may be missing
    return [{**entry, "type": kind} for item in as_list(items) if (entry := as_dict(item))]


def _in_order(found: list[FoundCall], message: Wire) -> list[FoundCall]:
    """Undo LangChain's sorting into good and bad ones, where the message still shows the model's order."""
    raw = as_list((as_dict(message.get("additional_kwargs")) or {}).get("tool_calls"))
    shown = raw or as_list(message.get("content"))
    identities = [identity for item in map(as_dict, shown) if item and isinstance(identity := item.get("id"), str)]
    places = {identity: place for place, identity in enumerate(identities)}
    if not all(isinstance(call.call_id, str) and call.call_id in places for call in found):
        return found
    return sorted(found, key=lambda call: places[call.call_id])


def _in_blocks(message: Wire) -> list[FoundCall]:
    blocks = [block for item in as_list(message.get("content")) if (block := as_dict(item))]
    return [call for block in blocks if "type" in block and (call := find_call(block)) is not None]


def _raw(message: Wire) -> list[FoundCall]:
    kwargs: dict[str, Any] = as_dict(message.get("additional_kwargs")) or {}
    return openai_chat.find_calls({"role": "assistant", **kwargs}) if kwargs else []


class Stream:
    """``AIMessageChunk`` objects; their ``tool_calls`` are LangChain's guess at what the pieces will become."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._deltas = Deltas(drafts)

    def feed(self, event: Wire) -> None:
        """Read one chunk, or a whole message where a model does not stream."""
        message = _unwrapped(event)
        kind = message.get("type")
        if kind in ("ai", "AIMessage"):
            self._drafts.take(message, find_calls)
        else:
            self.feed_chunk(message)

    def feed_chunk(self, message: Wire) -> None:
        """Read the pieces in one chunk, or those of chunks that were added up."""
        chunks = as_list(message.get("tool_call_chunks")) or _chunks_in_blocks(message)
        for chunk in chunks:
            self._piece(as_dict(chunk) or {})
        self._deltas.touched.clear()
        if not chunks:  # a model whose calls come whole
            for call in [call for call in _listed(message) or _in_blocks(message) if not self._drafts.has_given(call)]:
                self._drafts.whole(call)
        self._end(_reason_of(message), is_last=message.get("chunk_position") == "last")

    def _end(self, reason: str | None, *, is_last: bool) -> None:
        if reason in _PAUSED:
            self._drafts.drop_open()
            self._drafts.refuse_all(why_void("reason", reason))
        elif reason in _DISOWNED:
            self._drafts.refuse_all(why_void("reason", reason))
        elif reason in _CUT_OFF:
            self._deltas.settle(why_cut(reason))
        elif is_last or reason in _FINISHED:
            self._deltas.settle()
        else:
            return
        self._drafts.is_ended = True

    def _piece(self, chunk: Wire) -> None:
        draft = self._deltas.add(chunk.get("index"), chunk.get("id"), chunk.get("name"), chunk.get("args"))
        extras = chunk.get("extras")
        if extras and not draft.is_sealed:
            draft.call.metadata["extras"] = extras

    def close(self) -> None:
        """The chunks have ended: what is not whole never will be."""
        self._drafts.seal_rest()


def _chunks_in_blocks(message: Wire) -> list[Wire]:
    blocks = [block for item in as_list(message.get("content")) if (block := as_dict(item))]
    return [block for block in blocks if block.get("type") == "tool_call_chunk"]


def open_stream(drafts: Drafts) -> Stream:
    """Read a stream of message chunks."""
    return Stream(drafts)


def format_results(results: Sequence[NormalizedToolResult]) -> list[Wire]:
    """Write one ``ToolMessage`` a result, as the dict that LangChain reads messages from."""
    return [
        {
            "type": "tool",
            "content": [_shown(block) for block in shown_blocks(result)] or text_of(result),
            "tool_call_id": call_id(result),
            "name": wire_name(result),
            "status": "success" if result.success else "error",
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


def export_tool(spec: ToolSpec, name: str, options: ExportOptions) -> ExportedTool:
    """Write what every chat model's ``bind_tools`` takes: OpenAI's form."""
    schema = to_openai(spec.input_schema, strict=options.strict)
    function: Wire = {"name": name, **described(spec, options), "parameters": schema.schema}
    if options.strict:
        function["strict"] = schema.form == "strict"
    tool = {"type": "function", "function": function}
    return exported(tool, spec, schema, options, title="LangChain", no_strict=None)


def definition_of(tool: Any) -> Wire | None:
    """Give the definition of a ``BaseTool`` as a dict; ``None`` for everything else.

    ``tool_call_schema`` leaves out what LangChain itself injects. A ``Tool``, which takes one text, has no schema, and
    one is made up of its handler's signature there: what its ``args`` say counts.
    """
    arguments = getattr(tool, "args", None)
    schema = getattr(tool, "tool_call_schema", None)
    if schema is None or not isinstance(arguments, dict):
        return None
    found = schema_of(schema, "tool_call_schema") or {}
    if tool.args_schema is None and arguments.keys() != found.get("properties", {}).keys():
        found = {"type": "object", "properties": arguments, "required": list(arguments)}
    return {"name": tool.name, "description": tool.description, "args_schema": found}


def import_tool(tool: Wire, where: str) -> list[ImportedTool]:
    """Read a ``BaseTool``, or any of the dicts that ``bind_tools`` takes."""
    schema = pick(tool, "args_schema", "args", "input_schema")
    if schema is None or "function" in tool:
        return openai_chat.import_tool(tool, where)
    definition: Wire = {key: tool[key] for key in ("name", "description") if key in tool}  # the rest is how it runs
    return [imported(definition, where, schema, read=frozenset())]


def export_choice(choice: ToolChoice, encode: Encode) -> WireChoice:
    """Write ``tool_choice`` for ``bind_tools``: the models have no subsets, and one tool is named by an object."""
    if choice.is_forced and len(choice.tools) == 1:
        return WireChoice({"type": "function", "function": {"name": encode(choice.tools[0])}})
    return WireChoice(choice.mode.value, is_whole=not choice.tools)


def import_choice(value: Any) -> ToolChoice | None:
    """Read ``tool_choice``; ``True`` is ``any``."""
    return openai_chat.import_choice("any" if value is True else value)


def request_fields(tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:
    """Give the arguments of ``bind_tools``."""
    return openai_chat.request_fields(tools, choice, parallel)


def read_request(body: Wire) -> WireRequest:
    """Read the arguments of ``bind_tools``."""
    return openai_chat.read_request(body)


def _shown(block: Block) -> Wire:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image", "base64": block.data, "mime_type": block.media_type}


def write_calls(calls: Sequence[WrittenCall]) -> list[Wire]:
    """Write one ``AIMessage``, as the dict that LangChain reads messages from."""
    if not calls:
        return []
    good = [_entry(call) for call in calls if call.unreadable is None]
    bad = [_invalid(call, call.unreadable) for call in calls if call.unreadable is not None]
    message: Wire = {"type": "ai", "content": "", "tool_calls": good}
    if bad:
        message["invalid_tool_calls"] = bad
    return [message]


def _entry(call: WrittenCall) -> Wire:
    entry: Wire = {"type": "tool_call", "name": call.name, "args": call.arguments, "id": call.call_id}
    extras = call.echo("extras")
    return entry if extras is None else {**entry, "extras": extras}


def _invalid(call: WrittenCall, text: str) -> Wire:
    problem = call.request.problem
    said = None if problem is None else problem.message
    return {"type": _INVALID, "name": call.name, "args": text, "id": call.call_id, "error": said}


def write_stream(calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:
    """Write ``AIMessageChunk`` dicts: id and name with a call's first, then its arguments, then the last chunk."""
    chunks: list[Wire] = []
    for index, call in enumerate(calls):
        chunks.append(_chunk(index, name=call.name, args="", id=call.call_id))
        chunks += [_chunk(index, name=None, args=piece, id=None) for piece in cut(call.text)]
    metadata = {"finish_reason": "tool_calls" if calls else "stop"}
    if head.get("model") is not None:
        metadata["model_name"] = head["model"]
    last = {"type": "AIMessageChunk", "content": "", "chunk_position": "last", "response_metadata": metadata}
    return [*chunks, last]


def _chunk(index: int, **members: Any) -> Wire:
    chunk = {"type": "tool_call_chunk", **members, "index": index}
    return {"type": "AIMessageChunk", "content": "", "tool_call_chunks": [chunk]}
