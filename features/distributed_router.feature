@services @router.md
Feature: What the router promises in one process, the fleet keeps
  The rows of the router's contract that make sense with a broker in between.

  Background:
    Given a fleet

  Scenario Outline: A call in the <format> format
    When the agent enqueues the payload <payload>
    And its result is there
    Then the result is successful with the output "said"
    And the result is for the tool "test/echo" in the <format> format
    And the result's id starts with "tc_"
    And a worker ran it in its first attempt

    Examples:
      | format           | payload                                                                                                             |
      | openai           | {"name": "test/echo", "arguments": "{\"value\": \"said\"}"}                                                         |
      | openai           | {"id": "c1", "type": "function", "function": {"name": "test/echo", "arguments": "{\"value\": \"said\"}"}}           |
      | openai_responses | {"type": "function_call", "call_id": "c1", "name": "test/echo", "arguments": "{\"value\": \"said\"}"}               |
      | anthropic        | {"name": "test/echo", "input": {"value": "said"}}                                                                   |
      | gemini           | {"functionCall": {"name": "test/echo", "args": {"value": "said"}}}                                                  |
      | langchain        | {"name": "test/echo", "args": {"value": "said"}, "id": "c1", "type": "tool_call"}                                   |
      | mcp              | {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "test/echo", "arguments": {"value": "said"}}} |
      | bedrock          | {"toolUse": {"toolUseId": "t1", "name": "test/echo", "input": {"value": "said"}}}                                   |
      | unknown          | {"name": "test/echo", "parameters": {"value": "said"}}                                                              |

  Scenario: The caller's format is used
    When the agent enqueues, as langchain, the payload {"name": "test/echo", "input": {"value": "input"}, "args": {"value": "args"}}
    And its result is there
    Then the result is successful with the output "args"
    And the result is for the tool "test/echo" in the langchain format

  Scenario: An unknown tool
    When the agent enqueues the payload {"name": "test/none", "arguments": "{}"}
    And its result is there
    Then the result is not successful with category not_found
    And the result is for the tool "test/none" in the openai format
    And the call took no worker

  Scenario: A payload without a name is answered, because the model must be told
    When the agent enqueues the payload {"arguments": "{}"}
    And its result is there
    Then the result is not successful with category parse
    And the result is for the tool "" in the openai format
    And the call has the id of call 0 of the plan
    And the call took no worker

  Scenario Outline: A payload that is no dict is refused, and takes no place in the plan: <payload>
    When enqueueing the payload <payload> is tried
    Then it fails with a ValueError that says "must be a dict"
    When the agent enqueues test/mark with {}
    Then the call has the id of call 0 of the plan

    Examples:
      | payload     |
      | null        |
      | "test/echo" |
      | [{}]        |

  Scenario: A tool that raises
    When the agent enqueues bad/raise with {"message": "boom"}
    And its result is there
    Then the result is not successful with category execution
    And the error contains "boom"

  Scenario: A tool that reports failure
    When the agent enqueues bad/outcome with {"error": "Permission denied: cannot write"}
    And its result is there
    Then the result is not successful with category permission

  Scenario Outline: Provider metadata comes back, also from <payload>
    When the agent enqueues, with the provider metadata of its own, the payload <payload>
    And its result is there
    Then the result's provider metadata has {"model": "m-1", "thought_signature": "from the agent"}

    Examples:
      | payload                                                                                                     |
      | {"name": "test/echo", "arguments": "{\"value\": 1}"}                                                        |
      | {"name": "bad/raise", "arguments": "{}"}                                                                    |
      | {"name": "test/none", "arguments": "{}"}                                                                    |
      | {"arguments": "{}"}                                                                                         |
      | {"functionCall": {"name": "test/echo", "args": {"value": 1}}, "thoughtSignature": "from the payload"}       |

  Scenario Outline: A validation tool's verdict <verdict>
    When the agent enqueues check/even with {"number": <number>}
    And its updates are read
    Then their statuses are pending, running, complete
    And the result is successful with the output {"passed": <verdict>}
    And it is a validation result with the verdict <verdict>

    Examples:
      | number | verdict |
      | 2      | true    |
      | 3      | false   |

  Scenario: A validation tool that was given bad arguments
    When the agent enqueues check/even with {"number": "many"}
    And its result is there
    Then the result is not successful with category schema
    And it is a validation result without a verdict
    And the call took no worker
