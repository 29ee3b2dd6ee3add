"""The one way from what a provider put where arguments belong to a dict that a tool can be called with."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from toolrelay.errors import ErrorCategory
from toolrelay.formats.arguments.strict_json import (
    JsonFault,
    decode_fast,
    decode_whole,
    is_plain,
    plain_object,
    too_deep,
)
from toolrelay.formats.shared.plain import json_copy
from toolrelay.formats.shared.text import size_in_bytes, well_formed
from toolrelay.models import CallProblem, ProblemKind, Repair

#: larger arguments belong into a store, with a reference in the call
MAX_ARGUMENTS_BYTES: Final = 10 * 1024 * 1024
#: a model that encodes more often than that does not stop
_MAX_ENCODINGS: Final = 3

_ADVICE: Final = {
    ProblemKind.INVALID_JSON: "Send the call again with the arguments as one JSON object.",
    ProblemKind.NOT_AN_OBJECT: "Send the call again with the arguments as one JSON object.",
    ProblemKind.TRUNCATED: "Nothing was run. If the call is still wanted, send it again, whole.",
}


class Arguments(NamedTuple):
    """What the arguments say; with a ``problem``, ``values`` is at best what can be shown, and must not be run."""

    values: dict[str, Any]
    repairs: tuple[Repair, ...] = ()
    problem: CallProblem | None = None


def read_arguments(value: Any, *, max_bytes: int = MAX_ARGUMENTS_BYTES) -> Arguments:
    """Read arguments in any form a provider sends them: JSON text, an object, or nothing (``None``, ``""``) for ``{}``.

    Never raises: what cannot be used comes back as a ``problem``. Text over ``max_bytes`` is not even parsed.
    """
    if type(value) is str and len(value) <= max_bytes:
        plain = plain_object(value)
        if plain is not None:
            return Arguments(plain)
    try:
        if isinstance(value, str):
            return _read_text(value, max_bytes)
        if value is None:
            return Arguments({})
        if isinstance(value, (bytes, bytearray)):
            value = bytes(value).decode("utf-8", "surrogateescape")
            return _read_text(value, max_bytes)
        return Arguments(_as_object(json_copy(value)))
    except JsonFault as fault:
        return Arguments({}, (), problem_of(fault.kind, f"parse error in the arguments: {fault}", value))
    except RecursionError:
        return Arguments({}, (), problem_of(ProblemKind.INVALID_JSON, f"parse error in the arguments: {too_deep()}"))


def problem_of(kind: ProblemKind, what: str, raw: Any = None) -> CallProblem:
    """Make the problem of a call's arguments: what is wrong, and what the model should do about it."""
    return CallProblem(
        kind=kind,
        category=ErrorCategory.CANCELLED if kind is ProblemKind.CANCELLED else ErrorCategory.PARSE,
        message=well_formed(f"{what}. {_ADVICE.get(kind, '')}".rstrip()),  # a provider's words may be in it
        raw_arguments=well_formed(raw) if isinstance(raw, str) else None,
    )


def _read_text(text: str, max_bytes: int) -> Arguments:
    if len(text) * 4 > max_bytes and size_in_bytes(text) > max_bytes:
        raise JsonFault(
            ProblemKind.INVALID_JSON, f"they are {size_in_bytes(text)} bytes long, the limit is {max_bytes}"
        )
    if not text or text.isspace():
        return Arguments({})
    try:
        value = decode_fast(text)
    except (ValueError, RecursionError):
        return _read_odd_text(text)
    if not isinstance(value, dict):
        return _read_odd_text(text)
    return Arguments(value if is_plain(text) else json_copy(value))


def _read_odd_text(text: str) -> Arguments:
    """Read text that is not simply one JSON object: repeated keys, encoded twice, almost JSON."""
    repairs: list[Repair] = []
    value: Any = text
    for _ in range(_MAX_ENCODINGS):
        value, found = _decode_or_repair(value)
        repairs.extend(found)
        if not isinstance(value, str) or not value.lstrip().startswith(("{", '"')):
            break
        repairs.append(Repair(kind="double_encoded", detail="the arguments were JSON inside of a JSON string"))
    return Arguments(_as_object(json_copy(value)), tuple(repairs))


def _decode_or_repair(text: str) -> tuple[Any, list[Repair]]:
    repairs: list[Repair] = []
    try:
        value, repeated = decode_whole(text)
    except json.JSONDecodeError as fault:
        from toolrelay.formats.arguments.repair import repair  # whoever reads only good arguments does not pay for it

        value, how, repeated = repair(text, fault)
        repairs = [Repair(kind="json_syntax", detail=how)]
    kept = "the key stood there more than once; the last value was taken"
    return value, repairs + [Repair(kind="duplicate_key", path=pointer, detail=kept) for pointer in repeated]


def _as_object(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    name = _JSON_NAMES.get(type(value), "a number")
    raise JsonFault(ProblemKind.NOT_AN_OBJECT, f"they must be a dict (a JSON object), not {name}")


_JSON_NAMES: Final = {list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
