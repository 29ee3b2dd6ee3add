"""pytest-celery's setup over a fleet of ours: ``--over local`` (processes, the default) or ``--over docker``.

pytest-celery is known to pytest under the name ``celery``, which ``-p no:celery`` switches off: it would also load the
old plugin inside Celery, and give every test of the project fixtures that start containers. What is needed of it is
imported here by name, and only the nodes are ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_celery import (
    CeleryBackendCluster,
    CeleryBrokerCluster,
    CeleryWorkerCluster,
    celery_backend_cluster_config,
    celery_broker_cluster_config,
    celery_setup,
    celery_setup_app,
    celery_setup_cls,
    celery_setup_config,
    celery_setup_name,
    celery_worker_cluster_config,
)

from tests.acceptance.containers import DockerHost, NoEngineError
from tests.acceptance.local import LocalHost
from tests.acceptance.nodes import Fleet, Host, running_fleet
from toolrelay.settings import Settings

__all__ = [
    "celery_backend_cluster_config",
    "celery_broker_cluster_config",
    "celery_setup",
    "celery_setup_app",
    "celery_setup_cls",
    "celery_setup_config",
    "celery_setup_name",
    "celery_worker_cluster_config",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--over",
        choices=("local", "docker"),
        default="local",
        help="run the acceptance tests' workers and Redis as processes or in containers (name tests/acceptance too)",
    )


@pytest.fixture(scope="session")
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    """Starts nodes where ``--over`` says."""
    # The default is named again: a run of all tests learns of the option after it has read its command line.
    if request.config.getoption("--over", "local") == "local":
        yield LocalHost()
        return
    try:
        docker = DockerHost()
    except NoEngineError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(str(error))
    with docker:
        yield docker


@pytest.fixture(scope="module")
def fleet(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two workers that the tests of a module share; a module that hurts them overrides this."""
    with running_fleet(host, tmp_path_factory.mktemp("fleet")) as fleet:
        yield fleet


@pytest.fixture
def settings(fleet: Fleet) -> Settings:
    return fleet.settings


@pytest.fixture
def celery_broker_cluster(fleet: Fleet) -> CeleryBrokerCluster:
    return CeleryBrokerCluster(fleet.broker)


@pytest.fixture
def celery_backend_cluster(fleet: Fleet) -> CeleryBackendCluster:
    return CeleryBackendCluster(fleet.backend)


@pytest.fixture
def celery_worker_cluster(fleet: Fleet) -> CeleryWorkerCluster:
    return CeleryWorkerCluster(*fleet.workers)


@pytest.fixture
def own_fleet(host: Host, tmp_path: Path) -> Iterator[Fleet]:
    """A fleet for one test."""
    with running_fleet(host, tmp_path) as fleet:
        yield fleet
