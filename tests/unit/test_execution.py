from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from toolrelay import format_results
from toolrelay.errors import ErrorCategory
from toolrelay.models import (
    CallKind,
    CallProblem,
    CallStatus,
    ExecutionPolicy,
    NormalizedToolRequest,
    ProblemKind,
    Progress,
    ProviderFormat,
    Repair,
    ToolSpec,
)
from toolrelay_worker import StopSignal, ToolContext, ToolOutcome, ToolRegistry, ToolRetry, ToolRunner, execute
from toolrelay_worker.context import PartialOutput
from toolrelay_worker.execution import MAX_ERROR_LENGTH, Outcome, prepare

NOT_NOW = "the tool cannot do it now; the same call may succeed later"
SHORT = timedelta(milliseconds=20)


@pytest.fixture(scope="module")
def runner() -> Iterator[ToolRunner]:
    runner = ToolRunner()
    yield runner
    runner.close()


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry()


Run = Callable[..., Outcome]


@pytest.fixture
def run(registry: ToolRegistry, runner: ToolRunner) -> Run:
    """Run a handler as a tool of its own, with the arguments and options given."""

    def run(handler: Callable[..., Any], arguments: dict[str, Any] | None = None, **options: Any) -> Outcome:
        spec = ToolSpec(
            "t",
            "",
            options.pop("schema", {"type": "object"}),
            options.pop("output_schema", None),
            options.pop("tool_type", "tool"),
        )
        registry.register(spec, handler, options.pop("policy", None))
        return execute(called(arguments), registry, runner=runner, **options)

    return run


def called(arguments: dict[str, Any] | None = None, name: str = "t", **more: Any) -> NormalizedToolRequest:
    return NormalizedToolRequest(tool_call_id="tc_1", tool_name=name, arguments=arguments or {}, **more)


def raiser(exception: BaseException) -> Callable[[], Any]:
    def tool() -> None:
        raise exception

    return tool


def test_what_a_tool_returns_is_its_output(run: Run) -> None:
    outcome = run(lambda **arguments: arguments, {"a": [1]})

    assert outcome.status is CallStatus.COMPLETE
    assert (outcome.success, outcome.output, outcome.error, outcome.error_category) == (True, {"a": [1]}, None, None)
    assert not outcome.retryable


def test_an_asynchronous_tool_is_awaited(run: Run) -> None:
    async def tool(a: int) -> int:
        await asyncio.sleep(0)
        return a + 1

    assert run(tool, {"a": 1}).output == 2


def test_a_typed_tool_gets_typed_values_and_may_return_them(registry: ToolRegistry, runner: ToolRunner) -> None:
    class Trip(BaseModel):
        day: date

    @registry.tool("t")
    def tool(trip: Trip, days: int) -> Trip:
        return Trip(day=trip.day + timedelta(days=days))

    outcome = execute(called({"trip": {"day": "2026-01-30"}, "days": "3"}), registry, runner=runner)

    assert outcome.output == {"day": "2026-02-02"}
    assert outcome.repairs == (Repair(kind="coerced", path="/days", detail="string → integer"),)


def test_a_tool_gets_its_context_and_what_it_says_reaches_the_sink(run: Run) -> None:
    said: list[Any] = []

    async def tool(*, ctx: ToolContext) -> list[Any]:
        await ctx.progress(1, total=2)
        ctx.partial("half")
        return [ctx.tool_call_id, ctx.attempt, ctx.max_attempts, ctx.tool_name]

    outcome = run(tool, attempt=2, policy=ExecutionPolicy(max_attempts=5), sink=said.append)

    assert outcome.output == ["tc_1", 2, 5, "t"]
    assert said == [Progress(current=1, total=2), PartialOutput("half")]


@pytest.mark.parametrize(
    ("exception", "category", "text"),
    [
        (RuntimeError("boom"), ErrorCategory.EXECUTION, "RuntimeError: boom"),
        (RuntimeError(), ErrorCategory.EXECUTION, "RuntimeError"),
        (KeyError("city"), ErrorCategory.EXECUTION, "KeyError: 'city'"),
        (TimeoutError("upstream"), ErrorCategory.TIMEOUT, "TimeoutError: upstream"),
        (SystemExit(3), ErrorCategory.EXECUTION, "SystemExit: 3"),
        (KeyboardInterrupt(), ErrorCategory.EXECUTION, "KeyboardInterrupt"),
    ],
    ids=repr,
)
def test_what_a_tool_raises_becomes_an_error_that_says_what(
    run: Run, exception: BaseException, category: ErrorCategory, text: str
) -> None:
    outcome = run(raiser(exception))

    assert outcome.status is CallStatus.ERROR
    assert (outcome.success, outcome.output, outcome.error, outcome.error_category) == (False, None, text, category)
    assert outcome.retryable is category.is_retryable


