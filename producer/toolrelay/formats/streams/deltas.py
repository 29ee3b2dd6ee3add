"""Call deltas that carry an index, an id and a name, or some of these: Chat Completions and LangChain.

What OpenAI writes is easy: the first delta of a call has id and name, all have its index. Compatible servers leave the
index out, send it as 0 or ``null`` or count it up by delta; they repeat the id and the name, send an empty id, or none.
The rules: a new id opens a call, unless a piece without a name goes on with a call that is not whole; a name opens a
call where one is already being written; everything else belongs to the call of its index, else to the last one.
"""

from __future__ import annotations

from typing import Any, Final

from toolrelay.formats.protocol import FoundCall
from toolrelay.formats.shared.text import as_text
from toolrelay.formats.streams.draft import Draft
from toolrelay.formats.streams.drafts import CONTRADICTION, Drafts, label
from toolrelay.models import CallKind

#: longer than any tool's name may be: what is cut off here is no tool that exists
_MAX_NAME_CHARS: Final = 1024


class Deltas:
    """The calls of one choice, put together from their deltas."""

    def __init__(self, drafts: Drafts) -> None:
        self._metadata: dict[str, Any] = {}
        self._drafts = drafts
        self._all: list[Draft] = []
        self._mine: list[Draft] = []
        """Those of them that may be open."""
        self.touched: list[Draft] = []
        """Calls that the event at hand has said something of; its reader empties it. No event comes twice in one."""
        self._last: Draft | None = None
        self._by_index: dict[int | str, Draft] = {}
        self._by_id: dict[str, Draft] = {}
        self._left: set[int | str] = set()
        """Indexes that a call had before it drifted on."""

    def add(self, index: Any, call_id: Any, name: Any, arguments: Any, kind: CallKind = CallKind.FUNCTION) -> Draft:
        """Take one delta; ``arguments`` is a piece of text, nothing, or a whole object."""
        if type(index) is int and type(arguments) is str and not call_id and not name and index not in self._left:
            draft = self._by_index.get(index)
            if draft is not None:  # nearly every delta
                self._last = draft
                self._drafts.write(draft, arguments)
                return draft
        index = label(index)
        identity = None if call_id is None else as_text(call_id)
        name = name if isinstance(name, str) and name else None
        draft = self._find(index, identity, name, arguments)
        if draft is None:
            draft = self._open(index, identity, name, kind)
        else:
            self._complete(draft, identity, name)
        self._last = draft
        self._write(draft, arguments)
        self.touched.append(draft)
        return draft

    def settle(self, cut: str | None = None) -> None:
        """The choice has ended; ``cut`` says why what was written last may not be whole."""
        mine = [draft for draft in self._mine if not draft.is_sealed]
        if cut is not None:
            for draft in mine:
                if draft is self._last or draft is mine[-1] or not draft.size:
                    draft.call.refuse(cut)
            if self._last is not None and self._last.is_sealed:
                self._drafts.disown(self._last, cut)
        for draft in mine:
            self._drafts.seal(draft)
        self._mine.clear()

    def refuse(self, why: str) -> None:
        """The choice has ended in a way that forbids to run any of its calls."""
        for draft in self._all:
            if draft.is_sealed:
                self._drafts.disown(draft, why)
            else:
                draft.call.refuse(why)
                self._drafts.seal(draft)
        self._mine.clear()

    def number(self, choice: int) -> None:
        """Say of these calls, and of all to come, which of several choices they belong to."""
        self._metadata = {"choice": choice}
        for draft in self._mine:
            if not draft.is_sealed:
                draft.call.metadata.update(self._metadata)

    def _find(self, index: int | str | None, identity: str | None, name: str | None, arguments: Any) -> Draft | None:
        """Find the call that this delta goes on with; ``None`` if it opens one."""
        if identity is not None:
            return self._by_identity(index, identity, name, arguments)
        draft = self._last if index is None else self._by_index.get(index)
        if draft is None:
            return None if index is None or name else self._drifting(index)
        if index in self._left:
            draft.call.refuse(CONTRADICTION)
        return None if name and self._is_other(draft, name, arguments) else draft

    def _by_identity(self, index: int | str | None, identity: str, name: str | None, arguments: Any) -> Draft | None:
        known = self._by_id.get(identity)
        if known is not None:
            return None if name and self._is_second(known, index, name, arguments) else known
        draft = self._last if index is None else self._by_index.get(index)
        if draft is None or draft.is_sealed:
            return None
        if draft.call.call_id is None:
            return None if name and self._is_other(draft, name, arguments) else draft
        # some servers make up a new id for every delta; a delta that opens a call has a name
        return None if name or draft.is_whole() else draft

    def _is_second(self, known: Draft, index: int | str | None, name: str, arguments: Any) -> bool:
        """Whether a delta with a name and this call's id opens another one: some servers give two calls one id."""
        if known in self.touched:
            return _stands_beside(known, name, arguments)
        if not known.is_sealed and not known.is_whole():
            return False
        if index is not None and index != known.index:
            return True
        return _begins_something(arguments) and not self._is_repeat(known, arguments)

    def _is_other(self, draft: Draft, name: str, arguments: Any) -> bool:
        """Whether a delta with a name, but without an id, opens another call than this one."""
        if draft.call.name is None:
            return False
        if draft in self.touched:
            return _stands_beside(draft, name, arguments)
        if not draft.size and not draft.is_sealed:  # else a name that comes in pieces, or once more
            return draft.call.name != name and _says_something(arguments)
        if draft.call.name != name:
            return True
        is_more = _begins_something(arguments) and not self._is_repeat(draft, arguments)
        return is_more and (draft.is_sealed or draft.is_whole())

    def _drifting(self, index: int | str) -> Draft | None:
        """Go on with the last call under a new index, if it is the only one that is being written."""
        draft = self._last
        if draft is None or draft.is_sealed or draft.call.name is None or draft.is_whole():
            return None
        if draft.index is None or sum(not mine.is_sealed for mine in self._mine) > 1:
            return None
        self._left.add(draft.index)  # should that index return, then two calls were mixed up
        draft.index = index
        self._by_index[index] = draft
        return draft

    def _open(self, index: int | str | None, identity: str | None, name: str | None, kind: CallKind) -> Draft:
        self._drafts.seal_whole()
        self._mine = [draft for draft in self._mine if not draft.is_sealed]
        if name is None and identity is None:
            draft = self._drafts.start_nameless(index)
        else:
            draft = self._drafts.start(FoundCall(name, call_id=identity, kind=kind), index)
        draft.call.metadata.update(self._metadata)
        self._all.append(draft)
        self._mine.append(draft)
        if index is not None:
            self._by_index[index] = draft
            self._left.discard(index)
        if identity is not None:
            self._by_id[identity] = draft
        return draft

    def _complete(self, draft: Draft, identity: str | None, name: str | None) -> None:
        if identity is not None and draft.call.call_id is None and not draft.is_sealed:
            draft.call.call_id = identity
            self._by_id[identity] = draft
        if name is None or draft.is_sealed:
            return
        if draft.call.name is None:
            draft.call.name = name
        elif name != draft.call.name and not draft.size:
            draft.call.name = (draft.call.name + name)[:_MAX_NAME_CHARS]  # a name in pieces

    def _write(self, draft: Draft, arguments: Any) -> None:
        if arguments is not None and (draft in self.touched or not self._is_repeat(draft, arguments)):
            self._drafts.take_piece(draft, arguments)

    def _is_repeat(self, draft: Draft, arguments: Any) -> bool:
        """Whether this is the whole text once more: an event came twice."""
        if draft.is_sealed:
            return bool(draft.call.arguments == arguments)
        if not isinstance(arguments, str) or draft.size != len(arguments) or draft.size < 2:
            return False
        return draft.text() == arguments and draft.is_whole()


def _stands_beside(draft: Draft, name: str, arguments: Any) -> bool:
    """Whether an entry with a name is another call than this one, of which the same event has spoken already."""
    if draft.call.name != name or draft.is_sealed or draft.is_whole():
        return True
    return _begins_something(arguments) if draft.size else not _says_something(arguments)


def _begins_something(arguments: Any) -> bool:
    return arguments.lstrip().startswith(("{", '"{')) if isinstance(arguments, str) else arguments is not None


def _says_something(arguments: Any) -> bool:
    return bool(arguments.strip()) if isinstance(arguments, str) else arguments is not None
