"""How other libraries read tool calls: the providers' SDKs with their accumulators, langchain, litellm, llm-rosetta.

Each reader takes what the corpus holds, one payload or the list of a stream's events, and gives the calls that its
library would have a client run. Nothing here corrects a library; what it raises is passed on.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

import httpx2
import litellm
from anthropic.lib.streaming import _beta_messages, _messages
from anthropic.types import RawMessageStreamEvent
from anthropic.types.beta import BetaMessage, BetaRawMessageStreamEvent
from google.genai import types as gemini_types
from google.genai.interactions import Interaction, InteractionSSEEvent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_google_genai.chat_models import _parse_response_candidate
from langchain_openai.chat_models.base import (
    _construct_lc_result_from_responses_api,
    _convert_delta_to_message_chunk,
    _convert_dict_to_message,
    _convert_responses_chunk_to_generation_chunk,
)
from litellm.litellm_core_utils.prompt_templates.factory import get_tool_calls_from_response
from litellm.llms.anthropic.chat.handler import ModelResponseIterator
from litellm.types.utils import ModelResponseStream
from llm_rosetta import get_converter_for_provider
from mcp.types import CallToolRequest
from openai._types import omit
from openai.lib.responses_websocket import ResponsesWebSocketAccumulator
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

#: stands for arguments that a library did not turn into an object
UNREAD: Final = "not read"


class Call(NamedTuple):
    """A call as a library hands it to its user."""

    name: Any
    arguments: Any
    call_id: Any


class Reader(NamedTuple):
    """One way of one library to read one provider's payloads."""

    library: str
    provider: str
    form: str
    read: Callable[[Any], Iterable[Call]]


def _parsed(text: str | None) -> Any:
    try:
        return json.loads(text) if text else {}
    except ValueError:
        return UNREAD


# OpenAI


def _of_chat(completion: Any) -> list[Call]:
    calls = []
    for choice in completion.choices:
        for call in choice.message.tool_calls or []:
            custom = getattr(call, "custom", None)
            if custom is not None:
                calls.append(Call(custom.name, custom.input, call.id))
            else:
                calls.append(Call(call.function.name, _parsed(call.function.arguments), call.id))
    return calls


def _openai_chat_stream(events: list[Any]) -> list[Call]:
    state = ChatCompletionStreamState()
    for event in events:
        state.handle_chunk(ChatCompletionChunk.model_validate(event))
    return _of_chat(state.get_final_completion())


def _of_items(items: Iterable[Any]) -> list[Call]:
    """Take what the SDK's own runner takes; which of the other kinds a client runs, it leaves to its user."""
    calls = []
    for item in items:
        members = item if isinstance(item, dict) else item.to_dict()
        if members["type"] == "function_call":
            calls.append(Call(members["name"], _parsed(members["arguments"]), members["call_id"]))
        elif members["type"] == "custom_tool_call":
            calls.append(Call(members["name"], members["input"], members["call_id"]))
    return calls


_RESPONSE_EVENT: Final = TypeAdapter(ResponseStreamEvent)


def _responses_stream(events: list[Any]) -> list[Call]:
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    for event in events:
        state.handle_event(_RESPONSE_EVENT.validate_python(event))
    return _of_items(state._completed_response.output)


def _responses_websocket(events: list[Any]) -> list[Call]:
    accumulator = ResponsesWebSocketAccumulator()
    for event in events:
        accumulator.add_event(_RESPONSE_EVENT.validate_python(event))
    return _of_items(row["item"] for row in accumulator.detailed_snapshot()["output"])


# Anthropic


def _of_blocks(message: Any) -> list[Call]:
    return [Call(block.name, block.input, block.id) for block in message.content if block.type == "tool_use"]


_EVENT: Final = TypeAdapter(RawMessageStreamEvent)
_BETA_EVENT: Final = TypeAdapter(BetaRawMessageStreamEvent)


def _anthropic_stream(events: list[Any]) -> list[Call]:
    snapshot: Any = None
    buffers: dict[Any, Any] = {}
    for event in events:
        read = _EVENT.validate_python(event)
        snapshot = _messages.accumulate_event(event=read, current_snapshot=snapshot, json_bufs=buffers)
    return _of_blocks(snapshot)


