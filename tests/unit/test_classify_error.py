from __future__ import annotations

import errno
import json
from types import SimpleNamespace

import pydantic
import pytest

from toolrelay import classify_error
from toolrelay.errors import ErrorCategory, InvalidArgumentsError

TEXTS = [
    ("Operation timed out after 30s", "timeout"),
    ("Permission denied: cannot write", "permission"),
    ("Tool 'x/y' not found", "not_found"),
    ("Insufficient memory for operation", "resource"),
    ("Schema validation failed", "schema"),
    ("Failed to parse response", "parse"),
    ("Something unexpected happened", "execution"),
    ("", "unknown"),
    ("  \n", "unknown"),
    (None, "unknown"),
    # what stands in quotes names a thing
    ("Tool 'schema/parse' not found", "not_found"),
    ("Tool 'timeout' exploded", "execution"),
    ('The value "permission denied" is too long', "execution"),
    ("`memory` went wrong", "execution"),
    ("\u201cnot found\u201d went wrong", "execution"),
    ("'it's a timeout' was shown", "execution"),
    # an apostrophe opens no quote
    ("can't parse what they're sending", "parse"),
    ("don't know: permission's gone, it's denied", "permission"),
    # whole words only
    ("the sparse matrix is diskette-shaped", "execution"),
    ("RATE LIMIT reached", "rate_limit"),
    ("HTTP 429 with Retry-After: 7", "rate_limit"),
    ("HTTP/1.1 503", "resource"),
    ("status code 404", "not_found"),
    ("HTTP 422", "execution"),
    ("the job was cancelled", "cancelled"),
    ("the worker was lost", "worker_lost"),
]


@pytest.mark.parametrize(("text", "category"), TEXTS)
def test_a_text_is_sorted_by_its_words(text: str | None, category: str) -> None:
    assert ErrorCategory(category) == classify_error(text)


class Refused(Exception):
    def __init__(self, status: object) -> None:
        super().__init__("permission to time out was not found")
        self.status_code = status


class Answered(Exception):
    def __init__(self, status: int) -> None:
        super().__init__("no")
        self.response = SimpleNamespace(status_code=status)


class Timeout(Exception):
    """Named like the base class of another library."""


class ConnectTimeout(Timeout):
    pass


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def validation_error() -> pydantic.ValidationError:
    try:
        pydantic.TypeAdapter(int).validate_python("x")
    except pydantic.ValidationError as exc:
        return exc
    raise AssertionError


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


EXCEPTIONS = [
    ("type before text", TimeoutError("permission denied"), "timeout"),
    ("no text at all", TimeoutError(), "timeout"),
    ("permission", PermissionError("not found"), "permission"),
    ("file", FileNotFoundError("permission"), "not_found"),
    ("memory", MemoryError(), "resource"),
    ("connection", ConnectionResetError("schema"), "resource"),
    ("disk full", OSError(errno.ENOSPC, "parse"), "resource"),
    ("json", json.JSONDecodeError("timed out", "x", 0), "parse"),
    ("pydantic", validation_error(), "schema"),
    ("a missing key says nothing about schemas", KeyError("schema"), "execution"),
    ("own category", InvalidArgumentsError("timed out"), "parse"),
    ("named base class", ConnectTimeout("permission"), "timeout"),
    ("429", Refused(429), "rate_limit"),
    ("401", Refused(401), "permission"),
    ("403", Refused(403), "permission"),
    ("404", Refused(404), "not_found"),
    ("408", Refused(408), "timeout"),
    ("504", Refused(504), "timeout"),
    ("500", Refused(500), "resource"),
    ("529", Refused(529), "resource"),
    ("400 is known, whatever the text says", Refused(400), "execution"),
    ("no status: the text", Refused("odd"), "timeout"),
    ("response", Answered(429), "rate_limit"),
    ("cause", caused(RuntimeError("permission"), TimeoutError()), "timeout"),
    ("own type before the cause's", caused(PermissionError("x"), TimeoutError()), "permission"),
    ("group of one kind", ExceptionGroup("two", [TimeoutError(), Refused(408)]), "timeout"),
    ("group of several kinds", ExceptionGroup("odd", [TimeoutError(), PermissionError()]), "execution"),
    ("text last", RuntimeError("Failed to parse"), "parse"),
    ("raised without words", RuntimeError(), "execution"),
    ("cannot be printed", Unprintable(), "execution"),
]


@pytest.mark.parametrize(("error", "category"), [case[1:] for case in EXCEPTIONS], ids=[case[0] for case in EXCEPTIONS])
def test_an_exception_is_sorted_by_type_before_words(error: BaseException, category: str) -> None:
    assert ErrorCategory(category) == classify_error(error)


def test_causes_that_go_round_in_a_circle_end() -> None:
    first, second = RuntimeError("one"), RuntimeError("two")
    first.__cause__, second.__cause__ = second, first

    assert classify_error(first) == ErrorCategory.EXECUTION


def raised_from_its_group(member: Exception) -> Exception:
    """Give what ``except ExceptionGroup as group: raise group.exceptions[0] from group`` raises."""
    return caused(member, ExceptionGroup("two", [member, RuntimeError("x")]))


def twice(depth: int, inside: Exception) -> Exception:
    for _ in range(depth):
        inside = ExceptionGroup("twice", [inside, inside])
    return inside


GROUPS = [
    ("a member by its type", raised_from_its_group(TimeoutError()), "timeout"),
    ("a member by its words", raised_from_its_group(RuntimeError("Failed to parse")), "parse"),
    ("the group of such a member", raised_from_its_group(RuntimeError("x")).__cause__, "execution"),
    ("groups in a group", ExceptionGroup("", [TimeoutError(), ExceptionGroup("", [TimeoutError()])]), "timeout"),
    (
        "a group behind a member",
        ExceptionGroup("", [caused(ValueError(), ExceptionGroup("", [OSError(12, "")]))]),
        "resource",
    ),
    ("a thousand deep", twice(1000, PermissionError()), "permission"),
    (
        "of several kinds, with a cause",
        caused(ExceptionGroup("", [TimeoutError(), OSError()]), MemoryError()),
        "resource",
    ),
]


@pytest.mark.parametrize(("error", "category"), [case[1:] for case in GROUPS], ids=[case[0] for case in GROUPS])
def test_groups_that_contain_what_they_caused_are_sorted_once(error: BaseException, category: str) -> None:
    assert ErrorCategory(category) == classify_error(error)


def test_a_hostile_message_is_sorted_quickly() -> None:
    assert classify_error(" '" * 200_000) == ErrorCategory.EXECUTION
