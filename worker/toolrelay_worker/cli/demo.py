"""``toolrelay demo``: see it work before anything is set up."""

from __future__ import annotations

from toolrelay_worker.cli.exits import ExitCode, leave
from toolrelay_worker.cli.output import console, note
from toolrelay_worker.demo.run import DemoError, run


def demo() -> None:
    """Run messages of six providers on two workers and a private server.

    Needs nothing and leaves nothing behind. Exits with 1 when anything came out otherwise than it has to.
    """
    try:
        faults = run(console())
    except DemoError as error:
        faults = [str(error)]
    for fault in faults:
        note(fault)
    leave(ExitCode.FAILED if faults else ExitCode.OK)
