"""What is said of settings that are wrong, and of variables that are none."""

from __future__ import annotations

from datetime import timedelta

import pytest

from toolrelay.errors import SettingsError
from toolrelay.settings import Settings, unknown_variables

DURATION = "seconds or ISO 8601 are needed, such as 15 or PT15S"


@pytest.mark.parametrize(
    ("field", "value", "complaint"),
    [
        ("lease", "abc", f"{DURATION}, got 'abc'"),
        ("lease", "", f"{DURATION}, got ''"),
        ("lease", "nan", f"{DURATION}, got 'nan'"),
        ("lease", "1e400", f"{DURATION}, got '1e400'"),
        ("lease", "-1", "more than 0 is needed, got '-1'"),
        ("lease", "PT0S", "more than 0 is needed, got 'PT0S'"),
        ("concurrency", "many", "a whole number is needed, got 'many'"),
        ("concurrency", "0", "more than 0 is needed, got '0'"),
        ("check_catalogue", "perhaps", "true or false is needed, got 'perhaps'"),
        (
            "namespace",
            "a b",
            "only letters, digits, '.', '_' and '-' are allowed, and one at least is needed, got 'a b'",
        ),
        ("redis_url", "http://h", "a URL that begins with redis://, rediss://, unix://, redis+socket:// is needed"),
    ],
)
def test_a_wrong_value_is_told_in_words_of_ours(
    field: str, value: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    variable = f"TOOLRELAY_{field.upper()}"
    monkeypatch.setenv(variable, value)

    with pytest.raises(SettingsError) as caught:
        Settings.load()

    assert str(caught.value).startswith(f"wrong setting: {variable}: {complaint}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("15", timedelta(seconds=15)),
        (" 0.5 ", timedelta(seconds=0.5)),
        ("PT15S", timedelta(seconds=15)),
        ("P1DT2H", timedelta(days=1, hours=2)),
    ],
)
def test_a_duration_is_seconds_or_iso_8601(value: str, expected: timedelta, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLRELAY_LEASE", value)

    assert expected == Settings.load().lease


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TOOLRELAY_CONCURENCY", "TOOLRELAY_CONCURRENCY"),
        ("TOOLRELAY_RESULTS_TTL", "TOOLRELAY_RESULT_TTL"),
        ("toolrelay_leese", "TOOLRELAY_LEASE"),
        ("TOOLRELAY_COLOUR", None),
    ],
)
def test_a_variable_that_is_no_setting_is_found_with_what_may_be_meant(name: str, meant: str | None) -> None:
    assert unknown_variables(["PATH", name, "TOOLRELAY_LEASE"]) == {name: meant}


@pytest.mark.parametrize(
    "name",
    [
        *(f"TOOLRELAY_{field.upper()}" for field in Settings.model_fields),
        "toolrelay_lease",
        "TOOLRELAY_HOME",
        "TOOLRELAY_PORT",
        "TOOLRELAY_TEST_PROFILE",
        "TOOLRELAY_FUZZ_PAYLOADS",
        "TOOLRELAY_REDIS_SERVICE_HOST",
        "TOOLRELAY_REDIS_SERVICE_PORT_MAIN",
        "TOOLRELAY_REDIS_PORT",
        "TOOLRELAY_PORT_6379_TCP_ADDR",
        "MY_TOOLRELAY_THING",
    ],
)
def test_what_is_known_and_what_others_set_is_not_complained_of(name: str) -> None:
    assert unknown_variables([name]) == {}
