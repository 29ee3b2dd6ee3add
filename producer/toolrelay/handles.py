"""What an agent holds while its calls run: one call (``CallHandle``) or a whole message's (``Turn``), and async twins.

A handle holds no connection, only an id and where to ask; it may be made in any process (``Producer.call``). Timeouts
are seconds or ``timedelta``; ``None`` waits for ever. A wait that ends does not end the call.
"""

from __future__ import annotations

import asyncio
import queue
import time
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from toolrelay.errors import BrokerUnavailable, ResultTimeout, UnknownCall
from toolrelay.models import CallStatus, NormalizedToolRequest, NormalizedToolResult, ProviderFormat, StatusUpdate
from toolrelay.protocol.commands import Command
from toolrelay.protocol.replies import CancelReply, Enqueued, Snapshot
from toolrelay.session import Session, connected_session, connected_session_async, open_session
from toolrelay.settings import Settings
from toolrelay.translate import format_results
from toolrelay.waiter import Listener, Watch

F = TypeVar("F")

if TYPE_CHECKING:
    from celery.result import AsyncResult

Timeout = float | timedelta | None


class _Deadline:
    """A timeout that several waits share."""

    def __init__(self, timeout: Timeout) -> None:
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        return None if self._end is None else max(0.0, self._end - time.monotonic())


class _Call:
    """What the sync and the async handle share: all but the waiting."""

    def __init__(self, settings: Settings, tool_call_id: str, request: NormalizedToolRequest | None = None) -> None:
        """Name a call; nothing is asked yet. ``request`` is known only where the call was enqueued."""
        self.id = tool_call_id
        self.request = request
        self._settings = settings
        self._watch: Watch | None = None
        self._watched_by: Session | None = None
        self._was_over = False

    @property
    def async_result(self) -> AsyncResult:
        """Celery's own view of the call."""
        return self._session.celery.AsyncResult(self.id)

    @property
    def _session(self) -> Session:
        return open_session(self._settings)

    def _attach(self, enqueued: Enqueued | None = None) -> Watch:
        """Give this process's watch of the call. Before ENQUEUE, so that nothing of what follows is missed."""
        session, watch = self._session, self._watch
        # Another session: this is a forked child, or the producer was closed.
        if watch is None or watch.has_failed or (self._watched_by is not session and not watch.is_over):
            watch = session.waiter.watch(self.id)
        if enqueued is None:
            self._was_over = watch.is_over
        else:
            # An end that came since the call was sent is its own; it may be here before the answer is.
            if self._was_over and (enqueued.snapshot is None or not enqueued.snapshot.status.is_terminal):
                # Seen to its end in this process, and open again: it was replayed, or has expired in between.
                watch = session.waiter.watch_anew(watch)
            watch.is_known = True
            if enqueued.snapshot is not None:
                watch.catch_up(enqueued.snapshot)
        self._watch, self._watched_by = watch, session
        return watch

    def _ask(self, watch: Watch) -> Command[Snapshot | None]:
        session = self._session
        return session.commands.snapshot(self.id, watch.seen, session.waiter.client)

    def _found(self, answer: F | None) -> F:
        if answer is None:
            raise UnknownCall.of(self.id)
        return answer

    def _learn(self, watch: Watch, snapshot: Snapshot | None) -> None:
        found = self._found(snapshot)
        watch.is_known = True
        watch.catch_up(found)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


class CallHandle(_Call):
    """One call, from wherever you are. All methods may be used from any thread."""

    def status(self) -> CallStatus:
        """Where the call stands now. Raises ``UnknownCall``, never reports a call that is not known as pending."""
        return self._found(self._session.driver.run(self._session.commands.standing(self.id))).status

    def result(self, timeout: Timeout = None) -> NormalizedToolResult:
        """Wait for the result; a tool's failure is a result too.

        Raises ``ResultTimeout`` (the call goes on), ``UnknownCall``, or ``BrokerUnavailable``.
        """
        watch = self._connected()
        try:
            with watch.awaited():
                return watch.future.result(_Deadline(timeout).left)
        except FutureTimeoutError:
            if watch.future.done():
                return watch.future.result()
            raise _still_open(self._session, {self.id}) from None

    def updates(self, timeout: Timeout = None) -> Iterator[StatusUpdate]:
        """Yield every update from the first to the terminal one, in order; those before now first.

        ``timeout`` bounds the whole iteration. Where more updates came than are kept, ``dropped`` of the next one
        counts the missing. Raises as ``result``.
        """
        yield from _follow(self._session, [self._connected()], _Deadline(timeout))

    def cancel(self) -> CancelReply:
        """Ask for the call's end: at once where it waits, by its worker where it runs."""
        return self._session.driver.run(self._session.commands.cancel(self.id))

    def _connected(self) -> Watch:
        watch = self._attach()
        if watch.is_over:
            return watch
        with watch.awaited():
            if connected_session(self._settings) is not self._watched_by:
                return self._connected()  # closed in between, so its watch hears nothing
            if not watch.is_known:
                self._learn(watch, self._session.driver.run(self._ask(watch)))
        return watch


