"""An agent whose model called three tools: hand over what it said, watch, and get the message to answer it with.

``python -m examples.agent`` does one turn; ``--every 30`` goes on with another one every 30 seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolrelay import Producer
from toolrelay.errors import ToolrelayError
from toolrelay.outputs import as_base64

#: What an OpenAI model answers when it wants tools; any other provider's message would do as well.
ASSISTANT_MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {
            "id": "call_1",
            "type": "function",
            "function": {"name": "weather/lookup", "arguments": '{"city": "Berlin"}'},
        },
        {"id": "call_2", "type": "function", "function": {"name": "math/add", "arguments": '{"a": 2, "b": 40}'}},
        {
            "id": "call_3",
            "type": "function",
            "function": {"name": "checks/word_limit", "arguments": '{"text": "short enough", "limit": 5}'},
        },
    ],
}
#: Written after each answered turn, for the health check of the container.
ANSWERED = Path(tempfile.gettempdir()) / "answered"


def turn(plan_id: str) -> None:
    """Run one turn's calls, print what happens, then the next messages."""
    with Producer(plan_id=plan_id) as relay:
        calls = relay.submit(ASSISTANT_MESSAGE)
        for update in calls.updates():
            print(f"{update.tool_call_id} {update.status}", flush=True)
        for message in calls.messages(timeout=30):
            print(json.dumps(message, default=as_base64), flush=True)  # a picture for Bedrock is bytes


def plan_ids() -> Iterator[str]:
    """A plan of its own for each turn: the same plan again would give the stored results."""
    while True:
        yield f"example-{uuid.uuid4()}"


def main() -> None:
    """Read the command line and run turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=float, metavar="SECONDS", help="go on for ever, pausing so long between turns")
    every: float | None = parser.parse_args().every
    for plan_id in plan_ids():
        try:
            turn(plan_id)
            ANSWERED.touch()
        except ToolrelayError as exc:
            if every is None:
                raise
            print(f"this turn failed, the next may not: {exc}", flush=True)
        if every is None:
            return
        time.sleep(every)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
