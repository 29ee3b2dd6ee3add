"""Every word that the installed SDKs have for the end of a turn is known here, and the calls fare by it.

A word that is missing in ours is one that a provider has added: find out what it says about calls, and put it into the
tables of its format and of ``read_finish``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

import anthropic.types
import anthropic.types.beta
import botocore.loaders
import pytest
from google.genai import interactions, types
from mcp_types import StopReason
from openai.types.chat import chat_completion, chat_completion_chunk
from openai.types.responses import ResponseStatus

from tests.unit import test_turn_endings as messages
from toolrelay import read_calls
from toolrelay.proxy import FinishKind, read_finish

#: an end is not what these say
NO_ENDS = {"queued", "in_progress", "FINISH_REASON_UNSPECIFIED", "TURN_COMPLETE_REASON_UNSPECIFIED"}


def _words(annotation: Any) -> Iterator[str]:
    """Give the texts of a ``Literal``, wherever in a union it stands."""
    for inner in get_args(annotation):
        if isinstance(inner, str):
            yield inner
        else:
            yield from _words(inner)


def _bedrock() -> list[str]:
    model = botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    words: list[str] = model["shapes"]["StopReason"]["enum"]
    return words


def _sampled(reason: str) -> dict[str, Any]:
    return {"role": "assistant", "model": "m", "content": messages.BLOCKS, "stopReason": reason}


def _live(reason: str) -> dict[str, Any]:
    return {"serverContent": {"turnComplete": True, "turnCompleteReason": reason}}


def _blocked(reason: str) -> dict[str, Any]:
    return {"promptFeedback": {"blockReason": reason}}


CHAT = {
    *_words(chat_completion.Choice.model_fields["finish_reason"].annotation),
    *_words(chat_completion_chunk.Choice.model_fields["finish_reason"].annotation),
}
CLAUDE = {*get_args(anthropic.types.StopReason), *get_args(anthropic.types.beta.BetaStopReason)}
SOURCES: list[tuple[str, set[str], Callable[[str], dict[str, Any]]]] = [
    ("openai", CHAT, messages.chat),
    ("openai_responses", set(get_args(ResponseStatus)), messages.response),
    ("anthropic", CLAUDE, messages.anthropic),
    ("gemini", {one.value for one in types.FinishReason}, messages.gemini),
    ("gemini", {one.value for one in types.BlockedReason}, _blocked),
    ("gemini", {one.value for one in types.TurnCompleteReason}, _live),
    (
        "gemini_interactions",
        set(_words(interactions.Interaction.model_fields["status"].annotation)),
        messages.interaction,
    ),
    ("bedrock", set(_bedrock()), messages.bedrock),
    ("mcp", set(_words(StopReason)), _sampled),
    *(
        ("langchain", words, messages.langchain(key))
        for key, words in [
            ("finish_reason", CHAT | {one.value for one in types.FinishReason}),
            ("stop_reason", CLAUDE),
            ("stopReason", set(_bedrock())),
            ("status", set(get_args(ResponseStatus))),
        ]
    ),
]
CASES = [(name, write, word) for name, words, write in SOURCES for word in sorted(words)]

RUN = {FinishKind.TOOL_CALLS, FinishKind.STOP}


def test_the_sdks_still_list_their_words() -> None:
    assert all(len(words) > 3 for _, words, _ in SOURCES)


@pytest.mark.parametrize(("provider_format", "write", "word"), CASES, ids=[f"{case[0]}-{case[2]}" for case in CASES])
def test_the_end_of_a_turn_is_known_and_its_calls_fare_by_it(
    provider_format: str, write: Callable[[str], dict[str, Any]], word: str
) -> None:
    message = write(word)

    finish = read_finish(message, provider_format)
    calls = read_calls(message, provider_format)

    assert finish.reason == word
    assert (finish.kind is FinishKind.UNKNOWN) == (word in NO_ENDS)
    if finish.kind not in RUN and word not in NO_ENDS:
        assert not calls or calls[-1].problem is not None
    if finish.kind in {FinishKind.MALFORMED, FinishKind.ERROR, FinishKind.PAUSE}:
        assert all(call.problem is not None for call in calls)
