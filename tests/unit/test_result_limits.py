"""What ``max_bytes`` cuts and what it leaves alone."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from toolrelay import format_results
from toolrelay.models import CallKind, NormalizedToolResult
from toolrelay.outputs import as_base64

LONG = "x" * 5000


def shell(output: Any, max_bytes: int | None = 200) -> list[dict[str, Any]]:
    result = NormalizedToolResult(tool_call_id="c", tool_name="shell", kind=CallKind.SHELL, success=True, output=output)
    (item,) = format_results([result], "openai_responses", max_bytes=max_bytes)
    commands: list[dict[str, Any]] = item["output"]
    return commands


FAILED = {"type": "exit", "exit_code": 2}


def cut(shown: int) -> str:
    return f"{'x' * shown}\n[cut: {shown} of 5000 bytes are shown]"


@pytest.mark.parametrize("wrap", [lambda command: [command], lambda command: command], ids=["a list", "one command"])
def test_a_shell_command_that_failed_is_cut_inside_what_it_wrote(wrap: Any) -> None:
    (command,) = shell(wrap({"stdout": LONG, "stderr": "bad", "exit_code": 2}))

    assert command == {"stdout": cut(161), "stderr": "bad", "outcome": FAILED}


def test_commands_share_the_limit_and_keep_their_outcomes() -> None:
    commands = shell(
        [
            {"stdout": "å" * 3000, "stderr": LONG, "exit_code": 2},
            {"stdout": "short", "stderr": None, "returncode": 3},
            {"stdout": LONG, "outcome": {"type": "timeout"}},
        ],
        max_bytes=1000,
    )

    assert [command["outcome"] for command in commands] == [
        FAILED,
        {"type": "exit", "exit_code": 3},
        {"type": "timeout"},
    ]
    texts = [command[name] for command in commands for name in ("stdout", "stderr")]
    assert sum(len(text.encode()) for text in texts) <= 1000
    assert ["[cut: " in text for text in texts] == [True, True, False, False, True, False]
    assert min(len(text.encode()) for text in texts if "[cut: " in text) > 300
    assert texts[2] == "short"


def test_where_many_share_a_small_limit_each_says_that_it_is_cut() -> None:
    commands = shell([{"stdout": LONG, "stderr": LONG, "exit_code": 1}] * 5, max_bytes=100)

    assert commands == [{"stdout": "[cut]", "stderr": "[cut]", "outcome": {"type": "exit", "exit_code": 1}}] * 5


def test_a_shell_output_that_is_short_or_of_another_shape_is_as_it_was() -> None:
    short = {"stdout": "a", "stderr": "b", "exit_code": 2}

    assert shell([short]) == shell([short], max_bytes=None)
    assert shell(LONG) == [{"stdout": cut(164), "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]


IMAGE = {"type": "image", "data": base64.b64encode(b"\x89PNG\r\n\x1a\n" * 100).decode(), "mimeType": "image/png"}


def answer(output: Any, provider_format: str, max_bytes: int | None = 300) -> Any:
    result = NormalizedToolResult(tool_call_id="c", tool_name="chart", success=True, output=output)
    (message,) = format_results([result], provider_format, max_bytes=max_bytes)
    return message


def test_a_picture_alone_is_whole() -> None:
    assert answer([IMAGE], "anthropic") == answer([IMAGE], "anthropic", max_bytes=None)


@pytest.mark.parametrize("where", [0, 1], ids=["behind", "before"])
def test_a_picture_beside_a_long_text_stays_and_the_text_is_cut(where: int) -> None:
    output = [{"type": "text", "text": LONG}]
    output.insert(1 - where, IMAGE)

    blocks = answer({"content": output, "isError": False}, "anthropic")["content"][0]["content"]

    assert [block["type"] for block in blocks] == [block["type"] for block in output]
    (text,) = [block["text"] for block in blocks if block["type"] == "text"]
    assert text.endswith(" of 5000 bytes are shown]")
    assert len(text) <= 300
    assert [block["source"]["data"] for block in blocks if block["type"] == "image"] == [IMAGE["data"]]


def test_the_limit_holds_with_the_description_where_a_picture_has_no_place() -> None:
    content = answer([{"type": "text", "text": LONG}, IMAGE], "openai")["content"]

    assert len(content) <= 300
    assert content.endswith("[image image/png, 800 bytes, returned by the tool and not shown here]")


@pytest.mark.parametrize("provider_format", ["openai_responses", "anthropic", "gemini", "mcp", "bedrock", "langchain"])
def test_texts_beside_a_picture_share_the_limit(provider_format: str) -> None:
    output = [{"type": "text", "text": LONG}, IMAGE, {"type": "text", "text": "short"}]

    message = answer(output, provider_format)

    shown = json.dumps(message, default=as_base64)
    assert IMAGE["data"][:12] in shown
    assert "short" in shown
    assert shown.count("of 5000 bytes are shown]") == 1
    assert len(shown) < 2000
