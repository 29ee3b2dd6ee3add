"""Cutting a stream's argument text into other pieces: the events differ, the calls they make must not."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from toolrelay.models import ProviderFormat

Event = dict[str, Any]
#: says where a text of this length is to be cut
Cut = Callable[[int], list[int]]


def pieces_of(text: str, cut: Cut) -> list[str]:
    places = [0, *sorted({place for place in cut(len(text)) if 0 < place < len(text)}), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def recut(events: list[Event], provider_format: ProviderFormat, cut: Cut) -> list[Event]:
    """Give the same stream with every argument delta cut further, or not at all."""
    return [event for whole in events for event in _cut(whole, provider_format, cut)]


def _cut(event: Event, provider_format: ProviderFormat, cut: Cut) -> Iterator[Event]:
    holder, key = _text_of(event, provider_format)
    if holder is None or not isinstance(holder.get(key), str) or not holder[key]:
        yield event
        return
    for number, piece in enumerate(pieces_of(holder[key], cut)):
        part = copy.deepcopy(event)
        inside, _ = _text_of(part, provider_format)
        assert inside is not None
        inside[key] = piece
        if number:
            _take_away_opening(part, provider_format)
        yield part


def _text_of(event: Event, provider_format: ProviderFormat) -> tuple[Event | None, str]:
    """Find the one piece of argument text that an event holds."""
    match provider_format:
        case ProviderFormat.OPENAI:
            calls = [call for choice in event["choices"] for call in (choice.get("delta") or {}).get("tool_calls", [])]
            return (calls[0].get("function"), "arguments") if len(calls) == 1 else (None, "")
        case ProviderFormat.LANGCHAIN:
            chunks = event.get("tool_call_chunks", [])
            return (chunks[0], "args") if len(chunks) == 1 else (None, "")
        case ProviderFormat.ANTHROPIC:
            return (event["delta"], "partial_json") if "partial_json" in event.get("delta", {}) else (None, "")
        case ProviderFormat.GEMINI_INTERACTIONS:
            return (event["delta"], "arguments") if "arguments" in event.get("delta", {}) else (None, "")
        case ProviderFormat.OPENAI_RESPONSES:
            return (event, "delta") if isinstance(event.get("delta"), str) else (None, "")
        case ProviderFormat.BEDROCK:
            use = event.get("contentBlockDelta", {}).get("delta", {}).get("toolUse")
            return (use, "input") if use else (None, "")
    return None, ""


def _take_away_opening(event: Event, provider_format: ProviderFormat) -> None:
    """Id and name come with a call's first delta only, and so does what ends the choice with its last."""
    if provider_format is ProviderFormat.OPENAI:
        for choice in event["choices"]:
            for call in choice["delta"]["tool_calls"]:
                call.pop("id", None)
                call["function"].pop("name", None)
    elif provider_format is ProviderFormat.LANGCHAIN:
        for chunk in event["tool_call_chunks"]:
            chunk.update(id=None, name=None)


def numbered(events: list[Event]) -> list[Event]:
    """Number Responses' events anew, as the service would have."""
    return [
        {**event, "sequence_number": number} if "sequence_number" in event else event
        for number, event in enumerate(events)
    ]


def as_sse(events: list[Event]) -> str:
    return "".join(f"event: {event.get('type', 'message')}\ndata: {json.dumps(event)}\n\n" for event in events)
