"""The call record with nothing around it: the scripts on a real server, by a clock that a test sets.

The seam is ``Command``, a value: before it is sent, its script gets another clock in the place of ``clock.lua``, which
all scripts begin with. Nothing in the package knows of it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from redis.client import PubSub

from toolrelay.celery_app import Doorbell, make_celery
from toolrelay.drivers import Driver
from toolrelay.ids import tool_call_id
from toolrelay.models import CallStatus, ExecutionPolicy, NormalizedToolRequest, OnLost, ProviderFormat
from toolrelay.protocol.commands import Command, Commands, Refusal, Script, outcome_fragment
from toolrelay.protocol.replies import Claim, ClaimRefusal, Enqueued, FinishReply
from toolrelay.settings import Settings

T = TypeVar("T")

RERUN = ExecutionPolicy()
ONCE = ExecutionPolicy(on_lost=OnLost.FAIL)

_CLOCK = (resources.files("toolrelay.protocol") / "scripts" / "clock.lua").read_text(encoding="utf-8")
_TEST_CLOCK = "local function clock() return tonumber(redis.call('GET', ARGV[1] .. 'test-clock')) end\n"


@cache
def by_test_clock(script: Script) -> Script:
    before, clock, rest = script.text.partition(_CLOCK)
    assert clock
    assert not before
    return Script.of(script.name, _TEST_CLOCK + rest)


def clocked(command: Command[T]) -> Command[T]:
    return replace(command, script=by_test_clock(command.script)) if command.script else command


class ClockedDriver(Driver):
    """Runs scripts by the test's clock."""

    def run(self, command: Command[T], timeout: timedelta | None = None) -> T:
        return super().run(clocked(command), timeout)

    def run_all(self, commands: Sequence[Command[T]]) -> list[T]:
        return super().run_all([clocked(command) for command in commands])


class Record:
    """One deployment's record: what producers and workers would send, sent by hand."""

    def __init__(self, settings: Settings, *, start_ms: int | None = 1_709_251_199_000) -> None:
        """``start_ms`` is what the test's clock shows at first; ``None`` leaves the scripts their own clock."""
        self.settings = settings
        self.commands = Commands(settings)
        self.keys = self.commands.keys
        kind = Driver if start_ms is None else ClockedDriver
        self.driver: Driver = kind(str(settings.url), settings.command_timeout)
        self.redis = self.driver.redis
        self.now = start_ms or 0
        if start_ms is not None:
            self.advance(0)

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self.now += ms
        self.redis.set(self.keys.prefix + "test-clock", self.now, ex=3600)

    def run(self, command: Command[T]) -> T:
        return self.driver.run(command)

    def enqueue(
        self,
        request: NormalizedToolRequest,
        *,
        client: str = "",
        refusal: Refusal | None = None,
        validation: bool = False,
    ) -> Enqueued:
        message = "" if refusal else message_of(request)
        return self.run(
            self.commands.enqueue(request, message, client=client, is_validation=validation, refusal=refusal)
        )

    def claim(self, call: str, worker: str = "w1", policy: ExecutionPolicy = RERUN) -> Claim | ClaimRefusal:
        return self.run(self.commands.claim(call, worker, policy))

    def start(self, call: str, worker: str = "w1", policy: ExecutionPolicy = RERUN) -> Claim:
        """Claim a call that must be free."""
        claim = self.claim(call, worker, policy)
        assert isinstance(claim, Claim), claim
        return claim

    def complete(self, claim: Claim, output: Any = None) -> FinishReply:
        call = str(claim.request.tool_call_id)
        outcome = outcome_fragment(success=True, output=output)
        return self.run(self.commands.finish(call, claim.fence, CallStatus.COMPLETE, "", outcome))

    def ring(self) -> str | None:
        """Take the oldest message out of the queue, as a worker does; the id it rings for."""
        message = self.redis.rpop(self.keys.queue)
        return None if message is None else rung(str(message))[0]

    @property
    def queue(self) -> list[tuple[str, int]]:
        """The queue's ids and when each was rung, the oldest first."""
        return [rung(str(message)) for message in reversed(self.redis.lrange(self.keys.queue, 0, -1))]

    def fields(self, call: str) -> dict[str, str]:
        return self.run(self.commands.record(call))

    def members(self, name: str) -> dict[str, float]:
        """A sorted set's members and scores."""
        return self.run(Command(("ZRANGE", self.keys.prefix + name, 0, -1, "WITHSCORES"), scores))

    def log(self, call: str) -> list[dict[str, Any]]:
        return [json.loads(entry) for entry in self.redis.lrange(f"{self.keys.prefix}log:{call}", 0, -1)]

    def meta(self, call: str) -> dict[str, Any]:
        """What stock Celery reads of a call."""
        return dict(json.loads(str(self.redis.get(self.keys.meta_prefix + call))))

    def lasting_keys(self) -> set[str]:
        """Names of the deployment's keys that never expire."""
        keys = self.redis.scan_iter(match=self.keys.prefix + "*", count=1000)
        return {key for key in keys if self.redis.ttl(key) == -1}

    def listen(self, *channels: str) -> Ear:
        return Ear(self, channels)

    def close(self) -> None:
        self.driver.close()


