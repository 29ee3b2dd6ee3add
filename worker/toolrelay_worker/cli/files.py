"""What commands read: a file or stdin, as text or as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

File = Annotated[str, typer.Argument(metavar="FILE|-", help="A file to read; - is stdin.")]


def read_text(name: str) -> str:
    """Read a file, or stdin for ``-``; raises ``BadParameter`` for what cannot be read as UTF-8."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise typer.BadParameter(f"{name!r} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise typer.BadParameter(f"{name!r} is not UTF-8: byte {error.start}") from error


def read_json(name: str) -> Any:
    """Read a file's JSON, or a list of JSON lines; raises ``BadParameter`` for what is neither."""
    text = read_text(name)
    if not text.strip():
        raise typer.BadParameter(f"{name!r} is empty")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = _json_lines(text)
        if lines is None:
            raise typer.BadParameter(f"{name!r} is not valid JSON: {error}") from error
        return lines


def _json_lines(text: str) -> list[Any] | None:
    try:
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        return None
