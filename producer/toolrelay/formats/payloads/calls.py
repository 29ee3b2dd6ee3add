"""From what a format found to the request that everyone else works with. A bad call gets a problem, it never raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pydantic import BaseModel

from toolrelay.errors import ErrorCategory
from toolrelay.formats.arguments.reading import MAX_ARGUMENTS_BYTES, Arguments, problem_of, read_arguments
from toolrelay.formats.arguments.strict_json import plain_object
from toolrelay.formats.payloads.names import Decode
from toolrelay.formats.protocol import FoundCall
from toolrelay.formats.shared.text import as_text
from toolrelay.models import CallKind, CallProblem, NormalizedToolRequest, ProblemKind, ProviderFormat, Repair
from toolrelay.outputs import lenient_json


def request_of(
    call: FoundCall,
    provider_format: ProviderFormat,
    *,
    decode: Decode | None = None,
    max_arguments_bytes: int = MAX_ARGUMENTS_BYTES,
    sequence: int | None = None,
) -> NormalizedToolRequest:
    """Make the request of a found call; what keeps it from being run stands in ``problem``."""
    values = _usual_arguments(call, max_arguments_bytes)
    repairs: tuple[Repair, ...] = ()
    problem = None
    if values is None:
        values, repairs, problem = _arguments_of(call, max_arguments_bytes)
    wire_name = as_text(call.name) if isinstance(call.name, str) else None
    name = wire_name or ""
    metadata = _metadata_of(call)
    if wire_name is None:
        problem = _no_name(call)
    elif decode is not None:
        name, is_repaired, renamed = decode(wire_name)
        if renamed is not None:
            values = renamed.decode(values)
        if name != wire_name:
            metadata = {**metadata, "wire_name": wire_name}
        if is_repaired:
            repairs = (*repairs, Repair(kind="tool_name", detail=f"{wire_name!r} was read as {name!r}"))
    return _made(
        {
            "tool_call_id": None,
            "tool_name": name,
            "arguments": values,
            "provider_format": provider_format,
            "provider_call_id": as_text(call.call_id),
            "plan_id": None,
            "sequence": sequence,
            "provider_metadata": metadata,
            "kind": call.kind,
            "problem": problem,
            "repairs": repairs,
            "raw": call.raw,
        }
    )


_CUSTOM: Final = CallKind.CUSTOM  # a name of the module is found sooner than a member of an enum
#: shared by all: of a frozen model nobody changes it, and a copy has its own
_FIELDS: Final = set(NormalizedToolRequest.model_fields)


def _made(members: dict[str, Any]) -> NormalizedToolRequest:
    """Make a request of values that are what the model asks for: looking again costs as much as reading the call."""
    request = NormalizedToolRequest.__new__(NormalizedToolRequest)
    _keep_members(request, members)
    _keep_fields(request, _FIELDS)
    _keep_extra(request, None)
    _keep_private(request, None)
    return request


def _setter(slot: str) -> Callable[[BaseModel, Any], None]:
    setter: Callable[[BaseModel, Any], None] = BaseModel.__dict__[slot].__set__
    return setter


# past the model's own __setattr__: it is frozen
_keep_members: Final = _setter("__dict__")
_keep_fields: Final = _setter("__pydantic_fields_set__")
_keep_extra: Final = _setter("__pydantic_extra__")
_keep_private: Final = _setter("__pydantic_private__")


def _metadata_of(call: FoundCall) -> dict[str, Any]:
    """Give the metadata as JSON: it travels, whatever a broken server put there."""
    metadata = call.metadata
    if not metadata:
        return {}
    if len(metadata) == 1:  # nearly always the model's name alone
        model = metadata.get("model")
        if type(model) is str and model.isascii():
            return {"model": model}
    plain: dict[str, Any] = lenient_json(metadata)
    return plain


def _usual_arguments(call: FoundCall, max_bytes: int) -> dict[str, Any] | None:
    """Read the text of one JSON object, as nearly all arguments are; ``None`` for what wants a closer look."""
    text = call.arguments
    if type(text) is not str or len(text) > max_bytes or call.refusal is not None or call.kind is _CUSTOM:
        return None
    return plain_object(text)


def _arguments_of(call: FoundCall, max_bytes: int) -> Arguments:
    if call.kind is _CUSTOM:
        arguments = _free_text(call.arguments, max_bytes)
    else:
        arguments = read_arguments(call.arguments, max_bytes=max_bytes)
    if call.refusal is None:
        return arguments
    kind, why = call.refusal
    raw = call.arguments if isinstance(call.arguments, str) else None
    return arguments._replace(problem=problem_of(kind, why, raw))


def _free_text(text: Any, max_bytes: int) -> Arguments:
    # wrapped first: the text is data, and is never read as JSON
    return read_arguments({"input": text if isinstance(text, str) else ""}, max_bytes=max_bytes)


def _no_name(call: FoundCall) -> CallProblem:
    return CallProblem(
        kind=ProblemKind.NO_NAME,
        category=ErrorCategory.PARSE,
        message=f"the call has no tool name: 'name' must be a non-empty string, got {_short(call.name)}",
    )


def _short(value: Any) -> str:
    return repr(value) if value is None or value == "" else f"a value of type {type(value).__name__}"
