from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, Field

from toolrelay.errors import SchemaMismatchError
from toolrelay_worker.outputs import MAX_DEPTH, to_json


@dataclasses.dataclass
class Point:
    x: int
    tags: Any = None


class Forecast(BaseModel):
    city: str = Field(alias="cityName")
    at: dt.date


class Color(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "2026-01-02T03:04:05Z"),
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.timedelta(seconds=90), "PT1M30S"),
        (decimal.Decimal("10.10"), "10.10"),
        (b"\xff\x00", "_wA="),
        (bytearray(b"x"), "eA=="),
        ({"b", "a", "c"}, ["a", "b", "c"]),
        (frozenset({3, 1}), [1, 3]),
        ((1, (2,)), [1, [2]]),
        (Point(1, {"b", "a"}), {"x": 1, "tags": ["a", "b"]}),
        (Color.RED, "red"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ({7: "seven", True: 1, None: 0}, {"7": "seven", "true": 1, "None": 0}),
        (OrderedDict(a=1), {"a": 1}),
        (Forecast(cityName="Oslo", at=dt.date(2026, 1, 2)), {"cityName": "Oslo", "at": "2026-01-02"}),
        ([Forecast(cityName="Oslo", at=dt.date(2026, 1, 2))], [{"cityName": "Oslo", "at": "2026-01-02"}]),
        (2**100, 2**100),
        ("å€ 😀", "å€ 😀"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_tools_return_becomes_json(value: Any, expected: Any) -> None:
    output = to_json(value)

    assert output == expected
    assert json.loads(json.dumps(output, allow_nan=False)) == expected


class Number(BaseModel):
    value: float


def _count() -> Iterator[int]:
    while True:
        yield 1


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param(math.nan, "it is nan", id="NaN"),
        pytest.param({"a": [0, math.inf]}, "/a/1 is inf", id="infinity inside"),
        pytest.param(Number(value=math.nan), "/value is nan", id="NaN in a model"),
        pytest.param({"a": object()}, "/a is of type object", id="an object"),
        pytest.param({"a/b": ValueError("x")}, "/a~1b is of type ValueError", id="an exception"),
        pytest.param(Point, "it is of type type", id="a class"),
        pytest.param(Point(1, len), "/tags is of type builtin_function_or_method", id="inside a dataclass"),
        pytest.param({Point: 1}, "key of type type", id="a key"),
        pytest.param({7: 1, "7": 2}, "two keys that are both written '7'", id="two keys that become one"),
        pytest.param({"a": "\ud800"}, "/a is text with half a surrogate pair", id="a lone surrogate"),
        pytest.param(10**5000, "it is an integer of", id="an integer that Python will not write"),
        pytest.param(_count(), "it is of type generator", id="a generator, which may never end"),
        pytest.param(CYCLE, "contains itself", id="a list that contains itself"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_type_and_place(value: Any, said: str) -> None:
    with pytest.raises(SchemaMismatchError) as caught:
        to_json(value)

    assert said in str(caught.value)
    assert len(str(caught.value)) < 500


def test_the_deepest_output_can_be_read_back_inside_a_result() -> None:
    from toolrelay.models import NormalizedToolResult

    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = [value]

    result = NormalizedToolResult(tool_call_id="tc_1", tool_name="t", success=True, output=to_json(value))

    assert NormalizedToolResult.model_validate_json(result.model_dump_json()).output == value
    with pytest.raises(SchemaMismatchError):
        to_json([value])


def test_the_value_itself_is_left_as_it_is() -> None:
    value = {"a": {1, 2}, 3: (4,)}

    to_json(value)

    assert value == {"a": {1, 2}, 3: (4,)}
