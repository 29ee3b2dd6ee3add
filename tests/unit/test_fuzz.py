"""Payloads that no provider sends: only typed errors come out, every reading ends soon, and memory stays bounded.

``TOOLRELAY_FUZZ_PAYLOADS`` is how many a format, half messages and half streams; ``make test`` asks for 100,000.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from tests.unit.mutating import garbled_text, keys_of, mutated
from tests.unit.payloads import INDEX, format_of, load, load_events
from toolrelay import StreamAssembler, detect_format, format_results, read_calls
from toolrelay.errors import ToolrelayError
from toolrelay.models import NormalizedToolRequest, NormalizedToolResult, ProviderFormat
from toolrelay.proxy import format_calls, read_finish, read_results, stream_calls

PAYLOADS_A_FORMAT = int(os.environ.get("TOOLRELAY_FUZZ_PAYLOADS", "4000"))

#: far longer than any payload takes on a busy machine, and far shorter than a run that hangs
SECONDS_A_PAYLOAD = 20
#: what all payloads of a format together may add to the memory of the process
MAX_GROWTH_MIB = 100

BEDROCK_EVENTS = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "tooluse_1", "name": "lookup"}}, "contentBlockIndex": 0}},
    {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"city": "Os'}}, "contentBlockIndex": 0}},
    {"contentBlockDelta": {"delta": {"toolUse": {"input": 'lo"}'}}, "contentBlockIndex": 0}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"messageStop": {"stopReason": "tool_use"}},
    {"metadata": {"usage": {"totalTokens": 9}}},
]
BEDROCK_MESSAGE = {
    "output": {"message": {"content": [{"toolUse": {"toolUseId": "tooluse_1", "name": "x", "input": {"a": [1]}}}]}},
    "stopReason": "tool_use",
}
GENERIC_MESSAGE = {"name": "lookup", "parameters": {"city": "Oslo", "days": [1, 2]}, "id": "c1"}


def _corpus(provider_format: ProviderFormat) -> tuple[list[Any], list[list[Any]]]:
    """Give the whole messages and the streams to start from."""
    if provider_format is ProviderFormat.BEDROCK:
        return [BEDROCK_MESSAGE], [BEDROCK_EVENTS]
    if provider_format is ProviderFormat.UNKNOWN:
        return [GENERIC_MESSAGE], [[GENERIC_MESSAGE, GENERIC_MESSAGE]]
    mine = [entry for entry in INDEX if format_of(entry) is provider_format]
    messages = [load(entry["file"]) for entry in mine if entry["form"] == "whole"]
    streams = [load_events(entry["file"]) for entry in mine if entry["form"] == "stream"]
    return messages, streams or [[message] for message in messages]


def _checked(calls: list[NormalizedToolRequest]) -> Iterator[NormalizedToolRequest]:
    for call in calls:
        assert isinstance(call, NormalizedToolRequest)
        assert call.tool_name or call.problem is not None
        call.model_dump_json()  # what comes out can stand in Redis
        yield call


def _answers(calls: list[NormalizedToolRequest], provider_format: ProviderFormat) -> None:
    results = [
        NormalizedToolResult(
            tool_call_id=f"tc_{place}",
            tool_name=call.tool_name,
            provider_format=call.provider_format,
            provider_call_id=call.provider_call_id,
            provider_metadata=call.provider_metadata,
            kind=call.kind,
            success=False,
            error="no",
        )
        for place, call in enumerate(calls)
    ]
    format_results(results, provider_format)
    json.dumps([format_calls(calls, provider_format), stream_calls(calls, provider_format)], allow_nan=False)


def _read_stream(assembler: StreamAssembler, events: Any) -> list[NormalizedToolRequest]:
    calls = [call for event in events for call in assembler.feed(event)]
    return list(_checked(calls + assembler.close() + assembler.disowned))


@pytest.mark.parametrize("provider_format", ProviderFormat)
def test_no_payload_makes_a_reader_raise_anything_but_a_typed_error(provider_format: ProviderFormat) -> None:
    rng = random.Random(str(provider_format))
    messages, streams = _corpus(provider_format)
    keys = keys_of([*messages, *streams])
    message_texts, stream_texts = [[json.dumps(one) for one in many] for many in (messages, streams)]
    before = _peak_mib()

    for number in range(PAYLOADS_A_FORMAT // 2):
        with _soon_over(number):
            events = (
                _pieces(rng.choice(streams), rng) if number % 8 == 0 else mutated(rng.choice(stream_texts), rng, keys)
            )
            _read_stream(StreamAssembler(provider_format), events if isinstance(events, list) else [events])
            message = mutated(rng.choice(message_texts), rng, keys)
            detect_format(message)
            given = None if number % 2 else provider_format
            _answers(_read(message, given), provider_format)
            if number % 10 == 0:
                _read_back(message, given)

    assert _peak_mib() - before < MAX_GROWTH_MIB


def _pieces(stream: list[Any], rng: random.Random) -> list[str | bytes]:
    text = garbled_text(stream, rng)
    size = rng.choice([7, 100, len(text) + 1])
    return [text[place : place + size] for place in range(0, len(text), size)]


def _peak_mib() -> float:
    bytes_a_unit = 1 if sys.platform == "darwin" else 1024  # getrusage(2)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * bytes_a_unit / 2**20


@contextlib.contextmanager
def _soon_over(number: int) -> Iterator[None]:
    def give_up(*_: object) -> NoReturn:
        raise TimeoutError(f"payload {number} is still being read")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS_A_PAYLOAD)
    try:
        yield
    finally:
        signal.alarm(0)


def _read(message: Any, given: ProviderFormat | None) -> list[NormalizedToolRequest]:
    try:
        return list(_checked(read_calls(message, given)))
    except ToolrelayError:  # what is no message; whatever was read as calls can be answered and written
        return []


def _read_back(message: Any, given: ProviderFormat | None) -> None:
    with contextlib.suppress(ToolrelayError):
        read_finish(message, given)
    with contextlib.suppress(ToolrelayError):
        for result in read_results(message):
            result.model_dump_json()


@pytest.mark.parametrize("provider_format", ProviderFormat)
def test_a_stream_of_another_provider_is_read_without_an_exception(provider_format: ProviderFormat) -> None:
    for entry in INDEX:
        events = load_events(entry["file"]) if entry["form"] == "stream" else [load(entry["file"])]

        _read_stream(StreamAssembler(provider_format), events)
