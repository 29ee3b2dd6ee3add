"""Tool definitions, to every provider and back.

Pure functions of their arguments. What an export costs comes back as data; a tool that a provider cannot be told of is
refused by itself, with the reason, and takes no other along.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from toolrelay.errors import InvalidToolError, ToolExportError
from toolrelay.formats import FORMATS, langchain
from toolrelay.formats.arguments.strict_json import JsonFault
from toolrelay.formats.payloads.detect_tools import detect_tools, family_of, is_single_definition, parts_of
from toolrelay.formats.payloads.likeness import likeness, may_be_definition
from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.plain import as_dict, as_list, json_copy
from toolrelay.formats.shared.tools import ExportOptions, ImportedTool
from toolrelay.models import ProviderFormat, ToolSpec
from toolrelay.names import ArgumentNames, NameMap
from toolrelay.schemas._losses import Loss
from toolrelay.translate import format_named


@dataclass(frozen=True)
class ExportedTools:
    """Tools as a provider takes them."""

    tools: list[Wire]
    """Ready for the request's body: the value of its ``tools``; for Bedrock, of ``toolConfig.tools``."""
    names: NameMap
    """Goes back into ``read_calls(…, names=names)``, so that a wire name finds its tool, and arguments their names."""
    losses: list[Loss] = field(default_factory=list)
    refused: list[ToolExportError] = field(default_factory=list)
    """Tools that are not among ``tools``, each as the error that says why."""

    def raise_for_refused(self) -> ExportedTools:
        """Raise the first refusal, if there is any; else give this back."""
        if self.refused:
            raise self.refused[0]
        return self


def export_tools(
    specs: Iterable[ToolSpec],
    provider_format: ProviderFormat | str,
    *,
    strict: bool = False,
    upper_case_types: bool = False,
    max_description_length: int | None = None,
) -> ExportedTools:
    """Write tools for a provider, with legal names and a schema that it takes.

    ``strict`` asks for the providers' strict mode; a tool whose schema cannot be strict is sent without, and a loss
    says why. ``upper_case_types`` is for Gemini's ``parameters``; ``max_description_length`` for endpoints that refuse
    long descriptions. ``default_registry.specs()`` of ``toolrelay_worker`` gives the specs of functions made with
    ``@tool``.

    >>> spec = ToolSpec("weather/lookup", "Weather of a city.", {"type": "object", "properties": {}})
    >>> export_tools([spec], "anthropic").tools[0]["name"]
    'weather_lookup'

    Raises ``InvalidToolError`` for what is no ``ToolSpec``; a tool that the provider cannot be told is in ``refused``.
    """
    chosen = format_named(provider_format)
    options = ExportOptions(
        strict=strict, upper_case_types=upper_case_types, max_description_length=max_description_length
    )
    given: object = specs
    listed = given if isinstance(given, Iterable) else [given]
    return _export([(_checked(spec), options) for spec in listed], chosen)


def _checked(spec: object) -> ToolSpec:
    if isinstance(spec, ToolSpec):
        return spec
    if isinstance(spec, dict):
        raise InvalidToolError("a dict is not a ToolSpec: read a provider's definitions with import_tools first")
    is_registered = isinstance(getattr(spec, "spec", None), ToolSpec)
    of_functions = "for tools made with @tool: default_registry.specs()"
    advice = "pass its .spec, or registry.specs()" if is_registered else of_functions
    raise InvalidToolError(f"a ToolSpec is wanted, got {type(spec).__name__} {str(spec)[:80]!r}: {advice}")


def _export(wanted: list[tuple[ToolSpec, ExportOptions]], chosen: ProviderFormat) -> ExportedTools:
    wire = FORMATS[chosen]
    to_wire = wire.TOOL_NAMES.encode(spec.name for spec, _ in wanted)
    tools: list[Wire] = []
    losses: list[Loss] = []
    refused: list[ToolExportError] = []
    arguments: dict[str, ArgumentNames] = {}
    for spec, options in wanted:
        if spec.name in arguments:
            refused.append(ToolExportError("another tool in the list has this name", tool=spec.name))
            continue
        try:
            tool = wire.export_tool(spec, to_wire[spec.name], options)
        except ToolExportError as error:
            refused.append(ToolExportError(error.why, pointer=error.pointer, tool=spec.name))
            continue
        tools.append(tool.tool)
        losses += tool.losses
        arguments[spec.name] = tool.arguments
    names = NameMap({name: to_wire[name] for name in arguments}, arguments)
    return ExportedTools(wire.read_request(wire.request_fields(tools, None, None)).tools, names, losses, refused)


def import_tools(tools: Any, provider_format: ProviderFormat | str | None = None) -> list[ToolSpec]:
    """Read a provider's tool definitions; kinds that the provider defines and runs itself are skipped.

    ``tools`` is the request's list, one definition, an SDK's objects, JSON text, or the whole body of a request, of
    which ``tools`` wins over the deprecated ``functions``.

    Raises ``InvalidToolError`` that says which one cannot be read.
    """
    chosen = None if provider_format is None else format_named(provider_format)
    return [spec for _, specs in read_tools(tools, chosen) for spec in specs]


