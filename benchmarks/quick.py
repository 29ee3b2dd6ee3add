"""Bare Celery and toolrelay in turn on the same embedded server: ``make bench-quick``, or with ``--json FILE``.

Celery does ``delay().get()``. toolrelay does its whole job: reads an OpenAI-shaped call with its arguments as text,
writes the record, rings, claims, runs, finishes, and hands over a result that says who, when and how often. Both have
one worker process with the same pool and as many threads, and one client process.

The machine drifts, so only a ratio within one round counts: a round runs both sides one after the other in each
setting, the next round in the other order, and what is reported is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from redis import Redis

from toolrelay.embedded import EmbeddedServer

ROOT = Path(__file__).parents[1]
SIDES = ("celery", "toolrelay")
APPS = {"celery": "benchmarks.bare", "toolrelay": "toolrelay_worker.app"}
SETTINGS = (32, 1)  # calls in flight
CONCURRENCY = 16
COUNTED_CALLS = 100
STARTED_WITHIN_SECONDS = 40
QUIET_WORKER = ("--loglevel", "WARNING", "--without-gossip", "--without-mingle", "--without-heartbeat")


@dataclass(frozen=True)
class Block:
    """What one side did in one setting in one round."""

    rate: float
    """Calls a second."""
    p50: float
    p99: float


@dataclass(frozen=True)
class Commands:
    """What one call costs Redis."""

    sent: float
    """Commands that clients sent."""
    inside: float
    """Commands that scripts ran."""
    executed: float
    """Both, by INFO commandstats."""
    round_trips: float
    """Times that Redis read from a connection; a pipeline or a transaction is read at once."""


class Client:
    """A client process of one side."""

    def __init__(self, side: str, environment: dict[str, str], log: IO[bytes]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.client", side],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )

    def run(self, **order: Any) -> Block:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a client ended; see the log")
        answer = json.loads(line)
        latencies = sorted(answer["latencies_ms"])
        p99 = latencies[min(len(latencies) - 1, int(len(latencies) * 0.99))]
        return Block(len(latencies) / answer["seconds"], statistics.median(latencies), p99)


def main() -> None:
    options = _options()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(EmbeddedServer())
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TOOLRELAY_")},
            "BENCH_REDIS_URL": server.url,
            "TOOLRELAY_REDIS_URL": server.url,
            "TOOLRELAY_TOOLS": "benchmarks.tools",
            # What stands beside this file is measured, wherever the package is installed from.
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "producer", ROOT / "worker"))),
        }
        log = stack.enter_context((folder / "log").open("wb"))
        try:
            clients = _start(stack, environment, log)
            report = _measure(clients, server.url, options)
        except BaseException:
            print((folder / "log").read_text(errors="replace")[-4000:], file=sys.stderr)
            raise
    print(_table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured")
    parser.add_argument("--rounds", type=int, default=20, help="how often both sides run in each setting")
    parser.add_argument("--seconds", type=float, default=0.7, help="how long a side runs in one setting of a round")
    return parser.parse_args()


def _start(stack: ExitStack, environment: dict[str, str], log: IO[bytes]) -> dict[str, Client]:
    for side in SIDES:
        stack.enter_context(_worker(APPS[side], environment, log))
    clients = {}
    for side in SIDES:
        clients[side] = client = Client(side, environment, log)
        stack.callback(_stop, client.process)
    for client in clients.values():
        client.run(in_flight=1, calls=1)  # waits for the worker
        for in_flight in SETTINGS:
            client.run(in_flight=in_flight, calls=in_flight * 10)
    return clients


@contextmanager
def _worker(app: str, environment: dict[str, str], log: IO[bytes]) -> Iterator[None]:
    command = [sys.executable, "-m", "celery", "-A", app, "worker", "--pool", "threads", "-c", str(CONCURRENCY)]
    process = subprocess.Popen([*command, *QUIET_WORKER], cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        yield
    finally:
        _stop(process)


def _stop(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _measure(clients: dict[str, Client], url: str, options: argparse.Namespace) -> dict[str, Any]:
    blocks: dict[tuple[str, int], list[Block]] = {(side, n): [] for side in SIDES for n in SETTINGS}
    for number in range(options.rounds):
        for in_flight in SETTINGS:
            for side in SIDES if number % 2 else SIDES[::-1]:
                block = clients[side].run(in_flight=in_flight, seconds=options.seconds)
                blocks[side, in_flight].append(block)
    commands = {side: _count(clients[side], url) for side in SIDES}
    return {
        "rounds": options.rounds,
        "settings": [_setting(n, {side: blocks[side, n] for side in SIDES}) for n in SETTINGS],
        "redis_a_call": {side: vars(counted) for side, counted in commands.items()},
    }


def _setting(in_flight: int, blocks: dict[str, list[Block]]) -> dict[str, Any]:
    pairs = list(zip(blocks["toolrelay"], blocks["celery"], strict=True))
    return {
        "in_flight": in_flight,
        **{side: _medians(blocks[side]) for side in SIDES},
        "ratio": {
            # Above 1 toolrelay is the faster one, in both.
            "rate": _ratio([ours.rate / theirs.rate for ours, theirs in pairs]),
            "p50": _ratio([theirs.p50 / ours.p50 for ours, theirs in pairs]),
            "p99": _ratio([theirs.p99 / ours.p99 for ours, theirs in pairs]),
        },
    }


def _medians(blocks: list[Block]) -> dict[str, float]:
    return {name: statistics.median(vars(block)[name] for block in blocks) for name in ("rate", "p50", "p99")}


def _ratio(ratios: list[float]) -> dict[str, float]:
    return {"median": statistics.median(ratios), "lowest": min(ratios), "highest": max(ratios)}


def _count(client: Client, url: str) -> Commands:
    """Count in a run of its own: MONITOR, which alone tells who sent a command, slows everything down."""
    with Redis.from_url(url, decode_responses=True) as redis, _Monitor(url) as monitor:
        redis.config_resetstat()
        client.run(in_flight=1, calls=COUNTED_CALLS)
        reads = redis.info("stats")["total_reads_processed"] - 1  # the question itself
        executed = sum(entry["calls"] for entry in redis.info("commandstats").values()) - 2
    inside = monitor.inside / COUNTED_CALLS
    executed /= COUNTED_CALLS
    return Commands(executed - inside, inside, executed, reads / COUNTED_CALLS)


class _Monitor:
    """Counts the commands that scripts run, while it is open."""

    def __init__(self, url: str) -> None:
        self.inside = 0
        self._redis = Redis.from_url(url, decode_responses=True)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def _listen(self) -> None:
        with self._redis.monitor() as monitor:
            self._ready.set()
            for command in monitor.listen():
                if command["command"] == "ECHO the end":
                    return
                self.inside += command["client_type"] == "lua"

    def __enter__(self) -> _Monitor:
        self._thread.start()
        self._ready.wait(STARTED_WITHIN_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._redis.echo("the end")
        self._thread.join(STARTED_WITHIN_SECONDS)
        self._redis.close()


def _table(report: dict[str, Any]) -> str:
    lines = [f"{'':24}{'calls/s':>10}{'p50 ms':>10}{'p99 ms':>10}"]
    for setting in report["settings"]:
        in_flight, ratio = f"{setting['in_flight']} in flight", setting["ratio"]
        lines.append("")
        for side in SIDES:
            numbers = setting[side]
            lines.append(
                f"{in_flight:14}{side:10}{numbers['rate']:>10.0f}{numbers['p50']:>10.2f}{numbers['p99']:>10.2f}"
            )
        medians = [ratio[name]["median"] for name in ("rate", "p50", "p99")]
        lines.append(f"{'':14}{'ratio':10}" + "".join(f"{median:>10.2f}" for median in medians))
        lines.append(f"{'':14}{'range':10}" + "".join(f"{_range(ratio[name]):>10}" for name in ("rate", "p50", "p99")))
    lines += ["", f"{'Redis, a call':24}{'sent':>10}{'in script':>10}{'executed':>10}{'trips':>10}"]
    for side in SIDES:
        numbers = report["redis_a_call"][side]
        names = ("sent", "inside", "executed", "round_trips")
        lines.append(f"{'':14}{side:10}" + "".join(f"{numbers[name]:>10.1f}" for name in names))
    lines += [
        "",
        f"Ratios are toolrelay's speed over Celery's, medians of {report['rounds']} rounds; above 1 toolrelay is",
    ]
    lines += ["the faster one. Numbers of one side move from run to run, ratios within a run do not."]
    return "\n".join(lines)


def _range(ratio: dict[str, float]) -> str:
    return f"{ratio['lowest']:.2f}-{ratio['highest']:.2f}"


if __name__ == "__main__":
    started = time.monotonic()
    main()
    print(f"{time.monotonic() - started:.0f} s in all")
