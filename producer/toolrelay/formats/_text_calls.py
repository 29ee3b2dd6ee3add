"""Calls that a model wrote into its text, in ``<tool_call>`` tags: Hermes, Qwen and many local models.

Read only when asked for. The tag is what tells a call from an example in prose: outside of tags there is no call.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import FoundCall, Wire

_OPEN: Final = "<tool_call>"
_CLOSE: Final = "</tool_call>"
_DECODER: Final = json.JSONDecoder()


class SplitText(NamedTuple):
    """A model's text without the calls in it, and the calls."""

    text: str
    calls: list[FoundCall]


def split_text(text: str) -> SplitText:
    """Take the tagged calls out of a text; what is tagged and cannot be read is a call that must not run."""
    rest: list[str] = []
    calls: list[FoundCall] = []
    at = 0
    while (start := text.find(_OPEN, at)) >= 0:
        rest.append(text[at:start])
        at, call = _call_at(text, start + len(_OPEN))
        calls.append(call)
    rest.append(text[at:])
    return SplitText("".join(rest).strip(), calls)


def _call_at(text: str, start: int) -> tuple[int, FoundCall]:
    """Read one call and the place behind its closing tag; tags inside of the JSON's own texts do not count."""
    begins = start
    while text[begins : begins + 1].isspace():
        begins += 1
    try:
        value, end = _DECODER.raw_decode(text, begins)
    except (ValueError, RecursionError):
        value, end = None, start
    closing = text.find(_CLOSE, end)
    behind = len(text) if closing < 0 else closing + len(_CLOSE)
    body = text[begins : len(text) if closing < 0 else closing].rstrip()
    if not isinstance(value, dict) or text[end : behind - len(_CLOSE) if closing >= 0 else behind].strip():
        call = FoundCall(None, body, raw=body)
        call.refuse("the call in the text is truncated or is no JSON object")
        return behind, call
    return behind, FoundCall(value.get("name"), value.get("arguments", value.get("parameters")), raw=value)


def calls_in_text(message: Wire) -> list[FoundCall]:
    """Read the tagged calls of a Chat response, choice or message."""
    choices = [choice for item in as_list(message.get("choices")) if (choice := as_dict(item))]
    found: list[FoundCall] = []
    for choice in choices or [message]:
        content = (as_dict(choice.get("message")) or choice).get("content")
        if isinstance(content, str):
            found += split_text(content).calls
    return found
