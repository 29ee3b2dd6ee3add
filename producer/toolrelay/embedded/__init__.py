"""A private Valkey or Redis for people who have none: on the loopback interface only, on disk, never left behind.

`EmbeddedServer` belongs to one process. `shared_server` gives the processes of one user on one machine a server to meet
on without any configuration. Both end with whoever uses them, also when that is killed: a guardian process sees to it.
Linux and macOS.
"""

from toolrelay.embedded.server import (
    DataDirInUseError,
    EmbeddedServer,
    EmbeddedServerError,
    PortInUseError,
    ServerBinaryNotFoundError,
    find_binary,
)
from toolrelay.embedded.shared import shared_address, shared_server, state_dir

__all__ = [
    "DataDirInUseError",
    "EmbeddedServer",
    "EmbeddedServerError",
    "PortInUseError",
    "ServerBinaryNotFoundError",
    "find_binary",
    "shared_address",
    "shared_server",
    "state_dir",
]
