"""Results as they stand in a conversation, in any provider's shape: the way back of ``format_results``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from toolrelay.errors import ErrorCategory
from toolrelay.formats._content import SILENT, Media, content_of, described, single_value
from toolrelay.formats._parts import as_blocks, of_bedrock, of_gemini
from toolrelay.formats._plain import as_dict, as_list
from toolrelay.formats._protocol import Wire, pick
from toolrelay.models import CallKind, ProviderFormat
from toolrelay.outputs import lenient_text

_MARK: Final = "Error: "
_OUTPUTS: Final = {
    "function_call_output": CallKind.FUNCTION,
    "custom_tool_call_output": CallKind.CUSTOM,
    "shell_call_output": CallKind.SHELL,
    "local_shell_call_output": CallKind.LOCAL_SHELL,
    "apply_patch_call_output": CallKind.APPLY_PATCH,
    "computer_call_output": CallKind.COMPUTER,
    "tool_search_output": CallKind.TOOL_SEARCH,
}


class FoundResult(NamedTuple):
    """One result; ``error`` is ``None`` exactly if the tool did not fail."""

    provider_format: ProviderFormat
    call_id: Any
    name: Any
    output: Any = None
    error: str | None = None
    category: ErrorCategory | None = None
    kind: CallKind = CallKind.FUNCTION


def results_in(message: Wire) -> Iterator[FoundResult]:
    """Read the results of a message, item, block or part."""
    found = _result(message)
    if found is not None:
        yield found
        return
    for item in as_list(message.get("content")) or as_list(message.get("parts")):
        block = as_dict(item)
        found = None if block is None else _result(block)
        if found is not None:
            yield found


def _result(block: Wire) -> FoundResult | None:
    kind = block.get("type")
    if kind == "tool" or block.get("role") in ("tool", "function"):
        return _message(block)
    if kind == "tool_result":
        return _tool_result(block)
    if isinstance(kind, str) and kind in _OUTPUTS:
        return _item(block, _OUTPUTS[kind])
    if kind == "function_result":
        fails = bool(block.get("is_error"))
        where = ProviderFormat.GEMINI_INTERACTIONS
        return _found(where, block.get("call_id"), block.get("name"), block.get("result"), fails=fails)
    return _gemini(block) or _bedrock(block) or _mcp(block)


def _message(message: Wire) -> FoundResult:
    is_langchain = message.get("type") == "tool"
    where = ProviderFormat.LANGCHAIN if is_langchain else ProviderFormat.OPENAI
    fails = message.get("status") == "error"
    identity, name = message.get("tool_call_id"), message.get("name")
    return _found(where, identity, name, message.get("content"), fails=fails, is_marked=not is_langchain)


def _tool_result(block: Wire) -> FoundResult:
    is_mcp = "toolUseId" in block
    identity = pick(block, "toolUseId", "tool_use_id")
    if not is_mcp:
        fails = bool(block.get("is_error"))
        return _found(ProviderFormat.ANTHROPIC, identity, None, block.get("content"), fails=fails)
    return _found(ProviderFormat.MCP, identity, None, _content_only(block), fails=_is_error(block))


def _item(item: Wire, kind: CallKind) -> FoundResult:
    where, identity = ProviderFormat.OPENAI_RESPONSES, item.get("call_id")
    value = item.get("tools") if kind is CallKind.TOOL_SEARCH else item.get("output")
    fails = item.get("status") == "failed"
    is_marked = kind in (CallKind.FUNCTION, CallKind.CUSTOM, CallKind.LOCAL_SHELL)
    return _found(where, identity, item.get("name"), value, fails=fails, is_marked=is_marked)._replace(kind=kind)


def _gemini(part: Wire) -> FoundResult | None:
    response = as_dict(pick(part, "functionResponse", "function_response"))
    if response is None:
        return None
    body = as_dict(response.get("response")) or {}
    identity, name = response.get("id"), response.get("name")
    if "error" in body:
        return _found(ProviderFormat.GEMINI, identity, name, body["error"], fails=True)
    output = next((body[key] for key in ("output", "result") if key in body and len(body) == 1), body)
    pictures = of_gemini([inner for item in as_list(response.get("parts")) if (inner := as_dict(item))])
    if pictures:
        told = [] if output in ("", {}) else [{"type": "text", "text": lenient_text(output)}]
        output = [*told, *pictures]
    return _found(ProviderFormat.GEMINI, identity, name, output, fails=False)


def _bedrock(block: Wire) -> FoundResult | None:
    result = as_dict(block.get("toolResult"))
    if result is None:
        return None
    parts = [part for item in as_list(result.get("content")) if (part := as_dict(item))]
    texts = [part["json"] if "json" in part else part.get("text", part) for part in parts]
    value = of_bedrock(parts) or (texts[0] if len(texts) == 1 else texts)
    fails = result.get("status") == "error"
    return _found(ProviderFormat.BEDROCK, result.get("toolUseId"), None, value, fails=fails)


def _mcp(message: Wire) -> FoundResult | None:
    identity = message.get("id") if "jsonrpc" in message else None
    error = as_dict(message.get("error")) if "jsonrpc" in message else None
    if error is not None:
        return _found(ProviderFormat.MCP, identity, None, error.get("message"), fails=True)
    answer = as_dict(message.get("result")) if "jsonrpc" in message else message
    if answer is None or not _is_answer(answer, is_wrapped=answer is not message):
        return None
    return _found(ProviderFormat.MCP, identity, None, _content_only(answer), fails=_is_error(answer))


def _is_answer(answer: Wire, *, is_wrapped: bool) -> bool:
    if pick(answer, "isError", "is_error", "structuredContent", "structured_content") is not None:
        return True
    # the flag may be left out; a model's turn has content too
    return is_wrapped and isinstance(answer.get("content"), list) and "role" not in answer


def _is_error(answer: Wire) -> bool:
    return bool(pick(answer, "isError", "is_error"))


def _content_only(answer: Wire) -> Any:
    """Give the one output that a result holds: what is structured, else its content; both where one is a picture."""
    structured = pick(answer, "structuredContent", "structured_content")
    content = answer.get("content")
    if structured is None:
        return content
    has_media = any(isinstance(block, Media) for block in content_of(content) or ())
    return {"content": content, "structuredContent": structured} if has_media else structured


def _found(
    where: ProviderFormat, call_id: Any, name: Any, value: Any, *, fails: bool, is_marked: bool = False
) -> FoundResult:
    value = as_blocks(value)
    blocks = content_of(value)
    if blocks is not None:
        is_single, single = single_value(blocks)
        has_media = any(not hasattr(block, "text") for block in blocks)
        value = single if is_single else value if has_media and not fails else described(blocks)
    if is_marked and isinstance(value, str) and value.startswith(_MARK):
        fails, value = True, value.removeprefix(_MARK)
    if not fails:
        return FoundResult(where, call_id, name, value)
    category, text = _category_of("" if value in (None, [], "") else lenient_text(value))
    return FoundResult(where, call_id, name, None, text or SILENT, category)


def _category_of(text: str) -> tuple[ErrorCategory, str]:
    word, colon, rest = text.partition(": ")
    if colon and word in set(ErrorCategory):
        return ErrorCategory(word), rest
    return ErrorCategory.EXECUTION, text
