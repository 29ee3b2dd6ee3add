"""A plan's calls, run in this process."""

from __future__ import annotations

import copy
import json
import threading
from typing import Any

from features.support import attempt, given, then, when

from toolrelay.ids import tool_call_id
from toolrelay.models import CallStatus, ToolSpec
from toolrelay.schemas import normalize_schema
from toolrelay_worker import ToolCallRouter, ToolContext

PATIENCE_SECONDS = 10


@given('a router for the plan "{plan_id}"')
def _(context: Any, plan_id: str) -> None:
    context.router = ToolCallRouter(context.registry, plan_id)
    context.results = []


@when('a router for the plan "" is tried')
def _(context: Any) -> None:
    attempt(context, lambda: ToolCallRouter(context.registry, ""))


def route(context: Any, payload: Any, *options: Any, **more: Any) -> None:
    before = copy.deepcopy(payload)
    context.result = context.router.route(payload, *options, **more)
    context.results.append(context.result)
    assert payload == before, "the payload was changed"


@when("{payload:json} is routed")
def _(context: Any, payload: Any) -> None:
    route(context, payload)


@when("{payload:json} is routed as {provider_format:w}")
def _(context: Any, payload: Any, provider_format: str) -> None:
    route(context, payload, provider_format)


@when("{payload:json} is routed with the provider metadata {metadata:json}")
def _(context: Any, payload: Any, metadata: Any) -> None:
    route(context, payload, provider_metadata=metadata)


@when("routing {payload:json} is tried")
def _(context: Any, payload: Any) -> None:
    attempt(context, lambda: context.router.route(payload))


@when("this batch is routed")
def _(context: Any) -> None:
    context.results = context.router.route_batch([json.loads(row["payload"]) for row in context.table])


@when("an empty batch is routed")
def _(context: Any) -> None:
    context.results = context.router.route_batch([])


@when("routing the batch {payloads:json} is tried")
def _(context: Any, payloads: Any) -> None:
    attempt(context, lambda: context.router.route_batch(payloads))


@when("routing a batch that is {what} is tried")
def _(context: Any, what: str) -> None:
    call = {"name": "test/echo", "arguments": "{}"}
    batch = {"a tuple": (call,), "a dict": call, "text": json.dumps([call]), "nothing": None}[what]
    attempt(context, lambda: context.router.route_batch(batch))
    assert context.called == []


@then('the router\'s plan is "{plan_id}" and its sequence is {sequence:d}')
def _(context: Any, plan_id: str, sequence: int) -> None:
    assert (context.router.plan_id, context.router.sequence) == (plan_id, sequence)


@then("the router's sequence is {sequence:d}")
def _(context: Any, sequence: int) -> None:
    assert context.router.sequence == sequence


@then('the results have the ids of calls {numbers} of the plan "{plan_id}"')
def _(context: Any, numbers: str, plan_id: str) -> None:
    expected = [tool_call_id(plan_id, int(number)) for number in numbers.split(",")]
    assert [result.tool_call_id for result in context.results] == expected


@then('the result is for the tool "{name}" in the {provider_format:w} format')
def _(context: Any, name: str, provider_format: str) -> None:
    assert (context.result.tool_name, context.result.provider_format) == (name, provider_format)


@then('the result is for the tool "" in the {provider_format:w} format')
def _(context: Any, provider_format: str) -> None:
    assert (context.result.tool_name, context.result.provider_format) == ("", provider_format)


@then('the result\'s id starts with "{prefix}"')
def _(context: Any, prefix: str) -> None:
    assert context.result.tool_call_id.startswith(prefix)


@then("the result's provider metadata has {metadata:json}")
def _(context: Any, metadata: Any) -> None:
    found = context.result.provider_metadata
    assert {key: found.get(key) for key in metadata} == metadata, f"got {found}"


@then("the batch's results are")
def _(context: Any) -> None:
    found = [(one.tool_name, one.success, one.error_category) for one in context.results]
    expected = [
        (row["tool"], json.loads(row["success"]), None if row["category"] == "null" else row["category"])
        for row in context.table
    ]
    assert found == expected, f"got {found}"


@then("there are no results")
def _(context: Any) -> None:
    assert context.results == []


def read_all(context: Any, payload: Any) -> None:
    context.updates = list(context.router.route_streaming(payload))
    context.result = context.updates[-1].result


@when("the updates of {payload:json} are read")
def _(context: Any, payload: Any) -> None:
    read_all(context, payload)


@when("asking for the updates of {payload:json} is tried")
def _(context: Any, payload: Any) -> None:
    attempt(context, lambda: context.router.route_streaming(payload))  # and nobody reads what it gives


@then("their statuses are {statuses}")
def _(context: Any, statuses: str) -> None:
    found = [update.status for update in context.updates]
    assert found == [CallStatus(name) for name in statuses.split(", ")], f"got {found}"
    assert [update.seq for update in context.updates] == list(range(1, len(found) + 1))
    assert len({update.tool_call_id for update in context.updates}) == 1


@then("only the last update is terminal and carries a result")
def _(context: Any) -> None:
    *before, last = context.updates
    assert last.status.is_terminal
    assert last.result is not None
    assert last.result.tool_call_id == last.tool_call_id
    assert not any(update.status.is_terminal or update.result is not None for update in before)


@given("a tool {name:S} that says how far it is and then waits")
def _(context: Any, name: str) -> None:
    context.go_on = threading.Event()

    def handler(*, ctx: ToolContext) -> None:
        context.called.append(name)
        ctx.progress(1, total=2, message="half way")
        if not context.go_on.wait(PATIENCE_SECONDS):
            raise TimeoutError("nobody let the tool go on")

    context.registry.register(ToolSpec(name, "Waits.", {"type": "object"}), handler)


@when("the updates of {payload:json} are read one by one")
def _(context: Any, payload: Any) -> None:
    context.stream = context.router.route_streaming(payload)


@then("the tool has not been called when pending and running are there")
def _(context: Any) -> None:
    assert next(context.stream).status is CallStatus.PENDING
    assert next(context.stream).status is CallStatus.RUNNING
    assert context.called == []


@then("its progress is there while the tool still waits")
def _(context: Any) -> None:
    update = next(context.stream)
    assert not context.go_on.is_set()
    assert context.called == ["test/steps"]
    assert update.status is CallStatus.RUNNING
    assert (update.progress.current, update.progress.total, update.progress.message) == (1, 2, "half way")


@then("once it may go on, the last update is complete")
def _(context: Any) -> None:
    context.go_on.set()
    (last,) = list(context.stream)
    assert last.status is CallStatus.COMPLETE
    assert last.result.success


@when("the router's definitions for {provider:w} are asked for")
def _(context: Any, provider: str) -> None:
    context.definitions = context.router.get_tool_schemas(provider)


@then("each of them is the tool's flat definition for {provider:w} with its tool_type")
def _(context: Any, provider: str) -> None:
    for spec, definition in zip(context.registry.specs(), context.definitions, strict=True):
        flat = {key: value for key, value in definition.items() if key not in ("tool_type", "mode")}
        assert flat == normalize_schema(spec, provider)


@then("the definitions are")
def _(context: Any) -> None:
    for row, definition in zip(context.table, context.definitions, strict=True):
        assert (definition["name"], definition["tool_type"]) == (row["name"], row["tool_type"])
        assert definition.get("mode", "") == row["mode"]
        assert ("mode" in definition) == bool(row["mode"])
