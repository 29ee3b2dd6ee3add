"""Which tools there are: definitions for models, policies for the fleet, functions for this process."""

from __future__ import annotations

import inspect
import logging
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, TypeVar, overload

from pydantic import ValidationError

from toolrelay.errors import ErrorCategory, RegistrationError
from toolrelay.models import ExecutionPolicy, NormalizedToolRequest, OnLost, ToolSpec
from toolrelay.resolution import candidate_names
from toolrelay.schemas.validation import CompiledSchema, compile_schema
from toolrelay_worker.signatures import PlainSignature, TypedSignature, is_async, plain_signature, typed_signature

F = TypeVar("F", bound=Callable[..., Any])

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ToolOutcome:
    """What a tool may return to report failure without raising.

    The failure's category is read from the error's text.
    """

    success: bool
    output: Any = field(default=None, repr=False)
    """Any value that JSON can hold; dropped when not ``success``, unless it is a validation tool's verdict."""
    error: str | None = field(default=None, repr=False)
    """For the model; ignored when ``success``."""


@dataclass(frozen=True, slots=True)
class RegisteredTool:
    """A tool as this process can run it."""

    spec: ToolSpec
    policy: ExecutionPolicy
    handler: Callable[..., Any] = field(repr=False)
    signature: PlainSignature | TypedSignature = field(repr=False)
    is_async: bool
    input_check: CompiledSchema = field(repr=False)
    output_check: CompiledSchema | None = field(repr=False)

    @property
    def name(self) -> str:
        """The registry's name."""
        return self.spec.name


class ToolRegistry:
    """Tools by name, in the order they were registered.

    Register while a program starts; a registry is read by many threads and not written by any.
    """

    def __init__(self) -> None:
        self._tools: dict[str, RegisteredTool] = {}

    def register(
        self, spec: ToolSpec, handler: Callable[..., Any], policy: ExecutionPolicy | None = None
    ) -> RegisteredTool:
        """Add a tool whose definition is given. Its handler takes the arguments as keywords, as plain JSON values.

        A parameter annotated ``ToolContext`` is given the context. ``RegistrationError`` when the name is taken or has
        white space in it, a schema is broken or the policy contradicts itself.
        """
        return self._add(spec, handler, plain_signature(handler, spec.input_schema), policy or ExecutionPolicy())

    @overload
    def tool(self, name: F, /) -> F: ...

    @overload
    def tool(
        self,
        name: str | None = None,
        /,
        *,
        description: str | None = None,
        tool_type: Literal["tool", "validation"] = "tool",
        timeout: timedelta | None = None,
        max_attempts: int | None = None,
        retry_on: Iterable[ErrorCategory | str] = (),
        retry_delay: timedelta | None = None,
        max_retry_delay: timedelta | None = None,
        on_lost: OnLost | Literal["rerun", "fail"] | None = None,
        idempotent: bool | None = None,
        read_only: bool = False,
        early_start: bool | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
    ) -> Callable[[F], F]: ...

    def tool(
        self,
        name: Any = None,
        /,
        *,
        description: str | None = None,
        tool_type: Literal["tool", "validation"] = "tool",
        timeout: timedelta | None = None,
        max_attempts: int | None = None,
        retry_on: Iterable[ErrorCategory | str] = (),
        retry_delay: timedelta | None = None,
        max_retry_delay: timedelta | None = None,
        on_lost: OnLost | Literal["rerun", "fail"] | None = None,
        idempotent: bool | None = None,
        read_only: bool = False,
        early_start: bool | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
    ) -> Any:
        """Make a function a tool; the decorated function stays as it is, so it can be called and tested directly.

        Name, description and parameters come from the function, its docstring and its annotations unless given here.
        The function gets values of the annotated types: a pydantic model where it says so, an ``Enum``, a ``datetime``.

        What is left out has ``ExecutionPolicy``'s defaults. A tool that says nothing is run again when its worker is
        lost (at least once). ``on_lost="fail"``, or ``idempotent=False``, makes it at most once: never started twice.
        ``early_start`` lets ``Producer.stream`` start it before the model has finished speaking; ``None``: if it is
        ``read_only``.
        """
        names = _local_names()
        policy = {
            "timeout": timeout,
            "max_attempts": max_attempts,
            "retry_on": frozenset(retry_on),
            "retry_delay": retry_delay,
            "max_retry_delay": max_retry_delay,
            "read_only": read_only,
            "early_start": early_start,
        }

        def decorate(function: F) -> F:
            signature = typed_signature(function, names)
            own_name = name if isinstance(name, str) else getattr(function, "__name__", None)
            if own_name is None:
                raise RegistrationError(f"{function!r} has no name of its own; give one: @registry.tool('…')")
            spec = _make_spec(
                own_name,
                signature.description if description is None else description,
                dict(signature.input_schema if input_schema is None else input_schema),
                None if output_schema is None else dict(output_schema),
                tool_type,
            )
            lost = _on_lost(own_name, on_lost, idempotent)
            self._add(spec, function, signature, _make_policy(own_name, on_lost=lost, **policy))
            return function

        return decorate(name) if callable(name) else decorate

    def include(self, tool: RegisteredTool) -> None:
        """Take a tool of another registry as it is. Raises ``RegistrationError`` when its name is taken."""
        self._keep(tool)

    def get(self, name: str) -> RegisteredTool | None:
        """Give the tool of exactly this name."""
        return self._tools.get(name)

    def resolve(self, request: NormalizedToolRequest) -> RegisteredTool | None:
        """Find the tool a call means: in the namespace or toolset it was offered in, else by its plain name."""
        return next((self._tools[name] for name in candidate_names(request) if name in self._tools), None)

    def specs(self) -> list[ToolSpec]:
        """Give the definitions of all tools."""
        return [tool.spec for tool in self]

    def __iter__(self) -> Iterator[RegisteredTool]:
        return iter(tuple(self._tools.values()))

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    def _add(
        self,
        spec: ToolSpec,
        handler: Callable[..., Any],
        signature: PlainSignature | TypedSignature,
        policy: ExecutionPolicy,
    ) -> RegisteredTool:
        _check_name(spec.name)
        if not spec.description:
            logger.debug("tool %s has no description: models choose tools by it", spec.name)
        if spec.input_schema.get("type", "object") != "object":
            raise RegistrationError(
                f"tool {spec.name!r}: input_schema describes {spec.input_schema['type']!r} at /type, "
                "but a tool's arguments are always an object"
            )
        _check_policy(spec.name, policy)
        tool = RegisteredTool(
            spec=spec,
            policy=policy,
            handler=handler,
            signature=signature,
            is_async=is_async(handler),
            input_check=_compiled(spec.name, "input_schema", spec.input_schema),
            output_check=None
            if spec.output_schema is None
            else _compiled(spec.name, "output_schema", spec.output_schema),
        )
        self._keep(tool)
        return tool

    def _keep(self, tool: RegisteredTool) -> None:
        if tool.name in self._tools:
            raise RegistrationError(f"a tool named {tool.name!r} is registered already")
        self._tools[tool.name] = tool


