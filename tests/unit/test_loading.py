"""What is said when the module that should register the tools cannot be loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolrelay.errors import ToolLoadError
from toolrelay_worker.loading import load_tools

CHECK = "check the name and the working directory"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory of the test's own, whose modules are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def complaint_of(name: str) -> str:
    with pytest.raises(ToolLoadError) as caught:
        load_tools([name])
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("nowhere", CHECK),
        ("mine.nowhere", CHECK),
        ("mine.py", "write mine, not mine.py"),
        ("./mine.py", "write mine, not ./mine.py"),
        ("my/mine.py", "write my.mine, not my/mine.py"),
        ("nowhere.py:registry", "write nowhere, not nowhere.py"),
        (":registry", CHECK),
    ],
)
def test_a_module_that_is_not_there_is_a_matter_of_its_name(folder: Path, name: str, advice: str) -> None:
    (folder / "mine.py").write_text("")

    assert complaint_of(name) == (
        f"cannot import the tools module {name.partition(':')[0]!r}: "
        f"there is none, neither in {folder} nor where Python looks; {advice}"
    )


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("\nimport no_such_thing\n", 2, "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("def f():\n    return 1 / 0\nf()\n", 2, "ZeroDivisionError: division by zero"),
        ("import json\n\njson.loads('{')\n", 3, "JSONDecodeError: Expecting property name"),
        (
            "from toolrelay_worker import ToolRegistry\nToolRegistry().tool('a b')(lambda: 1)\n",
            2,
            "RegistrationError: tool 'a b'",
        ),
    ],
    ids=["import", "its own function", "library", "tool"],
)
def test_a_module_that_fails_is_told_with_its_own_line(folder: Path, text: str, line: int, error: str) -> None:
    (folder / "mine.py").write_text(text)

    complaint = complaint_of("mine")

    assert complaint.startswith(f"cannot import the tools module 'mine': {folder / 'mine.py'}, line {line}: {error}")
    assert CHECK not in complaint


def test_a_module_of_ones_own_that_a_tools_module_imports_is_where_it_failed(folder: Path) -> None:
    (folder / "mine.py").write_text("import helper\n")
    (folder / "helper.py").write_text("\n\nraise RuntimeError('not today')\n")

    assert f"{folder / 'helper.py'}, line 3: RuntimeError: not today" in complaint_of("mine")


def test_a_syntax_error_shows_its_line(folder: Path) -> None:
    (folder / "mine.py").write_text("\n\ndef :\n")

    complaint = complaint_of("mine")

    assert "'mine': SyntaxError: " in complaint
    assert complaint.endswith("(mine.py, line 3)")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("mine:nothing", "module 'mine' has no attribute 'nothing'; name a module or module:registry"),
        ("mine:number", "'mine:number' is not a ToolRegistry but int; name a module or module:registry"),
        ("mine:empty", "mine:empty registered no tool; decorate functions with @toolrelay_worker.tool"),
    ],
)
def test_what_stands_after_the_colon_must_be_a_registry_with_tools(folder: Path, name: str, complaint: str) -> None:
    (folder / "mine.py").write_text("from toolrelay_worker import ToolRegistry\nnumber = 1\nempty = ToolRegistry()\n")

    assert complaint_of(name) == complaint
