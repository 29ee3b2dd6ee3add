"""The index and the files of the payload corpus are the same: none was lost, and none is read by nobody."""

from __future__ import annotations

import json

from tests.unit.payloads import INDEX, files_on_disk, format_of, load, load_events

#: payloads there have been; a new one needs no entry here, and none may go
AT_LEAST = {
    "openai_chat": 22,
    "openai_responses": 23,
    "anthropic": 23,
    "gemini": 13,
    "gemini_interactions": 3,
    "langchain": 4,
    "mcp": 11,
}


def test_every_file_is_in_the_index_and_every_entry_has_its_files() -> None:
    named = [name for entry in INDEX for name in (entry["file"], entry["expected"])]

    assert sorted([*named, "index.json"]) == sorted(files_on_disk())


def test_no_payload_was_lost() -> None:
    counted = {provider: sum(entry["provider"] == provider for entry in INDEX) for provider in AT_LEAST}

    assert {provider: count for provider, count in counted.items() if count < AT_LEAST[provider]} == {}


def test_an_entry_says_what_the_tests_read_of_it() -> None:
    for entry in INDEX:
        assert entry.keys() >= {"file", "expected", "provider", "form", "calls", "server_side"}
        assert entry["file"].startswith(f"{entry['provider']}/")
        assert entry["form"] in ("whole", "stream")
        assert format_of(entry)
        assert len(load(entry["expected"])) == entry["calls"]
        json.dumps(load(entry["file"]) if entry["form"] == "whole" else load_events(entry["file"]))
