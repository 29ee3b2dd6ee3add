"""What people see who know Celery and nothing of toolrelay."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from celery import Celery, signals
from celery.exceptions import TaskRevokedError
from features.services import PATIENCE_SECONDS
from features.support import attempt, given, then, when
from tests.support.waiting import wait_until

from toolrelay.models import NormalizedToolResult


@given("a stock Celery app on the same Redis")
def _(context: Any) -> None:
    settings, prefix = context.fleet.settings, context.fleet.commands.keys.prefix
    app = Celery("stock", broker=settings.url, backend=settings.url, set_as_current=False)
    if settings.namespace != "toolrelay":
        app.conf.result_backend_transport_options = {"global_keyprefix": prefix}
    context.add_cleanup(app.close)
    context.stock = app


@when("the stock app waits for the task with the call's id")
def _(context: Any) -> None:
    context.async_result = context.stock.AsyncResult(context.handle.id)
    attempt(context, lambda: context.async_result.get(timeout=PATIENCE_SECONDS))


@then("Celery's state of it is {state:w}")
def _(context: Any, state: str) -> None:
    assert context.async_result.state == state, f"got {context.async_result.state}"
    assert context.async_result.ready()


@then("its value is the tool result with {members:json}")
def _(context: Any, members: Any) -> None:
    assert context.error is None, f"got {context.error!r}"
    value = context.async_result.result
    assert {name: value[name] for name in members} == members, f"got {value}"
    assert NormalizedToolResult.model_validate(value) == context.handle.result(timeout=PATIENCE_SECONDS)


@then("it fails as Celery fails for a revoked task")
def _(context: Any) -> None:
    assert isinstance(context.error, TaskRevokedError), f"got {context.error!r}"


@then("it fails as Celery fails for a lost worker")
def _(context: Any) -> None:
    assert type(context.error).__name__ == "WorkerLostError", f"got {context.error!r}"


@given("somebody who listens to Celery's publishing signals")
def _(context: Any) -> None:
    context.signals = []

    def receiver(signal: str) -> Callable[..., None]:
        def note(sender: str, headers: dict[str, Any], **_more: Any) -> None:
            context.signals.append((signal, sender, headers["id"]))
            if signal == "before_task_publish":
                headers["x-trace"] = "trace-1"

        return note

    for name in ("before_task_publish", "after_task_publish"):
        note = receiver(name)
        getattr(signals, name).connect(note, weak=False)
        context.add_cleanup(getattr(signals, name).disconnect, note)


@then("the signals were, once each, {names}")
def _(context: Any, names: str) -> None:
    expected = [(name, "toolrelay.execute", context.handle.id) for name in names.split(", ")]
    assert context.signals == expected, f"got {context.signals}"


@then("no {name:w} was sent")
def _(context: Any, name: str) -> None:
    assert name not in [signal for signal, _, _ in context.signals], f"got {context.signals}"


@then("what they added to the headers travels with the message")
def _(context: Any) -> None:
    redis, queue = context.fleet.driver.redis, context.fleet.commands.keys.queue
    (message,) = wait_until(lambda: redis.lrange(queue, 0, -1), "the message")
    assert json.loads(message)["headers"]["x-trace"] == "trace-1"
