"""``toolrelay health``: whether a worker takes calls. For container checks, so it imports little and starts nothing."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Final, TypeAlias

import typer

from toolrelay.drivers import Driver
from toolrelay.errors import SettingsError
from toolrelay.protocol.commands import Commands
from toolrelay.settings import Settings
from toolrelay_worker.cli.exits import ExitCode, leave
from toolrelay_worker.cli.options import AsJson, RedisUrl

Heartbeat: TypeAlias = dict[str, Any]

#: Whoever asks for health has a time limit of its own, and is better served by a reason.
_TIMEOUT: Final = timedelta(seconds=3)


def health(
    any_host: Annotated[bool, typer.Option("--any", help="A worker on any machine will do.")] = False,
    json_: AsJson = False,
    redis_url: RedisUrl = None,
) -> None:
    """Say whether this machine's worker takes calls.

    Exits with 0 when one beats and takes calls, else with 1. Starts nothing.
    """
    settings = Settings.load(redis_url=redis_url)
    host = None if any_host else socket.gethostname()
    is_healthy, detail = judge(heartbeats(settings, _url(settings)), host)
    typer.echo(json.dumps({"healthy": is_healthy, "detail": detail}) if json_ else detail)
    leave(ExitCode.OK if is_healthy else ExitCode.FAILED)


def heartbeats(settings: Settings, url: str) -> dict[str, Heartbeat]:
    """Read the last heartbeat of each worker that beats, by its name."""
    commands = Commands(settings)
    driver = Driver(url, min(settings.command_timeout, _TIMEOUT))
    names = driver.run(commands.workers())
    states = driver.run(commands.worker_states(names)) if names else []
    driver.close()
    return {name: state for name, state in zip(names, states, strict=True) if state is not None}


def judge(beating: dict[str, Heartbeat], host: str | None) -> tuple[bool, str]:
    """Say whether one of the workers on ``host`` (``None``: anywhere) takes calls, and in words what was found."""
    where = f"on {host}" if host else "anywhere"
    mine = {name: state for name, state in beating.items() if host is None or state["host"] == host}
    if not mine:
        others = f"; {len(beating)} elsewhere" if beating else ""
        return False, f"no worker beats {where}{others}"
    troubles = {name: trouble for name, state in mine.items() if (trouble := trouble_of(state))}
    if len(troubles) == len(mine):
        return False, "; ".join(f"{name} {trouble}" for name, trouble in troubles.items())
    well: Sequence[str] = [name for name in mine if name not in troubles]
    return True, f"{', '.join(well)} takes calls"


def trouble_of(state: Heartbeat) -> str | None:
    """Say why the worker with this heartbeat takes no calls; ``None`` when it does."""
    if state["host"] == socket.gethostname() and not _lives(state["pid"]):
        return "was killed: its process is gone"
    if state.get("unfit"):
        return f"is to be replaced: {state['unfit']}"
    return "is shutting down" if state["stopping"] else None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's process
        return True
    return True


def _url(settings: Settings) -> str:
    if settings.url is not None:
        return settings.url
    from toolrelay.embedded import shared_address

    url = shared_address()
    if url is None:
        raise SettingsError("no Redis is named and no embedded server runs; set TOOLRELAY_REDIS_URL, or start a worker")
    return url
