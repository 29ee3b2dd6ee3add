"""What translation costs beside other libraries: ``make bench-translation``, or with ``--json FILE``.

Each pair does the same work on the same input in one process: read the calls of a whole response, put a stream's call
together, write a tool's definition. The machine drifts, so both run in turn within a round, the next round in the other
order; what counts is CPU time, and of the rounds' ratios the median. Input that a library wants as objects of its own
is validated inside the measurement, for it comes off the wire as JSON either way; our side takes the dicts.

Ends with 1 if a bound of the specification is missed.
"""

from __future__ import annotations

import argparse
import functools
import json
import logging
import operator
import os
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
ROUNDS: Final = 15
BLOCK_SECONDS: Final = 0.03
IMPORTS: Final = 15
MAX_IMPORT_MS: Final = 300
SDKS: Final = ("openai", "anthropic", "google.genai", "langchain_core", "mcp", "llm_rosetta", "litellm", "boto3")

Work = Callable[[], object]


class Pair(NamedTuple):
    """One bound: our work beside somebody else's."""

    what: str
    other: str
    ours: Work
    theirs: Work
    most: float
    """The highest ratio of our time to theirs."""


def main() -> int:
    options = _options()
    pairs = _pairs()
    report = {"rounds": options.rounds, "pairs": _measure(pairs, options.rounds), "import": _measure_import()}
    print(_table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    is_kept = [pair["ratio"] <= pair["most"] for pair in report["pairs"]]
    return 0 if all(is_kept) and _is_light(report["import"]) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write what was measured")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each pair runs")
    return parser.parse_args()


def _pairs() -> list[Pair]:
    # litellm would fetch its table of prices while it is imported
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LANGSMITH_TRACING", "false")
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    return [*_whole(), *_streams(), *_definitions()]


def _whole() -> list[Pair]:
    from litellm.litellm_core_utils.prompt_templates.factory import get_tool_calls_from_response
    from llm_rosetta import get_converter_for_provider

    from toolrelay import read_calls

    response = json.loads((ROOT / "tests/data/payloads/openai_chat/single_call.json").read_text())
    converter = get_converter_for_provider("openai_chat")

    def ours() -> object:
        return read_calls(response, "openai")

    return [
        Pair("one Chat response", "llm-rosetta", ours, lambda: converter.response_from_provider(response), 0.5),
        Pair("one Chat response", "litellm", ours, lambda: get_tool_calls_from_response(response), 0.5),
    ]


def _streams() -> list[Pair]:
    from langchain_core.messages import AIMessageChunk
    from langchain_openai.chat_models.base import _convert_delta_to_message_chunk
    from litellm import stream_chunk_builder
    from litellm.types.utils import ModelResponseStream
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    from toolrelay import StreamAssembler

    events = _chat_stream()

    def ours() -> object:
        stream = StreamAssembler("openai")
        calls = [call for event in events for call in stream.feed(event)]
        return calls + stream.close()

    def openai() -> object:
        state = ChatCompletionStreamState()
        for event in events:
            state.handle_chunk(ChatCompletionChunk.model_validate(event))
        return [
            json.loads(call.function.arguments) for call in state.get_final_completion().choices[0].message.tool_calls
        ]

    def langchain() -> object:
        deltas = [choice["delta"] for event in events for choice in event["choices"]]
        chunks = [_convert_delta_to_message_chunk(delta, AIMessageChunk) for delta in deltas]
        return functools.reduce(operator.add, chunks).tool_calls

    def litellm() -> object:
        built = stream_chunk_builder([ModelResponseStream(**event) for event in events])
        return [json.loads(call.function.arguments) for call in built.choices[0].message.tool_calls]

    others = {"openai": openai, "langchain": langchain, "litellm": litellm}
    return [Pair("a Chat stream, 27 deltas", name, ours, theirs, 0.1) for name, theirs in others.items()]


def _chat_stream() -> list[dict[str, Any]]:
    arguments = {"order_id": "ORD-20917", "amount_cents": 4250, "reason": "arrived broken", "notify": False}
    text = json.dumps({**arguments, "items": [{"sku": "B-7", "quantity": 3}]})
    pieces = [text[start : start + 5] for start in range(0, len(text), 5)]
    pieces = [*pieces[:24], "".join(pieces[24:])]
    function = {"name": "orders_refund", "arguments": ""}
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]},
        *({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in pieces),
        {},
    ]
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1796000000, "model": "gpt-5.6-terra"}
    reasons = [None] * (len(deltas) - 1) + ["tool_calls"]
    return [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        for delta, reason in zip(deltas, reasons, strict=True)
    ]


def _definitions() -> list[Pair]:
    from llm_rosetta import tool_ops

    from toolrelay import ToolSpec, export_tools

    spec = ToolSpec("parcels_ship", "Ship a parcel.", PARCEL)
    generic = {"type": "function", "name": spec.name, "description": spec.description, "parameters": PARCEL}
    others = {
        "openai": tool_ops.to_openai_chat,
        "openai_responses": tool_ops.to_openai_responses,
        "anthropic": tool_ops.to_anthropic,
        "gemini": tool_ops.to_google_generate,
    }
    return [
        Pair(
            f"a tool of 10 for {target}",
            "llm-rosetta",
            functools.partial(export_tools, [spec], target),
            functools.partial(convert, generic),
            1.0,
        )
        for target, convert in others.items()
    ]


