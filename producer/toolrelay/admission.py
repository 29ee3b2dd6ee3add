"""Which calls take a queue slot: a pure function of the call and the workers' catalogue.

A call that cannot run is recorded with its result at once: whoever asks for its id gets an answer, and the model hears
what to do better.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from toolrelay.definitions import export_tools
from toolrelay.errors import ErrorCategory, SchemaMismatchError
from toolrelay.formats import FORMATS
from toolrelay.models import CallStatus, NormalizedToolRequest, ToolSpec
from toolrelay.names import tool_of_wire_name
from toolrelay.protocol.commands import Refusal, outcome_fragment, utf8_size
from toolrelay.protocol.replies import CatalogueEntry
from toolrelay.resolution import candidate_names, unknown_tool
from toolrelay.schemas.validation import check_arguments


@dataclass(frozen=True, slots=True)
class Admission:
    """What ENQUEUE is to be told of a call."""

    request: NormalizedToolRequest
    """Under its tool's own name, and its parameters' own names, where the catalogue tells them."""
    refusal: Refusal | None = None
    """How the call ends without being queued; ``None`` when it may run."""
    is_validation: bool = False


def admit(
    request: NormalizedToolRequest, catalogue: Mapping[str, CatalogueEntry], *, max_arguments_bytes: int
) -> Admission:
    """Judge a call. An empty catalogue refuses no tool: no worker has published yet."""
    if request.problem is not None:
        return _refuse(request, request.problem.category, request.problem.message)
    is_short = len(json.dumps(request.arguments)) <= max_arguments_bytes  # quicker than utf8_size, and never less
    if not is_short and (size := utf8_size(request.arguments)) > max_arguments_bytes:
        return _refuse(
            request,
            ErrorCategory.PARSE,
            f"the arguments are {size} bytes of JSON, the limit is {max_arguments_bytes}; send less, or a reference",
        )
    if not catalogue:
        return Admission(request)
    request = under_own_name(request, catalogue)
    entry = entry_of(request, catalogue)
    if entry is None:
        return _refuse(request, ErrorCategory.NOT_FOUND, unknown_tool(request.tool_name, sorted(catalogue)))
    is_validation = entry.spec.tool_type == "validation"
    try:
        # Only checked: the worker makes the coercions, so the same call has the same digest with and without catalogue.
        check_arguments(entry.spec.input_schema, request.arguments)
    except SchemaMismatchError as error:
        decoded = _with_own_parameters(request, entry.spec)
        if decoded is not None:
            return Admission(decoded, is_validation=is_validation)
        return _refuse(request, ErrorCategory.SCHEMA, str(error), is_validation=is_validation)
    return Admission(request, is_validation=is_validation)


def entry_of(request: NormalizedToolRequest, catalogue: Mapping[str, CatalogueEntry]) -> CatalogueEntry | None:
    """Give the offer of the tool that a call means; ``None`` for a tool that nobody offers."""
    return next((catalogue[name] for name in candidate_names(request) if name in catalogue), None)


def under_own_name(request: NormalizedToolRequest, catalogue: Mapping[str, CatalogueEntry]) -> NormalizedToolRequest:
    """Give a call that came under a tool's name on the wire, as ``export_tools`` makes it, the tool's own name.

    So ``weather_lookup`` finds ``weather/lookup`` without ``names``, where it is the only tool that it can mean.
    """
    if request.problem is not None or entry_of(request, catalogue) is not None:
        return request
    name = tool_of_wire_name(request.tool_name, FORMATS[request.provider_format].TOOL_NAMES, catalogue)
    if name is None:
        return request
    metadata = {**request.provider_metadata, "wire_name": request.tool_name}
    return request.model_copy(update={"tool_name": name, "provider_metadata": metadata})


def _with_own_parameters(request: NormalizedToolRequest, spec: ToolSpec) -> NormalizedToolRequest | None:
    """Give a call whose parameters have their names on the wire their own; ``None`` where that makes no legal call."""
    renamed = export_tools([spec], request.provider_format).names.arguments_of(spec.name)
    if renamed is None:
        return None
    arguments = renamed.decode(request.arguments)
    try:
        check_arguments(spec.input_schema, arguments)
    except SchemaMismatchError:
        return None
    return request.model_copy(update={"arguments": arguments})


def _refuse(
    request: NormalizedToolRequest, category: ErrorCategory, message: str, *, is_validation: bool = False
) -> Admission:
    outcome = outcome_fragment(
        success=False,
        error=message,
        error_category=category,
        retryable=category.is_retryable,
        is_validation=is_validation,
        repairs=request.repairs,
    )
    return Admission(request, Refusal(CallStatus.ERROR, category.value, outcome), is_validation)
