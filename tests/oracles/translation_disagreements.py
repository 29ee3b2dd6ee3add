"""Choices, definitions and results that another library translates otherwise than toolrelay, and the rule that decides.

``test_translations`` fails on a disagreement that is not here and on one that is gone.
"""

from __future__ import annotations

from typing import Final

from tests.oracles.disagreements import Judged

CHOICES: Final[dict[str, tuple[Judged, ...]]] = {
    (
        "a subset is `allowed_tools` at OpenAI and `allowedFunctionNames` at Gemini; for Anthropic and "
        "Bedrock, which have none, only those are declared"
    ): (
        Judged(
            "OpenAI to Anthropic",
            "allowed_tools, required",
            "must call a or b",
            {"llm-rosetta, litellm": "may call a or b or c"},
        ),
        Judged(
            "OpenAI to Anthropic",
            "allowed_tools, auto",
            "may call a or b",
            {"llm-rosetta, litellm": "may call a or b or c"},
        ),
        Judged(
            "OpenAI to Anthropic",
            "allowed_tools, not parallel",
            "must call a or b, one at a time",
            {"llm-rosetta, litellm": "may call a or b or c, one at a time"},
        ),
        Judged(
            "OpenAI to Gemini",
            "allowed_tools, required",
            "must call a or b",
            {"llm-rosetta": "may call a or b or c", "litellm": "is refused: '' is not declared"},
        ),
        Judged(
            "OpenAI to Gemini",
            "allowed_tools, auto",
            "may call a or b",
            {"llm-rosetta": "may call a or b or c", "litellm": "is refused: '' is not declared"},
        ),
        Judged(
            "OpenAI to Gemini",
            "allowed_tools, not parallel",
            "must call a or b",
            {"llm-rosetta": "may call a or b or c", "litellm": "is refused: '' is not declared"},
        ),
        Judged(
            "OpenAI to Bedrock",
            "allowed_tools, required",
            "must call a or b",
            {"litellm": "is refused: '' is not declared"},
        ),
        Judged(
            "OpenAI to Bedrock", "allowed_tools, auto", "may call a or b", {"litellm": "is refused: '' is not declared"}
        ),
        Judged(
            "OpenAI to Bedrock",
            "allowed_tools, not parallel",
            "must call a or b",
            {"litellm": "is refused: '' is not declared"},
        ),
    ),
    "a word that is no mode names a function: one that is not declared is an error before anything is sent": (
        Judged(
            "OpenAI to Anthropic",
            "an unknown word",
            "raises UndeclaredToolError",
            {"llm-rosetta, litellm": "may call a or b or c", "langchain": "is refused: 'sometimes' is not declared"},
        ),
        Judged(
            "OpenAI to Gemini",
            "an unknown word",
            "raises UndeclaredToolError",
            {
                "llm-rosetta": "may call a or b or c",
                "litellm": "raises UnsupportedParamsError",
                "langchain": "is refused: 'sometimes' is not declared",
            },
        ),
        Judged(
            "OpenAI to Bedrock",
            "an unknown word",
            "raises UndeclaredToolError",
            {"litellm": "raises UnsupportedParamsError"},
        ),
    ),
    (
        'no calls: `{"type": "none"}` at Anthropic, without the parallel flag; Converse cannot forbid '
        "tools, so none are declared"
    ): (
        Judged(
            "OpenAI to Anthropic",
            "none, not parallel",
            "never calls",
            {"llm-rosetta": "is refused by the provider's type", "langchain": "is refused: 'none' is not declared"},
        ),
        Judged("OpenAI to Anthropic", "none", "never calls", {"langchain": "is refused: 'none' is not declared"}),
        Judged("OpenAI to Bedrock", "none", "never calls", {"litellm": "raises UnsupportedParamsError"}),
        Judged("OpenAI to Bedrock", "none, not parallel", "never calls", {"litellm": "raises UnsupportedParamsError"}),
    ),
    "a custom tool is a function of one text elsewhere, and can be named like any other": (
        Judged("OpenAI to Anthropic", "custom", "must call a", {"litellm": "may call a or b or c"}),
        Judged("OpenAI to Gemini", "custom", "must call a", {"litellm": "is refused: '' is not declared"}),
        Judged("OpenAI to Bedrock", "custom", "must call a", {"litellm": "is refused: '' is not declared"}),
    ),
    (
        "Converse has no such switch, and the loss is reported; litellm writes what Claude alone "
        "understands into `additionalModelRequestFields`"
    ): (
        Judged(
            "OpenAI to Bedrock",
            "auto, not parallel",
            "may call a or b or c",
            {"litellm": "may call a or b or c, one at a time"},
        ),
        Judged(
            "OpenAI to Bedrock",
            "required, not parallel",
            "must call a or b or c",
            {"litellm": "must call a or b or c, one at a time"},
        ),
        Judged("OpenAI to Bedrock", "named, not parallel", "must call a", {"litellm": "must call a, one at a time"}),
    ),
    "`allowedFunctionNames` are a subset: `allowed_tools`, or the function by its name": (
        Judged(
            "Gemini to OpenAI",
            "ANY of two",
            "must call a or b",
            {"llm-rosetta": "must call a", "litellm": "must call a or b or c"},
        ),
        Judged(
            "Gemini to OpenAI", "VALIDATED of two", "may call a or b", {"llm-rosetta, litellm": "may call a or b or c"}
        ),
        Judged("Gemini to OpenAI", "ANY of one", "must call a", {"litellm": "must call a or b or c"}),
    ),
    "`disable_parallel_tool_use` is `parallel_tool_calls: false`": (
        Judged(
            "Anthropic to OpenAI",
            "auto, not parallel",
            "may call a or b or c, one at a time",
            {"litellm": "may call a or b or c"},
        ),
        Judged(
            "Anthropic to OpenAI",
            "any, not parallel",
            "must call a or b or c, one at a time",
            {"litellm": "must call a or b or c"},
        ),
        Judged("Anthropic to OpenAI", "tool, not parallel", "must call a, one at a time", {"litellm": "must call a"}),
    ),
}

