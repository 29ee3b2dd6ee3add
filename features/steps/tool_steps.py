"""Tools of every sort, and what becomes of one call of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from features.support import attempt, given, then, when

import toolrelay.models
import toolrelay_worker
from toolrelay.models import CallStatus, NormalizedToolRequest, ToolSpec
from toolrelay_worker import ToolOutcome
from toolrelay_worker.execution import execute
from toolrelay_worker.runners import shared_runner

ANY_OBJECT = {"type": "object"}


def add(
    context: Any,
    name: str,
    handler: Callable[..., Any],
    *,
    schema: dict[str, Any] | None = None,
    output_schema: dict[str, Any] | None = None,
    tool_type: Literal["tool", "validation"] = "tool",
) -> None:
    def recorded(**arguments: Any) -> Any:
        context.called.append(name)
        return handler(**arguments)

    spec = ToolSpec(name, f"The tool {name}.", schema or ANY_OBJECT, output_schema, tool_type)
    context.registry.register(spec, recorded)


def echo(**arguments: Any) -> dict[str, Any]:
    return arguments


def returns(value: Any) -> Callable[[], Any]:
    return lambda: value


def raises(text: str) -> Callable[[], Any]:
    def handler() -> None:
        raise RuntimeError(text)

    return handler


@given("a tool {name:S} that gives back its arguments")
def _(context: Any, name: str) -> None:
    add(context, name, echo)


@given("a tool {name:S} that returns {value:json}")
def _(context: Any, name: str, value: Any) -> None:
    add(context, name, returns(value))


@given('a tool {name:S} that raises RuntimeError("{text}")')
def _(context: Any, name: str, text: str) -> None:
    add(context, name, raises(text))


@given("a tool {name:S} that reports the failure {error:json}")
def _(context: Any, name: str, error: Any) -> None:
    add(context, name, returns(ToolOutcome(success=False, error=error)))


@given("a tool {name:S} that reports a failure without a reason")
def _(context: Any, name: str) -> None:
    add(context, name, returns(ToolOutcome(False)))


@given("a tool {name:S} that reports the success {output:json}")
def _(context: Any, name: str, output: Any) -> None:
    add(context, name, returns(ToolOutcome(True, output)))


@given("a tool {name:S} with the schema {schema:json}")
def _(context: Any, name: str, schema: Any) -> None:
    add(context, name, echo, schema=schema)


@given("a tool {name:S} with the output schema {schema:json} that returns {value:json}")
def _(context: Any, name: str, schema: Any, value: Any) -> None:
    add(context, name, returns(value), output_schema=schema)


@given("a validation tool {name:S} that returns {value:json} as {given_as}")
def _(context: Any, name: str, value: Any, given_as: str) -> None:
    result = {"a value": value, "an outcome": ToolOutcome(True, value)}[given_as]
    add(context, name, returns(result), tool_type="validation")


@given('a validation tool {name:S} that raises RuntimeError("{text}")')
def _(context: Any, name: str, text: str) -> None:
    add(context, name, raises(text), tool_type="validation")


@given("a validation tool {name:S} with the output schema {schema:json} that returns {value:json}")
def _(context: Any, name: str, schema: Any, value: Any) -> None:
    add(context, name, returns(value), output_schema=schema, tool_type="validation")


def lookup(city: str, units: Literal["c", "f"] = "c") -> str:
    """Weather for a city.

    Args:
        city: Where.
    """
    return f"{city}:{units}"


@given("a function decorated as the tool {name:S}")
def _(context: Any, name: str) -> None:
    context.function = context.registry.tool(name)(lookup)
    context.spec = context.registry.get(name).spec


@given("a function decorated without a name")
def _(context: Any) -> None:
    context.function = context.registry.tool(lookup)


@when("another tool named {name:S} is registered with a definition")
def _(context: Any, name: str) -> None:
    attempt(context, lambda: add(context, name, echo))


@when("another tool named {name:S} is registered as a function")
def _(context: Any, name: str) -> None:
    attempt(context, lambda: context.registry.tool(name)(lookup))


@when("it is called with {arguments:json}")
def _(context: Any, arguments: Any) -> None:
    (tool,) = context.registry
    context.called.clear()
    context.outcome = execute(
        NormalizedToolRequest(tool_name=tool.name, arguments=arguments), context.registry, runner=shared_runner()
    )
    context.result = context.outcome.to_result(NormalizedToolRequest(tool_name=tool.name))


@then('its definition has the name "{name}" and the description "{description}"')
def _(context: Any, name: str, description: str) -> None:
    assert (context.spec.name, context.spec.description) == (name, description)


@then('its schema asks for a "{name}" of type "{kind}", described as "{description}"')
def _(context: Any, name: str, kind: str, description: str) -> None:
    assert context.spec.input_schema["properties"][name] == {"type": kind, "description": description}


@then('its schema offers "{name}" out of {choices:json} with the default {default:json}')
def _(context: Any, name: str, choices: Any, default: Any) -> None:
    declared = context.spec.input_schema["properties"][name]
    assert declared["enum"] == choices
    assert declared["default"] == default


@then("its schema requires only {names:json}")
def _(context: Any, names: Any) -> None:
    assert context.spec.input_schema["required"] == names


@then("the function can still be called directly")
def _(context: Any) -> None:
    assert context.function is lookup
    assert context.function("Oslo") == "Oslo:c"


@then('the registry has the tool "{name}"')
def _(context: Any, name: str) -> None:
    assert name in context.registry
    assert context.registry.get(name).handler is lookup


@then("the registry has {count:d} tool")
def _(context: Any, count: int) -> None:
    assert len(context.registry) == count == len(context.registry.specs())


@then("the result is successful with the output {output:json}")
def _(context: Any, output: Any) -> None:
    result = context.result
    assert result.success, f"not successful: {result.error}"
    assert result.output == output, f"got {result.output!r}"
    assert type(result.output) is type(output)
    assert result.error is None
    assert result.error_category is None


@then("the result is not successful with category {category}")
def _(context: Any, category: str) -> None:
    result = context.result
    assert not result.success
    assert result.error_category == category, f"got {result.error_category}: {result.error}"
    assert result.error
    assert result.output is None


@then("the call is complete")
def _(context: Any) -> None:
    assert context.outcome.status is CallStatus.COMPLETE


@then('the error contains "{text}"')
def _(context: Any, text: str) -> None:
    assert text in context.result.error, f"got {context.result.error!r}"


@then("the error is not empty")
def _(context: Any) -> None:
    assert context.result.error.strip()


@then("it is a validation result with the verdict {verdict:json}")
def _(context: Any, verdict: Any) -> None:
    assert context.result.is_validation is True
    assert context.result.validation_passed is verdict


@then("it is a validation result without a verdict")
def _(context: Any) -> None:
    assert context.result.is_validation is True
    assert context.result.validation_passed is None


@then("no tool ran")
def _(context: Any) -> None:
    assert context.called == []


@then("the tools {names} ran in this order")
def _(context: Any, names: str) -> None:
    assert context.called == names.split(", "), f"got {context.called}"


@then("ToolSpec of toolrelay_worker is ToolSpec of toolrelay")
def _(_context: Any) -> None:
    assert toolrelay_worker.ToolSpec is toolrelay.models.ToolSpec
