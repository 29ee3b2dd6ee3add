"""Commands about calls whose ids are known: ``status``, ``result``, ``watch``, ``cancel``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from toolrelay.errors import NO_SUCH_CALL, UnknownCall
from toolrelay.handles import CallHandle, Turn
from toolrelay.models import StatusUpdate
from toolrelay.protocol.replies import CancelReply, Standing
from toolrelay.session import Session, open_session
from toolrelay.settings import Settings
from toolrelay_worker.cli.exits import ExitCode, leave
from toolrelay_worker.cli.live import describe, failure, said
from toolrelay_worker.cli.options import AsJson, CallId, CallIds, RedisUrl, Seconds
from toolrelay_worker.cli.output import as_json, emit, note, row, show, shown, table

_STANDING: TypeAdapter[Standing] = TypeAdapter(Standing)


@dataclass(frozen=True, slots=True)
class Found:
    """A call as it stands."""

    standing: Standing
    last: StatusUpdate
    """Its last update; a terminal one carries the result."""


def status(call_ids: CallIds, json_: AsJson = False, redis_url: RedisUrl = None) -> None:
    """Say where calls stand now."""
    found = look_up(open_session(Settings.load(redis_url=redis_url)), call_ids)
    known = [call for call in found if call is not None]
    if json_:
        for call in known:
            emit(_fields(call))
    elif known:
        _print_table(known)
    _refuse_unknown([call_id for call_id, call in zip(call_ids, found, strict=True) if call is None])


def result(
    call_id: CallId,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the call has ended.")] = False,
    timeout: Seconds = None,
    json_: AsJson = False,
    redis_url: RedisUrl = None,
) -> None:
    """Print a call's output as JSON. Without --wait or --timeout, a call that has not ended exits with 4."""
    handle = CallHandle(Settings.load(redis_url=redis_url), call_id)
    ended = handle.result(0 if timeout is None and not wait else timeout)
    if json_:
        emit(ended.model_dump(mode="json"))
    elif ended.success:
        typer.echo(as_json(ended.output, indent=2))
    else:
        note(f"{call_id} did not succeed: {failure(ended)}")
    leave(ExitCode.OK if ended.success else ExitCode.FAILED)


def watch(call_ids: CallIds, timeout: Seconds = None, json_: AsJson = False, redis_url: RedisUrl = None) -> None:
    """Print updates of calls as they come.

    Those before now come first; ends when all calls have ended. Exits with 1 when one did not succeed.
    """
    settings = Settings.load(redis_url=redis_url)
    turn = Turn([CallHandle(settings, call_id) for call_id in dict.fromkeys(call_ids)], None)
    names = {} if json_ else _tool_names(open_session(settings), call_ids)
    is_good = True
    for update in turn.updates(timeout):
        if json_:
            emit(update.model_dump(mode="json"))
        else:
            at = f"{update.at.astimezone():%H:%M:%S.%f}"[:-3] if update.at else ""
            words = (at, update.tool_call_id, names.get(update.tool_call_id, ""), describe(update))
            typer.echo("  ".join(shown(word) for word in words))
        is_good = is_good and (update.result is None or update.result.success)
    leave(ExitCode.OK if is_good else ExitCode.FAILED)


def _tool_names(session: Session, call_ids: Sequence[str]) -> dict[str, str]:
    standings = session.driver.run_all([session.commands.standing(call_id) for call_id in call_ids])
    return {each.tool_call_id: each.tool_name for each in standings if each is not None}


def cancel(call_ids: CallIds, json_: AsJson = False, redis_url: RedisUrl = None) -> None:
    """End calls that wait or run.

    One that waits ends at once, the worker of one that runs is asked to stop it. Exits with 1 for one that has ended.
    """
    session = open_session(Settings.load(redis_url=redis_url))
    replies = session.driver.run_all([session.commands.cancel(call_id) for call_id in call_ids])
    for call_id, reply in zip(call_ids, replies, strict=True):
        if json_:
            emit({"tool_call_id": call_id, "reply": reply})
        else:
            typer.echo(f"{call_id}  {_CANCELLED[reply]}")
    if CancelReply.UNKNOWN in replies:
        leave(ExitCode.UNKNOWN_CALL)
    leave(ExitCode.FAILED if CancelReply.FINISHED in replies else ExitCode.OK)


_CANCELLED = {
    CancelReply.CANCELLED: "cancelled",
    CancelReply.REQUESTED: "requested: its worker is asked to stop it",
    CancelReply.FINISHED: "finished: too late, it has ended",
    CancelReply.UNKNOWN: f"unknown: {NO_SUCH_CALL}",
}


def look_up(session: Session, call_ids: Sequence[str]) -> list[Found | None]:
    """Read where calls stand, and their last updates, in two round trips; ``None`` for an id that is not known."""
    commands, run_all = session.commands, session.driver.run_all
    standings = run_all([commands.standing(call_id) for call_id in call_ids])
    known = [standing for standing in standings if standing is not None]
    snapshots = run_all([commands.snapshot(each.tool_call_id, max(0, each.seq - 1)) for each in known])
    found = {
        standing.tool_call_id: Found(standing, snapshot.updates[-1])
        for standing, snapshot in zip(known, snapshots, strict=True)
        if snapshot is not None and snapshot.updates
    }
    return [found.get(call_id) for call_id in call_ids]


def _fields(call: Found) -> dict[str, Any]:
    """Give the JSON of ``status``; docs/cli.md describes it."""
    last, ended = call.last, call.last.result
    return {
        **_STANDING.dump_python(call.standing, mode="json"),
        "status": last.status,
        "seq": last.seq,
        "progress": None if last.progress is None else last.progress.model_dump(mode="json"),
        "reason": last.reason,
        "success": None if ended is None else ended.success,
        "error_category": None if ended is None else ended.error_category,
        "duration_ms": None if ended is None else ended.duration_ms,
        "finished_at": None if ended is None else ended.model_dump(mode="json")["finished_at"],
    }


def _print_table(calls: Sequence[Found]) -> None:
    made = table("id", "tool", "status", "attempt", "worker", "")
    for call in calls:
        standing, ended = call.standing, call.last.result
        bad = "" if ended is None or ended.success else failure(ended)
        attempt = standing.attempt or ""
        row(
            made,
            standing.tool_call_id,
            standing.tool_name,
            call.last.status.value,
            attempt,
            standing.worker,
            bad or said(call.last),
        )
    show(made)


def _refuse_unknown(call_ids: Sequence[str]) -> None:
    if call_ids:
        raise UnknownCall.of(*call_ids)
