"""How a worker's log speaks: one line each, nothing a terminal would obey, no secrets, nothing over and over."""

from __future__ import annotations

import logging
import time
import traceback
from typing import Final
from urllib.parse import urlsplit, urlunsplit

_LONGEST_LINE: Final = 1000


def one_line(text: str) -> str:
    r"""Give text from elsewhere on one line and without control characters; cut where it is very long.

    >>> one_line("no\nsuch \x1b[2Jfile")
    'no such  [2Jfile'
    """
    line = _plain(" ".join(text.split()))
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def counted(count: int, noun: str) -> str:
    """Give a number and what it counts.

    >>> counted(1, "tool"), counted(2, "hung tool")
    ('1 tool', '2 hung tools')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def masked(url: str) -> str:
    """Give a URL without its secrets.

    >>> masked("rediss://me:secret@example.org:6380/0?ssl_cert_reqs=none")
    'rediss://me:***@example.org:6380/0'
    """
    parts = urlsplit(url)
    login, at, address = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    return urlunsplit((parts.scheme, f"{user}{colon}{'***' if colon else ''}{at}{address}", parts.path, "", ""))


def plain_traceback(record: logging.LogRecord) -> bool:
    """Write a record's traceback without control characters; a filter that lets everything pass."""
    # Formatters take the text that is there; handlers that look at the exception itself still have it.
    if isinstance(record.exc_info, tuple) and record.exc_info[0] is not None:
        lines = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n").split("\n")
        record.exc_text = "\n".join(_plain(line) for line in lines)
    return True


class Seldom:
    """Whether it is time to say again what is true all the time: at first, then every ``seconds``."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._said = float("-inf")

    @property
    def is_first(self) -> bool:
        """Whether it has not been said yet."""
        return self._said == float("-inf")

    def is_due(self) -> bool:
        """Whether to say it now; counts as said then."""
        now = time.monotonic()
        if now - self._said < self._seconds:
            return False
        self._said = now
        return True

    def forget(self) -> None:
        """It is no longer true: the next time is a first one."""
        self._said = float("-inf")


def _plain(line: str) -> str:
    return "".join(sign if sign.isprintable() or sign == "\t" else " " for sign in line)
