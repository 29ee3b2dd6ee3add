"""What a request says of tools: definitions and choice together, for a provider, and out of a provider's request."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from toolrelay.choices import ChoiceMode, ToolChoice
from toolrelay.definitions import ExportedTools, export_tools, import_tools, parsed, read_tools
from toolrelay.errors import InvalidToolError, ToolChoiceError, ToolExportError, UndeclaredToolError
from toolrelay.formats import FORMATS
from toolrelay.formats.payloads.names import Names, decoder_of
from toolrelay.formats.protocol import Wire, WireRequest
from toolrelay.formats.shared.plain import as_dict
from toolrelay.models import ProviderFormat, ToolSpec
from toolrelay.names import NameMap
from toolrelay.schemas._losses import Loss
from toolrelay.translate import format_named

_NAMES_SHOWN: Final = 20


class ToolRequest(NamedTuple):
    """What a request to a provider holds of tools and choice."""

    fields: Wire
    """To merge into the request's body; ``{}`` without tools, for the other fields are refused then."""
    exported: ExportedTools

    @property
    def names(self) -> NameMap:
        """For ``read_calls``."""
        return self.exported.names

    @property
    def losses(self) -> list[Loss]:
        """Those of the tools and of the choice."""
        return self.exported.losses

    @property
    def refused(self) -> list[ToolExportError]:
        """Tools that are not declared because the provider cannot be told of them, each as the error that says why."""
        return self.exported.refused


class ImportedRequest(NamedTuple):
    """What a request's body said of tools and choice."""

    specs: list[ToolSpec]
    choice: ToolChoice | None


def build_request(
    specs: Iterable[ToolSpec],
    provider_format: ProviderFormat | str,
    choice: ToolChoice | None = None,
    *,
    strict: bool = False,
    is_thinking: bool = False,
    max_description_length: int | None = None,
) -> ToolRequest:
    """Give the fields of a request that declare these tools and this choice, and what they lost.

    Where a provider has no subsets, only the chosen tools are declared. A choice that is strict makes the tools strict
    where that is no matter of the choice. ``is_thinking``: Anthropic's extended thinking
    is on, which takes no forced call.

    >>> spec = ToolSpec("clock", "The time.", {"type": "object", "properties": {}})
    >>> build_request([spec], "openai", ToolChoice(ChoiceMode.ANY)).fields["tool_choice"]
    'required'

    A tool that the provider cannot be told is in ``refused``, and takes no other along.

    Raises ``UndeclaredToolError`` for a choice of a tool that is not declared, ``ToolChoiceError`` for what the
    provider cannot be told; the refusal itself where the choice names a refused tool, or every tool is one.
    """
    chosen = format_named(provider_format)
    traits = FORMATS[chosen].TRAITS
    if choice is not None and choice.is_forced and is_thinking and not traits.forces_while_thinking:
        raise ToolChoiceError(
            f"{chosen} takes no forced tool choice while thinking is on: choose 'auto', or turn thinking off this turn"
        )
    strict = strict or (choice is not None and choice.strict)
    is_by_request = strict and traits.is_strict_by_request
    exported = export_tools(
        specs, chosen, strict=strict and not is_by_request, max_description_length=max_description_length
    )
    for refusal in exported.refused:
        if not exported.tools or (choice is not None and refusal.tool in choice.tools):
            raise refusal
    if is_by_request:
        choice = replace(choice or ToolChoice(), strict=True)
    if choice is None:
        return ToolRequest(
            FORMATS[chosen].request_fields(exported.tools, None, None) if exported.tools else {}, exported
        )
    return _with_choice(exported, choice, chosen)


def _with_choice(exported: ExportedTools, choice: ToolChoice, chosen: ProviderFormat) -> ToolRequest:
    wire = FORMATS[chosen]
    encoder = _encoder(choice, chosen, exported.names)
    losses = list(exported.losses)
    tools = exported.tools
    if choice.mode is ChoiceMode.NONE and not wire.TRAITS.can_forbid_tools:
        losses.append(Loss("", "tool_choice", "this provider cannot forbid tools that are declared: none are"))
        tools = []
    if choice.parallel is False and not wire.TRAITS.has_parallel:
        losses.append(Loss("", "parallel", "this provider cannot be told to make one call at a time"))
    fields: Wire = {}
    if tools:
        value, is_whole = wire.export_choice(choice, encoder.__getitem__)
        if not is_whole:
            allowed = {encoder[name] for name in choice.tools}
            named = zip(exported.names, tools, strict=True)
            tools = [tool for wire_name, tool in named if wire_name in allowed]
        fields = wire.request_fields(tools, value, choice.parallel)
    return ToolRequest(fields, ExportedTools(tools, exported.names, losses, exported.refused))


