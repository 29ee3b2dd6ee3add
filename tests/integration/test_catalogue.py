"""How often a producer asks for the tools on offer."""

from __future__ import annotations

import pytest
from tests.conftest import deployment

from toolrelay import session
from toolrelay.embedded import EmbeddedServer
from toolrelay.models import ExecutionPolicy, ToolSpec
from toolrelay.producer import Producer
from toolrelay.protocol.replies import CatalogueEntry
from toolrelay.session import close_session


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        pytest.param({"name": "add"}, 1, id="offered in its namespace"),
        pytest.param({"name": "math/add"}, 1, id="by its own name"),
        pytest.param({"name": "subtract"}, 3, id="not offered: a worker may have come"),
    ],
)
def test_the_catalogue_is_read_again_only_for_a_tool_that_is_not_in_it(
    call: dict[str, str], asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_CATALOGUE_YOUNG_SECONDS", -1.0)
    with EmbeddedServer() as server, Producer("plan", settings=(settings := deployment(server.url))) as relay:
        opened = session.open_session(settings)
        offer = CatalogueEntry(ToolSpec("math/add", "Add.", {"type": "object"}), ExecutionPolicy())
        opened.driver.run_all(opened.commands.publish_catalogue([offer], 1))
        opened.driver.redis.config_resetstat()
        for _ in range(3):
            relay.enqueue({**call, "arguments": "{}"}, provider_metadata={"namespace": "math"})

        assert opened.driver.redis.info("commandstats")["cmdstat_hgetall"]["calls"] == asked
    close_session(settings)
