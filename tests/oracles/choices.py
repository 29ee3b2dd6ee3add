"""Tool choices of one provider, written for another: by the whole request, for a choice may be several fields of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import llm_rosetta
from google.genai import types as gemini_types
from langchain_anthropic import ChatAnthropic
from langchain_google_genai._function_utils import _tool_choice_to_tool_config
from litellm.google_genai.adapters.transformation import GoogleGenAIAdapter
from litellm.llms.anthropic.chat.transformation import AnthropicConfig
from litellm.llms.anthropic.messages.adapters.transformation import LiteLLMAnthropicMessagesAdapter
from litellm.llms.bedrock.chat.converse_transformation import AmazonConverseConfig
from litellm.llms.vertex_ai.gemini.vertex_and_google_ai_studio_gemini import VertexGeminiConfig

from tests.oracles.acceptors import ACCEPTORS
from tests.oracles.translation_disagreements import CHOICES
from tests.oracles.translations import Topic, Translator, Way, is_accepted
from toolrelay import build_request, import_request

Fields = dict[str, Any]

NAMES: Final = ("a", "b", "c")
_SCHEMA: Final = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}

# the cases


def _openai(choice: Any, **more: Any) -> Fields:
    functions = [{"name": name, "description": "d", "parameters": _SCHEMA} for name in NAMES]
    tools = [{"type": "function", "function": function} for function in functions]
    messages = [{"role": "user", "content": "q"}]
    return {"model": "m", "messages": messages, "tools": tools, "tool_choice": choice, **more}


def _allowed(mode: str, *names: str) -> Fields:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


_NAMED: Final = {"type": "function", "function": {"name": "a"}}
_OPENAI: Final = {
    "auto": _openai("auto"),
    "none": _openai("none"),
    "required": _openai("required"),
    "named": _openai(_NAMED),
    "allowed_tools, required": _openai(_allowed("required", "a", "b")),
    "allowed_tools, auto": _openai(_allowed("auto", "a", "b")),
    "custom": _openai({"type": "custom", "custom": {"name": "a"}}),
    "an unknown word": _openai("sometimes"),
    "auto, not parallel": _openai("auto", parallel_tool_calls=False),
    "none, not parallel": _openai("none", parallel_tool_calls=False),
    "required, not parallel": _openai("required", parallel_tool_calls=False),
    "named, not parallel": _openai(_NAMED, parallel_tool_calls=False),
    "allowed_tools, not parallel": _openai(_allowed("required", "a", "b"), parallel_tool_calls=False),
}
#: in langchain's words, which are the same for each model; it has none for a subset, unless for Gemini
_LANGCHAIN: Final = {"auto": "auto", "none": "none", "required": "any", "named": "a", "an unknown word": "sometimes"}
_LANGCHAIN_GEMINI: Final = {**_LANGCHAIN, "allowed_tools, required": ["a", "b"]}
_LANGCHAIN_ANTHROPIC: Final = {
    **{case: (word, None) for case, word in _LANGCHAIN.items()},
    **{f"{case}, not parallel": (_LANGCHAIN[case], False) for case in ("auto", "none", "required", "named")},
}


def _gemini(mode: str, *names: str) -> Fields:
    declarations = [{"name": name, "description": "d", "parameters": _SCHEMA} for name in NAMES]
    config = {"mode": mode, **({"allowedFunctionNames": list(names)} if names else {})}
    contents = [{"role": "user", "parts": [{"text": "q"}]}]
    tools = [{"functionDeclarations": declarations}]
    return {"model": "m", "contents": contents, "tools": tools, "toolConfig": {"functionCallingConfig": config}}


_GEMINI: Final = {
    "AUTO": _gemini("AUTO"),
    "NONE": _gemini("NONE"),
    "ANY": _gemini("ANY"),
    "ANY of one": _gemini("ANY", "a"),
    "ANY of two": _gemini("ANY", "a", "b"),
    "VALIDATED": _gemini("VALIDATED"),
    "VALIDATED of two": _gemini("VALIDATED", "a", "b"),
}


def _anthropic(kind: str, **more: Any) -> Fields:
    tools = [{"name": name, "description": "d", "input_schema": _SCHEMA} for name in NAMES]
    messages = [{"role": "user", "content": "q"}]
    return {"model": "m", "max_tokens": 9, "messages": messages, "tools": tools, "tool_choice": {"type": kind, **more}}


_ANTHROPIC: Final = {
    "auto": _anthropic("auto"),
    "none": _anthropic("none"),
    "any": _anthropic("any"),
    "tool": _anthropic("tool", name="a"),
    "auto, not parallel": _anthropic("auto", disable_parallel_tool_use=True),
    "any, not parallel": _anthropic("any", disable_parallel_tool_use=True),
    "tool, not parallel": _anthropic("tool", name="a", disable_parallel_tool_use=True),
}

# what a provider makes of a request's fields


def _told(word: str, names: list[Any], declared: list[Any], *, parallel: bool = True) -> str:
    unknown = [name for name in names if name not in declared]
    if unknown:
        return f"is refused: {unknown[0]!r} is not declared"
    if word == "never" or not declared:
        return "never calls"
    said = f"{word} call {' or '.join(names or declared)}"
    return said if parallel else f"{said}, one at a time"


def _by_anthropic(fields: Fields) -> str:
    choice = fields.get("tool_choice") or {"type": "auto"}
    if not is_accepted(ACCEPTORS["anthropic"].choice, {"tool_choice": choice}):
        return "is refused by the provider's type"
    word = {"auto": "may", "none": "never"}.get(choice["type"], "must")
    names = [choice["name"]] if choice["type"] == "tool" else []
    declared = [tool["name"] for tool in fields["tools"]]
    return _told(word, names, declared, parallel=not choice.get("disable_parallel_tool_use"))


def _by_gemini(fields: Fields) -> str:
    config = gemini_types.ToolConfig.model_validate(fields["toolConfig"]).function_calling_config
    names = config.allowed_function_names or []
    word = {"AUTO": "may", "VALIDATED": "may", "NONE": "never"}.get(config.mode.value, "must")
    return _told(word, [] if set(names) == set(NAMES) else names, list(NAMES))


def _by_openai(fields: Fields) -> str:
    choice = fields.get("tool_choice", "auto")
    if not is_accepted(ACCEPTORS["openai"].choice, {"tool_choice": choice}):
        return "is refused by the provider's type"
    declared = [tool["function"]["name"] for tool in fields["tools"]]
    words = {"auto": "may", "none": "never", "required": "must"}
    parallel = fields.get("parallel_tool_calls") is not False
    if isinstance(choice, str):
        return _told(words[choice], [], declared, parallel=parallel)
    allowed = choice.get("allowed_tools", {"mode": "required", "tools": [choice]})
    names = [tool["function"]["name"] for tool in allowed["tools"]]
    return _told(words[allowed["mode"]], names, declared, parallel=parallel)


def _by_bedrock(fields: Fields) -> str:
    config = fields.get("toolConfig", {})
    declared = [tool["toolSpec"]["name"] for tool in config.get("tools", ())]
    (mode, choice), *_ = config.get("toolChoice", {"auto": {}}).items()
    names = [choice["name"]] if mode == "tool" else []
    parallel = "disable_parallel_tool_use" not in str(fields.get("additionalModelRequestFields"))
    return _told("may" if mode == "auto" else "must", names, declared, parallel=parallel)


# the converters


def _ours(source: str, target: str) -> Callable[[Fields], Fields]:
    def convert(body: Fields) -> Fields:
        found = import_request(body, source)
        return build_request(found.specs, target, found.choice).fields

    return convert


def _rosetta(source: str, target: str) -> Callable[[Fields], Fields]:
    def convert(body: Fields) -> Fields:
        written: Fields = llm_rosetta.convert(body, target, source)
        config = written.get("config", {}).get("tool_config")
        return written if config is None else {"toolConfig": config}

    return convert


_PARAMETERS: Final = ("tools", "tool_choice", "parallel_tool_calls")


def _litellm(config: Any, model: str) -> Callable[[Fields], Fields]:
    def convert(body: Fields) -> Fields:
        given = {name: body[name] for name in _PARAMETERS if name in body}
        mapped: Fields = config.map_openai_params(given, {}, model, False)
        return mapped

    return convert


def _litellm_gemini(body: Fields) -> Fields:
    return {"toolConfig": _litellm(VertexGeminiConfig(), "gemini-3.5-flash")(body)["tool_choice"]}


def _litellm_bedrock(body: Fields) -> Fields:
    model = "anthropic.claude-sonnet-4-5-20250929-v1:0"
    mapped = _litellm(AmazonConverseConfig(), model)(body)
    fields: Fields = AmazonConverseConfig()._transform_request_helper(model, [], mapped, [])
    return fields


def _langchain_anthropic(words: tuple[Any, Any]) -> Fields:
    model = ChatAnthropic(model="claude-sonnet-5-5", api_key="offline")
    choice, parallel = words
    bound: Fields = model.bind_tools(_openai("auto")["tools"], tool_choice=choice, parallel_tool_calls=parallel).kwargs
    return bound


def _litellm_of_gemini(body: Fields) -> Fields:
    adapter = GoogleGenAIAdapter()
    fields: Fields = adapter.translate_generate_content_to_completion(body.pop("model"), body.pop("contents"), **body)
    return fields


_WAYS: Final = {
    "OpenAI to Anthropic": Way(_OPENAI, _ours("openai", "anthropic"), _by_anthropic),
    "OpenAI to Gemini": Way(_OPENAI, _ours("openai", "gemini"), _by_gemini),
    "OpenAI to Bedrock": Way(_OPENAI, _ours("openai", "bedrock"), _by_bedrock),
    "Gemini to OpenAI": Way(_GEMINI, _ours("gemini", "openai"), _by_openai),
    "Anthropic to OpenAI": Way(_ANTHROPIC, _ours("anthropic", "openai"), _by_openai),
}
_TRANSLATORS: Final = (
    Translator("llm-rosetta", "OpenAI to Anthropic", _rosetta("openai_chat", "anthropic")),
    Translator("litellm", "OpenAI to Anthropic", _litellm(AnthropicConfig(), "claude-sonnet-4-5")),
    Translator("langchain", "OpenAI to Anthropic", _langchain_anthropic, _LANGCHAIN_ANTHROPIC),
    Translator("llm-rosetta", "OpenAI to Gemini", _rosetta("openai_chat", "google")),
    Translator("litellm", "OpenAI to Gemini", _litellm_gemini),
    Translator(
        "langchain",
        "OpenAI to Gemini",
        lambda choice: {"toolConfig": _tool_choice_to_tool_config(choice, list(NAMES))},
        _LANGCHAIN_GEMINI,
    ),
    Translator("litellm", "OpenAI to Bedrock", _litellm_bedrock),
    Translator("llm-rosetta", "Gemini to OpenAI", _rosetta("google", "openai_chat")),
    Translator("litellm", "Gemini to OpenAI", _litellm_of_gemini),
    Translator("llm-rosetta", "Anthropic to OpenAI", _rosetta("anthropic", "openai_chat")),
    Translator(
        "litellm",
        "Anthropic to OpenAI",
        lambda body: LiteLLMAnthropicMessagesAdapter().translate_anthropic_to_openai(body)[0],
    ),
)

TOPIC: Final = Topic(_WAYS, _TRANSLATORS, CHOICES)
