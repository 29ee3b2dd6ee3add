from tests.support.workers import Workers
from toolrelay.producer import Producer


def test_a_call_runs_on_a_worker_process_and_its_result_comes_back(relay: Producer, workers: Workers) -> None:
    (worker,) = workers.start()

    result = relay.enqueue({"name": "math/add", "arguments": {"a": 1, "b": 2}}).result(timeout=10)

    assert result.output == 3
    assert str(result.worker).endswith(f":{worker.pid}")
    assert workers.all[0].stop() == 0