def test_a_tool_that_cancels_itself_is_an_error_like_others(run: Run) -> None:
    async def tool() -> None:
        raise asyncio.CancelledError

    outcome = run(tool)

    assert outcome.status is CallStatus.ERROR
    assert not outcome.success


class Rebuilding(ToolRetry):
    pass


@pytest.mark.parametrize(
    ("exception", "category", "text", "read"),
    [
        (ToolRetry("again"), None, "again", "again"),
        (Rebuilding("again"), None, "again", "again"),
        (ToolRetry("full", category=ErrorCategory.RESOURCE), ErrorCategory.RESOURCE, "full", "resource: full"),
        (ToolRetry(""), None, NOT_NOW, NOT_NOW),
    ],
    ids=repr,
)
def test_a_model_reads_of_a_retry_what_the_tool_said_of_it(
    run: Run, exception: BaseException, category: ErrorCategory | None, text: str, read: str
) -> None:
    outcome = run(raiser(exception))

    assert (outcome.error, outcome.error_category, outcome.retryable) == (text, category, True)
    (message,) = format_results([outcome.to_result(called())], "openai")
    assert message["content"] == f"Error: {read}"


FAILED_MCP = {"content": [{"type": "text", "text": "boom"}], "isError": True}


class CallToolResult(BaseModel):
    """As MCP's SDK has it: snake case in Python, camel case on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    content: list[dict[str, Any]]
    structured_content: Any = None
    is_error: bool = False
    result_type: str = "complete"


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        pytest.param(FAILED_MCP, "boom", id="as on the wire"),
        pytest.param({"content": FAILED_MCP["content"], "is_error": True}, "boom", id="snake case"),
        pytest.param(CallToolResult(content=[{"type": "text", "text": "boom"}], is_error=True), "boom", id="the SDK's"),
        pytest.param(ToolOutcome(True, FAILED_MCP), "boom", id="inside an outcome"),
        pytest.param({"content": [], "isError": True}, "the tool failed and did not say why", id="silent"),
        pytest.param({"isError": True}, "the tool failed and did not say why", id="without content"),
        pytest.param(
            {"content": [], "structuredContent": {"code": "BUSY", "wait": 30}, "isError": True},
            '{"code": "BUSY", "wait": 30}',
            id="only structured",
        ),
        pytest.param({"content": [{"type": "odd", "x": 1}], "isError": True}, '[{"type": "odd", "x": 1}]', id="odd"),
        pytest.param(
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "isError": True},
            "a\nb",
            id="two texts",
        ),
    ],
)
def test_a_call_tool_result_with_the_error_flag_is_a_failure(run: Run, returned: Any, error: str) -> None:
    outcome = run(lambda: returned)

    assert (outcome.status, outcome.success, outcome.output) == (CallStatus.COMPLETE, False, None)
    assert (outcome.error, outcome.error_category) == (error, ErrorCategory.EXECUTION)


@pytest.mark.parametrize(
    "returned",
    [
        {**FAILED_MCP, "isError": False},
        {**FAILED_MCP, "mine": 1},
        [FAILED_MCP],
        {**FAILED_MCP, "isError": "yes"},
    ],
    ids=["no failure", "another object", "inside a list", "no flag"],
)
def test_an_output_that_only_looks_like_a_failed_call_tool_result_is_an_output(run: Run, returned: Any) -> None:
    outcome = run(lambda: returned)

    assert (outcome.success, outcome.output) == (True, returned)


def test_a_failed_call_tool_result_is_not_held_against_the_output_schema(runner: ToolRunner) -> None:
    registry = ToolRegistry()
    registry.register(ToolSpec("t", "", {"type": "object"}, {"type": "object", "required": ["x"]}), lambda: FAILED_MCP)

    outcome = execute(called(), registry, runner=runner)

    assert (outcome.success, outcome.error, outcome.error_category) == (False, "boom", ErrorCategory.EXECUTION)


def test_a_retry_that_a_tool_asks_for_is_passed_on(run: Run) -> None:
    outcome = run(raiser(ToolRetry("busy", retry_after=timedelta(seconds=7))))

    assert (outcome.retry_requested, outcome.retryable, outcome.retry_after_ms) == (True, True, 7000)


def test_how_long_a_service_asked_to_wait_is_passed_on(run: Run) -> None:
    class TooManyRequests(Exception):
        response = SimpleNamespace(status_code=429, headers={"Retry-After": "7"})

    outcome = run(raiser(TooManyRequests("slow down")))

    assert (outcome.error_category, outcome.retryable, outcome.retry_after_ms) == ("rate_limit", True, 7000)
    assert not outcome.retry_requested


def test_an_exception_that_cannot_even_be_shown_is_still_told(run: Run) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError("no attributes")

    outcome = run(raiser(Broken()))

    assert (outcome.error, outcome.error_category) == ("Broken", ErrorCategory.EXECUTION)


def test_an_error_text_is_bounded_and_can_be_stored(run: Run) -> None:
    outcome = run(raiser(RuntimeError("å\ud800" * 100_000)))

    assert outcome.error is not None
    assert len(outcome.error) == MAX_ERROR_LENGTH
    assert outcome.error.endswith("…")
    outcome.error.encode()


def test_a_traceback_is_logged_without_arguments(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    def tool(password: str) -> None:
        raise RuntimeError("boom")

    with caplog.at_level(logging.INFO):
        run(tool, {"password": "hunter2"}, attempt=3)

    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "tool t raised (tc_1, attempt 3)"
    assert record.exc_info is not None
    assert "hunter2" not in caplog.text
    assert "raise RuntimeError" in caplog.text


def test_a_terminal_obeys_nothing_in_a_logged_traceback(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    def tool() -> None:
        raise RuntimeError("\x1b[2Jgone\r\nERROR forged")

    run(tool)

    text = logging.Formatter("%(message)s").format(caplog.records[0])
    assert "RuntimeError:  [2Jgone \nERROR forged" in text
    assert "raise RuntimeError" in text


def test_an_attempt_that_is_tried_again_is_a_warning_on_one_line(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    def tool() -> None:
        raise TimeoutError("too\nslow\x1b[2J")

    run(tool, is_retried=lambda outcome: outcome.error_category is ErrorCategory.TIMEOUT)

    (record,) = caplog.records
    assert (record.levelname, record.exc_info) == ("WARNING", None)
    assert record.message == "tool t failed for now (tc_1, attempt 1): TimeoutError: too slow [2J"


def test_a_tool_that_asks_for_another_attempt_leaves_no_traceback(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    def tool() -> None:
        raise ToolRetry("not yet")

    run(tool)

    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("WARNING", None)]


def test_arguments_are_logged_only_for_debugging(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="toolrelay_worker.execution"):
        run(lambda city: city, {"city": "Oslo"})

    assert "{'city': 'Oslo'}" in caplog.text


def test_a_tool_over_its_limit_is_a_timeout_and_says_no_more(run: Run) -> None:
    said: list[Any] = []
    contexts: list[ToolContext] = []
    let_go, spoke = threading.Event(), threading.Event()

    def tool(*, ctx: ToolContext) -> None:
        contexts.append(ctx)
        let_go.wait()
        ctx.progress(1)
        spoke.set()

    outcome = run(tool, policy=ExecutionPolicy(timeout=timedelta(milliseconds=500)), sink=said.append)
    let_go.set()

    assert spoke.wait(30)
    assert contexts[0].cancelled
    assert (outcome.status, outcome.error_category, outcome.retryable) == (
        CallStatus.ERROR,
        ErrorCategory.TIMEOUT,
        True,
    )
    assert outcome.error == "the tool did not end within its time limit of 0.5 s"
    assert said == []


@pytest.mark.parametrize(
    ("category", "status"),
    [(ErrorCategory.CANCELLED, CallStatus.CANCELLED), (ErrorCategory.WORKER_LOST, CallStatus.ERROR)],
)
def test_a_stopped_call_says_why(run: Run, category: ErrorCategory, status: CallStatus) -> None:
    stop = StopSignal()

    async def tool() -> None:
        stop.stop(category, "the agent gave up")
        await asyncio.Event().wait()

    outcome = run(tool, stop=stop)

    assert (outcome.status, outcome.error_category, outcome.error) == (status, category, "the agent gave up")


def test_a_coroutine_from_a_function_that_is_not_async_is_an_error_that_says_what_to_do(run: Run) -> None:
    started: list[int] = []

    async def forgotten() -> None:
        started.append(1)

    outcome = run(lambda: forgotten())

    assert (outcome.status, outcome.error_category) == (CallStatus.ERROR, ErrorCategory.EXECUTION)
    assert outcome.error is not None
    assert "async def" in outcome.error
    assert started == []


def test_an_output_that_is_no_json_is_a_complete_call_with_a_schema_error(run: Run) -> None:
    outcome = run(lambda: {"rows": [1, float("nan")]})

    assert (outcome.status, outcome.success, outcome.error_category) == (
        CallStatus.COMPLETE,
        False,
        ErrorCategory.SCHEMA,
    )
    assert outcome.error is not None
    assert "/rows/1" in outcome.error


@pytest.mark.parametrize(
    ("outcome", "category", "error"),
    [
        (ToolOutcome(False, None, "Permission denied"), ErrorCategory.PERMISSION, "Permission denied"),
        (ToolOutcome(False, {"partial": 1}, "too late"), ErrorCategory.EXECUTION, "too late"),
        (ToolOutcome(False), ErrorCategory.UNKNOWN, "the tool reported a failure without a reason"),
        (ToolOutcome(False, error=""), ErrorCategory.UNKNOWN, "the tool reported a failure without a reason"),
        (ToolOutcome(False, error=TimeoutError("x")), ErrorCategory.TIMEOUT, "TimeoutError: x"),  # type: ignore[arg-type] # people do
    ],
)
def test_a_reported_failure_is_a_complete_call(
    run: Run, outcome: ToolOutcome, category: ErrorCategory, error: str
) -> None:
    found = run(lambda: outcome)

    assert found.status is CallStatus.COMPLETE
    assert (found.success, found.output, found.error_category, found.error) == (False, None, category, error)


def test_a_reported_success_is_converted_and_checked_like_any_output(run: Run) -> None:
    outcome = run(lambda: ToolOutcome(True, {date(2026, 1, 2)}), output_schema={"type": "array"})

    assert outcome.output == ["2026-01-02"]


def test_an_error_beside_a_reported_success_is_ignored(run: Run) -> None:
    outcome = run(lambda: ToolOutcome(True, 1, "warning"))

    assert (outcome.success, outcome.error, outcome.error_category) == (True, None, None)


def test_a_validation_tool_may_report_that_it_could_not_judge(run: Run) -> None:
    outcome = run(lambda: ToolOutcome(False, None, "Operation timed out"), tool_type="validation")

    assert (outcome.success, outcome.is_validation, outcome.validation_passed) == (False, True, None)
    assert outcome.error_category is ErrorCategory.TIMEOUT


def test_a_verdict_is_a_verdict_however_it_is_reported(run: Run) -> None:
    outcome = run(lambda: ToolOutcome(False, {"passed": False}, "late"), tool_type="validation")

    assert (outcome.success, outcome.validation_passed, outcome.output) == (True, False, {"passed": False})


def test_a_verdict_may_come_as_a_model(run: Run) -> None:
    class Verdict(BaseModel):
        passed: bool

    assert run(lambda: Verdict(passed=True), tool_type="validation").validation_passed is True


def test_passed_means_nothing_in_the_output_of_another_tool(run: Run) -> None:
    outcome = run(lambda: {"passed": False})

    assert (outcome.success, outcome.is_validation, outcome.validation_passed) == (True, False, None)


@pytest.mark.parametrize("tool_type", ["tool", "validation"])
def test_arguments_that_do_not_fit_keep_the_tool_from_running(run: Run, tool_type: str) -> None:
    calls: list[Any] = []

    outcome = run(
        calls.append, {"days": "x"}, schema={"properties": {"days": {"type": "integer"}}}, tool_type=tool_type
    )

    assert calls == []
    assert (outcome.status, outcome.error_category) == (CallStatus.ERROR, ErrorCategory.SCHEMA)
    assert outcome.error is not None
    assert "/days" in outcome.error
    assert outcome.is_validation is (tool_type == "validation")
    assert (outcome.started_at, outcome.finished_at, outcome.duration_ms) == (None, None, None)


def test_an_unknown_tool_is_answered_with_the_known_ones(registry: ToolRegistry, runner: ToolRunner) -> None:
    for number in range(25):
        registry.register(ToolSpec(f"tool/{number}", "", {"type": "object"}), lambda: None)

    outcome = execute(called(name="schema/parse"), registry, runner=runner)

    assert (outcome.status, outcome.error_category) == (CallStatus.ERROR, ErrorCategory.NOT_FOUND)
    assert outcome.error is not None
    assert "'schema/parse' not found" in outcome.error
    assert "tool/0, tool/1," in outcome.error
    assert outcome.error.endswith("and 5 more")


@pytest.mark.parametrize("is_known", [True, False])
def test_a_call_with_a_problem_is_not_run(registry: ToolRegistry, runner: ToolRunner, is_known: bool) -> None:
    calls: list[int] = []
    if is_known:
        registry.register(ToolSpec("t", "", {"type": "object"}), lambda: calls.append(1))
    problem = CallProblem(kind=ProblemKind.TRUNCATED, category=ErrorCategory.PARSE, message="cut off at /city")

    outcome = execute(called(problem=problem), registry, runner=runner)

    assert calls == []
    assert (outcome.status, outcome.error_category, outcome.error) == ("error", "parse", "cut off at /city")


def test_the_tool_that_runs_is_the_one_of_the_namespace(registry: ToolRegistry, runner: ToolRunner) -> None:
    for name in ("find", "crm/find"):
        registry.register(ToolSpec(name, "", {"type": "object"}), named(name))

    outcome = execute(called(name="find", provider_metadata={"namespace": "crm"}), registry, runner=runner)

    assert outcome.output == "crm/find"


def named(name: str) -> Callable[[], str]:
    return lambda: name


def test_repairs_of_reading_and_of_checking_are_all_kept(registry: ToolRegistry, runner: ToolRunner) -> None:
    @registry.tool("t")
    def tool(days: int) -> int:
        return days

    read = Repair(kind="json_syntax", detail="quotes")
    outcome = execute(called({"days": 3.0, "more": 1}, repairs=(read,)), registry, runner=runner)

    assert [repair.kind for repair in outcome.repairs] == ["json_syntax", "coerced", "ignored"]
    assert outcome.output == 3


def test_a_request_is_never_changed(registry: ToolRegistry, runner: ToolRunner) -> None:
    @registry.tool("t")
    def tool(days: int, **more: Any) -> None:
        more.clear()

    request = called({"days": "3", "more": [1]})
    before = request.model_copy(deep=True)

    execute(request, registry, runner=runner)

    assert request == before


def test_an_outcome_may_be_logged() -> None:
    outcome = Outcome(CallStatus.ERROR, False, output="hunter2", error="hunter2", error_category=ErrorCategory.TIMEOUT)

    assert repr(outcome) == ("<Outcome error success=False error_category=timeout retryable=False duration_ms=None>")


def test_a_result_is_made_of_request_and_outcome(run: Run) -> None:
    queued_at = datetime(2026, 1, 2, tzinfo=UTC)
    request = called(
        provider_format=ProviderFormat.MCP,
        provider_call_id="7",
        provider_metadata={"model": "m"},
        kind=CallKind.CUSTOM,
    )

    outcome = run(lambda: 1)
    result = outcome.to_result(request, attempt=2, worker="w-1", queued_at=queued_at)

    assert result.tool_call_id == "tc_1"
    assert (result.tool_name, result.provider_format, result.provider_call_id) == ("t", ProviderFormat.MCP, "7")
    assert (result.success, result.output, result.attempt, result.worker) == (True, 1, 2, "w-1")
    assert (result.provider_metadata, result.kind) == ({"model": "m"}, CallKind.CUSTOM)
    assert result.queued_at == queued_at
    assert result.started_at is not None
    assert result.finished_at is not None
    assert result.started_at <= result.finished_at
    assert result.duration_ms is not None
    assert result.duration_ms >= 0
    assert type(result).model_validate_json(result.model_dump_json()) == result


def test_a_call_that_never_started_counts_no_attempt(registry: ToolRegistry, runner: ToolRunner) -> None:
    outcome = execute(called(), registry, runner=runner)

    assert outcome.to_result(called(), attempt=2).attempt == 0


def test_preparing_runs_nothing(registry: ToolRegistry) -> None:
    calls: list[int] = []
    registry.register(ToolSpec("t", "", {"type": "object"}), lambda: calls.append(1))

    prepared = prepare(called(), registry)

    assert not isinstance(prepared, Outcome)
    assert calls == []
