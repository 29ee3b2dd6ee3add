"""What a wire format has to offer, and what it finds in a message. A format is a module with these functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from toolrelay.models import CallKind, NormalizedToolResult, ProblemKind

if TYPE_CHECKING:
    from toolrelay.choices import ToolChoice
    from toolrelay.formats.shared.choices import Encode, WireChoice
    from toolrelay.formats.shared.finish import FinishWords, FoundFinish
    from toolrelay.formats.shared.ids import IdAlphabet
    from toolrelay.formats.shared.results import FoundResult
    from toolrelay.formats.shared.served import ServerCall
    from toolrelay.formats.shared.tools import ExportedTool, ExportOptions, ImportedTool
    from toolrelay.formats.shared.written import Cut, WrittenCall
    from toolrelay.formats.streams.drafts import Drafts, StreamReader
    from toolrelay.models import ToolSpec
    from toolrelay.names import Alphabet

#: a message, block, item, step or part, as the provider's JSON has it
Wire = dict[str, Any]


@dataclass(slots=True)
class FoundCall:
    """A call that the client has to run or answer, its parts still as the provider wrote them."""

    name: Any
    arguments: Any = None
    call_id: Any = None
    kind: CallKind = CallKind.FUNCTION
    metadata: dict[str, Any] = field(default_factory=dict)
    """What the answer needs, and what must be echoed."""
    raw: Any = None
    refusal: tuple[ProblemKind, str] | None = None
    """Why the call must not run, whatever its arguments say."""
    other_id: Any = None
    """Another id under which a result may answer the call."""

    def refuse(self, why: str, kind: ProblemKind = ProblemKind.TRUNCATED) -> None:
        """Keep the call from being run; the first reason stays."""
        if self.refusal is None:
            self.refusal = (kind, why)


class Places(NamedTuple):
    """Where things stand in this provider's JSON. Arguments and outputs are no places: they are data."""

    holders: tuple[str, ...]
    """Members that hold a turn's parts, in whole messages and in a stream's events."""
    texts: tuple[str, ...]
    """Members of a part, or of a message, that hold what the model says or thinks."""
    turns: tuple[str, ...]
    """Members of a request's body that hold the conversation."""


class ResultNames(StrEnum):
    """Whether a result says which tool it is of."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"
    """The provider refuses a result without."""


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What a provider's requests and results can say: no defaults, each format answers every question."""

    has_parallel: bool
    """Whether a request can forbid several calls in one turn."""
    can_forbid_tools: bool
    """Whether a request that declares tools can forbid to call any."""
    forces_while_thinking: bool
    """Whether a call can be forced while the model's thinking is on."""
    has_results_beside_calls: bool
    """Whether one message may hold a call and what answers it: a response that ran on, a whole interaction."""
    is_strict_by_request: bool
    """Whether schemas are enforced by a mode of the choice, not by the tools."""
    result_names: ResultNames


class WireRequest(NamedTuple):
    """What a request's body says of tools, still as the provider has it; ``None`` where it says nothing."""

    tools: Any = None
    choice: Any = None
    parallel: bool | None = None


class WireFormat(Protocol):
    """One provider's way to write calls and to be told their results. Nothing that is passed in is changed."""

    def find_call(self, payload: Wire) -> FoundCall | None:
        """Read a single call, wrapped or flat; ``None`` if the provider runs it itself."""

    def find_calls(self, message: Wire) -> list[FoundCall]:
        """Read the calls that the client has to run, in the model's order: of a message, or of anything in one."""

    def find_results(self, message: Wire) -> list[FoundResult]:
        """Read the results that a message, item, block or part in this provider's shape hands in; ``[]`` for others.

        What ``format_results`` writes is read back.
        """

    def find_cancelled(self, message: Wire) -> list[Any]:
        """Give the ids of the calls that a message takes back, in a list and in a stream alike; ``[]`` for others."""

    def find_server_call(self, block: Wire) -> ServerCall | None:
        """Read a message, item, block, step or part that is a call which the provider runs itself."""

    def find_finish(self, message: Wire) -> FoundFinish | None:
        """Give the provider's word for the end of a turn, of a whole message or of a stream's event."""

    @property
    def FINISH_WORDS(self) -> FinishWords:  # noqa: N802 # a constant of the module
        """What these words mean."""

    @property
    def PLACES(self) -> Places:  # noqa: N802 # a constant of the module
        """Where parts, texts and conversations stand."""

    @property
    def TRAITS(self) -> Traits:  # noqa: N802 # a constant of the module
        """What requests and results can say."""

    def format_results(self, results: Sequence[NormalizedToolResult]) -> list[Wire]:
        """Write what has to be appended to the conversation, every result answered once and in this order."""

    def write_calls(self, calls: Sequence[WrittenCall]) -> list[Wire]:
        """Write the model's turn that makes these calls, as it stands in the conversation's history."""

    def write_stream(self, calls: Sequence[WrittenCall], cut: Cut, head: Wire) -> list[Wire]:
        """Write the events that stream these calls, with their end; ``head`` has the turn's ``id`` and ``model``."""

    def open_stream(self, drafts: Drafts) -> StreamReader:
        """Give the reader of one stream of this provider's events; it tells the drafts what it sees."""

    @property
    def TOOL_NAMES(self) -> Alphabet:  # noqa: N802 # a constant of the module
        """What a tool may be called."""

    @property
    def CALL_IDS(self) -> IdAlphabet:  # noqa: N802 # a constant of the module
        """What a call's id may be; calls and results have it as this writes it."""

    def export_tool(self, spec: ToolSpec, name: str, options: ExportOptions) -> ExportedTool:
        """Write a tool under its wire name. Raises ``ToolExportError`` for one that cannot be said."""

    def import_tool(self, tool: Wire, where: str) -> list[ImportedTool]:
        """Read one entry of a list of tools; ``[]`` for kinds that the provider defines, several for a group.

        ``where`` is the entry's place, for the message of an ``InvalidToolError``.
        """

    def export_choice(self, choice: ToolChoice, encode: Encode) -> WireChoice:
        """Write a choice. Raises ``ToolChoiceError`` where the nearest one would mean something else."""

    def import_choice(self, value: Any) -> ToolChoice | None:
        """Read a choice; ``None`` for what is none of this provider's."""

    def request_fields(self, tools: list[Wire], choice: Any, parallel: bool | None) -> Wire:
        """Give the request's fields that hold tools and a choice; ``None`` leaves the choice to the provider."""

    def read_request(self, body: Wire) -> WireRequest:
        """Read the same fields of a request's body."""


def cut_off(calls: list[FoundCall], why: str) -> None:
    """Refuse the last call: the model was stopped while it wrote, and the end of the message is where."""
    if calls:
        calls[-1].refuse(why)


def refuse_all(calls: list[FoundCall], why: str) -> None:
    """Refuse every call: the turn ended in a way that forbids to run any."""
    for call in calls:
        call.refuse(why)


def word(payload: Wire, *names: str) -> str | None:
    """Give the first of these members that is there, if it is text: a type, a status, a reason.

    SDKs have members of enums there, whose own text is "FinishReason.STOP": what they stand for is given, plain.
    """
    value = pick(payload, *names)
    if value is None or type(value) is str:
        return value
    if isinstance(value, Enum):  # one that counts has the wire's words for names
        value = value.value if isinstance(value.value, str) else value.name
    return str.__str__(value) if isinstance(value, str) else None


def pick(payload: Wire, *names: str) -> Any:
    """Give the first of these members that is there and not null: SDKs and wires spell the same member differently."""
    for name in names:
        value = payload.get(name)
        if value is not None:
            return value
    return None
