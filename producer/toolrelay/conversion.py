"""From one provider's payload to another's, and what that costs: ``toolrelay convert`` as functions.

Tools are converted by ``convert_tools``. What calls, results and choices lose is found by reading back what was
written: whatever is not in it any more is a loss.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final, NamedTuple

from toolrelay.choices import ToolChoice
from toolrelay.errors import (
    InvalidCallError,
    InvalidPayloadError,
    InvalidResultsError,
    ToolChoiceError,
)
from toolrelay.formats import FORMATS
from toolrelay.formats.payloads.likeness import likeness
from toolrelay.formats.payloads.messages import conversation_in, find_results_in
from toolrelay.formats.protocol import ResultNames
from toolrelay.formats.shared.content import Media, content_of
from toolrelay.formats.shared.plain import as_dict
from toolrelay.models import PLAIN_KINDS, NormalizedToolRequest, NormalizedToolResult, ProviderFormat
from toolrelay.names import NameMap
from toolrelay.outputs import as_base64
from toolrelay.proxy import PendingCalls, format_calls, read_results, results_of
from toolrelay.reading import Reading
from toolrelay.requests import (
    check_declared,
    choice_in,
    choice_value,
    declared_names,
    export_tool_choice,
    import_tool_choice,
)
from toolrelay.schemas import Loss
from toolrelay.translate import format_named, format_results, read_calls

__all__ = ["Converted", "convert_calls", "convert_choice", "convert_results", "renamed"]

#: metadata that is not the call's own: of the message around it, of the way it was read, or said twice
_NOT_OWN: Final = frozenset(
    {"model", "wire_name", "item_id", "sampling", "legacy_function_call", "cancelled", "max_output_length"}
)


class Converted(NamedTuple):
    """What was written, as JSON's own types, and what is not in it."""

    value: Any
    losses: list[Loss]


def renamed(names: NameMap) -> Iterator[Loss]:
    """Say which tools have another name on the wire; who keeps the map has lost nothing."""
    for wire_name, name in names.items():
        if wire_name != name:
            yield Loss("", "name", f"it is {wire_name!r} on the wire", name)


def convert_calls(reading: Reading, provider_format: ProviderFormat | str) -> Converted:
    """Write the calls of a message that was read as another provider's turn: a list of messages, items or a content.

    Only calls that wait for an answer are written: text, calls that a later message answers, and calls that the first
    provider ran itself are left out, and reported. A call with a problem is written as ``format_calls`` does it; one
    without a name is left out. Ids are made for calls that had none. A message without calls gives ``[]``.

    Raises ``InvalidPayloadError`` for a reading of what is nothing that a model said.
    """
    chosen = format_named(provider_format)
    reading.raise_for_stranger()
    calls = [call for call in reading.calls if call.tool_name]
    names = _names_for({call.tool_name for call in calls}, reading.provider_format, chosen)
    losses = [*_left_out(reading), *renamed(names)]
    sound = [call for call in calls if call.problem is None]
    again = read_calls(format_calls(sound, chosen, names=names), chosen, names=names) if sound else []
    for call, back in zip(sound, again, strict=True):
        losses += _lost_of_call(call, back)
    return Converted(format_calls(calls, chosen, names=names) if calls else [], losses)


def _names_for(tools: set[str], source: ProviderFormat | None, target: ProviderFormat) -> NameMap:
    if source is target:  # whatever they are, they were on this wire
        return NameMap({name: name for name in tools})
    return NameMap.of(tools, FORMATS[target].TOOL_NAMES)


def _left_out(reading: Reading) -> Iterator[Loss]:
    if reading.has_text and (reading.calls or reading.answered):
        yield Loss("", "text", "only calls are converted: what the model said besides them is left out")
    for call in reading.answered:
        yield Loss("", "call", "a later message answers it: it is left out", call.tool_name)
    for served in reading.server_calls:
        yield Loss("", served.kind, "the provider runs this call itself: it is left out", served.name)
    for call in reading.calls:
        if not call.tool_name:
            yield Loss("", "call", "it has no name, and is left out")


