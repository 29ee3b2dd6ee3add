"""The public names, pinned: to take one away breaks users, and to add one is a promise."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import toolrelay
import toolrelay_worker

TOOLRELAY = [
    "AsyncCallHandle",
    "AsyncProducer",
    "AsyncStreamingTurn",
    "AsyncTurn",
    "BrokerUnavailable",
    "CallConflictError",
    "CallHandle",
    "CallKind",
    "CallProblem",
    "CallStatus",
    "CancelReply",
    "ChoiceMode",
    "ErrorCategory",
    "ExecutionPolicy",
    "ExportedTools",
    "InvalidArgumentsError",
    "InvalidCallError",
    "InvalidPayloadError",
    "InvalidResultsError",
    "InvalidToolError",
    "Loss",
    "MissingNameError",
    "NameMap",
    "NormalizedToolRequest",
    "NormalizedToolResult",
    "OnLost",
    "ProblemKind",
    "Producer",
    "Progress",
    "ProviderFormat",
    "RegistrationError",
    "Repair",
    "ResultTimeout",
    "SchemaMismatchError",
    "Settings",
    "SettingsError",
    "StatusUpdate",
    "StreamAssembler",
    "StreamingTurn",
    "ToolChoice",
    "ToolChoiceError",
    "ToolExportError",
    "ToolLoadError",
    "ToolRequest",
    "ToolSpec",
    "ToolrelayError",
    "Turn",
    "UndeclaredToolError",
    "UnknownCall",
    "UnknownProviderFormatError",
    "build_request",
    "classify_error",
    "convert_tools",
    "detect_format",
    "export_tool_choice",
    "export_tools",
    "format_results",
    "import_request",
    "import_tool_choice",
    "import_tools",
    "normalize_schema",
    "normalize_tool_call",
    "read_calls",
    "tool_call_id",
]

TOOLRELAY_WORKER = [
    "Outcome",
    "PartialOutput",
    "RegisteredTool",
    "StopSignal",
    "ToolCallRouter",
    "ToolContext",
    "ToolOutcome",
    "ToolRegistry",
    "ToolRetry",
    "ToolRunner",
    "ToolSpec",
    "default_registry",
    "execute",
    "tool",
]

SDKS = ("openai", "anthropic", "google", "langchain_core", "mcp", "boto3", "botocore")
FLEET = ("celery", "kombu", "billiard", "redis")

PACKAGES = [
    pytest.param(toolrelay, TOOLRELAY, id="toolrelay"),
    pytest.param(toolrelay_worker, TOOLRELAY_WORKER, id="toolrelay_worker"),
]


@pytest.mark.parametrize(("package", "names"), PACKAGES)
def test_the_public_names_are_these(package: ModuleType, names: list[str]) -> None:
    assert names == package.__all__


@pytest.mark.parametrize(("package", "names"), PACKAGES)
def test_every_public_name_leads_to_something_and_is_listed(package: ModuleType, names: list[str]) -> None:
    found = [name for name in names if getattr(package, name, None) is not None]

    assert names == found
    assert set(names) <= set(dir(package))


@pytest.mark.parametrize(("package", "names"), PACKAGES)
def test_a_name_that_does_not_exist_is_an_attribute_error_that_names_it(package: ModuleType, names: list[str]) -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name


def test_both_packages_mean_the_same_tool_definition() -> None:
    assert toolrelay.ToolSpec is toolrelay_worker.ToolSpec


IMPORTS = [
    pytest.param("import toolrelay", (*FLEET, *SDKS, "toolrelay_worker"), id="toolrelay"),
    pytest.param("from toolrelay import format_results, read_calls", (*FLEET, *SDKS), id="translation"),
    pytest.param("from toolrelay import Producer", (*SDKS, "toolrelay_worker"), id="Producer"),
    pytest.param("import toolrelay_worker", (*FLEET, *SDKS), id="toolrelay_worker"),
    pytest.param(
        "from toolrelay_worker import *", ("celery", "kombu", "billiard", *SDKS), id="all of toolrelay_worker"
    ),
]


@pytest.mark.parametrize(("statement", "unwanted"), IMPORTS)
def test_importing_costs_no_more_than_is_needed(statement: str, unwanted: tuple[str, ...]) -> None:
    program = f"import sys; {statement}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"

    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    loaded = set(printed.split())
    assert statement.split()[1] in loaded
    assert set() == loaded & set(unwanted)
