"""The one reader on a process's reply channel: everyone in the process who waits for a call waits here.

A subscriber misses nothing: it subscribes, waits for the confirmation, reads a snapshot, and then applies updates by
their ``seq``. After a gap, a silence or a lost connection it reads a snapshot again from the last update it has seen.
A blocking wait and an ``await`` are two views of the same watch.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Final
from weakref import WeakValueDictionary

from redis.client import PubSub
from redis.exceptions import RedisError

from toolrelay.drivers import Driver
from toolrelay.errors import BrokerUnavailable, ToolrelayError, UnknownCall
from toolrelay.models import CallStatus, NormalizedToolResult, StatusUpdate
from toolrelay.protocol import replies
from toolrelay.protocol.commands import Command, Commands
from toolrelay.protocol.replies import Snapshot

logger = logging.getLogger(__name__)

#: What the waiter sends itself, so that closing does not wait for the next tick.
_WAKE: Final = ""
_TICK_SECONDS: Final = 0.5
#: An open call that says nothing for so long is looked at; each fruitless look makes the next wait longer.
_SILENCE_SECONDS: Final = 5.0
#: With a connection that takes a command's timeout to be found dead, an end is still seen within 20 s.
_LONGEST_SILENCE_SECONDS: Final = 10.0
_PING_SECONDS: Final = 8.0
_DEAF_SECONDS: Final = 15.0
#: How soon one who waits for the subscription sees that the waiter was closed.
_CLOSED_SEEN_SECONDS: Final = 0.05
_RECONNECT_SECONDS: Final = 0.2
_LOOK_AT_MOST: Final = 200

#: What reading a record raises that another version of toolrelay, or something else, has written.
_UNREADABLE: Final = (ValueError, TypeError, KeyError, RecursionError)

Listener = Callable[[StatusUpdate | None], None]


class Watch:
    """What this process knows of one call. Shared by everyone in the process who waits for it."""

    def __init__(self, tool_call_id: str) -> None:
        self.tool_call_id = tool_call_id
        #: the terminal result, or why none can be had
        self.future: Future[NormalizedToolResult] = Future()
        self.future.set_running_or_notify_cancel()  # so that one who no longer waits cannot cancel it for the others
        self.updates: list[StatusUpdate] = []
        #: whether Redis has confirmed that the call exists
        self.is_known = False
        self._lock = threading.Lock()
        self._listeners: list[Listener] = []
        self._waits = 0
        self._silence = _SILENCE_SECONDS
        self.look_at = time.monotonic() + _SILENCE_SECONDS

    @property
    def seen(self) -> int:
        """``seq`` of the last update; 0 before the first."""
        return self.updates[-1].seq if self.updates else 0

    @property
    def status(self) -> CallStatus | None:
        """Where the call stands as far as is known; ``None`` before the first update."""
        return self.updates[-1].status if self.updates else None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.future.done()

    @property
    def has_failed(self) -> bool:
        """Whether the wait ended without a result."""
        return self.future.done() and self.future.exception() is not None

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for more at this moment."""
        return not self.is_over and bool(self._waits or self._listeners)

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Keep the reply channel open while somebody waits."""
        with self._lock:
            self._waits += 1
        try:
            yield
        finally:
            with self._lock:
                self._waits -= 1

    def subscribe(self, listener: Listener) -> None:
        """Give ``listener`` every update, those already seen first; ``None`` when the wait ended without a result."""
        with self._lock:
            for update in self.updates:
                listener(update)
            if self.has_failed:
                listener(None)
            self._listeners.append(listener)

    def unsubscribe(self, listener: Listener) -> None:
        """Stop giving updates to ``listener``."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)

    def apply(self, update: StatusUpdate) -> bool:
        """Take an update that was pushed; False when one before it is missing."""
        with self._lock:
            if update.seq <= self.seen or self.is_over:
                return True
            if update.seq > self.seen + 1:
                return False
            self._take(update)
        return True

    def catch_up(self, snapshot: Snapshot) -> None:
        """Take what a snapshot holds beyond what was seen; updates that are no longer kept count as dropped."""
        for update in snapshot.updates:
            with self._lock:
                missed = update.seq - self.seen - 1
                if missed < 0 or self.is_over:
                    continue
                self._take(update.model_copy(update={"dropped": missed}) if missed else update)

    def fail(self, error: ToolrelayError) -> None:
        """End the wait without a result."""
        with self._lock:
            if self._end(lambda: self.future.set_exception(error)):
                for listener in self._listeners:
                    listener(None)

    def silent_until(self, now: float) -> None:
        """Note a fruitless look: the next one comes later."""
        self._silence = min(self._silence * 1.5, _LONGEST_SILENCE_SECONDS)
        self.look_at = now + self._silence * (0.8 + 0.4 * secrets.randbelow(1000) / 1000)

    def _take(self, update: StatusUpdate) -> None:
        self.updates.append(update)
        self._silence = _SILENCE_SECONDS
        self.look_at = time.monotonic() + self._silence
        result = update.result
        if result is not None:  # before anybody hears of the end, who may ask for the result at once
            self._end(lambda: self.future.set_result(result))
        for listener in self._listeners:
            listener(update)

    @staticmethod
    def _end(settle: Callable[[], None]) -> bool:
        try:
            settle()
        except InvalidStateError:  # somebody else was first
            return False
        return True


