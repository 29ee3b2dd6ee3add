"""Layer 3 of the case list: calls in whole messages. What a case demands in words stands here as an assertion."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.cases import CASES, format_named, ids_of
from toolrelay import (
    ErrorCategory,
    NormalizedToolRequest,
    NormalizedToolResult,
    format_results,
    read_calls,
    tool_call_id,
)
from toolrelay.proxy import FinishKind, PendingCalls, format_calls, read_finish, split_text_calls


def test_every_case_of_the_layer_has_its_test() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}

    assert {name.replace("-", "_") for name in ids_of("L3")} <= tested


def variants_of(name: str) -> list[tuple[str, Any, dict[str, Any]]]:
    """Give each payload of a case with its format and what is expected of it."""
    given, expected = CASES[name]["input"], CASES[name]["expected"]
    payloads = given.get("variants") or [given["payload"]]
    outcomes = expected.get("per_variant") or [expected] * len(payloads)
    found = []
    for payload, outcome in zip(payloads, outcomes, strict=True):
        is_wrapped = isinstance(payload, dict) and "payload" in payload
        chosen = payload.get("format") if is_wrapped else given["format"]
        found.append((format_named(chosen), payload["payload"] if is_wrapped else payload, outcome))
    return found


def names_of(name: str) -> dict[str, str]:
    """Give the map of the request's names: the tools of a case are shown to the model without their slash."""
    given = CASES[name]["input"]
    shown = given.get("exposed_names") or {tool: tool.replace("/", "_") for tool in given.get("registered", [])}
    return {wire: tool for tool, wire in shown.items()}


def read(name: str, **options: Any) -> list[list[NormalizedToolRequest]]:
    return [
        read_calls(json.dumps(payload), chosen, names=names_of(name) or None, **options)
        for chosen, payload, _ in variants_of(name)
    ]


def as_listed(call: NormalizedToolRequest, expected: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "tool_name": call.tool_name,
        "arguments": call.arguments,
        "provider_call_id": call.provider_metadata.get("jsonrpc_id", call.provider_call_id),
    }
    return {key: shown[key] for key in expected}


@pytest.mark.parametrize("name", ids_of("L3"))
def test_the_calls_are_those_of_the_list(name: str) -> None:
    options = {"text_calls": True} if CASES[name]["input"].get("text_calls") else {}
    for calls, (_, _, expected) in zip(read(name, **options), variants_of(name), strict=True):
        if "calls" not in expected:
            continue
        to_run = [call for call in calls if call.problem is None]
        listed = expected["calls"]
        assert listed == [as_listed(call, one) for call, one in zip(to_run, listed, strict=True)]


def only(name: str) -> list[NormalizedToolRequest]:
    (calls,) = read(name)
    return calls


def test_arguments_absent() -> None:
    """What a tool requires is then missed by its schema: the category is not ``parse``."""
    assert [[call.arguments for call in calls] for calls in read("arguments-absent")] == [[{}]] * 3
    assert all(call.problem is None for calls in read("arguments-absent") for call in calls)


def test_arguments_double_encoded() -> None:
    (call,) = only("arguments-double-encoded")

    assert [repair.kind for repair in call.repairs] == ["double_encoded"]


def test_arguments_raw_control_characters() -> None:
    (call,) = only("arguments-raw-control-characters")

    assert call.arguments == {"body": "line one\nline\ttwo"}
    assert [repair.kind for repair in call.repairs] == ["json_syntax"]


def test_arguments_object_boundary_inside_string() -> None:
    (call,) = only("arguments-object-boundary-inside-string")

    assert call.repairs == ()


def test_arguments_not_an_object() -> None:
    """Of the two categories that are right we choose ``parse``: no schema was asked."""
    *bad, (left_out,) = read("arguments-not-an-object")

    assert [call.problem.category for (call,) in bad if call.problem] == [ErrorCategory.PARSE] * 3
    assert left_out.provider_metadata["jsonrpc_id"] == 6
    assert isinstance(left_out.provider_metadata["jsonrpc_id"], int)


def test_arguments_large_integer() -> None:
    """That ``1e3`` is an integer in the tool is the schema's work, which coerces what loses nothing."""
    (call,) = only("arguments-large-integer")
    back = NormalizedToolRequest.model_validate_json(call.model_dump_json())

    assert back.arguments["order_id"] == 2512292042121000001
    assert back.arguments["n"] == 1000


def test_call_id_empty_or_missing() -> None:
    calls = only("call-id-empty-or-missing")

    kept = PendingCalls().add(calls)
    (assistant,) = format_calls(kept, "openai")
    answers = format_results([answered(call, place) for place, call in enumerate(kept)])
    ids = [call["id"] for call in assistant["tool_calls"]]

    assert len(calls) == 3
    assert len({tool_call_id("plan", place) for place in range(len(calls))}) == 3
    assert all(ids)
    assert len(set(ids)) == 3
    assert ids == [answer["tool_call_id"] for answer in answers]


def answered(call: NormalizedToolRequest, place: int = 0, output: Any = "rain") -> NormalizedToolResult:
    return NormalizedToolResult(
        tool_call_id=tool_call_id("plan", place),
        tool_name=call.tool_name,
        provider_format=call.provider_format,
        provider_call_id=call.provider_call_id,
        provider_metadata=call.provider_metadata,
        kind=call.kind,
        success=True,
        output=output,
    )


