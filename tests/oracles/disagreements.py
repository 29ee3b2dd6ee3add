"""Every payload of the corpus that another library reads otherwise than toolrelay, and the rule that decides.

The one place where they stand: ``test_reading`` fails on a disagreement that is not here and on one that is gone.
``page`` writes them down.
"""

from __future__ import annotations

from itertools import chain
from typing import Final, NamedTuple


class Difference(NamedTuple):
    """One input of which one library makes something else: a payload of the corpus, or a case of a table."""

    payload: str
    library: str
    theirs: str
    ours: str


class Judged(NamedTuple):
    """One case of a table that some libraries convert otherwise, for one target or on one way."""

    target: str
    case: str
    ours: str
    theirs: dict[str, str]
    """By the libraries' names, with commas between."""

    def differences(self) -> list[Difference]:
        """Give it library by library."""
        return [
            Difference(f"{self.target}: {self.case}", library, theirs, self.ours)
            for libraries, theirs in self.theirs.items()
            for library in libraries.split(", ")
        ]


#: by the provider's rule that decides
EXPECTED: Final[dict[str, tuple[Difference, ...]]] = {
    "`function_call` is deprecated and still sent; OpenAI's types still have it": (
        Difference(
            "openai_chat/legacy_function_call.json",
            "openai",
            "0 calls",
            "1 call (weather-lookup)",
        ),
        Difference(
            "openai_chat/legacy_function_call.json",
            "langchain",
            "0 calls",
            "1 call (weather-lookup)",
        ),
        Difference(
            "openai_chat/legacy_function_call.json",
            "litellm",
            "0 calls",
            "1 call (weather-lookup)",
        ),
        Difference(
            "openai_chat/legacy_function_call.json",
            "llm-rosetta",
            "0 calls",
            "1 call (weather-lookup)",
        ),
    ),
    "a custom call's input is free text, not JSON: OpenAI, custom tools": (
        Difference(
            "openai_chat/custom_and_function.json",
            "langchain",
            "raises AttributeError",
            "2 calls",
        ),
        Difference(
            "openai_chat/custom_and_function.json",
            "litellm",
            "1 call (weather-lookup)",
            "2 calls (sql_run, weather-lookup)",
        ),
        Difference(
            "openai_responses/custom_and_function.json",
            "langchain",
            'call 1: arguments {"__arg1": "*** Begin Patch\\n*** Add File: a.txt\\n+hi \\"there\\"\\n*** E…',
            'call 1: arguments "*** Begin Patch\\n*** Add File: a.txt\\n+hi \\"there\\"\\n*** End Patch"',
        ),
        Difference(
            "openai_responses/custom_and_function.json",
            "litellm",
            "1 call (weather-lookup)",
            "2 calls (patch_text, weather-lookup)",
        ),
        Difference(
            "openai_responses/namespaces.json",
            "langchain",
            'call 3: arguments {"__arg1": "*** Begin Patch\\n*** Add File: a.txt\\n+hi \\"there\\"\\n*** E…',
            'call 3: arguments "*** Begin Patch\\n*** Add File: a.txt\\n+hi \\"there\\"\\n*** End Patch"',
        ),
        Difference(
            "openai_responses/namespaces.json",
            "litellm",
            "2 calls (lookup, lookup)",
            "3 calls (lookup, lookup, patch_text)",
        ),
        Difference(
            "openai_responses/stream_custom.jsonl",
            "langchain",
            'call 1: arguments {"__arg1": "*** Begin Patch\\n*** Add File: a.txt\\n+hi \\"there\\"\\n*** E…',
            'call 1: arguments "*** Begin Patch\\n*** Add File: a.txt\\n+hi \\"there\\"\\n*** End Patch"',
        ),
    ),
    "the text says one thing only; it runs as repaired, and the repair is recorded on the request and the result": (
        Difference(
            "openai_chat/invalid_json.json",
            "openai",
            "call 1: a problem: nothing to run",
            'call 1: arguments {"order_id": "ORD-1"}',
        ),
        Difference(
            "openai_chat/invalid_json.json",
            "langchain",
            "call 1: a problem: nothing to run",
            'call 1: arguments {"order_id": "ORD-1"}',
        ),
        Difference(
            "openai_chat/invalid_json.json",
            "litellm",
            "call 1: arguments {}",
            'call 1: arguments {"order_id": "ORD-1"}',
        ),
        Difference(
            "openai_chat/invalid_json.json",
            "llm-rosetta",
            "call 1: arguments {\"raw_arguments\": \"{'order_id': 'ORD-1'}\"}",
            'call 1: arguments {"order_id": "ORD-1"}',
        ),
    ),
    "arguments are one JSON object; a call without one is answered with an error, and its siblings run": (
        Difference(
            "openai_chat/odd_json.json",
            "openai",
            'call 2: arguments [1, 2]; call 3: arguments "{\\"city\\":\\"Oslo\\"}"; call 4: arguments {"temp": NaN}; call 5: arguments null',
            'call 2: a problem: nothing to run; call 3: arguments {"city": "Oslo"}; call 4: a problem: nothing to run; call 5: a problem: nothing to run',
        ),
        Difference(
            "openai_chat/odd_json.json",
            "langchain",
            "raises ValidationError",
            "5 calls",
        ),
        Difference(
            "openai_chat/odd_json.json",
            "litellm",
            'call 2: arguments {}; call 3: arguments {}; call 4: arguments {"temp": NaN}; call 5: arguments {}',
            'call 2: a problem: nothing to run; call 3: arguments {"city": "Oslo"}; call 4: a problem: nothing to run; call 5: a problem: nothing to run',
        ),
        Difference(
            "openai_chat/odd_json.json",
            "llm-rosetta",
            "raises ValidationError",
            "5 calls",
        ),
    ),
    "the model was cut off (`length`, `max_tokens`, `incomplete`, a lost stream): what it wrote is not what it meant": (
        Difference(
            "openai_chat/truncated_by_length.json",
            "litellm",
            'arguments {"order_id": "ORD-1", "amount_cents": 5}',
            "a problem: nothing to run",
        ),
        Difference(
            "openai_chat/truncated_by_length.json",
            "llm-rosetta",
            'arguments {"raw_arguments": "{\\"order_id\\": \\"ORD-1\\", \\"amount_cents\\": 5,"}',
            "a problem: nothing to run",
        ),
        Difference(
            "openai_responses/incomplete_call.json",
            "litellm",
            "arguments {}",
            "a problem: nothing to run",
        ),
        Difference(
            "openai_responses/incomplete_call.json",
            "llm-rosetta",
            'arguments {"input": "{\\"order_id\\":\\"OR"}',
            "a problem: nothing to run",
        ),
        Difference(
            "anthropic/max_tokens_partial_input.json",
            "anthropic",
            'arguments {"order_id": "ORD-1"}',
            "a problem: nothing to run",
        ),
        Difference(
            "anthropic/max_tokens_partial_input.json",
            "langchain",
            'arguments {"order_id": "ORD-1"}',
            "a problem: nothing to run",
        ),
        Difference(
            "anthropic/max_tokens_partial_input.json",
            "litellm",
            'arguments {"order_id": "ORD-1"}',
            "a problem: nothing to run",
        ),
        Difference(
            "anthropic/max_tokens_partial_input.json",
            "llm-rosetta",
            'arguments {"order_id": "ORD-1"}',
            "a problem: nothing to run",
        ),
        Difference(
            "openai_chat/stream_cut_off.jsonl",
            "openai",
            "raises LengthFinishReasonError",
            "1 call",
        ),
        Difference(
            "openai_chat/stream_cut_off.jsonl",
            "langchain",
            'arguments {"order_id": "OR"}',
            "a problem: nothing to run",
        ),
        Difference(
            "openai_responses/stream_cut_off.jsonl",
            "openai",
            "raises AttributeError",
            "2 calls",
        ),
        Difference(
            "openai_responses/stream_cut_off.jsonl",
            "langchain",
            'call 2: arguments {"order_id": "OR"}',
            "call 2: a problem: nothing to run",
        ),
        Difference(
            "anthropic/stream_cut_off.jsonl",
            "anthropic",
            "call 2: arguments {}",
            "call 2: a problem: nothing to run",
        ),
        Difference(
            "anthropic/stream_cut_off.jsonl",
            "anthropic beta",
            "call 2: arguments {}",
            "call 2: a problem: nothing to run",
        ),
        Difference(
            "anthropic/stream_cut_off.jsonl",
            "langchain",
            'call 2: arguments {"order_id": "OR"}',
            "call 2: a problem: nothing to run",
        ),
    ),
    '`arguments: ""` is what OpenAI sends for a function without parameters': (
        Difference(
            "openai_responses/empty_args.json",
            "langchain",
            "call 2: a problem: nothing to run",
            "call 2: arguments {}",
        ),
    ),
    "calls of the provider's own tools that wait for the client: shell (local), apply_patch, computer, tool_search": (
        Difference(
            "openai_responses/client_builtin_tools.json",
            "openai",
            "0 calls",
            "4 calls (shell, apply_patch, computer, local_shell)",
        ),
        Difference(
            "openai_responses/client_builtin_tools.json",
            "langchain",
            "0 calls",
            "4 calls (shell, apply_patch, computer, local_shell)",
        ),
        Difference(
            "openai_responses/client_builtin_tools.json",
            "litellm",
            "0 calls",
            "4 calls (shell, apply_patch, computer, local_shell)",
        ),
        Difference(
            "openai_responses/client_builtin_tools.json",
            "llm-rosetta",
            "raises ValidationError",
            "4 calls",
        ),
        Difference(
            "openai_responses/tool_search.json",
            "openai",
            "0 calls",
            "1 call (tool_search)",
        ),
        Difference(
            "openai_responses/tool_search.json",
            "langchain",
            "0 calls",
            "1 call (tool_search)",
        ),
        Difference(
            "openai_responses/tool_search.json",
            "litellm",
            "0 calls",
            "1 call (tool_search)",
        ),
        Difference(
            "openai_responses/tool_search.json",
            "llm-rosetta",
            "0 calls",
            "1 call (tool_search)",
        ),
        Difference(
            "openai_responses/stream_shell.jsonl",
            "openai",
            "0 calls",
            "1 call (shell)",
        ),
        Difference(
            "openai_responses/stream_shell.jsonl",
            "openai websocket",
            "0 calls",
            "1 call (shell)",
        ),
        Difference(
            "openai_responses/stream_shell.jsonl",
            "langchain",
            "0 calls",
            "1 call (shell)",
        ),
        Difference(
            "openai_responses/stream_shell.jsonl",
            "llm-rosetta",
            "0 calls",
            "1 call (shell)",
        ),
    ),
    "the provider runs it itself (`mcp_call`, `shell_call` in a container, `server_tool_use` …): never twice": (
        Difference(
            "openai_responses/server_tools_mixed.json",
            "llm-rosetta",
            "4 calls (code_interpreter_call, stock, shell_call, weather-lookup)",
            "1 call (weather-lookup)",
        ),
        Difference(
            "anthropic/server_web_search_mixed.json",
            "llm-rosetta",
            "2 calls (web_search, weather-lookup)",
            "1 call (weather-lookup)",
        ),
        Difference(
            "anthropic/server_bash_code_execution.json",
            "llm-rosetta",
            "2 calls (bash_code_execution, weather-lookup)",
            "1 call (weather-lookup)",
        ),
        Difference(
            "anthropic/programmatic_caller.json",
            "llm-rosetta",
            "3 calls (code_execution, weather-lookup, orders_refund)",
            "2 calls (weather-lookup, orders_refund)",
        ),
        Difference(
            "anthropic/tool_search.json",
            "llm-rosetta",
            "2 calls (tool_search_tool_bm25, orders_refund)",
            "1 call (orders_refund)",
        ),
        Difference(
            "anthropic/stream_server_mixed.jsonl",
            "llm-rosetta",
            "3 calls (web_search, bash_code_execution, weather-lookup)",
            "1 call (weather-lookup)",
        ),
    ),
    "on `pause_turn` the turn goes back unchanged, and nothing is run": (
        Difference(
            "anthropic/pause_turn.json",
            "llm-rosetta",
            "1 call (web_search)",
            "0 calls",
        ),
    ),
    "Gemini may send no id, and takes back none that it did not send: name and order tell": (
        Difference(
            "gemini/two_parallel_no_id.json",
            "langchain",
            "call 1: an id that the provider never sent; call 2: an id that the provider never sent",
            "call 1: no id; call 2: no id",
        ),
        Difference(
            "gemini/two_parallel_no_id.json",
            "llm-rosetta",
            "call 1: an id that the provider never sent; call 2: an id that the provider never sent",
            "call 1: no id; call 2: no id",
        ),
    ),
    "the type says that a delta is new text; servers that repeat `id` and `name` in each chunk mean the same call": (
        Difference(
            "openai_chat/stream_repeated_id_name.jsonl",
            "openai",
            'name "weather-lookupweather-lookupweather-lookupweather-lookup"; an id that the provider never sent',
            'name "weather-lookup"; id "call_Ab1"',
        ),
        Difference(
            "openai_chat/stream_repeated_id_name.jsonl",
            "langchain",
            'name "weather-lookupweather-lookupweather-lookupweather-lookup"',
            'name "weather-lookup"',
        ),
    ),
    "a new `id` is a new call, whatever the `index`": (
        Difference(
            "openai_chat/stream_same_index_new_id.jsonl",
            "openai",
            "1 call (weather-lookupweather-lookup)",
            "2 calls (weather-lookup, weather-lookup)",
        ),
        Difference(
            "openai_chat/stream_same_index_new_id.jsonl",
            "litellm",
            "1 call (weather-lookup)",
            "2 calls (weather-lookup, weather-lookup)",
        ),
    ),
    "deltas belong to the item of their `output_index`": (
        Difference(
            "openai_responses/stream_five_interleaved.jsonl",
            "langchain",
            "19 calls (weather-lookup, weather-lookup, weather-lookup, weather-lookup, weathe…)",
            "5 calls (weather-lookup, weather-lookup, weather-lookup, weather-lookup, weathe…)",
        ),
    ),
    "`mcp_tool_use` is beta: the stable types do not have it": (
        Difference(
            "anthropic/stream_mcp.jsonl",
            "anthropic",
            "raises ValidationError",
            "1 call",
        ),
    ),
    "`partialArgs` with `willContinue` are parts of the call that was named first": (
        Difference(
            "gemini/stream_partial_args.jsonl",
            "google-genai",
            "5 calls (shipment_create, None, None, None, None)",
            "1 call (shipment_create)",
        ),
        Difference(
            "gemini/stream_partial_args.jsonl",
            "llm-rosetta",
            "4 calls (shipment_create, , , )",
            "1 call (shipment_create)",
        ),
    ),
    "`toolCallCancellation` takes a call back that was issued": (
        Difference(
            "gemini/live_tool_call.jsonl",
            "google-genai",
            'call 2: arguments {"order_id": "ORD-10442", "amount_cents": 1299, "reason": "damaged"}',
            "call 2: a problem: nothing to run",
        ),
    ),
    "Live sends calls in `toolCall.functionCalls`": (
        Difference(
            "gemini/live_tool_call.jsonl",
            "llm-rosetta",
            "0 calls",
            "2 calls (weather-lookup, orders_refund)",
        ),
    ),
    "the delta's type is `arguments_delta`": (
        Difference(
            "gemini_interactions/stream_two_calls.jsonl",
            "llm-rosetta",
            "call 1: arguments {}; call 2: arguments {}",
            'call 1: arguments {"city": "Oslo", "unit": "celsius"}; call 2: arguments {"sender": {"name": "Ada Quill", "address": {"lines": ["4 Mill Row", "…',
        ),
    ),
}


def all_expected() -> set[Difference]:
    """Give them without their rules."""
    return set(chain.from_iterable(EXPECTED.values()))
