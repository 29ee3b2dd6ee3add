"""Calls that start while the model is still writing: ``Producer.stream`` and its async twin.

A call is enqueued as soon as it is whole if its tool allows it (``early_start``; by default only tools that are
``read_only``); the others wait for the end of the stream, which may disown what was written. What was started early and
is disowned then, or belongs to a stream that fails, is cancelled. Nothing is started twice: a call's id is its place in
the plan, whenever it is enqueued.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from toolrelay.admission import entry_of, under_own_name
from toolrelay.errors import InvalidPayloadError
from toolrelay.formats.arguments.reading import problem_of
from toolrelay.handles import AsyncCallHandle, AsyncTurn, CallHandle, Turn
from toolrelay.models import NormalizedToolRequest, ProblemKind
from toolrelay.protocol.replies import CatalogueEntry
from toolrelay.streams import StreamAssembler

H = TypeVar("H", CallHandle, AsyncCallHandle)
T = TypeVar("T", Turn, AsyncTurn)
Catalogue = Mapping[str, CatalogueEntry]

_BROKEN_OFF: Final = "the stream stopped before the end of the model's turn came"


class Place(Protocol):
    """Gives a streamed call its place in the plan; its ``sequence`` is its place in the stream until then."""

    def __call__(self, request: NormalizedToolRequest, /) -> NormalizedToolRequest: ...


class _Sorting(Generic[H]):
    """Which calls start now, which wait, and which are to be taken back. Knows no connection."""

    def __init__(self, assembler: StreamAssembler, place: Place) -> None:
        self.assembler = assembler
        self._place = place
        self._waiting: dict[int, NormalizedToolRequest] = {}
        self._disowned_seen = 0
        self._is_broken_off = False
        self.started: dict[int, H] = {}

    @property
    def count(self) -> int:
        """How many calls the stream has given so far."""
        return max([*self._waiting, *self.started], default=-1) + 1

    @property
    def failure(self) -> str | None:
        """Why the stream has failed; a lost connection is a failure too, once the stream is closed."""
        return _BROKEN_OFF if self._is_broken_off else self.assembler.failure

    def sealed(self, requests: Iterable[NormalizedToolRequest]) -> None:
        """Note calls that are whole."""
        for request in requests:
            self._waiting[int(request.sequence or 0)] = request

    def candidates(self) -> list[NormalizedToolRequest]:
        """Give the calls that wait and can be run, with their place in the stream."""
        return [request for request in self._waiting.values() if request.problem is None]

    def take_early(self, catalogue: Catalogue) -> dict[int, NormalizedToolRequest]:
        """Take the calls that may start before the stream has ended, by their place in it."""
        early = {
            place: request
            for place, request in self._waiting.items()
            if request.problem is None and _starts_early(request, catalogue)
        }
        return self._take(early)

    def take_rest(self) -> dict[int, NormalizedToolRequest]:
        """Take every call that has not been started; one that the stream disowned carries its problem."""
        return self._take(dict(sorted(self._waiting.items())))

    def disowned(self) -> list[H]:
        """Give the handles of calls that were started and that the stream has disowned since the last time."""
        fresh = self.assembler.disowned[self._disowned_seen :]
        self._disowned_seen += len(fresh)
        back = []
        for request in fresh:
            place = int(request.sequence or 0)
            if place in self.started:
                back.append(self.started[place])
            elif place in self._waiting:
                self._waiting[place] = request
        return back

    def end(self) -> list[H]:
        """Close the stream; give the handles to take back: of disowned calls or, if its end never came, of all."""
        self.sealed(self.assembler.close())
        if self.assembler.is_ended or self.assembler.failure is not None:
            return self.disowned()
        self._is_broken_off = True
        problem = {"problem": problem_of(ProblemKind.TRUNCATED, _BROKEN_OFF)}
        self._waiting |= {int(call.sequence or 0): call.model_copy(update=problem) for call in self.candidates()}
        return self.in_order()

    def in_order(self) -> list[H]:
        """Give all handles in the model's order."""
        return [self.started[place] for place in sorted(self.started)]

    def checked(self, turn: T | None) -> T:
        """Give the turn, if there is one."""
        if turn is None:
            raise RuntimeError("the stream was broken off, so there is no turn; what it had started is cancelled")
        if self.failure is not None and not self.started:
            raise InvalidPayloadError(self.failure)
        return turn

    def _take(self, chosen: dict[int, NormalizedToolRequest]) -> dict[int, NormalizedToolRequest]:
        for place in chosen:
            del self._waiting[place]
        return {place: self._place(request) for place, request in chosen.items()}


def _starts_early(request: NormalizedToolRequest, catalogue: Catalogue) -> bool:
    entry = entry_of(under_own_name(request, catalogue), catalogue)
    return entry is not None and entry.policy.starts_early


class Sender(Protocol):
    """What a streaming turn needs of its producer."""

    def catalogue(self, requests: list[NormalizedToolRequest]) -> Catalogue:
        """Give the tools on offer."""

    def enqueue(self, requests: list[NormalizedToolRequest]) -> list[CallHandle]:
        """Enqueue calls that have their ids."""

    def close(self, count: int) -> None:
        """Let the plan go on after the stream's calls."""


