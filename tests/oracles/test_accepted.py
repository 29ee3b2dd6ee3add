"""Whatever is sent to a provider, its own types take it: definitions, choices, calls as history, results."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracles.acceptors import ACCEPTORS
from tests.oracles.round_trips import Trip
from tests.unit.payloads import WHOLE, format_of, load
from tests.unit.test_proxy import turns, values
from tests.unit.test_schema_dialects import Pair, scalars, tools
from tests.unit.tricky_schemas import TRICKY
from toolrelay import (
    ChoiceMode,
    ErrorCategory,
    NormalizedToolRequest,
    NormalizedToolResult,
    ToolChoice,
    ToolSpec,
    build_request,
    export_tools,
    format_results,
    import_tools,
    read_calls,
)
from toolrelay.formats.shared.output import call_id, error_text, shown_blocks, success_text
from toolrelay.names import ArgumentNames
from toolrelay.proxy import format_calls, read_results

pytestmark = pytest.mark.filterwarnings("ignore")  # of the SDKs

every_provider = pytest.mark.parametrize("provider", ACCEPTORS)
quick = settings(max_examples=50, suppress_health_check=list(HealthCheck))

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)
contents = st.sampled_from(
    [
        [{"type": "text", "text": "It rains."}],
        [{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
        [{"type": "text", "text": "a"}, {"type": "image", "data": "aGk=", "mimeType": "image/bmp"}],
        [{"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}],
        [{"type": "resource_link", "uri": "file:///a", "name": "a"}],
        [{"type": "resource", "resource": {"uri": "file:///a", "text": "x"}}],
    ]
)


@st.composite
def specs(draw: st.DrawFn) -> list[ToolSpec]:
    found = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    descriptions = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    return [ToolSpec(name, draw(descriptions), draw(tools())[0]) for name in found]


@st.composite
def choices(draw: st.DrawFn, declared: list[ToolSpec]) -> ToolChoice:
    mode = draw(st.sampled_from(ChoiceMode))
    some = st.lists(st.sampled_from([spec.name for spec in declared]), unique=True)
    chosen = [] if mode is ChoiceMode.NONE else draw(some)
    return ToolChoice(mode, tuple(chosen), parallel=draw(st.sampled_from([None, True, False])))


@st.composite
def results(draw: st.DrawFn) -> list[NormalizedToolResult]:
    calls = draw(turns())
    return [draw(_result(call, index)) for index, call in enumerate(calls)]


@st.composite
def _result(draw: st.DrawFn, call: NormalizedToolRequest, index: int) -> NormalizedToolResult:
    success = draw(st.booleans())
    return NormalizedToolResult(
        tool_call_id=f"tc_{index}",
        tool_name=call.tool_name,
        provider_call_id=draw(st.sampled_from([call.provider_call_id, None])),
        success=success,
        output=draw(values | contents) if success else None,
        error=None if success else draw(st.text(max_size=20)),
        error_category=None if success else draw(st.sampled_from(ErrorCategory)),
    )


@every_provider
@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@quick
@given(data=st.data())
def test_definitions_and_choices_are_accepted(provider: str, strict: bool, data: st.DataObject) -> None:
    declared = data.draw(specs())
    choice = data.draw(choices(declared))

    request = build_request(declared, provider, choice, strict=strict)

    for tool in request.exported.tools:
        ACCEPTORS[provider].tool(tool)
    ACCEPTORS[provider].choice(request.fields)


@every_provider
@pytest.mark.parametrize("case", TRICKY)
def test_the_tricky_schemas_are_accepted(provider: str, case: str) -> None:
    for strict in (False, True):
        exported = export_tools([ToolSpec("tool", "", TRICKY[case].schema)], provider, strict=strict)

        for tool in exported.tools:
            ACCEPTORS[provider].tool(tool)


@every_provider
@quick
@given(calls=turns())
def test_calls_are_accepted_as_history(provider: str, calls: list[NormalizedToolRequest]) -> None:
    messages = format_calls(calls, provider)

    for message in messages:
        ACCEPTORS[provider].call(message)


@pytest.mark.parametrize("entry", WHOLE, ids=lambda entry: entry["file"])
def test_the_calls_of_the_corpus_are_accepted_as_history(entry: dict[str, Any]) -> None:
    calls = read_calls(load(entry["file"]))
    provider_format = format_of(entry)
    if any("sampling" in call.provider_metadata for call in calls):
        return  # a server's request to a client's model is nobody's call

    for message in format_calls(calls, provider_format):
        ACCEPTORS[provider_format].call(message)


def test_items_that_came_without_what_the_api_wants_are_accepted() -> None:
    shell = {"type": "local_shell_call", "call_id": "c1", "action": {"command": ["ls"]}}
    computer = {"type": "computer_call", "call_id": "c2", "action": {"type": "screenshot"}}

    for item in format_calls(read_calls({"output": [shell, computer]}), "openai_responses"):
        ACCEPTORS["openai_responses"].call(item)


@every_provider
@quick
@given(found=results())
def test_results_are_accepted(provider: str, found: list[NormalizedToolResult]) -> None:
    messages = format_results(found, provider)

    for message in messages:
        ACCEPTORS[provider].result(message)


@every_provider
@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@quick
@given(tool=tools(), name=names, data=st.data())
def test_a_definition_that_went_through_the_sdk_means_what_it_meant_but_for_what_was_reported(
    provider: str, strict: bool, tool: Pair, name: str, data: st.DataObject
) -> None:
    schema, arguments = tool
    trip = _trip(provider, ToolSpec(name, "What it does.", schema), strict=strict)
    tried = [arguments, *data.draw(st.lists(_others(arguments, with_null=not trip.is_strict), min_size=8, max_size=8))]

    assert trip.can_say(arguments)
    assert [(each, spots) for each in tried if (spots := trip.forbidden(each))] == []
    assert [(each, spots) for each in tried if (spots := trip.beyond(each))] == []
    assert ("its own" in json.dumps(schema)) == ("its own" in json.dumps(trip.back.input_schema))


@pytest.mark.parametrize("provider", ["openai", "openai_responses", "anthropic", "langchain", "mcp", "bedrock"])
@quick
@given(tool=tools(), name=names)
def test_a_definition_for_a_provider_that_takes_any_schema_comes_back_as_it_was(
    provider: str, tool: Pair, name: str
) -> None:
    trip = _trip(provider, ToolSpec(name, "What it does.", tool[0]))

    assert trip.altered() == []


def _trip(provider: str, spec: ToolSpec, *, strict: bool = False) -> Trip:
    exported = export_tools([spec], provider, strict=strict)
    (back,) = import_tools([_through_sdk(provider, entry) for entry in exported.tools], provider)
    assert exported.names.decode(back.name) == spec.name
    assert back.description == spec.description
    is_strict = strict and "strict" not in {loss.what for loss in exported.losses}
    renamed = exported.names.arguments_of(spec.name) or ArgumentNames()
    return Trip(spec, back, exported.losses, renamed, is_strict)


@st.composite
def _others(draw: st.DrawFn, arguments: dict[str, Any], *, with_null: bool) -> dict[str, Any]:
    """Give other arguments: a member changed, left out, or one that nobody declared."""
    plain = scalars if with_null else scalars.filter(lambda value: value is not None)
    name = draw(st.sampled_from([*sorted(arguments), "zz"]))
    if draw(st.integers(0, 5)) == 0:
        return {other: value for other, value in arguments.items() if other != name}
    inner = st.dictionaries(st.sampled_from(["k", "a"]), plain, max_size=1)
    return {**arguments, name: draw(plain | st.lists(plain, max_size=2) | inner)}


def _through_sdk(provider: str, entry: Any) -> Any:
    accepted = ACCEPTORS[provider].tool(entry)
    return entry if accepted is None else accepted


@every_provider
@quick
@given(calls=turns())
def test_calls_that_went_through_the_sdk_are_read_as_they_were(
    provider: str, calls: list[NormalizedToolRequest]
) -> None:
    messages = format_calls(calls, provider)
    through = [ACCEPTORS[provider].call(message) or message for message in messages]

    read = read_calls(messages if provider == "mcp" else through, provider)

    assert [(call.tool_name, call.arguments) for call in calls] == [(call.tool_name, call.arguments) for call in read]


@every_provider
@quick
@given(found=results())
def test_results_that_went_through_the_sdk_are_read_as_they_were(
    provider: str, found: list[NormalizedToolResult]
) -> None:
    messages = format_results(found, provider)
    through = [ACCEPTORS[provider].result(message) or message for message in messages]

    read = read_results(through)

    assert [_told(result, provider) for result in found] == [_told(result, provider) for result in read]


def _told(result: NormalizedToolResult, provider: str) -> tuple[Any, ...]:
    """Give what the wire can say: MCP's results have no ids, Gemini's only its own; text that is JSON is its value."""
    identity = None if provider == "mcp" else call_id(result)
    if provider == "gemini":
        identity = result.provider_call_id
    if not result.success:
        return identity, False, error_text(result)
    shown = [] if provider == "openai" else shown_blocks(result)  # Chat has no place for pictures
    return identity, True, shown or _value(success_text(result))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
