"""Programs that use toolrelay, each a process of its own: ``python -m tests.acceptance.agent WHAT …``.

``enqueue PLAN NAME ARGUMENTS`` says the call's id. ``poll ID`` asks again and again, and says the result.
``subscribe ID`` says every update of the call, one JSON object a line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from tests.support.waiting import wait_until
from toolrelay.producer import Producer

TIMEOUT_SECONDS = 30


def enqueue(plan: str, name: str, arguments: str) -> Iterator[str]:
    with Producer(plan) as relay:
        yield relay.enqueue({"name": name, "arguments": arguments}).id


def poll(call_id: str) -> Iterator[str]:
    with Producer("reader") as relay:
        handle = relay.call(call_id)
        wait_until(lambda: handle.status().is_terminal, f"{call_id} to end", TIMEOUT_SECONDS)
        yield handle.result(timeout=1).model_dump_json()


def subscribe(call_id: str) -> Iterator[str]:
    with Producer("reader") as relay:
        for update in relay.call(call_id).updates(timeout=TIMEOUT_SECONDS):
            yield update.model_dump_json()


PROGRAMS: dict[str, Callable[..., Iterator[str]]] = {"enqueue": enqueue, "poll": poll, "subscribe": subscribe}

if __name__ == "__main__":
    for line in PROGRAMS[sys.argv[1]](*sys.argv[2:]):
        print(line, flush=True)  # noqa: T201 - what a program says
