"""What "… is tried" has to end in."""

from __future__ import annotations

from typing import Any

from features.support import then

from toolrelay.errors import InvalidCallError, RegistrationError, ToolrelayError


def _assert_failed(context: Any, kind: type[Exception], text: str) -> None:
    assert isinstance(context.error, kind), f"expected {kind.__name__}, got {context.error!r}"
    assert text.lower() in str(context.error).lower(), f"{text!r} is not in {str(context.error)!r}"


@then('it fails with a ValueError that says "{text}"')
def _(context: Any, text: str) -> None:
    _assert_failed(context, ValueError, text)


@then('it fails as an invalid call that says "{text}"')
def _(context: Any, text: str) -> None:
    _assert_failed(context, ValueError, text)
    assert isinstance(context.error, InvalidCallError)
    assert isinstance(context.error, ToolrelayError)
    assert type(context.error).__module__ == "toolrelay.errors"


@then('it fails with a RegistrationError that says "{text}"')
def _(context: Any, text: str) -> None:
    _assert_failed(context, RegistrationError, text)
