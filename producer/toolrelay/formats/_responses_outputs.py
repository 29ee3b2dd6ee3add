"""The output items of OpenAI Responses: each kind of call is answered by an item of its own shape.

Only ``apply_patch_call_output`` can say "failed"; the others carry a failure in their text, or, where they have none,
in a message behind them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from toolrelay.errors import ErrorCategory
from toolrelay.formats.protocol import Wire, pick
from toolrelay.formats.shared.content import Block, Text
from toolrelay.formats.shared.output import (
    call_id,
    error_text,
    flagless_text,
    shell_commands,
    shown_blocks,
    success_text,
    text_of,
)
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.formats.shared.results import NO_TEXT, FoundResult, category_of, found_result, picture
from toolrelay.models import CallKind, NormalizedToolResult

#: stands where the API demands a screenshot and there is none: one transparent pixel
_NO_SCREENSHOT: Final = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def items_for(result: NormalizedToolResult) -> list[Wire]:
    """Give the item that answers the call, and behind it what the item has no place for."""
    item: Wire = {"type": f"{_PREFIXES[result.kind]}_output", "call_id": call_id(result)}
    item.update(_WRITERS[result.kind](result))
    caller = result.provider_metadata.get("caller")
    if caller is not None:
        item["caller"] = caller
    return [item] if result.success or result.kind not in NO_TEXT else [item, _apology(result)]


def _apology(result: NormalizedToolResult) -> Wire:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": flagless_text(result)}]}


def _text(result: NormalizedToolResult) -> Wire:
    return {"output": [_shown(block) for block in shown_blocks(result)] or flagless_text(result)}


def _shown(block: Block) -> Wire:
    if isinstance(block, Text):
        return {"type": "input_text", "text": block.text}
    return {"type": "input_image", "image_url": f"data:{block.media_type};base64,{block.data}"}


def _local_shell(result: NormalizedToolResult) -> Wire:
    # the API reference names the call by "id", the guide by "call_id"; it takes either
    return {"id": call_id(result), "output": flagless_text(result)}


def _apply_patch(result: NormalizedToolResult) -> Wire:
    return {"status": "completed" if result.success else "failed", "output": text_of(result)}


def _shell(result: NormalizedToolResult) -> Wire:
    limit = result.provider_metadata.get("max_output_length")
    answer: Wire = {"output": _shell_outputs(result)}
    return answer if limit is None else {**answer, "max_output_length": limit}


def _shell_outputs(result: NormalizedToolResult) -> list[Wire]:
    if not result.success:
        timed_out = result.error_category is ErrorCategory.TIMEOUT
        outcome = {"type": "timeout"} if timed_out else {"type": "exit", "exit_code": 1}
        return [{"stdout": "", "stderr": error_text(result), "outcome": outcome}]
    commands = shell_commands(result.output) or [{"stdout": success_text(result)}]
    return [_command_output(command) for command in commands]


def _command_output(command: Wire) -> Wire:
    exit_code = command.get("exit_code", command.get("returncode", 0))
    return {
        "stdout": command.get("stdout") or "",
        "stderr": command.get("stderr") or "",
        "outcome": command.get("outcome") or {"type": "exit", "exit_code": exit_code},
    }


def _computer(result: NormalizedToolResult) -> Wire:
    output = result.output if result.success else None
    answer: Wire = {}
    if isinstance(output, dict):
        # whether a safety check is acknowledged is for the tool's author to say, never for us
        answer = {key: output[key] for key in ("acknowledged_safety_checks",) if key in output}
        output = output.get("output", {key: output[key] for key in ("image_url", "file_id") if key in output})
    if isinstance(output, str):
        output = {"image_url": output}
    picture = output if isinstance(output, dict) and output else {"image_url": _NO_SCREENSHOT}
    return {"output": {"type": "computer_screenshot", **picture}, **answer}


def _tool_search(result: NormalizedToolResult) -> Wire:
    output: Any = result.output if result.success else []
    tools = output.get("tools", []) if isinstance(output, dict) else output
    return {"execution": "client", "status": "completed", "tools": tools if isinstance(tools, list) else []}


_PREFIXES: Final = {
    CallKind.FUNCTION: "function_call",
    CallKind.CUSTOM: "custom_tool_call",
    CallKind.SHELL: "shell_call",
    CallKind.LOCAL_SHELL: "local_shell_call",
    CallKind.APPLY_PATCH: "apply_patch_call",
    CallKind.COMPUTER: "computer_call",
    CallKind.TOOL_SEARCH: "tool_search",
}
_WRITERS: Final[dict[CallKind, Callable[[NormalizedToolResult], Wire]]] = {
    CallKind.FUNCTION: _text,
    CallKind.CUSTOM: _text,
    CallKind.SHELL: _shell,
    CallKind.LOCAL_SHELL: _local_shell,
    CallKind.APPLY_PATCH: _apply_patch,
    CallKind.COMPUTER: _computer,
    CallKind.TOOL_SEARCH: _tool_search,
}
_KINDS: Final = {f"{prefix}_output": kind for kind, prefix in _PREFIXES.items()}
#: kinds whose failure is told in their text; the others have a flag or say nothing
_MARKED: Final = frozenset({CallKind.FUNCTION, CallKind.CUSTOM, CallKind.LOCAL_SHELL})
_INSIDE: Final = ";base64,"


def result_of(item: Wire) -> FoundResult | None:
    """Read an item that answers a call of the client's, or a remark behind one; ``None`` for every other."""
    spelled = item.get("type")
    if spelled == "message":
        return _remark(item)
    kind = _KINDS.get(spelled) if isinstance(spelled, str) else None
    if kind is None or (kind is CallKind.TOOL_SEARCH and item.get("execution", "client") != "client"):
        return None
    # the API reference names a local shell's call by "id"
    identity = pick(item, "call_id", "id") if kind is CallKind.LOCAL_SHELL else item.get("call_id")
    value = item.get("tools") if kind is CallKind.TOOL_SEARCH else item.get("output")
    caller = item.get("caller")
    found = found_result(
        identity,
        item.get("name"),
        [_block_of(part) for part in value] if isinstance(value, list) else value,
        fails=item.get("status") == "failed",
        is_marked=kind in _MARKED,
        kind=kind,
        metadata={} if caller is None else {"caller": caller},
    )
    failure = _shell_failure(value) if kind is CallKind.SHELL else None
    if failure is None:
        return found
    category, text = failure
    return found._replace(output=None, error=text, category=category)


