"""Names on the wire: reversible within a request, never two tools under one, the same for the same tools.

A legal name is left alone. Any other has its illegal characters replaced; where that would meet another name, or the
name is too long, all of those concerned get a few digits of a hash of their own, so that no order of the tools matters.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

_DIGITS: Final = 8


class Alphabet:
    """What a provider allows a name to be made of.

    >>> Alphabet("a-zA-Z0-9_-", 64).encode(["weather/lookup", "weather.lookup", "clock"])["clock"]
    'clock'
    """

    def __init__(self, characters: str, length: int, *, first: str | None = None, padding: str = "_") -> None:
        """``characters`` and ``first`` are the insides of a regular expression's ``[…]``.

        ``padding`` goes before a name whose first character may not be the first.
        """
        self.length = length
        self._characters = characters
        self._first = first or characters
        self._padding = padding

    # compiled when first asked for: a dozen alphabets, of which a program uses one or two
    @functools.cached_property
    def _illegal(self) -> re.Pattern[str]:
        return re.compile(f"[^{self._characters}]")

    @functools.cached_property
    def _legal(self) -> re.Pattern[str]:
        return re.compile(f"[{self._first}][{self._characters}]{{0,{self.length - 1}}}")

    def allows(self, name: str) -> bool:
        """Whether a name may stand on the wire as it is."""
        return self._legal.fullmatch(name) is not None

    def encode(self, names: Iterable[str]) -> dict[str, str]:
        """Give each name the one it has on the wire; no two have the same."""
        wire = {name: name for name in names}
        illegal = [name for name in wire if not self.allows(name)]
        if not illegal:
            return wire
        plain = {name: self._sanitised(name) for name in illegal}
        seen: dict[str, int] = {}
        for candidate in plain.values():
            seen[candidate] = seen.get(candidate, 0) + 1
        taken = wire.keys() - plain.keys()
        unmistakable = {
            name
            for name, candidate in plain.items()
            if seen[candidate] == 1 and candidate not in taken and len(candidate) <= self.length
        }
        wire |= {name: plain[name] for name in unmistakable}
        taken |= {plain[name] for name in unmistakable}
        for name in sorted(plain.keys() - unmistakable):
            wire[name] = self._with_hash(name, plain[name], taken)
            taken.add(wire[name])
        return wire

    def _sanitised(self, name: str) -> str:
        candidate = self._illegal.sub("_", name)
        return candidate if self._legal.match(candidate) else self._padding + candidate

    def _with_hash(self, name: str, candidate: str, taken: set[str]) -> str:
        salt = 0
        while True:
            text = f"{name}\0{salt}" if salt else name
            digits = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
            found = f"{candidate[: self.length - _DIGITS - 1]}_{digits}"
            if found not in taken:
                return found
            salt += 1


def tool_of_wire_name(wire_name: str, alphabet: Alphabet, names: Iterable[str]) -> str | None:
    """Give the one tool that may have this name on the wire: exported by itself, or together with all the others.

    ``None`` where there is none, and where there are several: nothing is guessed.

    >>> tool_of_wire_name("weather_lookup", Alphabet("a-zA-Z0-9_-", 64), ["weather/lookup", "clock"])
    'weather/lookup'
    """
    together = alphabet.encode(names)
    found = [name for name, wire in together.items() if wire_name in (wire, alphabet.encode([name])[name])]
    return found[0] if len(found) == 1 else None


class ArgumentNames:
    """How a tool's parameters are called on the wire, where a provider does not take their names."""

    __slots__ = ("inside", "is_text_too", "items", "own", "rest")

    def __init__(
        self,
        own: Mapping[str, str] | None = None,
        inside: Mapping[str, ArgumentNames] | None = None,
        items: ArgumentNames | None = None,
        rest: ArgumentNames | None = None,
        *,
        is_text_too: bool = False,
    ) -> None:
        self.own = dict(own or {})
        """The renamed parameters of this object: wire name to own name."""
        self.inside = dict(inside or {})
        """By own name, the parameters that are objects, or lists of objects, with renamed ones inside."""
        self.items = items
        """The same for the items of a list."""
        self.rest = rest
        """The same for the values of a map: of every parameter that is not in ``inside``."""
        self.is_text_too = is_text_too
        """Whether the parameter may be text as well: then text is not looked into."""

    @classmethod
    def everywhere(cls, own: Mapping[str, str]) -> ArgumentNames:
        """Give the names of what has no end: at every depth the same parameters are renamed."""
        names = cls(own)
        if names.own:
            names.items = names.rest = names
        return names

    def __bool__(self) -> bool:
        return bool(self.own or self.items or self.rest or any(self.inside.values()))

    def __or__(self, other: ArgumentNames) -> ArgumentNames:
        """Join what two alternatives of a parameter rename: a name has one spelling in a whole tool."""
        if other is self:
            return self
        inside = dict(self.inside)
        for name, names in other.inside.items():
            inside[name] = inside[name] | names if name in inside else names
        return ArgumentNames(
            {**self.own, **other.own},
            inside,
            _joined(self.items, other.items),
            _joined(self.rest, other.rest),
            is_text_too=self.is_text_too or other.is_text_too,
        )

    def decode(self, arguments: Any) -> Any:
        """Give a copy of arguments, as a model wrote them, under the parameters' own names.

        An object written as JSON text stays text, with the names in it mapped back.
        """
        if isinstance(arguments, str):
            return arguments if self.is_text_too else self._decoded_text(arguments)
        return self._renamed(arguments, self.own, is_decoding=True)

    def _decoded_text(self, text: str) -> str:
        from toolrelay.formats.arguments.strict_json import (
            decode_fast,  # leans on nothing, but the formats around it lean on this
        )

        if not text.lstrip().startswith(("{", "[")):
            return text
        try:
            written = decode_fast(text)
        except (ValueError, RecursionError):
            return text
        decoded = self.decode(written)
        return text if decoded == written else json.dumps(decoded, ensure_ascii=False)

    def encode(self, arguments: Any) -> Any:
        """Give a copy of arguments under their wire names, for a call that goes back as history."""
        return self._renamed(arguments, {name: wire_name for wire_name, name in self.own.items()}, is_decoding=False)

    def _renamed(self, value: Any, names: Mapping[str, str], *, is_decoding: bool) -> Any:
        if isinstance(value, list):
            return [_inner(self.items, item, is_decoding=is_decoding) for item in value]
        if not isinstance(value, dict):
            return value
        renamed: dict[str, Any] = {}
        for before, inner in value.items():
            after = names.get(before, before)
            if after in value:
                after = before  # both spellings are there: neither may overwrite the other
            own = after if is_decoding else before
            renamed[after] = _inner(self.inside.get(own, self.rest), inner, is_decoding=is_decoding)
        return renamed


