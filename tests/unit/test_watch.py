"""What a process knows of one call, in the order in which others may see it."""

from __future__ import annotations

import pytest

from toolrelay.models import CallStatus, NormalizedToolResult, StatusUpdate
from toolrelay.protocol.replies import Snapshot
from toolrelay.waiter import Watch

RESULT = NormalizedToolResult(tool_call_id="tc", tool_name="math/add", success=True, output=3)
END = StatusUpdate(tool_call_id="tc", seq=1, status=CallStatus.COMPLETE, result=RESULT)


@pytest.mark.parametrize("is_pushed", [True, False], ids=["pushed", "read"])
def test_who_hears_of_the_end_can_have_the_result_at_once(is_pushed: bool) -> None:
    watch = Watch("tc")
    had: list[NormalizedToolResult] = []
    watch.subscribe(lambda _: had.append(watch.future.result(timeout=0)))

    if is_pushed:
        watch.apply(END)
    else:
        watch.catch_up(Snapshot(CallStatus.COMPLETE, 1, (END,)))

    assert had == [RESULT]