DEFINITIONS: Final[dict[str, tuple[Judged, ...]]] = {
    "OpenAI, Anthropic and Bedrock have `strict`: a tool that is strict stays so": (
        Judged(
            "OpenAI to Anthropic",
            "strict",
            "a strict tool that takes q",
            {"llm-rosetta, litellm, langchain": "a tool that takes q"},
        ),
        Judged("OpenAI to Bedrock", "strict", "a strict tool that takes q", {"litellm": "a tool that takes q"}),
        Judged(
            "Anthropic to OpenAI",
            "strict",
            "a strict tool that takes q",
            {"llm-rosetta, langchain": "a tool that takes q"},
        ),
    ),
    "each provider has its alphabet and length: names are made legal, and mapped back when a call is read": (
        Judged(
            "OpenAI to Anthropic",
            "a name with a dot",
            "a tool that takes q",
            {"llm-rosetta, langchain": "is refused: the name weather.lookup"},
        ),
        Judged(
            "OpenAI to Bedrock",
            "a name of 100 characters",
            "a tool that takes q",
            {"litellm": "is refused: the name of 100 characters"},
        ),
        Judged(
            "Anthropic to OpenAI",
            "a name of 100 characters",
            "a tool that takes q",
            {"llm-rosetta, langchain": "is refused: the name of 100 characters"},
        ),
        Judged(
            "Gemini to OpenAI",
            "a name with a dot",
            "a tool that takes q",
            {"llm-rosetta, litellm": "is refused: the name weather.lookup"},
        ),
    ),
    'a custom tool is a function of one text elsewhere: its calls are read as `{"input": …}`': (
        Judged(
            "OpenAI to Anthropic",
            "free text",
            "a tool that takes input",
            {"litellm": "raises KeyError", "langchain": "raises ValueError"},
        ),
        Judged(
            "OpenAI to Anthropic",
            "free text of a grammar",
            "a tool that takes input",
            {"litellm": "raises KeyError", "langchain": "raises ValueError"},
        ),
        Judged(
            "OpenAI to Gemini",
            "free text",
            "a tool that takes input",
            {"litellm": "is left out", "langchain": "a tool without a description that takes nothing"},
        ),
        Judged(
            "OpenAI to Gemini",
            "free text of a grammar",
            "a tool that takes input",
            {"litellm": "is left out", "langchain": "a tool without a description that takes nothing"},
        ),
        Judged("OpenAI to Bedrock", "free text", "a tool that takes input", {"litellm": "raises IndexError"}),
        Judged(
            "OpenAI to Bedrock", "free text of a grammar", "a tool that takes input", {"litellm": "raises IndexError"}
        ),
    ),
    "`parameters` may be left out: a tool without parameters": (
        Judged("OpenAI to Anthropic", "no parameters", "a tool that takes nothing", {"langchain": "raises KeyError"}),
    ),
    "a description is optional: litellm makes one of the name": (
        Judged(
            "OpenAI to Bedrock",
            "no description",
            "a tool without a description that takes q",
            {"litellm": "a tool that takes q"},
        ),
    ),
    "a provider's own tool has no definition elsewhere: it is left out, and reported": (
        Judged(
            "Anthropic to OpenAI",
            "a tool that Anthropic runs",
            "is left out",
            {
                "llm-rosetta, langchain": "a tool without a description that takes nothing",
                "litellm": "is refused by the provider's type",
            },
        ),
        Judged(
            "Anthropic to OpenAI",
            "a tool of Anthropic's that the client runs",
            "is left out",
            {
                "llm-rosetta, langchain": "a tool without a description that takes nothing",
                "litellm": "is refused by the provider's type",
            },
        ),
    ),
    "`parametersJsonSchema` is what `parameters` is, in JSON Schema": (
        Judged(
            "Gemini to OpenAI",
            "parametersJsonSchema",
            "a tool that takes q",
            {"llm-rosetta": "a tool that takes nothing"},
        ),
    ),
    "`additionalProperties` may be false; Gemini's `parameters` do not have it": (
        Judged("MCP to Gemini", "closed", "a tool that takes q", {"google-genai": "raises AttributeError"}),
    ),
}

