"""Real command lines on a real server and a real worker: what is printed, and with what code each ends."""

from __future__ import annotations

import json
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from tests.conftest import deployment
from tests.support.command_line import CommandLine, chat_message
from tests.support.waiting import wait_until
from tests.support.workers import ROOT, Workers
from toolrelay.embedded import EmbeddedServer
from toolrelay.handles import CallHandle
from toolrelay.models import NormalizedToolResult, StatusUpdate
from toolrelay.producer import Producer
from toolrelay.session import close_session
from toolrelay.settings import Settings

NOWHERE = "redis://127.0.0.1:1/0"
UNKNOWN = "tc_000000000000000000000000"


@pytest.fixture(scope="module")
def fleet(server: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A deployment with one worker, for the commands that start none themselves."""
    settings = deployment(server.url)
    workers = Workers(settings, tmp_path_factory.mktemp("fleet"))
    workers.start(program="toolrelay")
    yield settings
    workers.close()
    close_session(settings)


@pytest.fixture
def shell(fleet: Settings, tmp_path: Path) -> CommandLine:
    """A shell on the fleet's deployment."""
    return CommandLine(fleet, tmp_path)


@pytest.fixture
def empty(settings: Settings, tmp_path: Path) -> Iterator[CommandLine]:
    """A shell on a deployment without any worker."""
    yield CommandLine(settings, tmp_path)
    close_session(settings)


def enqueue(settings: Settings, tool: str, **arguments: Any) -> CallHandle:
    """Enqueue a call of a plan of its own, past the command line."""
    relay = Producer(secrets.token_hex(8), settings=settings)
    return relay.enqueue({"name": tool, "arguments": arguments})


def wait_for(handle: CallHandle, status: str) -> None:
    wait_until(lambda: handle.status() == status, f"{handle} to be {status}")


class TestWorker:
    @pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
    def test_it_finishes_what_runs_and_exits_with_0_when_it_is_asked_to_stop(
        self, stop: signal.Signals, relay: Producer, workers: Workers
    ) -> None:
        (worker,) = workers.start(program="toolrelay")
        handle = relay.enqueue({"name": "slow/sync", "arguments": {"seconds": 1}})
        wait_for(handle, "running")

        worker.signal(stop)

        assert worker.process.wait(30) == 0
        assert handle.result(timeout=5).output == "slept"

    def test_its_options_win_over_the_environment_and_our_loggers_are_heard(
        self, settings: Settings, empty: CommandLine
    ) -> None:
        options = ("--tools", "examples.tools", "--concurrency", "3", "--loglevel", "info")
        with empty.start("worker", *options, TOOLRELAY_CONCURRENCY="9", TOOLRELAY_CONCURENCY="5") as worker:
            try:
                wait_until(lambda: empty.run("health").code == 0, "a healthy worker")
                doctor = {each["check"]: each["detail"] for each in empty.run("doctor", "--json").lines}
            finally:
                worker.terminate()
            answers, log = worker.communicate(timeout=30)

        assert answers == ""
        assert f"worker on Redis {settings.url}, queue calls, namespace {settings.namespace}, 3 calls at a time" in log
        assert "superuser" not in log
        assert doctor["workers"] == "1, running 0 calls of 3 at most"
        assert "tools on offer: weather/lookup" in log
        assert log.count("TOOLRELAY_CONCURENCY (TOOLRELAY_CONCURRENCY is meant?)") == 1
        assert worker.returncode == 0

    def test_its_log_has_a_line_for_the_start_and_the_end_of_each_attempt(
        self, relay: Producer, workers: Workers
    ) -> None:
        (worker,) = workers.start(program="toolrelay")

        again = relay.enqueue({"name": "retry/until", "arguments": {"attempt": 2}})
        again.result(timeout=20)

        starts_and_ends = re.findall(f"{again.id}: (tool .*)", worker.log)
        assert [re.sub(r"\d+ ms", "N ms", line) for line in starts_and_ends] == [
            "tool retry/until starts, attempt 1",
            "tool retry/until ended, attempt 1: error, timeout, N ms",
            "tool retry/until starts, attempt 2",
            "tool retry/until ended, attempt 2: complete, N ms",
        ]
        assert f"tool retry/until failed for now ({again.id}, attempt 1): TimeoutError: not yet" in worker.log
        assert "Traceback" not in worker.log

    def test_without_redis_it_says_once_what_to_do_and_goes_on_waiting(self, empty: CommandLine) -> None:
        with empty.start("worker", TOOLRELAY_REDIS_URL=NOWHERE, TOOLRELAY_COMMAND_TIMEOUT="0.2") as worker:
            assert worker.stderr is not None
            log = ""
            try:
                while log.count("Trying again") < 3:
                    line = worker.stderr.readline()
                    assert line, log
                    log += line
            finally:
                worker.kill()

        assert log.count("name another one with TOOLRELAY_REDIS_URL; toolrelay doctor says more") == 1
        assert log.count("no heartbeat") == 1

    def test_it_stops_at_once_while_it_still_starts(self, empty: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "endless_tools.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")

        with empty.start("worker", "--tools", "endless_tools", PYTHONPATH=str(tmp_path)) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "importing\n"
            worker.terminate()

            assert worker.wait(10) == 0

    def test_it_starts_anew_in_the_same_process_when_tools_hang(self, relay: Producer, workers: Workers) -> None:
        (worker,) = workers.start(program="toolrelay", TOOLRELAY_MAX_HUNG_TOOLS="1", TOOLRELAY_SHUTDOWN_GRACE="1")

        hung = relay.enqueue({"name": "slow/limited", "arguments": {"seconds": 600}}).result(timeout=30)

        assert hung.error_category == "timeout"
        wait_until(lambda: worker.log.count(" ready.") == 2, "a second start", 40)
        again = relay.enqueue({"name": "math/add", "arguments": {"a": 1, "b": 2}}).result(timeout=30)
        assert again.output == 3
        assert str(again.worker).endswith(f":{worker.pid}")

    @pytest.mark.parametrize(
        ("words", "variables", "complaint"),
        [
            ((), {"TOOLRELAY_TOOLS": ""}, "no tools: name the modules"),
            (("--tools", "no_such_module"), {}, "cannot import the tools module 'no_such_module'"),
            (("--tools", "json"), {}, "json registered no tool"),
            (("--redis-url", "http://localhost"), {}, "TOOLRELAY_REDIS_URL"),
            ((), {"TOOLRELAY_LEASE": "soon"}, "TOOLRELAY_LEASE"),
        ],
    )
    def test_what_is_wrong_with_its_tools_or_settings_is_one_line(
        self, empty: CommandLine, words: tuple[str, ...], variables: dict[str, str], complaint: str
    ) -> None:
        ended = empty.run("worker", *words, **variables)

        assert ended.code == 2
        assert complaint in ended.complaint


class TestHealth:
    def test_it_is_0_with_a_worker_of_this_machine(self, shell: CommandLine) -> None:
        ended = shell.run("health", "--json")

        assert ended.code == 0
        assert ended.lines[0].keys() == {"healthy", "detail"}
        assert ended.lines[0]["healthy"] is True
        assert shell.run("health", "--any").code == 0

    def test_it_is_1_without_a_worker(self, empty: CommandLine) -> None:
        ended = empty.run("health")

        assert ended.code == 1
        assert "no worker beats" in ended.stdout

    def test_it_is_5_when_redis_is_away(self, empty: CommandLine) -> None:
        ended = empty.run("health", "--redis-url", NOWHERE)

        assert ended.code == 5
        assert "toolrelay doctor" in ended.complaint

    def test_it_starts_no_server(self, empty: CommandLine, tmp_path: Path) -> None:
        home = tmp_path / "home"

        ended = empty.run("health", TOOLRELAY_REDIS_URL="", TOOLRELAY_HOME=str(home))

        assert ended.code == 2
        assert "TOOLRELAY_REDIS_URL" in ended.complaint
        assert not home.exists()


class TestSubmit:
    def test_it_prints_what_the_model_is_told_next(self, shell: CommandLine, tmp_path: Path) -> None:
        file = tmp_path / "message.json"
        file.write_text(chat_message(("math/add", {"a": 1, "b": 2}), ("test/echo", {"value": "ünïcode"})))

        ended = shell.run("submit", str(file))

        assert ended.code == 0
        assert json.loads(ended.stdout) == [
            {"role": "tool", "tool_call_id": "call_0", "content": "3"},
            {"role": "tool", "tool_call_id": "call_1", "content": "ünïcode"},
        ]
        assert re.search(r"s  tc_\w{24}  math/add  complete", ended.stderr)
        assert "no worker" not in ended.stderr

    def test_a_call_that_fails_is_1_and_still_answered(self, shell: CommandLine) -> None:
        message = chat_message(("math/add", {"a": 1, "b": 2}), ("bad/raise", {}), ("no/such", {}))

        ended = shell.run("submit", "-", "--json", stdin=message)

        assert ended.code == 1
        (answer,) = ended.lines
        assert answer.keys() == {"plan_id", "calls", "results", "messages"}
        fields = {"tool_call_id", "tool_name", "provider_format", "provider_call_id", "sequence"}
        assert all(call.keys() == fields for call in answer["calls"])
        results = [NormalizedToolResult.model_validate(each) for each in answer["results"]]
        assert [each.error_category for each in results] == [None, "execution", "not_found"]
        assert len(answer["messages"]) == 3

    def test_the_same_plan_attaches_to_its_calls(self, shell: CommandLine, tmp_path: Path) -> None:
        message = chat_message(("test/mark", {}))
        place = ("--plan-id", tmp_path.name, "--first-sequence", "4")

        first = shell.run("submit", "-", "--json", *place, stdin=message).lines[0]
        second = shell.run("submit", "-", "--json", *place, stdin=message).lines[0]

        assert first == second
        assert first["calls"][0]["sequence"] == 4

    def test_another_call_under_the_same_id_is_6_and_shows_no_arguments(
        self, shell: CommandLine, tmp_path: Path
    ) -> None:
        plan = ("--plan-id", tmp_path.name)
        shell.run("submit", "-", *plan, stdin=chat_message(("test/echo", {"value": "first"})))

        ended = shell.run("submit", "-", *plan, stdin=chat_message(("test/echo", {"value": "hunter2"})))

        assert ended.code == 6
        assert "first_sequence" in ended.complaint
        assert "hunter2" not in ended.stderr

    def test_time_up_is_4_and_names_the_calls_that_go_on(self, shell: CommandLine, fleet: Settings) -> None:
        message = chat_message(("math/add", {"a": 1, "b": 2}), ("slow/async", {"seconds": 30}))

        ended = shell.run("submit", "-", "--timeout", "1", stdin=message)

        assert ended.code == 4
        assert ended.stdout == ""
        (call_id,) = ended.stderr.splitlines()[-1].partition("toolrelay watch ")[2].split()
        handle = CallHandle(fleet, call_id)
        assert handle.status() == "running"
        handle.cancel()

    def test_who_waits_where_no_worker_runs_is_told_so_once(self, empty: CommandLine) -> None:
        message = chat_message(("math/add", {"a": 1, "b": 2}), ("math/add", {"a": 3, "b": 4}))

        ended = empty.run("submit", "-", "--timeout", "1", stdin=message)

        assert ended.code == 4
        assert ended.stderr.count("no worker") == 1
        assert (
            "toolrelay: no worker takes this deployment's calls now; "
            "start one: toolrelay worker --tools MODULE; see toolrelay doctor"
        ) in ended.stderr.splitlines()

    def test_who_waits_for_a_tool_that_no_worker_offers_now_is_told_which(
        self, empty: CommandLine, workers: Workers
    ) -> None:
        (gone,) = workers.start(program="toolrelay")
        workers.start(program="toolrelay", TOOLRELAY_TOOLS="tests.support.old_tools")
        gone.stop()

        ended = empty.run("submit", "-", "--timeout", "1", stdin=chat_message(("math/add", {"a": 1, "b": 2})))

        assert "toolrelay: no worker takes math/add now; start one" in ended.stderr

    def test_a_message_of_another_format_is_refused_with_the_right_one(self, shell: CommandLine) -> None:
        message = chat_message(("math/add", {"a": 1, "b": 2}))

        ended = shell.run("submit", "-", "--format", "gemini", stdin=message)
        without_calls = shell.run("submit", "-", "--format", "gemini", stdin='{"candidates": []}')
        nothing = shell.run("submit", "-", "--format", "gemini", stdin="{}")

        assert (ended.code, ended.stdout) == (2, "")
        assert ended.complaint == "toolrelay: this is not a message of the format gemini; it looks like openai"
        assert without_calls.code == 0
        assert (nothing.code, nothing.complaint) == (
            2,
            "toolrelay: there are no tool calls in it: it looks like an empty object",
        )

    def test_without_waiting_it_prints_ids(self, empty: CommandLine) -> None:
        message = chat_message(("math/add", {"a": 1, "b": 2}), ("math/add", {"a": 3, "b": 4}))

        plain = empty.run("submit", "-", "--no-wait", "--plan-id", "p", stdin=message)
        as_json = empty.run("submit", "-", "--no-wait", "--plan-id", "p", "--json", stdin=message)

        assert plain.code == as_json.code == 0
        (answer,) = as_json.lines
        assert plain.stdout.split() == [call["tool_call_id"] for call in answer["calls"]]
        assert answer["plan_id"] == "p"
        assert answer["results"] is answer["messages"] is None

    def test_ctrl_c_is_130_and_the_calls_go_on(self, shell: CommandLine, fleet: Settings) -> None:
        with shell.start("submit", "-") as waiting:
            assert waiting.stdin is not None
            assert waiting.stderr is not None
            waiting.stdin.write(chat_message(("slow/async", {"seconds": 30})))
            waiting.stdin.close()
            while "running" not in waiting.stderr.readline():
                pass
            waiting.send_signal(signal.SIGINT)
            told = waiting.stderr.read()

            assert waiting.wait(10) == 130
        handle = CallHandle(fleet, told.partition("toolrelay watch ")[2].split()[0])
        assert handle.status() == "running"
        handle.cancel()

    def test_a_tool_is_found_by_the_name_it_has_on_the_wire(self, shell: CommandLine) -> None:
        wire, own = chat_message(("math_add", {"a": 1, "b": 2})), chat_message(("math/add", {"a": 1, "b": 2}))

        answers = [shell.run("submit", "-", "--json", stdin=message).lines[0] for message in (wire, own)]

        for answer in answers:
            assert [call["tool_name"] for call in answer["calls"]] == ["math/add"]
            assert [result["output"] for result in answer["results"]] == [3]

    def test_a_message_without_calls_has_no_answer(self, shell: CommandLine) -> None:
        ended = shell.run("submit", "-", stdin='{"role": "assistant", "content": "Done."}')

        assert ended.code == 0
        assert json.loads(ended.stdout) == []
        assert "no tool calls" in ended.complaint

    def test_bad_input_is_2(self, shell: CommandLine) -> None:
        ended = shell.run("submit", "-", stdin="no JSON")

        assert ended.code == 2
        assert ended.stdout == ""
        assert "not valid JSON" in ended.complaint


class TestCalls:
    def test_status_tells_where_each_call_stands(self, shell: CommandLine, fleet: Settings) -> None:
        done, runs = enqueue(fleet, "bad/raise"), enqueue(fleet, "slow/async", seconds=30)
        wait_for(done, "error")
        wait_for(runs, "running")

        ended = shell.run("status", "--json", done.id, runs.id)
        table = shell.run("status", done.id, runs.id)
        runs.cancel()

        assert ended.code == table.code == 0
        first, second = ended.lines
        assert first.keys() == second.keys()
        assert (first["success"], first["error_category"], first["attempt"]) == (False, "execution", 1)
        assert (second["success"], second["finished_at"], second["attempt"]) == (None, None, 1)
        assert first["worker"] == second["worker"] is not None
        assert done.id in table.stdout
        assert "RuntimeError: boom" in table.stdout

    def test_status_of_an_unknown_call_is_3_and_the_known_ones_are_shown(
        self, shell: CommandLine, fleet: Settings
    ) -> None:
        known = enqueue(fleet, "math/add", a=1, b=2).id

        ended = shell.run("status", "--json", known, UNKNOWN)

        assert ended.code == 3
        assert [each["tool_call_id"] for each in ended.lines] == [known]
        assert UNKNOWN in ended.complaint

    def test_result_does_not_wait_unless_it_is_asked_to(self, shell: CommandLine, fleet: Settings) -> None:
        handle = enqueue(fleet, "slow/async", seconds=30)

        at_once, in_time = shell.run("result", handle.id), shell.run("result", handle.id, "--timeout", "0.1")
        handle.cancel()
        waited = shell.run("result", "--wait", handle.id)

        assert at_once.code == in_time.code == 4
        assert "still open" in at_once.complaint
        assert waited.code == 1
        assert "cancelled" in waited.complaint

    def test_result_is_the_output_as_json(self, shell: CommandLine, fleet: Settings) -> None:
        handle = enqueue(fleet, "test/echo", value={"a": [1, "ü"]})
        handle.result(timeout=20)

        plain, as_json = shell.run("result", handle.id), shell.run("result", handle.id, "--json")

        assert plain.code == as_json.code == 0
        assert json.loads(plain.stdout) == {"a": [1, "ü"]}
        assert NormalizedToolResult.model_validate(as_json.lines[0]) == handle.result()
        assert as_json.lines[0].keys() == NormalizedToolResult.model_fields.keys()

    def test_result_of_a_failure_is_1_and_its_error(self, shell: CommandLine, fleet: Settings) -> None:
        handle = enqueue(fleet, "bad/raise", message="no luck")

        ended = shell.run("result", "--timeout", "20", handle.id)

        assert ended.code == 1
        assert ended.stdout == ""
        assert "execution: RuntimeError: no luck" in ended.complaint

    def test_watch_gives_every_update_once_and_in_order(self, shell: CommandLine, fleet: Settings) -> None:
        handle = enqueue(fleet, "test/progress", steps=3)

        ended = shell.run("watch", handle.id, handle.id, "--json")
        plain = shell.run("watch", handle.id)

        assert ended.code == plain.code == 0
        updates = [StatusUpdate.model_validate(each) for each in ended.lines]
        assert [each.seq for each in updates] == list(range(1, len(updates) + 1))
        assert (updates[0].status, updates[-1].status) == ("pending", "complete")
        assert ended.lines[0].keys() == StatusUpdate.model_fields.keys()
        assert f"{handle.id}  test/progress  running" in plain.stdout
        assert "3/3" in plain.stdout

    def test_watch_is_1_for_a_failure_and_4_when_the_time_is_up(self, shell: CommandLine, fleet: Settings) -> None:
        fails, runs = enqueue(fleet, "bad/raise"), enqueue(fleet, "slow/async", seconds=30)

        failed = shell.run("watch", fails.id)
        timed_out = shell.run("watch", runs.id, "--timeout", "0.2")
        runs.cancel()

        assert (failed.code, timed_out.code) == (1, 4)

    def test_cancel_ends_what_waits_and_what_runs(
        self, shell: CommandLine, fleet: Settings, empty: CommandLine, settings: Settings
    ) -> None:
        waits, runs = enqueue(settings, "math/add", a=1, b=2), enqueue(fleet, "slow/async", seconds=30)
        wait_for(runs, "running")

        ended_waiting, ended_running = empty.run("cancel", waits.id, "--json"), shell.run("cancel", runs.id, "--json")

        assert ended_waiting.code == ended_running.code == 0
        assert ended_waiting.lines == [{"tool_call_id": waits.id, "reply": "cancelled"}]
        assert ended_running.lines == [{"tool_call_id": runs.id, "reply": "requested"}]
        wait_for(runs, "cancelled")
        assert shell.run("cancel", runs.id).code == 1
        assert shell.run("cancel", runs.id, UNKNOWN).code == 3

    @pytest.mark.parametrize("command", ["result", "watch", "cancel", "replay"])
    def test_an_unknown_call_is_3(self, shell: CommandLine, command: str) -> None:
        assert shell.run(command, UNKNOWN).code == 3

    @pytest.mark.parametrize("command", ["status", "watch"])
    def test_redis_away_is_5(self, shell: CommandLine, command: str) -> None:
        ended = shell.run(command, UNKNOWN, "--redis-url", NOWHERE, TOOLRELAY_COMMAND_TIMEOUT="0.5")

        assert ended.code == 5
        assert "Redis cannot be reached" in ended.complaint


class TestFleet:
    def test_tools_lists_what_workers_offer(self, shell: CommandLine) -> None:
        plain, as_json = shell.run("tools"), shell.run("tools", "--json")

        assert plain.code == as_json.code == 0
        by_name = {each["name"]: each for each in as_json.lines}
        assert list(by_name) == sorted(by_name)
        fields = {"name", "description", "input_schema", "output_schema", "tool_type", "policy"}
        assert by_name["slow/once"].keys() == fields
        assert by_name["slow/once"]["policy"]["on_lost"] == "fail"
        assert all(name in plain.stdout for name in by_name)

    def test_without_workers_there_are_no_tools(self, empty: CommandLine) -> None:
        ended = empty.run("tools")

        assert (ended.code, ended.stdout) == (0, "")
        assert "toolrelay worker --tools" in ended.complaint

    def test_a_dead_letter_is_listed_and_replayed(self, shell: CommandLine, fleet: Settings) -> None:
        dead, well = enqueue(fleet, "retry/until", attempt=9), enqueue(fleet, "math/add", a=1, b=2)
        given_up = dead.result(timeout=20)

        listed, table = shell.run("dead", "--json"), shell.run("dead")
        replayed = shell.run("replay", dead.id, well.id, "--json")

        assert listed.code == table.code == 0
        assert given_up in [NormalizedToolResult.model_validate(each) for each in listed.lines]
        assert dead.id in table.stdout
        assert replayed.code == 1
        assert [each["reply"] for each in replayed.lines] == ["ok", "not_dead"]
        again = CallHandle(fleet, dead.id)
        wait_until(lambda: again.status() == "error", "the replayed call to end")

    def test_foreign_messages_are_shown_harmlessly(
        self, shell: CommandLine, fleet: Settings, server: EmbeddedServer
    ) -> None:
        with Redis.from_url(server.url) as redis:
            redis.lpush(f"{fleet.namespace}:{fleet.queue}", "\x1b[2Jforeign")
            wait_until(lambda: redis.llen(f"{fleet.namespace}:rejected"), "the message to be set aside")

        plain, as_json = shell.run("dead", "--rejected", "--limit", "1"), shell.run("dead", "--rejected", "--json")

        assert plain.code == as_json.code == 0
        assert plain.stdout == " [2Jforeign\n"
        assert {"message": "\x1b[2Jforeign"} in as_json.lines


class TestDoctor:
    def test_a_good_deployment_has_no_failing_check(self, shell: CommandLine, server: EmbeddedServer) -> None:
        ended = shell.run("doctor", "--json")

        assert ended.code == 0
        assert all(each.keys() == {"check", "state", "detail", "advice"} for each in ended.lines)
        states = {each["check"]: each["state"] for each in ended.lines}
        # Other tests of this module leave dead letters and foreign messages.
        assert {name for name, state in states.items() if state != "ok"} <= {"dead letters", "rejected"}
        assert len(states) == 12

    def test_a_queue_without_workers_fails_and_says_what_to_do(self, empty: CommandLine, settings: Settings) -> None:
        enqueue(settings, "math/add", a=1, b=2)

        ended = empty.run("doctor")

        assert ended.code == 1
        assert "1 call waits and no worker runs" in ended.stdout
        assert "start a worker" in ended.stdout
        assert all(len(line) <= 100 and line == line.rstrip() for line in ended.stdout.splitlines())

    def test_a_redis_that_forgets_is_found_out(self, empty: CommandLine) -> None:
        forgetful = {"appendonly": "no", "maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}
        with EmbeddedServer(password="s3cret", options=forgetful) as server:
            ended = empty.run("doctor", "--json", TOOLRELAY_REDIS_URL=server.url)

        assert ended.code == 1
        states = {each["check"]: each["state"] for each in ended.lines}
        assert (states["persistence"], states["eviction"], states["scripts"]) == ("warn", "fail", "ok")
        assert "s3cret" not in ended.stdout

    @pytest.mark.parametrize(
        ("variables", "check"),
        [({"TOOLRELAY_REDIS_URL": NOWHERE}, "reachable"), ({"TOOLRELAY_LEASE": "soon"}, "settings")],
    )
    def test_what_keeps_it_from_looking_further_is_its_last_line(
        self, empty: CommandLine, variables: dict[str, str], check: str
    ) -> None:
        ended = empty.run("doctor", "--json", **variables)

        assert ended.code == 1
        assert (ended.lines[-1]["check"], ended.lines[-1]["state"]) == (check, "fail")
        assert ended.lines[-1]["advice"]

    def test_a_variable_that_nobody_reads_is_a_warning(self, shell: CommandLine) -> None:
        ended = shell.run("doctor", "--json", TOOLRELAY_LEESE="9", TOOLRELAY_HOME="/nowhere")

        assert ended.code == 0
        (settings,) = [each for each in ended.lines if each["check"] == "settings"]
        assert settings["state"] == "warn"
        assert "no settings: TOOLRELAY_LEESE" in settings["detail"]
        assert settings["advice"] == "TOOLRELAY_LEESE: TOOLRELAY_LEASE is meant?"

    def test_without_a_url_it_looks_at_this_users_server(self, empty: CommandLine, tmp_path: Path) -> None:
        ended = empty.run("doctor", TOOLRELAY_REDIS_URL="", TOOLRELAY_HOME=str(tmp_path / "home"))

        assert ended.code == 0
        assert "this user's embedded server" in ended.stdout


class TestTranslation:
    """Needs no Redis: the one that is named here is none."""

    def test_convert_answers_on_stdout_and_tells_losses_on_stderr(self, empty: CommandLine) -> None:
        message = chat_message(("clock", {"zone": "UTC"}))

        clean = empty.run("convert", "calls", "--to", "anthropic", "-", stdin=message, TOOLRELAY_REDIS_URL=NOWHERE)
        lossy = empty.run("convert", "calls", "--to", "openai", "-", stdin=clean.stdout.replace("clock", "a.b"))
        impossible = empty.run("convert", "calls", "--to", "openai", "-", stdin="{}")

        assert (clean.code, clean.stderr) == (0, "")
        assert (lossy.code, json.loads(lossy.stdout)[0]["tool_calls"][0]["function"]["name"]) == (1, "a_b")
        assert lossy.complaint == "toolrelay: lost: 'a.b': name: it is 'a_b' on the wire"
        assert (impossible.code, impossible.stdout) == (2, "")

    def test_explain_reads_a_stream_from_stdin(self, empty: CommandLine) -> None:
        delta = {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "clock", "arguments": '{"zo'}}]}
        event = json.dumps({"choices": [{"index": 0, "delta": delta}]})

        ended = empty.run("explain", "--json", "-", stdin=f"data: {event}\n\n", TOOLRELAY_REDIS_URL=NOWHERE)

        assert ended.code == 1
        (found,) = ended.lines
        assert (found["form"], found["is_ended"]) == ("stream", False)
        assert found["calls"][0]["problem"]["kind"] == "truncated"

    @pytest.mark.parametrize("module", ["convert", "explain"])
    def test_they_do_not_pay_for_celery(self, module: str) -> None:
        program = f"import sys, toolrelay_worker.cli.{module}; sys.exit('celery' in sys.modules)"

        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


class TestProgram:
    def test_the_example_agent_is_quiet_on_ctrl_c(self, shell: CommandLine) -> None:
        words = [sys.executable, "-m", "examples.agent", "--every", "60"]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, env=shell.variables, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as agent:
            assert agent.stdout is not None
            while '"tool_call_id": "call_3"' not in agent.stdout.readline():
                pass
            agent.send_signal(signal.SIGINT)
            _, complaint = agent.communicate(timeout=10)

        assert (agent.returncode, complaint) == (130, "")

    def test_version_and_help(self, empty: CommandLine) -> None:
        version, usage = empty.run("--version"), empty.run("--help")

        assert version.code == usage.code == 0
        assert version.stdout.startswith("toolrelay ")
        assert "Exit codes: 0 ok; 1" in usage.stdout

    def test_wrong_usage_is_2(self, empty: CommandLine) -> None:
        assert empty.run("dance").code == 2

    def test_a_reader_that_goes_away_gets_no_traceback(self, shell: CommandLine) -> None:
        with shell.start("tools", "--json") as tools:
            assert tools.stdout is not None
            tools.stdout.close()
            assert tools.stderr is not None
            assert tools.stderr.read() == ""
