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
    """Read a file's JSON; raises ``BadParameter`` for what is none."""
    try:
        return json.loads(read_text(name))
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{name!r} is not JSON: {error}") from error
