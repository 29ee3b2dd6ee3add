"""The public face of ``formats`` and ``schemas``: messages become requests, results become the next messages."""

from __future__ import annotations

from typing import Any

from toolrelay.errors import (
    InvalidArgumentsError,
    InvalidCallError,
    InvalidPayloadError,
    MissingNameError,
    UnknownProviderFormatError,
)
from toolrelay.formats import FORMATS
from toolrelay.formats._arguments import MAX_ARGUMENTS_BYTES
from toolrelay.formats._detect import detect
from toolrelay.formats._requests import request_of
from toolrelay.models import NormalizedToolRequest, ProblemKind, ProviderFormat

_ERRORS: dict[ProblemKind, type[InvalidCallError]] = {
    ProblemKind.NO_NAME: MissingNameError,
    ProblemKind.INVALID_PAYLOAD: InvalidPayloadError,
}


def detect_format(payload: object) -> ProviderFormat:
    """Say whose shape a call or a whole message has; ``unknown``, and no exception, for anything else.

    >>> detect_format({"name": "test/echo", "input": {"key": "value"}})
    <ProviderFormat.ANTHROPIC: 'anthropic'>
    """
    return detect(payload) if isinstance(payload, dict) else ProviderFormat.UNKNOWN


def normalize_tool_call(
    payload: dict[str, Any], provider_format: ProviderFormat | str | None = None
) -> NormalizedToolRequest:
    """Read one tool call from a dict; only ``None`` detects its format. For everything else there is ``read_calls``.

    Raises a subclass of ``InvalidCallError`` for a call that must not run: what ``read_calls`` gives as a ``problem``.
    """
    request = read_call(payload, provider_format)
    if request.problem is not None:
        raise _ERRORS.get(request.problem.kind, InvalidArgumentsError)(request.problem.message)
    return request


def read_call(
    payload: dict[str, Any],
    provider_format: ProviderFormat | str | None = None,
    *,
    max_arguments_bytes: int = MAX_ARGUMENTS_BYTES,
) -> NormalizedToolRequest:
    """Read one tool call from a dict, as ``normalize_tool_call`` does, but give a bad one its ``problem``.

    Raises only for what is no call of the client's: no dict, or a call that the provider runs itself.
    """
    if not isinstance(payload, dict):
        raise InvalidPayloadError(f"payload must be a dict, got {type(payload).__name__}")
    chosen = detect(payload) if provider_format is None else _format_named(provider_format)
    call = FORMATS[chosen].find_call(payload)
    if call is None:
        kind = payload.get("type")
        raise InvalidPayloadError(f"the payload, of type {kind!r}, is not a call that the client runs")
    return request_of(call, chosen, max_arguments_bytes=max_arguments_bytes)


def _format_named(provider_format: ProviderFormat | str) -> ProviderFormat:
    try:
        return ProviderFormat(provider_format)
    except ValueError:
        known = ", ".join(ProviderFormat)
        raise UnknownProviderFormatError(f"provider_format must be one of {known}; got {provider_format!r}") from None