def _lost_of_call(call: NormalizedToolRequest, back: NormalizedToolRequest) -> Iterator[Loss]:
    name = call.tool_name
    if call.provider_call_id is not None and back.provider_call_id != call.provider_call_id:
        yield Loss("", "id", f"{call.provider_call_id!r} is {back.provider_call_id!r} on the wire", name)
    if back.kind is not call.kind:
        yield Loss("", "kind", f"a call of kind '{call.kind}' is one of kind '{back.kind}' there", name)
    if back.arguments != call.arguments:
        yield Loss("", "arguments", "they are not the same when they are read back", name)
    for key, value in call.provider_metadata.items():
        if key not in _NOT_OWN and back.provider_metadata.get(key) != value:
            yield Loss("", key, "there is no place for it", name)


def convert_results(
    message: Any, provider_format: ProviderFormat | str, source_format: ProviderFormat | str | None = None
) -> Converted:
    """Write the results in a message, or a list of some, as another provider's.

    A list, or a request's body, may be the whole conversation: its calls then lend the results their tools' names, and
    calls without a result and results without a call are among the losses.

    Raises ``InvalidPayloadError`` for what holds no result, or one of another format than ``source_format``;
    ``InvalidResultsError`` for two results of one call, and for results without the name that the provider wants.
    """
    chosen = format_named(provider_format)
    found = find_results_in(message)
    if not found:
        raise InvalidPayloadError(
            f"there are no tool results in it: it looks like {likeness(message)}; "
            "pass the messages that answer a model's calls"
        )
    if source_format is not None:
        _check_source({whose for _, whose in found}, format_named(source_format))
    pending = _calls_beside(conversation_in(message))
    results = results_of(found, pending)
    _check_once(results)
    names = FORMATS[chosen].TRAITS.result_names
    if names is ResultNames.REQUIRED:
        _check_names(results, chosen)
    written = format_results(results, chosen)
    losses: list[Loss] = list(_unmatched(message, results, pending)) if pending else []
    for (one, _), result, back in zip_longest(found, results, read_results(written)):
        losses += _described(result, one.described)
        identities = {result.provider_call_id, *({result.tool_call_id} & pending.keys())}
        losses += _lost_of_result(result, back, identities, names)
    return Converted(json.loads(json.dumps(written, default=as_base64)), losses)


def _calls_beside(message: Any) -> PendingCalls:
    pending = PendingCalls()
    for entry in message if isinstance(message, (list, tuple)) else ():
        try:
            pending.add(read_calls(entry))
        except InvalidCallError:
            continue  # a user's message, which is none of ours
    return pending


def _check_once(results: list[NormalizedToolResult]) -> None:
    seen = Counter(result.provider_call_id for result in results if result.provider_call_id is not None)
    repeated = ", ".join(repr(identity) for identity, count in seen.items() if count > 1)
    if repeated:
        raise InvalidResultsError(f"there are several results for {repeated}: pass the results of one turn at a time")


def _unmatched(
    message: Any, results: list[NormalizedToolResult], pending: Mapping[str, NormalizedToolRequest]
) -> Iterator[Loss]:
    """Tell of what a provider would refuse the conversation for, however it is written."""
    for result in results:
        if result.provider_call_id is not None and result.provider_call_id not in pending:
            yield Loss("", "call", f"no call of the conversation has the id {result.provider_call_id!r}")
    for call in read_calls(message):
        yield Loss("", "result", "the call has no result in the conversation", call.tool_name)


def _check_source(found: set[ProviderFormat], source: ProviderFormat) -> None:
    others = sorted(found - {source})
    if others:
        raise InvalidPayloadError(f"these results are written as those of {', '.join(others)}, not of {source}")


def _check_names(results: list[NormalizedToolResult], chosen: ProviderFormat) -> None:
    nameless = [result.tool_call_id for result in results if not result.tool_name]
    if nameless:
        raise InvalidResultsError(
            f"{chosen} wants the tool's name with every result; without a name: {', '.join(nameless)}; "
            "pass the whole conversation, with the calls that they answer"
        )


def _described(result: NormalizedToolResult, media: Sequence[str]) -> Iterator[Loss]:
    for kind in media:
        yield Loss("", kind, "a failure is told in words: it is described", _whose(result))


def _whose(result: NormalizedToolResult) -> str:
    return result.tool_name or result.tool_call_id


