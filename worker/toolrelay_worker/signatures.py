"""A Python function's signature as a tool's parameters: JSON Schema for the model, typed values for the function.

pydantic does both, from one model made of the signature. Its fields carry names of our own and the parameters' names as
aliases, because a parameter may well be called ``schema``, ``json`` or ``model_config``.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import docstring_parser
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from toolrelay.errors import RegistrationError, SchemaMismatchError
from toolrelay.models import Repair
from toolrelay.schemas.coercion import pointer
from toolrelay_worker.context import ToolContext

_MAX_PROBLEMS = 5
_MAX_PROBLEM_LENGTH = 300


class Bound(NamedTuple):
    """Keywords for a tool's function, and what had to be left out for it."""

    keywords: dict[str, Any]
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class PlainSignature:
    """How a handler that came with a definition of its own takes arguments: as they are."""

    context_parameters: tuple[str, ...]
    """The parameters that want the ``ToolContext``."""
    accepted: frozenset[str] | None
    """Its parameters' names; ``None`` when it takes any keyword, or cannot be asked."""
    declared: frozenset[str]
    """The properties that the definition speaks of."""

    def bind(self, arguments: dict[str, Any]) -> Bound:
        """Pass everything on, but for what neither definition nor handler knows: JSON Schema lets that pass."""
        if self.accepted is None or self.accepted.issuperset(arguments):
            return Bound(arguments.copy())
        unknown = [name for name in arguments if name not in self.accepted and name not in self.declared]
        keywords = {name: value for name, value in arguments.items() if name not in unknown}
        return Bound(keywords, _ignored(unknown))


@dataclass(frozen=True, slots=True)
class TypedSignature:
    """How a function takes arguments by its annotations."""

    description: str
    """The docstring, without its parameters."""
    input_schema: dict[str, Any]
    context_parameters: tuple[str, ...]
    _model: type[BaseModel] = field(repr=False)
    _parameters: tuple[_Parameter, ...] = field(repr=False)

    def bind(self, arguments: dict[str, Any]) -> Bound:
        """Turn arguments into typed values. ``SchemaMismatchError`` when a type's own rules refuse one."""
        try:
            values = self._model.model_validate(arguments)
        except ValidationError as exc:
            raise SchemaMismatchError(f"the arguments do not fit the tool's types: {_problems(exc)}") from exc
        given = values.model_fields_set
        extra = values.model_extra
        keywords = dict(extra or {})
        for parameter in self._parameters:
            # What was left out is left to the function's own default, which may be an object compared with ``is``.
            if parameter.field in given or parameter.has_field_default:
                keywords[parameter.name] = getattr(values, parameter.field)
        if extra is not None or len(given) == len(arguments):
            return Bound(keywords)
        known = {parameter.alias for parameter in self._parameters}
        return Bound(keywords, _ignored(name for name in arguments if name not in known))


class _Parameter(NamedTuple):
    field: str
    """The field of the pydantic model."""
    name: str
    """What the function calls it."""
    alias: str
    """What the tool call calls it: the name, or the alias that a ``Field`` gives it."""
    has_field_default: bool
    """Whether its default is a ``Field``'s, which the function itself does not know."""


def plain_signature(handler: Callable[..., Any], input_schema: Mapping[str, Any]) -> PlainSignature:
    """Look at a handler only as far as one can: builtins and other callables may hide their signature."""
    declared = frozenset(input_schema.get("properties") or ())
    try:
        parameters = inspect.signature(handler).parameters
    except (ValueError, TypeError, NameError):
        return PlainSignature((), None, declared)
    wants_context = []
    for parameter in parameters.values():
        try:
            annotation = _resolve(handler, parameter, {})
        except RegistrationError:  # a handler with its own definition need not have readable annotations
            continue
        if _is_context(annotation):
            wants_context.append(parameter.name)
    names = {name for name, parameter in parameters.items() if parameter.kind not in _NOT_BY_NAME}
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return PlainSignature(tuple(wants_context), None if takes_any else frozenset(names), declared)


def typed_signature(function: Callable[..., Any], local_names: Mapping[str, Any]) -> TypedSignature:
    """Read a function's signature and docstring.

    ``local_names`` are those visible where the function is decorated, for annotations that name a local class.
    ``RegistrationError`` names function and parameter where a parameter cannot become a property.
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise RegistrationError(
            f"{_name(function)}: a generator cannot be a tool; return one value, and ctx.partial() others"
        )
    docs = docstring_parser.parse(inspect.getdoc(function) or "")
    descriptions = {entry.arg_name: entry.description for entry in docs.params}
    fields: dict[str, Any] = {}
    parameters: list[_Parameter] = []
    contexts: list[str] = []
    config = ConfigDict(extra="ignore")
    base: type[BaseModel] = BaseModel
    for parameter in _parameters_of(function):
        annotation = _resolve(function, parameter, local_names)
        if _is_context(annotation):
            contexts.append(parameter.name)
        elif parameter.kind is parameter.VAR_KEYWORD:
            base, config = _extra_base(annotation), ConfigDict(extra="allow")
        else:
            default = ... if parameter.default is parameter.empty else parameter.default
            own = FieldInfo.from_annotated_attribute(annotation, default)
            alias = own.validation_alias if isinstance(own.validation_alias, str) else own.alias or parameter.name
            read = _Parameter(
                f"p{len(parameters)}",
                parameter.name,
                alias,
                isinstance(default, FieldInfo) or (default is ... and not own.is_required()),
            )
            parameters.append(read)
            more = Field(validation_alias=alias, description=own.description or descriptions.get(parameter.name))
            fields[read.field] = (Annotated[annotation, more], default)
    model, schema = _model_of(function, fields, parameters, base, config)
    return TypedSignature(_description(docs), schema, tuple(contexts), model, tuple(parameters))


def is_async(handler: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine: an ``async def``, a partial of one, an object whose ``__call__`` is one."""
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(type(handler).__call__)


