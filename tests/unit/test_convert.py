"""``toolrelay convert``: what is printed where, and with what code it ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.command_line import chat_message
from tests.support.invoking import run
from tests.unit.payloads import INDEX, PAYLOADS, WHOLE, format_of
from toolrelay import (
    InvalidPayloadError,
    InvalidToolError,
    NormalizedToolRequest,
    NormalizedToolResult,
    ProviderFormat,
    ToolSpec,
    export_tools,
    format_results,
    import_tools,
    read_calls,
)
from toolrelay.conversion import convert_calls, convert_results
from toolrelay.proxy import format_calls, read_results
from toolrelay.reading import read_payload

CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "clock", "arguments": "{}"}}]}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "noon"}
TOOL = {"name": "clock", "description": "The time.", "inputSchema": {"type": "object", "properties": {}}}
FORMATS = [provider_format for provider_format in ProviderFormat if provider_format is not ProviderFormat.UNKNOWN]


@pytest.mark.parametrize("named", ProviderFormat)
@pytest.mark.parametrize("source", FORMATS)
def test_definitions_of_another_format_than_was_named_are_refused_or_lose_nothing(
    source: ProviderFormat, named: ProviderFormat
) -> None:
    schema = {"type": "object", "properties": {"zone": {"type": "string"}}}
    tools = export_tools([ToolSpec("clock", "The time.", schema)], source).tools

    outcome: list[Any]
    try:
        outcome = [list(spec.input_schema["properties"]) for spec in import_tools(tools, named)]
    except InvalidToolError as error:
        outcome = [str(error).rpartition(", ")[2]]

    assert outcome in ([[["zone"]]] if source is named else [[["zone"]], [f"not of {named}"]])


class TestTools:
    def test_what_can_be_said_is_clean(self) -> None:
        ended = run("convert tools --from mcp --to anthropic -", [TOOL])

        assert (ended.code, ended.stderr) == (0, "")
        assert ended.answer == [{"name": "clock", "description": "The time.", "input_schema": TOOL["inputSchema"]}]

    def test_a_name_a_keyword_and_a_tool_that_cannot_be_said_are_told_a_line_each(self) -> None:
        even = {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}}
        remote = {"name": "remote", "inputSchema": {"$ref": "https://example.org/schema"}}

        ended = run("convert tools --to gemini -", [{**TOOL, "name": "a/b", "inputSchema": even}, remote])

        assert ended.code == 1
        assert [tool["name"] for tool in ended.answer[0]["functionDeclarations"]] == ["a_b"]
        name, keyword, refused = ended.stderr.splitlines()
        assert name == "toolrelay: lost: 'a/b': name: it is 'a_b' on the wire"
        assert keyword.startswith("toolrelay: lost: 'a/b' at /properties/n/multipleOf: multipleOf: ")
        assert refused.startswith("toolrelay: refused: tool 'remote': at /$ref: ")

    def test_tools_of_which_none_is_left_are_impossible(self) -> None:
        ended = run("convert tools --to openai -", [{"name": "x", "inputSchema": {"$ref": "https://example.org/x"}}])

        assert (ended.code, ended.stdout) == (2, "")
        assert "refused" in ended.stderr

    def test_strict_is_asked_for_all_of_them(self) -> None:
        ended = run("convert tools --strict --to openai -", [TOOL])

        assert ended.answer[0]["function"]["strict"] is True

    def test_strict_is_for_tools(self) -> None:
        assert run("convert calls --strict --to openai -", CALL).code == 2

    @pytest.mark.parametrize(
        ("payload", "likeness"),
        [
            ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}, "an MCP tools/call message"),
            ({}, "an empty object"),
            (CALL, "tool calls of openai"),
            ([CALL], "tool calls of openai"),
            ([ANSWER], "tool results"),
            ({"name": "clock", "arguments": {}}, "tool calls of openai"),
            ([{"type": "tool_use", "id": "t", "name": "clock", "input": {}}], "tool calls of anthropic"),
            ({"role": "user", "content": "Hm"}, "a message of the role 'user'"),
            ({"model": "m", "messages": []}, "a request's body (messages)"),
            ({"weather": 1}, "an object with the keys 'weather'"),
        ],
    )
    @pytest.mark.parametrize("target", ["openai", "gemini", "mcp"])
    def test_what_holds_no_definition_is_impossible_and_says_what_it_is(
        self, payload: Any, likeness: str, target: str
    ) -> None:
        ended = run(f"convert tools --to {target} -", payload)

        assert (ended.code, ended.stdout) == (2, "")
        assert f"it looks like {likeness}" in ended.stderr

    @pytest.mark.parametrize("payload", [[], {"tools": []}])
    def test_no_tools_are_no_tools(self, payload: Any) -> None:
        ended = run("convert tools --to openai -", payload)

        assert (ended.code, ended.answer, ended.stderr) == (0, [], "")

    def test_what_an_mcp_server_lists_is_read(self) -> None:
        ended = run("convert tools --to openai -", {"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}})

        assert (ended.code, [tool["function"]["name"] for tool in ended.answer]) == (0, ["clock"])

    @pytest.mark.parametrize("target", FORMATS)
    def test_json_lines_of_our_own_tools_are_clean(self, target: ProviderFormat) -> None:
        lines = [
            {
                "name": name,
                "description": "",
                "input_schema": {"type": "object", "properties": {}},
                "output_schema": None,
                "tool_type": kind,
                "policy": {"timeout": "PT1M", "on_lost": "rerun"},
            }
            for name, kind in (("clock", "tool"), ("check", "validation"))
        ]

        ended = run(f"convert tools --to {target} -", "".join(f"{json.dumps(line)}\n" for line in lines))

        assert (ended.code, ended.stderr) == (0, "")
        assert [spec.name for spec in import_tools(ended.answer, target)] == ["clock", "check"]

    def test_kinds_of_which_none_can_be_said_are_impossible(self) -> None:
        ended = run("convert tools --to anthropic -", [{"type": "web_search"}])

        assert (ended.code, ended.stdout) == (2, "")
        assert "'web_search'" in ended.stderr


class TestChoice:
    @pytest.mark.parametrize(
        ("target", "expected"),
        [
            ("anthropic", {"type": "any"}),
            ("openai_responses", "required"),
            ("gemini", {"functionCallingConfig": {"mode": "ANY"}}),
        ],
    )
    def test_a_value_is_written_for_another_provider(self, target: str, expected: Any) -> None:
        ended = run(f"convert choice --from openai --to {target} -", '"required"')

        assert (ended.code, ended.answer) == (0, expected)

    def test_what_the_value_does_not_say_is_lost(self) -> None:
        names = [{"type": "function", "function": {"name": name}} for name in ("a", "b")]
        allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": names}}

        ended = run("convert choice --to anthropic -", {"tool_choice": allowed, "parallel_tool_calls": False})

        assert (ended.code, ended.answer) == (1, {"type": "any", "disable_parallel_tool_use": True})
        assert "declare only a, b" in ended.stderr

    def test_no_parallel_calls_is_lost_where_it_is_another_field(self) -> None:
        ended = run("convert choice --to openai -", {"type": "auto", "disable_parallel_tool_use": True})

        assert (ended.code, ended.answer) == (1, "auto")
        assert "parallel" in ended.stderr

    @pytest.mark.parametrize("word", ["banana", "requried", "Required"])
    @pytest.mark.parametrize("body", [False, True], ids=["bare", "in a body"])
    def test_a_word_that_is_no_mode_is_a_function_and_a_guess(self, word: str, body: bool) -> None:
        value = {"tool_choice": word} if body else word

        ended = run("convert choice --from openai --to anthropic -", json.dumps(value))

        assert (ended.code, ended.answer) == (1, {"type": "tool", "name": word})
        assert ended.stderr == (
            f"toolrelay: lost: choice: {word!r} is not a mode, and was taken for the name of a function\n"
        )

    @pytest.mark.parametrize("value", ["clock", {"type": "function", "function": {"name": "clock"}}])
    def test_a_choice_of_a_declared_tool_is_clean(self, value: Any) -> None:
        body = {"tool_choice": value, "tools": [{"type": "function", "function": {"name": "clock"}}]}

        ended = run("convert choice --to anthropic -", body)

        assert (ended.code, ended.answer, ended.stderr) == (0, {"type": "tool", "name": "clock"}, "")

    @pytest.mark.parametrize(
        ("value", "tools"),
        [
            ("requried", [{"type": "function", "function": {"name": "clock"}}]),
            ({"type": "tool", "name": "clok"}, [{"name": "clock", "input_schema": {}}]),
            ({"type": "tool", "name": "clok"}, [{"type": "bash_20250124", "name": "bash"}]),
        ],
    )
    def test_a_choice_of_a_tool_that_the_request_does_not_declare_is_impossible(self, value: Any, tools: Any) -> None:
        ended = run("convert choice --to gemini -", {"tool_choice": value, "tools": tools})

        assert (ended.code, ended.stdout) == (2, "")
        assert "which is not declared; declared are: " in ended.stderr

    @pytest.mark.parametrize(
        "other", [{"type": "mcp", "server_label": "depot"}, {"type": "bash_20250124", "name": "x"}]
    )
    def test_a_name_that_another_kind_of_tool_may_bring_is_no_error(self, other: Any) -> None:
        body = {"tool_choice": {"type": "tool", "name": "x"}, "tools": [{"name": "clock", "input_schema": {}}, other]}

        assert run("convert choice --to gemini -", body).code == 0

    @pytest.mark.parametrize("value", [None, 1, [], {"weather": 1}])
    def test_what_is_no_choice_is_impossible(self, value: Any) -> None:
        ended = run("convert choice --to openai -", json.dumps(value))

        assert (ended.code, ended.stdout) == (2, "")
        assert "not a recognised tool choice" in ended.stderr


class TestCalls:
    @pytest.mark.parametrize("target", FORMATS)
    def test_a_plain_call_is_clean_for_everyone(self, target: ProviderFormat) -> None:
        ended = run(f"convert calls --to {target} -", chat_message(("clock", {"at": "noon"})))

        assert (ended.code, ended.stderr) == (0, "")
        (call,) = read_calls(ended.answer, target)
        assert (call.tool_name, call.arguments, call.provider_call_id) == ("clock", {"at": "noon"}, "call_0")

    @pytest.mark.parametrize("entry", INDEX, ids=lambda entry: entry["file"])
    def test_every_payload_is_written_for_everyone(self, entry: dict[str, Any]) -> None:
        reading = read_payload((PAYLOADS / entry["file"]).read_text())
        if reading.likeness is not None:  # a server's answer, which no model said
            with pytest.raises(InvalidPayloadError, match="it looks like"):
                convert_calls(reading, "openai")
            return

        for target in FORMATS:
            written = convert_calls(reading, target).value
            json.dumps(written)
            assert len(read_calls(written, target) if written else []) == entry["calls"]

    @pytest.mark.parametrize("entry", WHOLE, ids=lambda entry: entry["file"])
    def test_at_home_only_what_is_no_call_is_lost(self, entry: dict[str, Any]) -> None:
        reading = read_payload((PAYLOADS / entry["file"]).read_text())
        if reading.likeness is not None:
            return

        losses = convert_calls(reading, format_of(entry)).losses

        served = {call.kind for call in reading.server_calls}
        assert {loss.what for loss in losses} - served <= {"text", "choice"}

    def test_what_has_no_place_is_told(self) -> None:
        ended = run(f"convert calls --to openai {PAYLOADS / 'gemini/server_tools_mixed.json'}")

        assert ended.code == 1
        assert "'GOOGLE_SEARCH_WEB': toolCall: the provider runs this call itself" in ended.stderr
        assert "'weather-lookup': thought_signature: there is no place for it" in ended.stderr

    def test_names_ids_and_text_that_change_are_told(self) -> None:
        call = {"id": "call:1", "function": {"name": "a.b", "arguments": "{}"}}

        ended = run("convert calls --to anthropic -", {"role": "assistant", "content": "Hm", "tool_calls": [call]})

        assert ended.code == 1
        (block,) = ended.answer[0]["content"]
        text, name, identity = ended.stderr.splitlines()
        assert text.startswith("toolrelay: lost: text: ")
        assert name == f"toolrelay: lost: 'a.b': name: it is {block['name']!r} on the wire"
        assert identity == f"toolrelay: lost: 'a.b': id: 'call:1' is {block['id']!r} on the wire"

    def test_repairs_and_problems_are_told_and_the_calls_written(self) -> None:
        ended = run(f"convert calls --to anthropic {PAYLOADS / 'openai_chat/odd_json.json'}")

        assert ended.code == 1
        assert len(ended.answer[0]["content"]) == 5
        assert ended.stderr.count("repaired: ") == 2
        assert ended.stderr.count("problem: ") == 3

    @pytest.mark.parametrize(
        ("payload", "likeness"),
        [
            ({"tools": [TOOL]}, "a request's body (tools)"),
            (TOOL, "a tool's definition"),
            ([], "an empty list"),
            ([{"role": "user", "content": "Hm"}], "a list: a message of the role 'user'"),
            (ANSWER, "tool results"),
        ],
    )
    def test_what_no_model_said_is_impossible_and_says_what_it_is(self, payload: Any, likeness: str) -> None:
        ended = run("convert calls --to anthropic -", payload)

        assert (ended.code, ended.stdout) == (2, "")
        assert f"there are no tool calls in it: it looks like {likeness}" in ended.stderr

    def test_a_message_without_calls_is_noted_and_clean(self) -> None:
        ended = run("convert calls --to anthropic -", {"role": "assistant", "content": "It rains."})

        assert (ended.code, ended.answer) == (0, [])
        assert ended.stderr == "toolrelay: the message holds no tool calls\n"

    def test_calls_that_a_conversation_answers_are_left_out_and_told(self) -> None:
        waiting = json.loads(chat_message(("depot", {})))
        conversation = [{"role": "user", "content": "Hm"}, CALL, ANSWER, waiting]

        ended = run("convert calls --to anthropic -", conversation)

        assert ended.code == 1
        assert [block["name"] for block in ended.answer[0]["content"]] == ["depot"]
        assert ended.stderr == "toolrelay: lost: 'clock': call: a later message answers it: it is left out\n"

    def test_a_stream_that_broke_off_is_told_and_its_calls_written(self) -> None:
        calls = [{"index": 0, "id": "c1", "function": {"name": "clock", "arguments": "{}"}}]
        stream = f"data: {json.dumps({'choices': [{'delta': {'tool_calls': calls}}]})}\n\n"

        written, shown = run("convert calls --to anthropic -", stream), run("explain -", stream)

        assert written.code == shown.code == 1
        assert "the stream broke off before its end" in written.stderr
        assert "the stream broke off before its end" in shown.stdout

    def test_calls_of_which_none_has_a_name_are_impossible(self) -> None:
        ended = run("convert calls --to anthropic -", {"tool_calls": [{"id": "c", "function": {"arguments": "{}"}}]})

        assert (ended.code, ended.stdout) == (2, "")


class TestResults:
    @pytest.mark.parametrize("target", FORMATS)
    @pytest.mark.parametrize("is_good", [True, False])
    def test_a_result_is_written_for_everyone(self, target: ProviderFormat, is_good: bool) -> None:
        outcome: dict[str, Any] = {"output": "noon"} if is_good else {"error": "broken", "error_category": "timeout"}
        result = NormalizedToolResult(
            tool_call_id="c1", tool_name="clock", provider_call_id="c1", success=is_good, **outcome
        )

        ended = run(f"convert results --from gemini --to {target} -", format_results([result], "gemini"))

        (back,) = read_results(ended.answer)
        assert (back.success, back.output, back.error) == (is_good, result.output, result.error)
        assert (ended.code, ended.stderr.count("\n")) == ((1, 1) if target == "mcp" else (0, 0)), ended.stderr

    @pytest.mark.parametrize("content", ["Error: boom", "Error: timeout: too slow", "Error: it says: no", "Error:  x "])
    def test_the_text_of_a_failure_stays_as_it_is(self, content: str) -> None:
        ended = run("convert results --to openai -", {**ANSWER, "content": content})

        assert (ended.code, ended.answer) == (0, [{**ANSWER, "content": content}])

    def test_a_conversation_lends_its_results_their_tools_names(self) -> None:
        ended = run("convert results --from openai --to gemini -", [CALL, ANSWER])

        assert ended.code == 0
        (part,) = ended.answer[0]["parts"]
        assert part["functionResponse"] == {"name": "clock", "response": {"output": "noon"}, "id": "c1"}

    def test_gemini_is_given_no_result_without_a_name(self) -> None:
        ended = run("convert results --to gemini -", ANSWER)

        assert (ended.code, ended.stdout) == (2, "")
        assert "pass the whole conversation" in ended.stderr

    def test_a_picture_without_a_place_is_told(self) -> None:
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
        block = {"type": "tool_result", "tool_use_id": "t1", "content": [picture]}

        ended = run("convert results --to openai -", {"role": "user", "content": [block]})

        assert ended.code == 1
        assert "'t1': image: " in ended.stderr

    def test_a_picture_for_bedrock_is_printed_as_base64(self) -> None:
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
        block = {"type": "tool_result", "tool_use_id": "t1", "content": [picture]}

        ended = run("convert results --to bedrock -", {"role": "user", "content": [block]})

        (message,) = json.loads(ended.stdout)
        (content,) = message["content"][0]["toolResult"]["content"]
        assert content == {"image": {"format": "png", "source": {"bytes": "aGk="}}}

    def test_a_failures_picture_is_told(self) -> None:
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
        block = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [picture]}

        ended = run("convert results --to anthropic -", {"role": "user", "content": [block]})

        assert ended.code == 1
        assert ended.stderr == "toolrelay: lost: 't1': image: a failure is told in words: it is described\n"

    @pytest.mark.parametrize("identity", ["text", "content", "c1"])
    def test_an_id_without_a_place_is_told_whatever_else_it_spells(self, identity: str) -> None:
        ended = run("convert results --to mcp -", {"role": "tool", "tool_call_id": identity, "content": "noon"})

        assert ended.code == 1
        assert ended.stderr == f"toolrelay: lost: {identity!r}: id: {identity!r} is not on the wire\n"

    def test_an_id_that_is_rewritten_is_told(self) -> None:
        ended = run("convert results --to anthropic -", {"role": "tool", "tool_call_id": "a.b:0", "content": "noon"})

        assert ended.code == 1
        assert ended.stderr == "toolrelay: lost: 'a.b:0': id: 'a.b:0' is 'esc-a-2eb-3a0' on the wire\n"

    def test_gemini_without_ids_loses_none_at_home_and_is_given_one_elsewhere(self) -> None:
        answers = [{"functionResponse": {"name": "f", "response": {"output": place}}} for place in range(2)]

        home, away = (run(f"convert results --to {to} -", {"parts": answers}) for to in ("gemini", "anthropic"))

        assert (home.code, home.stderr, home.answer) == (0, "", [{"role": "user", "parts": answers}])
        assert away.code == 1
        told = "the result does not say which call it answers; it is written under"
        assert away.stderr == "".join(f"toolrelay: lost: 'f': id: {told} 'result_{n}'\n" for n in range(2))

    def test_a_response_of_mcp_stays_one(self) -> None:
        result = {"content": [{"type": "text", "text": "noon"}], "isError": False, "resultType": "complete"}
        answer = {"jsonrpc": "2.0", "id": 3, "result": result}

        ended = run("convert results --to mcp -", answer)

        assert (ended.code, ended.stderr, ended.answer) == (0, "", [answer])

    def test_a_text_that_looks_like_an_empty_name_is_no_loss(self) -> None:
        ended = run("convert results --to anthropic -", {**ANSWER, "content": '{"name": ""}'})

        assert (ended.code, ended.stderr) == (0, "")

    def test_a_name_is_missed_where_the_wire_has_a_place_for_it(self) -> None:
        ended = run("convert results --to langchain -", ANSWER)

        assert ended.code == 1
        assert "'c1': name: the result does not say whose it is" in ended.stderr

    def test_a_conversation_may_be_the_body_of_a_request(self) -> None:
        ended = run("convert results --to langchain -", {"model": "m", "messages": [CALL, ANSWER]})

        assert (ended.code, ended.answer[0]["name"]) == (0, "clock")

    @pytest.mark.parametrize("source", FORMATS)
    @pytest.mark.parametrize("target", FORMATS)
    @pytest.mark.parametrize("is_good", [True, False])
    def test_every_loss_is_one_that_can_be_seen(
        self, source: ProviderFormat, target: ProviderFormat, is_good: bool
    ) -> None:
        outcome: dict[str, Any] = {"output": "noon"} if is_good else {"error": "broken", "error_category": "timeout"}
        turn = format_calls([NormalizedToolRequest(tool_name="clock", provider_call_id="c1")], source)
        (call,) = read_calls(turn, source)
        result = NormalizedToolResult(
            tool_call_id="c1",
            tool_name="clock",
            provider_call_id="c1",
            provider_metadata=call.provider_metadata,
            success=is_good,
            **outcome,
        )

        done = convert_results([*turn, *format_results([result], source)], target)

        lost = [loss.what for loss in done.losses]
        (back,) = read_results(done.value)
        assert (back.success, back.output, back.error) == (is_good, result.output, result.error)
        assert lost == ([] if back.provider_call_id == "c1" else ["id"])

    def test_a_conversation_tells_what_does_not_fit_together(self) -> None:
        other = {"role": "assistant", "tool_calls": [{"id": "c2", "function": {"name": "date", "arguments": "{}"}}]}

        stale = run("convert results --to anthropic -", [CALL, ANSWER, {**ANSWER, "tool_call_id": "c9"}])
        missing = run("convert results --to anthropic -", [CALL, other, ANSWER])

        assert stale.code == missing.code == 1
        assert "no call of the conversation has the id 'c9'" in stale.stderr
        assert "date" in missing.stderr
        assert "the call has no result in the conversation" in missing.stderr

    def test_results_without_ids_go_under_the_ids_that_their_calls_get(self) -> None:
        asked = [{"functionCall": {"name": name, "args": {"place": place}}} for place, name in enumerate("aba")]
        given = [{"functionResponse": {"name": name, "response": {"output": name}}} for name in "aba"]
        turn = {"role": "model", "parts": asked}

        calls = run("convert calls --to anthropic -", [turn])
        results = run("convert results --to anthropic -", [turn, {"role": "user", "parts": given}])

        ids = [block["id"] for block in calls.answer[0]["content"]]
        assert (results.code, results.stderr) == (0, "")
        assert [(block["tool_use_id"], block["content"]) for block in results.answer[0]["content"]] == list(
            zip(ids, "aba", strict=True)
        )

    def test_text_that_reads_as_a_failure_is_told(self) -> None:
        block = {"type": "tool_result", "tool_use_id": "t1", "content": "Error: is what it is called"}

        ended = run("convert results --to openai -", {"role": "user", "content": [block]})

        assert ended.code == 1
        assert "reads as a failure" in ended.stderr

    @pytest.mark.parametrize(
        ("words", "message", "complaint"),
        [
            ("", CALL, "no tool results"),
            ("--from anthropic", ANSWER, "as those of openai, not of anthropic"),
            ("", [ANSWER, ANSWER], "several results for 'c1'"),
            ("", [CALL, ANSWER, CALL, ANSWER], "several results for 'c1'"),
            ("", 1, "of type int"),
        ],
    )
    def test_what_cannot_be_answered_with_is_impossible(self, words: str, message: Any, complaint: str) -> None:
        ended = run(f"convert results {words} --to bedrock -", json.dumps(message))

        assert (ended.code, ended.stdout) == (2, "")
        assert complaint in ended.stderr


@pytest.mark.parametrize("what", ["tools", "choice", "calls", "results"])
def test_an_unknown_provider_lists_the_known(what: str) -> None:
    ended = run(f"convert {what} --to morse -")

    assert ended.code == 2
    assert all(str(provider_format) in ended.stderr for provider_format in ProviderFormat)


@pytest.mark.parametrize("what", ["tools", "choice", "calls", "results"])
def test_what_is_no_json_is_one_typed_complaint(what: str) -> None:
    ended = run(f"convert {what} --to openai -", "[" * 100_000)

    assert (ended.code, ended.stdout) == (2, "")
    assert "JSON" in ended.stderr


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("tools", "tools[0]: a definition is an object, got list"),
        ("choice", "not a recognised tool choice: it looks like a list: a list;"),
        ("calls", "entry 0 of the list is of type list, no message or call;"),
        ("results", "entry 0 of the list is of type list, no message or call;"),
    ],
)
def test_lists_in_lists_are_impossible_and_said_so_in_a_line(what: str, said: str) -> None:
    ended = run(f"convert {what} --to openai -", "[" * 500 + "]" * 500)

    assert (ended.code, ended.stdout) == (2, "")
    assert ended.stderr.removeprefix("toolrelay: ").startswith(said)
