"""``toolrelay submit``: what an agent does, from the command line."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

import typer

from toolrelay.handles import Turn
from toolrelay.models import ProviderFormat
from toolrelay.producer import Producer
from toolrelay.reading import read_payload
from toolrelay.session import open_session
from toolrelay_worker.cli.exits import ExitCode, leave
from toolrelay_worker.cli.files import read_text
from toolrelay_worker.cli.live import Board, follow
from toolrelay_worker.cli.options import AsJson, RedisUrl, Seconds, not_empty
from toolrelay_worker.cli.output import NO_CALLS, as_json, console, emit, note
from toolrelay_worker.cli.takers import why_nobody_takes


def submit(
    message: Annotated[str, typer.Argument(metavar="FILE|-", help="The model's message, as JSON; - is stdin.")],
    plan_id: Annotated[
        str | None,
        typer.Option(
            metavar="PLAN",
            help="The plan of the calls: the same again attaches to the same calls.",
            callback=not_empty,
        ),
    ] = None,
    first_sequence: Annotated[int, typer.Option(metavar="N", min=0, help="Place of the first call in the plan.")] = 0,
    provider_format: Annotated[
        ProviderFormat | None, typer.Option("--format", help="The message's format; detected if left out.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the results.")] = True,
    timeout: Seconds = None,
    json_: AsJson = False,
    redis_url: RedisUrl = None,
) -> None:
    """Run a message's tool calls, print the next message.

    Takes what a model said, in any provider's format, and prints what that model must be told next. Exits with 1 when a
    call did not succeed; its message is printed all the same. Without --plan-id the calls belong to a new plan.
    """
    text = read_text(message)
    relay = Producer(plan_id or f"cli-{uuid.uuid4()}", redis_url=redis_url, first_sequence=first_sequence)
    turn = relay.submit(text, provider_format)
    if not turn:
        read_payload(text, provider_format).raise_for_stranger()
        note(NO_CALLS)
    if not wait:
        _print_calls(relay, turn, json_)
        return
    _follow(relay, turn, timeout)
    results = turn.results(timeout=0)
    messages = turn.messages(timeout=0)
    if json_:
        emit(_answer(relay, turn, results=[result.model_dump(mode="json") for result in results], messages=messages))
    else:
        typer.echo(as_json(messages, indent=2))
    leave(ExitCode.OK if all(result.success for result in results) else ExitCode.FAILED)


def _follow(relay: Producer, turn: Turn, timeout: float | None) -> None:
    board = Board(relay.settings)
    for handle in turn:
        board.add(handle)
    warning = why_nobody_takes(open_session(relay.settings), turn.requests)
    if warning is not None:
        note(warning)
    try:
        follow(board, turn, console(stderr=True), timeout)
    except KeyboardInterrupt:
        note(f"the calls go on; to look at them: toolrelay watch {' '.join(board.open_ids())}")
        raise


def _print_calls(relay: Producer, turn: Turn, json_: bool) -> None:
    if json_:
        emit(_answer(relay, turn, results=None, messages=None))
        return
    for handle in turn:
        typer.echo(handle.id)


def _answer(relay: Producer, turn: Turn, **outcome: Any) -> dict[str, Any]:
    fields = {"tool_call_id", "tool_name", "provider_format", "provider_call_id", "sequence"}
    calls = [request.model_dump(mode="json", include=fields) for request in turn.requests]
    return {"plan_id": relay.plan_id, "calls": calls, **outcome}
