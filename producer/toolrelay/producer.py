"""The agent's side: hand over what a model said, get handles on its tool calls.

``Producer`` blocks, ``AsyncProducer`` is for event loops; both may be used from many threads, and a forked child opens
connections of its own. All producers of a process share one reply channel.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self
from weakref import WeakSet

from toolrelay.admission import Admission, admit
from toolrelay.errors import CallConflictError, ErrorCategory
from toolrelay.handles import AsyncCallHandle, AsyncTurn, CallHandle, Turn
from toolrelay.ids import tool_call_id
from toolrelay.models import NormalizedToolRequest, ProviderFormat, ToolSpec
from toolrelay.protocol.commands import Command
from toolrelay.protocol.replies import Enqueued, Submission
from toolrelay.resolution import candidate_names
from toolrelay.session import (
    Catalogue,
    Session,
    close_session,
    close_session_async,
    connected_session,
    connected_session_async,
    open_session,
)
from toolrelay.settings import Settings
from toolrelay.streaming import AsyncStreamingTurn, Place, StreamingTurn
from toolrelay.streams import StreamAssembler
from toolrelay.translate import read_call, read_calls

Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Outgoing:
    """A call on its way to Redis."""

    admission: Admission
    command: Command[Enqueued]
    headers: dict[str, Any]
    """Of its Celery message; empty for a refused call, which has none."""


class _Producer:
    """What both producers share: all but the waiting."""

    def __init__(
        self,
        plan_id: str,
        *,
        settings: Settings | None = None,
        redis_url: str | None = None,
        first_sequence: int = 0,
        check_catalogue: bool | None = None,
    ) -> None:
        """Produce the calls of one plan.

        ``plan_id`` and the call's place in the plan are its identity: an agent that restarts and replays its plan with
        the same ``plan_id`` and ``first_sequence`` attaches to its calls instead of running them again. Without
        ``redis_url``, ``settings`` or a variable that names a Redis, this user's embedded server is used.

        Raises ``SettingsError`` for a wrong variable, ``ValueError`` for an empty ``plan_id``.
        """
        tool_call_id(plan_id, first_sequence)  # raises for what no id can be made of
        self.plan_id = plan_id
        self.settings = settings or Settings.load(redis_url=redis_url, check_catalogue=check_catalogue)
        self._next = first_sequence
        self._streams_at: int | None = None
        _producers.add(self)
        self._lock = threading.Lock()

    @property
    def next_sequence(self) -> int:
        """The place in the plan that the next call gets."""
        return self._next

    @property
    def _session(self) -> Session:
        return open_session(self.settings)

    def _number(self, requests: Sequence[NormalizedToolRequest], sequence: int | None) -> list[NormalizedToolRequest]:
        """Give each call its place in the plan, and with it its id."""
        with self._lock:
            if sequence is None:
                self._refuse_while_streaming()
            first = self._next if sequence is None else sequence
            if sequence is None:
                self._next += len(requests)
        return [self._placed(request, place) for place, request in enumerate(requests, first)]

    def _placed(self, request: NormalizedToolRequest, place: int) -> NormalizedToolRequest:
        identity = {
            "tool_call_id": tool_call_id(self.plan_id, place),
            "plan_id": self.plan_id,
            "sequence": place,
        }
        return request.model_copy(update=identity)

    def _refuse_while_streaming(self) -> None:
        if self._streams_at is not None:
            raise RuntimeError(
                "a stream of this producer has not ended, so the next place in the plan is not known yet; "
                "read the stream to its end first, or name a sequence"
            )

    def _begin_stream(self, sequence: int | None, metadata: Payload | None) -> Place:
        """Give what places a stream's calls; their ``sequence`` is their place in the stream before."""
        with self._lock:
            if sequence is None:
                self._refuse_while_streaming()
                self._streams_at = self._next
            first = self._next if sequence is None else sequence

        def place(request: NormalizedToolRequest) -> NormalizedToolRequest:
            (complete,) = _with_metadata([request], metadata)
            return self._placed(complete, first + int(request.sequence or 0))

        return place

    def _end_stream(self, count: int, *, is_counted: bool) -> None:
        with self._lock:
            if is_counted and self._streams_at is not None:
                self._next, self._streams_at = self._streams_at + count, None

    def _read(
        self, payload: Payload, provider_format: ProviderFormat | str | None, metadata: Payload | None
    ) -> list[NormalizedToolRequest]:
        request = read_call(payload, provider_format, max_arguments_bytes=self.settings.max_arguments_bytes)
        return _with_metadata([request], metadata)

    def _read_all(
        self,
        message: object,
        provider_format: ProviderFormat | str | None,
        metadata: Payload | None,
        *,
        names: Any,
        text_calls: bool,
    ) -> list[NormalizedToolRequest]:
        limit = self.settings.max_arguments_bytes
        requests = read_calls(message, provider_format, names=names, text_calls=text_calls, max_arguments_bytes=limit)
        return _with_metadata(requests, metadata)

    def _assembler(self, provider_format: ProviderFormat | str, *, names: Any, text_calls: bool) -> StreamAssembler:
        limit = self.settings.max_arguments_bytes
        return StreamAssembler(provider_format, names=names, text_calls=text_calls, max_arguments_bytes=limit)

    def _prepare(self, requests: Sequence[NormalizedToolRequest], catalogue: Catalogue) -> list[_Outgoing]:
        limit = self.settings.max_arguments_bytes
        return [self._outgoing(admit(request, catalogue, max_arguments_bytes=limit)) for request in requests]

    def _outgoing(self, admission: Admission) -> _Outgoing:
        session, request = self._session, admission.request
        message: str = ""
        headers: dict[str, Any] = {}
        if admission.refusal is None:
            message, headers = session.doorbell.message(request)
        elif admission.refusal.category == ErrorCategory.NOT_FOUND:  # a worker with this tool may be on its way
            message = session.doorbell.message_to_keep(request)
        command = session.commands.enqueue(
            request,
            message,
            client=session.waiter.client,
            is_validation=admission.is_validation,
            refusal=admission.refusal,
        )
        return _Outgoing(admission, command, headers)

    def _sent(self, outgoing: Sequence[_Outgoing], replies: Sequence[Enqueued]) -> None:
        """Send the publishing signals, and raise for a call whose id is taken by another one."""
        taken = None
        for call, reply in zip(outgoing, replies, strict=True):
            if reply.submission is not Submission.CONFLICT and call.headers:
                self._session.doorbell.published(call.headers)
            if reply.submission is Submission.CONFLICT:
                taken = taken or call.admission.request
        if taken is not None:
            raise CallConflictError(
                f"{taken.tool_call_id} (plan {self.plan_id!r}, sequence {taken.sequence}) is known with another tool "
                "or other arguments; choose another plan_id, or a first_sequence after the plan's earlier calls"
            )


