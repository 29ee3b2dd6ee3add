"""A whole message of a model goes in, the next message comes out."""

from __future__ import annotations

import json
from typing import Any

from features.services import PATIENCE_SECONDS
from features.support import given, then, when

from toolrelay import export_tools


@given("a model that was offered the fleet's tools")
def _(context: Any) -> None:
    context.names = export_tools(context.relay.tools(), "openai").raise_for_refused().names
    assert context.names.encode("math/add") == "math_add"


@when("the agent submits the model's message")
def _(context: Any) -> None:
    context.turn = context.relay.submit(json.loads(context.text), names=context.names)
    context.handles = list(context.turn)


@when("the agent submits a message with {count:d} calls, each faster than the one before it")
def _(context: Any, count: int) -> None:
    calls = [
        {
            "id": f"call_{place}",
            "type": "function",
            "function": {"name": "slow_async", "arguments": json.dumps({"seconds": 0.1 * (count - place)})},
        }
        for place in range(count)
    ]
    context.turn = context.relay.submit({"role": "assistant", "tool_calls": calls}, names=context.names)
    context.handles = list(context.turn)


@then("the next messages are")
def _(context: Any) -> None:
    messages = context.turn.messages(timeout=PATIENCE_SECONDS)
    assert messages == json.loads(context.text), f"got\n{json.dumps(messages, indent=1)}"


@then("the {count:d} answers are in the order of the calls, not in that of their ends")
def _(context: Any, count: int) -> None:
    messages = context.turn.messages(timeout=PATIENCE_SECONDS)
    assert [message["tool_call_id"] for message in messages] == [f"call_{place}" for place in range(count)]
    ends = [result.finished_at for result in context.turn.results(timeout=PATIENCE_SECONDS)]
    assert ends != sorted(ends), "they ended in order, so nothing was shown"


@then("there is nothing to answer")
def _(context: Any) -> None:
    assert not context.turn
    assert context.turn.messages(timeout=0) == []
    assert list(context.turn.updates(timeout=0)) == []


@then("call {place:d} ran and the others are answered with an error that says {text:json}")
def _(context: Any, place: int, text: str) -> None:
    results = context.turn.results(timeout=PATIENCE_SECONDS)
    assert [result.success for result in results] == [number == place for number in range(len(results))]
    others = [result for number, result in enumerate(results) if number != place]
    assert all(text in str(result.error) and result.attempt == 0 for result in others), f"got {others}"


@then("no call ran and each is answered with an error that says {text:json}")
def _(context: Any, text: str) -> None:
    results = context.turn.results(timeout=PATIENCE_SECONDS)
    assert results
    assert all(text in str(result.error) and result.attempt == 0 for result in results), f"got {results}"
    assert all(context.fleet.effects(result.tool_call_id) == [] for result in results)


@then("every call is answered once, by its own id, in order: {ids:json}")
def _(context: Any, ids: Any) -> None:
    text = json.dumps(context.turn.messages(timeout=PATIENCE_SECONDS))
    places = [text.index(json.dumps(name)) for name in ids]
    assert places == sorted(places)
    assert all(text.count(json.dumps(name)) == 1 for name in ids), f"got {text}"
    assert len(context.turn) == len(ids)
