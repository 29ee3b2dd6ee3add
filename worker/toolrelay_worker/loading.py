"""Finds the tools a worker is to run: modules that register them when they are imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

from toolrelay.errors import ToolLoadError
from toolrelay_worker.registry import ToolRegistry, default_registry


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
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # the module is the user's: whatever it raises is reported with its name
        raise ToolLoadError(
            f"cannot import the tools module {module_name!r}: {type(error).__name__}: {error}; "
            "check the name, the working directory, and what the module imports"
        ) from error
    if not attribute:
        return default_registry
    registry = getattr(module, attribute, None)
    if not isinstance(registry, ToolRegistry):
        raise ToolLoadError(
            f"{name!r} is no ToolRegistry but {type(registry).__name__}; name a module or module:registry"
        )
    return registry


def _checked(registry: ToolRegistry, names: list[str]) -> ToolRegistry:
    if not len(registry):
        raise ToolLoadError(f"{', '.join(names)} registered no tool; decorate functions with @toolrelay_worker.tool")
    return registry
