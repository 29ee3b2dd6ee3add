"""What agents do with single calls: enqueue, attach, wait, ask."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

from features.services import PATIENCE_SECONDS
from features.support import attempt, given, then, when
from tests.support.waiting import wait_until
from tests.support.workers import ROOT, environment

from toolrelay.errors import CallConflictError, ResultTimeout, UnknownCall
from toolrelay.handles import CallHandle
from toolrelay.ids import tool_call_id
from toolrelay.models import CallStatus, NormalizedToolResult, StatusUpdate
from toolrelay.producer import AsyncProducer


def enqueue(context: Any, payload: Any, *options: Any, **more: Any) -> CallHandle:
    context.handle = context.relay.enqueue(payload, *options, **more)
    context.handles.append(context.handle)
    return context.handle  # type: ignore[no-any-return]  # whatever behave's context holds is Any


def call(tool: str, arguments: Any) -> dict[str, Any]:
    return {"name": tool, "arguments": json.dumps(arguments)}


@given("an agent has enqueued {tool:S} with {arguments:json}")
@when("the agent enqueues {tool:S} with {arguments:json}")
def _(context: Any, tool: str, arguments: Any) -> None:
    enqueue(context, call(tool, arguments))


@when("the agent enqueues, as call {place:d} of its plan, {tool:S} with {arguments:json}")
def _(context: Any, place: int, tool: str, arguments: Any) -> None:
    enqueue(context, call(tool, arguments), sequence=place)


@when("another agent enqueues, as call {place:d} of the same plan, {tool:S} with {arguments:json}")
def _(context: Any, place: int, tool: str, arguments: Any) -> None:
    other = context.fleet.agent(context.plan_id)
    context.attached = other.enqueue(call(tool, arguments), sequence=place)


@when("another agent tries to enqueue, as call {place:d} of the same plan, {tool:S} with {arguments:json}")
def _(context: Any, place: int, tool: str, arguments: Any) -> None:
    other = context.fleet.agent(context.plan_id)
    attempt(context, lambda: other.enqueue(call(tool, arguments), sequence=place))


@when("an agent with another plan enqueues {tool:S} with {arguments:json}")
def _(context: Any, tool: str, arguments: Any) -> None:
    other = context.fleet.agent(f"{context.plan_id}-b")
    context.handle = other.enqueue(call(tool, arguments))
    context.handles.append(context.handle)


@when("the agent enqueues the payload {payload:json}")
def _(context: Any, payload: Any) -> None:
    enqueue(context, payload)


@when("the agent enqueues, as {provider_format:w}, the payload {payload:json}")
def _(context: Any, provider_format: str, payload: Any) -> None:
    enqueue(context, payload, provider_format)


@when("the agent enqueues, with the provider metadata of its own, the payload {payload:json}")
def _(context: Any, payload: Any) -> None:
    enqueue(context, payload, provider_metadata={"model": "m-1", "thought_signature": "from the agent"})


@when("enqueueing the payload {payload:json} is tried")
def _(context: Any, payload: Any) -> None:
    attempt(context, lambda: context.relay.enqueue(payload))


@given("its result is there")
@when("its result is there")
@then("its result is there")
def _(context: Any) -> None:
    context.result = context.handle.result(timeout=PATIENCE_SECONDS)


@when("every result is there")
def _(context: Any) -> None:
    for handle in context.handles:
        handle.result(timeout=PATIENCE_SECONDS)


@then("both agents have the same call and the same result")
def _(context: Any) -> None:
    first = context.handle.result(timeout=PATIENCE_SECONDS)
    assert context.attached.id == context.handle.id
    assert context.attached.result(timeout=PATIENCE_SECONDS) == first
    assert first.success


@then("the other agent has the stored result at once")
def _(context: Any) -> None:
    assert context.attached.result(timeout=1) == context.result


@then('it is refused as a conflict that says "{text}"')
def _(context: Any, text: str) -> None:
    assert isinstance(context.error, CallConflictError), f"got {context.error!r}"
    assert text in str(context.error)
    assert context.handle.id in str(context.error)


@then("the first call's result is still {output:json}")
def _(context: Any, output: Any) -> None:
    late = context.fleet.agent(context.plan_id).call(context.handle.id)
    assert late.result(timeout=PATIENCE_SECONDS).output == output


@then("{count:d} runs left the effect {word:w}")
@then("{count:d} run left the effect {word:w}")
def _(context: Any, count: int, word: str) -> None:
    runs = [effect for handle in context.handles for effect in context.fleet.effects(handle.id, word)]
    assert len(runs) == count, f"got {runs}"


@then("the calls have the ids of calls {numbers} of the plan")
@then("the call has the id of call {numbers} of the plan")
def _(context: Any, numbers: str) -> None:
    expected = [tool_call_id(context.plan_id, int(number)) for number in numbers.split(",")]
    assert [handle.id for handle in context.handles] == expected


@then("the calls have ids of their own")
def _(context: Any) -> None:
    assert len({handle.id for handle in context.handles}) == len(context.handles)


@then("the call is {status:w}, for whoever asks")
def _(context: Any, status: str) -> None:
    assert context.handle.status() is CallStatus(status)
    assert context.fleet.agent("plan-of-somebody").call(context.handle.id).status() is CallStatus(status)


@then("the call took no worker")
def _(context: Any) -> None:
    assert (context.result.attempt, context.result.worker) == (0, None)
    assert context.result.started_at is None


@then("a worker ran it in its first attempt")
def _(context: Any) -> None:
    assert context.result.attempt == 1
    assert any(context.result.worker.endswith(f":{worker.pid}") for worker in context.fleet.workers.all)
    assert context.result.queued_at <= context.result.started_at <= context.result.finished_at


@given("a call that was never enqueued")
def _(context: Any) -> None:
    context.handle = context.relay.call(tool_call_id(context.plan_id, 7))


@given("a call whose record has expired")
def _(context: Any) -> None:
    context.handle = context.relay.call(enqueue(context, call("math/add", {"a": 1, "b": 2})).id)
    context.handle.result(timeout=PATIENCE_SECONDS)
    keys = context.fleet.commands.keys
    names = [
        keys.call(context.handle.id),
        f"{keys.prefix}log:{context.handle.id}",
        keys.meta_prefix + context.handle.id,
    ]
    assert context.fleet.driver.redis.delete(*names) == len(names)
    context.handle = context.fleet.agent("plan-of-somebody").call(context.handle.id)


@when("somebody asks for its {what:w}")
def _(context: Any, what: str) -> None:
    ask = {
        "status": context.handle.status,
        "result": lambda: context.handle.result(timeout=PATIENCE_SECONDS),
        "updates": lambda: list(context.handle.updates(timeout=PATIENCE_SECONDS)),
    }
    attempt(context, ask[what])


@then("it is unknown")
def _(context: Any) -> None:
    assert isinstance(context.error, UnknownCall), f"got {context.error!r}"
    assert context.handle.id in str(context.error)


@when("the agent waits {seconds:g} seconds for the result")
def _(context: Any, seconds: float) -> None:
    attempt(context, lambda: context.handle.result(timeout=seconds))


@then("it is told that the call goes on")
def _(context: Any) -> None:
    assert isinstance(context.error, ResultTimeout), f"got {context.error!r}"


@when("an agent on an event loop enqueues {tool:S} with {arguments:json} and watches it")
def _(context: Any, tool: str, arguments: Any) -> None:
    async def watch() -> tuple[list[StatusUpdate], NormalizedToolResult]:
        async with AsyncProducer(context.plan_id, settings=context.fleet.settings) as relay:
            handle = await relay.enqueue(call(tool, arguments))
            updates = [update async for update in handle.updates(timeout=PATIENCE_SECONDS)]
            return updates, await handle

    context.updates, context.result = asyncio.run(watch())


class AgentProcess:
    """An agent as a program: it says what became of each turn, and may be killed between two."""

    def __init__(self, context: Any, turns: list[Any]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "features.agent", context.plan_id],
            env=environment(context.fleet.settings, context.fleet.folder),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        context.add_cleanup(self.end)
        self.turns = turns

    def take(self, count: int) -> list[Any]:
        """Let it take its next turns, and give what it was answered."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        answers = []
        for _ in range(count):
            self.process.stdin.write(json.dumps(self.turns.pop(0)) + "\n")
            self.process.stdin.flush()
            answers.append(json.loads(self.process.stdout.readline()))
        return answers

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


