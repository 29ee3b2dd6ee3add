"""What step files share: typed step decorators, JSON values in a step, and "… is tried"."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import behave

Step = TypeVar("Step", bound=Callable[..., None])


class Words(Protocol):
    """behave ships no types; this is what its step decorators do."""

    def __call__(self, pattern: str, /) -> Callable[[Step], Step]: ...


given: Words = behave.given
when: Words = behave.when
then: Words = behave.then


def read_json(text: str) -> Any:
    return json.loads(text)


read_json.pattern = r'(?:[\[{"].*|null|true|false|-?\d[\d.]*)'  # type: ignore[attr-defined] # how `parse` is told
behave.register_type(json=read_json)


def attempt(context: Any, action: Callable[[], Any]) -> None:
    """Do something that is expected to fail; a step that looks at the error must follow."""
    context.error = None
    try:
        action()
    except Exception as exc:  # noqa: BLE001 - which one it is, the next step says
        context.error = exc
