"""Finds the tools a worker is to run: modules that register them when they are imported."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Final

from toolrelay.errors import ToolLoadError
from toolrelay_worker.registry import ToolRegistry, default_registry

_OURS: Final = frozenset({"toolrelay", "toolrelay_worker"})


def load_tools(names: Iterable[str]) -> ToolRegistry:
    """Import each ``module`` (its ``@tool`` functions register themselves) or ``module:registry``.

    Modules are looked for in the working directory too. Raises ``ToolLoadError`` that names the module and what to do,
    also when there are no tools at all.
    """
    wanted = list(names)
    if not wanted:
        raise ToolLoadError("no tools: name the modules that register them, with --tools my_tools or TOOLRELAY_TOOLS")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    registries = [_load(name) for name in wanted]
    if all(registry is default_registry for registry in registries):
        return _checked(default_registry, wanted)
    merged = ToolRegistry()
    for registry in dict.fromkeys(registries):
        for tool in registry:
            merged.include(tool)
    return _checked(merged, wanted)


def _load(name: str) -> ToolRegistry:
    module_name, _, attribute = name.partition(":")
    module = _imported(module_name)
    if not attribute:
        return default_registry
    if not hasattr(module, attribute):
        raise ToolLoadError(f"module {module_name!r} has no attribute {attribute!r}; name a module or module:registry")
    registry = getattr(module, attribute)
    if not isinstance(registry, ToolRegistry):
        raise ToolLoadError(
            f"{name!r} is not a ToolRegistry but {type(registry).__name__}; name a module or module:registry"
        )
    return registry


def _imported(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:  # the module is the user's: whatever it raises is reported with its name
        why = _missing(name) if _is_missing(name, error) else f"{_where(name, error)}{type(error).__name__}: {error}"
        raise ToolLoadError(f"cannot import the tools module {name!r}: {why}") from error


def _is_missing(name: str, error: Exception) -> bool:
    """Whether it is this very module that is not there, or its package, and not one that it imports."""
    if not all(part.isidentifier() for part in name.split(".")):
        return True
    return isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}.")


def _missing(name: str) -> str:
    dotted = name.removesuffix(".py").strip("./").replace("/", ".")
    advice = "check the name and the working directory"
    if dotted and dotted != name:
        advice = f"write {dotted}, not {name}"
    return f"there is none, neither in {Path.cwd()} nor where Python looks; {advice}"


def _where(name: str, error: Exception) -> str:
    """Say which line of the user's own code it was that failed."""
    if isinstance(error, SyntaxError):
        return ""  # its text ends with file and line
    here = Path.cwd()
    mine = [
        f"{frame.f_code.co_filename}, line {line}: "
        for frame, line in traceback.walk_tb(error.__traceback__)
        if (module := frame.f_globals.get("__name__", "")) == name
        or (module.partition(".")[0] not in _OURS and _is_below(here, frame.f_code.co_filename))
    ]
    return mine[-1] if mine else ""


def _is_below(here: Path, file: str) -> bool:
    path = Path(file)
    return path.is_relative_to(here) and "site-packages" not in path.parts


def _checked(registry: ToolRegistry, names: list[str]) -> ToolRegistry:
    if not len(registry):
        raise ToolLoadError(f"{', '.join(names)} registered no tool; decorate functions with @toolrelay_worker.tool")
    return registry
