"""What the formats' modules share where they read results: the way back of ``format_results``."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from toolrelay.errors import ErrorCategory
from toolrelay.formats.protocol import Wire
from toolrelay.formats.shared.content import SILENT, Media, content_of, described, single_value
from toolrelay.formats.shared.plain import as_dict, as_list
from toolrelay.models import CallKind
from toolrelay.outputs import lenient_text

_MARK: Final = "Error: "
#: kinds of calls whose results have no place for words
NO_TEXT: Final = frozenset({CallKind.COMPUTER, CallKind.TOOL_SEARCH})
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class FoundResult(NamedTuple):
    """One result; ``error`` is ``None`` exactly if the tool did not fail."""

    call_id: Any = None
    """As the wire has it; ``None`` where it names the tool only, or nothing at all."""
    name: Any = None
    output: Any = None
    error: str | None = None
    category: ErrorCategory | None = None
    kind: CallKind = CallKind.FUNCTION
    metadata: Mapping[str, Any] = _NOTHING
    """What the provider wants to have echoed, as ``provider_metadata`` has it."""
    described: tuple[str, ...] = ()
    """The kinds of media that a failure came with: a failure is told in words, they are only described."""
    is_remark: bool = False
    """Whether this says that the result before it is a failure: its own shape has no place for that."""


def found_result(
    call_id: Any,
    name: Any,
    value: Any,
    *,
    fails: bool,
    is_marked: bool = False,
    kind: CallKind = CallKind.FUNCTION,
    metadata: Mapping[str, Any] = _NOTHING,
) -> FoundResult:
    """Make a result of what stands on the wire; content blocks become the one value that they hold.

    ``is_marked``: the wire has no flag, so that a failure is text that begins with ``Error:``.
    """
    media: tuple[str, ...] = ()
    blocks = content_of(value)
    if blocks is not None:
        is_single, single = single_value(blocks)
        media = tuple(block.kind for block in blocks if isinstance(block, Media))
        value = single if is_single else value if media and not fails else described(blocks)
    if is_marked and isinstance(value, str) and value.startswith(_MARK):
        fails, value = True, value.removeprefix(_MARK)
    if not fails:
        return FoundResult(call_id, name, value, kind=kind, metadata=metadata)
    category, text = category_of("" if value in (None, [], "") else lenient_text(value))
    return FoundResult(call_id, name, None, text or SILENT, category, kind, metadata, media)


def category_of(text: str) -> tuple[ErrorCategory | None, str]:
    """Take the category off the text of a failure; ``None`` where it has none."""
    word, colon, rest = text.partition(": ")
    return (ErrorCategory(word), rest) if colon and word in set(ErrorCategory) else (None, text)


def results_in_blocks(message: Wire, key: str, read: Callable[[Wire], FoundResult | None]) -> list[FoundResult]:
    """Read a message that is a result, or holds some in a list."""
    own = read(message)
    if own is not None:
        return [own]
    blocks = (block for item in as_list(message.get(key)) if (block := as_dict(item)))
    return [found for block in blocks if (found := read(block)) is not None]


def picture(data: Any, media_type: Any) -> Wire:
    """Give the block of a picture, as MCP has it; Google's and Amazon's own objects hold bytes."""
    text = base64.b64encode(data).decode() if isinstance(data, bytes) else data
    return {"type": "image", "data": text, "mimeType": media_type}