default_registry = ToolRegistry()
"""Where ``@tool`` puts tools; what a worker runs unless it is told otherwise."""

tool = default_registry.tool


def _make_spec(
    name: str,
    description: str,
    input_schema: dict[str, Any],
    output_schema: dict[str, Any] | None,
    tool_type: Literal["tool", "validation"],
) -> ToolSpec:
    try:
        return ToolSpec(
            name=name,
            description=description,
            input_schema=input_schema,
            output_schema=output_schema,
            tool_type=tool_type,
        )
    except ValidationError as exc:
        raise RegistrationError(f"tool {name!r}: {_first(exc)}") from exc


def _check_name(name: str) -> None:
    # Names stand in logs, tables and messages; those of providers' tools come through `export_tools`.
    if any(sign.isspace() or unicodedata.category(sign) == "Cc" for sign in name):
        raise RegistrationError(f"tool {name!r}: a name has no white space and no control characters")


def _make_policy(name: str, **given: Any) -> ExecutionPolicy:
    try:
        return ExecutionPolicy(**{key: value for key, value in given.items() if value is not None})
    except ValidationError as exc:
        raise RegistrationError(f"tool {name!r}: {_first(exc)}") from exc


def _on_lost(name: str, on_lost: OnLost | str | None, idempotent: bool | None) -> OnLost | str | None:
    if idempotent is None:
        return on_lost
    implied = OnLost.RERUN if idempotent else OnLost.FAIL
    if on_lost is not None and on_lost != implied:
        raise RegistrationError(f"tool {name!r}: idempotent={idempotent} contradicts on_lost={str(on_lost)!r}")
    return implied


def _check_policy(name: str, policy: ExecutionPolicy) -> None:
    if policy.timeout <= timedelta(0):
        raise RegistrationError(f"tool {name!r}: timeout must be longer than 0, got {policy.timeout!r}")
    if policy.retry_delay < timedelta(0) or policy.max_retry_delay < timedelta(0):
        raise RegistrationError(f"tool {name!r}: retry_delay and max_retry_delay cannot be negative")
    if policy.on_lost is OnLost.FAIL and policy.retry_on:
        raise RegistrationError(f"tool {name!r}: on_lost='fail' means never started twice, so it cannot have retry_on")


def _compiled(name: str, which: str, schema: Mapping[str, Any]) -> CompiledSchema:
    try:
        return compile_schema(schema)
    except RegistrationError as exc:
        raise RegistrationError(f"tool {name!r}: {which}: {exc}") from exc


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, problem['loc']))}={problem['input']!r:.100}: {problem['msg']}"


def _local_names() -> dict[str, Any]:
    """The names visible where ``tool`` was called, two frames up: annotations may name a local class."""
    frame = inspect.currentframe()
    caller = frame and frame.f_back and frame.f_back.f_back
    return dict(caller.f_locals) if caller else {}
