"""The users in deploy/redis/users.acl: enough rights for each part, and no more."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError

from tests.support.waiting import wait_until
from toolrelay.embedded import EmbeddedServer
from toolrelay.ids import tool_call_id
from toolrelay.producer import Producer
from toolrelay.settings import Settings

ROOT = Path(__file__).parents[2]
OPERATOR, PRODUCER, WORKER, SCALER = (f"toolrelay-{part}" for part in ("operator", "producer", "worker", "scaler"))
KEDA_SCRIPT = """
local kind = redis.call('type', KEYS[1]).ok
if kind == 'list' then return redis.call('llen', KEYS[1]) end
return 0
"""


CALL = tool_call_id("command-line", 0)
COMMANDS = (
    "submit - --plan-id command-line",
    f"status {CALL}",
    f"result {CALL}",
    f"watch {CALL}",
    f"cancel {CALL}",
    f"replay {CALL}",
    "tools",
    "dead",
    "dead --rejected",
    "doctor",
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A server with our users, each with its own name as password."""
    users = (ROOT / "deploy/redis/users.acl").read_text()
    for name in (OPERATOR, PRODUCER, WORKER, SCALER):
        users = users.replace(f"user {name} on", f"user {name} on #{hashlib.sha256(name.encode()).hexdigest()}")
    (tmp_path / "users.acl").write_text(users)
    options = {"aclfile": str(tmp_path / "users.acl")}
    config = ROOT / "deploy/redis/redis.conf"
    with EmbeddedServer(config=config, options=options, username=OPERATOR, password=OPERATOR) as server:
        yield server


def url(server: EmbeddedServer, user: str) -> str:
    return f"redis://{user}:{user}@127.0.0.1:{server.port}/0"


def client(server: EmbeddedServer, user: str) -> Redis:
    return Redis.from_url(url(server, user), decode_responses=True)


def command_line(redis_url: str, *words: str, message: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolrelay_worker", *words]
    environment = os.environ | {"TOOLRELAY_REDIS_URL": redis_url}
    return subprocess.run(command, env=environment, input=message, capture_output=True, text=True)


@contextmanager
def worker_running(redis_url: str) -> Iterator[None]:
    environment = {"TOOLRELAY_REDIS_URL": redis_url, "TOOLRELAY_TOOLS": "examples.tools", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "celery", "-A", "toolrelay_worker.app", "worker", "--loglevel", "WARNING"]
    with subprocess.Popen(command, env=os.environ | environment, cwd=ROOT) as worker:
        try:
            yield
        finally:
            worker.terminate()


def test_producer_and_worker_need_no_right_that_they_do_not_have(server: EmbeddedServer) -> None:
    settings = Settings.load(redis_url=url(server, PRODUCER))
    with (
        worker_running(url(server, WORKER)),
        Producer(plan_id="rights", settings=settings) as relay,
        client(server, OPERATOR) as operator,
    ):
        added = relay.enqueue({"name": "math/add", "arguments": {"a": 1, "b": 2}})
        counted = relay.enqueue({"name": "text/slow_count", "arguments": {"text": "a b", "seconds_per_word": 0.1}})
        cancelled = relay.enqueue({"name": "text/slow_count", "arguments": {"text": "a b c", "seconds_per_word": 5}})

        assert added.result(timeout=30).output == 3
        assert any(update.progress for update in counted.updates(timeout=30))
        cancelled.cancel()
        assert not cancelled.result(timeout=30).success
        assert added.async_result.get(timeout=5)["output"] == 3
        wait_until(relay.tools, "the catalogue")
        wait_until(lambda: "cmdstat_zrange" in operator.info("commandstats"), "kombu's sweep for abandoned messages")
        assert operator.acl_log() == []


def test_the_command_line_needs_no_right_that_an_agent_does_not_have(server: EmbeddedServer) -> None:
    with worker_running(url(server, WORKER)), client(server, OPERATOR) as operator:
        wait_until(lambda: command_line(url(server, WORKER), "health").returncode == 0, "a worker")
        for words in COMMANDS:
            done = command_line(
                url(server, PRODUCER), *words.split(), message='{"name": "math/add", "arguments": {"a": 1, "b": 2}}'
            )
            assert done.returncode in (0, 1), done.stderr

        assert operator.acl_log() == []


def test_a_worker_may_set_a_foreign_message_aside(server: EmbeddedServer) -> None:
    with client(server, OPERATOR) as operator, worker_running(url(server, WORKER)):
        operator.lpush("toolrelay:calls", "not a message of Celery")

        wait_until(lambda: operator.llen("toolrelay:rejected"), "the message to be set aside")
        assert operator.ttl("toolrelay:rejected") > 0
        assert operator.acl_log() == []


@pytest.mark.parametrize(
    "words",
    [
        "BRPOP toolrelay:calls 1",
        "KEYS *",
        "FLUSHALL",
        "CONFIG GET *",
        "ACL LIST",
        "EVAL return 0",
        "GET other",
        "CLIENT LIST",
    ],
)
def test_a_producer_may_not_take_calls_or_look_around(server: EmbeddedServer, words: str) -> None:
    with client(server, PRODUCER) as producer, pytest.raises(NoPermissionError):
        producer.execute_command(*words.split())


@pytest.mark.parametrize(
    "words", ["KEYS *", "FLUSHDB", "CONFIG SET maxmemory 1", "SHUTDOWN NOSAVE", "SET other 1", "PUBLISH other 1"]
)
def test_a_worker_may_not_touch_what_is_not_of_toolrelay(server: EmbeddedServer, words: str) -> None:
    with client(server, WORKER) as worker, pytest.raises(NoPermissionError):
        worker.execute_command(*words.split())


def test_the_scaler_sees_the_length_of_the_queue_and_nothing_else(server: EmbeddedServer) -> None:
    with client(server, OPERATOR) as operator, client(server, SCALER) as scaler:
        operator.lpush("toolrelay:calls", "one", "two")

        assert scaler.llen("toolrelay:calls") == 2
        assert scaler.eval(KEDA_SCRIPT, 1, "toolrelay:calls") == 2
        for refused in ("LPOP toolrelay:calls", "LRANGE toolrelay:calls 0 -1", "LLEN toolrelay:rejected"):
            with pytest.raises(NoPermissionError):
                scaler.execute_command(*refused.split())


def test_nobody_gets_in_without_a_password(server: EmbeddedServer) -> None:
    names = re.findall(r"^user (\S+)", (ROOT / "deploy/redis/users.acl").read_text(), re.MULTILINE)
    for who in ("", ":guess@", *(f"{name}:guess@" for name in names)):
        with Redis.from_url(f"redis://{who}127.0.0.1:{server.port}/0") as redis, pytest.raises(AuthenticationError):
            redis.ping()
