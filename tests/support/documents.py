"""Code that stands in our documents."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def python_blocks(document: Path) -> list[str]:
    """Give the document's Python, one text a block."""
    return re.findall(r"^```python\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(document: Path, program: str) -> list[list[str]]:
    """Give the words of each command line, standing in a block of its own, that starts ``program``."""
    lines = re.findall(rf"^    ({re.escape(program)} .*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return [line.partition("#")[0].split() for line in lines]
