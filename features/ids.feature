@router.md
Feature: The identity of a tool call
  A call's id follows from its plan and its place in it, so an agent that replays its plan finds its results again.

  Scenario Outline: Frozen vectors: plan <plan>, sequence <sequence>
    Then call <sequence> of the plan "<plan>" has the id <id>

    @design.md
    Examples:
      | plan     | sequence | id                          |
      | plan-001 | 0        | tc_243f296b8867af67bdac594c |
      | plan-001 | 1        | tc_f002374457083d96139ce5ab |
      | план     | 7        | tc_3fc103f34263daeb7d043152 |

  Scenario Outline: An id starts with tc_ and has 27 characters: plan <plan>, sequence <sequence>
    When the id of call <sequence> of the plan "<plan>" is asked for twice
    Then both are the same id, which starts with "tc_" and has 27 characters

    Examples:
      | plan     | sequence   |
      | plan-001 | 0          |
      | p        | 1000000000 |
      | a:1      | 3          |

  Scenario: Other inputs have another id
    Then these calls have ids that are all different
      | plan     | sequence |
      | plan-001 | 0        |
      | plan-001 | 1        |
      | plan-001 | 10       |
      | plan-002 | 0        |
      | plan-0   | 10       |
      | PLAN-001 | 0        |

  Scenario: A plan needs a name
    When the id of call 0 of the plan "" is tried
    Then it fails with a ValueError that says "plan_id"

  Scenario: A sequence counts from 0
    When the id of call -1 of the plan "plan-001" is tried
    Then it fails with a ValueError that says "sequence"