def _anthropic_beta_stream(events: list[Any]) -> list[Call]:
    snapshot: Any = None
    buffers: dict[Any, Any] = {}
    for event in events:
        snapshot = _beta_messages.accumulate_event(
            event=_BETA_EVENT.validate_python(event),
            current_snapshot=snapshot,
            json_bufs=buffers,
            request_headers=httpx2.Headers({}),
        )
    return _of_blocks(snapshot)


# Google


def _gemini(responses: list[Any]) -> list[Call]:
    calls = []
    for response in responses:
        if response.keys() & {"toolCall", "toolCallCancellation", "setupComplete"}:
            call = gemini_types.LiveServerMessage.model_validate(response).tool_call
            found = [] if call is None else call.function_calls
        else:
            found = gemini_types.GenerateContentResponse.model_validate(response).function_calls
        calls += [Call(call.name, call.args or {}, call.id) for call in found or []]
    return calls


def _interaction(message: Any) -> list[Call]:
    steps = TypeAdapter(Interaction).validate_python(message).steps
    return [Call(step.name, step.arguments, step.id) for step in steps if step.type == "function_call"]


def _interaction_stream(events: list[Any]) -> list[Call]:
    """Put events together by hand: the SDK has their types, and no accumulator."""
    adapter = TypeAdapter(InteractionSSEEvent)
    steps: dict[int, Any] = {}
    texts: dict[int, str] = {}
    for event in map(adapter.validate_python, events):
        if event.event_type == "step.start" and event.step.type == "function_call":
            steps[event.index] = event.step
        elif event.event_type == "step.delta" and event.delta.type == "arguments_delta":
            texts[event.index] = texts.get(event.index, "") + (event.delta.arguments or "")
    return [Call(step.name, _parsed(texts.get(index)), step.id) for index, step in sorted(steps.items())]


# MCP


def _mcp(message: Any) -> list[Call]:
    params = CallToolRequest.model_validate(message).params
    return [Call(params.name, params.arguments or {}, message.get("id"))]


# langchain


def _of_langchain(message: Any) -> list[Call]:
    good = [Call(call["name"], call["args"], call["id"]) for call in message.tool_calls]
    return good + [Call(call["name"], UNREAD, call["id"]) for call in message.invalid_tool_calls]


def _added(chunks: Iterable[Any]) -> list[Call]:
    return _of_langchain(functools.reduce(operator.add, chunks))


def _langchain_chat_stream(events: list[Any]) -> list[Call]:
    deltas = [choice["delta"] for event in events for choice in event["choices"]]
    return _added(_convert_delta_to_message_chunk(delta, AIMessageChunk) for delta in deltas)


def _langchain_responses_stream(events: list[Any]) -> list[Call]:
    chunks, places = [], (-1, -1, -1)
    known: dict[Any, Any] = {}
    for event in map(_RESPONSE_EVENT.validate_python, events):
        *found, chunk = _convert_responses_chunk_to_generation_chunk(
            event, *places, output_version="responses/v1", item_output_indices=known
        )
        places = tuple(found)
        if chunk is not None:
            chunks.append(chunk.message)
    return _added(chunks)


def _langchain_anthropic_stream(events: list[Any]) -> list[Call]:
    model, block, chunks = _claude(), None, []
    for event in map(_BETA_EVENT.validate_python, events):
        chunk, block = model._make_message_chunk_from_anthropic_event(
            event, coerce_content_to_string=False, block_start_event=block
        )
        if chunk is not None:
            chunks.append(chunk)
    return _added(chunks)


@functools.cache
def _claude() -> Any:
    return ChatAnthropic(model="claude-sonnet-5-5", api_key="offline")


def _langchain_responses(message: Any) -> list[Call]:
    response = Response.model_validate(message)
    result = _construct_lc_result_from_responses_api(response, output_version="responses/v1")
    return _of_langchain(result.generations[0].message)


def _langchain_gemini(message: Any) -> list[Call]:
    candidates = gemini_types.GenerateContentResponse.model_validate(message).candidates
    return [call for candidate in candidates for call in _of_langchain(_parse_response_candidate(candidate))]


# litellm


def _litellm_chat_stream(events: list[Any]) -> list[Call]:
    return _of_chat(litellm.stream_chunk_builder([ModelResponseStream(**event) for event in events]))


def _litellm_anthropic_stream(events: list[Any]) -> list[Call]:
    iterator = ModelResponseIterator(None, sync_stream=True)
    return _of_chat(litellm.stream_chunk_builder([iterator.chunk_parser(event) for event in events]))