def import_request(body: Any, provider_format: ProviderFormat | str | None = None) -> ImportedRequest:
    """Read tools and choice out of a request's body: a dict, JSON text or an SDK's object.

    OpenAI's deprecated ``functions`` and ``function_call`` count where the new fields are not there.

    Raises ``InvalidToolError`` for a definition that cannot be read.
    """
    members = as_dict(parsed(body, "the request's body is"))
    if members is None:
        raise InvalidToolError(f"a request's body must be an object, got {type(body).__name__}")
    return ImportedRequest(import_tools(members, provider_format), choice_in(members, provider_format))


def choice_in(body: Wire, provider_format: ProviderFormat | str | None = None) -> ToolChoice | None:
    """Read the choice that a request's body says, the parallel switch beside it included; ``None`` if it says none."""
    found = _said_in(body, provider_format)
    read = (FORMATS[one].import_choice(said.choice) for one, said in found if said.choice is not None)
    choice = next((choice for choice in read if choice is not None), None)
    parallel = next((said.parallel for _, said in found if said.parallel is not None), None)
    if parallel is None:
        return choice
    choice = choice or ToolChoice()
    return ToolChoice(choice.mode, choice.tools, parallel, choice.strict)


def _said_in(body: Wire, provider_format: ProviderFormat | str | None) -> list[tuple[ProviderFormat, WireRequest]]:
    order = _asked(None if provider_format is None else format_named(provider_format))
    return [(one, FORMATS[one].read_request(body)) for one in order]


def _asked(chosen: ProviderFormat | None) -> list[ProviderFormat]:
    """Say whose reader is asked first, and whose where none is named or it reads nothing: their shapes do not meet."""
    return [*([] if chosen is None else [chosen]), *FORMATS]


def choice_value(body: Wire, provider_format: ProviderFormat | str | None = None) -> Any:
    """Give the tool choice of a request's body as it stands there; ``None`` where there is none."""
    found = (said.choice for _, said in _said_in(body, provider_format))
    return next((value for value in found if value is not None), None)


def declared_names(members: Wire, provider_format: ProviderFormat | None = None) -> set[str] | None:
    """Give the names that a choice in this request may have; ``None`` where it cannot be told.

    That is without tools, and beside a tool without a name, such as an MCP server, which brings others along.
    """
    names: set[str] = set()
    for entry, specs in read_tools(members, provider_format):
        if not specs and not isinstance(entry.get("name"), str):
            return None
        names |= {str(entry.get("name"))} if not specs else {part for spec in specs for part in _spellings(spec.name)}
    return names or None


def _spellings(name: str) -> tuple[str, str]:
    return name, name.rpartition("/")[2]  # as the tool is called, and as it is called inside its namespace


def export_tool_choice(
    choice: ToolChoice, provider_format: ProviderFormat | str, names: NameMap | Mapping[str, str] | None = None
) -> Any:
    """Write a choice: ``tool_choice`` of OpenAI and Anthropic, ``toolConfig`` of Gemini, ``toolChoice`` of Bedrock.

    ``names``, those of the exported tools, gives the names on the wire; without it they are made as for the choice's
    tools alone. Anthropic, Bedrock, LangChain and MCP have no subsets of several tools: declare only those beside this
    value, as ``build_request`` does. Whether calls may be parallel is another field of OpenAI's requests.

    Raises ``UndeclaredToolError`` for a tool that is not in ``names``, ``ToolChoiceError`` for what cannot be said.
    """
    chosen = format_named(provider_format)
    return FORMATS[chosen].export_choice(choice, _encoder(choice, chosen, names).__getitem__).value


def _encoder(
    choice: ToolChoice, chosen: ProviderFormat, names: NameMap | Mapping[str, str] | None
) -> Mapping[str, str]:
    if names is None:
        return FORMATS[chosen].TOOL_NAMES.encode(choice.tools)
    to_wire = {name: wire_name for wire_name, name in names.items()}
    check_declared(choice, to_wire)
    return to_wire


def check_declared(choice: ToolChoice, declared: Collection[str]) -> None:
    """Raise ``UndeclaredToolError`` for a choice of a tool that is not declared."""
    for name in choice.tools:
        if name not in declared:
            known = ", ".join(sorted(declared)[:_NAMES_SHOWN]) or "none"
            raise UndeclaredToolError(f"the choice names {name!r}, which is not declared; declared are: {known}")


def import_tool_choice(
    value: Any, provider_format: ProviderFormat | str | None = None, names: Names | None = None
) -> ToolChoice | None:
    """Read a provider's tool choice; ``None``, and no guess, for a shape that nobody writes.

    A bare function name, and the deprecated ``{"name": …}``, mean that function. ``names`` turns wire names back.

    >>> import_tool_choice("required").mode
    <ChoiceMode.ANY: 'any'>
    """
    chosen = None if provider_format is None else format_named(provider_format)
    read = (FORMATS[one].import_choice(value) for one in _asked(chosen))
    choice = next((found for found in read if found is not None), None)
    if choice is None or names is None:
        return choice
    decode = decoder_of(names)
    tools = tuple(decode(name).name for name in choice.tools)
    return ToolChoice(choice.mode, tools, choice.parallel, choice.strict)
