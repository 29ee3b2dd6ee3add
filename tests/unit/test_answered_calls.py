"""A call that its conversation answers never comes out again, whoever wrote the answer and however it names it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from toolrelay import InvalidPayloadError, NormalizedToolResult, ProviderFormat, format_results, read_calls
from toolrelay.models import CallKind, NormalizedToolRequest
from toolrelay.proxy import format_calls, read_results

#: our own id of a call is a hash of its plan: nothing in the message tells it
OURS = "tc_0123456789abcdef01234567"


def answer_to(call: NormalizedToolRequest, **outcome: Any) -> list[dict[str, Any]]:
    result = NormalizedToolResult(
        tool_call_id=OURS,
        tool_name=call.tool_name,
        provider_format=call.provider_format,
        provider_call_id=call.provider_call_id,
        provider_metadata=call.provider_metadata,
        kind=call.kind,
        **(outcome or {"success": True, "output": "noon"}),
    )
    return format_results([result])


def chat(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def chat_call(name: str, **members: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": "{}"}, **members}


def rpc(identity: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, **members}


def tool_use(identity: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": identity, "name": "f", "input": {}}]}


def gemini_call(**members: Any) -> dict[str, Any]:
    return {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}, **members}}]}


def gemini_answer(**members: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": 1}, **members}}]}


def step(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, "name": "f", **members}


CALL_MCP = rpc(1, method="tools/call", params={"name": "f", "arguments": {}})
LIVE = {"toolCall": {"functionCalls": [{"id": "1", "name": "f", "args": {}}]}}
LOCAL_SHELL = {"type": "local_shell_call", "id": "lsh_1", "call_id": "c1", "action": {"command": ["ls"]}}
SHELL = {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}, "environment": None}
SHELL_OUTPUT = {"type": "shell_call_output", "call_id": "c1", "output": []}
AI = {"content": "", "tool_calls": [{"type": "tool_call", "name": "f", "args": {}, "id": "c1"}]}
TOOL = {"content": "noon", "tool_call_id": "c1", "status": "success", "name": None, "type": "tool"}
DUMPED = ("langchain", "schema", "messages")

ANSWERED: dict[str, list[Any]] = {
    "a Chat id": [chat(chat_call("f", id="c1")), {"role": "tool", "tool_call_id": "c1", "content": ""}],
    "a Chat id that is a number": [chat(chat_call("f", id=7)), {"role": "tool", "tool_call_id": "7", "content": ""}],
    "a number as Chat's answer": [chat(chat_call("f", id="7")), {"role": "tool", "tool_call_id": 7, "content": ""}],
    "an id that only the answer has": [chat(chat_call("f")), {"role": "tool", "tool_call_id": "call_1", "content": ""}],
    "no id and no name": [chat(chat_call("f", id="c1")), {"role": "tool", "content": ""}],
    "Ollama's name": [chat(chat_call("f")), {"role": "tool", "tool_name": "f", "content": ""}],
    "Chat's deprecated function": [
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": ""},
    ],
    "Gemini's id": [gemini_call(id="g"), gemini_answer(id="g")],
    "Gemini without ids": [gemini_call(), gemini_answer()],
    "google-genai's own function calling": [gemini_call(id="g"), gemini_answer()],
    "Gemini Live": [
        LIVE,
        {"toolResponse": {"functionResponses": [{"id": "1", "name": "f", "response": {"output": 1}}]}},
    ],
    "LangChain's dicts": [{"type": "ai", **AI}, TOOL],
    "messages_to_dict": [{"type": "ai", "data": AI}, {"type": "tool", "data": TOOL}],
    "dumpd": [
        {"lc": 1, "type": "constructor", "id": [*DUMPED, "AIMessage"], "kwargs": {"type": "ai", **AI}},
        {"lc": 1, "type": "constructor", "id": [*DUMPED, "ToolMessage"], "kwargs": TOOL},
    ],
    "a local shell by its item": [LOCAL_SHELL, {"type": "local_shell_call_output", "id": "lsh_1", "output": ""}],
    "a local shell by its call": [LOCAL_SHELL, {"type": "local_shell_call_output", "id": "c1", "output": ""}],
    "a local shell that has one id": [
        {**LOCAL_SHELL, "call_id": None},
        {"type": "local_shell_call_output", "id": "lsh_1", "output": ""},
    ],
    "an MCP response": [CALL_MCP, rpc(1, result={"content": [{"type": "text", "text": "noon"}]})],
    "an MCP failure": [CALL_MCP, rpc(1, error={"code": -32602, "message": "no such tool"})],
    "an Anthropic id that is legal": [
        tool_use("t1"),
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": ""}]},
    ],
    "Responses in one output": [
        {"output": [step("function_call", call_id="c1", arguments="{}"), step("function_call_output", call_id="c1")]}
    ],
    "a shell and its output": [{"output": [SHELL, SHELL_OUTPUT]}],
    "steps in one interaction": [
        {"steps": [step("function_call", id="s", arguments={}), step("function_result", call_id="s", result=1)]}
    ],
}


@pytest.mark.parametrize("messages", ANSWERED.values(), ids=ANSWERED)
def test_what_is_answered_does_not_run_again(messages: list[Any]) -> None:
    assert read_calls(messages) == []
    assert read_calls(json.dumps(messages)) == []


@pytest.mark.parametrize("messages", [case for case in ANSWERED.values() if len(case) == 2])
def test_what_is_not_yet_answered_runs(messages: list[Any]) -> None:
    assert len(read_calls(messages[:1])) == 1


@pytest.mark.parametrize("messages", [case for case in ANSWERED.values() if len(case) == 1])
def test_one_message_may_hold_a_call_and_its_answer(messages: list[Any]) -> None:
    assert read_calls(messages[0]) == []


UNANSWERED: dict[str, tuple[list[Any], list[str]]] = {
    "another id": ([chat(chat_call("f", id="c1")), {"role": "tool", "tool_call_id": "c2", "content": ""}], ["f"]),
    "another name": ([chat(chat_call("f")), {"role": "tool", "tool_name": "g", "content": ""}], ["f"]),
    "the second of two": (
        [chat(chat_call("f"), chat_call("g")), {"role": "tool", "tool_call_id": "call_1", "content": ""}],
        ["g"],
    ),
    "one of one id": (
        [chat(chat_call("f", id="c"), chat_call("g", id="c")), {"role": "tool", "tool_call_id": "c", "name": "g"}],
        ["f"],
    ),
    "another request": ([CALL_MCP, rpc(2, result={"content": []})], ["f"]),
    "a tool search of OpenAI's": (
        [
            {"type": "tool_search_call", "execution": "client", "call_id": "c1", "arguments": {}},
            {"type": "tool_search_output", "execution": "server", "call_id": None, "tools": []},
        ],
        ["tool_search"],
    ),
}


@pytest.mark.parametrize(("messages", "names"), UNANSWERED.values(), ids=UNANSWERED)
def test_what_something_else_answers_still_waits(messages: list[Any], names: list[str]) -> None:
    assert names == [call.tool_name for call in read_calls(messages)]


@pytest.mark.parametrize("provider_format", ["anthropic", "bedrock"])
@pytest.mark.parametrize("identity", ["functions.pay:0", "escalate_1", "x" * 80])
def test_an_id_that_had_to_be_rewritten_for_the_answer_is_the_calls_own(provider_format: str, identity: str) -> None:
    call = NormalizedToolRequest(tool_name="f", provider_format=ProviderFormat(provider_format), provider_call_id="t")
    raw = json.loads(json.dumps(format_calls([call], provider_format)).replace('"t"', json.dumps(identity)))
    (found,) = read_calls(raw, provider_format)

    assert found.provider_call_id == identity
    assert read_calls([*raw, *answer_to(found)]) == []


@pytest.mark.parametrize("provider_format", ProviderFormat)
@pytest.mark.parametrize("identity", ["c1", None])
@pytest.mark.parametrize("is_given", [True, False])
def test_our_own_answer_is_one_in_every_format(
    provider_format: ProviderFormat, identity: str | None, is_given: bool
) -> None:
    call = NormalizedToolRequest(tool_name="f", provider_format=provider_format, provider_call_id=identity)
    messages = format_calls([call], provider_format)
    chosen = provider_format if is_given else None
    (found,) = read_calls(messages, chosen)

    for outcome in ({"success": True, "output": {"a": 1}}, {"success": False, "error": "no"}):
        answer = answer_to(found.model_copy(update={"provider_format": provider_format}), **outcome)
        assert read_calls([*messages, *answer], chosen) == []
        assert read_calls(answer, chosen) == []


@pytest.mark.parametrize("kind", CallKind)
def test_our_own_answer_is_one_for_every_kind_of_call(kind: CallKind) -> None:
    call = NormalizedToolRequest(
        tool_name="f", provider_format=ProviderFormat.OPENAI_RESPONSES, provider_call_id="c1", kind=kind
    )
    messages = format_calls([call], "openai_responses")
    (found,) = read_calls(messages)

    assert read_calls([*messages, *answer_to(found)]) == []


NO_CALLS: dict[str, Any] = {
    "a message with an author": {"role": "user", "name": "Bob", "content": "hi"},
    "an author and parts": {"role": "user", "name": "Bob", "parts": [{"text": "hi"}]},
    "an author alone": {"role": "user", "name": "Bob"},
    "LangChain's answer": {"type": "tool", "name": "f", "tool_call_id": "c1", "content": "noon"},
    "Chat's answer": {"role": "tool", "name": "f", "tool_call_id": "c1", "content": "noon"},
    "our own answer": {"tool_call_id": "c1", "name": "f", "content": "noon", "is_error": False},
    "Gemini's answer": {"functionResponse": {"name": "f", "response": {"output": 1}}},
    "the inside of it": {"name": "f", "response": {"output": 1}},
    "a flat definition": {"type": "function", "name": "z", "parameters": {"type": "object", "properties": {}}},
    "a nested definition": {"type": "function", "function": {"name": "z", "parameters": {"type": "object"}}},
    "a described definition": {"type": "function", "function": {"name": "z", "description": "Z."}},
    "a free-text definition": {"type": "custom", "custom": {"name": "z", "format": {"type": "text"}}},
    "Anthropic's definition": {"name": "z", "description": "Z.", "input_schema": {"type": "object"}},
    "MCP's definition": {"name": "z", "inputSchema": {"type": "object"}},
    "Gemini's definition": {"name": "z", "parametersJsonSchema": {"type": "object"}},
    "the deprecated definition": {"name": "z", "parameters": {"type": "OBJECT", "properties": {}}},
    "a call that OpenAI runs": {"type": "mcp_call", "id": "m", "name": "f", "arguments": "{}"},
    "a call that Anthropic runs": {"type": "server_tool_use", "id": "s", "name": "f", "input": {}},
    "a call of Anthropic's connector": {"type": "mcp_tool_use", "id": "s", "name": "f", "input": {}},
    "a call that LangChain does not run": {"type": "server_tool_call", "id": "s", "name": "f", "args": {}},
    "Bedrock's definition": {"toolSpec": {"name": "z", "inputSchema": {"json": {"type": "object"}}}},
}


@pytest.mark.parametrize("provider_format", ProviderFormat)
@pytest.mark.parametrize("message", NO_CALLS.values(), ids=NO_CALLS)
def test_what_has_a_name_and_is_no_call_is_none(message: Any, provider_format: ProviderFormat) -> None:
    assert read_calls([message], provider_format) == []
    assert read_calls(message, provider_format) == []


@pytest.mark.parametrize("message", NO_CALLS.values(), ids=NO_CALLS)
def test_what_is_no_call_is_none_where_its_format_is_detected(message: Any) -> None:
    assert read_calls([message, {"role": "user", "content": "hi"}]) == []


FLAT = {
    ProviderFormat.OPENAI_RESPONSES: "arguments",
    ProviderFormat.ANTHROPIC: "input",
    ProviderFormat.GEMINI: "args",
    ProviderFormat.GEMINI_INTERACTIONS: "arguments",
    ProviderFormat.LANGCHAIN: "args",
    ProviderFormat.MCP: "arguments",
    ProviderFormat.BEDROCK: "input",
}


@pytest.mark.parametrize(("provider_format", "key"), FLAT.items())
def test_a_flat_call_is_not_run_without_the_arguments_that_it_has(provider_format: ProviderFormat, key: str) -> None:
    other = "args" if key != "args" else "input"

    (call,) = read_calls({"name": "f", key: {"a": 1}}, provider_format)

    assert call.arguments == {"a": 1}
    with pytest.raises(
        InvalidPayloadError, match=f"this is not a message of the format {provider_format}; it looks like "
    ):
        read_calls({"name": "f", other: {"a": 1}}, provider_format)


@pytest.mark.parametrize("key", ["arguments", "parameters", "input", "args"])
def test_chats_servers_have_arguments_in_many_places(key: str) -> None:
    (call,) = read_calls({"name": "f", key: {"a": 1}}, "openai")

    assert call.arguments == {"a": 1}


def work_of(function: Callable[[], Any]) -> int:
    """Count the calls of Python functions: the same on every machine."""
    count = 0

    def notice(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(notice)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def many(kind: str, number: int) -> list[dict[str, Any]]:
    order = range(number)
    if kind == "without ids":
        return [*(gemini_call() for _ in order), *(gemini_answer() for _ in order)]
    if kind == "taken back":
        return [
            *(rpc(at, method="tools/call", params={"name": "f", "arguments": {}}) for at in order),
            *({"method": "notifications/cancelled", "params": {"requestId": at}} for at in order),
        ]
    names = ["1"] * number if kind == "one id for all" else [f"functions.f:{at}" for at in order]
    results = [{"role": "tool", "tool_call_id": name, "content": "x"} for name in names]
    calls = [chat(chat_call("f", id=name)) for name in names]
    return [*calls, *(reversed(results) if kind == "the last one first" else results)]


@pytest.mark.parametrize("kind", ["in order", "the last one first", "one id for all", "without ids", "taken back"])
def test_a_long_conversation_costs_what_its_messages_cost(kind: str) -> None:
    short, long = many(kind, 100), many(kind, 400)
    assert all(call.problem is not None for call in read_calls(long))  # none is left that may run
    assert len(read_calls(long)) == (400 if kind == "taken back" else 0)

    assert work_of(lambda: read_calls(long)) < 4.5 * work_of(lambda: read_calls(short))


def test_text_between_messages_is_passed_over_by_calls_and_results_alike() -> None:
    answer = {"role": "tool", "tool_call_id": "1", "content": "noon"}
    entries = ["hello", chat(chat_call("f", id="1")), "[", answer]

    (result,) = read_results(entries)

    assert (result.provider_call_id, result.output) == ("1", "noon")
    assert read_calls(entries) == []
    for read in (read_results, read_calls):
        with pytest.raises(InvalidPayloadError, match=r"entry 1 of the list is of type int, no message or call"):
            read(["hello", 5])