def _litellm(message: Any) -> list[Call]:
    found = get_tool_calls_from_response(message, include_all_choices=True)
    return [Call(call["name"], call["arguments"], call["id"]) for call in found]


# llm-rosetta

_ROSETTA: Final = {"gemini": "google", "gemini_interactions": "google_interactions"}


def _rosetta(provider: str) -> Callable[[Any], list[Call]]:
    converter = get_converter_for_provider(_ROSETTA.get(provider, provider))

    def read(message: Any) -> list[Call]:
        parts = [
            part
            for choice in converter.response_from_provider(message)["choices"]
            for part in choice["message"]["content"]
        ]
        return [
            Call(part["tool_name"], _rosetta_input(part), part["tool_call_id"])
            for part in parts
            if part["type"] == "tool_call"
        ]

    return read


def _rosetta_input(part: Any) -> Any:
    arguments = part["tool_input"]
    return arguments.get("input", arguments) if part.get("tool_type") == "custom" else arguments


def _rosetta_stream(provider: str) -> Callable[[Any], list[Call]]:
    def read(events: list[Any]) -> list[Call]:
        converter = get_converter_for_provider(_ROSETTA.get(provider, provider))
        context = converter.create_stream_context()
        started: dict[str, Any] = {}
        texts: dict[str, str] = {}
        for event in events:
            for found in converter.stream_response_from_provider(event, context):
                if found["type"] == "tool_call_start":
                    started[found["tool_call_id"]] = found
                elif found["type"] == "tool_call_delta":
                    identity = found["tool_call_id"]
                    texts[identity] = texts.get(identity, "") + found["arguments_delta"]
        return [
            Call(
                start["tool_name"], texts.get(i, "") if start.get("tool_type") == "custom" else _parsed(texts.get(i)), i
            )
            for i, start in started.items()
        ]

    return read


READERS: Final = (
    Reader("openai", "openai_chat", "whole", lambda message: _of_chat(ChatCompletion.model_validate(message))),
    Reader("openai", "openai_chat", "stream", _openai_chat_stream),
    Reader("openai", "openai_responses", "whole", lambda message: _of_items(Response.model_validate(message).output)),
    Reader("openai", "openai_responses", "stream", _responses_stream),
    Reader("openai websocket", "openai_responses", "stream", _responses_websocket),
    Reader("anthropic", "anthropic", "whole", lambda message: _of_blocks(BetaMessage.model_validate(message))),
    Reader("anthropic", "anthropic", "stream", _anthropic_stream),
    Reader("anthropic beta", "anthropic", "stream", _anthropic_beta_stream),
    Reader("google-genai", "gemini", "whole", lambda message: _gemini([message])),
    Reader("google-genai", "gemini", "stream", _gemini),
    Reader("google-genai", "gemini_interactions", "whole", _interaction),
    Reader("google-genai", "gemini_interactions", "stream", _interaction_stream),
    Reader("mcp", "mcp", "whole", _mcp),
    Reader("langchain", "langchain", "whole", lambda message: _of_langchain(AIMessage.model_validate(message))),
    Reader("langchain", "langchain", "stream", lambda events: _added(map(AIMessageChunk.model_validate, events))),
    Reader(
        "langchain",
        "openai_chat",
        "whole",
        lambda message: [
            call for choice in message["choices"] for call in _of_langchain(_convert_dict_to_message(choice["message"]))
        ],
    ),
    Reader("langchain", "openai_chat", "stream", _langchain_chat_stream),
    Reader("langchain", "openai_responses", "whole", _langchain_responses),
    Reader("langchain", "openai_responses", "stream", _langchain_responses_stream),
    Reader(
        "langchain",
        "anthropic",
        "whole",
        lambda message: _of_langchain(
            _claude()._format_output(BetaMessage.model_validate(message)).generations[0].message
        ),
    ),
    Reader("langchain", "anthropic", "stream", _langchain_anthropic_stream),
    Reader("langchain", "gemini", "whole", _langchain_gemini),
    Reader("litellm", "openai_chat", "stream", _litellm_chat_stream),
    Reader("litellm", "anthropic", "stream", _litellm_anthropic_stream),
    *(Reader("litellm", name, "whole", _litellm) for name in ("openai_chat", "openai_responses", "anthropic")),
    *(
        Reader("llm-rosetta", name, form, make(name))
        for name in ("openai_chat", "openai_responses", "anthropic", "gemini", "gemini_interactions")
        for form, make in (("whole", _rosetta), ("stream", _rosetta_stream))
    ),
)
