@services @design-2
Feature: A model's message goes in, its next message comes out
  Every call of the message is answered once, in the model's order, under the provider's own id, errors marked as that
  provider marks them. What was cut off is answered and not run; what the provider runs itself is left alone.

  @translation.md-L6
  Scenario: OpenAI Chat Completions
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": null,
        "tool_calls": [
          {"id": "call_a", "type": "function", "function": {"name": "bad_raise", "arguments": "{}"}},
          {"id": "call_b", "type": "function", "function": {"name": "math_add", "arguments": "{\"a\": 1, \"b\": 2}"}},
          {"id": "call_c", "type": "function",
           "function": {"name": "test_echo", "arguments": "{\"value\": {\"city\": \"Kyiv\"}}"}}]}}]}
      """
    Then the next messages are
      """
      [{"role": "tool", "tool_call_id": "call_a", "content": "Error: execution: RuntimeError: boom"},
       {"role": "tool", "tool_call_id": "call_b", "content": "3"},
       {"role": "tool", "tool_call_id": "call_c", "content": "{\"city\": \"Kyiv\"}"}]
      """

  @translation.md-L6
  Scenario: OpenAI Responses
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"object": "response", "status": "completed", "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "math_add", "status": "completed",
         "arguments": "{\"a\": 1, \"b\": 2}"},
        {"type": "function_call", "id": "fc_2", "call_id": "call_b", "name": "bad_raise", "status": "completed",
         "arguments": "{}"}]}
      """
    Then the next messages are
      """
      [{"type": "function_call_output", "call_id": "call_a", "output": "3"},
       {"type": "function_call_output", "call_id": "call_b", "output": "Error: execution: RuntimeError: boom"}]
      """

  @translation.md-L6
  Scenario: Anthropic Messages
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
        {"type": "text", "text": "I will add."},
        {"type": "tool_use", "id": "toolu_a", "name": "math_add", "input": {"a": 1, "b": 2}},
        {"type": "tool_use", "id": "toolu_b", "name": "bad_raise", "input": {}}]}
      """
    Then the next messages are
      """
      [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "toolu_a", "content": "3"},
        {"type": "tool_result", "tool_use_id": "toolu_b", "content": "execution: RuntimeError: boom", "is_error": true}]}]
      """

  @translation.md-L6
  Scenario: Gemini generateContent, whose calls may have no ids
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"functionCall": {"name": "math_add", "args": {"a": 1, "b": 2}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "test_echo", "args": {"value": {"city": "Kyiv"}}}},
        {"functionCall": {"id": "fc-3", "name": "bad_raise", "args": {}}}]}}]}
      """
    Then the next messages are
      """
      [{"role": "user", "parts": [
        {"functionResponse": {"name": "math_add", "response": {"output": 3}}},
        {"functionResponse": {"name": "test_echo", "response": {"city": "Kyiv"}}},
        {"functionResponse": {"id": "fc-3", "name": "bad_raise", "response": {"error": "execution: RuntimeError: boom"}}}]}]
      """

  @translation.md-L6
  Scenario: Gemini Interactions
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"status": "requires_action", "id": "v1_x", "steps": [
        {"type": "thought", "signature": "c2ln"},
        {"type": "function_call", "id": "int-1", "name": "math_add", "arguments": {"a": 1, "b": 2}},
        {"type": "function_call", "id": "int-2", "name": "bad_raise", "arguments": {}}]}
      """
    Then the next messages are
      """
      [{"type": "function_result", "call_id": "int-1", "name": "math_add", "result": "3"},
       {"type": "function_result", "call_id": "int-2", "name": "bad_raise", "result": "execution: RuntimeError: boom",
        "is_error": true}]
      """

  @translation.md-L6
  Scenario: LangChain
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"type": "ai", "content": "", "tool_calls": [
        {"type": "tool_call", "id": "lc-1", "name": "math_add", "args": {"a": 1, "b": 2}},
        {"type": "tool_call", "id": "lc-2", "name": "bad_raise", "args": {}}]}
      """
    Then the next messages are
      """
      [{"type": "tool", "tool_call_id": "lc-1", "name": "math_add", "content": "3", "status": "success"},
       {"type": "tool", "tool_call_id": "lc-2", "name": "bad_raise", "content": "execution: RuntimeError: boom",
        "status": "error"}]
      """

  @translation.md-L6
  Scenario: MCP
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      [{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "math_add", "arguments": {"a": 1, "b": 2}}},
       {"jsonrpc": "2.0", "id": "two", "method": "tools/call", "params": {"name": "bad_raise", "arguments": {}}}]
      """
    Then the next messages are
      """
      [{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "3"}], "isError": false, "resultType": "complete"}},
       {"jsonrpc": "2.0", "id": "two",
        "result": {"content": [{"type": "text", "text": "execution: RuntimeError: boom"}], "isError": true,
                   "resultType": "complete"}}]
      """

  @translation.md-L6
  Scenario: Bedrock Converse
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"stopReason": "tool_use", "output": {"message": {"role": "assistant", "content": [
        {"toolUse": {"toolUseId": "b1", "name": "test_echo", "input": {"value": {"city": "Kyiv"}}}},
        {"toolUse": {"toolUseId": "b2", "name": "bad_raise", "input": {}}}]}}}
      """
    Then the next messages are
      """
      [{"role": "user", "content": [
        {"toolResult": {"toolUseId": "b1", "content": [{"json": {"city": "Kyiv"}}], "status": "success"}},
        {"toolResult": {"toolUseId": "b2", "content": [{"text": "execution: RuntimeError: boom"}], "status": "error"}}]}]
      """

  @translation.md-L6
  Scenario: A format that nobody knows
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      [{"name": "math/add", "parameters": {"a": 1, "b": 2}, "id": "c"}, {"name": "bad/raise", "parameters": {}, "id": "d"}]
      """
    Then the next messages are
      """
      [{"tool_call_id": "c", "name": "math/add", "content": "3", "is_error": false},
       {"tool_call_id": "d", "name": "bad/raise", "content": "execution: RuntimeError: boom", "is_error": true}]
      """

  Scenario: The slowest call comes first: the order is the model's
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits a message with 5 calls, each faster than the one before it
    Then the 5 answers are in the order of the calls, not in that of their ends

  @translation.md-L3
  Scenario: OpenAI's last call was cut off: its sibling runs
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "tool_calls": [
        {"id": "call_a", "type": "function", "function": {"name": "test_mark", "arguments": "{}"}},
        {"id": "call_b", "type": "function", "function": {"name": "test_mark", "arguments": "{\"word\": \"ma"}}]}}]}
      """
    Then call 0 ran and the others are answered with an error that says "truncated"
    And 1 run left the effect mark
    And every call is answered once, by its own id, in order: ["call_a", "call_b"]

  @translation.md-L3
  Scenario: OpenAI says of each item whether it is whole
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"object": "response", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [
        {"type": "function_call", "call_id": "call_a", "name": "test_mark", "arguments": "{}", "status": "completed"},
        {"type": "function_call", "call_id": "call_b", "name": "test_mark", "arguments": "{\"wo", "status": "incomplete"}]}
      """
    Then call 0 ran and the others are answered with an error that says "truncated"
    And 1 run left the effect mark
    And every call is answered once, by its own id, in order: ["call_a", "call_b"]

  @translation.md-L3
  Scenario: Anthropic's message was cut off: nothing says where, so nothing runs
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"type": "message", "role": "assistant", "stop_reason": "max_tokens", "content": [
        {"type": "tool_use", "id": "toolu_a", "name": "test_mark", "input": {"word": "mark"}}]}
      """
    Then no call ran and each is answered with an error that says "truncated"
    And every call is answered once, by its own id, in order: ["toolu_a"]

  @translation.md-L3
  Scenario: LangChain could not read a call: its sibling runs
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"type": "ai", "content": "",
       "tool_calls": [{"type": "tool_call", "id": "lc-1", "name": "test_mark", "args": {}}],
       "invalid_tool_calls": [{"type": "invalid_tool_call", "id": "lc-2", "name": "test_mark", "args": "{\"word\":"}]}
      """
    Then call 0 ran and the others are answered with an error that says "parse error"
    And 1 run left the effect mark
    And every call is answered once, by its own id, in order: ["lc-1", "lc-2"]

  @translation.md-L3
  Scenario: What Anthropic runs itself is left alone
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tide table"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "tool_use", "id": "toolu_a", "name": "math_add", "input": {"a": 1, "b": 2}}]}
      """
    Then the next messages are
      """
      [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_a", "content": "3"}]}]
      """
    And the call has the id of call 0 of the plan

  @translation.md-L3
  Scenario: What OpenAI runs itself is left alone
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"object": "response", "status": "completed", "output": [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "tides"}},
        {"type": "mcp_call", "id": "mcp_1", "name": "stock", "server_label": "depot", "arguments": "{}", "output": "{}"},
        {"type": "function_call", "call_id": "call_a", "name": "math_add", "arguments": "{\"a\": 1, \"b\": 2}"}]}
      """
    Then the next messages are
      """
      [{"type": "function_call_output", "call_id": "call_a", "output": "3"}]
      """

  @translation.md-L3
  Scenario: What Gemini runs itself is left alone
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [
        {"executableCode": {"language": "PYTHON", "code": "print(2)"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n"}},
        {"functionCall": {"name": "math_add", "args": {"a": 1, "b": 2}}}]}}]}
      """
    Then the next messages are
      """
      [{"role": "user", "parts": [{"functionResponse": {"name": "math_add", "response": {"output": 3}}}]}]
      """

  Scenario: A message without calls of ours
    Given a fleet
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"type": "message", "role": "assistant", "stop_reason": "end_turn", "content": [
        {"type": "text", "text": "It is 3."},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tide table"}}]}
      """
    Then there is nothing to answer

  @own_workers
  Scenario: An unknown tool and bad arguments take no queue slot, their sibling does
    Given a fleet whose workers have all gone
    And a model that was offered the fleet's tools
    When the agent submits the model's message
      """
      {"role": "assistant", "tool_calls": [
        {"id": "call_a", "type": "function", "function": {"name": "no_such_tool", "arguments": "{}"}},
        {"id": "call_b", "type": "function", "function": {"name": "math_add", "arguments": "{\"a\": \"many\", \"b\": 2}"}},
        {"id": "call_c", "type": "function", "function": {"name": "math_add", "arguments": "{\"a\": 1"}}]}
      """
    Then the queue holds 0 messages
    And no call ran and each is answered with an error that says "a"
    When the agent submits the model's message
      """
      {"role": "assistant", "tool_calls": [
        {"id": "call_d", "type": "function", "function": {"name": "no_such_tool", "arguments": "{}"}},
        {"id": "call_e", "type": "function", "function": {"name": "math_add", "arguments": "{\"a\": 1, \"b\": 2}"}}]}
      """
    Then the queue holds 1 message
    When 1 more worker is started
    Then call 1 ran and the others are answered with an error that says "not found"
    And every call is answered once, by its own id, in order: ["call_d", "call_e"]
