"""The contract that producers and workers speak: one tool call, its result, and what happened in between.

All models are frozen; their JSON form is what stands in Redis, so any language can read it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.dataclasses import dataclass

from toolrelay.errors import ErrorCategory


class ProviderFormat(StrEnum):
    """The wire format a call was written in, and in which its result goes back."""

    OPENAI = "openai"
    """Chat Completions, its compatible servers, and the flat ``{"name", "arguments"}``."""
    OPENAI_RESPONSES = "openai_responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"
    """generateContent and Live."""
    GEMINI_INTERACTIONS = "gemini_interactions"
    LANGCHAIN = "langchain"
    MCP = "mcp"
    BEDROCK = "bedrock"
    """The Converse API."""
    UNKNOWN = "unknown"
    """None of the above: a dict with a name and one of the usual keys for arguments."""


class CallKind(StrEnum):
    """What sort of tool the model called; all but ``FUNCTION`` are defined by the provider."""

    FUNCTION = "function"
    CUSTOM = "custom"
    """Free text: ``arguments`` is ``{"input": text}``."""
    SHELL = "shell"
    LOCAL_SHELL = "local_shell"
    APPLY_PATCH = "apply_patch"
    COMPUTER = "computer"
    TOOL_SEARCH = "tool_search"


#: the kinds that most providers answer alike; results of all others are written in a way of their own
PLAIN_KINDS: Final = frozenset({CallKind.FUNCTION, CallKind.CUSTOM})


class CallStatus(StrEnum):
    """Where a call stands: ``pending → running → complete | error | cancelled``.

    A lost worker or a retry puts ``running`` back to ``pending``, as an update that everyone sees.
    """

    PENDING = "pending"
    RUNNING = "running"
    COMPLETE = "complete"
    """The tool returned, also when what it returned is a failure."""
    ERROR = "error"
    """The tool raised, or could not be run."""
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing follows."""
        return self in _TERMINAL


_TERMINAL = frozenset({CallStatus.COMPLETE, CallStatus.ERROR, CallStatus.CANCELLED})


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class ProblemKind(StrEnum):
    """Why a call that a model wrote must not run."""

    INVALID_JSON = "invalid_json"
    NOT_AN_OBJECT = "not_an_object"
    TRUNCATED = "truncated"
    """The model was cut off while it wrote the call, or the turn ended in a way that forbids to run it."""
    NO_NAME = "no_name"
    CANCELLED = "cancelled"
    """The model took the call back after it had written it."""
    INVALID_PAYLOAD = "invalid_payload"


class CallProblem(_Frozen):
    """Why a call must not run: it becomes an error result that the model can act on."""

    kind: ProblemKind
    category: ErrorCategory
    message: str
    """For the model: where it went wrong and what to do; never a whole rejected value."""
    raw_arguments: str | None = Field(default=None, repr=False)
    """The text as the model wrote it; ``None`` where there was none."""


class Repair(_Frozen):
    """One change that was made to a call's arguments so that they could be used."""

    kind: str
    """What was done, such as ``"json_syntax"``, ``"double_encoded"``, ``"coerced"``."""
    path: str = ""
    """JSON pointer into the arguments; ``""`` is the whole."""
    detail: str = ""


class NormalizedToolRequest(_Frozen):
    """One tool call as a model asked for it, whatever the provider."""

    tool_call_id: str | None = None
    """``None`` until a router or producer sets it, as are ``plan_id`` and ``sequence``."""
    tool_name: str
    """The registry's name; ``""`` only beside a ``problem`` of kind ``no_name``."""
    arguments: dict[str, Any] = Field(default_factory=dict, repr=False)
    provider_format: ProviderFormat = ProviderFormat.UNKNOWN
    provider_call_id: str | None = None
    """What the provider calls this call: to echo, never an identity. ``None`` when it sent none."""
    plan_id: str | None = None
    sequence: int | None = None
    """The call's place in its plan; before that, on calls out of a ``StreamAssembler``, in its stream."""
    provider_metadata: dict[str, Any] = Field(default_factory=dict, repr=False)
    """``model``, ``provider_id``, and what must be echoed: ``thought_signature``, ``namespace``, ``caller`` …"""
    kind: CallKind = CallKind.FUNCTION
    problem: CallProblem | None = None
    """Set when the call must not run as it stands."""
    repairs: tuple[Repair, ...] = ()
    raw: Any = Field(default=None, repr=False, exclude=True)
    """The call's own payload as it came; it stays in the process that read it."""