PLAN = [
    [{"id": "call_1", "type": "function", "function": {"name": "test/mark", "arguments": '{"word": "first"}'}}],
    [
        {"id": "call_1", "type": "function", "function": {"name": "test/mark", "arguments": '{"word": "second"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "test/mark", "arguments": '{"word": "third"}'}},
    ],
    [{"id": "call_1", "type": "function", "function": {"name": "test/mark", "arguments": '{"word": "fourth"}'}}],
]


@given("an agent process that has taken {count:d} of the 3 turns of its plan")
def _(context: Any, count: int) -> None:
    context.agent_process = AgentProcess(context, [{"role": "assistant", "tool_calls": calls} for calls in PLAN])
    context.answers = context.agent_process.take(count)
    context.handles = [context.relay.call(tool_call_id(context.plan_id, place)) for place in range(4)]


@when("the agent process is killed, started again and replays its whole plan")
def _(context: Any) -> None:
    context.agent_process.end()
    again = AgentProcess(context, [{"role": "assistant", "tool_calls": calls} for calls in PLAN])
    context.replayed = again.take(len(PLAN))


@then("it was answered as before, and then went on")
def _(context: Any) -> None:
    assert context.replayed[: len(context.answers)] == context.answers
    said = [message["content"] for messages in context.replayed for message in messages]
    assert said == ["first", "second", "third", "fourth"]


@then("each tool of the plan ran once")
def _(context: Any) -> None:
    words = [[word for word, _, _ in context.fleet.effects(handle.id)] for handle in context.handles]
    assert words == [["first"], ["second"], ["third"], ["fourth"]], f"got {words}"


@when("the call runs")
def _(context: Any) -> None:
    wait_until(lambda: context.handle.status() is CallStatus.RUNNING, "the call to run", PATIENCE_SECONDS)