def _inner(names: ArgumentNames | None, value: Any, *, is_decoding: bool) -> Any:
    if not names:
        return value
    return names.decode(value) if is_decoding else names.encode(value)


def _joined(first: ArgumentNames | None, second: ArgumentNames | None) -> ArgumentNames | None:
    return first | second if first and second else first or second


class NameMap(Mapping[str, str]):
    """The names of one request's tools: a mapping of wire names to the tools' own.

    >>> names = NameMap({"weather/lookup": "weather_lookup"})
    >>> names.encode("weather/lookup"), names.decode("weather_lookup"), names.decode("stranger")
    ('weather_lookup', 'weather/lookup', None)

    Pass it to ``read_calls(…, names=names)``. It maps the parameters' names back as well.
    """

    __slots__ = ("_arguments", "_to_tool", "_to_wire")

    def __init__(
        self, to_wire: Mapping[str, str] | None = None, arguments: Mapping[str, ArgumentNames] | None = None
    ) -> None:
        self._to_wire = dict(to_wire or {})
        self._to_tool = {wire: name for name, wire in self._to_wire.items()}
        if len(self._to_tool) < len(self._to_wire):
            raise ValueError("two tools have the same name on the wire: a call could not be told apart")
        self._arguments = {name: names for name, names in (arguments or {}).items() if names}

    @classmethod
    def of(cls, names: Iterable[str], alphabet: Alphabet) -> NameMap:
        """Give the map for tools of these names."""
        return cls(alphabet.encode(names))

    def encode(self, name: str, /) -> str:
        """Give a tool's name on the wire. ``KeyError`` for a tool that was not exported."""
        return self._to_wire[name]

    def decode(self, wire_name: str, /) -> str | None:
        """Give the tool's own name; ``None`` for a name that is not on this request's wire."""
        return self._to_tool.get(wire_name)

    def arguments_of(self, name: str, /) -> ArgumentNames | None:
        """Give what was renamed among a tool's parameters; ``None`` where nothing was."""
        return self._arguments.get(name)

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools' own names, in the order in which they were exported."""
        return tuple(self._to_wire)

    def __getitem__(self, wire_name: str) -> str:
        return self._to_tool[wire_name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._to_tool)

    def __len__(self) -> int:
        return len(self._to_tool)

    def __repr__(self) -> str:
        return f"NameMap({self._to_wire!r})"
