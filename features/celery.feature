@services @design-3
Feature: To Celery's own tools a tool call is a normal task
  Its id is the task's id, its result the task's value, and whoever traces or monitors tasks sees it.

  Scenario: A stock AsyncResult gives the result
    Given a fleet
    And a stock Celery app on the same Redis
    When the agent enqueues math/add with {"a": 19, "b": 23}
    And the stock app waits for the task with the call's id
    Then Celery's state of it is SUCCESS
    And its value is the tool result with {"success": true, "output": 42, "tool_name": "math/add", "attempt": 1}

  Scenario Outline: A tool's failure is a value, not a failed task: <that>
    Given a fleet
    And a stock Celery app on the same Redis
    When the agent enqueues <call>
    And the stock app waits for the task with the call's id
    Then Celery's state of it is SUCCESS
    And its value is the tool result with {"success": false, "output": null, "error_category": "<category>"}

    Examples:
      | that           | call                                             | category   |
      | raised         | bad/raise with {"message": "boom"}               | execution  |
      | reported       | bad/outcome with {"error": "Permission denied"}  | permission |
      | over its limit | slow/limited with {"seconds": 0.8}               | timeout    |
      | no such tool   | no/such_tool with {}                             | not_found  |

  Scenario: A cancelled call is a revoked task
    Given a fleet
    And a stock Celery app on the same Redis
    When the agent enqueues slow/async with {"seconds": 30}
    And the call has been started
    And the call is cancelled
    And the stock app waits for the task with the call's id
    Then Celery's state of it is REVOKED
    And it fails as Celery fails for a revoked task

  @own_workers
  Scenario: A call that was lost with its worker is a failed task
    Given a fleet of 2 workers
    And a stock Celery app on the same Redis
    And an agent has enqueued slow/once with {"seconds": 30}
    When the call has been started
    And the worker that runs the call is killed
    And the stock app waits for the task with the call's id
    Then Celery's state of it is FAILURE
    And it fails as Celery fails for a lost worker

  @own_workers @design-4
  Scenario: The publishing signals are sent once a call
    Given a fleet whose workers have not started yet
    And somebody who listens to Celery's publishing signals
    When the agent enqueues math/add with {"a": 1, "b": 2}
    Then the signals were, once each, before_task_publish, after_task_publish
    And what they added to the headers travels with the message

  @own_workers @design-4
  Scenario: A call that only attaches publishes nothing, and leaves no trace open
    Given a fleet whose workers have not started yet
    And an agent has enqueued math/add with {"a": 1, "b": 2}
    And somebody who listens to Celery's publishing signals
    When another agent enqueues, as call 0 of the same plan, math/add with {"a": 1, "b": 2}
    Then the signals were, once each, before_task_publish, after_task_publish
    And the queue holds 1 message

  @design-2
  Scenario: Nothing is published for a call that cannot be run
    Given a fleet
    And somebody who listens to Celery's publishing signals
    When the agent enqueues no/such_tool with {}
    Then no before_task_publish was sent
    And no after_task_publish was sent
