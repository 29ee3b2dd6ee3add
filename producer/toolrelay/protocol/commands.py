"""Sans-IO: an intention becomes a command for Redis, its reply a value. Nothing here opens a connection.

Every command that touches a call is one Lua script, so it happens whole or not at all. All scripts begin with the same
four arguments (``scripts/prelude.lua``); those that follow stand in each script's head.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import cache
from importlib import resources
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from toolrelay.errors import ErrorCategory
from toolrelay.models import CallStatus, ExecutionPolicy, NormalizedToolRequest, Repair, ToolSpec
from toolrelay.protocol import replies
from toolrelay.protocol.keys import Keys
from toolrelay.protocol.replies import (
    Beat,
    CancelReply,
    CatalogueEntry,
    Claim,
    ClaimRefusal,
    Enqueued,
    FinishReply,
    ReplayReply,
    Snapshot,
    Standing,
)
from toolrelay.settings import Settings

T = TypeVar("T")

_SPEC: TypeAdapter[ToolSpec] = TypeAdapter(ToolSpec)
_SPEC_FIELDS = tuple(field.name for field in fields(ToolSpec))
_REAP_AT_MOST = 200


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script and the SHA-1 under which Redis keeps it."""

    name: str
    text: str
    sha: str

    @classmethod
    def of(cls, name: str, text: str) -> Script:
        """Give ``text`` its SHA-1."""
        return cls(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


@cache
def script(name: str) -> Script:
    """Load a script by its file's name, with what all scripts share in front."""
    folder = resources.files("toolrelay.protocol") / "scripts"
    parts = [(folder / f"{part}.lua").read_text(encoding="utf-8") for part in ("clock", "prelude", name)]
    return Script.of(name, "\n".join(parts))


@dataclass(frozen=True, slots=True)
class Command(Generic[T]):
    """One request to Redis and how to read its answer."""

    args: tuple[Any, ...]
    """A script's ``ARGV``, or a whole command when there is no script."""
    parse: Callable[[Any], T]
    script: Script | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The end of a call that is not to be queued at all."""

    status: CallStatus
    category: str
    outcome: str
    """JSON fragment of a ``NormalizedToolResult``, see ``outcome_fragment``."""


def fragment(fields: Mapping[str, Any]) -> str:
    """Give a JSON object's inside: scripts put results together from such fragments, because Lua's JSON is lossy."""
    return json.dumps(fields, separators=(",", ":"))[1:-1]


def utf8_size(value: Any) -> int:
    """Count a value's bytes as JSON in UTF-8: the ASCII that we store may be three times as long."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def _ms(duration: timedelta) -> int:
    return max(1, round(duration.total_seconds() * 1000))


def _count(reply: Any) -> int:
    return int(reply)


class Commands:
    """Builds every command of one deployment."""

    def __init__(self, settings: Settings) -> None:
        """Take names and durations from ``settings``."""
        self.keys = Keys.of(settings)
        self._settings = settings
        self._dead_ttl = _ms(settings.dead_letter_ttl)
        self._shared = (self.keys.prefix, self.keys.meta_prefix, _ms(settings.result_ttl), settings.queue)

    def _script(self, name: str, parse: Callable[[Any], T], *args: Any) -> Command[T]:
        return Command((*self._shared, *args), parse, script(name))

    def enqueue(
        self,
        request: NormalizedToolRequest,
        message: str,
        *,
        client: str = "",
        is_validation: bool = False,
        refusal: Refusal | None = None,
    ) -> Command[Enqueued]:
        """ENQUEUE: write the record and ring, or attach to the same call, or record a refusal.

        ``client`` hears of what follows on its reply channel. ``message`` is the Celery message as kombu would push it;
        a refusal that has one can be replayed.
        """
        end = (refusal.status.value, refusal.category, refusal.outcome) if refusal else ("", "", "")
        return self._script(
            "enqueue",
            replies.enqueued,
            request.tool_call_id,
            client,
            digest(request),
            head(request),
            rest(request),
            message,
            int(is_validation),
            *end,
        )

    def claim(
        self,
        tool_call_id: str,
        worker: str,
        policy: ExecutionPolicy,
        *,
        is_validation: bool = False,
        missing: Iterable[str] = (),
    ) -> Command[Claim | ClaimRefusal]:
        """CLAIM: own the call for one lease, or learn why not.

        ``missing`` names a tool that this worker does not have: it gets the call only when no other worker offers it.
        """
        return self._script(
            "claim",
            replies.claim,
            tool_call_id,
            worker,
            _ms(self._settings.lease),
            policy.max_attempts,
            policy.on_lost.value,
            int(is_validation),
            self._dead_ttl,
            secrets.token_hex(4),
            *missing,
        )

    def beat(self, worker: str, state: str, held: Iterable[tuple[str, int]]) -> Command[Beat]:
        """BEAT: renew all leases of a worker process at once. ``state`` is its own heartbeat as JSON."""
        lease = _ms(self._settings.lease)
        pairs = [word for call, fence in held for word in (call, fence)]
        return self._script("beat", replies.beat, worker, state, lease, lease, *pairs)

    def progress(self, tool_call_id: str, fence: int, before: int, fragments: Iterable[str]) -> Command[bool]:
        """PROGRESS: append updates of a running call; each fragment begins with a comma. False when fenced.

        ``before`` counts the fragments that this attempt has sent already, so that none is appended twice.
        """
        return self._script("progress", lambda reply: bool(reply == "ok"), tool_call_id, fence, before, *fragments)

    def finish(
        self, tool_call_id: str, fence: int, status: CallStatus, category: str, outcome: str, *, dead: bool = False
    ) -> Command[FinishReply]:
        """FINISH: the terminal result, once. ``dead`` keeps the call as a dead letter."""
        keep = self._dead_ttl if dead else ""
        return self._script("finish", FinishReply, tool_call_id, fence, status.value, category, outcome, keep, 0)

    def retry(self, tool_call_id: str, fence: int, delay: timedelta) -> Command[FinishReply]:
        """FINISH with status pending: give the call back for another attempt after ``delay``."""
        return self._script("finish", FinishReply, tool_call_id, fence, "pending", "", "", "", _ms(delay))

    def give_back(self, tool_call_id: str, fence: int) -> Command[FinishReply]:
        """FINISH with status pending: the worker goes away, as if it were lost, only at once."""
        return self._script("finish", FinishReply, tool_call_id, fence, "pending", "worker_lost", "", self._dead_ttl, 0)

    def reap(self) -> Command[list[tuple[str, str]]]:
        """REAP: rescue what nobody works on; pairs of id and what was done."""
        grace = _ms(self._settings.ring_grace)
        return self._script(
            "reap",
            lambda reply: list(zip(reply[::2], reply[1::2], strict=True)),
            _REAP_AT_MOST,
            grace,
            self._dead_ttl,
        )

    def cancel(self, tool_call_id: str) -> Command[CancelReply]:
        """CANCEL: end a waiting call, or ask the worker of a running one."""
        return self._script("cancel", CancelReply, tool_call_id)

    def snapshot(self, tool_call_id: str, seen: int = 0, client: str = "") -> Command[Snapshot | None]:
        """SNAPSHOT: what happened after update ``seen``; ``client`` hears of what follows."""
        return self._script("snapshot", replies.snapshot, tool_call_id, seen, client)

    def replay(self, tool_call_id: str) -> Command[ReplayReply]:
        """REPLAY: start a dead letter anew."""
        return self._script("replay", ReplayReply, tool_call_id)

    def publish_catalogue(self, entries: Iterable[CatalogueEntry], at: int) -> list[Command[Any]]:
        """Offer tools. ``at`` (Redis's time in seconds) lets readers leave out what no worker offers any more."""
        published: list[str] = []
        for entry in entries:
            value = {
                "spec": _SPEC.dump_python(entry.spec, mode="json"),
                "policy": entry.policy.model_dump(mode="json"),
                "at": at,
            }
            published += [entry.spec.name, json.dumps(value)]
        if not published:
            return []
        key, ttl = self.keys.catalogue, _ms(self._settings.catalogue_ttl)
        return [Command(("HSET", key, *published), _count), Command(("PEXPIRE", key, ttl), _count)]

    def tools_seen(self) -> Command[dict[str, int]]:
        """When each tool of the catalogue was last offered, in seconds of Redis's time, those long gone included.

        What cannot be read is left out: it is not ours to judge, and every worker's heartbeat asks for this.
        """
        return Command(("HGETALL", self.keys.catalogue), lambda reply: dict(_offers(_pairs(reply))))

    def forget_tools(self, names: Iterable[str]) -> Command[int]:
        """Take tools out of the catalogue."""
        return Command(("HDEL", self.keys.catalogue, *names), _count)

    def catalogue(self) -> Command[dict[str, CatalogueEntry]]:
        """Read the tools on offer by name; empty when no worker has published any."""
        return Command(("HGETALL", self.keys.catalogue), self._read_catalogue)

    def _read_catalogue(self, reply: Any) -> dict[str, CatalogueEntry]:
        offers = _pairs(reply)
        seen = dict(_offers(offers))
        oldest = max(seen.values(), default=0) - self._settings.catalogue_ttl.total_seconds()
        return {name: _entry(name, text) for name, text in offers if seen.get(name, oldest) >= oldest}

    def time(self) -> Command[int]:
        """Redis's clock, in seconds."""
        return Command(("TIME",), lambda reply: int(reply[0]))

    def workers(self) -> Command[list[str]]:
        """Names of the workers that beat within a lease."""
        return Command(("ZRANGE", self.keys.workers, 0, -1), list)

    def worker_states(self, names: Iterable[str]) -> Command[list[dict[str, Any] | None]]:
        """Last heartbeat of each worker; ``None`` for one that stopped beating."""
        keys = [self.keys.worker(name) for name in names]
        return Command(("MGET", *keys), lambda reply: [json.loads(text) if text else None for text in reply])

    def dead(self, at_most: int = 100) -> Command[list[str]]:
        """Ids of the newest dead letters, newest first."""
        return Command(("ZRANGE", self.keys.dead, 0, at_most - 1, "REV"), list)

    def record(self, tool_call_id: str) -> Command[dict[str, str]]:
        """Read a call's whole record, for inspection; empty when there is none."""
        return Command(("HGETALL", self.keys.call(tool_call_id)), lambda reply: dict(_pairs(reply)))

    def standing(self, tool_call_id: str) -> Command[Standing | None]:
        """Read who has a call and since when, without its arguments and output; ``None`` when there is no such call."""
        words = ("HMGET", self.keys.call(tool_call_id), *replies.STANDING_FIELDS)
        return Command(words, lambda reply: replies.standing(tool_call_id, reply))

    def rejected(self, at_most: int = 100) -> Command[list[str]]:
        """Read foreign messages that were taken out of the queue, newest first."""
        return Command(("LRANGE", self.keys.rejected, 0, at_most - 1), list)

    def queue_length(self) -> Command[int]:
        """Messages that no worker has taken yet."""
        return Command(("LLEN", self.keys.queue), _count)


def _pairs(reply: Any) -> list[tuple[str, str]]:
    """HGETALL's reply, a map or a flat list depending on the protocol's version."""
    if isinstance(reply, dict):
        return list(reply.items())
    return list(zip(reply[::2], reply[1::2], strict=True))


def _entry(name: str, text: str) -> CatalogueEntry:
    """Read an offer. What only a newer worker knows of a tool is left out; where that is too much, anything passes."""
    try:
        value = json.loads(text)
        spec = {field: value["spec"][field] for field in _SPEC_FIELDS if field in value["spec"]}
        return CatalogueEntry(_SPEC.validate_python(spec), ExecutionPolicy.model_validate(value["policy"]))
    except (ValueError, TypeError, KeyError):
        return CatalogueEntry(ToolSpec(name, "", {}), ExecutionPolicy())


def _offers(entries: Iterable[tuple[str, str]]) -> Iterator[tuple[str, int]]:
    for name, text in entries:
        with suppress(ValueError, TypeError, KeyError):
            yield name, int(json.loads(text)["at"])


def digest(request: NormalizedToolRequest) -> str:
    """What makes two submissions under one id the same call: tool, kind and arguments, whatever the order of keys."""
    raw = request.problem.raw_arguments if request.problem else None
    parts = [request.tool_name, request.kind.value, request.arguments, raw]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:32]


