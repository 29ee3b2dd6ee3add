"""Writes ``docs/disagreements.md`` from the tables: ``python -m tests.oracles.page``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tests.oracles.disagreements import EXPECTED, Judged
from tests.oracles.schema_disagreements import SCHEMAS
from tests.oracles.translation_disagreements import CHOICES, DEFINITIONS, RESULTS

PAGE: Final = Path(__file__).parents[2] / "docs" / "disagreements.md"


def page() -> str:
    """Write the document."""
    tables = ((_SCHEMAS, SCHEMAS), (_DEFINITIONS, DEFINITIONS), (_CHOICES, CHOICES), (_RESULTS, RESULTS))
    lines = [_HEAD, *_reading()]
    for head, table in tables:
        lines += [head, *_rows(table)]
    return "\n".join(lines) + "\n"


def _reading() -> Iterator[str]:
    for rule, found in EXPECTED.items():
        for one in found:
            yield _row(_cell(one.payload), one.library, _cell(one.theirs), _cell(one.ours), rule)


def _rows(table: Mapping[str, tuple[Judged, ...]]) -> Iterator[str]:
    for rule, rows in table.items():
        for row in rows:
            theirs = "; ".join(f"{libraries} {_cell(said)}" for libraries, said in row.theirs.items())
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

_DEFINITIONS: Final = """
## Definitions

Names, flags, free text and tools without parameters; the cases are in `tests/oracles/definitions.py`.

| input | way | theirs | ours | the rule that decides |
| --- | --- | --- | --- | --- |"""

_CHOICES: Final = """
## Choices

Of the tools a, b and c, by the whole request: what the model may call then. The cases are in
`tests/oracles/choices.py`.

| input | way | theirs | ours | the rule that decides |
| --- | --- | --- | --- | --- |"""

_RESULTS: Final = """
## Results and ids

What the model is told, and under which ids; text that is JSON counts as what it says. The cases are in
`tests/oracles/results.py`.

| input | way | theirs | ours | the rule that decides |
| --- | --- | --- | --- | --- |"""


if __name__ == "__main__":
    PAGE.write_text(page())
