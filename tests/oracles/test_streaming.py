"""The streams that toolrelay writes, put together by the accumulators of the providers' SDKs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.oracles.readers import READERS, Reader
from tests.unit.test_proxy import turns
from toolrelay import NormalizedToolRequest
from toolrelay.proxy import stream_calls

pytestmark = pytest.mark.filterwarnings("ignore")  # of the SDKs

#: what a stream's frame has to say for the SDK's types, and no call is made of
HEADS: dict[str, dict[str, Any]] = {
    "openai_chat": {"id": "chatcmpl-1", "created": 1796000000, "model": "gpt-5.6-terra"},
    "openai_responses": {
        "id": "resp_1",
        "created_at": 1796000000,
        "model": "gpt-5.6-terra",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    },
    "anthropic": {"id": "msg_1", "model": "claude-sonnet-5-5"},
    "gemini": {},
    "gemini_interactions": {"id": "int_1", "created": "2026-11-30T10:00:00Z", "updated": "2026-11-30T10:00:00Z"},
    "langchain": {},
}
#: reads no arguments of this stream at all: docs/disagreements.md
BLIND = ("llm-rosetta", "gemini_interactions")
ACCUMULATORS = [reader for reader in READERS if reader.form == "stream" and (reader.library, reader.provider) != BLIND]


@pytest.mark.parametrize("reader", ACCUMULATORS, ids=lambda reader: f"{reader.provider}-{reader.library}")
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(calls=turns())
def test_a_written_stream_is_read_as_the_calls_it_was_made_of(
    reader: Reader, calls: list[NormalizedToolRequest]
) -> None:
    wire_format = reader.provider.replace("openai_chat", "openai")
    events = stream_calls(calls, wire_format, head=HEADS[reader.provider], piece_chars=7)

    read = list(reader.read(events))

    assert [(call.tool_name, call.arguments, call.provider_call_id) for call in calls] == [tuple(call) for call in read]
