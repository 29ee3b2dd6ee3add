"""The other side: Celery alone, set up as a careful user would who wants no call lost, and its defaults otherwise."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery

url = os.environ["BENCH_REDIS_URL"]
app = Celery("bare", broker=url, backend=url)
app.conf.update(
    task_acks_late=True,  # as toolrelay: a worker that dies must not take its calls along
    task_serializer="json",
    result_serializer="json",
    accept_content=["json"],
    broker_connection_retry_on_startup=True,  # the default, said aloud: Celery warns otherwise
)


@app.task(name="echo")  # type: ignore[untyped-decorator]  # Celery is untyped
def echo(value: Any) -> Any:
    return value
