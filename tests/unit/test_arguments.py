"""Arguments as models write them: what is read, what is put right, what is refused and with which words."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrelay import read_calls
from toolrelay.models import NormalizedToolRequest


def read(arguments: Any, **options: Any) -> NormalizedToolRequest:
    (call,) = read_calls({"tool_calls": [{"function": {"name": "x", "arguments": arguments}}]}, **options)
    return call


def short(value: Any) -> str | None:
    """Name a case by its text; pytest numbers the others."""
    return ascii(value[:40]) if isinstance(value, str) else None


READ: list[tuple[Any, dict[str, Any]]] = [
    ("", {}),
    ("  \n", {}),
    (None, {}),
    ({}, {}),
    ("{}", {}),
    (b'{"a": 1}', {"a": 1}),
    ('{"a": 9007199254740993}', {"a": 9007199254740993}),
    ('{"a": ' + "9" * 4300 + "}", {"a": int("9" * 4300)}),
    ('{"body": "if (a) {b}{c} it\'s fine", "tail": "}"}', {"body": "if (a) {b}{c} it's fine", "tail": "}"}),
    ('{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
    ({"a": [{"b": (1, 2)}]}, {"a": [{"b": [1, 2]}]}),
    ('{"a": ' + "[" * 127 + "]" * 127 + "}", {"a": json.loads("[" * 127 + "]" * 127)}),
]


@pytest.mark.parametrize(("arguments", "values"), READ, ids=short)
def test_whole_arguments_are_read_without_a_repair(arguments: Any, values: dict[str, Any]) -> None:
    call = read(arguments)

    assert (values, None, ()) == (call.arguments, call.problem, call.repairs)


REPAIRED: list[tuple[str, dict[str, Any], str]] = [
    ("{'order_id': 'ORD-1'}", {"order_id": "ORD-1"}, "json_syntax"),
    ("{'a': True, 'b': None, 'c': False}", {"a": True, "b": None, "c": False}, "json_syntax"),
    ("{'it': 'don\\'t', 'n': [1, 2.5, -3]}", {"it": "don't", "n": [1, 2.5, -3]}, "json_syntax"),
    ('{"a": 1,}', {"a": 1}, "json_syntax"),
    ('{city: "Oslo"}', {"city": "Oslo"}, "json_syntax"),
    ('{"a": "say "hi" now"}', {"a": 'say "hi" now'}, "json_syntax"),
    ('{"a": "one\\q"}', {"a": "one\\q"}, "json_syntax"),
    ("{\u201ca\u201d: \u201cb\u201d}", {"a": "b"}, "json_syntax"),
    ('{"body": "line one\nline\ttwo"}', {"body": "line one\nline\ttwo"}, "json_syntax"),
    ('{"a": 1}}', {"a": 1}, "json_syntax"),
    ('{"a": 1}"}', {"a": 1}, "json_syntax"),
    ('{"a": "b"}"', {"a": "b"}, "json_syntax"),
    ('{"a": "he said "hi" to me"}', {"a": 'he said "hi" to me'}, "json_syntax"),
    ('{"a": 1}\n\nI hope this helps.', {"a": 1}, "json_syntax"),
    ('{"a": 1}<|call|>', {"a": 1}, "json_syntax"),
    ('```json\n{"a": 1}\n```', {"a": 1}, "json_syntax"),
    ('```{"a": 1}```', {"a": 1}, "json_syntax"),
    ('\ufeff{"a": 1}', {"a": 1}, "json_syntax"),
    ('"{\\"city\\": \\"Oslo\\"}"', {"city": "Oslo"}, "double_encoded"),
]


@pytest.mark.parametrize(("text", "values", "repair"), REPAIRED)
def test_a_repair_changes_only_how_the_text_is_written_and_is_recorded(
    text: str, values: dict[str, Any], repair: str
) -> None:
    call = read(text)

    assert (values, None, [repair]) == (call.arguments, call.problem, [done.kind for done in call.repairs])


def test_a_repeated_key_is_recorded_with_its_place_and_the_last_value_taken() -> None:
    call = read('{"a": {"b/c": 1, "b/c": 2}, "d": [{"e": 1, "e": 2}]}')

    assert call.arguments == {"a": {"b/c": 2}, "d": [{"e": 2}]}
    assert {("duplicate_key", "/a/b~1c"), ("duplicate_key", "/d/0/e")} == {
        (done.kind, done.path) for done in call.repairs
    }


REFUSED: list[tuple[Any, str, str]] = [
    ("[1, 2]", "not_an_object", "not an array"),
    ("7", "not_an_object", "not a number"),
    ("null", "not_an_object", "not null"),
    ('"text"', "not_an_object", "not a string"),
    ("true", "not_an_object", "not a boolean"),
    ([1], "not_an_object", "not an array"),
    (7, "not_an_object", "not a number"),
    ("not json", "invalid_json", "line 1, column 1"),
    ('{"a": Oslo}', "invalid_json", "line 1, column 7"),
    ('{"a":1}{"b":2}', "invalid_json", "line 1, column 8"),
    ('{"a": 1}, "b": 2}', "invalid_json", "column 9"),
    ('{"a": [1,2}', "invalid_json", "column 11"),
    ('{"q": "one" + "two"}', "invalid_json", "column 13"),  # an expression, or a text with quotes in it
    ("{'q': 'one' + 'two'}", "invalid_json", "column 2"),
    ('{"q": "x" or "y"}', "invalid_json", "column 11"),
    ('{"s":"a"}"}', "invalid_json", "column 10"),  # the text may as well be: a"}
    ('{"s":["a"]}"]}', "invalid_json", "column 12"),
    ("{'a': nan}", "invalid_json", "parse error"),
    ("{'a': 007}", "invalid_json", "parse error"),
    ("{'a': 1, 'a': 2}", "invalid_json", "parse error"),
    ('{"temp": NaN}', "invalid_json", "NaN at /temp"),
    ('{"a": [0, -Infinity]}', "invalid_json", "-Infinity at /a/1"),
    ('{"a": {"b": 1e400}}', "invalid_json", "1e400 at /a/b"),
    ('{"a": "\\ud800"}', "invalid_json", "/a holds half of a surrogate pair"),
    ('{"a": "x\ud800"}', "invalid_json", "/a holds half of a surrogate pair"),
    ('{"a": ' + "9" * 4301 + "}", "invalid_json", "more than 4300 digits"),
    ("[" * 1000 + "]" * 1000, "invalid_json", "nested more than 128 deep"),
    ("[" * 100_000, "invalid_json", "nested more than 128 deep"),
    ('{"a":' * 1000 + "1" + "}" * 1000, "invalid_json", "nested more than 128 deep"),
    ('{"a": ' + "[" * 128 + "]" * 128 + "}", "invalid_json", "nested more than 128 deep"),
    ({"a": {"b": float("nan")}}, "invalid_json", "nan at /a/b"),
    ({"a": {7: 1}}, "invalid_json", "a key of the object at /a"),
    ({"a": b"x"}, "invalid_json", "/a is of type bytes"),
    ({"a": 10**5000}, "invalid_json", "/a has more than 4300 digits"),
    (b'{"a": "\xff"}', "invalid_json", "surrogate"),
    ('{"key": ', "truncated", "truncated"),
    ('{"order_id": "ORD-1", "amount_cents": 5,', "truncated", "truncated"),
    ('{"a": "x', "truncated", "truncated"),
    ('{"a": tru', "truncated", "truncated"),
    ('{"a": {"b": 12', "truncated", "truncated"),
    ("{'a': 'it\\'s", "truncated", "truncated"),
    ('```json\n{"a": 1', "truncated", "truncated"),
    ('"{\\"a\\": 1', "truncated", "truncated"),
    ('"{\\"a\\": 1"', "truncated", "truncated"),
]


@pytest.mark.parametrize(("arguments", "kind", "words"), REFUSED, ids=short)
def test_arguments_that_cannot_be_used_become_a_problem_that_says_where(arguments: Any, kind: str, words: str) -> None:
    call = read(arguments)

    assert call.problem is not None
    assert (kind, "parse", {}) == (call.problem.kind, call.problem.category, call.arguments)
    assert words in call.problem.message
    assert len(call.problem.message) < 300
    received = arguments.decode("utf-8", "replace") if isinstance(arguments, bytes) else arguments
    raw = received.replace("\ud800", "\ufffd") if isinstance(received, str) else None
    assert raw == call.problem.raw_arguments


@pytest.mark.parametrize(
    ("arguments", "words"),
    [('{"\\ud800": NaN}', "NaN at /\ufffd"), ({"\ud800": float("nan")}, "a key of the object at /")],
)
def test_what_is_said_of_a_broken_key_can_be_written(arguments: Any, words: str) -> None:
    call = read(arguments)

    assert call.problem is not None
    assert words in call.problem.message
    assert type(call).model_validate_json(call.model_dump_json()).problem == call.problem


def test_a_deep_pile_of_objects_is_a_problem_too() -> None:
    pile: Any = 1
    for _ in range(5000):
        pile = {"a": pile}

    problem = read(pile).problem

    assert problem is not None
    assert "nested more than 128 deep" in problem.message


@pytest.mark.parametrize(("size", "is_refused"), [(100, False), (101, True)])
def test_text_over_the_limit_is_refused_with_the_limit(size: int, is_refused: bool) -> None:
    text = json.dumps({"a": ""})
    text = json.dumps({"a": "x" * (size - len(text))})

    problem = read(text, max_arguments_bytes=100).problem

    assert is_refused == (problem is not None)
    if problem is not None:
        assert (problem.category, "101 bytes" in problem.message, "100" in problem.message) == ("parse", True, True)


def test_the_limit_counts_bytes_not_characters() -> None:
    text = json.dumps({"a": "\u20ac" * 20}, ensure_ascii=False)

    assert len(text) < 50 < len(text.encode())
    assert read(text, max_arguments_bytes=50).problem is not None
    assert read(text, max_arguments_bytes=len(text.encode())).problem is None


def test_ten_mebibytes_are_the_limit_when_none_is_given() -> None:
    assert read(json.dumps({"a": "x" * (10 * 2**20 - 10)})).problem is None
    assert read(json.dumps({"a": "x" * (10 * 2**20)})).problem is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=5)


@given(OBJECTS, st.booleans())
def test_whatever_is_an_object_comes_out_as_it_is(values: dict[str, Any], ascii_only: bool) -> None:
    as_text = read(json.dumps(values, ensure_ascii=ascii_only))
    as_object = read(values)

    assert (values, None, ()) == (as_text.arguments, as_text.problem, as_text.repairs)
    assert (values, None) == (as_object.arguments, as_object.problem)


@given(OBJECTS, st.data())
def test_no_beginning_of_an_object_is_ever_completed(values: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(values)
    cut = text[: data.draw(st.integers(min_value=1, max_value=len(text) - 1))]

    problem = read(cut).problem

    assert problem is not None
    assert problem.kind == "truncated"


@given(st.text(alphabet=string.printable + "\u20ac\ud800", max_size=60))
def test_any_text_gives_arguments_or_a_problem(text: str) -> None:
    call = read("{" + text)

    assert call.problem is None or call.problem.category == "parse"
    NormalizedToolRequest.model_validate_json(call.model_dump_json())
