"""Payloads as nobody should send them: the corpus with members taken out, put elsewhere, or replaced by nonsense."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if depth % 2 else [value]
    return value


JUNK: list[Any] = [
    *(None, True, False, 0, -1, 2**70, 1e308, 10**4400, "", " ", "x", "null", "{}", "[]", "\ud800", "\x00", "index"),
    *([], {}, [[]], [None], {"": None}, {"type": []}, {"index": {}}, [{}], {"a": "\udfff"}, "{" * 50, '{"a":' * 200),
    *("tool_use", "function_call", "call_1", b"\xff", float("nan"), float("inf"), ("a", 1), {1: 2}, {None: ()}),
    *(
        _nested(300),
        _nested(301),
        "9" * 5000,
        '{"a": ' + "9" * 5000 + "}",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        "{'a': 1}",
    ),
    *(object(), {1, 2}, range(3)),
]


def mutated(text: str, rng: random.Random, keys: list[str]) -> Any:
    """Read a payload's JSON text and make one to four changes somewhere inside."""
    value = json.loads(text)
    if rng.random() < 0.01:
        return _junk(rng)
    places = list(_containers(value))
    for _ in range(rng.randint(1, 4)):
        holder = rng.choice(places)
        if not holder:
            continue  # an earlier change has emptied it
        if isinstance(holder, dict):
            _change_object(holder, rng, keys)
        else:
            _change_array(holder, rng)
    return value


def _containers(value: Any, depth: int = 0) -> Iterator[Any]:
    if isinstance(value, (dict, list)) and value and depth < 12:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner, depth + 1)


def _junk(rng: random.Random) -> Any:
    junk = rng.choice(JUNK)
    return copy.copy(junk) if isinstance(junk, (dict, list)) else junk


def _change_object(holder: dict[str, Any], rng: random.Random, keys: list[str]) -> None:
    key = rng.choice(list(holder))
    match rng.randrange(5):
        case 0:
            del holder[key]
        case 1:
            holder[rng.choice(keys)] = holder.pop(key)
        case 2:
            holder[rng.choice(keys)] = _junk(rng)
        case 3 if isinstance(holder[key], str):
            holder[key] = _garbled(holder[key], rng)
        case _:
            holder[key] = _junk(rng)


def _change_array(holder: list[Any], rng: random.Random) -> None:
    place = rng.randrange(len(holder))
    match rng.randrange(5):
        case 0:
            del holder[place]
        case 1:
            holder.insert(place, copy.deepcopy(holder[place]))
        case 2:
            rng.shuffle(holder)
        case 3 if isinstance(holder[place], str):
            holder[place] = _garbled(holder[place], rng)
        case _:
            holder[place] = _junk(rng)


def _garbled(text: str, rng: random.Random) -> str:
    place = rng.randint(0, len(text))
    return rng.choice(
        [
            text[:place],
            text[place:],
            text[:place] + rng.choice('{}[]",:\\\ud800\n0') + text[place:],
            text * 2,
            text + "}",
        ]
    )


def keys_of(values: list[Any]) -> list[str]:
    found: set[str] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            found.update(value)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
    return sorted(found)


def garbled_text(events: list[Any], rng: random.Random) -> str | bytes:
    """Give the events as server-sent events in which a few characters are wrong."""
    text = "".join(f"data: {json.dumps(event, default=str)}\n\n" for event in events)
    for _ in range(rng.randint(0, 3)):
        text = _garbled(text, rng)
    return text if rng.random() < 0.5 else text.encode("utf-8", "surrogatepass")
