"""The tricky schemas, written by everybody: as well, or the difference is known and says who is right."""

from __future__ import annotations

import pytest

from tests.oracles.schema_converters import CONVERTERS, OURS, SchemaConverter
from tests.oracles.schema_disagreements import SCHEMAS
from tests.oracles.schema_verdicts import difference_of, flaws
from tests.unit.tricky_schemas import TRICKY

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries that are compared

LISTED = [one for rows in SCHEMAS.values() for row in rows for one in row.differences()]
EXPECTED = {(one.payload, one.library): one for one in LISTED}


@pytest.mark.parametrize("converter", CONVERTERS, ids=lambda converter: f"{converter.target}-{converter.library}")
@pytest.mark.parametrize("case", TRICKY)
def test_a_schema_is_written_as_well_as_others_write_it_or_the_difference_is_known(
    case: str, converter: SchemaConverter
) -> None:
    found = difference_of(case, converter)

    assert found == EXPECTED.get((f"{converter.target}: {case}", converter.library))


def test_every_known_difference_is_about_a_schema_and_a_library_that_are_compared() -> None:
    compared = {(f"{one.target}: {case}", one.library) for one in CONVERTERS for case in TRICKY}

    assert EXPECTED.keys() <= compared
    assert len(EXPECTED) == len(LISTED)


@pytest.mark.parametrize("target", OURS)
@pytest.mark.parametrize("case", TRICKY)
def test_nothing_that_toolrelay_writes_is_refused_or_forbids_what_was_valid(case: str, target: str) -> None:
    exported = OURS[target](TRICKY[case].schema)

    found = {kind for kind, _ in flaws(TRICKY[case], exported, target)}

    assert found <= {"takes more"}
    assert not found or exported.losses
