@services @design-4
Feature: Every tool can pass an idempotency key on
  The key is the call's own id, so it is the same in every attempt, whichever worker makes it, and in a replayed plan.

  Scenario: A tool that is tried again is given the same key
    Given a fleet
    When the agent enqueues retry/key with {"seconds": 0}
    And its result is there
    Then every attempt, 3 in all, was given the call's id as its idempotency key
    And the call has the id of call 0 of the plan

  @own_workers
  Scenario: A tool that is started again by another worker is given the same key
    Given a fleet of 1 worker
    And an agent has enqueued retry/key with {"seconds": 30}
    When the call has been started
    And the worker that runs the call is killed
    And 1 more worker is started
    And its result is there
    Then every attempt, 3 in all, was given the call's id as its idempotency key
    And the attempts ran in 2 processes

  Scenario: Two calls never share a key
    Given a fleet
    When the agent enqueues retry/key with {"seconds": 0}
    And the agent enqueues retry/key with {"seconds": 0}
    And every result is there
    Then the calls have ids of their own
    And every attempt, 3 in all, was given the call's id as its idempotency key
