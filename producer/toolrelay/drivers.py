"""The only places where a command of ``protocol/`` meets a connection: one driver that blocks, one for asyncio.

Every command may be sent again after a lost connection: the scripts are written so that a repetition changes nothing.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import redis
import redis.asyncio
from redis import exceptions
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.retry import Retry

from toolrelay.errors import BrokerUnavailable
from toolrelay.protocol.commands import Command

T = TypeVar("T")

#: What passes by itself: the connection is gone, the server restarts, a replica has not been promoted yet.
_PASSING = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.BusyLoadingError,
    exceptions.ReadOnlyError,
)
#: How Redis's errors begin when it answers, but takes no writes now.
_REFUSALS = ("OOM", "MISCONF", "READONLY", "NOREPLICAS")
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5
_HEALTH_CHECK = 10


def connection_options(timeout: timedelta) -> dict[str, Any]:
    """Give the options of every connection to Redis; retries are ours (a deadline, not a count)."""
    return {
        "decode_responses": True,
        "socket_timeout": timeout.total_seconds(),
        "socket_connect_timeout": min(3.0, timeout.total_seconds()),
        "socket_keepalive": True,
        "health_check_interval": _HEALTH_CHECK,
    }


class _Deadline:
    """How long to go on trying, and how long to pause between two tries."""

    def __init__(self, timeout: timedelta) -> None:
        self._end = time.monotonic() + timeout.total_seconds()
        self._pauses = self._growing()

    @staticmethod
    def _growing() -> Iterator[float]:
        pause = _FIRST_PAUSE
        while True:
            yield pause
            pause = min(pause * 2, _LONGEST_PAUSE)

    def pause_after(self, error: RedisError) -> float:
        """Give the seconds to wait before the next try, or raise the error the caller should see."""
        if isinstance(error, exceptions.AuthenticationError) or not isinstance(error, _PASSING):
            raise _translated(error) from error
        pause = next(self._pauses)
        if time.monotonic() + pause > self._end:
            raise _translated(error) from error
        return pause


def _translated(error: RedisError) -> Exception:
    """Give the foreign exception our name, where we have one."""
    text = str(error)
    # Redis 6.2 wraps what a command inside a script was told: "Error running script (…): -OOM command not allowed …".
    is_refusal = text.startswith(_REFUSALS) or any(f" -{word} " in text for word in _REFUSALS)
    if isinstance(error, exceptions.OutOfMemoryError) or is_refusal:
        return BrokerUnavailable(f"Redis takes no writes: {error}")
    if isinstance(error, _PASSING):
        return BrokerUnavailable(f"Redis cannot be reached: {error}")
    return error


def _words(command: Command[Any]) -> tuple[Any, ...]:
    if command.script is None:
        return command.args
    # No KEYS: names are made from the prefix inside the scripts, which is right everywhere but on Redis Cluster.
    return ("EVALSHA", command.script.sha, 0, *command.args)


class Driver:
    """Runs commands on a blocking connection pool; may be shared by threads, not by processes."""

    def __init__(self, url: str, timeout: timedelta) -> None:
        """Connect at the first command; ``timeout`` bounds each command, reconnecting included."""
        self._timeout = timeout
        self._redis = redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), **connection_options(timeout))

    @property
    def redis(self) -> redis.Redis:
        """The client itself, for subscriptions and for tests."""
        return self._redis

    def run(self, command: Command[T], timeout: timedelta | None = None) -> T:
        """Run one command.

        Raises ``BrokerUnavailable`` when Redis cannot be reached within the timeout.
        """
        deadline = _Deadline(timeout or self._timeout)
        while True:
            try:
                return command.parse(self._send(command))
            except RedisError as error:
                pause = deadline.pause_after(error)
            time.sleep(pause)

    def run_all(self, commands: Sequence[Command[T]]) -> list[T]:
        """Run commands in one round trip, each on its own (not a transaction)."""
        if not commands:
            return []
        deadline = _Deadline(self._timeout)
        while True:
            try:
                return self._send_all(commands)
            except RedisError as error:
                pause = deadline.pause_after(error)
            time.sleep(pause)

    def _send(self, command: Command[Any]) -> Any:
        try:
            return self._redis.execute_command(*_words(command))
        except NoScriptError:
            self._redis.script_load(command.script.text if command.script else "")
            return self._redis.execute_command(*_words(command))

    def _send_all(self, commands: Sequence[Command[T]]) -> list[T]:
        if len(commands) == 1:  # most messages hold one call, and a pipeline costs more than it
            return [commands[0].parse(self._send(commands[0]))]
        try:
            replies = self._pipe(commands)
        except NoScriptError:
            for script in {command.script for command in commands if command.script}:
                self._redis.script_load(script.text)
            replies = self._pipe(commands)
        return [command.parse(reply) for command, reply in zip(commands, replies, strict=True)]

    def _pipe(self, commands: Sequence[Command[Any]]) -> list[Any]:
        with self._redis.pipeline(transaction=False) as pipe:
            for command in commands:
                pipe.execute_command(*_words(command))
            return pipe.execute()

    def close(self) -> None:
        """Close every connection."""
        self._redis.close()


class AsyncDriver:
    """Runs commands from event loops; each loop gets a client of its own, because connections belong to their loop."""

    def __init__(self, url: str, timeout: timedelta) -> None:
        """Connect at the first command; ``timeout`` bounds each command, reconnecting included."""
        self._url = url
        self._timeout = timeout
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, redis.asyncio.Redis] = WeakKeyDictionary()

    def _client(self) -> redis.asyncio.Redis:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            # A client refers to its loop, so it would stay for ever; nobody can close its connections any more.
            for gone in [other for other in self._clients if other.is_closed()]:
                del self._clients[gone]
            retry = redis.asyncio.retry.Retry(NoBackoff(), 0)
            client = redis.asyncio.Redis.from_url(self._url, retry=retry, **connection_options(self._timeout))
            self._clients[loop] = client
        return client

    async def run(self, command: Command[T]) -> T:
        """Run one command; as ``Driver.run``."""
        deadline = _Deadline(self._timeout)
        while True:
            try:
                return command.parse(await self._send(command))
            except RedisError as error:
                pause = deadline.pause_after(error)
            await asyncio.sleep(pause)

    async def run_all(self, commands: Sequence[Command[T]]) -> list[T]:
        """Run commands in one round trip; as ``Driver.run_all``."""
        if not commands:
            return []
        deadline = _Deadline(self._timeout)
        while True:
            try:
                return await self._send_all(commands)
            except RedisError as error:
                pause = deadline.pause_after(error)
            await asyncio.sleep(pause)

    async def _send_all(self, commands: Sequence[Command[T]]) -> list[T]:
        if len(commands) == 1:  # as above
            return [commands[0].parse(await self._send(commands[0]))]
        try:
            replies = await self._pipe(commands)
        except NoScriptError:
            for script in {command.script for command in commands if command.script}:
                await self._client().script_load(script.text)
            replies = await self._pipe(commands)
        return [command.parse(reply) for command, reply in zip(commands, replies, strict=True)]

    async def _pipe(self, commands: Sequence[Command[Any]]) -> list[Any]:
        async with self._client().pipeline(transaction=False) as pipe:
            for command in commands:
                pipe.execute_command(*_words(command))
            return await pipe.execute()

    async def _send(self, command: Command[Any]) -> Any:
        client = self._client()
        try:
            return await client.execute_command(*_words(command))
        except NoScriptError:
            await client.script_load(command.script.text if command.script else "")
            return await client.execute_command(*_words(command))

    async def close(self) -> None:
        """Close the running loop's connections."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()
