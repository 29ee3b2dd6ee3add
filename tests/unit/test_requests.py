"""A request is made without the model's validation: it has to be what validation would have given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.payloads import WHOLE, load
from toolrelay import NormalizedToolRequest, read_calls
from toolrelay.formats._arguments import _read_text
from toolrelay.formats._json import JsonFault, plain_object


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


_TEXTS = st.lists(
    st.sampled_from(
        ['"a"', '"b"', '"a:{"', ":", ",", "{", "}", "[", "]", "1", "1.5", "1e999", "NaN", " ", "null", "é"]
    ),
    max_size=14,
).map(lambda pieces: "{" + "".join(pieces) + "}")


@given(_TEXTS)
def test_the_quick_way_to_read_arguments_gives_what_the_slow_one_gives(text: str) -> None:
    quick = plain_object(text)

    assert quick is None or (_slow(text), "no repairs") == (quick, "no repairs")


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
