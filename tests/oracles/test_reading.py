"""Every payload of the corpus, read by everybody: they agree, or the disagreement is known and says who is right."""

from __future__ import annotations

import pytest

from tests.oracles.differences import cases, difference_of
from tests.oracles.disagreements import all_expected
from tests.oracles.readers import READERS, Reader

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries that are compared

CASES = list(cases())
EXPECTED = {(one.payload, one.library): one for one in all_expected()}


@pytest.mark.parametrize(
    ("entry", "reader"), CASES, ids=[f"{entry['file']}-{reader.library}" for entry, reader in CASES]
)
def test_a_payload_is_read_as_others_read_it_or_the_disagreement_is_known(
    entry: dict[str, str], reader: Reader
) -> None:
    found = difference_of(entry, reader)

    assert found == EXPECTED.get((entry["file"], reader.library))


def test_every_known_disagreement_is_about_a_payload_and_a_library_that_are_compared() -> None:
    compared = {(entry["file"], reader.library) for entry, reader in CASES}

    assert EXPECTED.keys() <= compared
    assert len(EXPECTED) == len(all_expected())
    assert {reader.provider for reader in READERS} == {entry["provider"] for entry, _ in CASES}
