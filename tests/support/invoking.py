"""The command line within the test's own process, for commands that start nothing and need no server."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from typer.testing import CliRunner

from toolrelay_worker import cli
from toolrelay_worker.cli import exits


class Ended(NamedTuple):
    code: int
    stdout: str
    stderr: str

    @property
    def answer(self) -> Any:
        return json.loads(self.stdout)


def run(words: str, stdin: Any = "") -> Ended:
    """Run a command as ``main`` does; what it does not expect is the test's failure."""
    text = stdin if isinstance(stdin, str) else json.dumps(stdin)
    ended = CliRunner().invoke(cli._typer_app(words.split()), words.split(), input=text)
    if isinstance(ended.exception, exits.EXPECTED):
        return Ended(exits.code_of(ended.exception), ended.stdout, exits.explain(ended.exception))
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise ended.exception
    return Ended(ended.exit_code, ended.stdout, ended.stderr)