def _lost_of_result(
    result: NormalizedToolResult, back: NormalizedToolResult | None, identities: set[str | None], names: ResultNames
) -> Iterator[Loss]:
    """Compare a result with what is read of what was written; ``back`` is ``None`` if nothing is.

    ``identities`` are what its call may be called: the provider's id, or what a call without one is written as.
    """
    where = _whose(result)
    if back is None:
        yield Loss("", "result", "it cannot be read back from what is written", where)
        return
    if back.provider_call_id not in identities:
        yield Loss("", "id", _changed_id(result.provider_call_id, back.provider_call_id), where)
    if names is not ResultNames.NONE and (not result.tool_name or back.tool_name != result.tool_name):
        yield Loss("", "name", "the result does not say whose it is: pass the conversation with its calls", where)
    kept = [block.data for block in _media_of(back)]
    for block in _media_of(result):
        if block.data not in kept:
            yield Loss("", block.kind, "there is no place for it: it is described", where)
    if result.success != back.success:
        yield Loss("", "success", f"it reads as a {'success' if back.success else 'failure'} there", where)
    elif (result.error, result.error_category) != (back.error, back.error_category):
        yield Loss("", "error", "what is said of the failure is not the same when it is read back", where)
    if result.kind is not back.kind and result.kind not in PLAIN_KINDS:
        yield Loss("", "kind", f"a result of kind '{result.kind}' is one of kind '{back.kind}' there", where)


def _changed_id(identity: str | None, written: str | None) -> str:
    if identity is None:
        return f"the result does not say which call it answers; it is written under {written!r}"
    return f"{identity!r} is not on the wire" if written is None else f"{identity!r} is {written!r} on the wire"


def _media_of(result: NormalizedToolResult) -> list[Media]:
    return [block for block in content_of(result.output) or () if isinstance(block, Media)]


def convert_choice(
    value: Any, provider_format: ProviderFormat | str, source_format: ProviderFormat | str | None = None
) -> Converted:
    """Write a tool choice for another provider; ``value`` is the choice, or the body of a request that has one.

    A bare word that is no mode means the function of that name; without the request's tools nothing can tell it from a
    misspelt mode, which is reported.

    Raises ``ToolChoiceError`` for what is no choice, or one that the provider cannot be told; ``UndeclaredToolError``
    for a tool that the request in the body does not declare.
    """
    chosen = format_named(provider_format)
    choice, guesses = _choice_in(value, None if source_format is None else format_named(source_format))
    names = NameMap.of(choice.tools, FORMATS[chosen].TOOL_NAMES)
    written = export_tool_choice(choice, chosen, names)
    again = import_tool_choice(written, chosen, names) or ToolChoice()
    return Converted(written, [*guesses, *renamed(names), *_lost_of_choice(choice, again)])


def _choice_in(value: Any, source: ProviderFormat | None) -> tuple[ToolChoice, list[Loss]]:
    """Give the choice, and what of it is a guess."""
    body = as_dict(value) or {}
    in_body = choice_in(body, source)
    choice = in_body or import_tool_choice(value, source)
    if choice is None:
        raise ToolChoiceError(
            f"not a recognised tool choice: it looks like {likeness(value)}; "
            "pass its value, or the body of a request that has one"
        )
    declared = None if in_body is None else declared_names(body, source)
    if declared is not None:
        check_declared(choice, declared)
        return choice, []
    word = value if in_body is None else choice_value(body, source)
    is_guess = bool(choice.tools) and isinstance(word, str)
    why = f"{word!r} is not a mode, and was taken for the name of a function"
    return choice, [Loss("", "choice", why)] if is_guess else []


def _lost_of_choice(choice: ToolChoice, again: ToolChoice) -> Iterable[Loss]:
    if again.mode is not choice.mode:
        yield Loss("", "mode", f"'{choice.mode}' is '{again.mode}' there")
    if set(again.tools) != set(choice.tools):
        yield Loss("", "tools", f"there are no subsets: declare only {', '.join(choice.tools)} beside it")
    if again.parallel is not choice.parallel:
        yield Loss("", "parallel", "this value has no place for it: if the provider has, it is a field of the request")
    if again.strict is not choice.strict:
        yield Loss("", "strict", "it is a matter of the tools there")
