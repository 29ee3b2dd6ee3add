"""Run the tool calls of LLM agents on a Celery fleet, exactly as promised, and hand back the next message."""

from toolrelay.errors import classify_error
from toolrelay.schemas import normalize_schema
from toolrelay.translate import detect_format, format_results, normalize_tool_call, read_calls

__all__ = [
    "classify_error",
    "detect_format",
    "format_results",
    "normalize_schema",
    "normalize_tool_call",
    "read_calls",
]
