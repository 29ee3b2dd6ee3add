"""What a running tool may know about its call, and what it may say while it runs."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any, Protocol

from toolrelay.models import NormalizedToolRequest, Progress, ProviderFormat
from toolrelay.outputs import strict_json
from toolrelay_worker.stopping import StopSignal


@dataclass(frozen=True, slots=True)
class PartialOutput:
    """Output that a tool gives before it ends."""

    output: Any = field(repr=False)
    """Any JSON value."""


class UpdateSink(Protocol):
    """Takes what a tool says while it runs. Called in the tool's thread or on its loop: it must not block or raise."""

    def __call__(self, update: Progress | PartialOutput, /) -> None: ...


class ToolContext:
    """Handed to a tool that has a parameter annotated with this class, whatever the parameter's name.

    ::

        @tool("report/build")
        def build(year: int, ctx: ToolContext) -> str:
            for month in range(1, 13):
                if ctx.cancelled:
                    return "stopped early"
                ctx.progress(month, total=12)
    """

    __slots__ = ("_ends", "_is_over", "_request", "_sink", "_stop", "attempt", "deadline", "max_attempts", "tool_name")

    def __init__(
        self,
        request: NormalizedToolRequest,
        *,
        tool_name: str | None = None,
        attempt: int = 1,
        max_attempts: int = 1,
        timeout: timedelta = timedelta(seconds=60),
        stop: StopSignal | None = None,
        sink: UpdateSink | None = None,
    ) -> None:
        self._request = request
        self._stop = stop
        self._sink = sink
        self._is_over = False
        self._ends = time.monotonic() + timeout.total_seconds()
        self.tool_name = request.tool_name if tool_name is None else tool_name
        """The registry's name of the tool."""
        self.attempt = attempt
        """Which execution of the call this is, counted from 1."""
        self.max_attempts = max_attempts
        self.deadline = datetime.now(UTC) + timeout
        """When the time limit passes, by this machine's clock."""

    @property
    def tool_call_id(self) -> str:
        """The call's identity; ``""`` for a call that no router or producer has given one."""
        return self._request.tool_call_id or ""

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this call: pass it on to services that recognise a repeated request."""
        return self.tool_call_id

    @property
    def plan_id(self) -> str | None:
        """The plan the call belongs to."""
        return self._request.plan_id

    @property
    def sequence(self) -> int | None:
        """The call's place in its plan, counted from 0."""
        return self._request.sequence

    @property
    def provider_format(self) -> ProviderFormat:
        """The wire format the model's call was written in."""
        return self._request.provider_format

    @property
    def provider_metadata(self) -> Mapping[str, Any]:
        """What came with the call: model, thought signature, namespace and what the caller added. Read only."""
        return MappingProxyType(self._request.provider_metadata)

    @property
    def remaining(self) -> timedelta:
        """Time until the limit; zero when it has passed."""
        return timedelta(seconds=max(0.0, self._ends - time.monotonic()))

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for this attempt any more: cancelled, over its limit, or its lease lost.

        A synchronous tool cannot be interrupted; one that may run long asks this between its steps and returns.
        """
        return self._is_over or (self._stop is not None and self._stop.is_set)

    def progress(self, current: float, total: float | None = None, message: str | None = None) -> Awaitable[None]:
        """Say how far the tool is. Never blocks; what is returned is done already, so ``await`` it or do not."""
        if not all(math.isfinite(number) for number in (current, total or 0)):
            raise ValueError(f"progress needs finite numbers, got current={current!r}, total={total!r}")
        return self._say(Progress(current=current, total=total, message=message))

    def partial(self, output: Any) -> Awaitable[None]:
        """Give output early: anything a tool may return. It is read at once, so the tool may go on changing it."""
        return self._say(PartialOutput(strict_json(output)))

    def close(self) -> None:
        """Called when the attempt has ended: what an abandoned tool says from now on goes nowhere."""
        self._is_over = True

    def _say(self, update: Progress | PartialOutput) -> Awaitable[None]:
        if self._sink is not None and not self.cancelled:
            self._sink(update)
        return _DONE


class _Done:
    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


_DONE = _Done()
