"""What a process holds while it needs a server: locks and pipes, which the system lets go of however the process ends.

A forked child would inherit them and so keep a server alive for a parent that is gone; here it is made to close them.
"""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO

POLL_SECONDS = 0.01


def locked(path: Path, kind: int, deadline: float) -> IO[bytes] | None:
    """The file, locked until it is closed everywhere; ``None`` when somebody else still had it at the deadline."""
    file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b", buffering=0)
    close_in_child(file)
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return file
        if time.monotonic() >= deadline:
            file.close()
            return None
        time.sleep(POLL_SECONDS)


def close_in_child(file: IO[bytes]) -> None:
    """Close ``file`` in every child that is forked from now on."""
    _held.add(file)


def _close_all() -> None:
    for file in list(_held):
        file.close()


_held: weakref.WeakSet[IO[bytes]] = weakref.WeakSet()
os.register_at_fork(after_in_child=_close_all)
