"""Tool calls out of a model's stream, one by one, as soon as nothing more can belong to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolrelay.formats import FORMATS
from toolrelay.formats.arguments.reading import MAX_ARGUMENTS_BYTES, problem_of
from toolrelay.formats.payloads.calls import request_of
from toolrelay.formats.payloads.detect_stream import FirstEvents
from toolrelay.formats.payloads.names import Names, decoder_of
from toolrelay.formats.payloads.text_calls import TextCallStream
from toolrelay.formats.protocol import Wire
from toolrelay.formats.streams.drafts import MAX_CALLS, Drafts, StreamFault, StreamReader
from toolrelay.formats.streams.events import EventText, dicts_in
from toolrelay.models import NormalizedToolRequest, ProviderFormat
from toolrelay.translate import format_named

_UNREADABLE = "the call is truncated: an event of the stream could not be read, and may have held a part of it"


class StreamAssembler:
    """Puts the calls of one stream together; feed it every event, then close it.

    An event is a dict, an SDK's object, JSON text, or server-sent events: whole ones, lines, or pieces cut anywhere.
    Neither ``feed`` nor ``close`` raises for anything that a stream may hold: what is wrong with a call is its
    ``problem``. A call's ``sequence`` is its place among the calls of the stream, counted from 0 as the model began
    them; calls are given out as they are completed, which is not always that order.

    >>> stream = StreamAssembler("anthropic")
    >>> block = {"type": "tool_use", "id": "toolu_1", "name": "clock", "input": {}}
    >>> stream.feed({"type": "content_block_start", "index": 0, "content_block": block})
    []
    >>> delta = {"type": "input_json_delta", "partial_json": "{}"}
    >>> stream.feed({"type": "content_block_delta", "index": 0, "delta": delta})
    []
    >>> [call.tool_name for call in stream.feed({"type": "content_block_stop", "index": 0})]
    ['clock']

    ``names`` (a mapping of wire names to tool names, or ``ExportedTools.names``) turns the names back. ``text_calls``
    also reads calls that a model wrote into its text, in ``<tool_call>`` tags, where a Chat choice has no others; they
    come when it ends. Memory is bounded by ``max_arguments_bytes`` a call and ``max_calls`` calls.

    Raises ``UnknownProviderFormatError``.
    """

    def __init__(
        self,
        provider_format: ProviderFormat | str,
        *,
        names: Names | None = None,
        text_calls: bool = False,
        max_arguments_bytes: int = MAX_ARGUMENTS_BYTES,
        max_calls: int = MAX_CALLS,
    ) -> None:
        self.provider_format = format_named(provider_format)
        self._decode = decoder_of(names)
        self._max_arguments_bytes = max_arguments_bytes
        self._drafts = Drafts(max_arguments_bytes, max_calls)
        self._reader: StreamReader = FORMATS[self.provider_format].open_stream(self._drafts)
        if text_calls and self.provider_format is ProviderFormat.OPENAI:
            self._reader = TextCallStream(self._reader, self._drafts, max_arguments_bytes)
        if self.provider_format is not ProviderFormat.UNKNOWN:
            self._reader = FirstEvents(self._reader, self.provider_format, self._drafts, self._read_by)
        self._text: EventText | None = None
        self._given: dict[int, NormalizedToolRequest] = {}
        """By place; the oldest are let go of, for a session may last for days."""
        self._max_given = 2 * max_calls
        self._is_closed = False
        self.disowned: list[NormalizedToolRequest] = []
        """Calls that were given out and that the stream has taken back since: cancelled by the model, part of a turn
        that ended in a way that forbids to run it, or of one that failed. Each once, with its ``problem`` and the
        ``sequence`` it was given out with. Whoever started one early cancels it."""

    @property
    def is_ended(self) -> bool:
        """Whether the provider said how the turn ended; ``False`` after ``close`` means a lost connection."""
        return self._drafts.is_ended

    @property
    def failure(self) -> str | None:
        """Why the stream has failed; ``None`` if it has not.

        The provider's own error event, limits that were exceeded, or first events that are another format's.
        """
        return self._drafts.failure

    def feed(self, event: Any) -> list[NormalizedToolRequest]:
        """Take one event; give the calls that it completes. After ``close`` or a failure nothing is read any more."""
        drafts = self._drafts
        if self._is_closed or drafts.failure is not None:
            return []
        try:
            if type(event) is dict:
                self._reader.feed(event)
            else:
                self._feed_odd(event)
        except StreamFault as fault:
            drafts.fail(str(fault))
        return self._take() if drafts.sealed or drafts.disowned else []

    def close(self) -> list[NormalizedToolRequest]:
        """End the stream; give the rest: calls that are whole, and with a problem those that were cut off."""
        if self._is_closed:
            return []
        self._is_closed = True
        if self._drafts.failure is None:
            try:
                if self._text is not None:
                    self._read(self._text.close())
                self._reader.close()
            except StreamFault as fault:
                self._drafts.fail(str(fault))
        return self._take()

    def _read_by(self, reader: StreamReader) -> None:
        self._reader = reader

    def _feed_odd(self, event: Any) -> None:
        if not isinstance(event, (str, bytes, bytearray)):
            events = list(dicts_in(event))
            self._read(iter(events))
            if not events and event != [] and event != ():
                self._drafts.doubt(_UNREADABLE)
            return
        self._text = self._text or EventText()
        self._read(self._text.feed(event))

    def _read(self, events: Iterator[Wire]) -> None:
        for event in events:
            self._reader.feed(event)
            if self._drafts.failure is not None:
                return
        if self._text is not None and self._text.unreadable:
            self._text.unreadable = 0
            self._drafts.doubt(_UNREADABLE)

    def _take(self) -> list[NormalizedToolRequest]:
        drafts = self._drafts
        requests = []
        for draft in drafts.sealed:
            call = draft.call
            if isinstance(drafts.model, str):
                call.metadata["model"] = drafts.model
            request = request_of(
                call,
                self.provider_format,
                decode=self._decode,
                max_arguments_bytes=self._max_arguments_bytes,
                sequence=draft.place,
            )
            self._given[draft.place] = request
            requests.append(request)
        for draft, kind, why in drafts.disowned:
            given = self._given.get(draft.place)
            if given is not None and given.problem is None:
                update = {"problem": problem_of(kind, why), "provider_metadata": dict(draft.call.metadata)}
                taken_back = self._given[draft.place] = given.model_copy(update=update)
                self.disowned.append(taken_back)
        drafts.sealed.clear()
        drafts.disowned.clear()
        while len(self._given) > self._max_given:
            del self._given[next(iter(self._given))]
        return requests


def read_stream(
    events: Iterable[Any],
    provider_format: ProviderFormat | str,
    *,
    names: Names | None = None,
    text_calls: bool = False,
) -> list[NormalizedToolRequest]:
    """Read a stream to its end: every call, in the model's order, as it stands when all is said.

    ``names`` and ``text_calls`` are those of ``StreamAssembler``.
    Raises ``UnknownProviderFormatError``, and whatever ``events`` raises.
    """
    assembler = StreamAssembler(provider_format, names=names, text_calls=text_calls)
    calls: dict[int | None, NormalizedToolRequest] = {}
    for event in events:
        calls.update((call.sequence, call) for call in assembler.feed(event))
    calls.update((call.sequence, call) for call in assembler.close())
    calls.update((call.sequence, call) for call in assembler.disowned)
    return [calls[place] for place in sorted(calls, key=lambda place: place or 0)]