_NOT_BY_NAME = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _parameters_of(function: Callable[..., Any]) -> Iterable[inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except NameError as exc:  # from Python 3.14 on, where asking for the signature evaluates the annotations
        raise RegistrationError(f"{_name(function)}: cannot resolve an annotation: {exc}") from exc
    except (ValueError, TypeError) as exc:
        raise RegistrationError(f"{_name(function)} has no signature to read: {exc}") from exc
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise RegistrationError(
                f"{_name(function)}: parameter {str(parameter)!r} cannot be given by name, as a tool's arguments are"
            )
    return parameters


def _resolve(function: Callable[..., Any], parameter: inspect.Parameter, local_names: Mapping[str, Any]) -> Any:
    if parameter.annotation is parameter.empty:
        return Any
    source = inspect.unwrap(function)
    known = getattr(source, "__globals__", None) or getattr(type(source).__call__, "__globals__", {})
    holder = types.SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    try:
        return typing.get_type_hints(holder, known, dict(local_names), include_extras=True)[parameter.name]
    except Exception as exc:  # an annotation written as text is the tool's own code
        raise RegistrationError(
            f"{_name(function)}: cannot resolve the annotation of parameter {parameter.name!r}, "
            f"{parameter.annotation!r}: {exc}"
        ) from exc


def _is_context(annotation: Any) -> bool:
    if isinstance(annotation, type):
        return issubclass(annotation, ToolContext)
    origin = typing.get_origin(annotation)
    if origin is Annotated or origin is typing.Union or origin is types.UnionType:
        return any(_is_context(argument) for argument in typing.get_args(annotation))
    return False


def _extra_base(annotation: Any) -> type[BaseModel]:
    if annotation is Any:
        return BaseModel

    class Extra(BaseModel):
        __pydantic_extra__: dict[str, annotation]

    return Extra


def _model_of(
    function: Callable[..., Any],
    fields: dict[str, Any],
    parameters: list[_Parameter],
    base: type[BaseModel],
    config: ConfigDict,
) -> tuple[type[BaseModel], dict[str, Any]]:
    try:
        model: type[BaseModel] = create_model(
            "Arguments", __base__=type("Arguments", (base,), {"model_config": config}), **fields
        )
        schema = model.model_json_schema(schema_generator=_SchemaGenerator)
    except (PydanticUserError, PydanticUndefinedAnnotation) as exc:
        culprit = _culprit(fields, parameters)
        which = f"parameter {culprit!r}" if culprit else "the parameters"
        reason = str(exc).partition("\n")[0]
        raise RegistrationError(f"{_name(function)}: {which} cannot be described as JSON Schema: {reason}") from exc
    schema.pop("title", None)
    schema.setdefault("properties", {})
    return model, schema


def _culprit(fields: dict[str, Any], parameters: list[_Parameter]) -> str | None:
    for parameter in parameters:
        try:
            create_model("Arguments", **{parameter.field: fields[parameter.field]}).model_json_schema()
        except (PydanticUserError, PydanticUndefinedAnnotation):
            return parameter.name
    return None


class _SchemaGenerator(GenerateJsonSchema):
    #: a default that JSON cannot hold is the function's own affair
    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 - typed as pydantic types it
        "skipped-choice",
        "non-serializable-default",
    }

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - pydantic's signature
        return False  # "City" for ``city`` tells a model nothing


def _description(docs: docstring_parser.Docstring) -> str:
    return "\n\n".join(part.strip() for part in (docs.short_description, docs.long_description) if part)


def _problems(error: ValidationError) -> str:
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    shown = [
        f"{pointer(one['loc']) or 'the whole'}: {one['msg']}"[:_MAX_PROBLEM_LENGTH] for one in errors[:_MAX_PROBLEMS]
    ]
    if len(errors) > len(shown):
        shown.append(f"and {len(errors) - len(shown)} more")
    return "; ".join(shown)


def _ignored(names: Iterable[str]) -> tuple[Repair, ...]:
    return tuple(
        Repair(kind="ignored", path=pointer([name]), detail="the tool has no such parameter") for name in names
    )


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
