"""Tool calls run in the agent's own process: no broker, no Redis, the same execution path as on a worker."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Generator, Iterator, Mapping
from functools import partial
from typing import Any

from toolrelay.errors import ErrorCategory, InvalidPayloadError
from toolrelay.ids import tool_call_id
from toolrelay.models import (
    CallStatus,
    NormalizedToolRequest,
    NormalizedToolResult,
    Progress,
    ProviderFormat,
    StatusUpdate,
)
from toolrelay.schemas import normalize_schema
from toolrelay.translate import read_call
from toolrelay_worker.context import PartialOutput
from toolrelay_worker.execution import Outcome, PreparedCall, execute, prepare, run
from toolrelay_worker.registry import ToolRegistry
from toolrelay_worker.runners import StopSignal, ToolRunner, shared_runner

_DICT_ONLY = "payload must be a dict"


class ToolCallRouter:
    """Runs one plan's calls, one dict at a time, in any provider's format; gives results that a model can be told.

    A call is one attempt: retries and reruns belong to the fleet. Safe to use from several threads; ids are given in
    the order in which payloads are accepted.

    >>> registry = ToolRegistry()
    >>> @registry.tool("math/add")
    ... def add(a: int, b: int) -> int:
    ...     return a + b
    >>> router = ToolCallRouter(registry, "plan-001")
    >>> router.route({"name": "math/add", "arguments": '{"a": 2, "b": 3}'}).output
    5
    """

    def __init__(self, registry: ToolRegistry, plan_id: str, *, runner: ToolRunner | None = None) -> None:
        tool_call_id(plan_id, 0)  # refuses an empty plan_id here, not at the first call
        self._registry = registry
        self._plan_id = plan_id
        self._runner = runner
        self._lock = threading.Lock()
        self._sequence = 0

    @property
    def plan_id(self) -> str:
        """The plan whose calls these are."""
        return self._plan_id

    @property
    def sequence(self) -> int:
        """How many payloads were accepted; the next one has this sequence, counted from 0."""
        return self._sequence

    def route(
        self,
        payload: dict[str, Any],
        provider_format: ProviderFormat | str | None = None,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> NormalizedToolResult:
        """Run one call and wait for its result, at most as long as the tool's time limit.

        ``provider_metadata`` comes back in the result; its keys win over the payload's. What is wrong with
        the call or the tool is in the result. ``ValueError`` only for a payload that is no dict, for a call that the
        provider runs itself, and for an unknown ``provider_format``; such a payload takes no place in the plan.
        """
        request = self._number(_read(payload, provider_format), provider_metadata)
        return execute(request, self._registry, runner=self._current_runner()).to_result(request)

    def route_batch(
        self,
        payloads: list[dict[str, Any]],
        provider_format: ProviderFormat | str | None = None,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> list[NormalizedToolResult]:
        """Run calls one after the other; results in the same order. A bad call does not keep the others from running.

        ``ValueError`` before any tool runs when ``payloads`` is no list, or an item of it no dict.
        """
        if not isinstance(payloads, list):
            raise InvalidPayloadError(f"payloads must be a list, got {type(payloads).__name__}")
        for index, payload in enumerate(payloads):
            if not isinstance(payload, dict):
                raise InvalidPayloadError(f"payloads[{index}]: {_DICT_ONLY}, got {type(payload).__name__}")
        read = [_read(payload, provider_format) for payload in payloads]
        requests = [self._number(request, provider_metadata) for request in read]
        runner = self._current_runner()
        return [execute(request, self._registry, runner=runner).to_result(request) for request in requests]

    def route_streaming(
        self,
        payload: dict[str, Any],
        provider_format: ProviderFormat | str | None = None,
        provider_metadata: Mapping[str, Any] | None = None,
    ) -> Iterator[StatusUpdate]:
        """Run one call while its updates are read: ``pending``, ``running``, progress, then one terminal update.

        The tool is called when the update after ``running`` is asked for. An iterator that is closed before its end
        cancels the call. The same ``ValueError`` as ``route``, raised by this call itself.
        """
        return self._updates(self._number(_read(payload, provider_format), provider_metadata))

    def get_tool_schemas(self, provider: ProviderFormat | str) -> list[dict[str, Any]]:
        """Give each tool's flat definition for a provider, with its ``tool_type`` and a validation tool's ``mode``."""
        schemas = []
        for spec in self._registry.specs():
            schema = normalize_schema(spec, provider) | {"tool_type": spec.tool_type}
            schemas.append(schema if spec.mode is None else schema | {"mode": spec.mode})
        return schemas

    def _number(
        self, request: NormalizedToolRequest, provider_metadata: Mapping[str, Any] | None
    ) -> NormalizedToolRequest:
        """Give a call its place in the plan, and with it its identity."""
        with self._lock:
            sequence, self._sequence = self._sequence, self._sequence + 1
        return request.model_copy(
            update={
                "tool_call_id": tool_call_id(self._plan_id, sequence),
                "plan_id": self._plan_id,
                "sequence": sequence,
                "provider_metadata": {**request.provider_metadata, **(provider_metadata or {})},
            }
        )

    def _updates(self, request: NormalizedToolRequest) -> Generator[StatusUpdate, None, None]:
        update = partial(_update, request)
        yield update(1, CallStatus.PENDING)
        prepared = prepare(request, self._registry)
        if isinstance(prepared, Outcome):
            yield update(2, prepared.status, result=prepared.to_result(request))
            return
        yield update(2, CallStatus.RUNNING)
        seq = 2
        for said in _run_beside(prepared, self._current_runner()):
            seq += 1
            match said:
                case Progress():
                    yield update(seq, CallStatus.RUNNING, progress=said)
                case PartialOutput(output):
                    yield update(seq, CallStatus.RUNNING, partial=output)
                case Outcome():
                    yield update(seq, said.status, result=said.to_result(request))

    def _current_runner(self) -> ToolRunner:
        return self._runner or shared_runner()


def _read(payload: object, provider_format: ProviderFormat | str | None) -> NormalizedToolRequest:
    if not isinstance(payload, dict):
        raise InvalidPayloadError(f"{_DICT_ONLY}, got {type(payload).__name__}")
    return read_call(payload, provider_format)


def _update(request: NormalizedToolRequest, seq: int, status: CallStatus, **more: Any) -> StatusUpdate:
    return StatusUpdate(tool_call_id=request.tool_call_id or "", seq=seq, status=status, **more)


def _run_beside(
    prepared: PreparedCall, runner: ToolRunner
) -> Generator[Progress | PartialOutput | Outcome, None, None]:
    """Run a call in a thread of its own and give what it says as it says it; the outcome is last."""
    said: queue.SimpleQueue[Progress | PartialOutput | Outcome | BaseException] = queue.SimpleQueue()
    stop = StopSignal()

    def wait() -> None:
        try:
            said.put(run(prepared, runner=runner, stop=stop, sink=said.put))
        except BaseException as exc:  # noqa: BLE001 - not the tool's: raised again where the updates are read
            said.put(exc)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(wait,), name="toolrelay-stream", daemon=True).start()
    try:
        while True:
            item = said.get()
            if isinstance(item, BaseException):
                raise item
            yield item
            if isinstance(item, Outcome):
                return
    finally:
        stop.stop(ErrorCategory.CANCELLED, "nobody reads the call's updates any more")
