"""One call, executed inside this process: the same path for the router and for the Celery task.

``prepare`` decides whether the call can be run at all, ``run`` runs it; ``execute`` is both. Whatever happens in a
tool, what comes back is a value.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeAlias, TypeVar

from toolrelay.errors import ErrorCategory, SchemaMismatchError, classify_error
from toolrelay.models import CallStatus, NormalizedToolRequest, NormalizedToolResult, Repair
from toolrelay.outputs import strict_json
from toolrelay.resolution import unknown_tool
from toolrelay.translate import reported_failure
from toolrelay.upstream import retry_after_ms
from toolrelay_worker._logs import one_line, plain_traceback
from toolrelay_worker.context import ToolContext, UpdateSink
from toolrelay_worker.registry import RegisteredTool, ToolOutcome, ToolRegistry
from toolrelay_worker.retries import ToolRetry
from toolrelay_worker.runners import Ended, Raised, Returned, Stopped, StopSignal, TimedOut, ToolRunner

T = TypeVar("T")
_Which: TypeAlias = tuple[str, str | None, int]

logger = logging.getLogger(__name__)
logger.addFilter(plain_traceback)

MAX_ERROR_LENGTH = 4096
"""Longest error text that a model is given, in characters."""


@dataclass(frozen=True, slots=True, repr=False)
class Outcome:
    """How one attempt ended. Its ``repr`` shows neither output nor error text, so it may be logged."""

    status: CallStatus
    """``complete`` when the tool returned, also a failure; ``error`` when it raised, or could not be run."""
    success: bool
    output: Any = None
    """Any JSON value; ``None`` unless ``success``."""
    error: str | None = None
    """For the model; ``None`` exactly when ``success``."""
    error_category: ErrorCategory | None = None
    retryable: bool = False
    retry_after_ms: int | None = None
    retry_requested: bool = False
    """Whether the tool itself asked to be tried again, with ``ToolRetry``."""
    is_validation: bool = False
    validation_passed: bool | None = None
    repairs: tuple[Repair, ...] = ()
    """Those of the request, then those made to fit the tool's schema and parameters."""
    started_at: datetime | None = None
    """By this machine's clock; ``None`` when the tool was never started, as are the next two."""
    finished_at: datetime | None = None
    duration_ms: int | None = None

    def __repr__(self) -> str:
        category = None if self.error_category is None else self.error_category.value
        return (
            f"<Outcome {self.status.value} success={self.success} error_category={category} "
            f"retryable={self.retryable} duration_ms={self.duration_ms}>"
        )

    def to_result(
        self,
        request: NormalizedToolRequest,
        *,
        attempt: int = 1,
        worker: str | None = None,
        queued_at: datetime | None = None,
    ) -> NormalizedToolResult:
        """Make the call's result, as seen by whoever asked for it. ``attempt`` is kept only if the tool was started."""
        return NormalizedToolResult(
            tool_call_id=request.tool_call_id or "",
            tool_name=request.tool_name,
            provider_format=request.provider_format,
            provider_call_id=request.provider_call_id,
            success=self.success,
            output=self.output,
            error=self.error,
            error_category=self.error_category,
            retryable=self.retryable,
            retry_after_ms=self.retry_after_ms,
            is_validation=self.is_validation,
            validation_passed=self.validation_passed,
            provider_metadata=request.provider_metadata,
            kind=request.kind,
            repairs=self.repairs,
            attempt=attempt if self.started_at is not None else 0,
            worker=worker,
            queued_at=queued_at,
            started_at=self.started_at,
            finished_at=self.finished_at,
            duration_ms=self.duration_ms,
        )


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that can be run: its tool is known, its arguments fit."""

    request: NormalizedToolRequest
    tool: RegisteredTool
    keywords: dict[str, Any] = field(repr=False)
    repairs: tuple[Repair, ...] = ()


def _never(_: Outcome) -> bool:
    return False


def execute(
    request: NormalizedToolRequest,
    registry: ToolRegistry,
    *,
    runner: ToolRunner,
    attempt: int = 1,
    stop: StopSignal | None = None,
    sink: UpdateSink | None = None,
    is_retried: Callable[[Outcome], bool] = _never,
) -> Outcome:
    """Run one call and wait for its outcome, never longer than the tool's time limit.

    ``is_retried`` tells which outcomes are followed by another attempt: they are logged as less than an error.
    """
    prepared = prepare(request, registry)
    if isinstance(prepared, Outcome):
        return prepared
    return run(prepared, runner=runner, attempt=attempt, stop=stop, sink=sink, is_retried=is_retried)


def prepare(request: NormalizedToolRequest, registry: ToolRegistry) -> PreparedCall | Outcome:
    """Find the tool and check the arguments; an ``Outcome`` says why the call cannot be run. The tool is not called."""
    tool = registry.resolve(request)
    is_validation = tool is not None and tool.spec.tool_type == "validation"
    if request.problem is not None:
        return _not_run(request, request.problem.message, request.problem.category, is_validation)
    if tool is None:
        text = unknown_tool(request.tool_name, [known.name for known in registry])
        return _not_run(request, text, ErrorCategory.NOT_FOUND)
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("arguments of %s for tool %s: %r", request.tool_call_id, tool.name, request.arguments)
    try:
        checked = tool.input_check.check_arguments(request.arguments)
        bound = tool.signature.bind(checked.arguments)
    except SchemaMismatchError as exc:
        return _not_run(request, str(exc), exc.category, is_validation)
    return PreparedCall(request, tool, bound.keywords, request.repairs + checked.repairs + bound.repairs)


def run(
    call: PreparedCall,
    *,
    runner: ToolRunner,
    attempt: int = 1,
    stop: StopSignal | None = None,
    sink: UpdateSink | None = None,
    is_retried: Callable[[Outcome], bool] = _never,
) -> Outcome:
    """Run a prepared call and wait for its outcome, never longer than the tool's time limit.

    ``stop`` ends the wait from another thread; ``sink`` gets what the tool says until the outcome is there;
    ``is_retried`` is as in ``execute``.
    """
    tool = call.tool
    context = ToolContext(
        call.request,
        tool_name=tool.name,
        attempt=attempt,
        max_attempts=tool.policy.max_attempts,
        timeout=tool.policy.timeout,
        stop=stop,
        sink=sink,
    )
    given = dict.fromkeys(tool.signature.context_parameters, context)
    started_at, began = datetime.now(UTC), time.perf_counter()
    try:
        ended = runner.run(
            partial(tool.handler, **call.keywords, **given),
            is_async=tool.is_async,
            timeout=tool.policy.timeout,
            stop=stop,
        )
    finally:
        context.close()
    duration_ms = round((time.perf_counter() - began) * 1000)
    return replace(
        _outcome(ended, call, attempt, is_retried),
        is_validation=tool.spec.tool_type == "validation",
        repairs=call.repairs,
        started_at=started_at,
        finished_at=datetime.now(UTC),
        duration_ms=duration_ms,
    )


def _outcome(ended: Ended, call: PreparedCall, attempt: int, is_retried: Callable[[Outcome], bool]) -> Outcome:
    match ended:
        case Returned(value):
            return _returned(value, call.tool)
        case Raised(exception):
            outcome = _raised(exception)
            # Writing a traceback runs code of the exception too.
            _guarded(lambda: _log_raised(exception, outcome, _which(call, attempt), is_retried(outcome)), None)
            return outcome
        case TimedOut():
            logger.warning("tool %s ran over its time limit (%s, attempt %d)", *_which(call, attempt))
            limit = call.tool.policy.timeout.total_seconds()
            return _failure(f"the tool did not end within its time limit of {limit:g} s", ErrorCategory.TIMEOUT)
        case Stopped(reason):
            status = CallStatus.CANCELLED if reason.category is ErrorCategory.CANCELLED else CallStatus.ERROR
            return _failure(reason.message, reason.category, status=status)


def _returned(value: Any, tool: RegisteredTool) -> Outcome:
    """Judge what a tool returned. It has done its work: whatever is wrong with the output, the call is complete."""
    if inspect.isawaitable(value):
        _close(value)
        return _failure(_NOT_AWAITED, ErrorCategory.EXECUTION, status=CallStatus.ERROR)
    reported = value if isinstance(value, ToolOutcome) else ToolOutcome(True, value)
    is_validation = tool.spec.tool_type == "validation"
    if not reported.success and not (is_validation and reported.output is not None):
        return _reported_failure(reported.error)
    try:
        output = strict_json(reported.output)
        why = reported_failure(output)
        if why is not None:
            return _reported_failure(why)
        passed = _verdict(output) if is_validation else None
        if tool.output_check is not None:
            tool.output_check.check_output(output)
    except SchemaMismatchError as exc:
        return _failure(str(exc), exc.category, status=CallStatus.COMPLETE)
    return Outcome(CallStatus.COMPLETE, True, output, validation_passed=passed)


def _reported_failure(error: Any) -> Outcome:
    category = classify_error(error if isinstance(error, str | BaseException) else None)
    text = _describe(error) if isinstance(error, BaseException) else str(error or _NO_REASON)
    return _failure(text, category, status=CallStatus.COMPLETE)


def _verdict(output: Any) -> bool:
    passed = output.get("passed") if isinstance(output, dict) else None
    if not isinstance(passed, bool):
        raise SchemaMismatchError(
            'the validation tool gave no verdict: its output must be {"passed": true or false, …}'
        )
    return passed


def _log_raised(exception: BaseException, outcome: Outcome, which: _Which, is_retried: bool) -> None:
    if is_retried or outcome.retry_requested:  # foreseen by the tool's author, who knows where it comes from
        logger.warning("tool %s failed for now (%s, attempt %d): %s", *which, one_line(str(outcome.error)))
    else:
        logger.error("tool %s raised (%s, attempt %d)", *which, exc_info=exception)


def _raised(exception: BaseException) -> Outcome:
    wait = _guarded(lambda: retry_after_ms(exception), None)
    if isinstance(exception, ToolRetry):  # the tool's own words for the model, who knows no classes of ours
        text = _guarded(lambda: str(exception), "") or _NOT_NOW
        failure = replace(_failure(text, exception.category), retryable=True, retry_requested=True)
    else:
        failure = _failure(_describe(exception), _guarded(lambda: classify_error(exception), ErrorCategory.EXECUTION))
    return replace(failure, retry_after_ms=wait)


def _failure(text: str, category: ErrorCategory | None, *, status: CallStatus = CallStatus.ERROR) -> Outcome:
    # A lone surrogate, or a text longer than any model reads, must not keep the result from being stored.
    error = text.encode("utf-8", "replace").decode()
    if len(error) > MAX_ERROR_LENGTH:
        error = error[: MAX_ERROR_LENGTH - 1] + "…"
    return Outcome(
        status, False, error=error, error_category=category, retryable=bool(category and category.is_retryable)
    )


def _not_run(
    request: NormalizedToolRequest, text: str, category: ErrorCategory, is_validation: bool = False
) -> Outcome:
    return replace(_failure(text, category), is_validation=is_validation, repairs=request.repairs)


def _describe(exception: BaseException) -> str:
    """Name and message of an exception, whose ``__str__`` is the tool's own code."""
    text = _guarded(lambda: str(exception), "")
    return f"{type(exception).__name__}: {text}" if text else type(exception).__name__


def _guarded(read: Callable[[], T], otherwise: T) -> T:
    try:
        return read()
    except Exception:  # noqa: BLE001 - attributes and __str__ of a tool's exception are the tool's own code
        return otherwise


def _close(awaitable: Any) -> None:
    close = getattr(awaitable, "close", None)  # else Python warns that the coroutine was never awaited
    if callable(close):
        close()


def _which(call: PreparedCall, attempt: int) -> _Which:
    return call.tool.name, call.request.tool_call_id, attempt


_NOT_NOW = "the tool cannot do it now; the same call may succeed later"
_NO_REASON = "the tool reported a failure without a reason"
_NOT_AWAITED = (
    "the tool's function returned an awaitable instead of a result, so nothing has been done; "
    "its author must declare it with 'async def'"
)
