"""Whether anybody takes the calls that somebody is about to wait for."""

from __future__ import annotations

from collections.abc import Sequence

from toolrelay.models import NormalizedToolRequest
from toolrelay.protocol.replies import Standing
from toolrelay.resolution import candidate_names
from toolrelay.session import Session
from toolrelay_worker.cli.health import heartbeats, trouble_of


def why_nobody_takes(session: Session, requests: Sequence[NormalizedToolRequest]) -> str | None:
    """Say what to do when no worker that runs offers the tool of a call that is open; ``None`` when all is well."""
    states = heartbeats(session.settings, session.url).values()
    offered = {name for state in states if trouble_of(state) is None for name in state["tools"]}
    left = [request for request in requests if offered.isdisjoint(candidate_names(request))]
    if not left:
        return None
    standings: list[Standing | None] = session.driver.run_all(
        [session.commands.standing(str(request.tool_call_id)) for request in left]
    )
    names = {each.tool_name: None for each in standings if each is not None and not each.status.is_terminal}
    if not names:
        return None
    what = ", ".join(names) if offered else "this deployment's calls"
    return f"no worker takes {what} now; start one: toolrelay worker --tools MODULE; see toolrelay doctor"
