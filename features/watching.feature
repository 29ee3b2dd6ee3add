@services @design-4
Feature: Whoever watches a call sees its end, and no gap without being told
  Anyone may watch any call by its id, from any process, at any time.

  @design-3
  Scenario Outline: Statuses of a call <that>
    Given a fleet
    When the agent enqueues <call>
    And its updates are read
    Then their statuses are <statuses>
    And they are numbered from 1 without a gap
    And their times never go back
    And only the last update is terminal and carries a result

    Examples:
      | that                        | call                                      | statuses                                     |
      | that succeeds               | math/add with {"a": 1, "b": 2}            | pending, running, complete                   |
      | whose tool reports failure  | bad/outcome with {"error": "no coffee"}   | pending, running, complete                   |
      | whose tool raises           | bad/raise with {}                         | pending, running, error                      |
      | that runs into its limit    | slow/limited with {"seconds": 0.8}        | pending, running, error                      |
      | whose tool asks for another | retry/asked with {}                       | pending, running, pending, running, complete |
      | that cannot be run          | no/such_tool with {}                      | pending, error                               |

  @design-3
  Scenario: Output that a tool gives before it ends
    Given a fleet
    When the agent enqueues test/partial with {"pieces": 5}
    And its updates are read
    Then the pieces 0 to 4 of its output came in order, between running and complete
    And they are numbered from 1 without a gap

  @design-3
  Scenario: How far a tool is
    Given a fleet
    When the agent enqueues test/progress with {"steps": 20}
    And its updates are read
    Then their statuses, progress left out, are pending, running, complete
    And its last progress is 20 of 20
    And they are numbered from 1 without a gap

  Scenario: A call that is cancelled while it runs
    Given a fleet
    When the agent enqueues slow/async with {"seconds": 30}
    And the call has been started
    And the call is cancelled
    Then cancelling answers requested
    When its updates are read
    Then their statuses are pending, running, cancelled
    And the result is not successful with category cancelled

  Scenario: Somebody joins while the call runs
    Given a fleet
    When the agent enqueues slow/async with {"seconds": 0.3}
    And the call has been started
    And another agent reads its updates
    Then their statuses are pending, running, complete
    And only the last update is terminal and carries a result

  Scenario: Somebody comes when all is over
    Given a fleet
    When the agent enqueues slow/async with {"seconds": 0}
    And its result is there
    And another agent reads its updates
    Then their statuses are pending, running, complete
    And only the last update is terminal and carries a result

  @own_workers
  Scenario: The connection is lost while the call ends
    Given a fleet of 1 worker
    When the agent enqueues slow/async with {"seconds": 0.3}
    And the agent begins to read its updates
    And the agent's connection is cut, again and again, until the call has ended
    Then the agent sees the rest of its updates
    And their statuses are pending, running, complete
    And only the last update is terminal and carries a result

  Scenario: More updates than are kept
    Given a fleet
    When the agent enqueues test/partial with {"pieces": 400}
    And its result is there
    And another agent reads its updates
    Then the first of them says that 147 before it were dropped
    And with those, the last update is number 403
    And the result is successful with the output 400

  @design-5
  Scenario: A wait that ends does not end the call
    Given a fleet
    When the agent enqueues slow/async with {"seconds": 0.4}
    And the agent waits 0.05 seconds for the result
    Then it is told that the call goes on
    When its result is there
    Then the result is successful with the output "slept"

  @design-3
  Scenario Outline: The <what> of a call that nobody enqueued
    Given a fleet
    And a call that was never enqueued
    When somebody asks for its <what>
    Then it is unknown

    Examples:
      | what    |
      | status  |
      | result  |
      | updates |

  @design-3
  Scenario: A call that is forgotten is unknown, not pending
    Given a fleet
    And a call whose record has expired
    When somebody asks for its status
    Then it is unknown

  @design-3
  Scenario: Any language can subscribe
    Given a fleet
    And a plain Redis client that subscribes to the channel of call 0 of the plan
    When the agent enqueues math/add with {"a": 20, "b": 22}
    And the client has heard of the call's end
    Then every message is a JSON object with ["tool_call_id", "seq", "status", "at"]
    And their numbers and statuses are
      | seq | status   |
      | 1   | pending  |
      | 2   | running  |
      | 3   | complete |
    And only the last has a result, whose output is 42
    And they are what an agent reads as updates

  @design-5
  Scenario: An agent on an event loop
    Given a fleet
    When an agent on an event loop enqueues slow/async with {"seconds": 0.1} and watches it
    Then their statuses are pending, running, complete
    And only the last update is terminal and carries a result
    And the result is successful with the output "slept"
