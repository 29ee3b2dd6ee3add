"""Which calls take a queue slot: a pure function of the call and the workers' catalogue.

A call that cannot run is recorded with its result at once: whoever asks for its id gets an answer, and the model hears
what to do better.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from toolrelay.errors import ErrorCategory, SchemaMismatchError
from toolrelay.models import CallStatus, NormalizedToolRequest
from toolrelay.protocol.commands import Refusal, outcome_fragment, utf8_size
from toolrelay.protocol.replies import CatalogueEntry
from toolrelay.resolution import candidate_names, unknown_tool
from toolrelay.schemas.validation import check_arguments


@dataclass(frozen=True, slots=True)
class Admission:
    """What ENQUEUE is to be told of a call."""

    request: NormalizedToolRequest
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
    entry = next((catalogue[name] for name in candidate_names(request) if name in catalogue), None)
    if entry is None:
        return _refuse(request, ErrorCategory.NOT_FOUND, unknown_tool(request.tool_name, sorted(catalogue)))
    is_validation = entry.spec.tool_type == "validation"
    try:
        # Only checked: the worker makes the coercions, so the same call has the same digest with and without catalogue.
        check_arguments(entry.spec.input_schema, request.arguments)
    except SchemaMismatchError as error:
        return _refuse(request, ErrorCategory.SCHEMA, str(error), is_validation=is_validation)
    return Admission(request, is_validation=is_validation)


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
