"""Writes ``docs/disagreements.md`` from the tables: ``python -m tests.oracles.page``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.oracles.disagreements import EXPECTED
from tests.oracles.schema_disagreements import SCHEMAS

PAGE: Final = Path(__file__).parents[2] / "docs" / "disagreements.md"


def page() -> str:
    """Write the document."""
    return "\n".join([_HEAD, *_reading(), _SCHEMAS, *_schemas()]) + "\n"


def _reading() -> Iterator[str]:
    for rule, found in EXPECTED.items():
        for one in found:
            yield _row(_cell(one.payload), one.library, _cell(one.theirs), _cell(one.ours), rule)


def _schemas() -> Iterator[str]:
    for rule, rows in SCHEMAS.items():
        for row in rows:
            theirs = "; ".join(f"{libraries} {_cell(flaws)}" for libraries, flaws in row.theirs.items())
            yield _row(row.case, row.target, theirs, _cell(row.ours), rule)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(text: str) -> str:
    text = text.replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


_HEAD: Final = """\
# Disagreements

What toolrelay reads and writes is held against the providers' SDKs with their accumulators and converters, langchain,
litellm and llm-rosetta, in the versions of `tests/oracles/requirements.txt`. What is not in these tables is the same.
`make oracles` proves it: it fails on a disagreement that is not here, and on one that is gone. The page is written by
`python -m tests.oracles.page`.

## Reading

The corpus in `tests/data/payloads`, read: names, arguments and ids. "A problem" is a call that is not run and goes back
to the model with the reason.

| input | library | theirs | ours | the rule that decides |
| --- | --- | --- | --- | --- |"""

_SCHEMAS: Final = """
## Schemas

The schemas in `tests/unit/tricky_schemas.py`, written for each target: the table says what is wrong with what comes
out. "Is refused" is by the provider's rules. "Cannot say" shows arguments that the schema took and the written one does
not. "Takes more" is harmless: the call is checked when it comes, and toolrelay reports it as a loss.

| input | target | theirs | ours | the rule that decides |
| --- | --- | --- | --- | --- |"""


if __name__ == "__main__":
    PAGE.write_text(page())
