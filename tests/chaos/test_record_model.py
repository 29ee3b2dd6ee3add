"""The record's state machine on many new paths; what fails prints how to walk that path again."""

from __future__ import annotations

from tests.integration.test_record_model import walk
from toolrelay.embedded import EmbeddedServer


def test_the_record_keeps_every_promise_on_thousands_of_paths(server: EmbeddedServer) -> None:
    walk(server.url, "chaos")
