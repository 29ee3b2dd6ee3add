"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated, TypeVar

import typer

T = TypeVar("T")


def not_empty(given: T) -> T:
    """Refuse an empty id, or one in a list: a variable of the shell's that was not set, most likely."""
    if "" in (given if isinstance(given, list) else [given]):
        raise typer.BadParameter("it is empty")
    return given


RedisUrl = Annotated[
    str | None,
    typer.Option(
        "--redis-url",
        metavar="URL",
        help="The Redis to use; else TOOLRELAY_REDIS_URL, REDIS_URL, CELERY_BROKER_URL or this user's embedded server.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON: one object a line.")]
Seconds = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", min=0, help="Wait no longer than this in all.")
]
CallId = Annotated[str, typer.Argument(metavar="ID", help="A tool_call_id.", callback=not_empty)]
CallIds = Annotated[list[str], typer.Argument(metavar="ID…", help="One or more tool_call_ids.", callback=not_empty)]
AtMost = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Show the newest N only.")]
