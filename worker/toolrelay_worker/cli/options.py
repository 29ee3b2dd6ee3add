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
