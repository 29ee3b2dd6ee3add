"""The `toolrelay` command, as a shell runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.workers import ROOT, environment
from toolrelay.settings import Settings

PROGRAM = str(Path(sys.executable).with_name("toolrelay"))


class CommandLine:
    """Runs commands on one deployment."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.variables = environment(settings, folder)

    def run(self, *words: str, stdin: str = "", **variables: str) -> Ended:
        """Run a command to its end. A variable set to ``""`` is taken out of the environment."""
        ended = subprocess.run(
            [PROGRAM, *words],
            input=stdin,
            env=self._environment(variables),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return Ended(words, ended.returncode, ended.stdout, ended.stderr)

    def start(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """Start a command whose output is read while it runs."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [PROGRAM, *words],
            env=self._environment(variables),
            cwd=ROOT,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )

    def _environment(self, variables: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in {**self.variables, **variables}.items() if value}


class Ended:
    """How a command ended. Whatever it was, it showed no traceback."""

    def __init__(self, words: tuple[str, ...], code: int, stdout: str, stderr: str) -> None:
        self.code, self.stdout, self.stderr = code, stdout, stderr
        assert "Traceback" not in stdout + stderr, f"{words}:\n{stdout}\n{stderr}"

    @property
    def lines(self) -> list[Any]:
        """Every line of the answer, read as JSON."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def complaint(self) -> str:
        """The one line on stderr."""
        (line,) = self.stderr.splitlines()
        return line


def chat_message(*calls: tuple[str, dict[str, Any]]) -> str:
    """A Chat Completions message that asks for ``calls``."""
    return json.dumps(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": f"call_{place}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for place, (name, arguments) in enumerate(calls)
            ],
        }
    )
