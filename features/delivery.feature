@services @design-4
Feature: An accepted call reaches one terminal state
  Whatever becomes of its worker and its message, a call that was accepted ends, once, and is not started after its end.

  @own_workers
  Scenario: Its worker is killed
    Given a fleet of 1 worker
    And an agent has enqueued slow/sync with {"seconds": 1}
    And an agent has enqueued slow/async with {"seconds": 1}
    When each call has been started
    And the worker that runs the calls is killed
    And 1 more worker is started
    Then the call is finished within 6 seconds and the lease
    And each call was started 2 times and has ended once
    When its updates are read
    Then their statuses are pending, running, pending, running, complete
    And an update back to pending says "worker_lost"
    And the result is successful with the output "slept"

  @own_workers
  Scenario: A worker is stopped for longer than its lease, and continued: it cannot overwrite
    Given a fleet of 1 worker
    And an agent has enqueued slow/sync with {"seconds": 0.5}
    When the call has been started
    And the worker that runs the call is stopped in its tracks
    And 1 more worker is started
    And another worker runs the call to its end
    And the stopped worker comes back and its tool returns too
    Then the worker that came back serves other calls
    And what is stored of the call has not changed

  @own_workers
  Scenario: The late word of a worker that lost its lease is refused while another runs the call
    Given a fleet of 1 worker
    And an agent has enqueued slow/async with {"seconds": 30}
    When the call has been started
    And the worker that runs the call is killed
    And 1 more worker is started
    And the tool is started again
    And the worker of its first attempt says at last that it is complete
    Then it is told that the call is no longer its own
    And the call is running, for whoever asks
    And what is stored of the call has not changed

  Scenario: The late word of an earlier attempt is refused after the end
    Given a fleet
    And an agent has enqueued retry/key with {"seconds": 0}
    And its result is there
    When the worker of its first attempt says at last that it is complete
    Then it is told that the call has ended
    And what is stored of the call has not changed

  @own_workers
  Scenario: Redis closes the connections on which its worker only listens
    Given a fleet of 1 worker
    When every connection that listens is cut
    And the agent enqueues slow/sync with {"seconds": 0}
    And its result is there
    Then the result is successful with the output "slept"
    And the tool was started 1 time

  @own_workers
  Scenario: Its message is lost from the queue
    Given a fleet whose workers have not started yet
    And an agent has enqueued slow/sync with {"seconds": 0}
    When its message is lost from the queue
    And 1 more worker is started
    And its result is there
    Then the result is successful with the output "slept"
    And the tool was started 1 time

  @own_workers
  Scenario: Its message comes four times, and once more after its end
    Given a fleet whose workers have not started yet
    And an agent has enqueued slow/sync with {"seconds": 0.3}
    When its message is put into the queue 3 more times
    And 1 more worker is started
    And its message comes once more after its end
    And its 5 messages have been dealt with
    Then the tool was started 1 time
    And what is stored of the call has not changed

  @own_workers
  Scenario: A call that is cancelled while it waits is never started
    Given a fleet whose workers have not started yet
    And an agent has enqueued slow/sync with {"seconds": 0}
    When the call is cancelled
    Then cancelling answers cancelled
    When 1 more worker is started
    And its 1 message has been dealt with
    And its result is there
    Then the result is not successful with category cancelled
    And the tool was never started
    And the call is cancelled, for whoever asks
