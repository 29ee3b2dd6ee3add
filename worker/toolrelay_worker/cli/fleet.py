"""Commands about the fleet as a whole: ``tools``, ``dead``, ``replay``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from pydantic import TypeAdapter

from toolrelay.errors import NO_SUCH_CALL
from toolrelay.models import ToolSpec
from toolrelay.protocol.replies import CatalogueEntry, ReplayReply
from toolrelay.session import Session, open_session
from toolrelay.settings import Settings
from toolrelay_worker.cli.calls import look_up
from toolrelay_worker.cli.exits import ExitCode, leave
from toolrelay_worker.cli.options import AsJson, AtMost, CallIds, RedisUrl
from toolrelay_worker.cli.output import emit, note, row, show, shown, table

_SPEC: TypeAdapter[ToolSpec] = TypeAdapter(ToolSpec)


def tools(json_: AsJson = False, redis_url: RedisUrl = None) -> None:
    """List the tools that workers offer, or have offered within TOOLRELAY_CATALOGUE_TTL.

    A call of such a tool is accepted, and waits for a worker that has it.
    """
    session = open_session(Settings.load(redis_url=redis_url))
    entries = sorted(session.driver.run(session.commands.catalogue()).values(), key=lambda entry: entry.spec.name)
    if json_:
        for entry in entries:
            emit({**_SPEC.dump_python(entry.spec, mode="json"), "policy": entry.policy.model_dump(mode="json")})
    elif entries:
        _print_tools(entries)
    else:
        note("no worker has offered any tools; start one with: toolrelay worker --tools MODULE")


def dead(
    rejected: Annotated[
        bool, typer.Option("--rejected", help="Show foreign messages that were taken out of the queue instead.")
    ] = False,
    limit: AtMost = 100,
    json_: AsJson = False,
    redis_url: RedisUrl = None,
) -> None:
    """List dead letters, newest first.

    They are calls that were given up after retries or lost workers.
    """
    session = open_session(Settings.load(redis_url=redis_url))
    if rejected:
        _print_rejected(session.driver.run(session.commands.rejected(limit)), json_)
    else:
        _print_dead(session, limit, json_)


def replay(call_ids: CallIds, json_: AsJson = False, redis_url: RedisUrl = None) -> None:
    """Start dead letters anew, under the same ids, and calls that were refused because no worker had their tool.

    Exits with 1 for any other call.
    """
    session = open_session(Settings.load(redis_url=redis_url))
    replies = session.driver.run_all([session.commands.replay(call_id) for call_id in call_ids])
    for call_id, reply in zip(call_ids, replies, strict=True):
        if json_:
            emit({"tool_call_id": call_id, "reply": reply})
        else:
            typer.echo(f"{call_id}  {_REPLAYED[reply]}")
    if ReplayReply.UNKNOWN in replies:
        leave(ExitCode.UNKNOWN_CALL)
    leave(ExitCode.FAILED if ReplayReply.NOT_DEAD in replies else ExitCode.OK)


_REPLAYED = {
    ReplayReply.OK: "ok: waits for a worker",
    ReplayReply.NOT_DEAD: "not_dead: only a dead letter, or a call refused for want of its tool, can be replayed",
    ReplayReply.UNKNOWN: f"unknown: {NO_SUCH_CALL}",
}


def _print_tools(entries: list[CatalogueEntry]) -> None:
    made = table("tool", "type", "timeout", "attempts", "on lost", "description")
    for entry in entries:
        spec, policy = entry.spec, entry.policy
        seconds = f"{policy.timeout.total_seconds():g} s"
        description = spec.description.strip().partition("\n")[0]
        row(made, spec.name, spec.tool_type, seconds, policy.max_attempts, policy.on_lost.value, description)
    show(made)


def _print_rejected(messages: list[str], json_: bool) -> None:
    for message in messages:
        if json_:
            emit({"message": message})
        else:
            typer.echo(shown(message, 200))


def _print_dead(session: Session, limit: int, json_: bool) -> None:
    call_ids: list[str] = session.driver.run(session.commands.dead(limit))
    found = look_up(session, call_ids)
    results = [call.last.result for call in found if call is not None and call.last.result is not None]
    if json_:
        for each in results:
            emit(each.model_dump(mode="json"))
        return
    made = table("id", "tool", "attempts", "given up", "category", "error")
    for each in results:
        at: Any = each.finished_at and f"{each.finished_at.astimezone():%Y-%m-%d %H:%M:%S}"
        row(
            made, each.tool_call_id, each.tool_name, each.attempt, at, each.error_category, shown(each.error or "", 200)
        )
    if results:
        show(made)
