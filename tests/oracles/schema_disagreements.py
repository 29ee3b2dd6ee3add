"""Every tricky schema that another library writes better or worse than toolrelay, and the rule that decides.

``test_schemas`` fails on a disagreement that is not here and on one that is gone.
"""

from __future__ import annotations

from typing import Final

from tests.oracles.disagreements import Judged

#: by the rule that decides
SCHEMAS: Final[dict[str, tuple[Judged, ...]]] = {
    (
        "strict OpenAI wants every property required: one that may be left out is nullable, and its null is "
        "left out again"
    ): (
        Judged(
            "openai strict",
            "an optional property",
            "fine",
            {
                "openai, langchain": 'cannot say {"a": "x"}',
            },
        ),
    ),
    "a list of types is JSON Schema; Gemini spells null as `nullable`": (
        Judged(
            "anthropic strict",
            "a list of types with null",
            "fine",
            {
                "anthropic": "raises AssertionError",
            },
        ),
        Judged(
            "gemini",
            "a list of types with null",
            "fine",
            {
                "google-genai": "raises AttributeError",
                "langchain": 'cannot say {"x": null}',
                "llm-rosetta": "is refused: a schema that the SDK's own type does not take",
            },
        ),
        Judged(
            "openai strict",
            "anyOf with null",
            "fine",
            {
                "langchain": "is refused: `default`",
            },
        ),
        Judged(
            "openai",
            "anyOf with null",
            "fine",
            {
                "llm-rosetta": 'cannot say {"x": null}',
            },
        ),
    ),
    "every provider takes `anyOf` below the root; each of its variants can still be meant": (
        Judged(
            "openai",
            "anyOf of two types",
            "fine",
            {
                "llm-rosetta": 'cannot say {"x": 3}',
            },
        ),
        Judged(
            "anthropic",
            "anyOf of two types",
            "fine",
            {
                "llm-rosetta": 'cannot say {"x": 3}',
            },
        ),
        Judged(
            "gemini",
            "anyOf of two types",
            "fine",
            {
                "llm-rosetta": 'cannot say {"x": 3}',
            },
        ),
    ),
    "a list of types is JSON Schema; Gemini spells it as `anyOf`": (
        Judged(
            "anthropic strict",
            "a list of two types",
            "fine",
            {
                "anthropic": "raises AssertionError",
            },
        ),
        Judged(
            "gemini",
            "a list of two types",
            "fine",
            {
                "google-genai": "raises AttributeError",
                "langchain": 'cannot say {"x": 3}',
                "llm-rosetta": "is refused: a schema that the SDK's own type does not take",
            },
        ),
    ),
    "every variant can be meant: strict forms and Gemini have `anyOf` for it": (
        Judged(
            "openai strict",
            "oneOf with a discriminator",
            "fine",
            {
                "openai, langchain": "is refused: `oneOf`",
            },
        ),
        Judged(
            "openai",
            "oneOf with a discriminator",
            "fine",
            {
                "llm-rosetta": 'cannot say {"p": {"kind": "cash"}}',
            },
        ),
        Judged(
            "anthropic",
            "oneOf with a discriminator",
            "fine",
            {
                "llm-rosetta": 'cannot say {"p": {"kind": "cash"}}',
            },
        ),
        Judged(
            "gemini",
            "oneOf with a discriminator",
            "fine",
            {
                "google-genai": "raises ValidationError",
                "google-genai mcp, litellm": "is refused: a value of any type; loses kind, number; takes more",
                "langchain": 'loses kind, number; cannot say {"p": {"kind": "card", "number": "1"}}',
                "llm-rosetta": 'is refused: a value of any type; cannot say {"p": {"kind": "cash"}}',
            },
        ),
        Judged(
            "gemini_interactions",
            "oneOf with a discriminator",
            "fine",
            {
                "llm-rosetta": "takes more",
            },
        ),
    ),
    "the members are one object: merged before it is closed, for strict forms and Gemini have no `allOf`": (
        Judged(
            "openai strict",
            "allOf of two objects",
            "fine",
            {
                "openai, langchain": 'is refused: `allOf`; cannot say {"p": {"a": "1", "b": "2"}}',
            },
        ),
        Judged(
            "anthropic strict",
            "allOf of two objects",
            "fine",
            {
                "anthropic": 'cannot say {"p": {"a": "1", "b": "2"}}',
            },
        ),
        Judged(
            "gemini",
            "allOf of two objects",
            "fine",
            {
                "google-genai": "raises ValidationError",
                "google-genai mcp, litellm": "is refused: a value of any type; loses a, b; takes more",
                "langchain": 'loses a, b; cannot say {"p": {"a": "1", "b": "2"}}',
                "llm-rosetta": "is refused: a schema that the SDK's own type does not take",
            },
        ),
        Judged(
            "gemini_interactions",
            "allOf of two objects",
            "fine",
            {
                "llm-rosetta": "loses a, b; takes more",
            },
        ),
    ),
    "strict OpenAI refuses words beside `$ref`; the description of the place wins over the definition's": (
        Judged(
            "openai strict",
            "a description beside a reference",
            "fine",
            {
                "langchain": "is refused: words beside `$ref`",
            },
        ),
    ),
    "`definitions` is what `$defs` was called; what it defines is still referred to": (
        Judged(
            "anthropic strict",
            "definitions of draft 7",
            "fine",
            {
                "anthropic": "loses a; refers to nothing",
            },
        ),
        Judged(
            "gemini",
            "definitions of draft 7",
            "fine",
            {
                "google-genai, google-genai mcp": "raises KeyError",
            },
        ),
    ),
    (
        "OpenAI, plain Anthropic and Bedrock take a recursion; Gemini, which does not, gets one level and is "
        "open below; strict Anthropic gets the plain form"
    ): (
        Judged(
            "openai",
            "a recursion through what is required",
            "fine",
            {
                "llm-rosetta": "raises RecursionError",
            },
        ),
        Judged(
            "anthropic strict",
            "a recursion through what is required",
            "fine",
            {
                "anthropic": "is refused: a recursion",
            },
        ),
        Judged(
            "anthropic",
            "a recursion through what is required",
            "fine",
            {
                "llm-rosetta": "raises RecursionError",
            },
        ),
        Judged(
            "gemini",
            "a recursion through what is required",
            "takes more",
            {
                "google-genai, google-genai mcp": "is refused: an array without `items`; takes more",
                "langchain": 'cannot say {"t": {"v": 1, "kids": [{"v": 2, "kids": []}]}}',
                "llm-rosetta": "raises RecursionError",
            },
        ),
        Judged(
            "gemini_interactions",
            "a recursion through what is required",
            "takes more",
            {
                "llm-rosetta": "is refused: a recursion through what is required",
            },
        ),
        Judged(
            "bedrock",
            "a recursion through what is required",
            "fine",
            {
                "litellm": "refers to nothing",
            },
        ),
    ),
    ("a property's name is data, whatever it is called; where a provider refuses it, it is renamed and mapped back"): (
        Judged(
            "openai",
            "properties called like keywords",
            "fine",
            {
                "llm-rosetta": "loses const, examples, ref, $ref",
            },
        ),
        Judged(
            "anthropic strict",
            "properties called like keywords",
            "fine",
            {
                "anthropic": "is refused: the name '$ref'",
            },
        ),
        Judged(
            "anthropic",
            "properties called like keywords",
            "fine",
            {
                "langchain, litellm": "is refused: the name '$ref'",
                "llm-rosetta": "loses title, const, examples, ref, $ref",
            },
        ),
        Judged(
            "gemini",
            "properties called like keywords",
            "fine",
            {
                "google-genai, google-genai mcp": "is refused: the name '$ref'",
                "langchain": "raises TypeError",
                "litellm": "raises AttributeError",
                "llm-rosetta": "loses title, const, examples, ref, $ref",
            },
        ),
        Judged(
            "gemini_interactions",
            "properties called like keywords",
            "fine",
            {
                "llm-rosetta": "is refused: the name '$ref'",
            },
        ),
        Judged(
            "bedrock",
            "properties called like keywords",
            "fine",
            {
                "litellm": "raises AttributeError",
            },
        ),
    ),
    "`const` is an enum of one; its value says the type": (
        Judged(
            "openai",
            "a const without a type",
            "fine",
            {
                "llm-rosetta": "takes more",
            },
        ),
        Judged(
            "anthropic",
            "a const without a type",
            "fine",
            {
                "llm-rosetta": "takes more",
            },
        ),
        Judged(
            "gemini",
            "a const without a type",
            "fine",
            {
                "google-genai": "raises ValueError",
                "google-genai mcp, llm-rosetta": "is refused: a value of any type; takes more",
                "langchain": "takes more",
                "litellm": 'cannot say {"k": "v1"}',
            },
        ),
        Judged(
            "gemini_interactions",
            "a const without a type",
            "fine",
            {
                "llm-rosetta": "takes more",
            },
        ),
    ),
    "`const` is an enum of one; Gemini's enums are text, so there it is told in the description": (
        Judged(
            "openai",
            "a const of an integer",
            "fine",
            {
                "llm-rosetta": "takes more",
            },
        ),
        Judged(
            "anthropic",
            "a const of an integer",
            "fine",
            {
                "llm-rosetta": "takes more",
            },
        ),
        Judged(
            "gemini",
            "a const of an integer",
            "takes more",
            {
                "google-genai": "raises ValueError",
            },
        ),
        Judged(
            "gemini_interactions",
            "a const of an integer",
            "fine",
            {
                "llm-rosetta": "takes more",
            },
        ),
    ),
    ("Gemini's enums are non-empty text: the others are told in the description, and checked when the call comes"): (
        Judged(
            "gemini",
            "an enum of integers",
            "takes more",
            {
                "google-genai, langchain": "raises ValidationError",
                "google-genai mcp, llm-rosetta": "is refused: a schema that the SDK's own type does not take",
            },
        ),
        Judged(
            "gemini",
            "an enum with null and empty text",
            "takes more",
            {
                "google-genai": "raises AttributeError",
                "google-genai mcp, llm-rosetta": "is refused: a schema that the SDK's own type does not take",
                "langchain": "raises ValidationError",
            },
        ),
    ),
    "limits that a provider knows are kept, the others told in the description": (
        Judged(
            "openai",
            "bounds of a number",
            "fine",
            {
                "llm-rosetta": "takes more",
            },
        ),
        Judged(
            "anthropic",
            "bounds of a number",
            "fine",
            {
                "llm-rosetta": "takes more",
            },
        ),
        Judged(
            "gemini",
            "bounds of a number",
            "takes more",
            {
                "google-genai": "raises ValidationError",
                "llm-rosetta": "is refused: a schema that the SDK's own type does not take; takes more",
            },
        ),
        Judged(
            "openai strict",
            "limits of text",
            "fine",
            {
                "openai, langchain": "is refused: `minLength`",
            },
        ),
        Judged(
            "gemini",
            "limits of text",
            "fine",
            {
                "langchain": "takes more",
            },
        ),
        Judged(
            "openai strict",
            "limits of a list",
            "takes more",
            {
                "openai, langchain": "is refused: `uniqueItems`",
            },
        ),
        Judged(
            "gemini",
            "limits of a list",
            "takes more",
            {
                "google-genai": "raises ValidationError",
                "llm-rosetta": "is refused: a schema that the SDK's own type does not take",
            },
        ),
    ),
    "tuples are for plain forms and Gemini's `parametersJsonSchema`, which is sent where a schema has one": (
        Judged(
            "openai strict",
            "a tuple",
            "fine",
            {
                "openai, langchain": "is refused: `prefixItems`",
            },
        ),
        Judged(
            "anthropic strict",
            "a tuple",
            "fine",
            {
                "anthropic": "raises TypeError",
            },
        ),
        Judged(
            "gemini",
            "a tuple",
            "fine",
            {
                "google-genai, google-genai mcp, litellm": "raises AttributeError",
                "langchain": 'cannot say {"a": ["x", 1]}',
                "llm-rosetta": "is refused: a schema that the SDK's own type does not take",
            },
        ),
    ),
    ("maps are for plain forms and Gemini's `parametersJsonSchema`: closed, `{}` would be all that they can hold"): (
        Judged(
            "openai strict",
            "a map",
            "fine",
            {
                "openai": "is refused: an open object",
                "langchain": 'cannot say {"m": {"a": 1}}',
            },
        ),
        Judged(
            "anthropic strict",
            "a map",
            "fine",
            {
                "anthropic": 'cannot say {"m": {"a": 1}}',
            },
        ),
        Judged(
            "gemini",
            "a map",
            "fine",
            {
                "google-genai": "is refused: `additionalProperties`",
                "google-genai mcp, langchain, litellm, llm-rosetta": "takes more",
            },
        ),
    ),
    "a free object cannot be strict: the tool is sent without": (
        Judged(
            "openai strict",
            "a free object",
            "fine",
            {
                "openai": 'cannot say {"m": {"a": 1}}',
                "langchain": "is refused: an open object",
            },
        ),
        Judged(
            "anthropic strict",
            "a free object",
            "fine",
            {
                "anthropic": 'cannot say {"m": {"a": 1}}',
            },
        ),
        Judged(
            "gemini",
            "a free object",
            "fine",
            {
                "langchain": 'cannot say {"m": {"a": 1}}',
            },
        ),
    ),
    "a value of any type cannot be strict; Gemini wants a type, so it is offered each": (
        Judged(
            "openai strict",
            "anything",
            "fine",
            {
                "openai, langchain": "is refused: a value of any type",
            },
        ),
        Judged(
            "anthropic strict",
            "anything",
            "fine",
            {
                "anthropic": "raises ValueError",
            },
        ),
        Judged(
            "gemini",
            "anything",
            "fine",
            {
                "google-genai, google-genai mcp, llm-rosetta": "is refused: a value of any type",
                "langchain, litellm": 'cannot say {"v": 1, "w": [1]}',
            },
        ),
    ),
    "OpenAI and Gemini refuse an array without `items`; strict, and the tool is sent without": (
        Judged(
            "openai strict",
            "a list of anything",
            "fine",
            {
                "openai, langchain": "is refused: an array of anything",
            },
        ),
        Judged(
            "openai",
            "a list of anything",
            "fine",
            {
                "langchain, llm-rosetta": "is refused: an array without `items`",
            },
        ),
        Judged(
            "gemini",
            "a list of anything",
            "fine",
            {
                "google-genai, google-genai mcp, langchain, llm-rosetta": "is refused: an array without `items`",
                "litellm": 'cannot say {"a": [1, "x", null]}',
            },
        ),
    ),
    "a tool without parameters: a closed or empty object, and no schema at all for Gemini": (
        Judged(
            "gemini",
            "no parameters",
            "fine",
            {
                "google-genai, google-genai mcp, langchain, llm-rosetta": "is refused: empty `properties`",
            },
        ),
        Judged(
            "openai strict",
            "nothing said",
            "fine",
            {
                "openai, langchain": "is refused: an open object",
            },
        ),
        Judged(
            "anthropic strict",
            "nothing said",
            "fine",
            {
                "anthropic": "raises ValueError",
            },
        ),
        Judged(
            "gemini",
            "nothing said",
            "fine",
            {
                "google-genai, google-genai mcp, langchain, llm-rosetta": "is refused: empty `properties`",
            },
        ),
    ),
    "no provider takes them there: one object with the properties of all, checked when the call comes": (
        Judged(
            "openai strict",
            "alternatives at the root",
            "takes more",
            {
                "openai": 'is refused: `anyOf` at the root; cannot say {"id": "1"}',
                "langchain": "is refused: `anyOf` at the root",
            },
        ),
        Judged(
            "openai",
            "alternatives at the root",
            "takes more",
            {
                "langchain": "is refused: `anyOf` at the root",
                "llm-rosetta": 'loses name; cannot say {"name": "n"}',
            },
        ),
        Judged(
            "anthropic strict",
            "alternatives at the root",
            "takes more",
            {
                "anthropic": 'is refused: a root without `type: object`; cannot say {"id": "1"}',
            },
        ),
        Judged(
            "anthropic",
            "alternatives at the root",
            "takes more",
            {
                "langchain": "is refused: `anyOf` at the root",
                "llm-rosetta": 'loses name; cannot say {"name": "n"}',
                "litellm": "loses id, name; takes more",
            },
        ),
        Judged(
            "gemini",
            "alternatives at the root",
            "takes more",
            {
                "google-genai, google-genai mcp": "is refused: words beside `anyOf`",
                "langchain": "is refused: empty `properties`; loses id, name; takes more",
                "litellm": "is refused: a root without `type: object`",
                "llm-rosetta": 'loses name; cannot say {"name": "n"}',
            },
        ),
        Judged(
            "gemini_interactions",
            "alternatives at the root",
            "takes more",
            {
                "llm-rosetta": "is refused: `anyOf` at the root",
            },
        ),
        Judged(
            "bedrock",
            "alternatives at the root",
            "takes more",
            {
                "litellm": "loses id, name; takes more",
            },
        ),
    ),
    "no smaller form has `not`: it is checked when the call comes": (
        Judged(
            "openai strict",
            "not",
            "takes more",
            {
                "openai, langchain": "is refused: `not`",
            },
        ),
        Judged(
            "gemini",
            "not",
            "takes more",
            {
                "google-genai": "raises ValidationError",
                "llm-rosetta": "is refused: a schema that the SDK's own type does not take",
            },
        ),
    ),
    "Anthropic, Bedrock and Gemini refuse some names of parameters: these are renamed and mapped back": (
        Judged(
            "anthropic strict",
            "odd names",
            "fine",
            {
                "anthropic": "is refused: the name 'naïve'",
            },
        ),
        Judged(
            "anthropic",
            "odd names",
            "fine",
            {
                "langchain, llm-rosetta, litellm": "is refused: the name 'naïve'",
            },
        ),
        Judged(
            "gemini",
            "odd names",
            "fine",
            {
                "google-genai, google-genai mcp, langchain, litellm, llm-rosetta": "is refused: the name 'user-name'",
            },
        ),
        Judged(
            "gemini_interactions",
            "odd names",
            "fine",
            {
                "llm-rosetta": "is refused: the name 'user-name'",
            },
        ),
        Judged(
            "bedrock",
            "odd names",
            "fine",
            {
                "litellm": "is refused: the name 'naïve'",
            },
        ),
    ),
    "a default is data; strict forms refuse it, and leaving out stays possible": (
        Judged(
            "openai strict",
            "a default that looks like a schema",
            "fine",
            {
                "openai, langchain": 'is refused: `default`; cannot say {"n": 1}',
            },
        ),
        Judged(
            "gemini",
            "a default that looks like a schema",
            "fine",
            {
                "langchain": 'cannot say {"n": 1, "o": {}}',
            },
        ),
    ),
}
