"""What the command line decides and writes, without Redis."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer
from redis.exceptions import NoPermissionError

from toolrelay import errors
from toolrelay.embedded import ServerBinaryNotFoundError
from toolrelay.models import CallStatus, NormalizedToolResult, Progress, StatusUpdate
from toolrelay.protocol import replies
from toolrelay_worker import cli
from toolrelay_worker._logs import masked
from toolrelay_worker.cli import COMMANDS, calls, exits, fleet
from toolrelay_worker.cli.exits import ExitCode
from toolrelay_worker.cli.health import judge
from toolrelay_worker.cli.live import describe, progress
from toolrelay_worker.cli.output import as_json, row, show, shown, table
from toolrelay_worker.demo.messages import EXAMPLES

DOCS = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")

EXIT_CODES = {
    errors.UnknownCall: 3,
    errors.ResultTimeout: 4,
    errors.BrokerUnavailable: 5,
    errors.CallConflictError: 6,
}
"""Everything else that toolrelay raises is wrong usage: 2."""


def kinds_of_errors(root: type[errors.ToolrelayError] = errors.ToolrelayError) -> Iterator[type[errors.ToolrelayError]]:
    for kind in root.__subclasses__():
        if kind.__module__ == errors.__name__:
            yield kind
            yield from kinds_of_errors(kind)


@pytest.mark.parametrize("kind", list(kinds_of_errors()))
def test_every_exception_of_ours_has_its_exit_code(kind: type[errors.ToolrelayError]) -> None:
    assert isinstance(kind("why"), exits.EXPECTED)
    assert EXIT_CODES.get(kind, 2) == exits.code_of(kind("why"))


@pytest.mark.parametrize("error", [ServerBinaryNotFoundError("none"), NoPermissionError("no right")])
def test_a_redis_that_cannot_be_used_exits_with_5_and_sends_to_the_doctor(error: Exception) -> None:
    assert exits.code_of(error) == 5
    assert exits.explain(error).endswith("see what toolrelay doctor says")


def test_an_error_is_explained_on_one_line() -> None:
    assert exits.explain(errors.SettingsError("one\n  two")) == "one two"


def test_unknown_calls_are_told_of_in_the_same_words_everywhere() -> None:
    expected = "no such call; it was never enqueued, or its result has expired"

    assert str(errors.UnknownCall.of("tc_1", "tc_2")) == f"tc_1, tc_2: {expected}"
    assert calls._CANCELLED[replies.CancelReply.UNKNOWN] == f"unknown: {expected}"
    assert fleet._REPLAYED[replies.ReplayReply.UNKNOWN] == f"unknown: {expected}"


def test_a_bug_is_not_expected_and_shows_its_traceback() -> None:
    assert not isinstance(KeyError("bug"), exits.EXPECTED)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://:secret@localhost:6379/0", "redis://:***@localhost:6379/0"),
        ("redis://user:secret@localhost/1", "redis://user:***@localhost/1"),
        ("redis://localhost:6379/0?password=secret", "redis://localhost:6379/0"),
        ("unix://user:secret@/run/redis.sock?db=1", "unix://user:***@/run/redis.sock"),
        ("redis://p%40ss:a@b@localhost/0", "redis://p%40ss:***@localhost/0"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, expected: str) -> None:
    assert masked(url) == expected


def test_text_from_elsewhere_is_one_line_that_no_terminal_obeys() -> None:
    assert shown("a\x1b[31mred\r\nb\u2028c\x9b31m") == "a [31mred b c 31m"
    assert shown("x" * 20, at_most=10) == "x" * 9 + "…"


def test_a_table_is_as_wide_as_it_may_be_and_its_lines_end_where_their_text_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = table("", "found")
    row(made, "ok", "short")
    row(made, "", "words " * 30)

    show(made, 60)

    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["    found", "ok  short"]
    assert len(lines) == 6
    assert all(len(line) <= 60 and line == line.rstrip() for line in lines)


def test_json_is_fit_for_every_terminal_and_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    text = as_json({"a": "é\x9b\ud800\u2028"})

    assert text.encode("utf-8")
    assert "\x9b" not in text
    assert "\u2028" not in text
    assert "\\ud800" in text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Progress(current=3, total=12, message="March"), "▰▰▱▱▱▱▱▱ 3/12 March"),
        (Progress(current=2.5), "2.5"),
        (Progress(current=20, total=10), "▰▰▰▰▰▰▰▰ 20/10"),
        (Progress(current=-1, total=10), "▱▱▱▱▱▱▱▱ -1/10"),
        (Progress(current=1, total=0, message="a\x1b[2J"), "1 a [2J"),
        (Progress(current=1 / 3, total=1), "▰▰▱▱▱▱▱▱ 0.333/1"),
        (Progress(current=66.66666), "66.7"),
        (Progress(current=1234.5678, total=1234567), "▱▱▱▱▱▱▱▱ 1235/1234567"),
        (Progress(current=0.000123456), "0.000123"),
        (Progress(current=2e20), "2e+20"),
    ],
)
def test_progress_is_shown_as_far_as_it_is_known(value: Progress, expected: str) -> None:
    assert progress(value) == expected


def update(**fields: Any) -> StatusUpdate:
    return StatusUpdate(tool_call_id="tc_1", seq=1, **{"status": CallStatus.RUNNING, **fields})


def result(**fields: Any) -> NormalizedToolResult:
    return NormalizedToolResult(tool_call_id="tc_1", tool_name="t", **{"success": True, **fields})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (update(), "running"),
        (update(partial=[1]), "running gave output early"),
        (update(status=CallStatus.PENDING, reason="worker_lost"), "pending (worker_lost)"),
        (update(dropped=3), "running (3 updates before this one are not kept)"),
        (
            update(status=CallStatus.COMPLETE, result=result(duration_ms=1234, attempt=2, worker="h:1")),
            "complete after 1.23 s, attempt 2 on h:1",
        ),
        (
            update(
                status=CallStatus.ERROR,
                result=result(success=False, error="no\nsuch", error_category=errors.ErrorCategory.NOT_FOUND),
            ),
            "error not_found: no such",
        ),
        *(
            (
                update(
                    status=CallStatus.CANCELLED,
                    result=result(success=False, error=error, error_category=errors.ErrorCategory.CANCELLED),
                ),
                expected,
            )
            for error, expected in [
                ("cancelled while it ran", "cancelled while it ran"),
                ("cancelled", "cancelled"),
                ("the agent gave up", "cancelled: the agent gave up"),
            ]
        ),
    ],
)
def test_an_update_is_described_on_one_line(said: StatusUpdate, expected: str) -> None:
    assert describe(said) == expected


def heartbeat(**fields: Any) -> dict[str, Any]:
    return {"host": "here", "stopping": False, "unfit": None, **fields}


@pytest.mark.parametrize(
    ("beating", "host", "is_healthy"),
    [
        ({}, None, False),
        ({"a": heartbeat()}, "here", True),
        ({"a": heartbeat()}, "elsewhere", False),
        ({"a": heartbeat()}, None, True),
        ({"a": heartbeat(stopping=True)}, "here", False),
        ({"a": heartbeat(unfit="stalled")}, "here", False),
        ({"a": heartbeat(unfit="stalled"), "b": heartbeat()}, "here", True),
        ({"a": heartbeat(unfit="stalled"), "b": heartbeat(host="elsewhere")}, "here", False),
    ],
)
def test_health_wants_a_worker_of_this_host_that_takes_calls(
    beating: dict[str, dict[str, Any]], host: str | None, is_healthy: bool
) -> None:
    found, detail = judge(beating, host)

    assert found is is_healthy
    assert detail


def test_where_a_call_stands_is_read_from_its_record() -> None:
    values = [
        "running",
        "4",
        "2",
        "host:1",
        "1796000000123",
        "1796000001000",
        '"tool_name":"a/b","provider_format":"mcp"',
    ]

    standing = replies.standing("tc_1", values)

    assert standing == replies.Standing(
        tool_call_id="tc_1",
        tool_name="a/b",
        provider_format="mcp",
        status=CallStatus.RUNNING,
        seq=4,
        attempt=2,
        worker="host:1",
        queued_at=datetime(2026, 11, 30, 0, 53, 20, 123000, UTC),
        started_at=datetime(2026, 11, 30, 0, 53, 21, tzinfo=UTC),
    )


def test_a_call_without_a_record_stands_nowhere() -> None:
    assert replies.standing("tc_1", [None] * 7) is None


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.provider)
def test_names_in_the_demo_are_legal_on_every_wire(example: Any) -> None:
    names = re.findall(r"'name': '(.*?)'", repr(example.message))

    assert names
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name) for name in names)


@pytest.mark.parametrize(
    ("words", "stdin", "complaint"),
    [
        ("submit -", "no JSON", "not valid JSON"),
        ("submit -", "", "the message is empty"),
        ("submit -", '{"tools": []}', "there are no tool calls in it: it looks like a request's body (tools)"),
        ("submit -", '{"weather": 1}', "no provider's message has these keys: 'weather'"),
        ("submit -", b"\xff", "is not UTF-8"),
        ("submit /no/such/file", "", "'/no/such/file' cannot be read"),
        ("submit - --format morse", "{}", "'morse'"),
        ("submit - --first-sequence -1", "{}", "--first-sequence"),
        ("submit - --plan-id=", "{}", "Invalid value for '--plan-id': it is empty"),
        ("status ''", "", "Invalid value for 'ID…': it is empty"),
        ("watch tc_1 ''", "", "it is empty"),
        ("result ''", "", "Invalid value for 'ID': it is empty"),
        ("cancel ''", "", "it is empty"),
        ("replay ''", "", "it is empty"),
        ("submit - --timeout soon", "{}", "--timeout"),
        ("submit", "", "Missing argument"),
        ("status", "", "Missing argument"),
        ("status x --redis-url http://h", "", "TOOLRELAY_REDIS_URL"),
        ("dead --limit 0", "", "--limit"),
        ("tools --loud", "", "--loud"),
        ("convert", "", "Missing argument"),
        ("convert calls -", "{}", "--to"),
        ("convert words --to openai -", "{}", "'words'"),
        ("convert calls --to openai --from morse -", "{}", "'morse'"),
        ("convert calls --to openai --strict -", "{}", "--strict is for tools"),
        ("convert tools --to openai /no/such/file", "", "'/no/such/file' cannot be read"),
        ("convert choice --to openai -", b"\xff", "is not UTF-8"),
        ("convert tools --to openai -", "no JSON", "not valid JSON"),
        ("convert tools --to openai -", " ", "'-' is empty"),
        ("convert tools --to openai -", "[1]", "tools[0]: a definition is an object"),
        ("explain", "", "Missing argument"),
        ("explain -", '{"weather": 1}', "no provider's message has these keys: 'weather'"),
        ("explain --from morse -", "{}", "'morse'"),
        ("dance", "", "No such command 'dance'"),
        ("", "", "Usage: "),
    ],
)
def test_wrong_usage_and_bad_input_are_2_and_nothing_on_stdout(
    words: str,
    stdin: str | bytes,
    complaint: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    monkeypatch.setattr(sys, "argv", ["toolrelay", *shlex.split(words)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    monkeypatch.setenv("TOOLRELAY_REDIS_URL", "redis://127.0.0.1:1/0")

    with pytest.raises(SystemExit) as left:
        cli.main()

    out, err = capsys.readouterr()
    assert left.value.code == 2
    assert out == ""
    assert complaint in err
    assert (err.startswith("toolrelay: ") and err.count("\n") == 1) or not words


SHARED = {"--redis-url", "--json"}
"""Described once, for all commands."""


def options_of(command: str) -> list[str]:
    group: Any = typer.main.get_command(cli._typer_app([command]))
    (params,) = [each.params for name, each in group.commands.items() if name == command]
    return [option for param in params for option in [*param.opts, *param.secondary_opts] if option.startswith("-")]


@pytest.mark.parametrize("command", list(COMMANDS))
def test_the_documentation_has_every_command_and_its_options(command: str) -> None:
    _, _, rest = DOCS.partition(f"## toolrelay {command}\n")
    part = rest.partition("\n## ")[0]

    assert part, f"docs/cli.md says nothing about {command}"
    assert [option for option in options_of(command) if option not in part and option not in SHARED] == []


def test_the_documentation_has_every_exit_code() -> None:
    table = re.findall(r"^\| (\d+) \|", DOCS, flags=re.MULTILINE)

    assert [int(code) for code in ExitCode] == [int(code) for code in table]
