"""Layer 5 of the case list: calls that come in pieces. What a case demands in words stands here as an assertion."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.cases import CASES, format_named, ids_of
from toolrelay import ErrorCategory, NormalizedToolRequest, ProblemKind, StreamAssembler, proxy, tool_call_id


def variants_of(name: str) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    """Give each stream of a case with what is expected of it."""
    case = CASES[name]
    given, expected = case["input"], case["expected"]
    streams = given.get("variants") or [given.get("chunks") or given["events"]]
    return list(zip(streams, expected.get("per_variant") or [expected], strict=True))


def assembled(name: str, events: list[dict[str, Any]], *, as_text: bool) -> list[NormalizedToolRequest]:
    assembler = StreamAssembler(format_named(CASES[name]["input"]["format"]))
    calls = [call for event in events for call in assembler.feed(json.dumps(event) if as_text else event)]
    calls += assembler.close()
    assert assembler.failure is None
    assert assembler.is_ended
    assert assembler.disowned == []
    return sorted(calls, key=lambda call: call.sequence or 0)


def as_listed(call: NormalizedToolRequest, expected: dict[str, Any]) -> dict[str, Any]:
    shown = {"name": call.tool_name, "arguments": call.arguments, "provider_call_id": call.provider_call_id}
    return {key: shown[key] for key in expected}


@pytest.mark.parametrize("as_text", [False, True], ids=["dicts", "text"])
@pytest.mark.parametrize("name", ids_of("L5"))
def test_the_calls_are_those_of_the_list(name: str, as_text: bool) -> None:
    for events, expected in variants_of(name):
        calls = assembled(name, events, as_text=as_text)

        to_run = [call for call in calls if call.problem is None]
        assert expected["calls"] == [
            as_listed(call, listed) for call, listed in zip(to_run, expected["calls"], strict=True)
        ]
        assert len(calls) - len(to_run) == len(expected.get("errors", []))


def calls_of(name: str) -> list[list[NormalizedToolRequest]]:
    return [assembled(name, events, as_text=False) for events, _ in variants_of(name)]


def test_stream_index_always_zero() -> None:
    ((first, second),) = calls_of("stream-index-always-zero")

    assert "get_aget_b" not in (first.tool_name, second.tool_name)
    assert "c1c2" not in (first.provider_call_id, second.provider_call_id)
    assert (first.arguments, second.arguments) == ({"x": 1}, {"y": 2})


def test_stream_index_missing() -> None:
    for first, second in calls_of("stream-index-missing"):
        assert (first.provider_call_id, second.provider_call_id) == ("c1", "c2")


def test_stream_id_empty_or_repeated() -> None:
    for calls in calls_of("stream-id-empty-or-repeated"):
        (call,) = calls  # an empty id opens no call
        assert call.provider_call_id == "c1"
        assert call.kind == "function"


def test_stream_id_never_sent() -> None:
    """The id is ours: a function of the plan and the call's place."""
    for calls in calls_of("stream-id-never-sent"):
        (call,) = calls
        assert call.provider_call_id is None
        assert call.sequence is not None
        assert tool_call_id("plan", call.sequence) == tool_call_id("plan", 0)


def test_stream_name_repeated() -> None:
    ((call,),) = calls_of("stream-name-repeated")

    assert call.tool_name == "read_file"


def test_stream_interleaved_with_nulls() -> None:
    ((first, second),) = calls_of("stream-interleaved-with-nulls")

    assert (first.arguments, second.arguments) == ({"x": 1}, {"y": 2})
    assert first.repairs == second.repairs == ()


def test_stream_chunks_without_choices() -> None:
    """Usage is the caller's, who keeps the events; that ``usage 9 is kept`` means here that none of them is changed."""
    ((chunks, _),) = variants_of("stream-chunks-without-choices")
    before = json.dumps(chunks)

    calls = assembled("stream-chunks-without-choices", chunks, as_text=False)

    assert before == json.dumps(chunks)
    assert chunks[-1]["usage"]["total_tokens"] == 9
    assert len(calls) == 1


def test_stream_truncated_under_a_false_label() -> None:
    ((call,),) = calls_of("stream-truncated-under-a-false-label")

    assert call.problem is not None
    assert (call.problem.kind, call.problem.category) == (ProblemKind.TRUNCATED, ErrorCategory.PARSE)
    assert "truncated" in call.problem.message
    assert call.problem.raw_arguments == '{"path":"a.txt","text":"half of'
    assert call.arguments == {}
    assert call.provider_call_id == "c1"


def test_anthropic_stream_blocks() -> None:
    (calls,) = calls_of("anthropic-stream-blocks")

    assert [call.arguments for call in calls] == [{"x": 1}, {}, {"y": 2}]


def test_anthropic_stream_hits_max_tokens() -> None:
    ((call,),) = calls_of("anthropic-stream-hits-max-tokens")

    assert call.problem is not None
    assert call.problem.category is ErrorCategory.PARSE
    assert "truncated" in call.problem.message
    assert "max_tokens" in call.problem.message
    assert call.problem.raw_arguments == '{"lines": ["one", "tw'
    (message,) = proxy.format_calls([call], "anthropic")
    assert isinstance(message["content"][0]["input"], dict)


def test_responses_stream_parallel_and_done_only() -> None:
    ((first, second),) = calls_of("responses-stream-parallel-and-done-only")

    assert (
        (first.arguments, first.provider_call_id),
        (second.arguments, second.provider_call_id),
    ) == (({"x": 1}, "c1"), ({"y": 2}, "c2"))


def test_gemini_stream_calls_and_partial_args() -> None:
    whole, pieces = calls_of("gemini-stream-calls-and-partial-args")

    ids = [tool_call_id("plan", call.sequence or 0) for call in whole]
    assert len(set(ids)) == 2  # two equal names are two calls
    assert len(pieces) == 1  # the closing part is none
    assert whole[0].provider_metadata["thought_signature"] == "s"