RESULTS: Final[dict[str, tuple[Judged, ...]]] = {
    "`output` holds what the tool gave; what has no `output` is taken whole, pictures go into `parts`": (
        Judged(
            "OpenAI to Gemini",
            "two texts",
            'output "a\\nb"',
            {"llm-rosetta": 'output [{"text": "a"}, {"text": "b"}]', "litellm": 'output {"content": "ab"}'},
        ),
        Judged("OpenAI to Gemini", "text", 'output "12 degrees"', {"litellm": 'output {"content": "12 degrees"}'}),
        Judged("OpenAI to Gemini", "an array", "output [1, 2]", {"litellm": 'output {"content": "[1, 2]"}'}),
        Judged("OpenAI to Gemini", "empty", 'output ""', {"litellm": 'output {"content": ""}'}),
        Judged(
            "Anthropic to Gemini", "blocks", 'output "a\\nb"', {"llm-rosetta": 'output [{"text": "a"}, {"text": "b"}]'}
        ),
        Judged(
            "Anthropic to Gemini",
            "a picture",
            'output "a" and image',
            {"llm-rosetta": 'output [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "da…'},
        ),
    ),
    "Chat has no flag for a failure: its text says it": (
        Judged(
            "Anthropic to OpenAI",
            "an error",
            'text "Error: unknown order"',
            {"llm-rosetta, litellm": 'text "unknown order"'},
        ),
        Judged(
            "Gemini to OpenAI",
            "an error",
            'text "Error: unknown order"',
            {"llm-rosetta": 'text "unknown order"', "litellm": 'text {"error": "unknown order"}'},
        ),
        Judged(
            "LangChain to OpenAI",
            "an error",
            'text "Error: unknown order"',
            {"langchain": 'text "unknown order"'},
        ),
        Judged(
            "LangChain to OpenAI",
            "an error without text",
            'text "Error: the tool failed and did not say why"',
            {"langchain": 'text ""'},
        ),
    ),
    "Chat takes no pictures from tools: they are described": (
        Judged(
            "Anthropic to OpenAI",
            "a picture",
            'text "a\\n[the image, described]"',
            {"llm-rosetta, litellm": "is refused by the provider's type"},
        ),
        Judged(
            "LangChain to OpenAI",
            "a picture",
            'text "[the image, described]"',
            {"langchain": "is refused by the provider's type"},
        ),
    ),
    "a result without content is null, as from a tool that returned nothing": (
        Judged("Anthropic to OpenAI", "nothing", 'text "null"', {"llm-rosetta, litellm": 'text ""'}),
        Judged("Anthropic to Gemini", "nothing", "output null", {"llm-rosetta": 'output ""'}),
    ),
    "`output` and `result` hold what the tool gave; a response that has neither is the output": (
        Judged("Gemini to OpenAI", "an object", 'text {"temp": 12}', {"llm-rosetta": 'text ""'}),
        Judged(
            "Gemini to OpenAI",
            "result",
            'text "12 degrees"',
            {"llm-rosetta": 'text ""', "litellm": 'text {"result": "12 degrees"}'},
        ),
        Judged("Gemini to OpenAI", "output", 'text "12 degrees"', {"litellm": 'text {"output": "12 degrees"}'}),
        Judged("Gemini to Anthropic", "an object", 'output {"temp": 12}', {"llm-rosetta": 'output ""'}),
        Judged("Gemini to Anthropic", "result", 'output "12 degrees"', {"llm-rosetta": 'output ""'}),
    ),
    "Anthropic refuses an error without text": (
        Judged(
            "LangChain to Anthropic",
            "an error without text",
            'error "the tool failed and did not say why"',
            {"langchain": "is refused: an error without text"},
        ),
    ),
    "Gemini's `error` says that a tool failed, and why": (
        Judged("LangChain to Gemini", "an error", 'error "unknown order"', {"langchain": 'output "unknown order"'}),
        Judged(
            "LangChain to Gemini",
            "an error without text",
            'error "the tool failed and did not say why"',
            {"langchain": 'output ""'},
        ),
        Judged(
            "MCP to Gemini", "an error", 'error "unknown order"', {"google-genai": 'error "MCP response is error."'}
        ),
    ),
    ("`response` holds the tool's output; MCP's blocks around it are that wire's own, and pictures go into `parts`"): (
        Judged(
            "MCP to Gemini",
            "text",
            'output "12 degrees"',
            {"google-genai": 'output {"result": [{"type": "text", "text": "12 degrees"}]}'},
        ),
        Judged(
            "MCP to Gemini",
            "JSON text",
            'output {"temp": 12}',
            {"google-genai": 'output {"result": [{"type": "text", "text": "{\\"temp\\": 12}"}]}'},
        ),
        Judged(
            "MCP to Gemini",
            "two texts",
            'output "a\\nb"',
            {"google-genai": 'output {"result": [{"type": "text", "text": "a"}, {"type": "text", …'},
        ),
        Judged("MCP to Gemini", "structured only", 'output {"temp": 12}', {"google-genai": 'output {"result": []}'}),
        Judged(
            "MCP to Gemini",
            "a picture",
            'output "a" and image',
            {"google-genai": 'output {"result": [{"type": "text", "text": "a"}, {"type": "image",…'},
        ),
        Judged(
            "MCP to Gemini",
            "a picture of another kind",
            'output "[the image, described]"',
            {"google-genai": 'output {"result": [{"type": "image", "data": "aGk=", "mime_type": "…'},
        ),
        Judged(
            "MCP to Gemini",
            "a sound",
            'output "[the audio, described]"',
            {"google-genai": 'output {"result": [{"type": "audio", "data": "aGk=", "mime_type": "…'},
        ),
        Judged(
            "MCP to Gemini",
            "a link",
            'output "[resource file:///a]"',
            {"google-genai": 'output {"result": [{"name": "a", "uri": "file:///a", "type": "resou…'},
        ),
        Judged(
            "MCP to Gemini",
            "a text resource",
            'output "x"',
            {"google-genai": 'output {"result": [{"type": "resource", "resource": {"uri": "file:/…'},
        ),
    ),
    "`structuredContent` is the tool's output; the text beside it is for clients that cannot read it": (
        Judged(
            "MCP to Gemini",
            "structured and text",
            'output {"temp": 12}',
            {"google-genai": 'output {"result": [{"type": "text", "text": "12"}]}'},
        ),
        Judged("MCP to Anthropic", "structured and text", 'output {"temp": 12}', {"anthropic": 'output "12"'}),
    ),
    "what a wire has no block for is described, or told as its text: no result is lost for it": (
        Judged(
            "MCP to Anthropic",
            "a picture of another kind",
            'output "[the image, described]"',
            {"anthropic": "raises UnsupportedMCPValueError"},
        ),
        Judged(
            "MCP to Anthropic",
            "a sound",
            'output "[the audio, described]"',
            {"anthropic": "raises UnsupportedMCPValueError"},
        ),
        Judged(
            "MCP to Anthropic",
            "a link",
            'output "[resource file:///a]"',
            {"anthropic": "raises UnsupportedMCPValueError"},
        ),
        Judged("MCP to Anthropic", "a text resource", 'output "x"', {"anthropic": 'output "" and document'}),
    ),
    (
        "Anthropic takes `a-zA-Z0-9_-` in ids, and an answer must meet its call: no two may become one, "
        "none may be empty"
    ): (
        Judged(
            "ids for Anthropic",
            "two that differ in such a character",
            "legal",
            {"llm-rosetta, litellm": "two become one"},
        ),
        Judged("ids for Anthropic", "empty", "legal", {"llm-rosetta, langchain": "is refused: an empty id"}),
    ),
}
