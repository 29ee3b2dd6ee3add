"""Streams of numbered blocks, each with a start, pieces and a stop: Anthropic, Bedrock and Gemini Interactions.

A block's stop says that the model is done with it or that it was stopped; which of the two, only the end of the turn or
the next block tells. So a call is given out at its stop only if its arguments are one whole object.
"""

from __future__ import annotations

from typing import Any, Final

from toolrelay.formats.protocol import FoundCall
from toolrelay.formats.streams.draft import Draft, is_nothing
from toolrelay.formats.streams.drafts import Drafts, label

_MAX_OTHERS: Final = 1000


class Blocks:
    """The blocks of one message, of which some are calls that the client runs."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._calls: dict[int | str | None, Draft] = {}
        self._others: set[int | str | None] = set()

    def start(self, index: Any, call: FoundCall | None) -> None:
        """A block begins: a call, or ``None`` for anything else. What came before is over."""
        index = label(index)
        known = self._calls.get(index)
        if known is not None and call is not None and _is_same(known.call, call):
            return  # an event came twice
        self._settle_before()
        if call is None:
            if len(self._others) > _MAX_OTHERS:
                self._others.clear()  # blocks follow one another: the old ones get no more pieces
            self._others.add(index)
            self._calls.pop(index, None)
            return
        self._others.discard(index)
        if is_nothing(call.arguments):
            call.arguments = None  # the wire's placeholder until the pieces come
        self._calls[index] = self._drafts.start(call, index)

    def write(self, index: Any, piece: Any) -> None:
        """A piece of a call's arguments; for a block that never began, a call without a name."""
        index = label(index)
        draft = self._calls.get(index)
        if draft is None:
            if index in self._others or not piece:
                return
            draft = self._calls[index] = self._drafts.start_nameless(index)
        if isinstance(piece, str):
            self._drafts.write(draft, piece)
        else:
            self._drafts.take_piece(draft, piece)

    def stop(self, index: Any) -> None:
        """A block is over."""
        draft = self._calls.get(label(index))
        if draft is not None and not draft.is_sealed:
            draft.is_stopped = True
            if draft.is_whole():
                self._drafts.seal(draft)

    def cut_off(self, why: str) -> None:
        """The model was stopped by a limit: a call that is not whole by now never will be."""
        self._drafts.seal_rest(why)

    def _settle_before(self) -> None:
        for draft in self._drafts.open:
            if draft.is_stopped or draft.is_whole():
                self._drafts.seal(draft)


def _is_same(known: FoundCall, call: FoundCall) -> bool:
    return known.call_id is not None and known.call_id == call.call_id
