"""How a turn ended, read and written in any provider's words."""

from __future__ import annotations

from typing import NamedTuple

from toolrelay.formats import FORMATS
from toolrelay.formats.arguments.reading import problem_of
from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.finish import FinishKind, kind_of
from toolrelay.models import CallProblem, ProblemKind, ProviderFormat


class Finish(NamedTuple):
    """How a turn ended."""

    kind: FinishKind
    reason: str | None = None
    """The provider's word, unchanged: a limit is never told as a call."""
    problem: CallProblem | None = None
    """Why nothing of the turn may run; ``None`` where its calls decide for themselves."""
    is_retryable: bool = False
    """Whether asking the model again is worth it."""


def wire_reason(kind: FinishKind, provider_format: ProviderFormat) -> str | None:
    """Give the provider's word for this kind of end; ``None`` where it has none."""
    return next(iter(FORMATS[provider_format].FINISH_WORDS.get(kind, ())), None)


def finish_of(message: Wire, provider_format: ProviderFormat) -> Finish:
    """Read how the turn ended that a message, or an event of a stream, tells the end of."""
    found = FORMATS[provider_format].find_finish(message)
    if found is None:
        return Finish(FinishKind.UNKNOWN)
    reason = found.reason
    kind = found.kind or _kind(reason, provider_format)
    if kind is not FinishKind.MALFORMED:
        return Finish(kind, reason)
    what = f"the model failed to form a call ({provider_format}: {reason}); nothing was run. Ask it again"
    problem = problem_of(ProblemKind.INVALID_PAYLOAD, what)
    return Finish(kind, reason, problem, is_retryable=True)


def _kind(reason: str, provider_format: ProviderFormat) -> FinishKind:
    """Look among the format's own words first, then among everyone's: frameworks and gateways pass on what they hear.

    No word means one thing to one provider and another to the next.
    """
    bare = reason.partition(":")[0]  # "content_filter: PROHIBITED_CONTENT", as Gemini says it in OpenAI's form
    for known in (FORMATS[provider_format], *FORMATS.values()):
        kind = kind_of(bare, known.FINISH_WORDS)
        if kind is not None:
            return kind
    return FinishKind.UNKNOWN
