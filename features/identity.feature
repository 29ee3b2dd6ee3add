@services @design-4
Feature: The same place in a plan is the same call
  A call's identity is its plan and its place in the plan. Whoever asks for it again attaches to the call that runs, or
  gets the result that is stored; what the provider calls it is only echoed.

  Background:
    Given a fleet

  @design-6
  Scenario: Ids follow from the plan alone
    When the agent enqueues test/mark with {}
    And the agent enqueues test/mark with {}
    And every result is there
    Then the calls have the ids of calls 0, 1 of the plan
    And 2 runs left the effect mark

  Scenario: Asked for again while it runs, it is the call that runs
    When the agent enqueues, as call 0 of its plan, slow/async with {"seconds": 0.5}
    And the call has been started
    And another agent enqueues, as call 0 of the same plan, slow/async with {"seconds": 0.5}
    Then both agents have the same call and the same result
    And the tool was started 1 time

  Scenario: Asked for again after its end, it is the stored result
    When the agent enqueues, as call 0 of its plan, test/mark with {"word": "once"}
    And its result is there
    And another agent enqueues, as call 0 of the same plan, test/mark with {"word": "once"}
    Then the other agent has the stored result at once
    And 1 run left the effect once

  Scenario: The order in which the arguments stand makes no other call
    When the agent enqueues, as call 0 of its plan, math/add with {"a": 1, "b": 2}
    And its result is there
    And another agent enqueues, as call 0 of the same plan, math/add with {"b": 2, "a": 1}
    Then the other agent has the stored result at once

  Scenario Outline: In the same place, <what> is a conflict
    When the agent enqueues, as call 0 of its plan, math/add with {"a": 1, "b": 2}
    And its result is there
    And another agent tries to enqueue, as call 0 of the same plan, <call>
    Then it is refused as a conflict that says "plan_id"
    And the first call's result is still 3

    Examples:
      | what                       | call                                    |
      | a call with another value  | math/add with {"a": 1, "b": 3}          |
      | a call with another member | math/add with {"a": 1, "b": 2, "c": 0}  |
      | a call of another tool     | test/mark with {"a": 1, "b": 2}         |

  Scenario: The same place in another plan is another call
    When the agent enqueues test/mark with {"word": "twice"}
    And an agent with another plan enqueues test/mark with {"word": "twice"}
    And every result is there
    Then the calls have ids of their own
    And 2 runs left the effect twice

  Scenario Outline: An agent is killed after <turns> turns of its plan, and replays it
    Given an agent process that has taken <turns> of the 3 turns of its plan
    When the agent process is killed, started again and replays its whole plan
    Then it was answered as before, and then went on
    And each tool of the plan ran once

    Examples:
      | turns |
      | 2     |

  @design-6
  Scenario: A provider's id that comes again is another call, and echoed
    Given a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"role": "assistant", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "math_add", "arguments": "{\"a\": 1, \"b\": 2}"}}]}
      """
    Then the next messages are
      """
      [{"role": "tool", "tool_call_id": "call_1", "content": "3"}]
      """
    When the agent submits the model's message
      """
      {"role": "assistant", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "math_add", "arguments": "{\"a\": 3, \"b\": 4}"}}]}
      """
    Then the next messages are
      """
      [{"role": "tool", "tool_call_id": "call_1", "content": "7"}]
      """
    And the call has the id of call 1 of the plan
