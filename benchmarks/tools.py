"""The tool that toolrelay runs in benchmarks: the same function as ``bare.echo``."""

from __future__ import annotations

from typing import Any

from toolrelay_worker import tool


@tool("echo", read_only=True)
def echo(value: Any) -> Any:
    """Give back what was given."""
    return value
