"""The event stream of OpenAI Responses: everything comes twice, in pieces and whole, and the whole counts.

Pieces are filed by ``output_index``. ``….done`` brings an item's text once more, ``response.output_item.done`` the
item, ``response.completed`` all items; the first that arrives whole decides, so that a lost event costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolrelay.formats.protocol import FoundCall, Wire, word
from toolrelay.formats.shared.finish import why_void
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.shared.text import as_text
from toolrelay.formats.streams.draft import Draft
from toolrelay.formats.streams.drafts import MAX_CALLS, Drafts, StreamFault, fault_of, label
from toolrelay.models import CallKind

_PIECES: Final = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})
_TEXTS: Final = {
    "response.function_call_arguments.done": "arguments",
    "response.custom_tool_call_input.done": "input",
}
_ENDS: Final = frozenset(
    {"response.completed", "response.done", "response.incomplete", "response.failed", "response.cancelled"}
)
#: items of which there are more than this in no response
_MAX_ITEMS: Final = 20 * MAX_CALLS
#: kinds of items that OpenAI runs or the client: the item tells which
_RUN_ANYWHERE: Final = ("shell_call", "tool_search_call")
_LOST: Final = "the call is truncated: an event of the stream that held a part of it was lost"

Find = Callable[[Wire], FoundCall | None]


class Stream:
    """``response.*`` events."""

    def __init__(self, drafts: Drafts, find_call: Find, find_calls: Callable[[Wire], list[FoundCall]]) -> None:
        self._drafts = drafts
        self._find_call = find_call
        self._find_calls = find_calls
        self._response_id: Any = None
        self._begin()

    def _begin(self) -> None:
        """Begin a response: its items and events are counted from 0 again."""
        self._calls: dict[int | str, Draft] = {}
        """By what their events are labelled with; the last one, where a server labels all items alike."""
        self._by_call_id: dict[str, Draft] = {}
        self._others: set[int | str] = set()
        self._texts: set[int] = set()
        """Places of calls whose whole text has come."""
        self._number: int | None = None
        self._is_lossy = False
        """A number was left out or came again: pieces are no longer to be trusted."""

    def feed(self, event: Wire) -> None:
        """Read one event; what streams in from tools that run at OpenAI's is passed over."""
        kind = word(event, "type") or ""
        if kind == "response.created":
            self._created(as_dict(event.get("response")) or {})
        self._count(event.get("sequence_number"))
        if kind in _PIECES:
            self._piece(event)
        elif kind in _TEXTS:
            self._text(event, event.get(_TEXTS[kind]))
        elif kind == "response.output_item.added":
            self._added(_key(event), as_dict(event.get("item")))
        elif kind == "response.output_item.done":
            self._done(_key(event), as_dict(event.get("item")))
        elif kind in _ENDS:
            self._end(as_dict(event.get("response")) or {}, kind)
        elif kind == "error":
            self._drafts.fail(fault_of(event, as_dict(event.get("error"))))
        else:
            self._other(event)

    def _created(self, response: Wire) -> None:
        identity = response.get("id")
        if self._drafts.is_ended and (identity is None or identity != self._response_id):
            self._drafts.begin_turn()
            self._begin()
        self._response_id = identity

    def _other(self, event: Wire) -> None:
        if "type" not in event and event.get("error"):
            self._drafts.fail(fault_of(event, as_dict(event["error"])))
            return
        response = as_dict(event.get("response"))
        if response is not None and self._drafts.model is None:
            self._drafts.model = response.get("model")
        if "output" in event and "type" not in event:  # a server that does not stream answers with a whole response
            self._drafts.model = event.get("model")
            self._drafts.take(event, self._find_calls)

    def _count(self, number: Any) -> None:
        if not isinstance(number, int) or number < 0:
            return
        if self._number is not None and number != self._number + 1:
            self._is_lossy = True
        self._number = number

    def _added(self, key: int | str | None, item: Wire | None) -> None:
        if key is None or item is None:
            return
        call = self._find_call(item)
        if call is None or not _is_settled(item):
            if key not in self._calls:
                self._remember_other(key)
            return
        if self._known(key, call) is not None:
            return  # it came twice
        call.refusal = None  # "in_progress": the end will tell
        call.arguments = None
        self._start(key, call)

    def _start(self, key: int | str, call: FoundCall) -> Draft:
        draft = self._calls[key] = self._drafts.start(call, key)
        identity = as_text(call.call_id)
        if identity is not None:
            self._by_call_id[identity] = draft
        return draft

    def _known(self, key: int | str, call: FoundCall) -> Draft | None:
        """Give the call that this item was begun as; some servers give all items one index."""
        draft = self._calls.get(key)
        identity = as_text(call.call_id)
        if draft is None or identity is None or as_text(draft.call.call_id) in (None, identity):
            return draft
        return self._by_call_id.get(identity)

    def _remember_other(self, key: int | str) -> None:
        if len(self._others) > _MAX_ITEMS:
            raise StreamFault(f"the stream has more than {_MAX_ITEMS} items")
        self._others.add(key)

    def _draft_of(self, event: Wire) -> Draft | None:
        key = _key(event)
        if key is None:
            key = -1
        draft = self._calls.get(key)
        if draft is None and key not in self._others:
            draft = self._calls[key] = self._drafts.start_nameless(key)
        return draft

    def _piece(self, event: Wire) -> None:
        draft = self._draft_of(event)
        piece = event.get("delta")
        if draft is not None and not draft.is_sealed and draft.place not in self._texts:
            self._drafts.take_piece(draft, piece)

    def _text(self, event: Wire, text: Any) -> None:
        draft = self._draft_of(event)
        if draft is None or draft.is_sealed or text is None:
            return
        draft.forget()
        self._drafts.take_piece(draft, text)
        self._texts.add(draft.place)

    def _done(self, key: int | str | None, item: Wire | None) -> None:
        """Take a whole item; it counts for more than what was put together from pieces."""
        call = None if item is None else self._find_call(item)
        if key is None or item is None:
            return
        if call is None:
            self._not_ours(key, item)
            return
        draft = self._known(key, call) or self._start(key, call)
        if not draft.is_sealed:
            draft.take(call)
            self._drafts.seal(draft)

    def _not_ours(self, key: int | str, item: Wire) -> None:
        """Forget a call that turns out to be run by OpenAI: only its end said where."""
        draft = self._known(key, FoundCall(None, call_id=item.get("call_id")))
        if draft is not None and item.get("type") in _RUN_ANYWHERE:
            self._drafts.drop(draft)
        self._remember_other(key)

    def _end(self, response: Wire, kind: str) -> None:
        status = word(response, "status") or kind.removeprefix("response.")
        if self._drafts.model is None:
            self._drafts.model = response.get("model")
        self._recover(response)
        if status in ("failed", "cancelled"):
            self._drafts.refuse_all(why_void("status", status))
        elif status == "incomplete":
            self._settle("the call is truncated: the response is incomplete")
        else:
            self._settle(None)
        self._drafts.is_ended = True

    def _recover(self, response: Wire) -> None:
        """Take the items of the response for calls that nothing else has completed."""
        items = as_list(response.get("output"))
        for index, entry in enumerate(items):
            item = as_dict(entry) or {}
            call = self._find_call(item) if "type" in item else None
            if call is None:
                continue
            if index == len(items) - 1 and item.get("status") is None and word(response, "status") == "incomplete":
                call.refuse("the call is truncated: the response is incomplete")
            draft = self._by_call_id.get(as_text(call.call_id) or "") or self._known(index, call)
            draft = draft or self._start(index, call)
            if not draft.is_sealed:
                draft.take(call)
                self._drafts.seal(draft)

    def _settle(self, why: str | None) -> None:
        """Give out what is open: with its whole text it is complete, else only if no piece can be missing."""
        for draft in self._drafts.open:
            has_text = draft.place in self._texts
            if why is not None and not has_text:
                draft.call.refuse(why)
            elif draft.call.kind not in (CallKind.FUNCTION, CallKind.CUSTOM) or (self._is_lossy and not has_text):
                draft.call.refuse(_LOST)
            self._drafts.seal(draft)

    def close(self) -> None:
        """The connection is gone: an item whose text has come is whole, the others never will be."""
        for draft in self._drafts.open:
            if draft.place not in self._texts:
                draft.call.refuse("the call is truncated: the stream ended while it was being written")
            self._drafts.seal(draft)


def _is_settled(item: Wire) -> bool:
    """Whether the beginning of an item tells who runs it: a shell's may tell it only at its end."""
    return item.get("type") != "shell_call" or item.get("environment") is not None


def _key(event: Wire) -> int | str | None:
    index = label(event.get("output_index"))
    return label(event.get("item_id")) if index is None else index
