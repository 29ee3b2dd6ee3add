"""One server for all processes of a user: whoever comes first starts it, and it goes with the last of them."""

from __future__ import annotations

import fcntl
import os
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from redis.exceptions import RedisError

from toolrelay.embedded._held import locked
from toolrelay.embedded.server import (
    HOST,
    DataDirInUseError,
    EmbeddedServer,
    EmbeddedServerError,
    PortInUseError,
    connect,
)


def state_dir() -> Path:
    """Where a user's shared server keeps its address and data: ``TOOLRELAY_HOME``, else the XDG state directory."""
    if home := os.environ.get("TOOLRELAY_HOME"):
        return Path(home).expanduser().absolute()
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser().absolute() / "toolrelay"


def shared_server(home: Path | None = None, *, timeout: timedelta = timedelta(seconds=15)) -> str:
    """The URL of the one server that all processes of this user with the same ``home`` (`state_dir`) share.

    It is started by whoever comes first and stopped when the last process that called this is gone. Its data and, if
    its port is still free, its address are there again for the next. Call again after losing the connection: a server
    that crashed is then started anew.

    The URL holds a password: other users of the machine can reach the port, but not use the server.
    """
    home = home or state_dir()
    deadline = time.monotonic() + timeout.total_seconds()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _attaching:
        mine = _attach(home, deadline)
        with _held(home / "start.lock", fcntl.LOCK_EX, deadline):
            url = _read_address(home)
            while url is None or not _answers(url, home / "data"):
                try:
                    url = _start_shared(mine, home, url, deadline)
                except DataDirInUseError as exc:  # it runs: too busy to answer, or still reading its data
                    if time.monotonic() >= deadline:
                        raise EmbeddedServerError(f"the server of {str(home)!r} runs, but does not answer") from exc
            return url


def shared_address(home: Path | None = None) -> str | None:
    """Where the shared server was last known to run; ``None`` where there has been none. Nothing is started."""
    return _read_address(home or state_dir())


def _attach(home: Path, deadline: float) -> _Attachment:
    # Before the server is looked at: from now on its guardian does not stop it.
    me = (os.getpid(), home)  # a forked child holds nothing of its parent's
    if me not in _attached:
        _attached[me] = _Attachment(_held(home / "users.lock", fcntl.LOCK_SH, deadline))
    return _attached[me]


def _start_shared(mine: _Attachment, home: Path, old_url: str | None, deadline: float) -> str:
    old = urlsplit(old_url or "")
    server = EmbeddedServer(
        home / "data",
        port=old.port,
        password=old.password or secrets.token_hex(16),
        start_timeout=timedelta(seconds=max(deadline - time.monotonic(), 0)),
        _users=home / "users.lock",
    )
    try:
        server.start()
    except PortInUseError:
        if old_url is None:
            raise
        return _start_shared(mine, home, None, deadline)
    if mine.server:
        mine.server.close()  # it has crashed; this lets go of its pipes
    mine.server = server
    _write_address(home, server.url)
    return server.url


def _read_address(home: Path) -> str | None:
    """``None`` when nothing usable is written there."""
    with suppress(FileNotFoundError, ValueError):
        url = (home / "address").read_text(encoding="utf-8").strip()
        if urlsplit(url).hostname == HOST and urlsplit(url).port:
            return url
    return None


def _write_address(home: Path, url: str) -> None:
    new = home / "address.new"
    new.touch(mode=0o600)
    new.write_text(url + "\n", encoding="utf-8")
    new.replace(home / "address")  # a reader sees the old or the new one, never half


def _answers(url: str, data_dir: Path) -> bool:
    # The port may have changed hands, and a server without passwords takes any: its directory proves that it is ours.
    with connect(url) as client, suppress(RedisError, OSError):
        return bool(client.ping()) and data_dir.samefile(client.config_get("dir")["dir"])
    return False


@dataclass
class _Attachment:
    """This process's part in a shared server."""

    users: IO[bytes]
    """Locked (shared) for as long as this process may use the server."""
    server: EmbeddedServer | None = None
    """Set in the process that started it."""


def _held(path: Path, kind: int, deadline: float) -> IO[bytes]:
    lock = locked(path, kind, deadline)
    if lock is None:
        raise EmbeddedServerError(f"another process holds {str(path)!r} and starts or stops the server there")
    return lock


def _renew_lock() -> None:
    global _attaching
    _attaching = threading.Lock()  # another thread of the parent may have held it when the child was forked


_attached: dict[tuple[int, Path], _Attachment] = {}
_attaching = threading.Lock()
os.register_at_fork(after_in_child=_renew_lock)
