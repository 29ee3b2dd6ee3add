"""One worker process: the tools it offers, the calls it runs, and how it shows that it lives.

The Celery task hands each message to ``WorkerProcess.run``; the record decides whether there is anything to run.
"""

from __future__ import annotations

import json
import logging
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from toolrelay.drivers import Driver
from toolrelay.errors import ErrorCategory
from toolrelay.models import CallStatus, ExecutionPolicy
from toolrelay.protocol.commands import Commands, outcome_fragment, utf8_size
from toolrelay.protocol.replies import Beat, CatalogueEntry, Claim, ClaimRefusal, FinishReply
from toolrelay.settings import Settings
from toolrelay.transport import set_aside
from toolrelay_worker._logs import counted, one_line
from toolrelay_worker.execution import Outcome, execute
from toolrelay_worker.leases import Lease, LeaseKeeper
from toolrelay_worker.reaper import Reaper
from toolrelay_worker.registry import ToolRegistry
from toolrelay_worker.reporter import Reporter
from toolrelay_worker.retries import next_delay
from toolrelay_worker.runners import ToolRunner

logger = logging.getLogger(__name__)

_PUBLISH_SECONDS: Final = 60.0
#: Calls of which it has been logged that they are not run here.
_LEFT_REMEMBERED: Final = 1000
_UNKNOWN_TOOL = ExecutionPolicy()


@dataclass(frozen=True, slots=True, repr=False)
class Finished:
    """An attempt that ended a call, on its way into the record. Its ``repr`` shows no output: Celery logs it."""

    lease: Lease
    outcome: Outcome
    fragment: str
    is_dead: bool

    def __repr__(self) -> str:
        category = self.outcome.error_category
        return f"<{self.outcome.status}{f' {category}' if category else ''}, attempt {self.lease.claim.attempt}>"


