@router.md
Feature: Reading one tool call
  Whatever the provider, a call becomes a tool's name and its arguments as a dict.

  Scenario Outline: A <format> call with its arguments under <key>
    Given the payload <payload>
    When the call is read
    Then it asks for the tool test/echo
    And its arguments are {"key": "value"}
    And its provider format is <format>

    Examples:
      | format    | key       | payload                                                              |
      | openai    | arguments | {"name": "test/echo", "arguments": "{\"key\": \"value\"}"}           |
      | openai    | arguments | {"name": "test/echo", "arguments": {"key": "value"}}                 |
      | anthropic | input     | {"name": "test/echo", "input": {"key": "value"}}                     |
      | langchain | args      | {"name": "test/echo", "args": {"key": "value"}}                      |
      | langchain | args      | {"name": "test/echo", "type": "tool_call", "args": {"key": "value"}} |

  Scenario Outline: A call without arguments means an empty dict: <payload>
    Given the payload <payload>
    When the call is read
    Then it asks for the tool test/echo
    And its arguments are {}
    And its provider format is <format>

    Examples:
      | payload                                                  | format    |
      | {"name": "test/echo", "arguments": ""}                   | openai    |
      | {"name": "test/echo", "arguments": null}                 | openai    |
      | {"name": "test/echo", "type": "function"}                | openai    |
      | {"name": "test/echo", "input": ""}                       | anthropic |
      | {"name": "test/echo", "input": null}                     | anthropic |
      | {"name": "test/echo", "type": "tool_use"}                | anthropic |
      | {"name": "test/echo", "args": ""}                        | langchain |
      | {"name": "test/echo", "args": null}                      | langchain |
      | {"name": "test/echo", "type": "tool_call"}               | langchain |
      | {"name": "test/echo"}                                    | unknown   |

  Scenario Outline: Arguments that are no object: <payload>
    Given the payload <payload>
    When reading the call is tried
    Then it fails as an invalid call that says "must be a dict"

    Examples:
      | payload                                                     |
      | {"name": "test/echo", "args": ["value"]}                    |
      | {"name": "test/echo", "arguments": "[1]"}                   |
      | {"name": "test/echo", "arguments": [1]}                     |
      | {"name": "test/echo", "arguments": "7"}                     |
      | {"name": "test/echo", "input": [1]}                         |
      | {"name": "test/echo", "input": "[1]"}                       |

  Scenario Outline: Arguments that cannot be read without inventing something: <payload>
    Given the payload <payload>
    When reading the call is tried
    Then it fails as an invalid call that says "parse error"

    Examples:
      | payload                                                      |
      | {"name": "test/echo", "arguments": "call it with key=value"} |
      | {"name": "test/echo", "arguments": "{\"key\": "}             |
      | {"name": "test/echo", "arguments": "{\"a\": NaN}"}           |

  Scenario: Arguments that are only written badly are repaired, and it is recorded
    Given the payload {"name": "test/echo", "arguments": "{'key': 'value'}"}
    When the call is read
    Then its arguments are {"key": "value"}
    And a repair is recorded

  Scenario Outline: A call without a tool's name: <payload>
    Given the payload <payload>
    When reading the call is tried
    Then it fails as an invalid call that says "name"

    Examples:
      | payload                              |
      | {"arguments": "{}"}                  |
      | {"name": "", "arguments": "{}"}      |
      | {"name": null, "input": {}}          |
      | {"name": 7, "args": {}}              |

  Scenario Outline: What is not a dict is no call: <payload>
    Given the payload <payload>
    When reading the call is tried
    Then it fails as an invalid call that says "dict"

    Examples:
      | payload         |
      | null            |
      | "test/echo"     |
      | [{"name": "a"}] |

  Scenario Outline: In an unknown format the arguments stand under <key>
    Given the payload <payload>
    When the call is read as unknown
    Then its arguments are {"x": 1}
    And its provider format is unknown

    Examples:
      | key                         | payload                                                                                              |
      | parameters                  | {"name": "test/echo", "parameters": {"x": 1}}                                                        |
      | parameters, as text         | {"name": "test/echo", "parameters": "{\"x\": 1}"}                                                    |
      | arguments before parameters | {"name": "test/echo", "args": {"x": 4}, "input": {"x": 3}, "parameters": {"x": 2}, "arguments": {"x": 1}} |
      | parameters before input     | {"name": "test/echo", "args": {"x": 3}, "input": {"x": 2}, "parameters": {"x": 1}}                   |
      | input before args           | {"name": "test/echo", "args": {"x": 2}, "input": {"x": 1}}                                           |
      | a later key when one is bad | {"name": "test/echo", "arguments": "key=value", "parameters": {"x": 1}}                              |
      | a later key when two are bad | {"name": "test/echo", "arguments": "key=value", "parameters": [1], "args": "{\"x\": 1}"}            |

  Scenario: An unknown format without any of the usual keys has no arguments
    Given the payload {"name": "test/echo", "values": {"x": 1}}
    When the call is read
    Then its arguments are {}
    And its provider format is unknown

  Scenario: An unknown format with only unusable keys cannot be read
    Given the payload {"name": "test/echo", "parameters": "key=value", "args": "key=value"}
    When reading the call as unknown is tried
    Then it fails as an invalid call that says "parse error"

  Scenario Outline: The caller's format is used instead of detection, given as <given_as>
    Given the payload {"name": "test/echo", "arguments": {"from": "arguments"}, "input": {"from": "input"}, "args": {"from": "args"}}
    When the call is read as <format>, given as <given_as>
    Then its arguments are {"from": "<key>"}
    And its provider format is <format>

    Examples:
      | format    | given_as | key       |
      | openai    | text     | arguments |
      | openai    | member   | arguments |
      | anthropic | text     | input     |
      | anthropic | member   | input     |
      | langchain | text     | args      |
      | langchain | member   | args      |
      | unknown   | text     | arguments |
      | unknown   | member   | arguments |

  Scenario: Only "no format given" detects
    Given the payload {"name": "test/echo", "input": {"from": "input"}, "args": {"from": "args"}}
    When the call is read
    Then its arguments are {"from": "input"}
    And its provider format is anthropic

  Scenario Outline: A format that toolrelay does not speak: <format>
    Given the payload {"name": "test/echo", "arguments": "{}"}
    When reading the call as <format> is tried
    Then it fails with a ValueError that says "provider_format"

    Examples:
      | format |
      | opena1 |
      | OpenAI |

  Scenario: A call that was only read has no identity yet
    Given the payload {"name": "test/echo", "arguments": "{}"}
    When the call is read
    Then it has no tool_call_id, no plan_id and no sequence
