"""What runs tool calls: tools and their registry, execution in this process, and the worker of a fleet.

Importing this package imports no Celery; ``toolrelay_worker.app`` does. Names are imported when first asked for,
because a health check that runs every few seconds needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolrelay.models import ToolSpec
    from toolrelay_worker.context import PartialOutput, ToolContext
    from toolrelay_worker.execution import Outcome, execute
    from toolrelay_worker.registry import RegisteredTool, ToolOutcome, ToolRegistry, default_registry, tool
    from toolrelay_worker.retries import ToolRetry
    from toolrelay_worker.router import ToolCallRouter
    from toolrelay_worker.runners import StopSignal, ToolRunner

_MODULES = {
    "Outcome": "toolrelay_worker.execution",
    "PartialOutput": "toolrelay_worker.context",
    "RegisteredTool": "toolrelay_worker.registry",
    "StopSignal": "toolrelay_worker.runners",
    "ToolCallRouter": "toolrelay_worker.router",
    "ToolContext": "toolrelay_worker.context",
    "ToolOutcome": "toolrelay_worker.registry",
    "ToolRegistry": "toolrelay_worker.registry",
    "ToolRetry": "toolrelay_worker.retries",
    "ToolRunner": "toolrelay_worker.runners",
    "ToolSpec": "toolrelay.models",
    "default_registry": "toolrelay_worker.registry",
    "execute": "toolrelay_worker.execution",
    "tool": "toolrelay_worker.registry",
}

__all__ = [
    "Outcome",
    "PartialOutput",
    "RegisteredTool",
    "StopSignal",
    "ToolCallRouter",
    "ToolContext",
    "ToolOutcome",
    "ToolRegistry",
    "ToolRetry",
    "ToolRunner",
    "ToolSpec",
    "default_registry",
    "execute",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