class WorkerProcess:
    """Everything toolrelay has running in one worker process.

    ``on_unfit`` is called, with the reason, when the process should be replaced: too many hung tools, or a queue from
    which it takes nothing although it could.
    """

    def __init__(
        self, settings: Settings, url: str, registry: ToolRegistry, *, on_unfit: Callable[[str], None]
    ) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}"
        self._settings = settings
        self._registry = registry
        self._on_unfit = on_unfit
        self._commands = Commands(settings)
        self._driver = Driver(url, settings.command_timeout)
        self._runner = ToolRunner(on_hung=self._hung)
        # Of its own, and impatient: a beat that takes longer than a part of the lease is better tried again.
        beating = Driver(url, min(settings.command_timeout, settings.lease / 3))
        self._keeper = LeaseKeeper(
            beating,
            self._commands,
            self.name,
            settings.lease.total_seconds(),
            state=self._state,
            on_beat=self._on_beat,
        )
        self._reaper = Reaper(self._driver, self._commands, settings.reap_interval.total_seconds())
        self._reporter = Reporter(self._driver, self._commands)
        self._taken = time.monotonic()
        self._published = float("-inf")
        self._is_stopping = False
        self._unfit: str | None = None
        self._left: dict[str, None] = {}
        self._lock = threading.Lock()

    @property
    def is_stopping(self) -> bool:
        """Whether the process starts no more calls."""
        return self._is_stopping

    def start(self) -> None:
        """Begin to beat, to reap, and to offer the tools."""
        self._keeper.start()
        self._reaper.start()

    def shut_down_after(self, grace_seconds: float) -> None:
        """Give running calls so long to finish; those that have not by then go back to the others."""
        self._is_stopping = True
        timer = threading.Timer(grace_seconds, self._keeper.stop_all, ("the worker shut down before the tool ended",))
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """End everything that runs here."""
        self._reaper.close()
        self._keeper.close()
        self._reporter.close()
        self._runner.close()

    def run(self, call_id: str, tool_names: Sequence[str]) -> Finished | None:
        """Run the call if it is ours to run; ``None`` when there is nothing to store.

        ``tool_names`` are those the call's tool may have in a registry, the likeliest first.
        """
        self._taken = asked = time.monotonic()
        tool = next((tool for name in tool_names if (tool := self._registry.get(name)) is not None), None)
        policy = tool.policy if tool else _UNKNOWN_TOOL
        is_validation = tool is not None and tool.spec.tool_type == "validation"
        missing = () if tool else tool_names
        claim = self._driver.run(
            self._commands.claim(call_id, self.name, policy, is_validation=is_validation, missing=missing)
        )
        if isinstance(claim, ClaimRefusal):
            level = logging.INFO if self._is_news(call_id) else logging.DEBUG  # it may pass by here every second
            logger.log(level, "%s is not run here: %s", call_id, claim.value)
            return None
        lease = Lease(claim, asked)
        self._keeper.hold(lease)
        finished = None
        try:
            finished = self._finished(lease, self._attempt(lease, policy), policy)
            return finished
        finally:
            if finished is None:
                self._keeper.release(lease)

    def set_aside(self, message: str) -> None:
        """Keep a message that no task of ours is named in."""
        set_aside(self._driver.redis, self._commands.keys.rejected, message)

    def store(self, finished: Finished) -> None:
        """Write the outcome into the record. Raises ``BrokerUnavailable``; may be called again then."""
        claim, outcome = finished.lease.claim, finished.outcome
        reply = self._driver.run(
            self._commands.finish(
                finished.lease.tool_call_id,
                claim.fence,
                outcome.status,
                outcome.error_category or "",
                finished.fragment,
                dead=finished.is_dead,
            )
        )
        if reply is not FinishReply.OK:
            logger.warning("the outcome of %s came too late: %s", finished.lease.tool_call_id, reply.value)

    def release(self, finished: Finished) -> None:
        """Stop keeping the call alive: its outcome is stored, or never will be from here."""
        self._keeper.release(finished.lease)

    def _is_news(self, call_id: str) -> bool:
        with self._lock:
            if call_id in self._left:
                return False
            self._left[call_id] = None
            if len(self._left) > _LEFT_REMEMBERED:
                del self._left[next(iter(self._left))]
            return True

    def _attempt(self, lease: Lease, policy: ExecutionPolicy) -> Outcome:
        claim = lease.claim
        which = (lease.tool_call_id, one_line(claim.request.tool_name), claim.attempt)
        logger.info("%s: tool %s starts, attempt %d", *which)
        report = self._reporter.open(lease.tool_call_id, claim.fence)
        try:
            outcome = execute(
                claim.request,
                self._registry,
                runner=self._runner,
                attempt=claim.attempt,
                stop=lease.stop,
                sink=report,
                is_retried=lambda outcome: next_delay(policy, outcome, claim.attempt) is not None,
            )
            logger.info("%s: tool %s ended, attempt %d: %s", *which, _summary(outcome))
            return outcome
        finally:
            self._reporter.finish(report)

    def _finished(self, lease: Lease, outcome: Outcome, policy: ExecutionPolicy) -> Finished | None:
        if lease.is_lost:
            logger.warning("%s: the lease was lost, its outcome is dropped", lease.tool_call_id)
            return None
        claim = lease.claim
        if lease.stop.is_set and outcome.error_category is ErrorCategory.WORKER_LOST:
            self._driver.run(self._commands.give_back(lease.tool_call_id, claim.fence))
            return None
        delay = next_delay(policy, outcome, claim.attempt, random.random())  # noqa: S311 - jitter is no secret
        if delay is not None:
            self._driver.run(self._commands.retry(lease.tool_call_id, claim.fence, delay))
            return None
        outcome, fragment = self._within_limit(outcome)
        return Finished(lease, outcome, fragment, _is_dead(policy, outcome, claim))

    def _within_limit(self, outcome: Outcome) -> tuple[Outcome, str]:
        fragment = _fragment(outcome)
        limit = self._settings.max_output_bytes
        # The fragment is never shorter than the output in it; most need not be measured twice.
        if len(fragment) <= limit or (size := utf8_size(outcome.output)) <= limit:
            return outcome, fragment
        text = f"the output is {size} bytes of JSON, the limit is {limit} (TOOLRELAY_MAX_OUTPUT_BYTES); ask for less"
        logger.warning("an output is given up: %s", text)
        outcome = replace(
            outcome, success=False, output=None, error=text, error_category=ErrorCategory.RESOURCE, retryable=False
        )
        return outcome, _fragment(outcome)

    def _hung(self, count: int) -> None:
        if count >= self._settings.max_hung_tools:
            self._be_replaced(f"{counted(count, 'tool')} ran on past the time limit")

    def _be_replaced(self, why: str) -> None:
        self._unfit = why
        self._on_unfit(why)

    def _on_beat(self, beat: Beat) -> None:
        now = time.monotonic()
        is_idle = beat.queue_length == 0 or self._keeper.held >= self._settings.concurrency or self._is_stopping
        if is_idle:
            self._taken = now
        elif now - self._taken > self._settings.stall_limit.total_seconds():
            self._be_replaced("nothing was taken from a queue that is not empty")
        if not self._is_stopping and self._runner.hung >= self._settings.max_hung_tools:
            self._hung(self._runner.hung)  # the last of them may have been counted after its wait had ended
        if now - self._published > _PUBLISH_SECONDS:
            self._publish()
            self._published = now

    def _publish(self) -> None:
        entries = [CatalogueEntry(tool.spec, tool.policy) for tool in self._registry]
        at = self._driver.run(self._commands.time())
        self._driver.run_all(self._commands.publish_catalogue(entries, at))
        oldest = at - self._settings.catalogue_ttl.total_seconds()
        gone = [name for name, seen in self._driver.run(self._commands.tools_seen()).items() if seen < oldest]
        if gone:
            self._driver.run(self._commands.forget_tools(gone))

    def _state(self) -> str:
        """Give the heartbeat's content; docs/protocol.md describes it."""
        return json.dumps(
            {
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "running": self._keeper.held,
                "concurrency": self._settings.concurrency,
                "hung": self._runner.hung,
                "tools": [tool.name for tool in self._registry],
                "stopping": self._is_stopping,
                "unfit": self._unfit,
            }
        )


def _summary(outcome: Outcome) -> str:
    """Say for the log how an attempt ended; neither output nor error text."""
    duration = "not started" if outcome.duration_ms is None else f"{outcome.duration_ms} ms"
    return ", ".join(filter(None, (outcome.status.value, outcome.error_category, duration)))


def _fragment(outcome: Outcome) -> str:
    return outcome_fragment(
        success=outcome.success,
        output=outcome.output,
        error=outcome.error,
        error_category=outcome.error_category,
        retryable=outcome.retryable,
        retry_after_ms=outcome.retry_after_ms,
        is_validation=outcome.is_validation,
        validation_passed=outcome.validation_passed,
        repairs=outcome.repairs,
    )


def _is_dead(policy: ExecutionPolicy, outcome: Outcome, claim: Claim) -> bool:
    """Whether the call is given up after retries that did not help: an operator may want to see it, and replay it."""
    return outcome.status is CallStatus.ERROR and claim.attempt > 1 and claim.attempt >= policy.max_attempts
