from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from toolrelay.errors import InvalidPayloadError, UnknownProviderFormatError
from toolrelay.ids import tool_call_id
from toolrelay.models import CallStatus, StatusUpdate
from toolrelay_worker import ToolCallRouter, ToolContext, ToolRegistry, ToolRunner


@pytest.fixture(scope="module")
def runner() -> Iterator[ToolRunner]:
    runner = ToolRunner()
    yield runner
    runner.close()


@pytest.fixture
def registry() -> ToolRegistry:
    registry = ToolRegistry()

    @registry.tool("test/echo")
    def echo(**arguments: Any) -> dict[str, Any]:
        return arguments

    return registry


@pytest.fixture
def router(registry: ToolRegistry, runner: ToolRunner) -> ToolCallRouter:
    return ToolCallRouter(registry, "plan-001", runner=runner)


ECHO = {"name": "test/echo", "arguments": '{"a": 1}'}


def test_ids_stay_unique_when_several_threads_route(router: ToolCallRouter) -> None:
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(router.route, [ECHO] * 200))

    assert {result.tool_call_id for result in results} == {tool_call_id("plan-001", number) for number in range(200)}
    assert router.sequence == 200


def test_a_batch_that_is_refused_takes_no_place_in_the_plan(router: ToolCallRouter) -> None:
    with pytest.raises(UnknownProviderFormatError):
        router.route_batch([ECHO, ECHO], "opena1")
    with pytest.raises(InvalidPayloadError, match=r"payloads\[1\]: payload must be a dict"):
        router.route_batch([ECHO, []])  # type: ignore[list-item] # on purpose

    assert router.sequence == 0


def test_format_and_metadata_hold_for_every_call_of_a_batch(router: ToolCallRouter) -> None:
    payload = {"name": "test/echo", "args": {"from": "args"}, "input": {"from": "input"}}

    results = router.route_batch([payload, payload], "langchain", {"trace": "t-1"})

    assert [result.output for result in results] == [{"from": "args"}] * 2
    assert [result.provider_metadata["trace"] for result in results] == ["t-1"] * 2


def test_a_call_that_the_provider_runs_itself_is_refused(router: ToolCallRouter) -> None:
    with pytest.raises(InvalidPayloadError):
        router.route({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}})

    assert router.sequence == 0


def test_payloads_are_never_changed(router: ToolCallRouter) -> None:
    payload = {"name": "test/echo", "arguments": {"n": [1, {"a": 2.0}]}}
    metadata = {"model": "m-1"}
    before = copy.deepcopy((payload, metadata))

    router.route(payload, provider_metadata=metadata)
    list(router.route_streaming(payload, provider_metadata=metadata))

    assert (payload, metadata) == before


def test_a_result_says_how_the_call_was_run(router: ToolCallRouter) -> None:
    result = router.route(ECHO)

    assert result.attempt == 1
    assert result.started_at is not None
    assert result.worker is None
    assert result.queued_at is None


def test_partial_output_is_an_update(registry: ToolRegistry, router: ToolCallRouter) -> None:
    @registry.tool("test/parts")
    async def parts(*, ctx: ToolContext) -> str:
        await ctx.partial("one")
        await ctx.progress(1, total=2)
        return "all"

    updates = list(router.route_streaming({"name": "test/parts", "input": {}}))

    assert [(update.seq, update.status, update.partial) for update in updates] == [
        (1, CallStatus.PENDING, None),
        (2, CallStatus.RUNNING, None),
        (3, CallStatus.RUNNING, "one"),
        (4, CallStatus.RUNNING, None),
        (5, CallStatus.COMPLETE, None),
    ]
    assert updates[3].progress is not None
    assert updates[4].result is not None
    assert updates[4].result.output == "all"


def test_an_iterator_that_is_closed_early_cancels_the_call(registry: ToolRegistry, router: ToolCallRouter) -> None:
    cancelled = threading.Event()

    @registry.tool("test/long")
    async def long(*, ctx: ToolContext) -> None:
        ctx.progress(1)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    updates = router.route_streaming({"name": "test/long", "input": {}})
    seen: list[StatusUpdate] = [next(updates), next(updates), next(updates)]
    updates.close()  # type: ignore[attr-defined] # it is a generator

    assert [update.status for update in seen] == ["pending", "running", "running"]
    assert cancelled.wait(30)


def test_a_stream_that_is_never_read_runs_nothing_but_has_its_place(
    registry: ToolRegistry, router: ToolCallRouter
) -> None:
    calls: list[int] = []

    @registry.tool("test/count")
    def count() -> None:
        calls.append(1)

    router.route_streaming({"name": "test/count", "input": {}})

    assert calls == []
    assert router.sequence == 1


def test_several_streams_are_read_side_by_side(router: ToolCallRouter) -> None:
    streams = [router.route_streaming({"name": "test/echo", "input": {"n": number}}) for number in range(3)]

    rounds = list(zip(*streams, strict=True))

    assert [[update.status for update in one] for one in rounds] == [["pending"] * 3, ["running"] * 3, ["complete"] * 3]
    assert [update.result and update.result.output for update in rounds[-1]] == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_tool_may_route_another_call(registry: ToolRegistry, router: ToolCallRouter) -> None:
    @registry.tool("test/outer")
    def outer() -> Any:
        return router.route(ECHO).output

    assert router.route({"name": "test/outer", "input": {}}).output == {"a": 1}


def test_a_router_without_a_runner_shares_the_processs_one(registry: ToolRegistry) -> None:
    assert ToolCallRouter(registry, "plan-001").route(ECHO).success
