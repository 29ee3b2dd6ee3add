@router.md
Feature: Sorting failures by what can be done about them

  Scenario Outline: By its words: <message>
    When the error <message> is sorted
    Then its category is <category>

    Examples:
      | message                                   | category   |
      | "Operation timed out after 30s"           | timeout    |
      | "Permission denied: cannot write"         | permission |
      | "Tool 'x/y' not found"                    | not_found  |
      | "Insufficient memory for operation"       | resource   |
      | "Schema validation failed"                | schema     |
      | "Failed to parse response"                | parse      |
      | "Something unexpected happened"           | execution  |
      | ""                                        | unknown    |
      | null                                      | unknown    |

  Scenario Outline: What a message quotes is a name, not a reason: <message>
    When the error <message> is sorted
    Then its category is <category>

    Examples:
      | message                                | category  |
      | "Tool 'schema/parse' not found"        | not_found |
      | "'timeout/memory' was not found"       | not_found |
      | "I can't parse what isn't JSON"        | parse     |

  Scenario Outline: An exception's type decides before its text: <exception>
    When a <exception> whose text is "the schema could not be parsed" is sorted
    Then its category is <category>

    Examples:
      | exception                  | category   |
      | TimeoutError               | timeout    |
      | PermissionError            | permission |
      | MemoryError                | resource   |
      | HTTP 429 error             | rate_limit |

  Scenario: A pydantic validation error is a schema error, whatever it says
    When a pydantic ValidationError that speaks of a timeout is sorted
    Then its category is schema

  Scenario: A type that says nothing leaves it to the text
    When a RuntimeError whose text is "Operation timed out after 30s" is sorted
    Then its category is timeout
