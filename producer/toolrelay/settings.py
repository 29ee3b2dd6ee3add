"""Every setting in one place, read from the environment in one place.

A variable is ``TOOLRELAY_`` and the field's name in capitals: ``TOOLRELAY_RESULT_TTL=3600``. Durations are seconds or
ISO 8601 (``PT1H``). ``REDIS_URL`` and ``CELERY_BROKER_URL`` are understood as they are, after ``TOOLRELAY_REDIS_URL``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from difflib import get_close_matches
from typing import Annotated, Any, Final, Self

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    SecretStr,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from toolrelay.errors import SettingsError

_PREFIX = "TOOLRELAY_"
#: Variables that may name the Redis; the first that is set counts.
URL_VARIABLES: Final = (_PREFIX + "REDIS_URL", "REDIS_URL", "CELERY_BROKER_URL")
_SCHEMES = ("redis://", "rediss://", "unix://", "redis+socket://")
#: Variables of ours that are no settings: of the embedded server, of docker-compose.yml, of our own tests.
_OTHER_VARIABLES: Final = frozenset(
    _PREFIX + name for name in ("HOME", "PORT", "TEST_PROFILE", "FUZZ_PAYLOADS", "TESTS_OF_THE_DEMO")
)
#: What Kubernetes sets in every pod for a service whose name begins with "toolrelay".
_OF_A_SERVICE: Final = re.compile(
    r"_SERVICE_HOST$|_SERVICE_PORT(_\w+)?$|_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$"
)
_DURATION_WANTED: Final = "seconds or ISO 8601 are needed, such as 15 or PT15S"
_DURATION: Final = TypeAdapter(timedelta)


def _seconds(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return timedelta(seconds=float(value))
    except (ValueError, OverflowError):
        pass  # ISO 8601, perhaps
    try:
        return _DURATION.validate_python(value)
    except ValidationError:
        raise ValueError(_DURATION_WANTED) from None


PositiveSeconds = Annotated[timedelta, BeforeValidator(_seconds), Field(gt=timedelta(0))]
Word = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]+$")]


class Settings(BaseSettings):
    """What producers and workers must agree on, and what each may choose.

    Frozen; every keyword left out comes from the environment, then from the default named here. Wrong values raise
    ``SettingsError`` with the variable's name.
    """

    model_config = SettingsConfigDict(env_prefix=_PREFIX, frozen=True, extra="ignore", populate_by_name=True)

    redis_url: SecretStr | None = Field(default=None, validation_alias=AliasChoices(*URL_VARIABLES))
    """Where records, updates, results and the queue live. ``None``: the embedded server of this user."""
    namespace: Word = "toolrelay"
    """Begins every key and channel; deployments that share a database need one each."""
    queue: Word = "calls"
    """The Celery queue; its Redis list is ``<namespace>:<queue>``."""

    result_ttl: PositiveSeconds = timedelta(days=1)
    """How long a finished call is remembered: its result can be read, and the same id is the same call, that long."""
    catalogue_ttl: PositiveSeconds = timedelta(days=1)
    """How long a tool stays known after the last worker that offered it was seen."""
    lease: PositiveSeconds = timedelta(seconds=15)
    """A worker's ownership of a call without a heartbeat; it beats four times in that time."""
    reap_interval: PositiveSeconds = timedelta(seconds=1)
    """How often each worker looks for calls whose worker is gone or whose message was lost."""
    ring_grace: PositiveSeconds = timedelta(seconds=5)
    """How long a call may wait before its message is looked for, and rung again if it was lost."""
    dead_letter_ttl: PositiveSeconds = timedelta(days=7)
    """How long a call that was given up is kept for inspection and replay."""

    command_timeout: PositiveSeconds = timedelta(seconds=5)
    """How long one request to Redis may take, reconnecting included, before ``BrokerUnavailable``."""
    max_arguments_bytes: int = Field(default=10 * 1024 * 1024, gt=0)
    """Largest arguments of one call, as JSON in UTF-8."""
    max_output_bytes: int = Field(default=10 * 1024 * 1024, gt=0)
    """Largest output of one call, as JSON in UTF-8."""
    check_catalogue: bool = True
    """Whether producers refuse, by the workers' catalogue, unknown tools and bad arguments before they are queued."""

    tools: Annotated[tuple[str, ...], NoDecode] = ()
    """Modules that a worker imports so that they register their tools; comma-separated in the environment."""
    concurrency: int = Field(default=16, gt=0)
    """Calls that one worker process runs at a time."""
    max_hung_tools: int = Field(default=8, gt=0)
    """A worker process starts anew when so many sync tools run on past their time limit."""
    shutdown_grace: PositiveSeconds = timedelta(seconds=20)
    """How long a worker that was asked to stop lets its running calls finish."""
    stall_limit: PositiveSeconds = timedelta(seconds=30)
    """A worker with a free slot that takes nothing from a queue that is not empty for so long counts as unhealthy."""

    @field_validator("redis_url")
    @classmethod
    def _is_redis(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(_SCHEMES):
            scheme = url.get_secret_value().partition("://")[0]
            raise ValueError(f"a URL that begins with {', '.join(_SCHEMES)} is needed, not {scheme!r}")
        return url

    @field_validator("tools", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """Read the environment; ``overrides`` that are not ``None`` win over it.

        Raises ``SettingsError`` that names the variable behind each wrong value.
        """
        try:
            return cls(**{name: value for name, value in overrides.items() if value is not None})
        except ValidationError as error:
            raise SettingsError(_explain(error.errors(include_url=False))) from None

    @property
    def url(self) -> str | None:
        """``redis_url`` in clear; ``None`` where the embedded server is meant."""
        return self.redis_url.get_secret_value() if self.redis_url else None


def unknown_variables(names: Iterable[str]) -> dict[str, str | None]:
    """Give those of ``names`` that look like settings and are none, each with the setting that may be meant.

    >>> unknown_variables(["TOOLRELAY_CONCURENCY", "TOOLRELAY_LEASE", "TOOLRELAY_HOME", "HOME"])
    {'TOOLRELAY_CONCURENCY': 'TOOLRELAY_CONCURRENCY'}
    """
    fields = [name.upper() for name in Settings.model_fields]
    known = _OTHER_VARIABLES | {_PREFIX + field for field in fields}
    found: dict[str, str | None] = {}
    for name in sorted(names):
        if name.upper().startswith(_PREFIX) and name.upper() not in known and not _OF_A_SERVICE.search(name):
            close = get_close_matches(name.upper().removeprefix(_PREFIX), fields, 1)
            found[name] = _PREFIX + close[0] if close else None
    return found


def _explain(problems: list[Any]) -> str:
    lines = [f"{_variable(problem)}: {_wanted(problem)}{_shown(problem)}" for problem in problems]
    return "wrong setting: " + "; ".join(lines)


#: pydantic's kinds of errors, in words for whoever sets a variable
_WANTED: Final = {
    "time_delta_parsing": _DURATION_WANTED,
    "time_delta_type": _DURATION_WANTED,
    "greater_than": "more than 0 is needed",
    "int_parsing": "a whole number is needed",
    "bool_parsing": "true or false is needed",
    "string_pattern_mismatch": "only letters, digits, '.', '_' and '-' are allowed, and one at least is needed",
}


def _wanted(problem: Mapping[str, Any]) -> str:
    own = problem.get("ctx", {}).get("error")  # a ValueError of ours, without pydantic's "Value error, "
    return _WANTED.get(problem["type"], str(own or problem["msg"]))


def _variable(problem: Mapping[str, Any]) -> str:
    first = str(problem["loc"][0]) if problem["loc"] else "settings"
    return first if first.isupper() else _PREFIX + first.upper()


def _shown(problem: Mapping[str, Any]) -> str:
    # A URL may hold a password.
    return "" if "URL" in _variable(problem).upper() else f", got {problem.get('input')!r}"
