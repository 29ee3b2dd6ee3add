"""What every scenario starts from: an empty registry. No service is needed; features that need one bring it."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from toolrelay_worker import ToolRegistry

# Step files import ``features.support``, also where behave was not started as a module.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


def before_all(_context: Any) -> None:
    # Tools that raise on purpose would fill the screen with their tracebacks.
    logging.getLogger("toolrelay_worker.execution").setLevel(logging.CRITICAL)


def before_scenario(context: Any, _scenario: Any) -> None:
    context.registry = ToolRegistry()
    context.called = []  # the names of the tools that really ran, in order
    context.error = None  # what the last "… is tried" step raised
