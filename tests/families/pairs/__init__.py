"""A family of operators with two inputs, which only tests use.

For each key it counts the rows of both inputs that the watermark has passed. It shows what a new family
supplies, and that nothing else has to know it.
"""

from panewise.families import Family

PAIRS = Family(
    "pairs",
    spec="tests.families.pairs.parts:PARTS",
    engine="tests.families.pairs.engine:PARTS",
    oracle="tests.families.pairs.oracle:PairsInterpreter",
    testing="panewise.testing.families:PLAIN",
)
