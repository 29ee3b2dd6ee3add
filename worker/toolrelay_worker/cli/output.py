"""What is written where: answers on stdout, everything else on stderr, and nothing that a terminal would obey."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolrelay.outputs import as_base64

#: Lone surrogates, which no encoding takes, and what a terminal may obey. Inside JSON they stand in strings only.
_UNSAFE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
#: said of a message that a model ended without a call: nothing is wrong, and nothing is to be sent back
NO_CALLS: Final = "the message holds no tool calls"
_WIDTH_OF_A_PIPE: Final = 200


def as_json(value: object, indent: int | None = None) -> str:
    """Give JSON that any terminal and any pipe takes; the bytes in a message of Bedrock's become base64."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not is_utf8, indent=indent, default=as_base64)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def emit(value: object) -> None:
    """Print one JSON value on a line of its own, at once."""
    typer.echo(as_json(value))


def note(text: str) -> None:
    """Tell the user something that is not the command's answer."""
    typer.echo(f"toolrelay: {shown(text)}", err=True)


def shown(text: str, at_most: int = 1000) -> str:
    """Give text from elsewhere on one line and without control characters; cut where it is longer than ``at_most``."""
    line = "".join(sign if sign.isprintable() else " " for sign in " ".join(text.split()))
    return line if len(line) <= at_most else f"{line[: at_most - 1]}…"


def console(*, stderr: bool = False) -> Console:
    """Give a console; in a pipe it is wide, so that no id is cut."""
    made = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = _WIDTH_OF_A_PIPE
    return made


def table(*columns: str, is_fitted: bool = False) -> Table:
    """Give an empty table in the house's looks; ids in its first column stay whole.

    ``is_fitted`` cuts the last column so that each row is one line of the terminal.
    """
    made = Table(box=None, pad_edge=False, header_style="bold", expand=is_fitted)
    for place, column in enumerate(columns):
        if is_fitted and place == len(columns) - 1:
            made.add_column(column, no_wrap=True, overflow="ellipsis", ratio=1)
        else:
            made.add_column(column, no_wrap=is_fitted or place == 0)
    return made


def show(made: Table, width: int | None = None) -> None:
    """Print a table, no wider than ``width``; its lines end where their text ends."""
    out = console()
    width = out.width if width is None else min(width, out.width)
    for line in out.render_lines(made, out.options.update_width(width), pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        text = Text.assemble(*((segment.text, segment.style or "") for segment in line), end="")
        text.rstrip()
        out.print(text, soft_wrap=True)


def row(made: Table, *cells: Any) -> None:
    """Add a row; text from elsewhere is shown as it is, never as markup."""
    made.add_row(
        *(cell if isinstance(cell, Text) else Text(shown("" if cell is None else str(cell))) for cell in cells)
    )