class StreamingTurn:
    """A turn that is still being written. Iterate over it to get the events, unchanged; then ask for ``turn``.

    An iteration that ends in an error of the stream cancels what was started; so does ``close``, and the end of a
    ``with``, for whoever leaves the loop early. A stream that stops before the turn's end came has failed.
    """

    def __init__(self, events: Iterable[Any], assembler: StreamAssembler, place: Place, sender: Sender) -> None:
        self._sender = sender
        self._sorting: _Sorting[CallHandle] = _Sorting(assembler, place)
        self._turn: Turn | None = None
        self._is_begun = False
        self._events = self._run(events)

    def __iter__(self) -> Iterator[Any]:
        """Give the stream's events as they come."""
        return self._events

    @property
    def handles(self) -> tuple[CallHandle, ...]:
        """The calls enqueued so far, in the model's order."""
        return tuple(self._sorting.in_order())

    @property
    def failure(self) -> str | None:
        """Why the stream has failed, in which case nothing of it runs; ``None`` if it has not.

        The provider's error event, limits that were exceeded, events of another format than was named, or events that
        stopped before the turn's end came.
        """
        return self._sorting.failure

    @property
    def turn(self) -> Turn:
        """The whole turn; reads the rest of the stream first. Of a stream that failed its calls' errors are left.

        Raises ``InvalidPayloadError`` for a stream that failed before any call; ``RuntimeError`` after ``close``.
        """
        for _ in self._events:
            pass
        return self._sorting.checked(self._turn)

    def close(self) -> None:
        """Leave the stream: cancel what was started, unless the whole turn has been read."""
        if not self._is_begun:
            self._is_begun = True
            self._sender.close(0)
        self._events.close()

    def __enter__(self) -> Self:
        """Give the turn itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def _run(self, events: Iterable[Any]) -> Generator[Any, None, None]:
        sorting = self._sorting
        self._is_begun = True
        try:
            for event in events:
                sorting.sealed(sorting.assembler.feed(event))
                self._settle()
                yield event
            for handle in sorting.end():
                handle.cancel()
            self._send(sorting.take_rest())
            self._turn = Turn(sorting.in_order(), sorting.assembler.provider_format)
        finally:
            with ExitStack() as ending:  # each is done, whatever becomes of the others
                ending.callback(self._sender.close, sorting.count)
                if self._turn is None:
                    for handle in sorting.in_order():
                        ending.callback(handle.cancel)

    def _settle(self) -> None:
        sorting = self._sorting
        for handle in sorting.disowned():
            handle.cancel()
        waiting = sorting.candidates()
        if waiting:
            self._send(sorting.take_early(self._sender.catalogue(waiting)))

    def _send(self, requests: dict[int, NormalizedToolRequest]) -> None:
        if requests:
            handles = self._sender.enqueue(list(requests.values()))
            self._sorting.started.update(zip(requests, handles, strict=True))


class AsyncSender(Protocol):
    """``Sender`` for event loops."""

    async def catalogue(self, requests: list[NormalizedToolRequest]) -> Catalogue:
        """Give the tools on offer."""

    async def enqueue(self, requests: list[NormalizedToolRequest]) -> list[AsyncCallHandle]:
        """Enqueue calls that have their ids."""

    def close(self, count: int) -> None:
        """Let the plan go on after the stream's calls."""


class AsyncStreamingTurn:
    """``StreamingTurn`` for event loops; ``await streaming.turn()``, ``await streaming.close()``, ``async with``."""

    def __init__(
        self, events: AsyncIterable[Any], assembler: StreamAssembler, place: Place, sender: AsyncSender
    ) -> None:
        self._sender = sender
        self._sorting: _Sorting[AsyncCallHandle] = _Sorting(assembler, place)
        self._turn: AsyncTurn | None = None
        self._is_begun = False
        self._events = self._run(events)

    def __aiter__(self) -> AsyncIterator[Any]:
        """Give the stream's events as they come."""
        return self._events

    @property
    def handles(self) -> tuple[AsyncCallHandle, ...]:
        """The calls enqueued so far, in the model's order."""
        return tuple(self._sorting.in_order())

    @property
    def failure(self) -> str | None:
        """Why the stream has failed, in which case nothing of it runs; ``None`` if it has not.

        The provider's error event, limits that were exceeded, events of another format than was named, or events that
        stopped before the turn's end came.
        """
        return self._sorting.failure

    async def turn(self) -> AsyncTurn:
        """As ``StreamingTurn.turn``."""
        async for _ in self._events:
            pass
        return self._sorting.checked(self._turn)

    async def close(self) -> None:
        """As ``StreamingTurn.close``."""
        if not self._is_begun:
            self._is_begun = True
            self._sender.close(0)
        await self._events.aclose()

    async def __aenter__(self) -> Self:
        """Give the turn itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.close()

    async def _run(self, events: AsyncIterable[Any]) -> AsyncGenerator[Any, None]:
        sorting = self._sorting
        self._is_begun = True
        try:
            async for event in events:
                sorting.sealed(sorting.assembler.feed(event))
                await self._settle()
                yield event
            for handle in sorting.end():
                await handle.cancel()
            await self._send(sorting.take_rest())
            self._turn = AsyncTurn(sorting.in_order(), sorting.assembler.provider_format)
        finally:
            async with AsyncExitStack() as ending:  # each is done, whatever becomes of the others
                ending.callback(self._sender.close, sorting.count)
                if self._turn is None:
                    for handle in sorting.in_order():
                        ending.push_async_callback(handle.cancel)

    async def _settle(self) -> None:
        sorting = self._sorting
        for handle in sorting.disowned():
            await handle.cancel()
        waiting = sorting.candidates()
        if waiting:
            await self._send(sorting.take_early(await self._sender.catalogue(waiting)))

    async def _send(self, requests: dict[int, NormalizedToolRequest]) -> None:
        if requests:
            handles = await self._sender.enqueue(list(requests.values()))
            self._sorting.started.update(zip(requests, handles, strict=True))
