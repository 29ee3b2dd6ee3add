@router.md
Feature: Registering tools
  A tool is a function and what a model is told about it.

  Scenario: A handler takes the arguments as keywords
    Given a tool test/echo that gives back its arguments
    When it is called with {"key": "value", "n": 1}
    Then the result is successful with the output {"key": "value", "n": 1}

  Scenario Outline: A tool may return any JSON value: <value>
    Given a tool test/give that returns <value>
    When it is called with {}
    Then the result is successful with the output <value>

    Examples:
      | value                        |
      | null                         |
      | true                         |
      | 7                            |
      | 0.5                          |
      | "text"                       |
      | [1, [2, {"a": null}]]        |
      | {"deep": {"list": [1, "a"]}} |

  Scenario: The definition comes from the function
    Given a function decorated as the tool weather/lookup
    Then its definition has the name "weather/lookup" and the description "Weather for a city."
    And its schema asks for a "city" of type "string", described as "Where."
    And its schema offers "units" out of ["c", "f"] with the default "c"
    And its schema requires only ["city"]
    And the function can still be called directly

  Scenario: A function without a name of its own choosing is registered under the function's
    Given a function decorated without a name
    Then the registry has the tool "lookup"

  Scenario Outline: A second tool of the same name is refused, <way>
    Given a tool test/echo that gives back its arguments
    When another tool named test/echo is registered <way>
    Then it fails with a RegistrationError that says "test/echo"
    And the registry has 1 tool

    Examples:
      | way                |
      | with a definition  |
      | as a function      |

  Scenario Outline: A tool reports failure without raising: <error>
    Given a tool test/fail that reports the failure <error>
    When it is called with {}
    Then the result is not successful with category <category>
    And the call is complete
    And the error contains <error>

    Examples:
      | error                              | category   |
      | "Operation timed out after 30s"    | timeout    |
      | "Permission denied: cannot write"  | permission |
      | "no more coffee"                   | execution  |

  Scenario: A failure without a reason still says something to the model
    Given a tool test/fail that reports a failure without a reason
    When it is called with {}
    Then the result is not successful with category unknown
    And the error is not empty

  Scenario: A reported success carries its output
    Given a tool test/give that reports the success {"a": 1}
    When it is called with {}
    Then the result is successful with the output {"a": 1}

  Scenario: Undeclared properties pass
    Given a tool test/echo with the schema {"type": "object", "properties": {"key": {"type": "string"}}}
    When it is called with {"key": "value", "more": 1}
    Then the result is successful with the output {"key": "value", "more": 1}

  Scenario: Undeclared properties do not pass where the schema forbids them
    Given a tool test/echo with the schema {"type": "object", "properties": {"key": {"type": "string"}}, "additionalProperties": false}
    When it is called with {"key": "value", "more": 1}
    Then the result is not successful with category schema
    And the error contains "more"
    And no tool ran

  Scenario Outline: A validation tool's verdict <verdict>, given as <given_as>
    Given a validation tool test/check that returns <output> as <given_as>
    When it is called with {}
    Then the result is successful with the output <output>
    And it is a validation result with the verdict <verdict>

    Examples:
      | verdict | given_as   | output                             |
      | true    | a value    | {"passed": true, "score": 1}       |
      | false   | a value    | {"passed": false, "why": "late"}   |
      | true    | an outcome | {"passed": true, "score": 1}       |
      | false   | an outcome | {"passed": false, "why": "late"}   |

  Scenario Outline: A validation tool that gives no verdict: <output>
    Given a validation tool test/check that returns <output> as a value
    When it is called with {}
    Then the result is not successful with category schema
    And it is a validation result without a verdict

    Examples:
      | output             |
      | {"score": 1}       |
      | {"passed": "yes"}  |
      | {"passed": 1}      |
      | {"passed": null}   |
      | true               |
      | null               |
      | [{"passed": true}] |

  Scenario: A validation tool that raises
    Given a validation tool test/check that raises RuntimeError("boom")
    When it is called with {}
    Then the result is not successful with category execution
    And it is a validation result without a verdict

  Scenario: The mode beside an output schema takes no part in the check
    Given a validation tool test/check with the output schema {"mode": "strict", "type": "object", "required": ["passed"]} that returns {"passed": true}
    When it is called with {}
    Then the result is successful with the output {"passed": true}

  Scenario: An output schema is held against what the tool returned
    Given a tool test/give with the output schema {"type": "object", "required": ["total"]} that returns {"sum": 1}
    When it is called with {}
    Then the result is not successful with category schema
    And the error contains "total"
    And the call is complete

  Scenario: One definition class for both packages
    Then ToolSpec of toolrelay_worker is ToolSpec of toolrelay