def _remark(message: Wire) -> FoundResult | None:
    """Read what ``_apology`` writes."""
    content = [_block_of(part) for part in as_list(message.get("content"))]
    if message.get("role") != "user" or len(content) != 1:
        return None
    found = found_result(None, None, content, fails=False, is_marked=True)
    return None if found.error is None else found._replace(is_remark=True)


def _shell_failure(value: Any) -> tuple[ErrorCategory, str] | None:
    """Read what ``_shell_outputs`` writes of a failure: a command that ran and failed names no category."""
    outputs = [output for entry in as_list(value) if (output := as_dict(entry))]
    if len(outputs) != 1 or outputs[0].get("stdout"):
        return None
    said = outputs[0].get("stderr")
    category, text = category_of(said if isinstance(said, str) else "")
    return None if category is None else (category, text)


def _block_of(item: Any) -> Any:
    """Give a content part as a plain block; what is none stays as it is."""
    part = as_dict(item)
    kind = None if part is None else part.get("type")
    if part is not None and kind in ("input_text", "output_text"):
        return {**part, "type": "text"}
    url = part.get("image_url") if part is not None and kind == "input_image" else None
    if not isinstance(url, str) or not url.startswith("data:") or _INSIDE not in url:
        return item
    media_type, _, data = url.removeprefix("data:").partition(_INSIDE)
    return picture(data, media_type)
