"""Choices, definitions and results, translated by everybody: to the same, or the disagreement says who is right."""

from __future__ import annotations

import pytest

from tests.oracles import choices, definitions, results
from tests.oracles.translations import Topic, Translator

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries that are compared

TOPICS = {"choices": choices.TOPIC, "definitions": definitions.TOPIC, "results": results.TOPIC}
COMPARED = [
    pytest.param(topic, translator, case, id=f"{name}-{translator.way}-{translator.library}-{case}")
    for name, topic in TOPICS.items()
    for translator, case in topic.compared()
]


@pytest.mark.parametrize(("topic", "translator", "case"), COMPARED)
def test_a_case_is_translated_as_others_translate_it_or_the_disagreement_is_known(
    topic: Topic, translator: Translator, case: str
) -> None:
    expected = {(one.payload, one.library): one for one in topic.differences()}

    found = topic.difference_of(translator, case)

    assert found == expected.get((f"{translator.way}: {case}", translator.library))


@pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS)
def test_every_known_disagreement_is_about_a_case_and_a_library_that_are_compared(topic: Topic) -> None:
    compared = {(f"{translator.way}: {case}", translator.library) for translator, case in topic.compared()}
    known = [(one.payload, one.library) for one in topic.differences()]

    assert set(known) <= compared
    assert len(set(known)) == len(known)
