"""What the demo prints."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from toolrelay_worker.cli.output import as_json
from toolrelay_worker.demo.messages import Example

WORKER_TOOLS: Final = "toolrelay_worker.demo.tools"


def heading(console: Console, text: str) -> None:
    """Print a line that begins a part."""
    console.print()
    console.print(Text(text, style="bold"))


def next_messages(console: Console, example: Example, messages: Sequence[dict[str, Any]]) -> None:
    """Print what a provider's model must be told next."""
    heading(console, f"{example.provider}: what its model is told next")
    console.print(as_json(list(messages), indent=2), soft_wrap=True)


def what_next(console: Console) -> None:
    """Print commands that work as they stand, in the directory the demo was started in."""
    call = '{"name": "weather_forecast", "arguments": {"city": "Oslo"}}'
    heading(console, "What to type next: a worker that stays, and in another terminal a call of your own")
    for line in (
        f"{program()} worker --tools {WORKER_TOOLS}",
        f"echo '{call}' | {program()} submit -",
        f"{program()} doctor",
    ):
        console.print(f"  {line}", soft_wrap=True)
    console.print("  They meet on a server of yours that is started when needed; TOOLRELAY_REDIS_URL names another.")


def program() -> str:
    """Give the command that runs this program again from the same shell."""
    if shutil.which("toolrelay"):
        return "toolrelay"
    if Path(sys.argv[0]).name == "toolrelay":
        return shlex.quote(sys.argv[0])
    return f"{shlex.quote(sys.executable)} -m toolrelay_worker"
