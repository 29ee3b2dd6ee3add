"""A network that fails on demand, between clients and one server.

What happens to a connection is decided for each of its two directions: bytes pass, are swallowed (the connection looks
alive and is not: half-open), or it is cut.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, Self
from urllib.parse import urlsplit, urlunsplit

Direction = Literal["to server", "to client"]
#: Sees the bytes that are about to pass; True cuts their connection instead.
Cut = Callable[[Direction, bytes], bool]

BOTH: tuple[Direction, Direction] = ("to server", "to client")


class _Connection:
    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server = client, server
        self.swallows: set[Direction] = set()

    def cut(self) -> None:
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Proxy:
    """Passes on what is sent to ``url``, at its own ``url``, until it is told otherwise."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "127.0.0.1", parts.port or 6379)
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()
        credentials = parts.netloc.rpartition("@")[0]
        self.url = urlunsplit(parts._replace(netloc=f"{credentials}{'@' if credentials else ''}{host}:{port}"))
        self._connections: list[_Connection] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._is_closed = False
        self.cut_when: Cut | None = None
        self._start(self._accept)

    @property
    def connections(self) -> int:
        """How many have been made so far."""
        with self._lock:
            return len(self._connections)

    def swallow(self, *directions: Direction) -> None:
        """Let the connections that there are look alive and pass nothing; later ones are well."""
        with self._lock:
            for connection in self._connections:
                connection.swallows.update(directions)

    def cut(self) -> None:
        """End the connections that there are; later ones are well."""
        with self._lock:
            for connection in self._connections:
                connection.cut()

    def close(self) -> None:
        self._is_closed = True
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, name="proxy", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target, 5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            connection = _Connection(client, server)
            with self._lock:
                self._connections.append(connection)
            self._start(self._pump, connection, "to server", client, server)
            self._start(self._pump, connection, "to client", server, client)

    def _pump(self, connection: _Connection, way: Direction, source: socket.socket, sink: socket.socket) -> None:
        with source, suppress(OSError):
            while data := source.recv(65536):
                if self.cut_when is not None and self.cut_when(way, data):
                    break
                if way not in connection.swallows:
                    sink.sendall(data)
        connection.cut()
