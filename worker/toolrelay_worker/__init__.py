"""What runs tool calls: tools and their registry, execution in this process, and the worker of a fleet.

Importing this package imports no Celery; ``toolrelay_worker.app`` does.
"""

from toolrelay.models import ToolSpec
from toolrelay_worker.context import PartialOutput, ToolContext
from toolrelay_worker.execution import Outcome, execute
from toolrelay_worker.registry import RegisteredTool, ToolOutcome, ToolRegistry, default_registry, tool
from toolrelay_worker.retries import ToolRetry
from toolrelay_worker.router import ToolCallRouter
from toolrelay_worker.runners import StopSignal, ToolRunner

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
