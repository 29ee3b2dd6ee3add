"""How the command line ends: one table from exceptions to exit codes, so that scripts can rely on them."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

import typer
from redis.exceptions import RedisError

from toolrelay.errors import BrokerUnavailable, CallConflictError, ResultTimeout, ToolrelayError, UnknownCall


class ExitCode(IntEnum):
    """The same for every command; part of the contract."""

    OK = 0
    FAILED = 1
    """The command worked, its answer is bad news: a call did not succeed, a worker is not healthy."""
    USAGE = 2
    """The command line, its input or a setting is wrong."""
    UNKNOWN_CALL = 3
    STILL_OPEN = 4
    """The call had not ended when the time was up; it goes on."""
    UNAVAILABLE = 5
    """Redis cannot be reached, or refuses."""
    CONFLICT = 6
    """The id is taken by another call."""
    INTERRUPTED = 130
    """Ctrl-C."""


HELP: Final = (
    "Exit codes: 0 ok; 1 a call did not succeed, or something is not healthy; 2 wrong usage, input or setting; "
    "3 no such call; 4 still open when the time was up; 5 Redis cannot be reached; 6 the id is taken by another call; "
    "130 interrupted."
)

#: First match wins.
_CODES: Final[tuple[tuple[type[Exception], ExitCode, str], ...]] = (
    (UnknownCall, ExitCode.UNKNOWN_CALL, ""),
    (ResultTimeout, ExitCode.STILL_OPEN, ""),
    (CallConflictError, ExitCode.CONFLICT, ""),
    (BrokerUnavailable, ExitCode.UNAVAILABLE, "; see what toolrelay doctor says"),
    (RedisError, ExitCode.UNAVAILABLE, "; see what toolrelay doctor says"),
    (ToolrelayError, ExitCode.USAGE, ""),
)
#: What is told in one line; anything else is a bug, and shows its traceback.
EXPECTED: Final = tuple(kind for kind, _, _ in _CODES)


def code_of(error: Exception) -> ExitCode:
    """Give the exit code that an exception ends the command line with."""
    return next((code for kind, code, _ in _CODES if isinstance(error, kind)), ExitCode.FAILED)


def explain(error: Exception) -> str:
    """Give the one line that is written about an exception: what, and what to do."""
    advice = next((advice for kind, _, advice in _CODES if isinstance(error, kind)), "")
    said = " ".join(str(error).split())
    return (said.rstrip(".") + advice) if advice else said


def tell_usage(error: Any) -> int:
    """Write what is wrong with the command line, on one line; give the exit code. Without a command it is the help."""
    if error.message.startswith("Usage: "):  # asked for nothing at all
        error.show()
        return ExitCode.USAGE
    what = " ".join(error.format_message().split()).replace(": Value error, ", ": ").rstrip(".")
    command = "toolrelay" if error.ctx is None else error.ctx.command_path
    link = " See" if what.endswith("?") else "; see"
    typer.echo(f"toolrelay: {what}{link} {command} --help", err=True)
    return ExitCode.USAGE


def leave(code: int) -> None:
    """End the command with ``code``."""
    if code != ExitCode.OK:
        raise typer.Exit(code)