#: ten parameters with all that is usual: a reference, an optional one, a nested object, limits, a list, a format
PARCEL: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "to": {"$ref": "#/$defs/Address"},
        "service": {"type": "string", "enum": ["standard", "express", "pickup"]},
        "weight_grams": {"type": "integer", "minimum": 1, "maximum": 30000},
        "value": {"type": "number", "description": "In the sender's currency."},
        "insured": {"type": "boolean", "default": False},
        "labels": {"type": "array", "items": {"type": "string"}},
        "size": {
            "type": "object",
            "properties": {"length": {"type": "integer"}, "width": {"type": "integer"}},
            "required": ["length"],
        },
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "pick_up_on": {"type": "string", "format": "date"},
        "reference": {"type": "string", "description": "The sender's own."},
    },
    "required": ["to", "service", "weight_grams"],
    "$defs": {"Address": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}},
}


def _measure(pairs: list[Pair], rounds: int) -> list[dict[str, Any]]:
    numbers = [(_repeats(pair.ours), _repeats(pair.theirs)) for pair in pairs]
    times: list[list[tuple[float, float]]] = [[] for _ in pairs]
    for index in range(rounds):
        for pair, (own, other), found in zip(pairs, numbers, times, strict=True):
            if index % 2:
                theirs = _block(pair.theirs, other)
                found.append((_block(pair.ours, own), theirs))
            else:
                ours = _block(pair.ours, own)
                found.append((ours, _block(pair.theirs, other)))
    return [_summary(pair, found) for pair, found in zip(pairs, times, strict=True)]


def _repeats(work: Work) -> int:
    """Give how often to do it for a block of measurable length; the first times fill caches."""
    for _ in range(3):
        work()
    return max(1, int(BLOCK_SECONDS / max(_block(work, 3), 1e-7)))


def _block(work: Work, number: int) -> float:
    return timeit.timeit(work, number=number, timer=time.process_time) / number


def _summary(pair: Pair, times: list[tuple[float, float]]) -> dict[str, Any]:
    ratios = [ours / theirs for ours, theirs in times]
    return {
        "what": pair.what,
        "other": pair.other,
        "ours_us": statistics.median(ours for ours, _ in times) * 1e6,
        "theirs_us": statistics.median(theirs for _, theirs in times) * 1e6,
        "ratio": statistics.median(ratios),
        "lowest": min(ratios),
        "highest": max(ratios),
        "most": pair.most,
    }


_IMPORT: Final = """
import sys, time
before = time.process_time()
import toolrelay
print((time.process_time() - before) * 1000)
print(*(name for name in sys.argv[1:] if name in sys.modules))
"""


def _measure_import() -> dict[str, Any]:
    command = [sys.executable, "-c", _IMPORT, *SDKS]
    # compiled once, as an installed package is, also where the environment keeps Python from writing bytecode
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as cache:
        variables["PYTHONPYCACHEPREFIX"] = cache
        _, *runs = [
            subprocess.run(command, check=True, capture_output=True, text=True, env=variables).stdout
            for _ in range(1 + IMPORTS)
        ]
    times = [float(run.splitlines()[0]) for run in runs]
    imported = sorted({name for run in runs for name in run.splitlines()[1].split()})
    return {"median_ms": statistics.median(times), "best_ms": min(times), "most_ms": MAX_IMPORT_MS, "sdks": imported}


def _is_light(measured: dict[str, Any]) -> bool:
    return not measured["sdks"] and bool(measured["median_ms"] <= measured["most_ms"])


def _table(report: dict[str, Any]) -> str:
    lines = [f"{'':34}{'beside':14}{'ours us':>10}{'theirs us':>11}{'ratio':>8}{'range':>14}{'at most':>9}"]
    for pair in report["pairs"]:
        spread = f"{pair['lowest']:.3f}-{pair['highest']:.3f}"
        mark = "" if pair["ratio"] <= pair["most"] else "  missed"
        lines.append(
            f"{pair['what']:34}{pair['other']:14}{pair['ours_us']:>10.1f}{pair['theirs_us']:>11.1f}"
            f"{pair['ratio']:>8.3f}{spread:>14}{pair['most']:>9.1f}{mark}"
        )
    found = report["import"]
    sdks = ", ".join(found["sdks"]) or "none"
    mark = "" if _is_light(found) else "  missed"
    cost = (
        f"{found['median_ms']:.0f} ms CPU in a fresh process (best {found['best_ms']:.0f}, at most {found['most_ms']})"
    )
    lines += ["", f"import toolrelay: {cost}; SDKs that it imports: {sdks}{mark}", ""]
    lines += [f"CPU time; ratios are our time over theirs, medians of {report['rounds']} rounds."]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
