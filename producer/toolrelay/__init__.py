"""Run the tool calls of LLM agents on a Celery fleet, exactly as promised, and hand back the next message.

``Producer`` hands a model's message over, ``Turn.messages`` gives the answer. ``read_calls`` and ``format_results``,
and all else that only translates, need no Redis; whoever uses nothing else does not pay for importing Celery.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolrelay.choices import ChoiceMode, ToolChoice
from toolrelay.errors import (
    BrokerUnavailable,
    CallConflictError,
    ErrorCategory,
    InvalidArgumentsError,
    InvalidCallError,
    InvalidPayloadError,
    InvalidResultsError,
    InvalidToolError,
    MissingNameError,
    RegistrationError,
    ResultTimeout,
    SchemaMismatchError,
    SettingsError,
    ToolChoiceError,
    ToolExportError,
    ToolLoadError,
    ToolrelayError,
    UndeclaredToolError,
    UnknownCall,
    UnknownProviderFormatError,
    classify_error,
)
from toolrelay.ids import tool_call_id
from toolrelay.models import (
    CallKind,
    CallProblem,
    CallStatus,
    ExecutionPolicy,
    NormalizedToolRequest,
    NormalizedToolResult,
    OnLost,
    ProblemKind,
    Progress,
    ProviderFormat,
    Repair,
    StatusUpdate,
    ToolSpec,
)
from toolrelay.names import NameMap
from toolrelay.schemas import Loss, normalize_schema
from toolrelay.streams import StreamAssembler
from toolrelay.translate import detect_format, format_results, normalize_tool_call, read_calls

if TYPE_CHECKING:
    from toolrelay.definitions import ExportedTools, convert_tools, export_tools, import_tools
    from toolrelay.handles import AsyncCallHandle, AsyncTurn, CallHandle, Turn
    from toolrelay.producer import AsyncProducer, Producer
    from toolrelay.protocol.replies import CancelReply
    from toolrelay.requests import (
        ToolRequest,
        build_request,
        export_tool_choice,
        import_request,
        import_tool_choice,
    )
    from toolrelay.settings import Settings
    from toolrelay.streaming import AsyncStreamingTurn, StreamingTurn

#: Names that not every program needs, or whose modules bring Celery or Redis along: imported when first asked for
#: (PEP 562).
_LAZY = {
    "AsyncCallHandle": "toolrelay.handles",
    "AsyncProducer": "toolrelay.producer",
    "AsyncStreamingTurn": "toolrelay.streaming",
    "AsyncTurn": "toolrelay.handles",
    "CallHandle": "toolrelay.handles",
    "CancelReply": "toolrelay.protocol.replies",
    "ExportedTools": "toolrelay.definitions",
    "Producer": "toolrelay.producer",
    "Settings": "toolrelay.settings",
    "ToolRequest": "toolrelay.requests",
    "StreamingTurn": "toolrelay.streaming",
    "Turn": "toolrelay.handles",
    "build_request": "toolrelay.requests",
    "convert_tools": "toolrelay.definitions",
    "export_tool_choice": "toolrelay.requests",
    "export_tools": "toolrelay.definitions",
    "import_request": "toolrelay.requests",
    "import_tool_choice": "toolrelay.requests",
    "import_tools": "toolrelay.definitions",
}

__all__ = [
    "AsyncCallHandle",
    "AsyncProducer",
    "AsyncStreamingTurn",
    "AsyncTurn",
    "BrokerUnavailable",
    "CallConflictError",
    "CallHandle",
    "CallKind",
    "CallProblem",
    "CallStatus",
    "CancelReply",
    "ChoiceMode",
    "ErrorCategory",
    "ExecutionPolicy",
    "ExportedTools",
    "InvalidArgumentsError",
    "InvalidCallError",
    "InvalidPayloadError",
    "InvalidResultsError",
    "InvalidToolError",
    "Loss",
    "MissingNameError",
    "NameMap",
    "NormalizedToolRequest",
    "NormalizedToolResult",
    "OnLost",
    "ProblemKind",
    "Producer",
    "Progress",
    "ProviderFormat",
    "RegistrationError",
    "Repair",
    "ResultTimeout",
    "SchemaMismatchError",
    "Settings",
    "SettingsError",
    "StatusUpdate",
    "StreamAssembler",
    "StreamingTurn",
    "ToolChoice",
    "ToolChoiceError",
    "ToolExportError",
    "ToolLoadError",
    "ToolRequest",
    "ToolSpec",
    "ToolrelayError",
    "Turn",
    "UndeclaredToolError",
    "UnknownCall",
    "UnknownProviderFormatError",
    "build_request",
    "classify_error",
    "convert_tools",
    "detect_format",
    "export_tool_choice",
    "export_tools",
    "format_results",
    "import_request",
    "import_tool_choice",
    "import_tools",
    "normalize_schema",
    "normalize_tool_call",
    "read_calls",
    "tool_call_id",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