class NormalizedToolResult(_Frozen):
    """What came out of one call: the same for every provider, tool and outcome.

    Its ``repr`` shows neither ``.output`` nor ``.error``, so that a logged result gives nothing away: look there.
    """

    tool_call_id: str
    tool_name: str
    provider_format: ProviderFormat = ProviderFormat.UNKNOWN
    provider_call_id: str | None = None
    success: bool
    output: Any = Field(default=None, repr=False)
    """Any JSON value; ``None`` when the tool returned nothing or failed."""
    error: str | None = Field(default=None, repr=False)
    """For the model; ``None`` exactly when ``success``."""
    error_category: ErrorCategory | None = None
    """Why it failed; ``None`` on success, and where a tool asked for a retry (``ToolRetry``) without saying why."""
    retryable: bool = False
    """Whether the same call may succeed later."""
    retry_after_ms: int | None = None
    """How long whatever refused asked to wait; ``None`` when it did not say."""
    is_validation: bool = False
    """Whether the tool is a validation tool."""
    validation_passed: bool | None = None
    """A validation tool's verdict; ``None`` for other tools and when it gave none."""
    provider_metadata: dict[str, Any] = Field(default_factory=dict, repr=False)
    kind: CallKind = CallKind.FUNCTION
    repairs: tuple[Repair, ...] = ()
    attempt: int = 0
    """The attempt that ended the call, counted from 1; 0 when the tool was never started."""
    worker: str | None = None
    """The worker process that ended the call; ``None`` when none did."""
    queued_at: datetime | None = None
    started_at: datetime | None = None
    """Start of the last attempt; ``None`` when the tool was never started."""
    finished_at: datetime | None = None
    duration_ms: int | None = None
    """Length of the last attempt; ``None`` when the tool was never started."""


class Progress(_Frozen):
    """How far a running tool says it is."""

    current: float
    total: float | None = None
    """``None`` when the tool does not know."""
    message: str | None = None


class StatusUpdate(_Frozen):
    """Something that happened to a call. ``seq`` rises by one per call; a subscriber sees each one once, in order."""

    tool_call_id: str
    seq: int
    """Counted from 1, assigned where the update is stored."""
    status: CallStatus
    progress: Progress | None = None
    partial: Any = Field(default=None, repr=False)
    """Output that a running tool gave early; ``None`` where there is none."""
    result: NormalizedToolResult | None = None
    """On the terminal update, and only there."""
    reason: str | None = None
    """Why a call went back to ``pending`` (``retry``, ``worker_lost``, ``replay``) or was given up (the second)."""
    at: datetime | None = None
    """Redis's clock; ``None`` for a call that ran without Redis."""
    dropped: int = 0
    """How many updates before this one are gone for this subscriber, because more came than are kept."""


ToolName = Annotated[str, StringConstraints(min_length=1, strip_whitespace=False)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ToolSpec:
    """A tool's definition: what a model is told, and what its arguments are checked against."""

    name: ToolName
    """Such as ``weather/lookup``; each provider's own spelling is made when the tool is exported."""
    description: str
    input_schema: dict[str, Any]
    """JSON Schema 2020-12 of the arguments; its root is an object."""
    output_schema: dict[str, Any] | None = None
    """JSON Schema of the output; ``None`` leaves the output unchecked."""
    tool_type: Literal["tool", "validation"] = "tool"
    """A ``validation`` tool returns ``{"passed": bool, …}``."""

    @property
    def mode(self) -> str | None:
        """A validation tool's mode, when its output schema names one."""
        mode = (self.output_schema or {}).get("mode")
        return mode if self.tool_type == "validation" and isinstance(mode, str) else None


class OnLost(StrEnum):
    """What becomes of a call whose worker disappeared while it ran."""

    RERUN = "rerun"
    """Run it again, up to ``max_attempts``: for tools that may run twice."""
    FAIL = "fail"
    """Never start it again; it ends with ``worker_lost``: for tools whose effect must not repeat."""


class ExecutionPolicy(_Frozen):
    """How a tool is to be run; published beside its definition, decided on in Redis when a worker is lost."""

    timeout: timedelta = timedelta(seconds=60)
    """Longest time one attempt may take."""
    max_attempts: int = Field(default=3, ge=1)
    """Attempts in all, retries and lost workers counted alike."""
    on_lost: OnLost = OnLost.RERUN
    retry_on: frozenset[ErrorCategory] = frozenset()
    """Failures after which the call is tried again by itself."""
    retry_delay: timedelta = timedelta(seconds=1)
    """Wait before the first retry; doubles with each one more."""
    max_retry_delay: timedelta = timedelta(minutes=1)
    read_only: bool = False
    """The tool changes nothing."""
    early_start: bool | None = None
    """Whether a streamed call is started before the model has finished speaking; ``None``: if it is ``read_only``."""

    @property
    def starts_early(self) -> bool:
        """What ``early_start`` comes to."""
        return self.read_only if self.early_start is None else self.early_start
