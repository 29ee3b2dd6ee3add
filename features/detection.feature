@router.md
Feature: Telling a provider's wire format from the shape of a tool call
  An agent hands over what its model said; nobody has to name the provider.

  Scenario Outline: A flat call with one marker: <payload>
    Given the payload <payload>
    When its format is detected
    Then the format is <format>

    Examples:
      | payload                                                                | format    |
      | {"name": "test/echo", "arguments": "{\"key\": \"value\"}"}             | openai    |
      | {"name": "test/echo", "arguments": {"a": 1}}                           | openai    |
      | {"name": "test/echo", "input": {"key": "value"}}                       | anthropic |
      | {"name": "test/echo", "type": "tool_call", "args": {"key": "value"}}   | langchain |
      | {"name": "test/echo", "args": {"key": "value"}}                        | langchain |
      | {}                                                                     | unknown   |
      | {"name": "test/echo", "parameters": {"key": "value"}}                  | unknown   |

  Scenario Outline: What is not a dict has no format, and that is no error: <payload>
    Given the payload <payload>
    When its format is detected
    Then the format is unknown

    Examples:
      | payload        |
      | null           |
      | 7              |
      | "test/echo"    |
      | [{"name": "a"}] |
      | true           |

  Scenario Outline: Where two markers meet, <winner> decides
    Given the payload <payload>
    When its format is detected
    Then the format is <format>

    Examples:
      | winner    | payload                                                                                  | format    |
      | type      | {"type": "tool_call", "name": "test/echo", "arguments": "{}", "args": {"a": 1}}          | langchain |
      | type      | {"type": "tool_use", "name": "test/echo", "arguments": "{}", "input": {"a": 1}}          | anthropic |
      | arguments | {"name": "test/echo", "arguments": "{}", "input": {"a": 1}}                              | openai    |
      | arguments | {"name": "test/echo", "args": {"a": 1}, "arguments": "{}"}                               | openai    |
      | input     | {"name": "test/echo", "args": {"a": 1}, "input": {"a": 1}}                               | anthropic |

  Scenario Outline: A wrapped call: <payload>
    Given the payload <payload>
    When its format is detected
    Then the format is <format>

    Examples:
      | payload                                                                                                   | format           |
      | {"id": "call_1", "type": "function", "function": {"name": "test_echo", "arguments": "{}"}}                | openai           |
      | {"type": "function_call", "call_id": "call_1", "name": "test_echo", "arguments": "{}"}                    | openai_responses |
      | {"type": "tool_use", "id": "toolu_1", "name": "test_echo", "input": {}}                                   | anthropic        |
      | {"functionCall": {"name": "test_echo", "args": {}}}                                                       | gemini           |
      | {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "test_echo", "arguments": {}}}     | mcp              |
      | {"toolUse": {"toolUseId": "t1", "name": "test_echo", "input": {}}}                                        | bedrock          |

  Scenario Outline: A whole message of <format>
    Given the payload <payload>
    When its format is detected
    Then the format is <format>

    Examples:
      | format           | payload                                                                                                                                                        |
      | openai           | {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "a", "arguments": "{}"}}]}                         |
      | openai_responses | {"object": "response", "output": [{"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"}]}                                                 |
      | anthropic        | {"type": "message", "role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "a", "input": {}}]}                                              |
      | gemini           | {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {}}}]}}]}                                                       |
      | bedrock          | {"output": {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "a", "input": {}}}]}}, "stopReason": "tool_use"}              |
