"""How a worker's log speaks."""

from __future__ import annotations

import pytest

from toolrelay_worker._logs import Seldom, counted, one_line


def test_what_is_true_all_the_time_is_said_at_first_and_then_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [100.0, 101.0, 109.9, 110.0, 111.0, 120.0]
    clock = iter(times)
    monkeypatch.setattr("toolrelay_worker._logs.time.monotonic", lambda: next(clock))
    trouble = Seldom(10)

    said = [trouble.is_due() for _ in times]

    assert said == [True, False, False, True, False, True]


def test_trouble_that_has_passed_is_a_first_one_when_it_comes_again() -> None:
    trouble = Seldom(10)
    trouble.is_due()

    trouble.forget()

    assert trouble.is_first
    assert trouble.is_due()
    assert not trouble.is_first


@pytest.mark.parametrize(("count", "expected"), [(0, "0 tools"), (1, "1 tool"), (2, "2 tools")])
def test_one_of_a_thing_is_told_from_many(count: int, expected: str) -> None:
    assert counted(count, "tool") == expected


def test_text_from_elsewhere_is_one_line_of_bounded_length() -> None:
    assert one_line("a\r\nb\x9b31m\u2028c") == "a b 31m c"
    assert len(one_line("x" * 5000)) == 1000
