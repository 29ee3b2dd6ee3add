"""``toolrelay``: run workers, hand in messages, look after calls. docs/cli.md describes every command.

A command's module is imported only when that command is asked for: ``toolrelay health`` runs every few seconds on every
machine of a fleet.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Final

import typer
from typer.exceptions import TyperException

from toolrelay_worker.cli import exits

#: Every command and the module that has it; functions are named like their command. In the order of ``--help``.
COMMANDS: Final = {
    "demo": "demo",
    "worker": "worker",
    "submit": "submit",
    "status": "calls",
    "result": "calls",
    "watch": "calls",
    "cancel": "calls",
    "tools": "fleet",
    "dead": "fleet",
    "replay": "fleet",
    "convert": "convert",
    "explain": "explain",
    "doctor": "doctor",
    "health": "health",
}


def main() -> None:
    """Run the command line; every way out is a number of ``exits.ExitCode``."""
    try:
        sys.exit(_typer_app(sys.argv[1:])(standalone_mode=False))
    except TyperException as error:  # wrong usage
        sys.exit(exits.tell_usage(error))
    except exits.EXPECTED as error:
        sys.stderr.write(f"toolrelay: {exits.explain(error)}\n")
        sys.exit(exits.code_of(error))
    except (KeyboardInterrupt, typer.Abort):  # before the command had begun; from there on typer gives the same code
        sys.exit(exits.ExitCode.INTERRUPTED)


def _typer_app(arguments: list[str]) -> typer.Typer:
    app = typer.Typer(
        name="toolrelay",
        help=f"Run the tool calls of LLM agents on a Celery fleet.\n\n{exits.HELP}",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,  # they show the values of local variables, and with them arguments
        rich_markup_mode=None,
    )
    app.callback()(_options)
    wanted = [name for name in arguments[:1] if name in COMMANDS]
    for name in wanted or COMMANDS:
        module = import_module(f"{__name__}.{COMMANDS[name]}")
        app.command(name)(getattr(module, name))
    return app


def _show_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"toolrelay {version('toolrelay')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass
