"""The public face of ``formats`` and ``schemas``: messages become requests, results become the next messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from toolrelay.errors import (
    InvalidArgumentsError,
    InvalidCallError,
    InvalidPayloadError,
    InvalidResultsError,
    MissingNameError,
    UnknownProviderFormatError,
)
from toolrelay.formats import FORMATS
from toolrelay.formats.arguments.reading import MAX_ARGUMENTS_BYTES
from toolrelay.formats.payloads.calls import request_of
from toolrelay.formats.payloads.detect import detect
from toolrelay.formats.payloads.messages import find_in
from toolrelay.formats.payloads.names import Names, decoder_of
from toolrelay.formats.payloads.pending import Located
from toolrelay.formats.shared.content import failure_in
from toolrelay.formats.shared.limits import limited
from toolrelay.formats.shared.output import settled
from toolrelay.formats.shared.text import as_text
from toolrelay.models import NormalizedToolRequest, NormalizedToolResult, ProblemKind, ProviderFormat

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
    chosen = detect(payload) if provider_format is None else format_named(provider_format)
    call = FORMATS[chosen].find_call(payload)
    if call is None:
        kind = as_text(payload.get("type"))
        raise InvalidPayloadError(f"the payload, of type {kind!r}, is not a call that the client runs")
    return request_of(call, chosen, max_arguments_bytes=max_arguments_bytes)


def read_calls(
    message: Any,
    provider_format: ProviderFormat | str | None = None,
    *,
    names: Names | None = None,
    text_calls: bool = False,
    max_arguments_bytes: int = MAX_ARGUMENTS_BYTES,
) -> list[NormalizedToolRequest]:
    """Read every call that the client has to run, in the model's order, out of what a provider sent.

    ``message`` is an SDK's object, a dict, JSON text, a list of messages, items, blocks or calls, or the body of a
    request, which is read as its conversation; calls that are answered there are done and left out. Calls that the
    provider runs itself never come out. A call that must not run carries its ``problem`` and takes no sibling along; a
    message without calls gives ``[]``. ``names`` (a mapping of wire names to tool names, or ``ExportedTools.names``)
    turns the names back. ``text_calls`` also reads calls that a model wrote into its text, in ``<tool_call>`` tags,
    where a Chat message has no others.

    >>> [call.tool_name for call in read_calls('{"tool_calls": [{"function": {"name": "clock", "arguments": ""}}]}')]
    ['clock']

    Raises ``InvalidPayloadError`` for what is no message, and for one that has calls, but another format's than
    ``provider_format``.
    """
    chosen = None if provider_format is None else format_named(provider_format)
    decode = decoder_of(names)
    return [
        request_of(call, found_in, decode=decode, max_arguments_bytes=max_arguments_bytes)
        for call, found_in in find_in(message, chosen, text_calls=text_calls)
    ]


def read_conversation(
    message: Any, provider_format: ProviderFormat | str | None = None
) -> tuple[list[NormalizedToolRequest], list[NormalizedToolRequest]]:
    """Read as ``read_calls`` does, and beside it the calls of a list that a later message answers: open, answered."""
    chosen = None if provider_format is None else format_named(provider_format)
    answered: list[Located] = []
    found = find_in(message, chosen, answered=answered)
    return [request_of(*located) for located in found], [request_of(*located) for located in answered]


def format_results(
    results: Iterable[NormalizedToolResult],
    provider_format: ProviderFormat | str | None = None,
    *,
    max_bytes: int | None = None,
) -> list[dict[str, Any]]:
    """Write the messages, items, contents or blocks to append to the conversation: each result once, in this order.

    Without a ``provider_format`` the results' own is taken. A failure is marked the provider's way. Never raises for an
    output, whatever it is. An output whose text is longer than ``max_bytes`` is cut, with a note of how much is
    missing; the stored result is whole. Pictures are no text and never cut, and of a shell's commands each keeps its
    exit code.

    All is JSON, but for the pictures in a message of Bedrock's: these are bytes, which boto3 encodes itself, and
    ``json.dumps(messages, default=toolrelay.outputs.as_base64)`` writes them.

    Raises ``InvalidResultsError`` for two results of one call, and for results of several formats without a
    ``provider_format``; ``ValueError`` for a ``max_bytes`` that leaves no room for the note.
    """
    listed = [limited(settled(result), max_bytes) for result in results]
    _refuse_repeated(listed)
    chosen = _common_format(listed) if provider_format is None else format_named(provider_format)
    return FORMATS[chosen].format_results(listed)


def reported_failure(output: Any) -> str | None:
    """Say why a tool failed that reports it in its output, as MCP's do; ``None`` for an output that is one.

    >>> reported_failure({"content": [{"type": "text", "text": "no such city"}], "isError": True})
    'no such city'
    """
    return failure_in(output)


def _refuse_repeated(results: list[NormalizedToolResult]) -> None:
    seen: set[str] = set()
    for result in results:
        if result.tool_call_id in seen:
            raise InvalidResultsError(f"there are two results for {result.tool_call_id!r}: pass one result a call")
        seen.add(result.tool_call_id)


def _common_format(results: list[NormalizedToolResult]) -> ProviderFormat:
    formats = {result.provider_format for result in results}
    if len(formats) > 1:
        names = ", ".join(sorted(formats))
        raise InvalidResultsError(f"the results belong to several formats ({names}): pass the provider_format to write")
    return formats.pop() if formats else ProviderFormat.UNKNOWN


def format_named(provider_format: ProviderFormat | str) -> ProviderFormat:
    """Give the format of this name; raises ``UnknownProviderFormatError``, which lists the known ones."""
    try:
        return _BY_NAME[provider_format]
    except (KeyError, TypeError):
        known = ", ".join(ProviderFormat)
        raise UnknownProviderFormatError(f"provider_format must be one of {known}; got {provider_format!r}") from None


_BY_NAME: Final[dict[str, ProviderFormat]] = {one.value: one for one in ProviderFormat}
