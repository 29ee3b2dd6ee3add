"""A client process of one side: reads orders from its input, one JSON object a line, and answers each with one.

``{"in_flight": 32, "seconds": 1.5}`` keeps so many calls in flight for so long; ``{"in_flight": 1, "calls": 100}``
makes so many. The answer has the seconds it took and the latency of every call in ms.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

VALUE = {"city": "Kyiv", "days": 3, "units": "c"}
TIMEOUT_SECONDS = 30

Call = Callable[[], None]


def bare_call() -> Call:
    """``delay()`` and ``get()``."""
    from benchmarks.bare import echo

    def call() -> None:
        value = echo.delay(VALUE).get(timeout=TIMEOUT_SECONDS)
        if value != VALUE:
            raise AssertionError(f"echo gave {value!r}")

    return call


def toolrelay_call() -> Call:
    """The whole way: what a model wrote, arguments as JSON text, to the result."""
    from toolrelay.producer import Producer

    relay = Producer(f"bench-{secrets.token_hex(8)}", redis_url=os.environ["BENCH_REDIS_URL"])
    text = json.dumps({"value": VALUE})
    numbers = itertools.count()

    def call() -> None:
        payload = {
            "id": f"call_{next(numbers):024d}",
            "type": "function",
            "function": {"name": "echo", "arguments": text},
        }
        result = relay.enqueue(payload).result(timeout=TIMEOUT_SECONDS)
        if result.output != VALUE:
            raise AssertionError(f"echo gave {result!r}")

    return call


SIDES = {"celery": bare_call, "toolrelay": toolrelay_call}


class Client:
    """Threads that stay, as in a server that answers requests."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._pools: dict[int, ThreadPoolExecutor] = {}

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        in_flight, calls = order["in_flight"], order.get("calls")
        pool = self._pools.setdefault(in_flight, ThreadPoolExecutor(in_flight))
        share: Iterator[int] = itertools.count() if calls is None else iter(range(calls))
        start = time.perf_counter()
        end = start + order.get("seconds", float("inf"))
        latencies = [one for done in pool.map(lambda _: self._work(share, end), range(in_flight)) for one in done]
        return {"seconds": time.perf_counter() - start, "latencies_ms": latencies}

    def _work(self, share: Iterator[int], end: float) -> list[float]:
        latencies = []
        for _ in share:
            before = time.perf_counter()
            if before >= end:
                break
            self._call()
            latencies.append((time.perf_counter() - before) * 1000)
        return latencies


def main(side: str) -> None:
    client = Client(SIDES[side]())
    for line in sys.stdin:
        print(json.dumps(client.obey(json.loads(line))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
