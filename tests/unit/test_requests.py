"""A request is made without the model's validation: it has to be what validation would have given."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.payloads import WHOLE, load
from toolrelay import NormalizedToolRequest, read_calls
from toolrelay.formats.arguments.reading import _read_text
from toolrelay.formats.arguments.strict_json import JsonFault, plain_object


@pytest.mark.parametrize("name", [entry["file"] for entry in WHOLE])
def test_a_request_is_what_validation_makes_of_its_members(name: str) -> None:
    for request in read_calls(load(name)):
        members = {field: getattr(request, field) for field in NormalizedToolRequest.model_fields}

        assert vars(request).keys() == NormalizedToolRequest.model_fields.keys()
        assert list(vars(request)) == list(NormalizedToolRequest.model_fields)
        assert NormalizedToolRequest(**members) == request
        assert NormalizedToolRequest(**members).model_dump_json() == request.model_dump_json()
        assert NormalizedToolRequest(**members).__pydantic_private__ == request.__pydantic_private__


def test_a_request_can_be_copied_and_not_changed() -> None:
    request = read_calls({"tool_calls": [{"function": {"name": "clock", "arguments": ""}}]})[0]
    copy = request.model_copy(update={"tool_call_id": "tc_1"})

    assert (request.tool_call_id, copy.tool_call_id) == (None, "tc_1")
    with pytest.raises(ValueError, match="frozen"):
        request.tool_name = "other"  # type: ignore[misc]  # that is the point


_KEYS = st.sampled_from(["a", "b", "a:{", "é", '"', "\\", ""])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _KEYS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)
_OBJECTS = st.dictionaries(_KEYS, _VALUES, max_size=4)
_PIECES = ['"a":1,', ",", ":", "{", "}", "[", "]", "1e999", "NaN", "-", " ", "\n", "null", "\\ud800", "0"]


@given(_OBJECTS, st.booleans())
def test_the_quick_way_reads_every_object_that_is_written_in_ascii(value: dict[str, Any], is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    quick = plain_object(text)

    assert quick == (value if text.isascii() and "\\u" not in text else None)
    assert _slow(text) == value


@given(_OBJECTS, st.data())
def test_the_quick_way_gives_what_the_slow_one_gives_for_text_that_was_changed_a_little(
    value: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    removed = data.draw(st.integers(0, 2))
    text = text[:at] + data.draw(st.sampled_from(_PIECES)) + text[at + removed :]
    quick = plain_object(text)

    assert quick is None or json.dumps(_slow(text)) == json.dumps(quick)


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', '{"a":{"b":1,"b":2}}', '{"a":":","a":1}', '{"a":[1],"b":NaN}', '{"a":1e999}', '{"a":1}{', "[1]"],
)
def test_the_quick_way_leaves_what_is_odd_to_the_slow_one(text: str) -> None:
    assert plain_object(text) is None


def _slow(text: str) -> Any:
    try:
        arguments = _read_text(text, 1000)
    except JsonFault as fault:
        return fault
    return arguments.values if not arguments.repairs else arguments
