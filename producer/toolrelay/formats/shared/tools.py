"""What the formats' modules share where they write and read tool definitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from toolrelay.errors import InvalidToolError
from toolrelay.formats.arguments.strict_json import JsonFault
from toolrelay.formats.protocol import Wire, pick
from toolrelay.formats.shared.plain import as_dict, json_copy
from toolrelay.formats.shared.text import is_well_formed, well_formed
from toolrelay.models import ToolSpec
from toolrelay.names import ArgumentNames
from toolrelay.schemas._losses import Loss
from toolrelay.schemas.export import ExportedSchema

_CUT: Final = "…"
_OWN: Final = frozenset({"tool_type", "policy"})


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """How tools are to be written."""

    strict: bool = False
    upper_case_types: bool = False
    """Gemini's ``parameters`` name types as the API's reference does: ``STRING``."""
    max_description_length: int | None = None
    """Characters after which a tool's description is cut; ``None`` for providers that take any."""


class ExportedTool(NamedTuple):
    """One tool as a provider takes it."""

    tool: Wire
    losses: list[Loss]
    arguments: ArgumentNames


class Unread(NamedTuple):
    """A member of a definition that is not read, or a kind that is read as something else."""

    what: str
    why: str = "a tool's definition has no place for it"


class ImportedTool(NamedTuple):
    """One tool as a provider's definition tells it."""

    spec: ToolSpec
    strict: bool | None = None
    """``None`` where the definition does not say."""
    unread: tuple[Unread, ...] = ()
    """What of the definition a ``ToolSpec`` has no place for."""


def described(spec: ToolSpec, options: ExportOptions) -> Wire:
    """Give the member ``description``, if there is any: an empty one says nothing, and some providers refuse it."""
    limit = options.max_description_length
    if limit is None or len(spec.description) <= limit:
        return {"description": spec.description} if spec.description else {}
    return {"description": spec.description[: max(limit - len(_CUT), 0)] + _CUT}


def exported(
    tool: Wire,
    spec: ToolSpec,
    schema: ExportedSchema,
    options: ExportOptions,
    *,
    title: str,
    has_output: bool = False,
    no_strict: str | None = "has no strict tools; calls are checked when they are validated",
) -> ExportedTool:
    """Put a written tool and everything that it lost together; ``no_strict`` says why it cannot be strict by itself."""
    losses = [loss._replace(tool=spec.name) for loss in schema.losses]

    def lose(what: str, why: str) -> None:
        losses.append(Loss("", what, why, spec.name))

    limit = options.max_description_length
    if limit is not None and len(spec.description) > limit:
        lose("description", f"cut from {len(spec.description)} to {limit} characters")
    if spec.output_schema is not None and not has_output:
        lose("output_schema", f"{title} is not told what a tool gives back; the worker checks it")
    if spec.tool_type != "tool":
        lose("tool_type", f"{title} knows no {spec.tool_type} tools: it is a tool like any other there")
    if options.strict and no_strict is not None:
        lose("strict", f"{title} {no_strict}")
    return ExportedTool(tool, losses, schema.names)


def imported(
    definition: Wire, where: str, schema: Any, *, read: frozenset[str], output: Any = None, namespace: str | None = None
) -> ImportedTool:
    """Make the spec of a definition; ``where`` says which of the list it is. ``InvalidToolError`` for a broken one."""
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidToolError(f"{where}: the function has no name, or one that is not text: {name!r:.60}")
    name = f"{namespace}/{name}" if namespace else name
    if not is_well_formed(name):
        raise InvalidToolError(f"{where}: the name {name[:60]!r} holds half of a surrogate pair")
    description = definition.get("description")
    strict = definition.get("strict")
    given: Iterable[tuple[Any, Any]] = definition.items()  # a caller's dict may have keys that are not text
    members = {
        member
        for member, value in given
        if isinstance(member, str) and value is not None and (member == "_meta" or not member.startswith("_"))
    }
    if "tool_type" in members:  # a ToolSpec as `toolrelay tools --json` prints it: these are the worker's own affair
        members -= _OWN
    return ImportedTool(
        ToolSpec(
            name=name,
            description=well_formed(description) if isinstance(description, str) else "",
            input_schema=schema_of(schema, f"{where} ({name!r})") or {"type": "object", "properties": {}},
            output_schema=None if output is None else schema_of(output, f"{where} ({name!r})"),
        ),
        strict if isinstance(strict, bool) else None,
        tuple(Unread(member) for member in sorted(members - read - {"name", "description", "strict", "type"})),
    )


def schema_of(schema: Any, where: str) -> dict[str, Any] | None:
    """Give a copy of a schema: a dict, an SDK's object, or a pydantic class; ``InvalidToolError`` for all others."""
    if schema is None:
        return None
    make = getattr(schema, "model_json_schema", None) if isinstance(schema, type) else None
    if make is not None:  # LangChain's tools hold a pydantic class; an instance is a schema itself
        schema = make()
    members = as_dict(schema)
    if members is None:
        raise InvalidToolError(f"{where}: the schema must be an object, got {type(schema).__name__}")
    try:
        copy = json_copy(members)
    except JsonFault as fault:
        raise InvalidToolError(f"{where}: the schema is not valid JSON: {fault}") from fault
    return copy if isinstance(copy, dict) else None


#: what a free-text tool has instead of a schema
FREE_TEXT: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}


def free_text(custom: Wire, where: str, *, namespace: str | None = None) -> ImportedTool:
    """Make a function of a free-text tool: its calls are read as ``{"input": text}``."""
    schema: dict[str, Any] = json_copy(FREE_TEXT)
    wanted = as_dict(custom.get("format")) or {}
    grammar = as_dict(wanted.get("grammar")) or wanted
    definition = pick(grammar, "definition")
    if isinstance(definition, str):
        syntax = grammar.get("syntax", "grammar")
        schema["properties"]["input"]["description"] = f"Text that this {syntax} describes: {definition}"
    found = imported(custom, where, schema, read=frozenset({"format"}), namespace=namespace)
    kind = Unread("custom", "a tool of free text is written as a function of one text, 'input'")
    return found._replace(unread=(kind, *found.unread))
