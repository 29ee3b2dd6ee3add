"""What every scenario starts from: an empty registry, and a fleet where its tags ask for one.

``@services``: ``context.fleet`` is a fleet of two workers that all such scenarios share.
``@services @own_workers``: it is one of the scenario's own, without workers until a step starts some.
"""

from __future__ import annotations

import logging
import secrets
import signal
import sys
from pathlib import Path
from typing import Any

from toolrelay_worker import ToolRegistry

# Step files import ``features.support``, also where behave was not started as a module.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

LOG_TAIL_CHARACTERS = 2000


def before_all(context: Any) -> None:
    from features.services import Services  # only now can it be found

    # Tools that raise on purpose would fill the screen with their tracebacks.
    logging.getLogger("toolrelay_worker.execution").setLevel(logging.CRITICAL)
    # Told to end, behave ends as on Ctrl-C: workers and servers are stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    context.services = Services()


def before_scenario(context: Any, scenario: Any) -> None:
    context.registry = ToolRegistry()
    context.called = []  # the names of the tools that really ran, in order
    context.error = None  # what the last "… is tried" step raised
    if "services" in scenario.effective_tags:
        services = context.services
        context.fleet = services.own() if "own_workers" in scenario.effective_tags else services.shared()
        context.plan_id = f"plan-{secrets.token_hex(6)}"
        context.relay = context.fleet.agent(context.plan_id)
        context.handles = []  # of the agent's calls, in order


def after_scenario(context: Any, scenario: Any) -> None:
    if "services" not in scenario.effective_tags or "fleet" not in context:
        return
    if scenario.status.has_failed():
        for worker in context.fleet.workers.all:
            sys.stderr.write(f"\n{worker.log_file.name}, process {worker.pid}:\n{worker.log[-LOG_TAIL_CHARACTERS:]}\n")
    if "own_workers" in scenario.effective_tags:
        context.services.dismiss(context.fleet)
    else:
        context.fleet.dismiss_agents()


def after_all(context: Any) -> None:
    context.services.close()
