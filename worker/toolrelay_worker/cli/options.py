"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

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
CallId = Annotated[str, typer.Argument(metavar="ID", help="A tool_call_id.")]
CallIds = Annotated[list[str], typer.Argument(metavar="ID…", help="One or more tool_call_ids.")]
AtMost = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Show the newest N only.")]
