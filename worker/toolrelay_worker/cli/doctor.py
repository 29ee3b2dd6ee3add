"""``toolrelay doctor``: what is wrong with a deployment, and what to do about it. Changes nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from importlib import resources
from typing import Any, Final, Literal

from redis.exceptions import RedisError
from rich.text import Text

from toolrelay.errors import ToolrelayError
from toolrelay.protocol.commands import Command, script
from toolrelay.session import Session, open_session
from toolrelay.settings import URL_VARIABLES, Settings, unknown_variables
from toolrelay_worker._logs import counted, masked
from toolrelay_worker.cli.exits import ExitCode, explain, leave
from toolrelay_worker.cli.health import heartbeats, trouble_of
from toolrelay_worker.cli.options import AsJson, RedisUrl
from toolrelay_worker.cli.output import emit, row, show, table

State = Literal["ok", "warn", "fail"]

_COLORS: Final[dict[State, str]] = {"ok": "green", "warn": "yellow", "fail": "red"}
#: Lines are read, and pasted elsewhere: longer ones wrap.
_WIDTH: Final = 100
_TIMEOUT: Final = timedelta(seconds=3)
_OLDEST_REDIS: Final = (6, 2)
_OLDEST_VALKEY: Final = (7, 2)
_SHARED_BY_SCRIPTS: Final = {"clock", "prelude"}
_COUNTED_AT_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    check: str
    state: State
    detail: str
    advice: str | None = None
    """What to do; ``None`` where there is nothing to do."""


def doctor(json_: AsJson = False, redis_url: RedisUrl = None) -> None:
    """Check settings, Redis and the fleet, and say what to do. Exits with 1 when a check fails, not for a warning."""
    checks = []
    made = table("", "check", "found")
    for each in examine(redis_url):
        checks.append(each)
        if json_:
            emit(asdict(each))
        row(made, Text(each.state, style=_COLORS[each.state]), each.check, each.detail)
        if each.advice:
            row(made, "", "", f"→ {each.advice}")
    if not json_:
        show(made, _WIDTH)
    leave(ExitCode.FAILED if any(each.state == "fail" for each in checks) else ExitCode.OK)


def examine(redis_url: str | None) -> Iterator[Check]:
    """Give one check after the other; those that need Redis come only where it answers."""
    try:
        settings = Settings.load(redis_url=redis_url)
    except ToolrelayError as error:
        yield Check("settings", "fail", explain(error), "correct the variable")
        return
    yield _settings(settings, unknown_variables(os.environ))
    try:
        session = open_session(settings)
        yield Check("redis", "ok", f"{masked(session.url)} ({_source(redis_url)})")
        began = time.monotonic()
        session.driver.run(Command(("PING",), bool), _TIMEOUT)
    except (ToolrelayError, RedisError) as error:
        advice = "start Redis, or correct the URL; without one, an embedded server is used"
        yield Check("reachable", "fail", " ".join(str(error).split()), advice)
        return
    yield Check("reachable", "ok", f"answered in {(time.monotonic() - began) * 1000:.1f} ms")
    for name, look in _LOOKS.items():
        yield _safely(name, look, session)


def _settings(settings: Settings, unknown: dict[str, str | None]) -> Check:
    detail = f"namespace {settings.namespace}, queue {settings.queue}"
    if not unknown:
        return Check("settings", "ok", detail)
    advice = "; ".join(f"{name}: {f'{meant} is meant?' if meant else 'take it out'}" for name, meant in unknown.items())
    return Check("settings", "warn", f"{detail}; no settings: {', '.join(unknown)}", advice)


def _safely(name: str, look: Callable[[Session], Check], session: Session) -> Check:
    try:
        return look(session)
    except (ToolrelayError, RedisError) as error:
        return Check(
            name, "fail", " ".join(str(error).split()), "give this Redis user the right, or connect as another"
        )


def _version(session: Session) -> Check:
    info: Any = session.driver.redis.info("server")
    kind, oldest = ("Valkey", _OLDEST_VALKEY) if "valkey_version" in info else ("Redis", _OLDEST_REDIS)
    version = str(info.get("valkey_version") or info["redis_version"])
    if tuple(int(part) for part in version.split(".")[:2]) < oldest:
        return Check("version", "fail", f"{kind} {version}", "use Redis 6.2, Valkey 7.2, or newer")
    return Check("version", "ok", f"{kind} {version}")


def _persistence(session: Session) -> Check:
    info: Any = session.driver.redis.info("persistence")
    if not info["aof_enabled"]:
        return Check(
            "persistence",
            "warn",
            "appendonly is off",
            "set appendonly yes: without it, calls that were accepted are forgotten when Redis restarts",
        )
    if info["aof_last_write_status"] != "ok":
        return Check("persistence", "fail", "the append-only file cannot be written", "look at Redis's disk")
    return Check("persistence", "ok", "appendonly is on")


def _eviction(session: Session) -> Check:
    info: Any = session.driver.redis.info("memory")
    policy, limit = info["maxmemory_policy"], info["maxmemory"]
    detail = f"{policy}, " + (f"maxmemory {limit} bytes" if limit else "no maxmemory")
    if policy == "noeviction":
        return Check("eviction", "ok", detail)
    advice = "set maxmemory-policy noeviction: a full Redis must refuse new calls, not forget accepted ones"
    return Check("eviction", "fail" if limit else "warn", detail, advice)


def _scripts(session: Session) -> Check:
    files = (resources.files("toolrelay.protocol") / "scripts").iterdir()
    names = {file.name.removesuffix(".lua") for file in files if file.name.endswith(".lua")} - _SHARED_BY_SCRIPTS
    for name in names:
        session.driver.redis.script_load(script(name).text)
    return Check("scripts", "ok", f"{len(names)} load")


def _workers(session: Session) -> Check:
    beating = heartbeats(session.settings, session.url)
    if not beating:
        return Check("workers", "warn", "none", "calls will wait; start one with: toolrelay worker --tools MODULE")
    running = sum(state["running"] for state in beating.values())
    slots = sum(state["concurrency"] for state in beating.values())
    detail = f"{len(beating)}, running {counted(running, 'call')} of {slots} at most"
    troubles = [f"{name} {trouble}" for name, state in beating.items() if (trouble := trouble_of(state))]
    hung = [f"{name} has {counted(state['hung'], 'hung tool')}" for name, state in beating.items() if state["hung"]]
    if troubles or hung:
        return Check("workers", "warn", "; ".join([detail, *troubles, *hung]), "look at the logs of these workers")
    return Check("workers", "ok", detail)


def _queue(session: Session) -> Check:
    length = session.driver.run(session.commands.queue_length())
    if length and not session.driver.run(session.commands.workers()):
        return Check("queue", "fail", f"{_waiting(length)} and no worker runs", "start a worker")
    return Check("queue", "ok", _waiting(length))


def _waiting(count: int) -> str:
    return f"{counted(count, 'call')} {'waits' if count == 1 else 'wait'}"


def _catalogue(session: Session) -> Check:
    known = session.driver.run(session.commands.catalogue())
    if not known:
        return Check("catalogue", "warn", "empty: no worker has offered any tools", "start a worker")
    states = heartbeats(session.settings, session.url).values()
    missing = sorted(known.keys() - {name for state in states for name in state["tools"]})
    if states and missing:
        advice = "calls of these wait in vain; start a worker that has them, or wait until they are forgotten"
        return Check("catalogue", "warn", f"offered by no worker that runs: {', '.join(missing)}", advice)
    return Check("catalogue", "ok", counted(len(known), "tool"))


def _dead_letters(session: Session) -> Check:
    count = len(session.driver.run(session.commands.dead(_COUNTED_AT_MOST)))
    return _none_expected("dead letters", count, "toolrelay dead shows them, toolrelay replay starts them anew")


def _rejected(session: Session) -> Check:
    count = len(session.driver.run(session.commands.rejected(_COUNTED_AT_MOST)))
    advice = "somebody else uses this queue's name; toolrelay dead --rejected shows what was taken out of it"
    return _none_expected("rejected", count, advice)


def _none_expected(name: str, count: int, advice: str) -> Check:
    return Check(name, "warn", str(count), advice) if count else Check(name, "ok", "none")


_LOOKS: Final[dict[str, Callable[[Session], Check]]] = {
    "version": _version,
    "persistence": _persistence,
    "eviction": _eviction,
    "scripts": _scripts,
    "workers": _workers,
    "queue": _queue,
    "catalogue": _catalogue,
    "dead letters": _dead_letters,
    "rejected": _rejected,
}


def _source(redis_url: str | None) -> str:
    if redis_url is not None:
        return "--redis-url"
    return next((name for name in URL_VARIABLES if os.environ.get(name)), "this user's embedded server")