class Waiter:
    """Reads the reply channel on a thread of its own, from the first call that somebody waits for."""

    def __init__(self, url: str, commands: Commands, timeout: timedelta) -> None:
        """Prepare; nothing is opened before ``start``."""
        self.client: Final = secrets.token_hex(8)
        self._commands = commands
        self._timeout = timeout
        self._driver = Driver(url, timeout)
        self._watches: WeakValueDictionary[str, Watch] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._connected = threading.Event()
        self._closed = threading.Event()
        self._trouble = "it does not answer"
        self._heard = time.monotonic()
        self._pinged = time.monotonic()
        self._gone_through = time.monotonic()

    @property
    def is_connected(self) -> bool:
        """Whether the subscription stands, as far as is known."""
        return self._connected.is_set()

    @property
    def is_awaited(self) -> bool:
        """Whether somebody in this process waits for a call at this moment."""
        return any(watch.is_awaited for watch in self._open())

    def start(self) -> bool:
        """Subscribe, and return when Redis has confirmed it; ``False`` when somebody closes the waiter meanwhile.

        Raises ``BrokerUnavailable`` when that takes longer than the timeout.
        """
        if self._connected.is_set():
            return True
        if self._closed.is_set():
            return False
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="toolrelay-waiter", daemon=True)
                self._thread.start()
        end = time.monotonic() + self._timeout.total_seconds()
        while not self._connected.wait(_CLOSED_SEEN_SECONDS):
            if self._closed.is_set():
                return False
            if time.monotonic() > end:
                raise BrokerUnavailable(f"Redis cannot be reached: {self._trouble}")
        return True

    def watch(self, tool_call_id: str) -> Watch:
        """Give the process's watch of a call; new ones know nothing until an update or a snapshot comes."""
        with self._lock:
            watch = self._watches.get(tool_call_id)
            if watch is None or watch.has_failed:
                watch = self._watches[tool_call_id] = Watch(tool_call_id)
            return watch

    def watch_anew(self, stale: Watch) -> Watch:
        """Give another watch of a call whose end ``stale`` has seen, and which runs again all the same."""
        with self._lock:
            watch = self._watches.get(stale.tool_call_id)
            if watch is None or watch is stale:  # else somebody was faster, and theirs is the one that hears
                watch = self._watches[stale.tool_call_id] = Watch(stale.tool_call_id)
            return watch

    def close(self) -> None:
        """End the thread and its connections. Who waits all the same is told; a handle that is asked again connects."""
        self._closed.set()
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            with suppress(RedisError, BrokerUnavailable):
                self._driver.redis.publish(self._commands.keys.reply(self.client), _WAKE)
            thread.join(timeout=_TICK_SECONDS * 4)
        for watch in self._open():
            watch.fail(
                BrokerUnavailable(f"{watch.tool_call_id}: the producer was closed while this call was waited for")
            )
        self._driver.close()

    def _run(self) -> None:
        while not self._closed.is_set():
            try:
                with self._driver.redis.pubsub() as pubsub:
                    self._listen(pubsub)
            except (RedisError, BrokerUnavailable, OSError) as error:
                self._trouble = str(error)
                if not self._closed.is_set():
                    logger.info("the reply channel is interrupted, connecting again: %s", error)
            finally:
                self._connected.clear()
            self._closed.wait(_RECONNECT_SECONDS)

    def _listen(self, pubsub: PubSub) -> None:
        pubsub.subscribe(self._commands.keys.reply(self.client))
        self._heard = self._pinged = time.monotonic()
        while not self._closed.is_set():
            message = pubsub.get_message(timeout=_TICK_SECONDS)
            if message is not None:
                self._hear(message)
            self._keep_alive(pubsub)
            self._look_for_silent(time.monotonic())

    def _hear(self, message: dict[str, str]) -> None:
        self._heard = time.monotonic()
        if message["type"] == "subscribe":
            self._look(self._open())  # what happened while nobody listened
            self._connected.set()
        elif message["type"] == "message" and message["data"] != _WAKE:
            self._take(message["data"])

    def _take(self, text: str) -> None:
        try:
            update = replies.update(text)
        except _UNREADABLE as error:  # must not end the wait of everybody; the next look tells whose it was
            logger.warning("a message on the reply channel cannot be read: %s", error)
            return
        watch = self._watches.get(update.tool_call_id)
        if watch is not None and not watch.apply(update):
            self._look([watch])

    def _keep_alive(self, pubsub: PubSub) -> None:
        now = time.monotonic()
        if now - self._heard > _DEAF_SECONDS:
            raise BrokerUnavailable("nothing was heard on the reply channel")
        if now - max(self._heard, self._pinged) > _PING_SECONDS:
            pubsub.ping()
            self._pinged = now

    def _open(self) -> list[Watch]:
        with self._lock:
            return [watch for watch in self._watches.values() if not watch.is_over]

    def _look_for_silent(self, now: float) -> None:
        """Look at calls that say nothing: once a tick, since all open ones are gone through, and messages are many."""
        if now - self._gone_through >= _TICK_SECONDS:
            self._gone_through = now
            self._look([watch for watch in self._open() if watch.look_at <= now])

    def _look(self, watches: list[Watch]) -> None:
        for start in range(0, len(watches), _LOOK_AT_MOST):
            batch = watches[start : start + _LOOK_AT_MOST]
            seen = [watch.seen for watch in batch]
            commands = [
                self._commands.snapshot(watch.tool_call_id, after, self.client)
                for watch, after in zip(batch, seen, strict=True)
            ]
            # Read one by one: what cannot be read ends one wait, not all.
            answers = self._driver.run_all([Command(command.args, list, command.script) for command in commands])
            for watch, after, answer in zip(batch, seen, answers, strict=True):
                self._learn(watch, after, answer)

    @staticmethod
    def _learn(watch: Watch, seen: int, answer: list[str]) -> None:
        watch.silent_until(time.monotonic())
        try:
            snapshot = replies.snapshot(answer)
        except _UNREADABLE as error:
            watch.fail(ToolrelayError(f"{watch.tool_call_id}: this version of toolrelay cannot read it: {error}"))
            return
        if snapshot is not None and snapshot.seq >= seen:
            watch.catch_up(snapshot)
        elif snapshot is not None:  # numbers that fall: its end was missed for as long as results are kept
            watch.fail(UnknownCall(f"{watch.tool_call_id}: its record is gone, and the id has been enqueued anew"))
        elif watch.is_known:  # otherwise it is not enqueued yet
            watch.fail(UnknownCall(f"{watch.tool_call_id}: its record is gone"))
