"""Finding the calls in whatever an agent hands over: JSON text, an SDK's object, one message or a list of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from toolrelay.errors import InvalidPayloadError
from toolrelay.formats import FORMATS
from toolrelay.formats.arguments.strict_json import bounded_integer
from toolrelay.formats.payloads.bodies import turns_of
from toolrelay.formats.payloads.detect import detect
from toolrelay.formats.payloads.pending import Located, LocatedResult, Pending, results_in
from toolrelay.formats.payloads.text_calls import calls_in_text
from toolrelay.formats.protocol import FoundCall, Wire, pick
from toolrelay.formats.shared.flat import ARGUMENT_KEYS
from toolrelay.formats.shared.plain import as_dict
from toolrelay.formats.shared.results import NO_TEXT
from toolrelay.models import ProviderFormat

_UNKNOWN: Final = ProviderFormat.UNKNOWN  # a name of the module is found sooner than a member of an enum
_ADVICE: Final = "pass the provider's response: its object, its dict or its JSON text"


def find_in(
    message: Any, chosen: ProviderFormat | None, *, text_calls: bool = False, answered: list[Located] | None = None
) -> list[Located]:
    """Find the client's calls, in order; without a ``chosen`` format each message tells its own.

    A list, or a request's body, is a conversation: calls that it answers are done, and given to ``answered``, in the
    order of their answers. ``text_calls`` looks for tagged calls in the text of Chat messages that have no others.

    Raises ``InvalidPayloadError`` for what is no message of any format, and for a message of another format than
    ``chosen``: it has calls, and none in that one.
    """
    payload = message if type(message) is dict else _payload(message)
    turns = turns_of(payload) if isinstance(payload, dict) else payload
    if turns is None and isinstance(payload, dict):
        calls, found_in = _calls_in(payload, chosen, text_calls=text_calls)
        if calls and not FORMATS[found_in].TRAITS.has_results_beside_calls:
            return [(call, found_in) for call in calls]  # one message, as nearly always
        pending = Pending()
        pending.add(calls, found_in)
        if calls:
            pending.answer(results_in(payload, found_in))
    else:
        pending = _read_many(turns or [], chosen, text_calls=text_calls)
    if chosen is not None and not pending.has_calls:
        _refuse_other_format(payload, chosen)
    if answered is not None:
        answered += pending.answered
    return pending.calls


def find_results_in(message: Any) -> list[LocatedResult]:
    """Find the results in a message, a list of some, or a request's body, in order, whoever's they are.

    Raises ``InvalidPayloadError`` for what is no message.
    """
    payload = _payload(message)
    turns = turns_of(payload) if isinstance(payload, dict) else payload
    entries = _payloads([payload] if turns is None else turns)
    found: list[LocatedResult] = []
    for result, provider_format in (one for entry in entries for one in results_in(entry, detect(entry))):
        if not result.is_remark:
            found.append((result, provider_format))
        elif found and found[-1][0].kind in NO_TEXT:
            told = found[-1][0]._replace(output=None, error=result.error, category=result.category)
            found[-1] = told, provider_format
    return found


def conversation_in(value: Any) -> Any:
    """Give the conversation of a request's body; anything else as it is."""
    turns = turns_of(value) if isinstance(value, dict) else None
    return value if turns is None else turns


def _payload(message: Any) -> Wire | list[Any]:
    if isinstance(message, (str, bytes, bytearray)):
        message = _parsed(message)
    if isinstance(message, (list, tuple)):
        return list(message)
    payload = as_dict(message)
    if payload is None:
        raise InvalidPayloadError(f"the message is {_named(message)}; {_ADVICE}")
    return payload


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
        if not text.strip():
            raise InvalidPayloadError(f"the message is empty; {_ADVICE}") from None
        raise InvalidPayloadError(f"the message is not valid JSON: {exc}; {_ADVICE}") from exc
    if isinstance(value, (dict, list)):
        return value
    raise InvalidPayloadError(f"the message is JSON, but {_named(value)}, not an object or an array; {_ADVICE}")


def _read_many(entries: list[Any], chosen: ProviderFormat | None, *, text_calls: bool) -> Pending:
    pending = Pending()
    is_known = not entries
    for payload in _payloads(entries):
        provider_format = _format_of(payload, chosen)
        if provider_format is None:
            continue
        is_known = True
        pending.cancel(FORMATS[provider_format].find_cancelled(payload), provider_format)
        pending.add(_calls_as(payload, provider_format, text_calls=text_calls), provider_format)
        if pending.is_waiting:
            answers = results_in(payload, provider_format)
            pending.answer(answers if answers or chosen is None else results_in(payload, detect(payload)))
    if not is_known:
        raise InvalidPayloadError(f"no provider's messages look like the {len(entries)} in the list; {_ADVICE}")
    return pending


def _calls_in(
    payload: Wire, chosen: ProviderFormat | None, *, text_calls: bool
) -> tuple[list[FoundCall], ProviderFormat]:
    """Find the calls of one message, and say in whose format it was read."""
    provider_format = _format_of(payload, chosen)
    if provider_format is None:
        keys = ", ".join(map(repr, list(payload)[:5])) or "none"
        raise InvalidPayloadError(f"no provider's message has these keys: {keys}; {_ADVICE}, or a provider_format")
    return _calls_as(payload, provider_format, text_calls=text_calls), provider_format


def _format_of(payload: Wire, chosen: ProviderFormat | None) -> ProviderFormat | None:
    """Say in whose format a message is to be read; ``None`` for what is nobody's."""
    if chosen is not None:
        return chosen
    detected = detect(payload)
    return None if detected is _UNKNOWN and not _is_something(payload) else detected


def _calls_as(payload: Wire, provider_format: ProviderFormat, *, text_calls: bool) -> list[FoundCall]:
    calls = FORMATS[provider_format].find_calls(payload)
    if text_calls and not calls and provider_format is ProviderFormat.OPENAI:
        calls = calls_in_text(payload)
    if calls:
        model = payload.get("model")
        if model is None:
            model = pick(payload, "modelVersion", "model_version")
        if isinstance(model, str):
            for call in calls:
                call.metadata["model"] = model
    return calls


def _is_something(payload: Wire) -> bool:
    return "type" in payload or "text" in payload or "name" in payload or any(key in payload for key in ARGUMENT_KEYS)


def _refuse_other_format(payload: Wire | list[Any], chosen: ProviderFormat) -> None:
    """Raise for what holds calls, but none of the ``chosen`` format: nobody would notice that they are not run."""
    others: list[Located] = []
    with suppress(InvalidPayloadError):  # nobody's message, so it may as well be one of the chosen format
        others = find_in(payload, None)
    found = next((whose for call, whose in others if call.name), None)
    if found is not None and found is not chosen:
        raise InvalidPayloadError(f"this is not a message of the format {chosen}; it looks like {found}")


def _payloads(entries: list[Any] | tuple[Any, ...]) -> Iterator[Wire]:
    for index, entry in enumerate(entries):
        payload = as_dict(entry)
        if payload is not None:
            yield payload
        elif not isinstance(entry, str):  # text stands between blocks in LangChain's content
            raise InvalidPayloadError(f"entry {index} of the list is {_named(entry)}, no message or call; {_ADVICE}")
