"""Rescues calls that nobody works on: in every worker process, and safe when many do it, as each pass is one script."""

from __future__ import annotations

import logging
import random
import threading
from typing import Final

from redis.exceptions import RedisError

from toolrelay.drivers import Driver
from toolrelay.errors import BrokerUnavailable
from toolrelay.protocol.commands import Commands
from toolrelay_worker._logs import Seldom, one_line

logger = logging.getLogger(__name__)

_COMPLAINT_SECONDS: Final = 10.0


class Reaper:
    """Looks for lost calls on a thread of its own, every ``interval_seconds`` or so."""

    def __init__(self, driver: Driver, commands: Commands, interval_seconds: float) -> None:
        self._driver = driver
        self._commands = commands
        self._interval = interval_seconds
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="toolrelay-reaper", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._closed.set()

    def _run(self) -> None:
        trouble = Seldom(_COMPLAINT_SECONDS)
        # Jitter keeps many workers from asking at the same moment.
        while not self._closed.wait(self._interval * random.uniform(0.7, 1.3)):  # noqa: S311 - no secret
            try:
                rescued = self._driver.run(self._commands.reap())
            except (RedisError, BrokerUnavailable) as error:  # a refusal must not end the looking for good either
                if trouble.is_due():
                    logger.warning("cannot look for lost calls: %s", one_line(str(error)))
                continue
            trouble.forget()
            for call, what in rescued:
                logger.info("reaped %s: %s", call, what)