class Ear:
    """Hears channels, and knows when it has heard all that was said until now."""

    def __init__(self, record: Record, channels: tuple[str, ...]) -> None:
        self._record = record
        self._marker = f"{record.keys.prefix}marker:{id(self)}"
        self.pubsub: PubSub = record.redis.pubsub(ignore_subscribe_messages=True)
        self.pubsub.subscribe(self._marker, *channels)
        self.heard()

    def heard(self) -> list[tuple[str, str]]:
        """What was published since last asked: channel and message."""
        while self._record.redis.publish(self._marker, "") == 0:  # the subscription is on its way
            self.pubsub.get_message(timeout=0.01)
        messages: list[tuple[str, str]] = []
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            message: Mapping[str, str] | None = self.pubsub.get_message(timeout=1)
            if message is not None and message["channel"] == self._marker:
                return messages
            if message is not None:
                messages.append((message["channel"], message["data"]))
        raise AssertionError(f"the marker was not heard, only {messages!r}")

    def subscribe(self, channel: str) -> None:
        self.pubsub.subscribe(channel)
        self.heard()

    def unsubscribe(self, channel: str) -> None:
        self.pubsub.unsubscribe(channel)
        self.heard()

    def close(self) -> None:
        self.pubsub.close()


@cache
def _doorbell() -> Doorbell:
    settings = Settings.load(redis_url="redis://nobody.invalid")
    return Doorbell(make_celery(settings, str(settings.url)))


def message_of(request: NormalizedToolRequest) -> str:
    """Give the Celery message of a call, as a producer rings with it."""
    return _doorbell().message(request)[0]


def scores(reply: list[Any]) -> dict[str, float]:
    """Read ZRANGE WITHSCORES: pairs or a flat list, depending on the protocol's version."""
    pairs = reply if reply and isinstance(reply[0], list) else zip(reply[::2], reply[1::2], strict=True)
    return {str(member): float(score) for member, score in pairs}


def rung(message: str) -> tuple[str, int]:
    """Read a queued message: its call's id, and when it was rung."""
    tag = json.loads(message)["properties"]["delivery_tag"]
    call, _, at = tag.partition("#")
    return call, int(at)


def request(sequence: int = 0, plan: str = "plan", **fields: Any) -> NormalizedToolRequest:
    """Give the request at a plan's place."""
    given = {
        "tool_name": "math/add",
        "arguments": {"a": sequence},
        "provider_format": ProviderFormat.OPENAI,
        "provider_call_id": f"call_{sequence}",
    }
    return NormalizedToolRequest(
        **{**given, **fields}, tool_call_id=tool_call_id(plan, sequence), plan_id=plan, sequence=sequence
    )
