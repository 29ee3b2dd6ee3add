"""What stands in ``toolrelay`` alone: formats, calls, ids, errors, flat definitions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

from features.support import attempt, given, then, when
from pydantic import TypeAdapter

from toolrelay.errors import ErrorCategory, classify_error
from toolrelay.ids import tool_call_id
from toolrelay.models import ProviderFormat, ToolSpec
from toolrelay.schemas import normalize_schema
from toolrelay.translate import detect_format, normalize_tool_call


@given("the payload {payload:json}")
def _(context: Any, payload: Any) -> None:
    context.payload = payload


@when("its format is detected")
def _(context: Any) -> None:
    before = copy.deepcopy(context.payload)
    context.format = detect_format(context.payload)
    assert context.payload == before


@then("the format is {provider_format}")
def _(context: Any, provider_format: str) -> None:
    assert isinstance(context.format, ProviderFormat)
    assert context.format == provider_format, f"expected {provider_format}, got {context.format}"


def read(context: Any, provider_format: str | None = None) -> None:
    before = copy.deepcopy(context.payload)
    context.request = normalize_tool_call(context.payload, provider_format)
    assert context.payload == before, "the payload was changed"


@when("the call is read")
def _(context: Any) -> None:
    read(context)


@when("the call is read as {provider_format:w}")
def _(context: Any, provider_format: str) -> None:
    read(context, provider_format)


@when("the call is read as {provider_format:w}, given as {given_as:w}")
def _(context: Any, provider_format: str, given_as: str) -> None:
    read(context, {"text": str, "member": ProviderFormat}[given_as](provider_format))


@when("reading the call is tried")
def _(context: Any) -> None:
    attempt(context, lambda: read(context))


@when("reading the call as {provider_format:w} is tried")
def _(context: Any, provider_format: str) -> None:
    attempt(context, lambda: read(context, provider_format))


@then("it asks for the tool {name:S}")
def _(context: Any, name: str) -> None:
    assert context.request.tool_name == name


@then("its arguments are {arguments:json}")
def _(context: Any, arguments: Any) -> None:
    assert context.request.arguments == arguments, f"got {context.request.arguments}"


@then("its provider format is {provider_format}")
def _(context: Any, provider_format: str) -> None:
    assert context.request.provider_format == provider_format, f"got {context.request.provider_format}"
    assert isinstance(context.request.provider_format, ProviderFormat)


@then("a repair is recorded")
def _(context: Any) -> None:
    assert context.request.repairs


@then("it has no tool_call_id, no plan_id and no sequence")
def _(context: Any) -> None:
    request = context.request
    assert (request.tool_call_id, request.plan_id, request.sequence) == (None, None, None)


@then('call {sequence:d} of the plan "{plan_id}" has the id {expected}')
def _(_context: Any, sequence: int, plan_id: str, expected: str) -> None:
    assert tool_call_id(plan_id, sequence) == expected


@when('the id of call {sequence:d} of the plan "{plan_id}" is asked for twice')
def _(context: Any, sequence: int, plan_id: str) -> None:
    context.ids = [tool_call_id(plan_id, sequence), tool_call_id(plan_id, sequence)]


@then('both are the same id, which starts with "{prefix}" and has {length:d} characters')
def _(context: Any, prefix: str, length: int) -> None:
    first, second = context.ids
    assert first == second
    assert first.startswith(prefix)
    assert len(first) == length


@then("these calls have ids that are all different")
def _(context: Any) -> None:
    ids = {tool_call_id(row["plan"], int(row["sequence"])) for row in context.table}
    assert len(ids) == len(context.table.rows)


@when('the id of call {sequence:d} of the plan "{plan_id}" is tried')
def _(context: Any, sequence: int, plan_id: str) -> None:
    attempt(context, lambda: tool_call_id(plan_id, sequence))


@when('the id of call {sequence:d} of the plan "" is tried')
def _(context: Any, sequence: int) -> None:
    attempt(context, lambda: tool_call_id("", sequence))


@when("the error {message:json} is sorted")
def _(context: Any, message: Any) -> None:
    context.category = classify_error(message)


@when('a {exception} whose text is "{text}" is sorted')
def _(context: Any, exception: str, text: str) -> None:
    context.category = classify_error(_EXCEPTIONS[exception](text))


@when("a pydantic ValidationError that speaks of a timeout is sorted")
def _(context: Any) -> None:
    attempt(context, lambda: TypeAdapter(int).validate_python("timed out"))
    assert "timed out" in str(context.error)
    context.category = classify_error(context.error)


@then("its category is {category}")
def _(context: Any, category: str) -> None:
    assert context.category is ErrorCategory(category), f"got {context.category}"


class _HttpError(Exception):
    def __init__(self, text: str, status_code: int) -> None:
        super().__init__(text)
        self.status_code = status_code


_EXCEPTIONS: dict[str, Callable[[str], BaseException]] = {
    "TimeoutError": TimeoutError,
    "PermissionError": PermissionError,
    "MemoryError": MemoryError,
    "RuntimeError": RuntimeError,
    "HTTP 429 error": partial(_HttpError, status_code=429),
}


@given('a tool definition {name} with the description "{description}" and a text property "{key}"')
def _(context: Any, name: str, description: str, key: str) -> None:
    context.spec = ToolSpec(name, description, {"type": "object", "properties": {key: {"type": "string"}}})


@given("a tool definition {name} with a description of {length:d} characters")
def _(context: Any, name: str, length: int) -> None:
    context.spec = ToolSpec(name, "d" * length, {"type": "object"})


@when("the definition is asked for {provider:w}")
def _(context: Any, provider: str) -> None:
    context.flat = normalize_schema(context.spec, provider)


@when("the definition is asked for {provider:w} with descriptions of at most {length:d} characters")
def _(context: Any, provider: str, length: int) -> None:
    context.flat = normalize_schema(context.spec, provider, max_description_length=length)


@when("the definition with descriptions of at most {length:d} characters is tried")
def _(context: Any, length: int) -> None:
    attempt(context, lambda: normalize_schema(context.spec, "openai", max_description_length=length))


@then("the schema stands under {key:w} and under no other key")
def _(context: Any, key: str) -> None:
    assert set(context.flat) == {"name", "description", key}, f"got {sorted(context.flat)}"
    assert context.flat[key] == context.spec.input_schema


@then('the name is "{name}"')
def _(context: Any, name: str) -> None:
    assert context.flat["name"] == name


@then('the description is "{description}"')
def _(context: Any, description: str) -> None:
    assert context.flat["description"] == description


@then("the description has {length:d} characters")
def _(context: Any, length: int) -> None:
    assert len(context.flat["description"]) == length
