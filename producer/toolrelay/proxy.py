"""What a program needs that stands between a client and a model: calls written out again, in any provider's shape.

An OpenAI-compatible proxy reads a provider's message or stream, hands its calls to a client as an assistant message or
as chunks, and finds them again when the client's tool messages come in::

    pending = PendingCalls()
    calls = pending.add(read_calls(response))
    chunks = stream_calls(calls, "openai")
    …
    call = pending.take(tool_message["tool_call_id"])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from toolrelay.formats import FORMATS
from toolrelay.formats._endings import Finish, finish_of, wire_reason
from toolrelay.formats._finish import FinishKind
from toolrelay.formats._ids import call_id_of, derived_id
from toolrelay.formats._messages import find_results_in, payload_of
from toolrelay.formats._names import decoder_of
from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import Wire, pick
from toolrelay.formats._requests import request_of
from toolrelay.formats._results import FoundResult
from toolrelay.formats._text import as_text, well_formed
from toolrelay.formats._text_calls import split_text
from toolrelay.formats._written import pieces, written
from toolrelay.models import NormalizedToolRequest, NormalizedToolResult, ProviderFormat
from toolrelay.names import NameMap
from toolrelay.outputs import lenient_json
from toolrelay.translate import format_named

__all__ = [
    "Finish",
    "FinishKind",
    "PendingCalls",
    "finish_reason",
    "format_calls",
    "read_finish",
    "read_results",
    "restore_signatures",
    "split_text_calls",
    "stream_calls",
]

_PIECE_CHARS: Final = 64


def format_calls(
    calls: Iterable[NormalizedToolRequest],
    provider_format: ProviderFormat | str,
    *,
    names: NameMap | None = None,
) -> list[Wire]:
    """Write the model's turn that makes these calls, as it stands in a conversation: messages, items or a content.

    A call without an id gets one: ``call_`` and the 24 digits of its ``tool_call_id``, or of what it says and where it
    stands. ``format_results`` answers under the same id. Arguments that could not be read are put into an object, for
    every wire wants one. ``names`` is the map of the request's tools.

    >>> calls = [NormalizedToolRequest(tool_name="clock", provider_call_id="c1")]
    >>> format_calls(calls, "anthropic")[0]["content"]
    [{'type': 'tool_use', 'id': 'c1', 'name': 'clock', 'input': {}}]
    """
    return FORMATS[format_named(provider_format)].write_calls(written(list(calls), names))


def stream_calls(
    calls: Iterable[NormalizedToolRequest],
    provider_format: ProviderFormat | str,
    *,
    names: NameMap | None = None,
    piece_chars: int = _PIECE_CHARS,
    head: Mapping[str, Any] | None = None,
) -> list[Wire]:
    """Write the events that stream these calls: id, kind and name first, arguments in pieces, the finish reason last.

    ``head`` is what every chunk, or the stream's message, has around it: ``{"id": "chatcmpl-1", "model": "m"}``.
    Formats that do not cut calls give whole ones.

    Raises ``ValueError`` for a ``piece_chars`` below 1.
    """
    if piece_chars < 1:
        raise ValueError(f"piece_chars must be 1 or more, got {piece_chars!r}")
    wire_format = FORMATS[format_named(provider_format)]
    return wire_format.write_stream(
        written(list(calls), names), lambda text: pieces(text, piece_chars), dict(head or {})
    )


def finish_reason(kind: FinishKind | str, provider_format: ProviderFormat | str) -> str | None:
    """Give a provider's own word for the way a turn ended; ``None`` for formats that have none.

    >>> finish_reason("tool_calls", "anthropic")
    'tool_use'
    """
    return wire_reason(FinishKind(kind), format_named(provider_format))


def read_finish(message: Any, provider_format: ProviderFormat | str | None = None) -> Finish:
    """Say how a turn ended: what sort of end, the provider's word, and the problem of a turn whose calls are void.

    A model that failed to form a call sends a message without one: here is why, and that asking again is worth it.

    >>> read_finish({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}).kind
    <FinishKind.MALFORMED: 'malformed'>
    """
    payload, detected = payload_of(message)
    return finish_of(payload, detected if provider_format is None else format_named(provider_format))


def read_results(
    message: Any, pending: Mapping[str, NormalizedToolRequest] | None = None
) -> list[NormalizedToolResult]:
    """Read the results that a message, or a list of some, hands in: what ``format_results`` writes, read back.

    ``pending`` (a ``PendingCalls``) gives each result the call that it answers: its name, format and ids, so that
    ``format_results`` writes it in the shape of the provider that made the call. A result without a pending call keeps
    the id that it came with. Chat has no error flag: there a text that begins with ``Error:`` is a failure.

    >>> [result.output for result in read_results({"role": "tool", "tool_call_id": "c1", "content": "rain"})]
    ['rain']

    A request's body is read as its conversation. Raises ``InvalidPayloadError`` for what is no message.
    """
    return [result_of(place, *found, pending or {}) for place, found in enumerate(find_results_in(message))]


def result_of(
    place: int, found: FoundResult, provider_format: ProviderFormat, pending: Mapping[str, NormalizedToolRequest]
) -> NormalizedToolResult:
    """Make the result of what was found at this place among the results, with what ``pending`` knows of its call."""
    identity = as_text(found.call_id)
    call = None if identity is None else pending.get(identity)
    category = found.category
    return NormalizedToolResult(
        tool_call_id=(call and call.tool_call_id) or identity or f"result_{place}",
        tool_name=call.tool_name if call is not None else as_text(found.name) or "",
        provider_format=provider_format if call is None else call.provider_format,
        provider_call_id=identity if call is None else call.provider_call_id,
        provider_metadata=lenient_json(found.metadata) if call is None else call.provider_metadata,
        kind=found.kind if call is None else call.kind,
        success=found.error is None,
        output=lenient_json(found.output),
        error=None if found.error is None else well_formed(found.error),
        error_category=category,
        retryable=category is not None and category.is_retryable,
    )


def split_text_calls(text: str) -> tuple[str, list[NormalizedToolRequest]]:
    """Take the ``<tool_call>`` tags out of a model's text: what is left to show, and the calls.

    >>> split_text_calls('I look. <tool_call>{"name": "clock", "arguments": {}}</tool_call>')[0]
    'I look.'
    """
    found = split_text(text)
    return found.text, [request_of(call, ProviderFormat.OPENAI, decode=decoder_of(None)) for call in found.calls]


class PendingCalls(Mapping[str, NormalizedToolRequest]):
    """Calls that were handed to a client and wait for their results, by the id that the client knows them by."""

    def __init__(self) -> None:
        self._calls: dict[str, NormalizedToolRequest] = {}

    def add(self, calls: Iterable[NormalizedToolRequest]) -> list[NormalizedToolRequest]:
        """Keep calls; give them back, each with an id of its own that ``format_calls`` and the client will use.

        The same calls get the same ids, so a turn that is read again changes nothing. Of two calls with one id the
        second gets another, and its own stays in ``provider_metadata`` as ``provider_id``.
        """
        listed = list(calls)
        seen: set[str] = set()
        kept = []
        for place, call in enumerate(listed):
            own = call_id_of(call.provider_call_id, call.tool_call_id)
            identity = own if own and own not in seen else derived_id(place, call.tool_name, call.arguments)
            seen.add(identity)
            metadata = {**call.provider_metadata, "provider_id": call.provider_call_id}
            self._calls[identity] = call
            kept.append(call.model_copy(update={"provider_call_id": identity, "provider_metadata": metadata}))
        return kept

    def take(self, call_id: str) -> NormalizedToolRequest:
        """Give the call as the provider wrote it, and forget it. ``KeyError`` for one that does not wait."""
        return self._calls.pop(call_id)

    def __getitem__(self, call_id: str) -> NormalizedToolRequest:
        return self._calls[call_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)


def restore_signatures(contents: Iterable[Any], calls: Iterable[NormalizedToolRequest]) -> list[Wire]:
    """Put thought signatures back into Gemini's history that has lost them on its way through another format.

    Gemini signs the first call of each step and refuses a history without that signature. ``calls`` are all calls of
    the conversation, in order: each belongs to the next part with its id or, where there is none, with its name and
    arguments. A part that has a signature keeps it. Nothing that is passed in is changed.
    """
    waiting = list(calls)
    return [_signed(content, waiting) for item in contents if (content := as_dict(item)) is not None]


def _signed(content: Wire, waiting: list[NormalizedToolRequest]) -> Wire:
    parts = [part for item in as_list(content.get("parts")) if (part := as_dict(item)) is not None]
    return {**content, "parts": [_signed_part(part, waiting) for part in parts]} if parts else dict(content)


def _signed_part(part: Wire, waiting: list[NormalizedToolRequest]) -> Wire:
    function = as_dict(pick(part, "functionCall", "function_call"))
    if function is None:
        return part
    place = next((place for place, call in enumerate(waiting) if _is_part_of(function, call)), None)
    signature = None if place is None else waiting.pop(place).provider_metadata.get("thought_signature")
    if signature is None or pick(part, "thoughtSignature", "thought_signature") is not None:
        return part
    return {**part, "thoughtSignature": signature}


def _is_part_of(function: Wire, call: NormalizedToolRequest) -> bool:
    identity = function.get("id")
    if identity is not None and call.provider_call_id is not None:
        return bool(identity == call.provider_call_id)
    wire_name = call.provider_metadata.get("wire_name")
    return function.get("name") in (call.tool_name, wire_name) and (function.get("args") or {}) == call.arguments
