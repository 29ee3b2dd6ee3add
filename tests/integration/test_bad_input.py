"""Whatever goes wrong at the edges: a typed error or an error result, a worker that lives, nothing lost."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.conftest import deployment
from tests.support.waiting import wait_until
from tests.support.workers import Workers
from toolrelay.drivers import Driver
from toolrelay.embedded import EmbeddedServer
from toolrelay.errors import (
    BrokerUnavailable,
    ErrorCategory,
    InvalidCallError,
    InvalidPayloadError,
    ResultTimeout,
    SettingsError,
    UnknownCall,
)
from toolrelay.handles import Turn
from toolrelay.models import CallStatus, NormalizedToolResult
from toolrelay.producer import AsyncProducer, Producer
from toolrelay.protocol.commands import Commands
from toolrelay.settings import Settings

TOO_DEEP = "[" * 1000 + "]" * 1000


def call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "arguments": arguments}


def queued(driver: Driver, settings: Settings) -> int:
    return driver.run(Commands(settings).queue_length())


@pytest.mark.parametrize("message", ["{not json", b"\xff\xfe", "", "42", "true", 42, None, object()])
def test_what_is_no_message_is_a_typed_error_that_says_so(relay: Producer, message: object) -> None:
    with pytest.raises(InvalidCallError):
        relay.submit(message)


def test_a_message_without_calls_is_an_empty_turn(relay: Producer) -> None:
    turn = relay.submit({"role": "assistant", "content": "no tools needed"})

    assert isinstance(turn, Turn)
    assert len(turn) == 0
    assert turn.messages(timeout=1) == []
    assert list(turn.updates(timeout=1)) == []


def test_a_payload_that_is_no_dict_is_refused_where_one_call_is_asked_for(relay: Producer) -> None:
    with pytest.raises(InvalidPayloadError, match="payload must be a dict"):
        relay.enqueue(["math/add"])  # type: ignore[arg-type]  # what is tested


@pytest.fixture
def catalogue(relay: Producer, workers: Workers) -> None:
    """Let a worker publish its tools, and go: what is refused now is refused by the producer."""
    (worker,) = workers.start(1)
    worker.stop()


@pytest.mark.usefixtures("catalogue")
@pytest.mark.parametrize(
    ("payload", "category", "told"),
    [
        pytest.param(call("no/such"), ErrorCategory.NOT_FOUND, "no/such", id="unknown tool"),
        pytest.param(call("math/add", a=1), ErrorCategory.SCHEMA, "b", id="missing argument"),
        pytest.param(call("math/add", a=1, b="x"), ErrorCategory.SCHEMA, "/b", id="wrong type"),
        pytest.param({"name": "math/add", "arguments": "{oops"}, ErrorCategory.PARSE, "", id="not JSON"),
        pytest.param({"arguments": {}}, ErrorCategory.PARSE, "name", id="no name"),
        pytest.param(
            {"name": "test/echo", "arguments": '{"value": ' + TOO_DEEP + "}"}, ErrorCategory.PARSE, "", id="too deep"
        ),
        pytest.param({"name": "test/echo", "arguments": "[1]"}, ErrorCategory.PARSE, "object", id="no object"),
    ],
)
def test_a_call_that_cannot_run_is_answered_before_it_takes_a_queue_slot(
    relay: Producer,
    driver: Driver,
    settings: Settings,
    payload: dict[str, object],
    category: ErrorCategory,
    told: str,
) -> None:
    handle = relay.enqueue(payload)

    result = handle.result(timeout=5)

    assert (result.success, result.error_category, result.attempt) == (False, category, 0)
    assert told in str(result.error)
    assert queued(driver, settings) == 0
    assert handle.status() is CallStatus.ERROR
    assert relay.call(handle.id).result(timeout=5) == result  # whoever asks for the id gets the same answer


@pytest.mark.usefixtures("catalogue")
def test_a_producer_can_be_told_not_to_check(relay: Producer, driver: Driver, settings: Settings) -> None:
    lenient = Producer("lenient", settings=settings.model_copy(update={"check_catalogue": False}))

    lenient.enqueue(call("no/such"))

    assert queued(driver, settings) == 1


def test_the_worker_refuses_what_no_producer_has_checked(workers: Workers, settings: Settings) -> None:
    workers.start(1)
    relay = Producer("lenient", settings=settings.model_copy(update={"check_catalogue": False}))

    unknown = relay.enqueue(call("no/such")).result(timeout=20)
    mismatch = relay.enqueue(call("math/add", a=1)).result(timeout=20)

    assert unknown.error_category is ErrorCategory.NOT_FOUND
    assert mismatch.error_category is ErrorCategory.SCHEMA


def test_arguments_over_the_limit_are_refused_with_its_name(relay: Producer, settings: Settings) -> None:
    small = Producer("small", settings=settings.model_copy(update={"max_arguments_bytes": 1000}))

    as_text = small.enqueue({"name": "test/echo", "arguments": json.dumps({"value": "x" * 2000})}).result(timeout=5)
    as_object = small.enqueue(call("test/echo", value="x" * 2000)).result(timeout=5)

    for result in (as_text, as_object):
        assert not result.success
        assert "1000" in str(result.error)
        assert "xxx" not in str(result.error)


def test_ten_mebibytes_of_arguments_are_the_default_limit(relay: Producer, workers: Workers) -> None:
    workers.start(1)
    fits = "x" * (10 * 1024 * 1024 - 100)

    taken = relay.enqueue(call("test/length", value=fits)).result(timeout=60)
    refused = relay.enqueue(call("test/length", value=fits + "x" * 200)).result(timeout=60)

    assert taken.output == len(fits)
    assert (refused.success, refused.error_category, refused.attempt) == (False, ErrorCategory.PARSE, 0)


def test_an_output_over_the_limit_is_an_error_result(relay: Producer, workers: Workers) -> None:
    workers.start(1, TOOLRELAY_MAX_OUTPUT_BYTES="1000")

    result = relay.enqueue(call("test/echo", value="x" * 2000)).result(timeout=20)

    assert (result.success, result.error_category) == (False, ErrorCategory.RESOURCE)
    assert "TOOLRELAY_MAX_OUTPUT_BYTES" in str(result.error)


@pytest.mark.parametrize(
    ("tool", "category", "told"),
    [
        ("bad/raise", ErrorCategory.EXECUTION, "boom"),
        ("bad/exit", ErrorCategory.EXECUTION, "SystemExit"),
        ("bad/base", ErrorCategory.EXECUTION, "KeyboardInterrupt"),
        ("bad/coroutine", ErrorCategory.EXECUTION, "async def"),
        ("bad/output", ErrorCategory.SCHEMA, "object"),
    ],
)
def test_a_bad_tool_is_an_error_result_and_the_worker_lives(
    relay: Producer, workers: Workers, tool: str, category: ErrorCategory, told: str
) -> None:
    (worker,) = workers.start(1)

    result = relay.enqueue(call(tool)).result(timeout=20)
    after = relay.enqueue(call("math/add", a=1, b=2)).result(timeout=20)

    assert (result.success, result.error_category) == (False, category)
    assert told in str(result.error)
    assert after.output == 3
    assert worker.is_running


@pytest.mark.parametrize("tool", ["slow/limited", "slow/stubborn"])
def test_a_time_limit_holds_whatever_the_tool_does(relay: Producer, workers: Workers, tool: str) -> None:
    workers.start(1)

    result = relay.enqueue(call(tool, seconds=20)).result(timeout=20)

    assert (result.success, result.error_category) == (False, ErrorCategory.TIMEOUT)
    assert (result.duration_ms or 0) < 5000


def test_an_unknown_id_is_unknown_never_pending(relay: Producer) -> None:
    handle = relay.call("tc_000000000000000000000000")

    with pytest.raises(UnknownCall):
        handle.status()
    with pytest.raises(UnknownCall):
        handle.result(timeout=5)
    with pytest.raises(UnknownCall):
        list(handle.updates(timeout=5))


def test_a_call_that_nobody_runs_times_out_and_can_be_waited_for_again(relay: Producer, workers: Workers) -> None:
    handle = relay.enqueue(call("math/add", a=1, b=2))

    with pytest.raises(ResultTimeout, match=handle.id):
        handle.result(timeout=0.2)

    workers.start(1)
    assert handle.result(timeout=20).output == 3


def test_without_redis_a_producer_says_so_within_its_timeout() -> None:
    nowhere = deployment("redis://127.0.0.1:1/0", command_timeout="1")

    began = time.monotonic()
    with pytest.raises(BrokerUnavailable):
        Producer("plan", settings=nowhere).enqueue(call("math/add", a=1, b=2))

    assert time.monotonic() - began < 5


async def test_without_redis_an_async_producer_says_so_too() -> None:
    nowhere = deployment("redis://127.0.0.1:1/0", command_timeout="1")

    with pytest.raises(BrokerUnavailable):
        await AsyncProducer("plan", settings=nowhere).enqueue(call("math/add", a=1, b=2))


def test_a_worker_waits_for_redis_that_is_not_there_yet(tmp_path: Path) -> None:
    with EmbeddedServer(data_dir=tmp_path / "redis") as server:
        settings = deployment(server.url)
        server.stop()
        workers = Workers(settings, tmp_path)
        try:
            worker = workers.launch()
            wait_until(lambda: "Trying again" in worker.log or "no heartbeat" in worker.log, "the worker to notice", 40)
            server.start()
            relay = Producer("plan", settings=settings)
            assert relay.enqueue(call("math/add", a=1, b=2)).result(timeout=40).output == 3
        finally:
            workers.close()


def test_redis_gone_for_five_seconds_loses_nothing(tmp_path: Path) -> None:
    with EmbeddedServer(data_dir=tmp_path / "redis") as server:
        settings = deployment(server.url, command_timeout="1", lease="10")
        workers = Workers(settings, tmp_path)
        try:
            (worker,) = workers.start(1)
            relay = Producer("plan", settings=settings)
            running = relay.enqueue(call("slow/sync", seconds=1.5))
            wait_until(lambda: running.status() is CallStatus.RUNNING, "the call to run")
            server.stop()
            gone = time.monotonic()
            with pytest.raises(BrokerUnavailable):
                relay.enqueue(call("math/add", a=1, b=2), sequence=5)
            with pytest.raises(BrokerUnavailable):
                running.result(timeout=0.5)
            wait_until(lambda: time.monotonic() - gone > 5, "five seconds")
            server.start()

            assert running.result(timeout=40).attempt == 1  # it ran through, and its result was stored afterwards
            assert relay.enqueue(call("math/add", a=1, b=2), sequence=5).result(timeout=40).output == 3
            assert worker.is_running
        finally:
            workers.close()


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("not json at all", id="no JSON"),
        pytest.param('{"some": "json"}', id="no message"),
        pytest.param('"text"', id="no object"),
        pytest.param(
            json.dumps(
                {
                    "body": "gASVBQAAAAAAAACMAXiULg==",
                    "content-encoding": "binary",
                    "content-type": "application/x-python-serialize",
                    "headers": {"task": "evil", "id": "1"},
                    "properties": {"delivery_tag": "t", "body_encoding": "base64", "delivery_info": {}},
                }
            ),
            id="pickle",
        ),
        pytest.param(
            json.dumps(
                {
                    "body": "W1tdLCB7fSwge31d",
                    "content-encoding": "utf-8",
                    "content-type": "application/json",
                    "headers": {"task": "somebody.elses", "id": "1", "lang": "py"},
                    "properties": {
                        "delivery_tag": "t",
                        "body_encoding": "base64",
                        "delivery_info": {"exchange": "", "routing_key": "calls"},
                        "correlation_id": "1",
                        "reply_to": "",
                    },
                }
            ),
            id="unknown task",
        ),
    ],
)
def test_a_foreign_message_is_set_aside_and_the_worker_lives(
    relay: Producer, workers: Workers, driver: Driver, settings: Settings, message: str
) -> None:
    (worker,) = workers.start(1)
    keys = Commands(settings).keys

    driver.redis.lpush(keys.queue, message)
    kept = wait_until(lambda: driver.run(Commands(settings).rejected()), "the message to be set aside")

    assert json.loads(kept[0]) == json.loads(message) if message.startswith("{") else kept[0] == message
    assert relay.enqueue(call("math/add", a=1, b=2)).result(timeout=20).output == 3
    assert worker.is_running
    assert driver.redis.ttl(keys.rejected) > 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOOLRELAY_LEASE", "soon"),
        ("TOOLRELAY_CONCURRENCY", "0"),
        ("TOOLRELAY_NAMESPACE", "a b"),
        ("TOOLRELAY_REDIS_URL", "amqp://guest:secret@localhost"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=name) as caught:
        Settings.load()

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("tools", ["", "no.such.module", "tests.support.waiting", "tests.support.tools:TOO_FEW"])
def test_a_worker_without_tools_does_not_start_and_says_why(workers: Workers, tools: str) -> None:
    worker = workers.launch(TOOLRELAY_TOOLS=tools)

    wait_until(lambda: not worker.is_running, "the worker to give up", 30)

    assert worker.process.returncode != 0
    assert "ToolLoadError" in worker.log
    assert (tools.partition(":")[0] or "TOOLRELAY_TOOLS") in worker.log


def test_neither_arguments_nor_outputs_stand_in_a_workers_log(relay: Producer, workers: Workers) -> None:
    (worker,) = workers.start(1)

    relay.enqueue(call("test/echo", value="s3cr3t")).result(timeout=20)
    relay.enqueue(call("bad/raise", message="an error text may be shown")).result(timeout=20)

    wait_until(lambda: worker.log.count("succeeded") == 2, "both calls in the log")
    assert "s3cr3t" not in worker.log


def test_a_forked_child_opens_its_own_connections(relay: Producer, workers: Workers) -> None:
    workers.start(1)
    before = relay.enqueue(call("math/add", a=1, b=1)).result(timeout=20)

    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        result = relay.enqueue(call("math/add", a=2, b=2)).result(timeout=20)
        os.write(writer, result.model_dump_json().encode())
        os.kill(os.getpid(), signal.SIGKILL)  # none of pytest's own exit
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = NormalizedToolResult.model_validate_json(pipe.read())
    os.waitpid(child, 0)
    after = relay.enqueue(call("math/add", a=3, b=3), sequence=9).result(timeout=20)

    assert (before.output, told.output, after.output) == (2, 4, 6)
