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

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from toolrelay.formats import FORMATS
from toolrelay.formats._gemini_signatures import restore_signatures
from toolrelay.formats.payloads.calls import request_of
from toolrelay.formats.payloads.endings import Finish, finish_of, wire_reason
from toolrelay.formats.payloads.messages import find_results_in, payload_of
from toolrelay.formats.payloads.names import decoder_of
from toolrelay.formats.payloads.pending import LocatedResult
from toolrelay.formats.payloads.text_calls import split_text
from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.finish import FinishKind
from toolrelay.formats.shared.ids import call_id_of, derived_id
from toolrelay.formats.shared.results import FoundResult
from toolrelay.formats.shared.text import as_text, well_formed
from toolrelay.formats.shared.written import pieces, written
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
    every wire wants one. A call without a name is left out, so it wants no answer either: no provider takes a
    name that is empty. Text is not written. ``names`` is the map of the request's tools.

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

    It is a whole turn, from its first event to its last: call it once a turn, with all its calls. Text is not written;
    calls without a name are left out.

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
    ``format_results`` writes it in the shape of the provider that made the call. Of several results under one id the
    first answers the first call that had it, and so on. A result without a pending call keeps
    the id that it came with. Chat has no error flag: there a text that begins with ``Error:`` is a failure.

    >>> [result.output for result in read_results({"role": "tool", "tool_call_id": "c1", "content": "rain"})]
    ['rain']

    A request's body is read as its conversation. Raises ``InvalidPayloadError`` for what is no message.
    """
    return results_of(find_results_in(message), pending or {})


def results_of(
    found: Iterable[LocatedResult], pending: Mapping[str, NormalizedToolRequest]
) -> list[NormalizedToolResult]:
    """Make the results of what was found, in this order, with what ``pending`` knows of their calls."""
    seen: Counter[str | tuple[str]] = Counter()
    results = []
    for place, (one, provider_format) in enumerate(found):
        identity = as_text(one.call_id)
        if isinstance(pending, PendingCalls):
            # Gemini sends calls without ids: its results name their tool, and come in the calls' order
            known_by = identity or (as_text(one.name) or "",)
            identity = pending.nth(known_by, seen[known_by])
            seen[known_by] += 1
        call = None if identity is None else pending.get(identity)
        results.append(_result_of(place, one, provider_format, identity, call))
    return results


def _result_of(
    place: int,
    found: FoundResult,
    provider_format: ProviderFormat,
    identity: str | None,
    call: NormalizedToolRequest | None,
) -> NormalizedToolResult:
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
    """Calls that were handed to a client and wait for their results, by the id that the client knows them by.

    No id is given twice, however many turns the table sees: providers that count ``call_0``, ``call_1`` anew in every
    turn would give one turn's call the result of another, for clients send the whole conversation each time.
    """

    def __init__(self) -> None:
        self._calls: dict[str, NormalizedToolRequest] = {}
        self._given: set[str] = set()
        self._known_by: dict[str | tuple[str], list[str]] = {}
        self._placed: dict[str, str] = {}

    def add(self, calls: Iterable[NormalizedToolRequest]) -> list[NormalizedToolRequest]:
        """Keep calls; give them back, each with an id of its own that ``format_calls`` and the client will use.

        A call keeps its own id unless this table has given it before, in this turn or an earlier one: then it gets
        another, and its own stays in ``provider_metadata`` as ``provider_id``. So add each turn once; a call that has
        its ``tool_call_id`` is known by it, and may be added again. The same turns, in the same order, get the same
        ids in every process.
        """
        kept = []
        for place, call in enumerate(calls):
            identity = self._identity_of(place, call)
            self._calls[identity] = call
            metadata = {**call.provider_metadata, "provider_id": call.provider_call_id}
            kept.append(call.model_copy(update={"provider_call_id": identity, "provider_metadata": metadata}))
        return kept

    def take(self, call_id: str) -> NormalizedToolRequest:
        """Give the call as the provider wrote it, and forget it. ``KeyError`` for one that does not wait."""
        return self._calls.pop(call_id)

    def nth(self, known_by: str | tuple[str], number: int) -> str | None:
        """Give the id in this table of the ``number``-th call, from 0, that came with this id of its own.

        A call that came without one is known by its tool: ``("clock",)``. ``None`` for a tool of no such call.
        """
        given = self._known_by.get(known_by, [])
        if isinstance(known_by, str):
            return given[min(number, len(given) - 1)] if given else known_by
        return given[number] if number < len(given) else None

    def _identity_of(self, place: int, call: NormalizedToolRequest) -> str:
        if call.tool_call_id in self._placed:
            return self._placed[call.tool_call_id]
        own = call_id_of(call.provider_call_id, call.tool_call_id)
        identity = own or derived_id(place, call.tool_name, call.arguments)
        while identity in self._given:
            place += len(self._given)
            identity = derived_id(place, call.tool_name, call.arguments)
        self._given.add(identity)
        self._known_by.setdefault(own or identity, []).append(identity)
        if own is None:
            self._known_by.setdefault((call.tool_name,), []).append(identity)
        if call.tool_call_id is not None:
            self._placed[call.tool_call_id] = identity
        return identity

    def __getitem__(self, call_id: str) -> NormalizedToolRequest:
        return self._calls[call_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._calls)

    def __len__(self) -> int:
        return len(self._calls)
