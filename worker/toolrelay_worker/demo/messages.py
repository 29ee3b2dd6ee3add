"""What models of six providers say when they want tools, and how each of their calls has to end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from toolrelay.errors import ErrorCategory
from toolrelay.models import CallStatus, ProviderFormat


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call has to end."""

    status: CallStatus = CallStatus.COMPLETE
    error_category: ErrorCategory | None = None
    attempt: int = 1
    """0 where the call is refused before it is queued."""


@dataclass(frozen=True, slots=True)
class Example:
    """A message of one provider."""

    provider: str
    provider_format: ProviderFormat
    message: dict[str, Any] | list[dict[str, Any]]
    endings: tuple[Ending, ...]
    """One a call, in the message's order."""


_WELL: Final = Ending()
_RETRIED: Final = Ending(attempt=2)
_DECLINED: Final = Ending(CallStatus.ERROR, ErrorCategory.PERMISSION)
_MISSHAPEN: Final = Ending(CallStatus.ERROR, ErrorCategory.SCHEMA, attempt=0)
_UNHEARD_OF: Final = Ending(CallStatus.ERROR, ErrorCategory.NOT_FOUND, attempt=0)

_OPENAI_CHAT: Final = {
    "id": "chatcmpl-DmX2relay",
    "object": "chat.completion",
    "created": 1796000000,
    "model": "gpt-5.6-terra",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "tool_calls": [
                    {
                        "id": "call_Oslo7Qm",
                        "type": "function",
                        "function": {"name": "weather_forecast", "arguments": '{"city":"Oslo","days":2}'},
                    },
                    {
                        "id": "call_Lisb3Xw",
                        "type": "function",
                        "function": {"name": "weather_forecast", "arguments": '{"city":"Lisbon"}'},
                    },
                    {
                        "id": "call_Conv9Zr",
                        "type": "function",
                        "function": {
                            "name": "currency_convert",
                            "arguments": '{"amount":1200,"source":"NOK","target":"EUR"}',
                        },
                    },
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 412, "completion_tokens": 71, "total_tokens": 483},
}

_OPENAI_RESPONSES: Final = {
    "id": "resp_04relay",
    "object": "response",
    "created_at": 1796000000,
    "status": "completed",
    "model": "gpt-5.6-terra",
    "output": [
        {"id": "rs_04a", "type": "reasoning", "summary": []},
        {
            "id": "fc_04b",
            "type": "function_call",
            "status": "completed",
            "call_id": "call_Rep2025",
            "name": "report_build",
            "arguments": '{"year":2025}',
        },
        {
            "id": "fc_04c",
            "type": "function_call",
            "status": "completed",
            "call_id": "call_ResA10",
            "name": "stock_reserve",
            "arguments": '{"sku":"LAMP-10","quantity":4}',
        },
    ],
    "parallel_tool_calls": True,
}

_ANTHROPIC: Final = {
    "id": "msg_01relay",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-5-5",
    "content": [
        {"type": "text", "text": "I will look up the policy and charge the card."},
        {"type": "tool_use", "id": "toolu_01Pol", "name": "document_search", "input": {"query": "refund"}},
        {"type": "tool_use", "id": "toolu_01Chg", "name": "card_charge", "input": {"order": 1042, "amount": 89.9}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 530, "output_tokens": 118},
}

_GEMINI: Final = {
    "candidates": [
        {
            "index": 0,
            "finishReason": "STOP",
            "content": {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {
                            "id": "fc-adr-1",
                            "name": "address_check",
                            "args": {"street": "4 Mill Row", "postcode": "QX1"},
                        },
                        "thoughtSignature": "CvcBAR8pdemo",
                    },
                    {
                        "functionCall": {
                            "id": "fc-wea-2",
                            "name": "weather_forecast",
                            "args": {"city": "Kyiv", "days": "a week"},
                        }
                    },
                ],
            },
        }
    ],
    "modelVersion": "gemini-3.5-flash",
    "responseId": "r-relay",
}

_LANGCHAIN: Final = {
    "type": "ai",
    "content": "",
    "tool_calls": [
        {
            "type": "tool_call",
            "id": "lc-conv",
            "name": "currency_convert",
            "args": {"amount": 25, "source": "USD", "target": "UAH"},
        },
        {"type": "tool_call", "id": "lc-trans", "name": "text_translate", "args": {"text": "hello", "into": "nb"}},
    ],
    "invalid_tool_calls": [],
}

_MCP: Final = [
    {
        "jsonrpc": "2.0",
        "id": 41,
        "method": "tools/call",
        "params": {"name": "weather_forecast", "arguments": {"city": "Berlin", "days": 1}},
    },
    {
        "jsonrpc": "2.0",
        "id": 42,
        "method": "tools/call",
        "params": {"name": "report_build", "arguments": {"year": 2024}},
    },
]

EXAMPLES: Final = (
    Example("OpenAI Chat", ProviderFormat.OPENAI, _OPENAI_CHAT, (_WELL, _WELL, _WELL)),
    Example("OpenAI Responses", ProviderFormat.OPENAI_RESPONSES, _OPENAI_RESPONSES, (_WELL, _RETRIED)),
    Example("Anthropic", ProviderFormat.ANTHROPIC, _ANTHROPIC, (_WELL, _DECLINED)),
    Example("Gemini", ProviderFormat.GEMINI, _GEMINI, (_WELL, _MISSHAPEN)),
    Example("LangChain", ProviderFormat.LANGCHAIN, _LANGCHAIN, (_WELL, _UNHEARD_OF)),
    Example("MCP", ProviderFormat.MCP, _MCP, (_WELL, _WELL)),
)
