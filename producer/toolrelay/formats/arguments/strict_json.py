"""Reading JSON text as strictly as a tool call needs it: what ``json`` lets pass in silence is found and located here.

Python's parser takes ``NaN``, turns ``1e400`` into infinity and forgets all but the last of two equal keys.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from json.scanner import make_scanner
from typing import Any, Final, NamedTuple, NoReturn

from toolrelay.formats.shared.text import is_well_formed
from toolrelay.models import ProblemKind

#: pydantic reads JSON no deeper than 200 levels; this leaves room for the request that the arguments stand in
MAX_NESTING: Final = 128
#: Python refuses longer decimal integers (``sys.get_int_max_str_digits``), also when they are to be written again
MAX_INTEGER_DIGITS: Final = 4300
#: an integer with more bits has more digits than that
MAX_INTEGER_BITS: Final = int(MAX_INTEGER_DIGITS * 3.3219)

_LONG_INTEGER: Final = re.compile(rf"\d{{{MAX_INTEGER_DIGITS + 1}}}")


class JsonFault(ValueError):
    """Arguments that cannot be used. The message says where and why, for the model."""

    def __init__(self, kind: ProblemKind, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Decoded(NamedTuple):
    """A JSON value, where its text ended, and the JSON pointers of keys that stood there more than once."""

    value: Any
    end: int
    repeated: tuple[str, ...] = ()


class _Odd(ValueError):
    """The fast parser met something that has to be located."""


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Odd
    return members


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise _Odd
    return number


def _refused(_: str) -> NoReturn:
    raise _Odd


def _decoder(*, strict: bool) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_unrepeated, parse_float=_finite, parse_constant=_refused, strict=strict)


_DECODER: Final = _decoder(strict=True)
_SCAN: Final = make_scanner(_DECODER)  # type: ignore[arg-type]  # the stub names the scanner itself
_SCAN_ONE: Final = make_scanner(json.JSONDecoder(parse_float=_finite, parse_constant=_refused))  # type: ignore[arg-type]
_LENIENT: Final = _decoder(strict=False)


def plain_object(text: str) -> dict[str, Any] | None:
    """Read text that is one JSON object with nothing odd about it, in a third of the time; ``None`` for all other text.

    ``None`` says nothing against the text: a closer look decides.
    """
    objects = text.count("{")
    if not text.isascii() or "\\u" in text or objects + text.count("[") > MAX_NESTING:
        return None
    try:
        value, end = (_SCAN_ONE if objects == 1 else _SCAN)(text, 0)
        # as many keys as colons: none of them stood there twice
        if objects == 1 and len(value) != text.count(":"):
            value, end = _SCAN(text, 0)
    except (ValueError, TypeError, RecursionError, StopIteration):
        return None
    return value if end == len(text) and type(value) is dict else None


def decode_fast(text: str) -> Any:
    """Read JSON text that has nothing odd about it; raises ``ValueError`` or ``RecursionError`` for everything else."""
    try:
        value, end = _SCAN(text, 0)
    except StopIteration:
        end = -1
    # the scanner alone is a third faster than the decoder around it, which reads spaces before and after the value
    return value if end == len(text) else _DECODER.decode(text)


def is_plain(text: str) -> bool:
    """Whether this JSON text cannot hold values nested too deep or half of a surrogate pair: told without parsing."""
    if text.count("{") + text.count("[") > MAX_NESTING:
        return False
    is_written_out = "\\u" not in text or ("\\ud" not in text and "\\uD" not in text)
    return is_written_out and (text.isascii() or is_well_formed(text))


def decode(text: str, *, allow_control_characters: bool = False) -> Decoded:
    """Read the JSON value that the text begins with.

    Raises ``json.JSONDecodeError`` where it is no JSON, ``JsonFault`` where it is JSON that others do not read.
    """
    decoder = _LENIENT if allow_control_characters else _DECODER
    start = len(text) - len(text.lstrip(" \t\r\n"))
    try:
        value, end = decoder.raw_decode(text, start)
        return Decoded(value, end)
    except json.JSONDecodeError:
        raise
    except _Odd:
        return _decode_located(text, start, strict=decoder is _DECODER)
    except RecursionError:
        raise too_deep() from None
    except ValueError:
        raise _too_long(text) from None


def decode_whole(text: str) -> tuple[Any, tuple[str, ...]]:
    """Read text that is one JSON value and nothing else; raises as ``decode`` does."""
    value, end, repeated = decode(text)
    if text[end:].strip():
        raise json.JSONDecodeError("Extra data", text, end)
    return value, repeated


def too_deep() -> JsonFault:
    """Make the fault of values nested beyond ``MAX_NESTING``."""
    return JsonFault(ProblemKind.INVALID_JSON, f"values are nested more than {MAX_NESTING} deep")


def _too_long(text: str) -> JsonFault:
    match = _LONG_INTEGER.search(text)
    where = f" (at character {match.start()})" if match else ""
    return JsonFault(ProblemKind.INVALID_JSON, f"an integer has more than {MAX_INTEGER_DIGITS} digits{where}")


def bounded_integer(digits: str) -> int:
    """Read an integer of a whole message: one call's absurd number must not hide its siblings.

    What stands for it is refused where the arguments are read.
    """
    return int(digits) if len(digits) <= MAX_INTEGER_DIGITS else 10**MAX_INTEGER_DIGITS


class _NotANumber:
    def __init__(self, text: str) -> None:
        self.text = text[:20]


def _decode_located(text: str, start: int, *, strict: bool) -> Decoded:
    """Read once more, slowly, and remember where the odd things are."""
    repeated: dict[int, list[str]] = {}
    objects: list[dict[str, Any]] = []

    def members_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        if len(members) != len(pairs):
            objects.append(members)  # keeps the object alive, and with it its id
            repeated[id(members)] = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
        return members

    def number_of(digits: str) -> Any:
        number = float(digits)
        return number if number - number == 0 else _NotANumber(digits)

    decoder = json.JSONDecoder(
        object_pairs_hook=members_of, parse_float=number_of, parse_constant=_NotANumber, strict=strict
    )
    try:
        value, end = decoder.raw_decode(text, start)
    except RecursionError:
        raise too_deep() from None
    pointers: list[str] = []

    def visit(pointer: str, found: Any) -> None:
        if isinstance(found, _NotANumber):
            raise JsonFault(ProblemKind.INVALID_JSON, f"{found.text} at {pointer or '/'} is not a JSON number")
        pointers.extend(f"{pointer}/{escape(key)}" for key in repeated.get(id(found), ()))

    walk(value, visit)
    return Decoded(value, end, tuple(pointers))


def walk(value: Any, visit: Callable[[str, Any], None]) -> None:
    """Call ``visit(pointer, value)`` for every value inside, the outer before the inner; needs no deep stack."""
    pending: list[tuple[str, Any]] = [("", value)]
    while pending:
        pointer, found = pending.pop()
        visit(pointer, found)
        if isinstance(found, dict):
            pending.extend((f"{pointer}/{escape(key)}", inner) for key, inner in found.items())
        elif isinstance(found, list):
            pending.extend((f"{pointer}/{index}", inner) for index, inner in enumerate(found))


#: the way down to a value: the way to what holds it, and its key or index there
Way = tuple["Way", Any] | None


def pointer(way: Way) -> str:
    """Write a way as a JSON pointer (RFC 6901); ``""`` is the whole."""
    steps: list[str] = []
    while way is not None:
        way, step = way
        steps.append(f"/{escape(str(step))}")
    return "".join(reversed(steps))


def escape(key: str) -> str:
    """Write a key as one step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
