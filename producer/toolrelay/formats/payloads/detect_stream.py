"""Telling streams apart, and from messages, by the keys of their events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.streams.drafts import Drafts, StreamFault, StreamReader
from toolrelay.models import ProviderFormat as Format

_ANTHROPIC: Final = frozenset(
    {"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"}
) | {"message_stop"}
_BEDROCK: Final = ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop")
_GEMINI: Final = (
    *("candidates", "toolCall", "toolCallCancellation", "serverContent", "setupComplete"),
    *("tool_call", "tool_call_cancellation", "server_content", "setup_complete"),
)
#: after so many events that do not tell, whose they are is the caller's word
_FIRST: Final = 10
#: they say nothing, whoever sends them: the end of a stream, its costs
_SILENT: Final = ("ping", "error", "usage", "usageMetadata", "usage_metadata")


def stream_format(events: Sequence[Wire], *, is_message_possible: bool) -> Format | None:
    """Say whose stream these are; ``None`` for what is none.

    Some providers stream what a message may look like as well: where that is possible, it is no stream.
    """
    found = next((sure for event in events if (sure := _sure(event)) is not None), None)
    if found is not None or is_message_possible:
        return found
    likely = {_likely(event) for event in events if not _says_nothing(event)}
    if not likely:
        return next((failed for event in events if (failed := _failed(event)) is not None), None)
    return likely.pop() if len(likely) == 1 else None


class FirstEvents:
    """Stands before a reader until it is clear that the events are its format's: another's would only look empty.

    Then ``step_aside`` is called, once, so that nobody pays for it any more. Raises ``StreamFault`` for the events of
    another provider's stream.
    """

    def __init__(
        self, reader: StreamReader, expected: Format, drafts: Drafts, step_aside: Callable[[StreamReader], None]
    ) -> None:
        self._reader = reader
        self._expected = expected
        self._drafts = drafts
        self._step_aside = step_aside
        self._count = 0

    def feed(self, event: Wire) -> None:
        """Look whose the event is, and hand it on."""
        found = _sure(event) or _likely(event)
        self._count += 1
        if found is not None and found is not self._expected:
            raise StreamFault(
                f"these are the events of {found.value!r}, not of {self._expected.value!r}: nothing was read. "
                f"Read the stream as {found.value!r}"
            )
        if found is not None or self._count == _FIRST or self._drafts.open or self._drafts.sealed:
            self._step_aside(self._reader)
        self._reader.feed(event)

    def close(self) -> None:
        """Hand on that no more events come."""
        self._reader.close()


def _sure(event: Wire) -> Format | None:
    kind = event.get("event_type", event.get("type"))
    if isinstance(kind, str):
        if kind in _ANTHROPIC:
            return Format.ANTHROPIC
        if kind.startswith("response."):
            return Format.OPENAI_RESPONSES
        if kind.startswith(("interaction.", "step.")):
            return Format.GEMINI_INTERACTIONS
    if any(key in event for key in _BEDROCK):
        return Format.BEDROCK
    choices = [choice for item in as_list(event.get("choices")) if (choice := as_dict(item)) is not None]
    is_chunk = event.get("object") == "chat.completion.chunk" or any("delta" in choice for choice in choices)
    return Format.OPENAI if is_chunk else None


def _likely(event: Wire) -> Format | None:
    if event.get("type") == "AIMessageChunk" or "tool_call_chunks" in event:
        return Format.LANGCHAIN
    if "jsonrpc" in event:
        return Format.MCP
    return Format.GEMINI if any(key in event for key in _GEMINI) else None


def _failed(event: Wire) -> Format | None:
    """Tell by its error whose stream failed before it began."""
    if event.get("type") == "error":
        return Format.OPENAI_RESPONSES if "message" in event else Format.ANTHROPIC
    return Format.OPENAI if as_dict(event.get("error")) is not None else None


def _says_nothing(event: Wire) -> bool:
    return event.get("type") in ("ping", "error") or (bool(event) and set(event) <= set(_SILENT))
