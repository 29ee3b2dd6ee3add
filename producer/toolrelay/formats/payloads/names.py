"""From the name on the wire to the tool's own: through the request's name map, past what models put around names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol, runtime_checkable

from toolrelay import names as name_maps

#: namespaces that models make up for the tools they were given
_PREFIXES: Final = ("functions.", "default_api.", "default_api:")
#: the harmony format's control tokens, which leak from some servers: ``lookup<|channel|>commentary``
_MARKER: Final = "<|"
#: an agent calls the same tools again and again; a longer name is none that a provider takes, and is not kept
_MAX_REMEMBERED: Final = 512
_MAX_LENGTH: Final = 128


class ToolName(NamedTuple):
    """The tool's own name, and whether something invented had to be taken off to find it."""

    name: str
    is_repaired: bool = False
    arguments: name_maps.ArgumentNames | None = None
    """What the tool's parameters are called on the wire, where that is not what the tool calls them."""


@runtime_checkable
class NameSource(Protocol):
    """Whatever knows the tools' names. ``ExportedTools.names`` is a mapping, and knows the parameters' as well."""

    def decode(self, wire_name: str, /) -> str | None:
        """Give the tool's name; ``None``, ``LookupError`` or the name itself for one that it did not make."""


#: a map from wire names to tool names
Names = Mapping[str, str] | NameSource
Decode = Callable[[str], ToolName]


def decoder_of(names: Names | None) -> Decode:
    """Give the function that finds a tool's name; the exact wire name is tried before anything is taken off it."""
    if names is None:
        return _undecorated
    lookup = names.get if isinstance(names, Mapping) else _asking(names)
    arguments_of = names.arguments_of if isinstance(names, name_maps.NameMap) else _as_they_are

    def decode(wire_name: str) -> ToolName:
        exact = lookup(wire_name)
        if exact is not None:
            return ToolName(exact, arguments=arguments_of(exact))
        plain = _undecorated(wire_name)
        found = lookup(plain.name)
        name = plain.name if found is None else found
        # a model that writes the tool's own name instead has still read the parameters' wire names
        return ToolName(name, plain.is_repaired, arguments_of(name))

    return decode


def _as_they_are(_: str) -> None:
    return None


def _asking(names: NameSource) -> Callable[[str], str | None]:
    def lookup(wire_name: str) -> str | None:
        try:
            name = names.decode(wire_name)
        except LookupError:
            return None
        return None if name == wire_name else name

    return lookup


def _undecorated(wire_name: str) -> ToolName:
    return _remembered(wire_name) if len(wire_name) <= _MAX_LENGTH else _stripped(wire_name)


def _stripped(wire_name: str) -> ToolName:
    if wire_name.isidentifier():  # nearly every name; there is nothing around it
        return ToolName(wire_name)
    name = wire_name.strip()
    if _MARKER in name:
        name = name.partition(_MARKER)[0].rstrip()
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            name = name.removeprefix(prefix)
            break
    return ToolName(name, is_repaired=True) if name and name != wire_name else ToolName(wire_name)


_remembered: Final = functools.lru_cache(maxsize=_MAX_REMEMBERED)(_stripped)
