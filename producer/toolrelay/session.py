"""What one process has open for one deployment: drivers, reply channel, Celery app. Shared by all its producers.

Never shared with another process: a fork finds an empty table and opens its own.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, Final

from toolrelay.drivers import AsyncDriver, Driver
from toolrelay.protocol.commands import Commands
from toolrelay.protocol.replies import CatalogueEntry
from toolrelay.settings import Settings
from toolrelay.waiter import Waiter

if TYPE_CHECKING:
    from celery import Celery

    from toolrelay.celery_app import Doorbell

Catalogue = dict[str, CatalogueEntry]

_CATALOGUE_AGE_SECONDS: Final = 5.0
#: A tool that is not known may have been published just now; asking again is cheap, but not free.
_CATALOGUE_YOUNG_SECONDS: Final = 0.5

_sessions: dict[Settings, Session] = {}
_lock = threading.Lock()


class Session:
    """The open ends of one process. Get it from ``open_session``; it is thread-safe."""

    def __init__(self, settings: Settings, url: str) -> None:
        """Prepare everything; connections are made when first needed."""
        self.settings = settings
        self.url = url
        self.commands = Commands(settings)
        self.driver = Driver(url, settings.command_timeout)
        self.async_driver = AsyncDriver(url, settings.command_timeout)
        self.waiter = Waiter(url, self.commands, settings.command_timeout)
        self._catalogue: Catalogue = {}
        self._catalogue_read = float("-inf")

    @cached_property
    def celery(self) -> Celery:
        """The Celery app, for messages and for ``AsyncResult``. Who only looks at calls does not pay for Celery."""
        from toolrelay.celery_app import make_celery

        return make_celery(self.settings, self.url)

    @cached_property
    def doorbell(self) -> Doorbell:
        """Makes Celery messages."""
        from toolrelay.celery_app import Doorbell

        return Doorbell(self.celery)

    def catalogue(self, wanted: Collection[set[str]]) -> Catalogue:
        """Give the tools on offer, read again when old or when it has none of the names that one call may mean."""
        if self._is_stale(wanted):
            self._keep(self.driver.run(self.commands.catalogue()))
        return self._catalogue

    async def async_catalogue(self, wanted: Collection[set[str]]) -> Catalogue:
        """As ``catalogue``, from an event loop."""
        if self._is_stale(wanted):
            self._keep(await self.async_driver.run(self.commands.catalogue()))
        return self._catalogue

    def close(self) -> None:
        """Close the reply channel and the blocking connections."""
        self.waiter.close()
        self.driver.close()

    def _is_stale(self, wanted: Collection[set[str]]) -> bool:
        age = time.monotonic() - self._catalogue_read
        is_missing = any(names.isdisjoint(self._catalogue) for names in wanted)
        return age > _CATALOGUE_AGE_SECONDS or (age > _CATALOGUE_YOUNG_SECONDS and is_missing)

    def _keep(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._catalogue_read = time.monotonic()


def open_session(settings: Settings) -> Session:
    """Give this process's session for a deployment; the first asks for it, and for the embedded server where meant."""
    session = _sessions.get(settings)
    if session is not None:
        return session
    with _lock:
        if settings not in _sessions:
            _sessions[settings] = Session(settings, redis_url(settings))
        return _sessions[settings]


def connected_session(settings: Settings) -> Session:
    """As ``open_session``, with its reply channel open: another one where somebody closes it at the same moment.

    Raises ``BrokerUnavailable``.
    """
    while True:
        session = open_session(settings)
        if session.waiter.start():
            return session


async def connected_session_async(settings: Settings) -> Session:
    """As ``connected_session``; what takes time happens in a thread."""
    session = _sessions.get(settings)
    if session is not None and session.waiter.is_connected:
        return session
    return await asyncio.to_thread(connected_session, settings)


def close_session(settings: Settings) -> None:
    """Close a deployment's connections in this process, unless somebody still waits for a call."""
    with _lock:
        session = _sessions.get(settings)
        if session is None or session.waiter.is_awaited:
            return
        del _sessions[settings]
    session.close()


async def close_session_async(settings: Settings) -> None:
    """As ``close_session``, and the running loop's connections; opens nothing where nothing is open."""
    session = _sessions.get(settings)
    if session is not None:
        await session.async_driver.close()
        await asyncio.to_thread(close_session, settings)


def redis_url(settings: Settings) -> str:
    """Give the deployment's Redis: the one that was named, or this user's embedded server, started where need be."""
    if settings.url is not None:
        return settings.url
    from toolrelay.embedded import shared_server

    return shared_server()


def _forget_sessions() -> None:
    # The parent's sockets and threads are not ours: nothing is closed, only forgotten.
    global _lock
    _lock = threading.Lock()
    _sessions.clear()


def close_all() -> None:
    """Close every deployment's connections in this process, whoever waits; they are told."""
    for session in tuple(_sessions.values()):
        session.close()
    _sessions.clear()


atexit.register(close_all)
os.register_at_fork(after_in_child=_forget_sessions)
