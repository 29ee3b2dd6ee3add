@services @design-4
Feature: A tool whose effect must not repeat is never started twice; others are, up to a limit
  What becomes of a call whose worker is lost is the tool's own choice. A call that is given up is kept as a dead letter.

  @own_workers
  Scenario: The worker of a tool with on_lost="fail" is killed
    Given a fleet of 2 workers
    And an agent has enqueued slow/once with {"seconds": 30}
    When the call has been started
    And the worker that runs the call is killed
    And its result is there
    Then it was lost with its worker
    And a worker is still there and serves other calls
    And the tool was started 1 time
    And the call is a dead letter

  @own_workers
  Scenario: A call that kills every worker it meets is given up after max_attempts
    Given a fleet of 3 workers
    And an agent has enqueued bad/poison with {}
    When its result is there
    Then it was lost with its worker
    And the tool was started 2 times
    And the attempts ran in 2 processes
    And the call is a dead letter
    And a worker is still there and serves other calls

  @own_workers
  Scenario: An operator replays a dead letter once its cause is mended
    Given a fleet of 1 worker
    And an agent has enqueued retry/mended with {}
    When its result is there
    Then the result is not successful with category timeout
    And the tool was started 2 times
    And the call is a dead letter
    When whatever the tool waited for is mended
    And an operator replays the call
    Then the replay answers ok
    And the call is no dead letter
    When another agent enqueues, as call 0 of the same plan, retry/mended with {}
    And another agent reads its updates
    Then the result is successful with the output "mended"
    And the tool was started 3 times
    And their statuses, from number 6 on, are pending, running, complete
    And the first of them says that 5 before it were dropped

  Scenario: What is no dead letter is not replayed
    Given a fleet
    And an agent has enqueued test/mark with {"word": "once"}
    And its result is there
    When an operator replays the call
    Then the replay answers not_dead
    And 1 run left the effect once