class Producer(_Producer):
    """Enqueues tool calls and finds them again.

    ::

        relay = Producer(plan_id="plan-001")
        turn = relay.submit(response)
        messages += turn.messages(timeout=30)
    """

    def submit(
        self,
        message: object,
        provider_format: ProviderFormat | str | None = None,
        *,
        names: Any = None,
        text_calls: bool = False,
        sequence: int | None = None,
        provider_metadata: Payload | None = None,
    ) -> Turn:
        """Enqueue every client-side call of a model's message, in one round trip; without calls the turn is empty.

        ``message``, ``names`` (the name map of ``export_tools``) and ``text_calls`` are what ``read_calls`` takes;
        without ``names`` a tool is found by its own name, or by its name on the provider's wire where that is
        unmistakable among the tools that workers offer;
        ``provider_metadata`` comes back in every result. A call that cannot run gets its error result at once, beside
        its siblings. ``sequence`` is the first call's place in the plan; ``None`` is the next one.

        Raises ``InvalidCallError`` for what is no message; ``CallConflictError``, the other calls being enqueued;
        ``BrokerUnavailable``, after which calls may have arrived: submit again with the ``sequence`` that
        ``next_sequence`` had before, and those that have are attached to, not run twice.
        """
        return self._turn(
            self._read_all(message, provider_format, provider_metadata, names=names, text_calls=text_calls), sequence
        )

    def enqueue(
        self,
        payload: Payload,
        provider_format: ProviderFormat | str | None = None,
        *,
        sequence: int | None = None,
        provider_metadata: Payload | None = None,
    ) -> CallHandle:
        """Enqueue one call given as a dict. ``sequence`` is its place in the plan; ``None`` is the next one.

        Raises as ``submit``.
        """
        return self._turn(self._read(payload, provider_format, provider_metadata), sequence).handles[0]

    def stream(
        self,
        events: Iterable[Any],
        provider_format: ProviderFormat | str,
        *,
        names: Any = None,
        text_calls: bool = False,
        sequence: int | None = None,
        provider_metadata: Payload | None = None,
    ) -> StreamingTurn:
        """Enqueue the calls of a message while the model still writes it: iterate, then ask for ``.turn``.

        ::

            streaming = relay.stream(client.chat.completions.create(…, stream=True), "openai")
            for event in streaming:
                show(event)
            messages += streaming.turn.messages(timeout=30)

        Only tools that allow it (``early_start``; by default those that are ``read_only``) start before the stream has
        ended. What the stream then disowns is cancelled, as is everything that was started when it fails. Until its
        end, this producer gives no other place in the plan.

        Raises ``UnknownProviderFormatError``; the iteration raises as ``submit``, and what the stream itself raises.
        """
        assembler = self._assembler(provider_format, names=names, text_calls=text_calls)
        place = self._begin_stream(sequence, provider_metadata)
        return StreamingTurn(events, assembler, place, _Stream(self, is_counted=sequence is None))

    def call(self, call_id: str) -> CallHandle:
        """Give a handle on any call, by its ``tool_call_id``, whichever process enqueued it. Asks nothing yet."""
        return CallHandle(self.settings, call_id)

    def tools(self) -> list[ToolSpec]:
        """Give the tools that workers offer, or have offered within ``Settings.catalogue_ttl``; empty without any.

        A call of such a tool is accepted, and waits for a worker that has it.
        """
        return [entry.spec for entry in self._session.catalogue(()).values()]

    def close(self) -> None:
        """Close the process's connections, unless others in it still wait; who needs them later opens them again."""
        close_session(self.settings)

    def __enter__(self) -> Self:
        """Give the producer itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def _turn(self, read: Sequence[NormalizedToolRequest], sequence: int | None) -> Turn:
        if not read:
            return Turn((), None)
        connected_session(self.settings)
        catalogue = self._catalogue(read)
        requests = self._number(read, sequence)
        return Turn(self._enqueue(requests, catalogue), requests[0].provider_format)

    def _catalogue(self, requests: Sequence[NormalizedToolRequest]) -> Catalogue:
        return self._session.catalogue(_names(requests)) if self.settings.check_catalogue else {}

    def _enqueue(self, requests: Sequence[NormalizedToolRequest], catalogue: Catalogue) -> list[CallHandle]:
        session = self._session
        outgoing = self._prepare(requests, catalogue)
        admitted = [call.admission.request for call in outgoing]
        handles = [CallHandle(self.settings, str(request.tool_call_id), request) for request in admitted]
        for handle in handles:
            handle._attach()  # noqa: SLF001 - before ENQUEUE, so that no update is missed
        replies = session.driver.run_all([call.command for call in outgoing])
        self._sent(outgoing, replies)
        for handle, reply in zip(handles, replies, strict=True):
            handle._attach(reply)  # noqa: SLF001 - as above
        return handles


class _Stream:
    """What a ``StreamingTurn`` needs of a producer."""

    def __init__(self, relay: Producer, *, is_counted: bool) -> None:
        self._relay = relay
        self._is_counted = is_counted  # its calls take the plan's next places

    def catalogue(self, requests: Sequence[NormalizedToolRequest]) -> Catalogue:
        return self._relay._catalogue(requests)  # noqa: SLF001 - the producers' own module

    def enqueue(self, requests: Sequence[NormalizedToolRequest]) -> list[CallHandle]:
        connected_session(self._relay.settings)
        return self._relay._enqueue(requests, self.catalogue(requests))  # noqa: SLF001 - as above

    def close(self, count: int) -> None:
        self._relay._end_stream(count, is_counted=self._is_counted)  # noqa: SLF001 - as above


class _AsyncStream:
    """What an ``AsyncStreamingTurn`` needs of a producer."""

    def __init__(self, relay: AsyncProducer, *, is_counted: bool) -> None:
        self._relay = relay
        self._is_counted = is_counted  # its calls take the plan's next places

    async def catalogue(self, requests: Sequence[NormalizedToolRequest]) -> Catalogue:
        return await self._relay._catalogue(requests)  # noqa: SLF001 - the producers' own module

    async def enqueue(self, requests: Sequence[NormalizedToolRequest]) -> list[AsyncCallHandle]:
        await connected_session_async(self._relay.settings)
        return await self._relay._enqueue(requests, await self.catalogue(requests))  # noqa: SLF001 - as above

    def close(self, count: int) -> None:
        self._relay._end_stream(count, is_counted=self._is_counted)  # noqa: SLF001 - as above


class AsyncProducer(_Producer):
    """``Producer`` for event loops: the same verbs with ``await`` and ``async for``."""

    async def submit(
        self,
        message: object,
        provider_format: ProviderFormat | str | None = None,
        *,
        names: Any = None,
        text_calls: bool = False,
        sequence: int | None = None,
        provider_metadata: Payload | None = None,
    ) -> AsyncTurn:
        """As ``Producer.submit``."""
        return await self._turn(
            self._read_all(message, provider_format, provider_metadata, names=names, text_calls=text_calls), sequence
        )

    async def enqueue(
        self,
        payload: Payload,
        provider_format: ProviderFormat | str | None = None,
        *,
        sequence: int | None = None,
        provider_metadata: Payload | None = None,
    ) -> AsyncCallHandle:
        """As ``Producer.enqueue``."""
        turn = await self._turn(self._read(payload, provider_format, provider_metadata), sequence)
        return turn.handles[0]

    def stream(
        self,
        events: AsyncIterable[Any],
        provider_format: ProviderFormat | str,
        *,
        names: Any = None,
        text_calls: bool = False,
        sequence: int | None = None,
        provider_metadata: Payload | None = None,
    ) -> AsyncStreamingTurn:
        """As ``Producer.stream``, over an asynchronous stream: ``async for``, then ``await streaming.turn()``."""
        assembler = self._assembler(provider_format, names=names, text_calls=text_calls)
        place = self._begin_stream(sequence, provider_metadata)
        return AsyncStreamingTurn(events, assembler, place, _AsyncStream(self, is_counted=sequence is None))

    def call(self, call_id: str) -> AsyncCallHandle:
        """As ``Producer.call``."""
        return AsyncCallHandle(self.settings, call_id)

    async def tools(self) -> list[ToolSpec]:
        """As ``Producer.tools``."""
        return [entry.spec for entry in (await self._session.async_catalogue(())).values()]

    async def close(self) -> None:
        """Leave the reply channel and close the running loop's connections."""
        await close_session_async(self.settings)

    async def __aenter__(self) -> Self:
        """Give the producer itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.close()

    async def _turn(self, read: Sequence[NormalizedToolRequest], sequence: int | None) -> AsyncTurn:
        if not read:
            return AsyncTurn((), None)
        await connected_session_async(self.settings)
        catalogue = await self._catalogue(read)
        requests = self._number(read, sequence)
        return AsyncTurn(await self._enqueue(requests, catalogue), requests[0].provider_format)

    async def _catalogue(self, requests: Sequence[NormalizedToolRequest]) -> Catalogue:
        return await self._session.async_catalogue(_names(requests)) if self.settings.check_catalogue else {}

    async def _enqueue(self, requests: Sequence[NormalizedToolRequest], catalogue: Catalogue) -> list[AsyncCallHandle]:
        session = self._session
        outgoing = self._prepare(requests, catalogue)
        admitted = [call.admission.request for call in outgoing]
        handles = [AsyncCallHandle(self.settings, str(request.tool_call_id), request) for request in admitted]
        for handle in handles:
            handle._attach()  # noqa: SLF001 - before ENQUEUE, so that no update is missed
        replies = await session.async_driver.run_all([call.command for call in outgoing])
        self._sent(outgoing, replies)
        for handle, reply in zip(handles, replies, strict=True):
            handle._attach(reply)  # noqa: SLF001 - as above
        return handles


def _renew_locks() -> None:
    # One may have been held by a thread that a forked child does not have.
    for relay in tuple(_producers):
        relay._lock = threading.Lock()  # noqa: SLF001 - the producers' own module


_producers: WeakSet[_Producer] = WeakSet()
os.register_at_fork(after_in_child=_renew_locks)


def _names(requests: Sequence[NormalizedToolRequest]) -> list[set[str]]:
    """Give, for each call that can be read, the names of which one is its tool's."""
    return [set(candidate_names(request)) for request in requests if request.problem is None]


def _with_metadata(requests: Sequence[NormalizedToolRequest], metadata: Payload | None) -> list[NormalizedToolRequest]:
    """Add what the caller wants back with every result; its keys win over the payload's."""
    if not metadata:
        return list(requests)
    return [
        request.model_copy(update={"provider_metadata": {**request.provider_metadata, **metadata}})
        for request in requests
    ]
