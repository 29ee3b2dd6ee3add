"""Finding the calls in whatever an agent hands over: JSON text, an SDK's object, one message or a list of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from toolrelay.errors import InvalidPayloadError
from toolrelay.formats import FORMATS
from toolrelay.formats._answers import answers_in, is_answered_by
from toolrelay.formats._detect import detect
from toolrelay.formats._json import bounded_integer
from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import FoundCall, Wire, pick
from toolrelay.formats._text_calls import calls_in_text
from toolrelay.formats.generic import ARGUMENT_KEYS
from toolrelay.models import ProblemKind, ProviderFormat

_ADVICE: Final = "pass the provider's response: its object, its dict or its JSON text"


#: a found call and the format it was found in
Located = tuple[FoundCall, ProviderFormat]


def find_in(message: Any, chosen: ProviderFormat | None, *, text_calls: bool = False) -> list[Located]:
    """Find the client's calls, in order; without a ``chosen`` format each message tells its own.

    ``text_calls`` looks for tagged calls in the text of Chat messages that have no others.

    Raises ``InvalidPayloadError`` for what is no message of any format.
    """
    if type(message) is not dict:
        if isinstance(message, (str, bytes, bytearray)):
            message = _parsed(message)
        if isinstance(message, (list, tuple)):
            return _in_list(message, chosen, text_calls=text_calls)
    payload = as_dict(message)
    if payload is None:
        raise InvalidPayloadError(f"the message is {_named(message)}; {_ADVICE}")
    found = _in_dict(payload, chosen, text_calls=text_calls)
    if found is None:
        keys = ", ".join(map(repr, list(payload)[:5])) or "none"
        raise InvalidPayloadError(f"no provider's message has these keys: {keys}; {_ADVICE}, or a provider_format")
    return found


def payload_of(message: Any) -> tuple[Wire, ProviderFormat]:
    """Give a single message as a dict, and whose it is; raises ``InvalidPayloadError`` for what is none."""
    if isinstance(message, (str, bytes, bytearray)):
        message = _parsed(message)
    payload = as_dict(message)
    if payload is None:
        raise InvalidPayloadError(f"the message is {_named(message)}; {_ADVICE}")
    return payload, detect(payload)


def _named(value: Any) -> str:
    return "null" if value is None else f"of type {type(value).__name__}"


def _parsed(text: str | bytes | bytearray) -> Any:
    try:
        try:
            value = json.loads(text)
        except json.JSONDecodeError:
            raise
        except ValueError:
            value = json.loads(text, parse_int=bounded_integer)
    except RecursionError:
        raise InvalidPayloadError(f"the message is JSON that is nested too deep to be read; {_ADVICE}") from None
    except ValueError as exc:
        raise InvalidPayloadError(f"the message is text, but not JSON ({exc}); {_ADVICE}") from exc
    if isinstance(value, (dict, list)):
        return value
    raise InvalidPayloadError(f"the message is JSON, but {_named(value)}, no object or array; {_ADVICE}")


def _in_dict(payload: Wire, chosen: ProviderFormat | None, *, text_calls: bool) -> list[Located] | None:
    provider_format = chosen or detect(payload)
    if chosen is None and provider_format is ProviderFormat.UNKNOWN and not _is_something(payload):
        return None
    calls = FORMATS[provider_format].find_calls(payload)
    if text_calls and not calls and provider_format is ProviderFormat.OPENAI:
        calls = calls_in_text(payload)
    model = payload.get("model")
    if model is None:
        model = pick(payload, "modelVersion", "model_version")
    if isinstance(model, str):
        for call in calls:
            call.metadata["model"] = model
    return [(call, provider_format) for call in calls]


def _is_something(payload: Wire) -> bool:
    return "type" in payload or "text" in payload or "name" in payload or any(key in payload for key in ARGUMENT_KEYS)


def _in_list(entries: list[Any] | tuple[Any, ...], chosen: ProviderFormat | None, *, text_calls: bool) -> list[Located]:
    """Read messages, blocks, items or calls one after the other; calls that a later entry answers are done."""
    found: list[Located] = []
    is_known = False
    for payload in _payloads(entries):
        answers = answers_in(payload)
        for answer in answers:
            done = next((place for place, (call, _) in enumerate(found) if is_answered_by(call, answer)), None)
            if done is not None:
                del found[done]
        _cancel(found, payload)
        here = [] if answers else _in_dict(payload, chosen, text_calls=text_calls)
        is_known = is_known or here is not None
        found += here or []
    if entries and not is_known:
        raise InvalidPayloadError(f"no provider's messages look like the {len(entries)} in the list; {_ADVICE}")
    return found


def _payloads(entries: list[Any] | tuple[Any, ...]) -> Iterator[Wire]:
    for index, entry in enumerate(entries):
        payload = as_dict(entry)
        if payload is not None:
            yield payload
        elif not isinstance(entry, str):  # text stands between blocks in LangChain's content
            raise InvalidPayloadError(f"entry {index} of the list is {_named(entry)}, no message or call; {_ADVICE}")


def _cancel(found: list[Located], message: Wire) -> None:
    """Keep calls from being run that Gemini Live took back."""
    cancellation = as_dict(pick(message, "toolCallCancellation", "tool_call_cancellation"))
    if cancellation is None:
        return
    identities = as_list(cancellation.get("ids"))
    for call, _ in found:
        if call.call_id in identities:
            call.metadata["cancelled"] = True
            call.refuse("the call was cancelled by the model", ProblemKind.CANCELLED)
