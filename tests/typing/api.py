"""Never run, only type-checked: what users write against the public names, and the types they may rely on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from datetime import timedelta
from typing import Any, Literal, assert_type

from toolrelay import (
    AsyncCallHandle,
    AsyncProducer,
    AsyncTurn,
    CallHandle,
    CallStatus,
    CancelReply,
    ChoiceMode,
    ErrorCategory,
    ExecutionPolicy,
    ExportedTools,
    InvalidCallError,
    Loss,
    NameMap,
    NormalizedToolRequest,
    NormalizedToolResult,
    OnLost,
    Producer,
    Progress,
    ProviderFormat,
    ResultTimeout,
    Settings,
    StatusUpdate,
    StreamAssembler,
    ToolChoice,
    ToolrelayError,
    ToolRequest,
    ToolSpec,
    Turn,
    UnknownCall,
    build_request,
    classify_error,
    convert_tools,
    detect_format,
    export_tool_choice,
    export_tools,
    format_results,
    import_tool_choice,
    import_tools,
    normalize_schema,
    normalize_tool_call,
    read_calls,
    tool_call_id,
)
from toolrelay_worker import (
    Outcome,
    RegisteredTool,
    ToolCallRouter,
    ToolContext,
    ToolOutcome,
    ToolRegistry,
    ToolRetry,
    ToolRunner,
    default_registry,
    execute,
    tool,
)

# ---- tools: a decorated function keeps its own type -----------------------------------------------------------------


@tool
def bare(city: str) -> int:
    return len(city)


@tool("weather/lookup", timeout=timedelta(seconds=10), idempotent=True)
async def lookup(city: str, units: Literal["c", "f"] = "c", *, ctx: ToolContext) -> dict[str, float]:
    """Weather for a city."""
    await ctx.progress(1, total=2, message="asking")
    ctx.progress(2)
    ctx.partial({"so_far": []})
    assert_type(ctx.idempotency_key, str)
    assert_type(ctx.attempt, int)
    assert_type(ctx.remaining, timedelta)
    assert_type(ctx.cancelled, bool)
    if ctx.attempt < ctx.max_attempts:
        raise ToolRetry("busy", retry_after=timedelta(seconds=1))
    return {city: 11.5}


@tool("orders/refund", on_lost="fail", retry_on={ErrorCategory.TIMEOUT, "rate_limit"}, retry_delay=timedelta(seconds=1))
def refund(order: int) -> ToolOutcome:
    return ToolOutcome(success=False, error=f"no order {order}")


@tool("checks/even", tool_type="validation", read_only=True, on_lost=OnLost.RERUN)
def even(number: int) -> dict[str, bool]:
    return {"passed": number % 2 == 0}


assert_type(bare("Oslo"), int)
assert_type(refund(7), ToolOutcome)
looked_up: Callable[..., Coroutine[Any, Any, dict[str, float]]] = lookup

bare(7)  # type: ignore[arg-type]  # the point: a tool called directly is checked like any function
tool("x", on_lost="maybe")  # type: ignore[call-overload]  # the point: a closed set
tool("x", timeout=10)  # type: ignore[call-overload]  # the point: durations are timedelta


def registering(spec: ToolSpec) -> None:
    registry = ToolRegistry()
    assert_type(registry.register(spec, bare, ExecutionPolicy(max_attempts=1)), RegisteredTool)
    assert_type(registry.get("weather/lookup"), RegisteredTool | None)
    assert_type(registry.specs(), list[ToolSpec])
    assert_type(default_registry, ToolRegistry)


# ---- without a broker -----------------------------------------------------------------------------------------------


def routing(registry: ToolRegistry, payload: dict[str, Any], request: NormalizedToolRequest) -> None:
    router = ToolCallRouter(registry, "plan-001")
    assert_type(router.route(payload), NormalizedToolResult)
    assert_type(router.route(payload, "anthropic", {"model": "m-1"}), NormalizedToolResult)
    assert_type(router.route_batch([payload]), list[NormalizedToolResult])
    updates: Iterator[StatusUpdate] = router.route_streaming(payload)
    assert_type(next(updates).result, NormalizedToolResult | None)
    assert_type(router.get_tool_schemas("openai"), list[dict[str, Any]])
    runner = ToolRunner()
    assert_type(execute(request, registry, runner=runner), Outcome)
    runner.close()


# ---- translation ----------------------------------------------------------------------------------------------------


def translating(message: object, payload: dict[str, Any], specs: list[ToolSpec]) -> None:
    assert_type(detect_format(message), ProviderFormat)
    assert_type(normalize_tool_call(payload, ProviderFormat.GEMINI), NormalizedToolRequest)
    assert_type(tool_call_id("plan-001", 0), str)
    assert_type(classify_error(TimeoutError()), ErrorCategory)
    assert_type(normalize_schema(specs[0], "openai", max_description_length=80), dict[str, Any])

    exported = export_tools(specs, "openai", strict=True)
    assert_type(exported, ExportedTools)
    assert_type(exported.names, NameMap)
    assert_type(exported.losses, list[Loss])
    assert_type(convert_tools(exported.tools, "anthropic"), ExportedTools)
    assert_type(import_tools(exported.tools), list[ToolSpec])

    choice = ToolChoice(ChoiceMode.ANY, ("weather/lookup",))
    assert_type(build_request(specs, "anthropic", choice), ToolRequest)
    assert_type(import_tool_choice(export_tool_choice(choice, "openai", exported.names)), ToolChoice | None)

    for call in read_calls(message, names=exported.names):
        assert_type(call, NormalizedToolRequest)
        assert_type(call.arguments, dict[str, Any])
        assert_type(call.tool_call_id, str | None)
    stream = StreamAssembler("openai", names={"weather_lookup": "weather/lookup"})
    assert_type([*stream.feed(message), *stream.close()], list[NormalizedToolRequest])


def answering(results: list[NormalizedToolResult]) -> None:
    assert_type(format_results(results, "openai", max_bytes=10_000), list[dict[str, Any]])
    assert_type(results[0].error_category, ErrorCategory | None)
    assert_type(results[0].validation_passed, bool | None)


# ---- agents ---------------------------------------------------------------------------------------------------------


def blocking(message: object) -> None:
    settings = Settings.load(redis_url="redis://localhost", namespace="other")
    with Producer("plan-001", settings=settings, first_sequence=3) as relay:
        turn = relay.submit(message, provider_metadata={"model": "m-1"})
        assert_type(turn, Turn)
        assert_type(turn.handles, tuple[CallHandle, ...])
        assert_type(turn.messages(timeout=30), list[dict[str, Any]])
        assert_type(turn.results(timeout=timedelta(seconds=30)), list[NormalizedToolResult])
        assert_type(turn.cancel(), list[CancelReply])
        for update in turn.updates():
            assert_type(update, StatusUpdate)
            assert_type(update.status, CallStatus)
            assert_type(update.progress, Progress | None)
        handle = relay.enqueue({"name": "orders/refund", "arguments": {"order": 7}}, "openai", sequence=9)
        assert_type(handle, CallHandle)
        assert_type(handle.id, str)
        assert_type(handle.status(), CallStatus)
        assert_type(handle.cancel(), CancelReply)
        try:
            assert_type(relay.call(handle.id).result(10), NormalizedToolResult)
        except ResultTimeout as error:
            still_open: TimeoutError | ToolrelayError = error
            raise still_open from None
        except UnknownCall as error:
            unknown: LookupError = error
            raise unknown from None
        except InvalidCallError as error:
            assert_type(error.category, ErrorCategory)
        assert_type(relay.tools(), list[ToolSpec])


async def on_an_event_loop(message: object) -> None:
    async with AsyncProducer("plan-001") as relay:
        turn = await relay.submit(message)
        assert_type(turn, AsyncTurn)
        assert_type(await turn.messages(timeout=30), list[dict[str, Any]])
        updates: AsyncIterator[StatusUpdate] = turn.updates()
        async for update in updates:
            assert_type(update.seq, int)
        handle = await relay.enqueue({"name": "orders/refund", "arguments": {"order": 7}})
        assert_type(handle, AsyncCallHandle)
        assert_type(await handle, NormalizedToolResult)
        assert_type(await handle.result(timeout=1), NormalizedToolResult)
        assert_type(await handle.status(), CallStatus)
        assert_type(await relay.call(handle.id).cancel(), CancelReply)


def frozen(result: NormalizedToolResult, spec: ToolSpec) -> None:
    result.success = True  # type: ignore[misc]  # the point: what was decided is not changed
    spec.name = "other"  # type: ignore[misc]  # as above
