"""Takes what running tools say to Redis, without ever making a tool wait.

Progress is coalesced: of what a call says within a tenth of a second, the last word counts. Partial output is never
dropped. One thread a process sends; before a call's result is stored, what it said is sent first.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from redis.exceptions import RedisError

from toolrelay.drivers import Driver
from toolrelay.errors import BrokerUnavailable
from toolrelay.models import Progress
from toolrelay.protocol.commands import Commands, fragment
from toolrelay_worker.context import PartialOutput

logger = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 0.1
#: Redis is gone, or refuses. Neither may end the sending thread, or cost a call the outcome that follows its updates.
_UNSENT: Final = (RedisError, BrokerUnavailable)


class CallReport:
    """What one attempt has said and Redis has not heard yet. It is the ``sink`` of the tool's context."""

    def __init__(self, reporter: Reporter, tool_call_id: str, fence: int) -> None:
        self.tool_call_id = tool_call_id
        self.fence = fence
        self._reporter = reporter
        self._lock = threading.Lock()
        self._partial: list[str] = []
        self._progress: Progress | None = None
        self._sending = threading.Lock()
        self._unsent: list[str] = []
        self._sent = 0
        self.due = 0.0

    def __call__(self, update: Progress | PartialOutput) -> None:
        """Take an update; never blocks on Redis."""
        with self._lock:
            if isinstance(update, PartialOutput):
                self._partial.append("," + fragment({"partial": update.output}))
            else:
                self._progress = update
        self._reporter.wake(self)

    def flush(self, driver: Driver, commands: Commands) -> None:
        """Send what has gathered; one sender at a time, so that the order holds.

        What could not be sent goes first the next time. It may have arrived all the same: its number tells.
        """
        with self._sending:
            self._unsent += self._take()
            self.due = time.monotonic() + _PAUSE_SECONDS
            if self._unsent:
                driver.run(commands.progress(self.tool_call_id, self.fence, self._sent, self._unsent))
                self._sent += len(self._unsent)
                self._unsent = []

    def _take(self) -> list[str]:
        with self._lock:
            fragments, self._partial = self._partial, []
            progress, self._progress = self._progress, None
        if progress is not None:
            fragments.append("," + fragment({"progress": progress.model_dump()}))
        return fragments


class Reporter:
    """The sending thread; it starts with the first tool that says something."""

    def __init__(self, driver: Driver, commands: Commands) -> None:
        self._driver = driver
        self._commands = commands
        self._changed = threading.Condition()
        self._waiting: dict[str, CallReport] = {}
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def open(self, tool_call_id: str, fence: int) -> CallReport:
        """Begin an attempt's report."""
        return CallReport(self, tool_call_id, fence)

    def finish(self, report: CallReport) -> None:
        """Send the rest. After this returns the result may be stored."""
        with self._changed:
            self._waiting.pop(report.tool_call_id, None)
        try:
            report.flush(self._driver, self._commands)
        except _UNSENT as error:
            logger.warning("updates of %s are lost: %s", report.tool_call_id, error)

    def wake(self, report: CallReport) -> None:
        """Note that a report has something to send."""
        with self._changed:
            self._waiting[report.tool_call_id] = report
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="toolrelay-reporter", daemon=True)
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _run(self) -> None:
        while (due := self._next()) is not None:
            for report in due:
                self._send(report)

    def _next(self) -> list[CallReport] | None:
        """Wait for reports whose pause is over; ``None`` at the end."""
        with self._changed:
            while not self._is_closed:
                now = time.monotonic()
                due = [report for report in self._waiting.values() if report.due <= now]
                if due:
                    for report in due:
                        del self._waiting[report.tool_call_id]
                    return due
                self._changed.wait(min((report.due - now for report in self._waiting.values()), default=None))
            return None

    def _send(self, report: CallReport) -> None:
        try:
            report.flush(self._driver, self._commands)
        except _UNSENT as error:
            logger.warning("updates of %s wait: %s", report.tool_call_id, error)
            self.wake(report)
