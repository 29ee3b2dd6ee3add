"""How a payload was read, as data: a message or a stream as text, whose it is, and all that was found in it.

``toolrelay explain`` shows it; tests and logs may as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolrelay.errors import InvalidPayloadError
from toolrelay.formats.arguments.strict_json import bounded_integer
from toolrelay.formats.payloads.detect import detect
from toolrelay.formats.payloads.detect_stream import stream_format
from toolrelay.formats.payloads.endings import Finish, finish_of
from toolrelay.formats.payloads.likeness import is_said, likeness
from toolrelay.formats.payloads.messages import conversation_in
from toolrelay.formats.payloads.provider_run import has_text, server_calls
from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.finish import FinishKind
from toolrelay.formats.shared.served import ServerCall
from toolrelay.formats.streams.events import EventText, dicts_in
from toolrelay.models import NormalizedToolRequest, ProviderFormat
from toolrelay.streams import StreamAssembler
from toolrelay.translate import format_named, read_conversation

__all__ = ["Reading", "ServerCall", "read_payload"]

Form = Literal["message", "messages", "stream"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in a payload."""

    provider_format: ProviderFormat | None
    """``None`` for messages of several."""
    is_detected: bool
    """Whether the format was told by the payload, not by the caller."""
    form: Form
    calls: list[NormalizedToolRequest]
    """The client's, in the model's order, those that must not run among them."""
    server_calls: list[ServerCall]
    finish: Finish
    has_text: bool
    """Whether there is something else that the model said."""
    is_ended: bool | None = None
    """Whether a stream said how it ended; ``None`` for messages."""
    failure: str | None = None
    """Why a stream failed."""
    answered: Sequence[NormalizedToolRequest] = ()
    """The calls of a conversation that a later message of it answers; they are not among ``calls``."""
    likeness: str | None = None
    """What the payload looks like, where it is nothing that a model said; ``None`` where a model can have said it."""

    @property
    def is_broken_off(self) -> bool:
        """Whether it is a stream without its end."""
        return self.is_ended is False

    def raise_for_stranger(self) -> None:
        """Raise ``InvalidPayloadError`` for a payload without calls that is nothing that a model said."""
        if self.likeness is not None:
            raise InvalidPayloadError(f"there are no tool calls in it: it looks like {self.likeness}")

    @property
    def is_sound(self) -> bool:
        """Whether every call can run, and the turn came to its end and did not fail."""
        is_whole = self.failure is None and self.finish.problem is None and not self.is_broken_off
        return is_whole and all(call.problem is None for call in self.calls)


def read_payload(text: str, provider_format: ProviderFormat | str | None = None) -> Reading:
    """Read a message, a list of messages, a request's body, or a stream.

    A stream is server-sent events, or JSON events: one a line, laid out, or in a list.

    >>> reading = read_payload('data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}')
    >>> reading.provider_format, reading.form, reading.finish.reason
    (<ProviderFormat.OPENAI: 'openai'>, 'stream', 'stop')

    Raises ``InvalidPayloadError`` for what is none of these.
    """
    chosen = None if provider_format is None else format_named(provider_format)
    whole = _parsed(text)
    value = conversation_in(whole)
    lines = EventText()
    entries = [*lines.feed(text), *lines.close()] if value is None else list(dicts_in(value))
    is_many = value is None or (value is whole and isinstance(value, list) and len(value) > 1)
    found = stream_format(entries, is_message_possible=not is_many)
    if found is not None:
        return _stream(text, entries, chosen or found, is_detected=chosen is None)
    if value is None:
        value = text if lines.unreadable or not entries else entries
    return _messages(value, entries, chosen)  # which says what is wrong with text


def _parsed(text: str) -> Any:
    """Give the one JSON value that the text is; ``None`` where it is not one."""
    try:
        value = json.loads(text, parse_int=bounded_integer)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _stream(text: str, events: list[Wire], chosen: ProviderFormat, *, is_detected: bool) -> Reading:
    assembler = StreamAssembler(chosen)
    calls: dict[int | None, NormalizedToolRequest] = {}
    for given in (assembler.feed(text), assembler.close(), assembler.disowned):
        calls.update((call.sequence, call) for call in given)
    return Reading(
        chosen,
        is_detected,
        "stream",
        [calls[place] for place in sorted(calls, key=lambda place: place or 0)],
        _once(call for event in events for call in server_calls(event, chosen)),
        _finish(events, chosen),
        any(has_text(event, chosen) for event in events),
        assembler.is_ended,
        assembler.failure,
    )


def _messages(value: Any, entries: list[Wire], chosen: ProviderFormat | None) -> Reading:
    calls, answered = read_conversation(value, chosen)
    whose = [chosen or detect(entry) for entry in entries]
    formats = set(whose)
    if len(formats) > 1:  # a user's message of a conversation may look like anybody's
        formats = {call.provider_format for call in calls} or formats - {ProviderFormat.UNKNOWN}
    one = formats.pop() if len(formats) == 1 else None
    located = list(zip(entries, whose, strict=True))
    served = [call for entry, provider_format in located for call in server_calls(entry, provider_format)]
    finish = _finish(entries[-1:], whose[-1]) if entries else Finish(FinishKind.UNKNOWN)
    form: Form = "message" if isinstance(value, dict) else "messages"
    said = [(entry, provider_format) for entry, provider_format in located if is_said(entry)]
    return Reading(
        one,
        chosen is None,
        form,
        calls,
        _once(served),
        finish,
        any(has_text(entry, provider_format) for entry, provider_format in said),
        answered=answered,
        likeness=None if said or calls or answered or served else likeness(value),
    )


def _once(calls: Iterable[ServerCall]) -> list[ServerCall]:
    """Leave out what a later event tells again."""
    seen: dict[object, ServerCall] = {}
    for call in calls:
        seen.setdefault(len(seen) if call.call_id is None else (call.kind, call.call_id), call)
    return list(seen.values())


def _finish(messages: Sequence[Wire], provider_format: ProviderFormat) -> Finish:
    found = [finish for message in messages if (finish := finish_of(message, provider_format)).reason is not None]
    known = [finish for finish in found if finish.kind is not FinishKind.UNKNOWN]
    return next(reversed(known or found), Finish(FinishKind.UNKNOWN))
