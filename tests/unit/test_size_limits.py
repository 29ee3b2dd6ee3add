"""Arguments and outputs are measured as JSON in UTF-8, whatever they are stored as."""

from __future__ import annotations

import pytest

from toolrelay.admission import admit
from toolrelay.models import CallStatus, NormalizedToolRequest
from toolrelay.settings import Settings
from toolrelay_worker.execution import Outcome
from toolrelay_worker.process import WorkerProcess
from toolrelay_worker.registry import ToolRegistry

#: as JSON {"t":"…"} or "…" in UTF-8, and what that takes in bytes
TEXTS = [
    pytest.param("x" * 90, 90, id="ASCII"),
    pytest.param("\u0434" * 45, 90, id="two bytes a sign, six as an escape"),
    pytest.param("\U0001f600" * 22, 88, id="four bytes a sign, twelve as escapes"),
]


@pytest.mark.parametrize(("text", "size"), TEXTS)
@pytest.mark.parametrize("room", [0, -1])
def test_arguments_are_refused_only_above_their_limit(text: str, size: int, room: int) -> None:
    request = NormalizedToolRequest(tool_call_id="tc", tool_name="t", arguments={"t": text})

    admission = admit(request, {}, max_arguments_bytes=size + len('{"t":""}') + room)

    assert (admission.refusal is None) is (room == 0)


@pytest.mark.parametrize(("text", "size"), TEXTS)
@pytest.mark.parametrize("room", [0, -1])
def test_an_output_is_refused_only_above_its_limit(text: str, size: int, room: int) -> None:
    settings = Settings.load(max_output_bytes=size + len('""') + room)
    process = WorkerProcess(settings, "redis://nobody.invalid", ToolRegistry(), on_unfit=print)

    outcome, _ = process._within_limit(Outcome(CallStatus.COMPLETE, True, text))

    assert outcome.success is (room == 0)
