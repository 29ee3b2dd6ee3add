"""Streams of Gemini: chunks of a response with whole calls or, on Vertex, calls in pieces; and Live sessions.

A call in pieces starts with its name and ``willContinue``; the parts that follow have neither name nor id; one without
``willContinue``, often empty, is its last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolrelay.formats._draft import Draft
from toolrelay.formats._partial_args import PartialArgs, PathFault, partials_of
from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import FoundCall, Wire, pick, word
from toolrelay.formats._stream import LOST_END, Drafts, StreamFault, fault_of
from toolrelay.models import ProblemKind

_FINISHED: Final = frozenset({"STOP", "FINISH_REASON_UNSPECIFIED"})
_CUT_OFF: Final = "MAX_TOKENS"
_MAX_CANDIDATES: Final = 1000


class _Candidate:
    """One alternative answer, and the call in it that is being written."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self.metadata: dict[str, Any] = {}
        self.calls: list[Draft] = []
        self._open: Draft | None = None
        self._values = PartialArgs()

    def part(self, part: Wire, call: Wire, find_call: Callable[[Wire], FoundCall | None]) -> None:
        """Read one ``functionCall`` part."""
        goes_on = bool(pick(call, "willContinue", "will_continue"))
        partials = partials_of(call)
        if call.get("name"):
            found = find_call(part)
            if found is None or (goes_on and self._has_begun(found)):
                return
            self.end(LOST_END)
            self._start(found, is_whole=not goes_on and not partials)
        elif self._open is None:
            if not (goes_on or partials or pick(call, "args", "id")):
                return  # the end of a call that has ended
            self._start(None, is_whole=False)
        self._add(partials)
        if not goes_on:
            self.end(None)

    def _has_begun(self, found: FoundCall) -> bool:
        """Whether this is the beginning of the open call once more."""
        known = None if self._open is None or self._values.size_in_bytes else self._open.call
        return known is not None and found.call_id is not None and known.call_id == found.call_id

    def _start(self, found: FoundCall | None, *, is_whole: bool) -> None:
        if is_whole and found is not None and self._drafts.has_given(found):
            return
        draft = self._drafts.start_nameless() if found is None else self._drafts.start(found)
        draft.call.metadata.update(self.metadata)
        self.calls.append(draft)
        if is_whole:
            self._drafts.seal(draft)
            return
        self._open, self._values = draft, PartialArgs()
        if draft.call.arguments:
            draft.call.refuse("the call has arguments both whole and in pieces", ProblemKind.INVALID_PAYLOAD)

    def _add(self, partials: list[Wire]) -> None:
        draft = self._open
        if draft is None:
            return
        if draft.call.refusal is not None:
            self._values = PartialArgs()  # they will not be read: nothing is kept
            return
        try:
            for partial in partials:
                self._values.add(partial)
        except PathFault as fault:
            draft.call.refuse(f"the call is truncated or damaged: {fault}")
        self._drafts.charge(draft, self._values.size_in_bytes)

    def end(self, why: str | None) -> None:
        """The call that was being written is over; ``why`` if the stream did not say so."""
        draft, self._open = self._open, None
        if draft is None or draft.is_sealed:
            return
        if why is not None or self._values.is_open:
            draft.call.refuse(why or LOST_END)
        if draft.call.refusal is None:
            draft.call.arguments = self._values.finish()
        self._values = PartialArgs()
        self._drafts.seal(draft)

    def finish(self, reason: str) -> None:
        """The answer has ended."""
        if reason in _FINISHED:
            self.end(LOST_END)
            return
        if reason == _CUT_OFF:
            calls = self.calls[-1:]
            why = "the call is truncated: the model was stopped (MAX_TOKENS) while it wrote it"
        else:
            calls = self.calls
            why = f"the call is truncated or disowned: the turn ended with finishReason {reason!r}"
        self.end(why)
        for draft in calls:
            self._drafts.disown(draft, why)


class Stream:
    """Chunks of ``GenerateContentResponse``, or messages of a Live session."""

    def __init__(
        self,
        drafts: Drafts,
        find_call: Callable[[Wire], FoundCall | None],
        live_calls: Callable[[Wire], list[Any]],
    ) -> None:
        self._drafts = drafts
        self._find_call = find_call
        self._live_calls = live_calls
        self._candidates: dict[int, _Candidate] = {}

    def feed(self, event: Wire) -> None:
        """Read one chunk or message."""
        if self._drafts.model is None:
            self._drafts.model = pick(event, "modelVersion", "model_version")
        candidates = event.get("candidates")
        if candidates is not None:
            for item in as_list(candidates):
                candidate = as_dict(item)
                if candidate is not None:
                    self._candidate(candidate)
        elif event.get("error"):
            self._drafts.fail(fault_of(event, as_dict(event["error"])))
        elif not self._live(event):
            self._candidate(event)

    def _live(self, message: Wire) -> bool:
        cancellation = as_dict(pick(message, "toolCallCancellation", "tool_call_cancellation"))
        if cancellation is not None:
            self._drafts.cancel(as_list(cancellation.get("ids")))
            return True
        calls = self._live_calls(message)
        for item in calls:
            found = self._find_call(as_dict(item) or {})
            if found is not None and not self._drafts.has_given(found):
                self._drafts.forget_given()
                self._drafts.whole(found)
        self._drafts.is_ended = self._drafts.is_ended or bool(calls)
        return bool(calls)

    def _candidate(self, candidate: Wire) -> None:
        state = self._state_of(candidate.get("index"))
        content = as_dict(candidate.get("content")) or candidate
        for item in as_list(content["parts"]) if "parts" in content else (content,):
            part = as_dict(item) or {}
            call = as_dict(pick(part, "functionCall", "function_call"))
            if call is not None:
                state.part(part, call, self._find_call)
        reason = word(candidate, "finishReason", "finish_reason")
        if reason is not None:
            state.finish(str(reason))
            self._drafts.is_ended = True

    def _state_of(self, index: Any) -> _Candidate:
        key = index if isinstance(index, int) else 0
        state = self._candidates.get(key)
        if state is None:
            if len(self._candidates) >= _MAX_CANDIDATES:
                raise StreamFault(f"the stream has more than {_MAX_CANDIDATES} candidates")
            state = self._candidates[key] = _Candidate(self._drafts)
            if len(self._candidates) > 1:
                for number, known in self._candidates.items():
                    known.metadata["choice"] = number
        return state

    def close(self) -> None:
        """The connection is gone: a call in pieces never will be whole."""
        for state in self._candidates.values():
            state.end(LOST_END)