def test_same_id_for_two_calls() -> None:
    first, second = only("same-id-for-two-calls")

    answers = format_results([answered(first, 0, "Oslo"), answered(second, 1, "Rome")])

    assert (first.problem, second.problem) == (None, None)
    assert [answer["content"] for answer in answers] == ["Oslo", "Rome"]


def test_gemini_call_without_id_and_args() -> None:
    calls = only("gemini-call-without-id-and-args")

    assert [call.problem for call in calls] == [None, None, None]
    assert [call.provider_call_id for call in calls] == ["call_41", None, None]


def test_gemini_snake_case_part() -> None:
    for (call,), (_, _, expected) in zip(
        read("gemini-snake-case-part"), variants_of("gemini-snake-case-part"), strict=True
    ):
        assert call.provider_metadata["thought_signature"] == expected["provider_metadata"]["thought_signature"]


def test_gemini_signature_on_first_call_only() -> None:
    calls = only("gemini-signature-on-first-call-only")

    (content,) = format_calls(calls, "gemini")

    assert [part.get("thoughtSignature") for part in content["parts"]] == ["sig-A", None, None]
    assert [part["functionCall"]["name"] for part in content["parts"]] == ["a", "b", "c"]
    assert [call.arguments for call in calls] == [{}, {}, {}]
    assert [call.problem for call in calls] == [None, None, None]


def test_gemini_invented_namespace() -> None:
    for (call,) in read("gemini-invented-namespace"):
        assert [repair.kind for repair in call.repairs] == ["tool_name"]


def test_harmony_marker_and_spaces_in_name() -> None:
    """The exact name is tried first: a tool that is really called so is found."""
    (exact,) = read_calls(
        {"tool_calls": [{"function": {"name": "functions.x"}}]}, names={"functions.x": "mine", "x": "other"}
    )

    assert exact.tool_name == "mine"
    assert len(read("harmony-marker-and-spaces-in-name")) == 2


def test_legacy_function_call_field() -> None:
    (call,) = only("legacy-function-call-field")

    assert format_results([answered(call)]) == [{"role": "function", "name": "weather_lookup", "content": "rain"}]


def test_openai_custom_tool_call() -> None:
    """The wrapping key is ``input``."""
    _, custom = only("openai-custom-tool-call")

    assert custom.arguments == {"input": "print(1)\n{not json"}
    assert custom.problem is None


def test_hosted_tool_items_are_not_executed() -> None:
    for calls in read("hosted-tool-items-are-not-executed"):
        (call,) = calls
        assert "srvtoolu_1" not in json.dumps(format_results([answered(call)]))


def test_responses_call_id_is_the_join_key() -> None:
    case = CASES["responses-call-id-is-the-join-key"]
    (call,) = only("responses-call-id-is-the-join-key")

    (item,) = format_results([answered(call, 0, case["input"]["result"])])
    (replayed,) = format_calls([call], "openai_responses")

    assert case["expected"]["output_item"] == item
    assert replayed["call_id"] == "call_8"
    assert "id" not in replayed  # an item id is OpenAI's to give


def test_ollama_native_call() -> None:
    (first, second), (third,) = read("ollama-native-call")

    assert (first.provider_call_id, second.provider_call_id, third.provider_call_id) == (None, None, "call_ab12")
    assert len({call["id"] for call in format_calls([first, second], "openai")[0]["tool_calls"]}) == 2


def test_bedrock_tool_use_block() -> None:
    assert [call.problem for call in only("bedrock-tool-use-block")] == [None, None]


def test_langchain_invalid_tool_call() -> None:
    good, bad = only("langchain-invalid-tool-call")

    assert good.problem is None
    assert bad.problem is not None
    assert (bad.provider_call_id, bad.problem.category) == ("c2", ErrorCategory.PARSE)


def test_langchain_raw_copy_is_not_a_second_call() -> None:
    assert [len(calls) for calls in read("langchain-raw-copy-is-not-a-second-call")] == [1, 1]


def test_hermes_call_in_text() -> None:
    ((_, payload, _),) = variants_of("hermes-call-in-text")

    text, calls = split_text_calls(payload["content"])

    assert only("hermes-call-in-text") == []  # off unless asked for
    assert len(calls) == 2
    assert "<tool_call>" not in text
    assert "Oslo" not in text
    assert text.startswith("I would use")
    (stranger,) = split_text_calls('<tool_call>{"name": "nobody", "arguments": {}}</tool_call>')[1]
    assert stranger.tool_name == "nobody"  # which no registry has: not_found, like any other unknown name


def test_gemini_malformed_function_call() -> None:
    """No call is made up for the empty turn: nobody could answer it. The turn itself says what happened."""
    for (_, payload, _), calls in zip(
        variants_of("gemini-malformed-function-call"), read("gemini-malformed-function-call"), strict=True
    ):
        finish = read_finish(payload)

        assert all(call.problem is not None for call in calls)
        assert finish.kind is FinishKind.MALFORMED
        assert finish.problem is not None
        assert (finish.problem.category, finish.is_retryable) == (ErrorCategory.PARSE, True)


def test_cut_off_by_token_limit() -> None:
    """The complete first call runs: what was cut is known, and the model gets one answer a call either way."""
    (first, second), (empty,) = read("cut-off-by-token-limit")

    assert first.problem is None
    for cut in (second, empty):
        assert cut.problem is not None
        assert cut.problem.category is ErrorCategory.PARSE
        assert "truncated" in cut.problem.message
    for _, payload, _ in variants_of("cut-off-by-token-limit"):
        assert read_finish(payload).kind is FinishKind.LENGTH
