from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import uuid
from collections import OrderedDict, UserDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pydantic.dataclasses
import pytest
from pydantic import BaseModel, Field

from toolrelay.errors import SchemaMismatchError
from toolrelay.outputs import MAX_DEPTH, MAX_VALUES, as_base64, lenient_json, strict_json


@dataclasses.dataclass
class Point:
    x: int
    tags: Any = None


class Forecast(BaseModel):
    city: str = Field(alias="cityName")
    at: dt.date


class Color(enum.Enum):
    RED = "red"


WRITTEN: list[tuple[Any, Any]] = [
    (dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC), "2026-01-02T03:04:05Z"),
    (dt.date(2026, 1, 2), "2026-01-02"),
    (dt.timedelta(seconds=90), "PT1M30S"),
    (decimal.Decimal("10.10"), "10.10"),
    (b"\xff\xef\xbe", "/+++"),
    (bytearray("å".encode()), "å"),
    (memoryview(b"x"), "x"),
    ({"b", "a", "c"}, ["a", "b", "c"]),
    (frozenset({3, 1}), [1, 3]),
    ((1, (2,)), [1, [2]]),
    (Point(1, {"b", "a"}), {"x": 1, "tags": ["a", "b"]}),
    (Color.RED, "red"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ({7: "seven", True: 1, None: 0}, {"7": "seven", "true": 1, "null": 0}),
    (OrderedDict(a=1), {"a": 1}),
    (Forecast(cityName="Oslo", at=dt.date(2026, 1, 2)), {"cityName": "Oslo", "at": "2026-01-02"}),
    ([Forecast(cityName="Oslo", at=dt.date(2026, 1, 2))], [{"cityName": "Oslo", "at": "2026-01-02"}]),
    (2**100, 2**100),
    ("å€ 😀", "å€ 😀"),
]


@pytest.mark.parametrize(("value", "expected"), WRITTEN, ids=lambda value: type(value).__name__)
def test_what_tools_return_becomes_json(value: Any, expected: Any) -> None:
    output = strict_json(value)

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
        strict_json(value)

    assert said in str(caught.value)
    assert len(str(caught.value)) < 500


def test_the_deepest_output_can_be_read_back_inside_a_result() -> None:
    from toolrelay.models import NormalizedToolResult

    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = [value]

    result = NormalizedToolResult(tool_call_id="tc_1", tool_name="t", success=True, output=strict_json(value))

    assert NormalizedToolResult.model_validate_json(result.model_dump_json()).output == value
    with pytest.raises(SchemaMismatchError):
        strict_json([value])


def test_the_value_itself_is_left_as_it_is() -> None:
    value = {"a": {1, 2}, 3: (4,)}

    strict_json(value)

    assert value == {"a": {1, 2}, 3: (4,)}


class Blob(BaseModel):
    raw: bytes
    more: Any = None


@dataclasses.dataclass
class PlainBlob:
    raw: bytes


@pydantic.dataclasses.dataclass
class PydanticBlob:
    raw: bytes


@pytest.mark.parametrize("convert", [strict_json, lenient_json])
@pytest.mark.parametrize("made", [Blob(raw=b"\xff"), PlainBlob(b"\xff"), PydanticBlob(b"\xff"), {"raw": b"\xff"}])
def test_bytes_read_alike_wherever_they_stand(convert: Callable[[Any], Any], made: Any) -> None:
    extra = {"more": None} if isinstance(made, Blob) else {}

    assert convert(made) == {"raw": "/w==", **extra}
    assert convert([made]) == [{"raw": "/w==", **extra}]
    assert convert(Blob(raw=b"text", more=made)) == {"raw": "text", "more": {"raw": "/w==", **extra}}


