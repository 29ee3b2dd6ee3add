"""Calls that are still being written: what the streams of all formats share.

A reader (one a format) tells ``Drafts`` what it saw: a call opened, a piece of its arguments, its end. ``Drafts`` keeps
the order, the limits and the cost: a piece is written once into a buffer, and read once when its call is sealed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from toolrelay.formats.protocol import FoundCall, Wire
from toolrelay.formats.shared.text import as_text
from toolrelay.formats.streams.draft import Draft, is_nothing
from toolrelay.models import ProblemKind

#: no turn has more calls; a stream that goes on opening them is broken or malicious
MAX_CALLS: Final = 1000

LOST_START: Final = "the stream began, or lost an event, in the middle of this call"
LOST_END: Final = "the call is truncated: the stream ended while it was being written"


WENT_ON: Final = "the stream went on with this call after it was complete"
CONTRADICTION: Final = "the stream is damaged: pieces of this call and of another one cannot be told apart"


class StreamFault(ValueError):
    """The stream cannot be read any further; the message says why."""


class Disowned(NamedTuple):
    """A call that was given out and is taken back."""

    draft: Draft
    kind: ProblemKind
    why: str


class Drafts:
    """The calls of one stream, and what became of them since the last event."""

    def __init__(self, max_bytes: int, max_calls: int = MAX_CALLS) -> None:
        self.model: Any = None
        """The model's name, once an event gave it."""
        self.is_ended = False
        """The provider said how the turn ended."""
        self.failure: str | None = None
        """Why the stream can no longer be used."""
        self.sealed: list[Draft] = []
        """Taken, and emptied, by the assembler after each event; so is ``disowned``."""
        self.disowned: list[Disowned] = []
        self._given: list[Draft] = []
        self._open: dict[int, Draft] = {}
        self._max_bytes = max_bytes
        self._max_calls = max_calls
        self._count = 0

    @property
    def open(self) -> list[Draft]:
        """The calls that are not sealed, in the model's order."""
        return list(self._open.values())

    def start(self, call: FoundCall, index: Any = None) -> Draft:
        """Open a call; raises ``StreamFault`` beyond the limit."""
        if len(self._open) + len(self._given) >= self._max_calls:
            raise StreamFault(f"the stream has more than {self._max_calls} calls")
        draft = Draft(call, self._count, index)
        self._open[draft.place] = draft
        self._count += 1
        return draft

    def start_nameless(self, index: Any = None) -> Draft:
        """Open a call for pieces that belong to none: its beginning is lost, so it will not run."""
        draft = self.start(FoundCall(None), index)
        draft.call.refuse(LOST_START)
        return draft

    def whole(self, call: FoundCall) -> None:
        """Take a call that arrived in one piece."""
        self.seal(self.start(call))

    def has_given(self, call: FoundCall) -> bool:
        """Whether this very call was given out, id and all: its event came twice."""
        return label(call.call_id) is not None and any(_is_same(draft.call, call) for draft in self._given)

    def write(self, draft: Draft, piece: str) -> None:
        """Append a piece of argument text; a call beyond the limit gets a problem and its text is dropped."""
        if draft.is_sealed:
            if piece.strip():
                self.disown(draft, WENT_ON)
            return
        if draft.is_overflowed:
            return
        draft.write(piece)
        if draft.size_in_bytes > self._max_bytes:
            draft.call.refuse(_too_long(self._max_bytes), ProblemKind.INVALID_JSON)
            draft.overflow()

    def take_piece(self, draft: Draft, piece: Any) -> None:
        """Take a piece as it stands in an event: of text, or the whole of the arguments as an object.

        Some servers that translate others' streams send objects. There can be one; ``{}`` may stand in for what comes
        later. What else stands beside it makes the call one that must not run.
        """
        if isinstance(piece, str):
            self.write(draft, piece)
        elif piece is None or (is_nothing(piece) and draft.size):
            return
        elif draft.is_sealed:
            if not _is_equal(draft.call.arguments, piece):
                self.disown(draft, WENT_ON)
        elif draft.size or not is_nothing(draft.call.arguments):
            draft.call.refuse(CONTRADICTION)
        else:
            draft.call.arguments = piece

    def charge(self, draft: Draft, size_in_bytes: int) -> None:
        """Hold a call whose arguments do not come as text to the same limit."""
        if size_in_bytes > self._max_bytes:
            draft.call.refuse(_too_long(self._max_bytes), ProblemKind.INVALID_JSON)

    def seal(self, draft: Draft) -> None:
        """Give a call out: nothing that follows belongs to it."""
        if draft.is_sealed:
            return
        draft.close()
        del self._open[draft.place]
        self._given.append(draft)
        self.sealed.append(draft)

    def seal_all(self) -> None:
        """Give out all that is open, in the model's order."""
        for draft in self.open:
            self.seal(draft)

    def seal_whole(self) -> None:
        """Give out the open calls whose arguments are complete, because another call begins."""
        for draft in self.open:
            if draft.is_whole():
                self.seal(draft)

    def take(self, message: Wire, find_calls: Callable[[Wire], list[FoundCall]]) -> None:
        """Give out the calls of a whole message, but for those that were given out before: it came twice."""
        for call in [call for call in find_calls(message) if not self.has_given(call)]:
            self.whole(call)
        self.is_ended = True

    def begin_turn(self) -> None:
        """Begin another turn, if one has ended: whatever becomes of it, the calls of the last one stand."""
        if self.is_ended:
            self.refuse_open(LOST_END)
            self._given.clear()
            self.is_ended = False

    def drop(self, draft: Draft) -> None:
        """Forget an open call: it is none of the client's."""
        if not draft.is_sealed:
            draft.is_sealed = True
            del self._open[draft.place]

    def drop_open(self) -> None:
        """Forget the open calls: the turn asks for nothing."""
        for draft in self.open:
            self.drop(draft)

    def seal_rest(self, why: str = LOST_END) -> None:
        """Give out all that is open at an end that nobody announced: the whole ones as they are, others refused."""
        for draft in self.open:
            if not draft.is_whole():
                draft.call.refuse(why)
            self.seal(draft)

    def doubt(self, why: str) -> None:
        """Refuse the open calls, which may lack a piece now; they go on, so that the rest of them is not a call."""
        for draft in self._open.values():
            draft.call.refuse(why)

    def refuse_open(self, why: str) -> None:
        """Give out all that is open as calls that must not run."""
        for draft in self.open:
            draft.call.refuse(why)
            self.seal(draft)

    def refuse_all(self, why: str) -> None:
        """Refuse the open calls and take back those that were given out."""
        self.refuse_open(why)
        for draft in self._given:
            if draft.call.refusal is None:
                self.disown(draft, why)

    def cut_off_last(self, why: str) -> None:
        """Take back the last call: the model was stopped after it, and may not have been done with it."""
        if self._given:
            self.disown(self._given[-1], why)

    def disown(self, draft: Draft, why: str, kind: ProblemKind = ProblemKind.TRUNCATED) -> None:
        """Take back a call that was given out. Only the first reason counts."""
        if draft.call.refusal is None:
            draft.call.refuse(why, kind)
            self.disowned.append(Disowned(draft, kind, why))

    def cancel(self, identities: list[Any]) -> None:
        """Take back the calls with these ids: the model no longer wants them."""
        for draft in self._given:
            if draft.call.call_id is not None and draft.call.call_id in identities:
                draft.call.metadata["cancelled"] = True
                self.disown(draft, "the call was cancelled by the model", ProblemKind.CANCELLED)

    def fail(self, why: str) -> None:
        """End the stream: no call of it counts any more."""
        if self.failure is None:
            self.failure = why
            self.refuse_all(f"the call was not run: {why}")

    def forget_given(self) -> None:
        """Let go of the older half of the calls that were given out: a session may last for days."""
        if len(self._given) * 2 > self._max_calls:
            del self._given[: self._max_calls // 4 + 1]


def _is_same(known: FoundCall, call: FoundCall) -> bool:
    return (known.call_id, known.name) == (call.call_id, call.name) and _is_equal(known.arguments, call.arguments)


def _is_equal(known: Any, arguments: Any) -> bool:
    try:
        return bool(known == arguments)
    except RecursionError:  # nested too deep to be compared; it is refused when it is read
        return False


class StreamReader(Protocol):
    """One provider's stream of events. Nothing that is passed in is changed, and no event makes it raise.

    ``StreamFault`` apart, which ends the stream.
    """

    def feed(self, event: Wire) -> None:
        """Tell the drafts what one event says."""

    def close(self) -> None:
        """Settle what is still open: no more events come."""


class WholeMessages:
    """The reader of formats that have no deltas: every event is a whole message, of a session that may last."""

    def __init__(self, drafts: Drafts, find_calls: Callable[[Wire], list[FoundCall]]) -> None:
        self._drafts = drafts
        self._find_calls = find_calls

    def feed(self, event: Wire) -> None:
        """Give out the calls of one message."""
        self._drafts.forget_given()
        self._drafts.take(event, self._find_calls)

    def close(self) -> None:
        """Nothing is ever left open."""


def label(value: Any) -> int | str | None:
    """Give what pieces are labelled with; ``None`` for none and for what cannot be one."""
    return value if isinstance(value, (int, str)) else None


def fault_of(event: Wire, error: Any) -> str:
    """Say what a provider's error event says, in one line."""
    said = error if isinstance(error, dict) else event
    texts = (as_text(said.get(key)) for key in ("type", "code", "status", "message"))
    parts = [text[:200] for text in texts if text]
    return "the provider ended the stream with an error" + (f" ({', '.join(parts)})" if parts else "")


def _too_long(limit: int) -> str:
    return f"parse error in the arguments: they are longer than the limit of {limit} bytes"
