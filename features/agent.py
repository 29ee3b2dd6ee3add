"""An agent as a program of its own: a model's message a line in, the next messages a line out.

``python -m features.agent PLAN``; started again with the same plan and the same messages, it replays the plan.
"""

from __future__ import annotations

import json
import sys

from toolrelay import Producer

PATIENCE_SECONDS = 20


def main() -> None:
    with Producer(sys.argv[1]) as relay:
        for line in sys.stdin:
            messages = relay.submit(json.loads(line)).messages(timeout=PATIENCE_SECONDS)
            sys.stdout.write(json.dumps(messages) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
