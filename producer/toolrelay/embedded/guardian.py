"""Keeps an embedded server from outliving its owner, however the owner ends. Started by file path.

A process of its own, because nothing inside the owner runs once it is killed, and the kernel's parent-death signal is
bound to the *thread* that forked. It must start fast and stay small: built-in modules only, no ``toolrelay``.

Arguments: the server's log; a lock file or ``""``; a directory or ``""``; the server's command line.
Standard output: the server's pid, one line. Standard input: the owner keeps the other end and writes ``t`` to have the
server terminated or ``k`` to have it killed. End of file means that the owner is gone: once nobody holds a lock on the
lock file any more, the server is terminated and the directory removed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from _thread import start_new_thread

GRACE_SECONDS = 5
"""From SIGTERM to SIGKILL; a server that only has to flush its append-only file needs milliseconds."""


def main(log: str, users: str, directory: str, *command: str) -> None:
    """Start the server, and return when it has ended."""
    server = _spawn(log, command)
    os.write(1, b"%d\n" % server)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(server, signal.SIGTERM))
    abandoned: list[bool] = []
    start_new_thread(_end_when_told, (server, users, abandoned))
    os.waitpid(server, 0)
    if abandoned and directory:
        import shutil  # costs a megabyte that is needed only now

        shutil.rmtree(directory, ignore_errors=True)


def _spawn(log: str, command: tuple[str, ...]) -> int:
    # The server inherits the lock on its data directory, and neither pipe.
    return os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsigmask=[],  # an owner's thread may have blocked SIGTERM
    )


def _end_when_told(server: int, users: str, abandoned: list[bool]) -> None:
    order = os.read(0, 1)
    if not order:
        if users:
            _wait_for_last(users)
        abandoned.append(True)
    if order != b"k":
        os.kill(server, signal.SIGTERM)
        time.sleep(GRACE_SECONDS)
    os.kill(server, signal.SIGKILL)  # not reached when SIGTERM was enough: the main thread has left with the process


def _wait_for_last(users: str) -> None:
    import fcntl  # needed by the shared server only

    # Never closed: whoever wants to attach now waits until this process, and with it the server, is gone.
    fcntl.flock(os.open(users, os.O_RDWR | os.O_CREAT, 0o600), fcntl.LOCK_EX)


if __name__ == "__main__":
    main(*sys.argv[1:])
