"""Streams of Gemini: chunks of a response with whole calls or, on Vertex, calls in pieces; and Live sessions.

A call in pieces starts with its name and ``willContinue``; the parts that follow have neither name nor id; one without
``willContinue``, often empty, is its last.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolrelay.formats.arguments.reading import MAX_ARGUMENTS_BYTES
from toolrelay.formats.protocol import FoundCall, Wire, pick, word
from toolrelay.formats.shared.finish import FinishKind, FinishWords, why_cut, why_void, words_of
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.streams.draft import Draft
from toolrelay.formats.streams.drafts import LOST_END, Drafts, StreamFault, fault_of
from toolrelay.formats.streams.partial_args import PartialArgs, PathFault, partials_of
from toolrelay.models import ProblemKind

#: https://ai.google.dev/api/generate-content#FinishReason
FINISHED: Final = frozenset({"STOP", "FINISH_REASON_UNSPECIFIED"})
#: why a Live session's turn has no answer; calls came before, and stand: https://ai.google.dev/api/live
LIVE_BLOCKED: Final = frozenset(
    {
        *("PROHIBITED_INPUT_CONTENT", "IMAGE_PROHIBITED_INPUT_CONTENT", "INPUT_IMAGE_CELEBRITY", "INPUT_OTHER"),
        *("INPUT_TEXT_CONTAIN_PROMINENT_PERSON_PROHIBITED", "INPUT_IMAGE_PHOTO_REALISTIC_CHILD_PROHIBITED"),
        *("INPUT_TEXT_NCII_PROHIBITED", "INPUT_IP_PROHIBITED", "UNSAFE_PROMPT_FOR_IMAGE_GENERATION"),
        *("GENERATED_IMAGE_SAFETY", "GENERATED_CONTENT_SAFETY", "GENERATED_AUDIO_SAFETY", "GENERATED_VIDEO_SAFETY"),
        *("GENERATED_CONTENT_PROHIBITED", "GENERATED_CONTENT_BLOCKLIST", "GENERATED_IMAGE_PROHIBITED"),
        *("GENERATED_IMAGE_CELEBRITY", "GENERATED_IMAGE_PROMINENT_PEOPLE_DETECTED_BY_REWRITER"),
        *("GENERATED_IMAGE_IDENTIFIABLE_PEOPLE", "GENERATED_IMAGE_MINORS", "OUTPUT_IMAGE_IP_PROHIBITED"),
        "GENERATED_OTHER",
    }
)
WORDS: Final[FinishWords] = {
    FinishKind.STOP: ("STOP", "NEED_MORE_INPUT"),
    FinishKind.TOOL_CALLS: ("STOP",),
    FinishKind.LENGTH: ("MAX_TOKENS", "CONTINUATION"),  # behind which the turn can be gone on with
    FinishKind.CONTENT_FILTER: (
        *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE"),
        *("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION", "PUP_LIMITED_DISABLED"),
        *LIVE_BLOCKED,
    ),
    FinishKind.PAUSE: ("STOP",),
    FinishKind.MALFORMED: (
        *("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"),
        "MISSING_THOUGHT_SIGNATURE",
    ),
    FinishKind.ERROR: ("OTHER", "IMAGE_OTHER", "NO_IMAGE", "RESPONSE_REJECTED", "MAX_REGENERATION_REACHED"),
}
CUT_OFF: Final = words_of(WORDS, FinishKind.LENGTH)
#: nothing may run, whoever passes the word on; here, that is so for all other words
DISOWNED: Final = words_of(WORDS, FinishKind.CONTENT_FILTER, FinishKind.MALFORMED, FinishKind.ERROR) - LIVE_BLOCKED
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
        if reason in FINISHED:
            self.end(LOST_END)
            return
        if reason in CUT_OFF:
            calls = self.calls[-1:]
            why = why_cut(reason)
        else:
            calls = self.calls
            why = why_void("finishReason", reason)
        self.end(why)
        for draft in calls:
            self._drafts.disown(draft, why)


def block_reason(message: Wire) -> str | None:
    """Say why the prompt was refused, in Gemini's word; ``None`` if it was not.

    https://ai.google.dev/api/generate-content#BlockReason
    """
    feedback = as_dict(pick(message, "promptFeedback", "prompt_feedback"))
    return None if feedback is None else word(feedback, "blockReason", "block_reason")


def live_reason(message: Wire) -> str | None:
    """Say why a turn of a Live session is complete, in Gemini's word; ``None`` where it says nothing."""
    content = as_dict(pick(message, "serverContent", "server_content"))
    return None if content is None else word(content, "turnCompleteReason", "turn_complete_reason")


def cancelled_in(message: Wire) -> list[Any] | None:
    """Give the ids of the calls that a Live message takes back; ``None`` for every other message."""
    cancellation = as_dict(pick(message, "toolCallCancellation", "tool_call_cancellation"))
    return None if cancellation is None else as_list(cancellation.get("ids"))


def is_in_pieces(part: Wire) -> bool:
    """Whether this ``functionCall`` is only a piece of a call."""
    call = as_dict(pick(part, "functionCall", "function_call")) or part
    return bool(pick(call, "willContinue", "will_continue") or partials_of(call))


def assembled(parts: list[Wire], find_call: Callable[[Wire], FoundCall | None]) -> list[FoundCall]:
    """Put the calls of one message together, of which some are in pieces; what does not end in it is cut off."""
    drafts = Drafts(MAX_ARGUMENTS_BYTES, max_calls=len(parts) + 1)
    candidate = _Candidate(drafts)
    for part in parts:
        candidate.part(part, as_dict(pick(part, "functionCall", "function_call")) or part, find_call)
    candidate.end(LOST_END)
    return [draft.call for draft in sorted(drafts.sealed, key=lambda draft: draft.place)]


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
        if event.get("error"):
            self._drafts.fail(fault_of(event, as_dict(event["error"])))
        elif candidates is not None:
            for item in as_list(candidates):
                candidate = as_dict(item)
                if candidate is not None:
                    self._candidate(candidate)
        elif not self._live(event):
            self._candidate(event)
        blocked = block_reason(event)
        if blocked is not None:
            self._drafts.refuse_all(f"the call was not run: the prompt was blocked ({blocked})")
            self._drafts.is_ended = True

    def _live(self, message: Wire) -> bool:
        cancelled = cancelled_in(message)
        if cancelled is not None:
            self._drafts.cancel(cancelled)
            return True
        calls = self._live_calls(message)
        for item in calls:
            found = self._find_call(as_dict(item) or {})
            if found is not None and not self._drafts.has_given(found):
                self._drafts.forget_given()
                self._drafts.whole(found)
        content = as_dict(pick(message, "serverContent", "server_content")) or {}
        is_ended = bool(calls) or pick(content, "turnComplete", "turn_complete") is True
        self._drafts.is_ended = self._drafts.is_ended or is_ended
        return is_ended

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
            state.finish(reason)
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
