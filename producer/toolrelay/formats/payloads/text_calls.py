"""Calls that a model wrote into its text, in ``<tool_call>`` tags: Hermes, Qwen and many local models.

Read only when asked for. The tag is what tells a call from an example in prose: outside of tags there is no call.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from toolrelay.formats.openai_chat import cut_by, void_by
from toolrelay.formats.protocol import FoundCall, Wire, refuse_all, word
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.shared.text import size_in_bytes
from toolrelay.formats.streams.drafts import LOST_END, Drafts, StreamFault, StreamReader

_OPEN: Final = "<tool_call>"
_CLOSE: Final = "</tool_call>"
_DECODER: Final = json.JSONDecoder()


class SplitText(NamedTuple):
    """A model's text without the calls in it, and the calls."""

    text: str
    calls: list[FoundCall]
    is_open: bool
    """Whether the last call's tag was never closed."""


def split_text(text: str) -> SplitText:
    """Take the tagged calls out of a text; what is tagged and cannot be read is a call that must not run."""
    rest: list[str] = []
    calls: list[FoundCall] = []
    at, is_open = 0, False
    while (start := text.find(_OPEN, at)) >= 0:
        rest.append(text[at:start])
        at, is_open, call = _call_at(text, start + len(_OPEN))
        calls.append(call)
    rest.append(text[at:])
    return SplitText("".join(rest).strip(), calls, is_open)


def _call_at(text: str, start: int) -> tuple[int, bool, FoundCall]:
    """Read one call, and where it ends; closing tags inside of the JSON's own texts do not count."""
    begins = start
    while text[begins : begins + 1].isspace():
        begins += 1
    try:
        value, end = _DECODER.raw_decode(text, begins)
    except (ValueError, RecursionError):
        value, end = None, start
    closing = text.find(_CLOSE, end)
    is_open = closing < 0
    last = len(text) if is_open else closing
    behind = last if is_open else closing + len(_CLOSE)
    if isinstance(value, dict) and not text[end:last].strip():
        return behind, is_open, FoundCall(value.get("name"), value.get("arguments", value.get("parameters")), raw=value)
    body = text[begins:last].rstrip()
    call = FoundCall(None, body, raw=body)
    call.refuse("the call in the text is truncated or is not a JSON object")
    return behind, is_open, call


def calls_in_text(message: Wire) -> list[FoundCall]:
    """Read the tagged calls of a Chat response, choice or message."""
    found: list[FoundCall] = []
    for choice in _choices_of(message) or [message]:
        content = (as_dict(choice.get("message")) or choice).get("content")
        if isinstance(content, str):
            found += _calls_of(content, _reason_of(choice))
    return found


def _choices_of(event: Wire) -> list[Wire]:
    return [choice for item in as_list(event.get("choices")) if (choice := as_dict(item))]


def _reason_of(choice: Wire) -> str | None:
    return word(choice, "finish_reason", "done_reason")


def _calls_of(text: str, reason: str | None, *, is_lost: bool = False) -> list[FoundCall]:
    found = split_text(text)
    cut, void = LOST_END if is_lost else cut_by(reason), void_by(reason)
    if void is not None:
        refuse_all(found.calls, void)
    elif found.is_open and cut is not None:
        found.calls[-1].refuse(cut)
    return found.calls


class TextCallStream:
    """A Chat stream's reader that also gives the calls a model wrote into its text, when their choice ends.

    As in a whole message, the text of a choice that has other calls is only text.
    """

    def __init__(self, reader: StreamReader, drafts: Drafts, max_bytes: int) -> None:
        self._reader = reader
        self._drafts = drafts
        self._max_bytes = max_bytes
        self._texts: dict[int, list[str]] = {}
        self._size_in_bytes = 0
        self._with_calls: set[int] = set()

    def feed(self, event: Wire) -> None:
        """Read one chunk, or one message of Ollama's own stream; raises ``StreamFault`` for text beyond the limit."""
        self._reader.feed(event)
        if self._drafts.failure is not None:
            return
        for choice in _choices_of(event) or [event]:
            said = as_dict(choice.get("delta")) or as_dict(choice.get("message")) or {}
            index = choice.get("index")
            place = index if isinstance(index, int) else 0
            self._said(place, said)
            reason = _reason_of(choice)
            if reason is not None:
                self._end(place, reason)

    def close(self) -> None:
        """Give the calls of choices whose end nobody announced; one that is not closed may be cut off."""
        for index in list(self._texts):
            self._end(index, None, is_lost=True)
        self._reader.close()

    def _said(self, index: int, said: Wire) -> None:
        if said.get("tool_calls") or said.get("function_call"):
            self._with_calls.add(index)
        content = said.get("content")
        if not isinstance(content, str) or index in self._with_calls:
            return
        self._size_in_bytes += size_in_bytes(content)
        if self._size_in_bytes > self._max_bytes:
            raise StreamFault(
                f"the text, in which calls may stand, is longer than the limit of {self._max_bytes} bytes"
            )
        self._texts.setdefault(index, []).append(content)

    def _end(self, index: int, reason: str | None, *, is_lost: bool = False) -> None:
        pieces = self._texts.pop(index, [])
        if index in self._with_calls:
            return
        for call in _calls_of("".join(pieces), reason, is_lost=is_lost):
            self._drafts.whole(call)
