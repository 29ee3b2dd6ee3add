"""What tests share: one embedded server a run, a namespace a test, worker processes that do not outlive their test."""

from __future__ import annotations

import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings

from tests.support.workers import Workers
from toolrelay import session
from toolrelay.drivers import Driver
from toolrelay.embedded import EmbeddedServer
from toolrelay.producer import Producer
from toolrelay.session import close_session
from toolrelay.settings import Settings

# A job in the background ignores interrupts, and so would every process that a test starts and means to interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes is the machine's affair; speed is measured in benchmarks/.
hypothesis_settings.register_profile("toolrelay", deadline=None, suppress_health_check=[HealthCheck.too_slow])
hypothesis_settings.load_profile("toolrelay")

#: their tests start servers and worker processes, and wait for them most of the time
SERVICES = frozenset({"integration", "acceptance"})

#: gives the names of our threads that the test has started and that live
OwnThreads = Callable[[], list[str]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests that start services one after the other when a run is spread over processes (``make test``)."""
    for item in items:
        if SERVICES.intersection(item.path.relative_to(Path(__file__).parent).parts):
            item.add_marker(pytest.mark.xdist_group("services"))


@pytest.fixture(autouse=True)
def own_threads() -> Iterator[OwnThreads]:
    """Tell one test's threads from what others left; close its producers' connections after it."""
    before = set(threading.enumerate())

    def started() -> list[str]:
        return [one.name for one in threading.enumerate() if one not in before and one.name.startswith("toolrelay-")]

    yield started
    session.close_all()


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """The server most tests share. A test that hurts its server starts one of its own."""
    with EmbeddedServer() as server:
        yield server


@pytest.fixture
def settings(server: EmbeddedServer) -> Settings:
    """A deployment of the test's own, with a short lease."""
    return deployment(server.url)


@pytest.fixture
def driver(settings: Settings) -> Iterator[Driver]:
    """Runs commands on the test's deployment."""
    driver = Driver(str(settings.url), settings.command_timeout)
    yield driver
    driver.close()


@pytest.fixture
def relay(settings: Settings) -> Iterator[Producer]:
    """A producer with a plan of its own."""
    with Producer(f"plan-{secrets.token_hex(4)}", settings=settings) as relay:
        yield relay
    close_session(settings)


@pytest.fixture
def workers(settings: Settings, tmp_path: Path) -> Iterator[Workers]:
    """Starts worker processes of the test's deployment."""
    workers = Workers(settings, tmp_path)
    yield workers
    workers.close()


def deployment(url: str, **overrides: object) -> Settings:
    """Give settings for a namespace that nobody else uses."""
    short = {
        "lease": timedelta(seconds=2),
        "reap_interval": timedelta(seconds=0.3),
        "ring_grace": timedelta(seconds=1),
        "result_ttl": timedelta(minutes=5),
    }
    return Settings.load(redis_url=url, namespace=f"t{secrets.token_hex(4)}", **{**short, **overrides})
