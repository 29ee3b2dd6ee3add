"""``toolrelay convert``: definitions, choices, calls and results of one provider, written for another."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import typer

from toolrelay.conversion import convert_calls, convert_choice, convert_results, renamed
from toolrelay.definitions import convert_tools
from toolrelay.models import NormalizedToolRequest, ProviderFormat
from toolrelay.reading import read_payload
from toolrelay.schemas import Loss
from toolrelay_worker.cli.exits import ExitCode, leave
from toolrelay_worker.cli.files import File, read_json, read_text
from toolrelay_worker.cli.output import NO_CALLS, as_json, note


class What(StrEnum):
    """What is to be converted."""

    TOOLS = "tools"
    CHOICE = "choice"
    CALLS = "calls"
    RESULTS = "results"


class _Answer(NamedTuple):
    value: Any
    notes: list[str]
    """What was lost, refused or repaired, a line each."""
    is_impossible: bool = False
    """Whether nothing is left of what there was."""


def convert(
    what: Annotated[What, typer.Argument(metavar="WHAT", help="tools, choice, calls or results.")],
    file: File,
    target: Annotated[ProviderFormat, typer.Option("--to", help="The format to write.")],
    source: Annotated[ProviderFormat | None, typer.Option("--from", help="The file's format; else detected.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Tools only: write all in the provider's strict mode.")
    ] = False,
) -> None:
    """Write a provider's tools, choice, calls or results as another provider takes them.

    Prints JSON; what is lost on the way goes to stderr, a line each. Exits with 0 when nothing is lost, with 1 when
    something is, with 2 when it cannot be done.
    """
    if strict and what is not What.TOOLS:
        raise typer.BadParameter("--strict is for tools")
    answer = _tools(file, target, source, strict) if what is What.TOOLS else _CONVERTERS[what](file, target, source)
    for line in answer.notes:
        note(line)
    if answer.is_impossible:
        leave(ExitCode.USAGE)
    typer.echo(as_json(answer.value, indent=2))
    leave(ExitCode.FAILED if answer.notes else ExitCode.OK)


def _tools(file: str, target: ProviderFormat, source: ProviderFormat | None, strict: bool) -> _Answer:
    done = convert_tools(read_json(file), target, source, strict=True if strict else None)
    notes = [*_told([*renamed(done.names), *done.losses]), *(f"refused: {refusal}" for refusal in done.refused)]
    return _Answer(done.tools, notes, is_impossible=bool(notes) and not done.tools)


def _choice(file: str, target: ProviderFormat, source: ProviderFormat | None) -> _Answer:
    done = convert_choice(read_json(file), target, source)
    return _Answer(done.value, _told(done.losses))


def _calls(file: str, target: ProviderFormat, source: ProviderFormat | None) -> _Answer:
    reading = read_payload(read_text(file), source)
    done = convert_calls(reading, target)
    faults = [fault for call in reading.calls for fault in _faults(call)]
    ends = [reading.failure, reading.finish.problem and reading.finish.problem.message]
    if reading.is_broken_off and reading.failure is None:
        ends.append("the stream broke off before its end: calls may be missing")
    notes = [*faults, *(f"problem: {end}" for end in ends if end), *_told(done.losses)]
    if not reading.calls and not notes:
        note(NO_CALLS)
    return _Answer(done.value, notes, is_impossible=bool(reading.calls) and not done.value)


def _results(file: str, target: ProviderFormat, source: ProviderFormat | None) -> _Answer:
    done = convert_results(read_json(file), target, source)
    return _Answer(done.value, _told(done.losses))


_CONVERTERS = {What.CHOICE: _choice, What.CALLS: _calls, What.RESULTS: _results}


def _told(losses: Iterable[Loss]) -> list[str]:
    return [f"lost: {_where(loss)}{loss.what}: {loss.why}" for loss in losses]


def _where(loss: Loss) -> str:
    words = [repr(loss.tool) if loss.tool else "", f"at {loss.pointer}" if loss.pointer else ""]
    place = " ".join(word for word in words if word)
    return f"{place}: " if place else ""


def _faults(call: NormalizedToolRequest) -> Iterable[str]:
    for repair in call.repairs:
        place = f" at {repair.path}" if repair.path else ""
        yield f"repaired: {call.tool_name!r}{place}: {repair.kind}: {repair.detail}"
    if call.problem is not None:
        yield f"problem: {call.tool_name!r}: {call.problem.message}"
