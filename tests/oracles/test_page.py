from __future__ import annotations

from tests.oracles.page import PAGE, page


def test_the_document_says_what_the_tables_say() -> None:
    assert PAGE.read_text() == page(), "run python -m tests.oracles.page"
