"""What the scripts answer, as values. An expected outcome is an enum member, never an exception."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from toolrelay.models import (
    CallStatus,
    ExecutionPolicy,
    NormalizedToolRequest,
    NormalizedToolResult,
    StatusUpdate,
    ToolSpec,
)


class Submission(StrEnum):
    """What ENQUEUE found."""

    NEW = "new"
    DUPLICATE = "duplicate"
    """The same call is known: attach to it."""
    CONFLICT = "conflict"
    """The id is taken by a call with another tool or other arguments."""


class ClaimRefusal(StrEnum):
    """Why a worker is not to run the call whose message it took."""

    HELD = "held"
    """Another worker runs it."""
    FINISHED = "finished"
    EARLY = "early"
    """It waits for its next attempt; the reaper rings when it is due."""
    UNKNOWN = "unknown"
    ELSEWHERE = "elsewhere"
    """This worker does not have the tool, another one offers it: the call waits a moment for that one."""
    GIVEN_UP = "given_up"
    """It had no attempt left, and was ended by this very claim."""


class FinishReply(StrEnum):
    """What became of an attempt's outcome."""

    OK = "ok"
    ALREADY = "already"
    """The call has ended otherwise; the outcome is dropped."""
    FENCED = "fenced"
    """Another worker has the call; the outcome is dropped."""
    UNKNOWN = "unknown"


class CancelReply(StrEnum):
    """What became of a cancellation."""

    CANCELLED = "cancelled"
    REQUESTED = "requested"
    """The call runs; its worker has been asked to stop it."""
    FINISHED = "finished"
    """Too late."""
    UNKNOWN = "unknown"


class ReplayReply(StrEnum):
    """What became of an operator's replay."""

    OK = "ok"
    NOT_DEAD = "not_dead"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Claim:
    """A call that is this worker's to run."""

    request: NormalizedToolRequest
    fence: int
    """Names this ownership: every write about the call carries it."""
    attempt: int
    """Counted from 1."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A call as it stands, and what a subscriber has missed."""

    status: CallStatus
    seq: int
    updates: tuple[StatusUpdate, ...]
    """In order; the terminal one carries its result."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Who has a call and since when: what its updates do not say. Without arguments and output."""

    tool_call_id: str
    tool_name: str
    provider_format: str
    status: CallStatus
    seq: int
    """Of its last update."""
    attempt: int
    """The last one that was started; 0 before the first."""
    worker: str | None
    """Whose the last attempt is or was; ``None`` before the first."""
    queued_at: datetime
    started_at: datetime | None
    """Start of the last attempt."""


@dataclass(frozen=True, slots=True)
class Enqueued:
    """ENQUEUE's answer."""

    submission: Submission
    snapshot: Snapshot | None
    """Of a duplicate, or of a call that ended at once; ``None`` otherwise."""


@dataclass(frozen=True, slots=True)
class Beat:
    """BEAT's answer."""

    queue_length: int
    lost: tuple[str, ...]
    """Calls that are no longer this worker's: stop them and say nothing."""
    cancelled: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A tool as workers publish it."""

    spec: ToolSpec
    policy: ExecutionPolicy


def enqueued(reply: list[Any]) -> Enqueued:
    """Read ENQUEUE's reply."""
    submission = Submission(reply[0])
    if submission is Submission.CONFLICT or (submission is Submission.NEW and len(reply) == 4 and not reply[3]):
        return Enqueued(submission, None)
    return Enqueued(submission, snapshot(reply[1:]))


def claim(reply: list[Any]) -> Claim | ClaimRefusal:
    """Read CLAIM's reply."""
    if reply[0] != "run":
        return ClaimRefusal(reply[0])
    _, fence, attempt, head, rest = reply
    return Claim(
        NormalizedToolRequest.model_validate(json.loads("{" + head + "," + rest + "}")), int(fence), int(attempt)
    )


def beat(reply: list[Any]) -> Beat:
    """Read BEAT's reply."""
    told = list(zip(reply[1::2], reply[2::2], strict=True))
    return Beat(
        queue_length=int(reply[0]),
        lost=tuple(call for call, what in told if what == "lost"),
        cancelled=tuple(call for call, what in told if what == "cancel"),
    )


def update(text: str) -> StatusUpdate:
    """Read one update as it was published.

    ``json`` and not pydantic parses: a tool's output may hold lone surrogates, which pydantic's parser refuses.
    """
    return StatusUpdate.model_validate(json.loads(text))


def result(meta: str) -> NormalizedToolResult:
    """Read the value of Celery's result key."""
    value = json.loads(meta)
    return NormalizedToolResult.model_validate(value.get("toolrelay_result") or value["result"])


def snapshot(reply: list[Any]) -> Snapshot | None:
    """Read SNAPSHOT's reply; ``None`` when there is no such call."""
    if not reply:
        return None
    status, seq, meta = CallStatus(reply[0]), int(reply[1]), reply[2]
    updates = [update(text) for text in reply[3:]]
    if status.is_terminal:
        if not meta:  # the result's key expired a moment before the record's
            return None
        ended = {"result": result(meta)}
        updates = [u.model_copy(update=ended) if u.status.is_terminal and u.seq == seq else u for u in updates]
    return Snapshot(status, seq, tuple(updates))


#: Fields of the record that `standing` reads, in this order.
STANDING_FIELDS = ("status", "seq", "attempt", "owner", "queued", "started", "head")


def standing(tool_call_id: str, values: Sequence[str | None]) -> Standing | None:
    """Read ``STANDING_FIELDS`` of a record; ``None`` when there is no such call."""
    status, seq, attempt, owner, queued, started, head = values
    if status is None:
        return None
    call = json.loads(f"{{{head}}}")
    return Standing(
        tool_call_id=tool_call_id,
        tool_name=call["tool_name"],
        provider_format=call["provider_format"],
        status=CallStatus(status),
        seq=int(seq or 0),
        attempt=int(attempt or 0),
        worker=owner,
        queued_at=_moment(queued or "0"),
        started_at=_moment(started) if started else None,
    )


def _moment(ms: str) -> datetime:
    return datetime.fromtimestamp(int(ms) / 1000, UTC)