def head(request: NormalizedToolRequest) -> str:
    """Give the fragment that a request and its result have in common."""
    return fragment(
        {
            "tool_call_id": request.tool_call_id,
            "tool_name": request.tool_name,
            "provider_format": request.provider_format,
            "provider_call_id": request.provider_call_id,
            "provider_metadata": request.provider_metadata,
            "kind": request.kind,
        }
    )


def rest(request: NormalizedToolRequest) -> str:
    """Give the fragment that only the request has."""
    fields: dict[str, Any] = {
        "plan_id": request.plan_id,
        "sequence": request.sequence,
        "arguments": request.arguments,
        "repairs": [repair.model_dump() for repair in request.repairs],
    }
    if request.problem:
        fields["problem"] = request.problem.model_dump(mode="json")
    return fragment(fields)


def outcome_fragment(
    *,
    success: bool,
    output: Any = None,
    error: str | None = None,
    error_category: ErrorCategory | None = None,
    retryable: bool = False,
    retry_after_ms: int | None = None,
    is_validation: bool = False,
    validation_passed: bool | None = None,
    repairs: Iterable[Repair] = (),
) -> str:
    """Give the fragment of a ``NormalizedToolResult`` that says how a call ended; the script adds who and when."""
    return fragment(
        {
            "success": success,
            "output": output,
            "error": error,
            "error_category": error_category,
            "retryable": retryable,
            "retry_after_ms": retry_after_ms,
            "is_validation": is_validation,
            "validation_passed": validation_passed,
            "repairs": [repair.model_dump() for repair in repairs],
        }
    )
