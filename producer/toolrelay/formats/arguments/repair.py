"""Arguments that are almost JSON: how they are written may be put right, what they say may not be changed.

``json-repair`` proposes a reading; it is taken only if every character of the text is accounted for by it (see
``witness``). Text that ends in the middle is never completed: half an amount is a wrong amount.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

import json_repair

from toolrelay.formats.arguments.strict_json import Decoded, JsonFault, decode
from toolrelay.formats.arguments.witness import Mismatch, end_of
from toolrelay.models import ProblemKind

#: repairing is slow, and a model does not write longer arguments with mistakes of syntax that are worth it
MAX_REPAIR_CHARS: Final = 100_000

_FENCE: Final = re.compile(r"```[\w-]*\s*")
#: a quote opens a text only where a key or a value may stand: the apostrophe in "it's" opens none
_BEFORE_QUOTE: Final = ("", "{", "[", ",", ":")
#: where an object's last value is a text, and where that text would end if it ended later
_TEXT_END: Final = re.compile(r"""["'][\]}\s]*\}\Z""")
_ANOTHER_END: Final = re.compile(r"""["']\s*[\]}]""")
_CLOSERS: Final = "}])`\"'; \t\r\n"


class Repaired(NamedTuple):
    """The value, what was done to read it, and the pointers of keys that stood there more than once."""

    value: Any
    how: str
    repeated: tuple[str, ...] = ()


def repair(text: str, fault: json.JSONDecodeError) -> Repaired:
    """Read text that is no JSON; ``fault`` is what the parser said.

    Raises ``JsonFault``: ``truncated`` if the text ends in the middle, ``invalid_json`` if only guessing is left.
    """
    stripped = text.strip().removeprefix("\ufeff").strip()
    body = _unfenced(stripped)
    if _is_cut_off(body):
        raise JsonFault(ProblemKind.TRUNCATED, "they are truncated, the text ends in the middle")
    how = "code fence" if body != stripped else "byte order mark" if body != text.strip() else ""
    found = _with_rubbish(body, how) or _proposed(body)
    if found is None:
        raise JsonFault(ProblemKind.INVALID_JSON, _explain(fault))
    return found


def _explain(fault: json.JSONDecodeError) -> str:
    return f"line {fault.lineno}, column {fault.colno}: {fault.msg[:1].lower()}{fault.msg[1:]}"


def _unfenced(text: str) -> str:
    # what closes the fence is trailing text like any other
    opening = _FENCE.match(text)
    return text[opening.end() :] if opening else text


def _with_rubbish(text: str, how: str) -> Repaired | None:
    """Read one object that raw control characters in a text, or something behind it, keep from being JSON."""
    try:
        found = decode(text)
    except json.JSONDecodeError:
        try:
            found = decode(text, allow_control_characters=True)
        except json.JSONDecodeError:
            return None
        how = how or "raw control characters"
    if text[found.end :].strip() and not _is_rubbish(found, text):
        return None
    return Repaired(found.value, how or "trailing text", found.repeated)


def _is_rubbish(found: Decoded, text: str) -> bool:
    """Whether what follows the value says nothing.

    A comma goes on with the object, a brace begins another one: to drop either would drop what the model said. Behind
    an object that ends in a text, a quote and a brace may as well be the end of that text, and of the object.
    """
    rest = text[found.end :]
    goes_on = rest.lstrip(_CLOSERS).startswith((",", ":"))
    ends_in_text = _TEXT_END.search(text, 0, found.end) is not None
    is_open = ends_in_text and _ANOTHER_END.search(rest) is not None
    return isinstance(found.value, dict) and not goes_on and not is_open and "{" not in rest


def _proposed(text: str) -> Repaired | None:
    if len(text) > MAX_REPAIR_CHARS or not text.startswith("{"):
        return None
    try:
        value = json_repair.repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    try:
        end = end_of(text, value)
    except Mismatch:
        return None
    if not _is_rubbish(Decoded(value, end), text):
        return None
    return Repaired(value, "quotes, literals or commas")


def _is_cut_off(text: str) -> bool:
    """Whether a text or a bracket is still open at the end."""
    open_brackets: list[str] = []
    before = ""
    at = 0
    while at < len(text):
        char = text[at]
        if char in "\"'" and before in _BEFORE_QUOTE:
            at = _closing_quote(text, at)
            if at < 0:
                return True
        elif char in "{[":
            open_brackets.append("}" if char == "{" else "]")
        elif char in "}]":
            if not open_brackets or open_brackets.pop() != char:
                return False
            if not open_brackets:
                return False  # what follows is trailing text
        if not char.isspace():
            before = char
        at += 1
    return bool(open_brackets)


def _closing_quote(text: str, start: int) -> int:
    at = start + 1
    while (found := text.find(text[start], at)) >= 0:
        backslashes = found - at - len(text[at:found].rstrip("\\"))
        if backslashes % 2 == 0:
            return found
        at = found + 1
    return -1
