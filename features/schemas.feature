@router.md
Feature: A tool's definition as one flat dict

  Background:
    Given a tool definition test/echo with the description "Gives back what it gets." and a text property "key"

  Scenario Outline: For <provider> the schema stands under <key>
    When the definition is asked for <provider>
    Then the schema stands under <key> and under no other key
    And the name is "test/echo"
    And the description is "Gives back what it gets."

    Examples:
      | provider            | key          |
      | openai              | parameters   |
      | openai_responses    | parameters   |
      | gemini              | parameters   |
      | langchain           | args_schema  |
      | anthropic           | input_schema |
      | mcp                 | input_schema |
      | bedrock             | input_schema |
      | gemini_interactions | input_schema |
      | unknown             | input_schema |
      | somebody_new        | input_schema |

  Scenario Outline: A description is cut to <length> characters
    When the definition is asked for openai with descriptions of at most <length> characters
    Then the description is "<description>"

    Examples:
      | length | description              |
      | 1      | G                        |
      | 5      | Gives                    |
      | 24     | Gives back what it gets. |
      | 1024   | Gives back what it gets. |

  Scenario: Nobody asked for a length: 1024 characters
    Given a tool definition test/long with a description of 3000 characters
    When the definition is asked for openai
    Then the description has 1024 characters

  Scenario Outline: A length of <length> makes no sense
    When the definition with descriptions of at most <length> characters is tried
    Then it fails with a ValueError that says "max_description_length"

    Examples:
      | length |
      | 0      |
      | -1     |