class AsyncCallHandle(_Call):
    """``CallHandle`` for event loops. ``await handle`` is its result."""

    def __await__(self) -> Generator[Any, None, NormalizedToolResult]:
        """Wait for the result without a timeout."""
        return self.result().__await__()

    async def status(self) -> CallStatus:
        """As ``CallHandle.status``."""
        return self._found(await self._session.async_driver.run(self._session.commands.standing(self.id))).status

    async def result(self, timeout: Timeout = None) -> NormalizedToolResult:  # noqa: ASYNC109 - the sync twin's signature
        """As ``CallHandle.result``."""
        watch = await self._connected()
        try:
            with watch.awaited():
                return await asyncio.wait_for(asyncio.wrap_future(watch.future), _Deadline(timeout).left)
        except TimeoutError:
            if watch.future.done():
                return watch.future.result()
            raise _still_open(self._session, {self.id}) from None

    async def updates(self, timeout: Timeout = None) -> AsyncIterator[StatusUpdate]:  # noqa: ASYNC109 - as above
        """As ``CallHandle.updates``."""
        watch = await self._connected()
        async for update in _follow_async(self._session, [watch], _Deadline(timeout)):
            yield update

    async def cancel(self) -> CancelReply:
        """As ``CallHandle.cancel``."""
        return await self._session.async_driver.run(self._session.commands.cancel(self.id))

    async def _connected(self) -> Watch:
        watch = self._attach()
        if watch.is_over:
            return watch
        with watch.awaited():
            if await connected_session_async(self._settings) is not self._watched_by:
                return await self._connected()  # closed in between, so its watch hears nothing
            if not watch.is_known:
                self._learn(watch, await self._session.async_driver.run(self._ask(watch)))
        return watch


H = TypeVar("H", CallHandle, AsyncCallHandle)


class _Turn(Generic[H]):
    """What both kinds of turn share."""

    def __init__(self, handles: Sequence[H], provider_format: ProviderFormat | None) -> None:
        """Keep the calls of one message, in the model's order."""
        self.handles: tuple[H, ...] = tuple(handles)
        self.provider_format = provider_format
        """``None`` for a message without calls."""

    @property
    def requests(self) -> tuple[NormalizedToolRequest, ...]:
        """The calls as they were read."""
        return tuple(handle.request for handle in self.handles if handle.request is not None)

    def __len__(self) -> int:
        """Count the calls; an empty turn is false."""
        return len(self.handles)

    def __iter__(self) -> Iterator[H]:
        """Iterate over the handles."""
        return iter(self.handles)

    def _messages(self, results: Sequence[NormalizedToolResult]) -> list[dict[str, Any]]:
        return format_results(results, self.provider_format) if results else []


class Turn(_Turn[CallHandle]):
    """The calls of one message a model sent."""

    def results(self, timeout: Timeout = None) -> list[NormalizedToolResult]:
        """Wait for all results, in the model's order, no longer than ``timeout`` in all; as ``CallHandle.result``."""
        deadline = _Deadline(timeout)
        return [handle.result(deadline.left) for handle in self.handles]

    def messages(self, timeout: Timeout = None) -> list[dict[str, Any]]:
        """Wait for all results, and give what is to be appended to the conversation, in the provider's own shape.

        JSON, but for a picture for Bedrock: see ``format_results``.
        """
        return self._messages(self.results(timeout))

    def updates(self, timeout: Timeout = None) -> Iterator[StatusUpdate]:
        """Yield every update of every call as it comes, until all have ended. Raises as ``CallHandle.updates``."""
        deadline = _Deadline(timeout)
        watches = [handle._connected() for handle in self.handles]  # noqa: SLF001 - the handles' own module
        if watches:
            yield from _follow(self.handles[0]._session, watches, deadline)  # noqa: SLF001 - as above

    def cancel(self) -> list[CancelReply]:
        """Cancel every call that has not ended."""
        return [handle.cancel() for handle in self.handles]