@pytest.mark.parametrize(
    "value",
    [
        *(value for value, _ in WRITTEN),
        {(1, 2): "a", Color.RED: "b", dt.date(2026, 1, 2): "c"},
        deque([1, b"\xff"]),
        range(3),
        {"a": 1}.keys(),
        UserDict({"a": 1}),
        Path("/a"),
        {10, 9},
        {1, "a"},
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_two_ways_disagree_only_about_what_json_cannot_hold(value: Any) -> None:
    assert strict_json(value) == lenient_json(value)


def _parent() -> Any:
    parent: dict[str, Any] = {"kids": []}
    parent["kids"] = [{"p": parent}, {"p": parent}]
    return parent


def _doubled(times: int) -> Any:
    value: list[Any] = [0]
    for _ in range(times):
        value = [value, value]
    return value


class Node(BaseModel):
    kids: list[Any] = []


def _model_parent() -> Any:
    node = Node()
    node.kids = [node]
    return node


def _models(times: int) -> Any:
    node = Node()
    for _ in range(times):
        node = Node(kids=[node, node])
    return node


class Hostile(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        return 1

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("closed")

    def __len__(self) -> int:
        return 1


class Endless(Sequence[int]):
    def __getitem__(self, index: Any) -> Any:
        return index

    def __len__(self) -> int:
        return 1


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


UNFIT: list[Any] = [
    pytest.param(_parent(), {"kids": [{"p": "…"}, {"p": "…"}]}, "/kids/0/p contains itself", id="a parent"),
    pytest.param(CYCLE, ["…"], "/0 contains itself", id="a list in itself"),
    pytest.param(Hostile(), "<Hostile>", "raised RuntimeError when it was read", id="a mapping that raises"),
    pytest.param([Hostile(), 1], ["<Hostile>", 1], "the value at /0 is of type Hostile", id="the same inside"),
    pytest.param(Endless(), "…", "more than 1000000 values", id="a sequence without an end"),
    pytest.param(Unprintable(), "<Unprintable>", "it is of type Unprintable", id="an object that cannot be shown"),
    pytest.param(object(), "<object>", "it is of type object", id="an object"),
    pytest.param(ValueError("boom"), "boom", "it is of type ValueError", id="an exception"),
    pytest.param({Point: 1, 2: 3}, {str(Point): 1, "2": 3}, "has a key of type type", id="a key"),
    pytest.param({7: 1, "7": 2}, {"7": 2}, "two keys", id="two keys that become one"),
    pytest.param({math.nan}, ["nan"], "/0 is nan", id="not a number"),
    pytest.param((i for i in range(3)), [0, 1, 2], "it is of type generator", id="a generator"),
    pytest.param(Node(kids=[object()]), {"kids": ["<object>"]}, "/kids/0 is of type object", id="inside a model"),
]


@pytest.mark.parametrize(("value", "instead", "said"), UNFIT)
def test_what_json_cannot_hold_is_described_or_refused(value: Any, instead: Any, said: str) -> None:
    with pytest.raises(SchemaMismatchError) as caught:
        strict_json(value)

    assert said in str(caught.value)
    assert lenient_json(value) == instead


@pytest.mark.parametrize("value", [_doubled(100), _models(60), _model_parent()], ids=["lists", "models", "a circle"])
def test_an_output_that_grows_without_bounds_is_given_up_soon(value: Any) -> None:
    with pytest.raises(SchemaMismatchError, match=f"more than {MAX_VALUES} values"):
        strict_json(value)
    assert len(json.dumps(lenient_json(value))) < 20 * MAX_VALUES


def test_an_iterator_without_an_end_is_read_for_a_while() -> None:
    read = lenient_json(_count())

    assert read == [*[1] * 10_000, "…"]


def test_what_is_json_already_stays_as_it_is() -> None:
    value: Any = {"a": [1, 2.5, None, True, "å", {"b": []}]}

    assert lenient_json(value) == strict_json(value) == value


def test_json_dumps_writes_the_bytes_of_a_message_and_nothing_else() -> None:
    assert json.dumps({"bytes": b"\xff\xef\xbe"}, default=as_base64) == '{"bytes": "/+++"}'
    with pytest.raises(TypeError, match="JSON and bytes, not a value of type object"):
        json.dumps(object(), default=as_base64)
