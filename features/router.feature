@router.md
Feature: Running calls in the agent's own process
  The router gives each call its id, runs the tool and gives back a result that the model can be told.

  Background:
    Given a tool test/echo that gives back its arguments

  Scenario: A plan needs a name
    When a router for the plan "" is tried
    Then it fails with a ValueError that says "plan_id"

  Scenario: The router counts the payloads it accepts
    Given a router for the plan "plan-001"
    Then the router's plan is "plan-001" and its sequence is 0
    When {"name": "test/echo", "arguments": "{}"} is routed
    And {"arguments": "{}"} is routed
    And {"name": "test/none", "arguments": "{}"} is routed
    Then the router's sequence is 3
    And the results have the ids of calls 0, 1, 2 of the plan "plan-001"

  Scenario: A payload that is refused takes no place in the plan
    Given a router for the plan "plan-001"
    When routing "no dict" is tried
    And {"name": "test/echo", "arguments": "{}"} is routed
    Then the router's sequence is 1
    And the results have the ids of calls 0 of the plan "plan-001"

  Scenario Outline: A call in the <format> format
    Given a router for the plan "plan-001"
    When <payload> is routed
    Then the result is successful with the output {"key": "value"}
    And the result is for the tool "test/echo" in the <format> format
    And the result's id starts with "tc_"

    Examples:
      | format              | payload                                                                                                                        |
      | openai              | {"name": "test/echo", "arguments": "{\"key\": \"value\"}"}                                                                     |
      | openai              | {"id": "c1", "type": "function", "function": {"name": "test/echo", "arguments": "{\"key\": \"value\"}"}}                       |
      | openai_responses    | {"type": "function_call", "call_id": "c1", "name": "test/echo", "arguments": "{\"key\": \"value\"}"}                           |
      | anthropic           | {"name": "test/echo", "input": {"key": "value"}}                                                                               |
      | anthropic           | {"type": "tool_use", "id": "t1", "name": "test/echo", "input": {"key": "value"}}                                               |
      | gemini              | {"functionCall": {"name": "test/echo", "args": {"key": "value"}}}                                                              |
      | langchain           | {"name": "test/echo", "args": {"key": "value"}, "id": "c1", "type": "tool_call"}                                               |
      | mcp                 | {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "test/echo", "arguments": {"key": "value"}}}            |
      | bedrock             | {"toolUse": {"toolUseId": "t1", "name": "test/echo", "input": {"key": "value"}}}                                               |
      | unknown             | {"name": "test/echo", "parameters": {"key": "value"}}                                                                          |

  Scenario: The caller's format is used
    Given a router for the plan "plan-001"
    When {"name": "test/echo", "input": {"from": "input"}, "args": {"from": "args"}} is routed as langchain
    Then the result is successful with the output {"from": "args"}
    And the result is for the tool "test/echo" in the langchain format

  Scenario: An unknown tool
    Given a router for the plan "plan-001"
    When {"name": "test/none", "arguments": "{}"} is routed
    Then the result is not successful with category not_found
    And the result is for the tool "test/none" in the openai format

  Scenario: A payload without a name is answered, because the model must be told
    Given a router for the plan "plan-001"
    When {"arguments": "{}"} is routed
    Then the result is not successful with category parse
    And the result is for the tool "" in the openai format
    And the results have the ids of calls 0 of the plan "plan-001"

  Scenario Outline: A payload that is no dict: <payload>
    Given a router for the plan "plan-001"
    When routing <payload> is tried
    Then it fails with a ValueError that says "payload must be a dict"

    Examples:
      | payload     |
      | null        |
      | "test/echo" |
      | [{}]        |

  Scenario: A tool that raises
    Given a tool test/boom that raises RuntimeError("boom")
    And a router for the plan "plan-001"
    When {"name": "test/boom", "arguments": "{}"} is routed
    Then the result is not successful with category execution
    And the error contains "boom"

  Scenario: A tool that reports failure
    Given a tool test/fail that reports the failure "Permission denied: cannot write"
    And a router for the plan "plan-001"
    When {"name": "test/fail", "arguments": "{}"} is routed
    Then the result is not successful with category permission

  Scenario Outline: Provider metadata comes back, also from <payload>
    Given a tool test/boom that raises RuntimeError("boom")
    And a router for the plan "plan-001"
    When <payload> is routed with the provider metadata {"model": "m-1", "trace": [1, 2]}
    Then the result's provider metadata has {"model": "m-1", "trace": [1, 2]}

    Examples:
      | payload                                  |
      | {"name": "test/echo", "arguments": "{}"} |
      | {"name": "test/boom", "arguments": "{}"} |
      | {"name": "test/none", "arguments": "{}"} |
      | {"arguments": "{}"}                      |

  Scenario: The caller's metadata wins over the payload's
    Given a router for the plan "plan-001"
    When {"functionCall": {"name": "test/echo", "args": {}}, "thoughtSignature": "from the payload"} is routed
    Then the result's provider metadata has {"thought_signature": "from the payload"}
    When {"functionCall": {"name": "test/echo", "args": {}}, "thoughtSignature": "from the payload"} is routed with the provider metadata {"thought_signature": "from the caller"}
    Then the result's provider metadata has {"thought_signature": "from the caller"}

  Scenario Outline: A validation tool's verdict <verdict>
    Given a validation tool test/check that returns {"passed": <verdict>} as a value
    And a router for the plan "plan-001"
    When {"name": "test/check", "arguments": "{}"} is routed
    Then the result is successful with the output {"passed": <verdict>}
    And it is a validation result with the verdict <verdict>

    Examples:
      | verdict |
      | true    |
      | false   |

  Scenario: A batch gives its results in order, whatever became of each
    Given a tool test/boom that raises RuntimeError("boom")
    And a router for the plan "plan-001"
    When this batch is routed
      | payload                                              |
      | {"name": "test/echo", "arguments": "{\"n\": 1}"}     |
      | {"name": "test/boom", "input": {}}                   |
      | {"arguments": "{}"}                                  |
      | {"name": "test/none", "args": {}}                    |
      | {"name": "test/echo", "arguments": "{\"n\": 2}"}     |
    Then the batch's results are
      | tool      | success | category  |
      | test/echo | true    | null      |
      | test/boom | false   | execution |
      |           | false   | parse     |
      | test/none | false   | not_found |
      | test/echo | true    | null      |
    And the results have the ids of calls 0, 1, 2, 3, 4 of the plan "plan-001"
    And the tools test/echo, test/boom, test/echo ran in this order

  Scenario: An empty batch
    Given a router for the plan "plan-001"
    When an empty batch is routed
    Then there are no results

  Scenario Outline: A batch is a list, and not <what>
    Given a router for the plan "plan-001"
    When routing a batch that is <what> is tried
    Then it fails with a ValueError that says "list"

    Examples:
      | what    |
      | a tuple |
      | a dict  |
      | text    |
      | nothing |

  Scenario: A batch with an item that is no dict runs nothing
    Given a router for the plan "plan-001"
    When routing the batch [{"name": "test/echo", "arguments": "{}"}, {"name": "test/echo", "arguments": "{}"}, 7] is tried
    Then it fails with a ValueError that says "payload must be a dict"
    And it fails with a ValueError that says "2"
    And no tool ran
    And the router's sequence is 0

  Scenario: Updates of a call
    Given a router for the plan "plan-001"
    When the updates of {"name": "test/echo", "arguments": "{\"key\": \"value\"}"} are read
    Then their statuses are pending, running, complete
    And only the last update is terminal and carries a result
    And the result is successful with the output {"key": "value"}

  Scenario: Updates come when things happen
    Given a tool test/steps that says how far it is and then waits
    And a router for the plan "plan-001"
    When the updates of {"name": "test/steps", "arguments": "{}"} are read one by one
    Then the tool has not been called when pending and running are there
    And its progress is there while the tool still waits
    And once it may go on, the last update is complete

  Scenario: Updates of a tool that reports failure
    Given a tool test/fail that reports the failure "no more coffee"
    And a router for the plan "plan-001"
    When the updates of {"name": "test/fail", "arguments": "{}"} are read
    Then their statuses are pending, running, complete
    And only the last update is terminal and carries a result
    And the result is not successful with category execution

  Scenario: Updates of a tool that raises
    Given a tool test/boom that raises RuntimeError("boom")
    And a router for the plan "plan-001"
    When the updates of {"name": "test/boom", "arguments": "{}"} are read
    Then their statuses are pending, running, error
    And only the last update is terminal and carries a result
    And the result is not successful with category execution

  Scenario Outline: Updates of a call that cannot be run: <payload>
    Given a router for the plan "plan-001"
    When the updates of <payload> are read
    Then their statuses are pending, error
    And only the last update is terminal and carries a result
    And the result is not successful with category <category>
    And no tool ran

    Examples:
      | payload                                  | category  |
      | {"arguments": "{}"}                      | parse     |
      | {"name": "test/none", "arguments": "{}"} | not_found |

  Scenario: Updates of what is no dict are refused by the call itself
    Given a router for the plan "plan-001"
    When asking for the updates of "test/echo" is tried
    Then it fails with a ValueError that says "payload must be a dict"

  Scenario: Updates of a validation tool
    Given a validation tool test/check that returns {"passed": false} as a value
    And a router for the plan "plan-001"
    When the updates of {"name": "test/check", "arguments": "{}"} are read
    Then their statuses are pending, running, complete
    And it is a validation result with the verdict false

  Scenario Outline: Definitions for <provider>
    Given a validation tool test/check with the output schema {"mode": "strict"} that returns {"passed": true}
    And a validation tool test/plain that returns {"passed": true} as a value
    And a validation tool test/odd with the output schema {"mode": 3} that returns {"passed": true}
    And a router for the plan "plan-001"
    When the router's definitions for <provider> are asked for
    Then each of them is the tool's flat definition for <provider> with its tool_type
    And the definitions are
      | name       | tool_type  | mode   |
      | test/echo  | tool       |        |
      | test/check | validation | strict |
      | test/plain | validation |        |
      | test/odd   | validation |        |

    Examples:
      | provider  |
      | openai    |
      | langchain |
      | anthropic |