def read_tools(tools: Any, provider_format: ProviderFormat | None = None) -> list[tuple[Wire, list[ToolSpec]]]:
    """Read as ``import_tools`` does, but give every entry beside its specs: none for a kind that the provider runs."""
    found = _imported(_entries(tools) or [], provider_format)
    return [(entry, [one.spec for one in inside]) for entry, _, inside in found]


def convert_tools(
    tools: Any,
    provider_format: ProviderFormat | str,
    source_format: ProviderFormat | str | None = None,
    *,
    strict: bool | None = None,
) -> ExportedTools:
    """Write one provider's definitions for another: each tool's own ``strict`` is kept, unless it is given here.

    Tools of other kinds pass between formats of one provider, and are reported otherwise.

    Raises ``InvalidToolError`` that says which one cannot be read, or what is there instead of definitions.
    """
    chosen = format_named(provider_format)
    source = None if source_format is None else format_named(source_format)
    wanted: list[tuple[ToolSpec, ExportOptions]] = []
    passed: list[Wire] = []
    losses: list[Loss] = []
    entries = _entries(tools)
    if entries is None:
        raise InvalidToolError(f"there are no tool definitions in it: it looks like {likeness(parsed(tools))}")
    for entry, own, found in _imported(entries, source):
        if not found:
            passed += _passed(entry, own, chosen, losses)
        for one in found:
            is_strict = one.strict if strict is None else strict
            losses += _unread(one)
            wanted.append((one.spec, ExportOptions(strict=is_strict is True)))
    result = _export(wanted, chosen)
    return ExportedTools([*result.tools, *passed], result.names, losses + result.losses, result.refused)


def _unread(one: ImportedTool) -> list[Loss]:
    return [Loss("", unread.what, unread.why, one.spec.name) for unread in one.unread]


def _passed(entry: Wire, source: ProviderFormat, target: ProviderFormat, losses: list[Loss]) -> list[Wire]:
    given: Iterable[tuple[Any, Any]] = entry.items()  # a caller's dict may have keys that are not text
    members = {member: value for member, value in given if isinstance(member, str) and value is not None}
    kind = members.get("type") or ", ".join(members)
    if family_of(source) == family_of(target):
        try:
            copy: Wire = json_copy(members)
        except JsonFault as fault:
            raise InvalidToolError(f"a tool of kind {kind!r} is not valid JSON: {fault}") from fault
        return [copy]
    losses.append(Loss("", "tool", f"a tool of kind {kind!r} is {source.value}'s own, and left out"))
    return []


def _imported(
    listed: list[Any], chosen: ProviderFormat | None
) -> list[tuple[Wire, ProviderFormat, list[ImportedTool]]]:
    entries: list[tuple[Wire, str]] = []
    for index, item in enumerate(listed):
        entry = langchain.definition_of(item) or as_dict(item)
        where = f"tools[{index}]"
        if entry is None:
            raise InvalidToolError(f"{where}: a definition is an object, got {type(item).__name__}")
        if not may_be_definition(entry):
            raise InvalidToolError(f"{where}: not a tool's definition: it looks like {likeness(entry)}")
        entries += [(part, where) for part in parts_of(entry)]
    likely = detect_tools(entry for entry, _ in entries)
    read = []
    for (entry, where), detected in zip(entries, likely, strict=True):
        if chosen is not None and family_of(chosen) != family_of(detected):
            _check_own(entry, where, chosen, detected)
        own = chosen or detected
        read.append((entry, own, FORMATS[own].import_tool(entry, where)))
    return read


def _check_own(entry: Wire, where: str, chosen: ProviderFormat, detected: ProviderFormat) -> None:
    """Refuse a definition that the format it is called to be of has no place for, and another has."""
    if _fits(entry, where, detected) and not _fits(entry, where, chosen):
        raise InvalidToolError(f"{where}: this is written as a tool of {detected}, not of {chosen}")


def _fits(entry: Wire, where: str, provider_format: ProviderFormat) -> bool:
    try:
        found = FORMATS[provider_format].import_tool(entry, where)
    except InvalidToolError:
        return False
    return bool(found) and not any(one.unread for one in found)


def parsed(value: Any, what: str = "the definitions are") -> Any:
    """Give the value of JSON text, anything else as it is; raises ``InvalidToolError`` for text that is no JSON."""
    if not isinstance(value, str | bytes):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as exc:
        raise InvalidToolError(f"{what} not valid JSON: {exc}"[:300]) from exc


def _entries(tools: Any) -> list[Any] | None:
    """Give the definitions of a list, a request's body or a server's answer; ``None`` for what has none."""
    tools = parsed(tools)
    if isinstance(tools, list | tuple):
        return list(tools)
    body = langchain.definition_of(tools) or as_dict(tools)
    if body is None:
        raise InvalidToolError(f"the definitions must be a list or an object, got {type(tools).__name__}")
    listing = as_dict(body.get("result"))  # what an MCP server lists
    body = body if listing is None or "tools" not in listing else listing
    if is_single_definition(body):
        return [body]
    found = (wire.read_request(body).tools for wire in FORMATS.values())
    tools = next((tools for tools in found if tools is not None), None)
    return None if tools is None else as_list(tools)
