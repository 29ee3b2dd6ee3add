"""What a worker of an earlier release has: one tool, and not the others."""

from __future__ import annotations

from toolrelay_worker import tool


@tool("old/ping")
def ping() -> str:
    """Answer."""
    return "pong"
