"""``toolrelay explain``: how a message or a stream was read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.text import Text

from toolrelay.models import NormalizedToolRequest, ProviderFormat
from toolrelay.reading import Reading, read_payload
from toolrelay_worker.cli.exits import ExitCode, leave
from toolrelay_worker.cli.files import File, read_text
from toolrelay_worker.cli.options import AsJson
from toolrelay_worker.cli.output import as_json, console, emit, row, shown, table


def explain(
    file: File,
    source: Annotated[ProviderFormat | None, typer.Option("--from", help="The file's format; else detected.")] = None,
    arguments: Annotated[bool, typer.Option("--arguments", help="Show the arguments, not only their names.")] = False,
    json_: AsJson = False,
) -> None:
    """Show how a message or a stream is read.

    Format, calls, repairs, problems, what the provider runs itself, and how the turn ended. Exits with 1 when a call
    must not run, when the turn failed, and when a stream broke off before its end.
    """
    reading = read_payload(read_text(file), source)
    if json_:
        emit(_fields(reading, with_arguments=arguments))
    else:
        _print(reading, with_arguments=arguments)
    leave(ExitCode.OK if reading.is_sound else ExitCode.FAILED)


def _fields(reading: Reading, *, with_arguments: bool) -> dict[str, Any]:
    """Give the JSON; docs/cli.md describes it."""
    finish = reading.finish
    return {
        "provider_format": reading.provider_format,
        "is_detected": reading.is_detected,
        "form": reading.form,
        "calls": [_call_fields(call, with_arguments=with_arguments) for call in reading.calls],
        "answered_calls": [
            {"tool_name": call.tool_name, "provider_call_id": call.provider_call_id} for call in reading.answered
        ],
        "server_calls": [served._asdict() for served in reading.server_calls],
        "finish": {
            "kind": finish.kind,
            "reason": finish.reason,
            "problem": None if finish.problem is None else finish.problem.message,
            "is_retryable": finish.is_retryable,
        },
        "is_ended": reading.is_ended,
        "failure": reading.failure,
    }


def _call_fields(call: NormalizedToolRequest, *, with_arguments: bool) -> dict[str, Any]:
    given = {"tool_name", "provider_format", "provider_call_id", "kind", "repairs"}
    problem = call.problem and call.problem.model_dump(mode="json", exclude={"raw_arguments"})
    return {
        **call.model_dump(mode="json", include=given),
        "argument_names": list(call.arguments),
        "arguments": call.arguments if with_arguments else None,
        "raw_arguments": call.problem.raw_arguments if with_arguments and call.problem else None,
        "problem": problem,
    }


def _print(reading: Reading, *, with_arguments: bool) -> None:
    out = console()
    for line in _summary(reading):
        out.print(Text(shown(line)))
    if not reading.calls and not reading.server_calls:
        return
    made = table("", "tool", "id", "kind", "arguments", "verdict")
    for place, call in enumerate(reading.calls, 1):
        values = _arguments(call, with_arguments=with_arguments)
        row(made, place, call.tool_name, call.provider_call_id, call.kind.value, values, _verdict(call))
    for served in reading.server_calls:
        where = "not run by toolrelay: the provider runs it" + (f" on {served.server}" if served.server else "")
        row(made, "", served.name, served.call_id, served.kind, "", Text(where, style="dim"))
    out.print()
    out.print(made)


def _summary(reading: Reading) -> Iterator[str]:
    whose = "several formats" if reading.provider_format is None else reading.provider_format.value
    yield f"format: {whose} ({'detected' if reading.is_detected else 'given'}), {_FORMS[reading.form]}"
    bad = sum(call.problem is not None for call in reading.calls)
    done = len(reading.answered)
    answered = f"; {done} more {'is' if done == 1 else 'are'} answered already" if done else ""
    yield f"calls: {len(reading.calls)}" + (f", of which {bad} must not run" if bad else "") + answered
    if reading.likeness is not None:
        yield f"note: this is not a model's message; it looks like {reading.likeness}"
    finish = reading.finish
    word = "not said" if finish.reason is None else f"{finish.kind} ({finish.reason})"
    yield f"finish: {word}" + ("; the stream broke off before its end" if reading.is_ended is False else "")
    if finish.problem is not None:
        yield f"problem: {finish.problem.message}"
    if reading.failure is not None:
        yield f"failure: {reading.failure}"


_FORMS = {"message": "one message", "messages": "a list of messages", "stream": "a stream"}


def _arguments(call: NormalizedToolRequest, *, with_arguments: bool) -> str:
    if not with_arguments:
        return ", ".join(call.arguments) or "none"
    raw = None if call.problem is None else call.problem.raw_arguments
    return as_json(call.arguments) if raw is None else raw


def _verdict(call: NormalizedToolRequest) -> Text:
    made = [f"{repair.kind}{repair.path and f' at {repair.path}'}: {repair.detail}" for repair in call.repairs]
    repaired = [f"repaired: {', '.join(made)}"] if made else []
    if call.problem is None:
        return Text(shown("; ".join(repaired) or "ok"), style="yellow" if repaired else "green")
    refused = f"must not run: {call.problem.kind}: {call.problem.message}"
    return Text(shown("; ".join([*repaired, refused])), style="red")
