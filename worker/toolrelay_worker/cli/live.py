"""Calls while they run: a table that changes on a terminal, a line an update anywhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from toolrelay.errors import ErrorCategory, ResultTimeout
from toolrelay.handles import CallHandle, Timeout, Turn
from toolrelay.models import CallStatus, NormalizedToolResult, Progress, StatusUpdate
from toolrelay.protocol.replies import Standing
from toolrelay.session import open_session
from toolrelay.settings import Settings
from toolrelay_worker.cli.output import row, shown, table

_COLORS: Final = {
    CallStatus.PENDING: "dim",
    CallStatus.RUNNING: "cyan",
    CallStatus.COMPLETE: "green",
    CallStatus.ERROR: "red",
    CallStatus.CANCELLED: "magenta",
}
_BAR: Final = 8


@dataclass(slots=True)
class _Row:
    group: str
    tool: str
    status: CallStatus | None = None
    said: str = ""
    worker: str = ""
    attempt: int = 0
    started: float | None = None
    seconds: float | None = None
    is_bad: bool = False


class Board:
    """The calls that are followed, and what is known of them."""

    def __init__(self, settings: Settings, *, group: str | None = None) -> None:
        """``group`` heads the first column, where calls belong to something; else it shows their ids."""
        self._session = open_session(settings)
        self._group = group
        self._rows: dict[str, _Row] = {}
        self._began = time.monotonic()

    def add(self, handle: CallHandle, group: str = "") -> None:
        """Follow a call."""
        self._rows[handle.id] = _Row(group, handle.request.tool_name if handle.request else "")

    def apply(self, update: StatusUpdate) -> None:
        """Take an update into the table."""
        line = self._rows[update.tool_call_id]
        line.status = update.status
        if update.result is not None:
            self._end(line, update.result)
        elif update.progress is not None or update.partial is not None:
            line.said = said(update)
        elif update.status is CallStatus.RUNNING:
            self._start(line, update.tool_call_id)
        else:
            line.said, line.started = said(update), None

    def line(self, update: StatusUpdate) -> str:
        """Give an update as a line, for where no table can be shown."""
        mine = self._rows[update.tool_call_id]
        first = mine.group if self._group else update.tool_call_id
        words = [f"{time.monotonic() - self._began:6.2f} s", first, mine.tool, describe(update)]
        if update.status is CallStatus.RUNNING and update.progress is None and update.partial is None:
            words.append(f"attempt {mine.attempt} on {mine.worker}")
        return "  ".join(word for word in words if word)

    def render(self) -> Table:
        """Give the table as it stands."""
        made = table(self._group or "id", "tool", "status", "attempt", "worker", "time", "", is_fitted=True)
        for call_id, line in self._rows.items():
            first = line.group if self._group else call_id
            row(made, first, line.tool, _status(line), line.attempt or "", line.worker, _time(line), line.said)
        return made

    def open_ids(self) -> list[str]:
        """Give the calls that have not ended."""
        return [name for name, line in self._rows.items() if line.status is None or not line.status.is_terminal]

    def _start(self, line: _Row, call_id: str) -> None:
        # An update does not say who runs the call.
        standing: Standing | None = self._session.driver.run(self._session.commands.standing(call_id))
        if standing is not None and standing.worker is not None:
            line.attempt, line.worker = standing.attempt, standing.worker
        line.started, line.said = time.monotonic(), ""

    def _end(self, line: _Row, result: NormalizedToolResult) -> None:
        line.attempt, line.worker = result.attempt, result.worker or ""
        line.started = None
        line.seconds = None if result.duration_ms is None else result.duration_ms / 1000
        line.is_bad = not result.success
        line.said = "" if result.success else failure(result)


def follow(board: Board, turn: Turn, console: Console, timeout: Timeout = None) -> None:
    """Show what happens until every call of ``turn`` has ended.

    Raises ``ResultTimeout`` that names the calls which are still open.
    """
    try:
        with _on(console, board) as show:
            for update in turn.updates(timeout):
                board.apply(update)
                show(update)
    except ResultTimeout:
        left = board.open_ids()
        raise ResultTimeout(f"still open when the time was up; go on with: toolrelay watch {' '.join(left)}") from None


@contextmanager
def _on(console: Console, board: Board) -> Iterator[Callable[[StatusUpdate], None]]:
    if not console.is_terminal:
        yield lambda update: console.print(board.line(update), soft_wrap=True)
        return
    with Live(get_renderable=board.render, console=console, refresh_per_second=8):
        yield lambda _: None


def describe(update: StatusUpdate) -> str:
    """Give what an update says, in words on one line."""
    words: Sequence[str] = [update.status.value, said(update)]
    if update.result is not None:
        words = [update.status.value, _outcome(update.result)]
        if words[1].startswith(words[0]):  # "cancelled before it was started"
            words = words[1:]
    if update.dropped:
        words = [*words, f"({update.dropped} updates before this one are not kept)"]
    return " ".join(word for word in words if word)


def said(update: StatusUpdate) -> str:
    """Give what an update says besides its status."""
    if update.progress is not None:
        return progress(update.progress)
    if update.partial is not None:
        return "gave output early"
    return f"({update.reason})" if update.reason else ""


def failure(result: NormalizedToolResult) -> str:
    """Give a failed call's category and error; a cancellation's error says what it is by itself."""
    is_plain = result.error_category is ErrorCategory.CANCELLED and (result.error or "").startswith("cancelled")
    has_category = result.error_category is not None and not is_plain
    return f"{result.error_category}: {result.error}" if has_category else str(result.error)


def progress(value: Progress) -> str:
    """Give a tool's progress as a bar, where it knows how much there is, and its words.

    >>> progress(Progress(current=3, total=12, message="March"))
    '▰▰▱▱▱▱▱▱ 3/12 March'
    """
    numbers = _number(value.current)
    if value.total:
        done = min(_BAR, max(0, int(_BAR * value.current / value.total)))
        numbers = f"{'▰' * done}{'▱' * (_BAR - done)} {numbers}/{_number(value.total)}"
    return shown(f"{numbers} {value.message or ''}", 80)


def _number(value: float) -> str:
    """Give whole numbers as they are, others with three digits that say something."""
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.0f}" if 100 <= abs(value) < 1e15 else f"{value:.3g}"


def _outcome(result: NormalizedToolResult) -> str:
    words = [] if result.success else [shown(failure(result), 220)]
    if result.duration_ms is not None:
        words.append(f"after {result.duration_ms / 1000:.2f} s")
    if result.worker is not None:
        words.append(f"attempt {result.attempt} on {result.worker}")
    return ", ".join(words)


def _status(line: _Row) -> Text:
    if line.status is None:
        return Text("")
    return Text(line.status.value, style="red" if line.is_bad else _COLORS[line.status])


def _time(line: _Row) -> str:
    seconds = line.seconds if line.started is None else time.monotonic() - line.started
    return "" if seconds is None else f"{seconds:.2f} s"
