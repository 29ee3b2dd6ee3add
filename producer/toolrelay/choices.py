"""The caller's constraint on which tools a model may call, whatever the provider."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class ChoiceMode(StrEnum):
    """Whether the model calls tools."""

    AUTO = "auto"
    """As it sees fit."""
    NONE = "none"
    """Never."""
    ANY = "any"
    """At least one call; OpenAI's ``required``."""


@dataclass(frozen=True)
class ToolChoice:
    """Which tools a model may call, and whether it must.

    >>> ToolChoice.tool("weather/lookup")
    ToolChoice(mode=<ChoiceMode.ANY: 'any'>, tools=('weather/lookup',), parallel=None, strict=False)

    Raises ``ValueError`` for an unknown mode, and for tools beside the mode ``none``.
    """

    mode: ChoiceMode = ChoiceMode.AUTO
    tools: tuple[str, ...] = ()
    """Only these, by their own names; all that are declared if empty."""
    parallel: bool | None = None
    """Whether one turn may have several calls; ``None`` leaves it to the provider."""
    strict: bool = False
    """The provider holds calls to the schema: Gemini's mode ``VALIDATED``; elsewhere a matter of the tools,
    which ``build_request`` then makes strict."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", ChoiceMode(self.mode))
        object.__setattr__(self, "tools", tuple(dict.fromkeys(self.tools)))
        if self.mode is ChoiceMode.NONE and self.tools:
            raise ValueError(f"the mode 'none' forbids every tool: leave tools empty, got {self.tools!r}")

    @classmethod
    def tool(cls, name: str, *, parallel: bool | None = None) -> ToolChoice:
        """Force this one tool."""
        return cls(ChoiceMode.ANY, (name,), parallel)

    @classmethod
    def subset(cls, names: Iterable[str], mode: ChoiceMode | str = ChoiceMode.AUTO) -> ToolChoice:
        """Allow only these tools."""
        return cls(ChoiceMode(mode), tuple(names))

    @property
    def is_forced(self) -> bool:
        """Whether the model has to call something."""
        return self.mode is ChoiceMode.ANY
