"""One module a provider's wire format, all behind one ``Protocol``. Leans only on ``schemas`` and the models.

``shared`` is what they have in common, ``streams`` puts calls together that come in pieces, ``arguments`` reads what a
model wrote between the braces, and ``payloads`` finds out whose a payload is and what is in it.
"""

from typing import Final

from toolrelay.formats import (
    anthropic,
    bedrock,
    gemini,
    gemini_interactions,
    generic,
    langchain,
    mcp,
    openai_chat,
    openai_responses,
)
from toolrelay.formats.protocol import FoundCall, WireFormat
from toolrelay.models import ProviderFormat

FORMATS: Final[dict[ProviderFormat, WireFormat]] = {
    ProviderFormat.OPENAI: openai_chat,
    ProviderFormat.OPENAI_RESPONSES: openai_responses,
    ProviderFormat.ANTHROPIC: anthropic,
    ProviderFormat.GEMINI: gemini,
    ProviderFormat.GEMINI_INTERACTIONS: gemini_interactions,
    ProviderFormat.LANGCHAIN: langchain,
    ProviderFormat.MCP: mcp,
    ProviderFormat.BEDROCK: bedrock,
    ProviderFormat.UNKNOWN: generic,
}

__all__ = ["FORMATS", "FoundCall", "WireFormat"]