class AsyncTurn(_Turn[AsyncCallHandle]):
    """``Turn`` for event loops."""

    async def results(self, timeout: Timeout = None) -> list[NormalizedToolResult]:  # noqa: ASYNC109 - the sync twin's signature
        """As ``Turn.results``."""
        deadline = _Deadline(timeout)
        return [await handle.result(deadline.left) for handle in self.handles]

    async def messages(self, timeout: Timeout = None) -> list[dict[str, Any]]:  # noqa: ASYNC109 - as above
        """As ``Turn.messages``."""
        return self._messages(await self.results(timeout))

    async def updates(self, timeout: Timeout = None) -> AsyncIterator[StatusUpdate]:  # noqa: ASYNC109 - as above
        """As ``Turn.updates``."""
        deadline = _Deadline(timeout)
        watches = [await handle._connected() for handle in self.handles]  # noqa: SLF001 - the handles' own module
        if watches:
            session = self.handles[0]._session  # noqa: SLF001 - as above
            async for update in _follow_async(session, watches, deadline):
                yield update

    async def cancel(self) -> list[CancelReply]:
        """As ``Turn.cancel``."""
        return list(await asyncio.gather(*(handle.cancel() for handle in self.handles)))


def _follow(session: Session, watches: Sequence[Watch], deadline: _Deadline) -> Iterator[StatusUpdate]:
    """Yield every update of some calls as it comes, until all have ended."""
    updates: queue.SimpleQueue[StatusUpdate | None] = queue.SimpleQueue()
    still_open = {watch.tool_call_id for watch in watches}
    with _listening(watches, updates.put):
        while still_open:
            try:
                update = updates.get(timeout=deadline.left)
            except queue.Empty:
                raise _still_open(session, still_open) from None
            yield _taken(update, watches, still_open)


async def _follow_async(session: Session, watches: Sequence[Watch], deadline: _Deadline) -> AsyncIterator[StatusUpdate]:
    """As ``_follow``, on an event loop."""
    updates, put = _loop_queue()
    still_open = {watch.tool_call_id for watch in watches}
    with _listening(watches, put):
        while still_open:
            try:
                update = await asyncio.wait_for(updates.get(), deadline.left)
            except TimeoutError:
                raise _still_open(session, still_open) from None
            yield _taken(update, watches, still_open)


def _taken(update: StatusUpdate | None, watches: Sequence[Watch], still_open: set[str]) -> StatusUpdate:
    """Give an update that came, and note a call that ended; raise when a wait ended without a result."""
    if update is None:
        raise next(error for watch in watches if watch.is_over and (error := watch.future.exception()) is not None)
    if update.status.is_terminal:
        still_open.discard(update.tool_call_id)
    return update


def _still_open(session: Session, ids: set[str]) -> Exception:
    names = ", ".join(sorted(ids))
    if not session.waiter.is_connected:
        return BrokerUnavailable(f"no result of {names}: Redis cannot be reached")
    return ResultTimeout(f"still open: {names}; {'it goes' if len(ids) == 1 else 'they go'} on, wait again or cancel")


@contextmanager
def _listening(watches: Sequence[Watch], put: Listener) -> Iterator[None]:
    for watch in watches:
        watch.subscribe(put)
    try:
        yield
    finally:
        for watch in watches:
            watch.unsubscribe(put)


def _loop_queue() -> tuple[asyncio.Queue[StatusUpdate | None], Listener]:
    """Give a queue of the running loop, and what puts into it from the waiter's thread."""
    loop = asyncio.get_running_loop()
    updates: asyncio.Queue[StatusUpdate | None] = asyncio.Queue()

    def put(update: StatusUpdate | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(updates.put_nowait, update)

    return updates, put
