"""The operator families, in one table: where each layer finds the parts of a family.

A family is a kind of operator: windows, chains, OVER, deduplication, policy windows, joins, windows over a
join, cogroups. A specification names its family in the class attribute `family`. Spark, the tests, the
checkpoint and the command line reach what depends on the family through this table, so a new family changes
none of them.

A part is named by a reference such as ``package.module`` and imported when it is first used. Other packages
add families through the entry point group ``panewise.families``: the name of the entry point is the name of
the family, its value refers to a :class:`Family`. A stored specification names such a family, never a module:
a file must not decide which code is imported.
"""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pkgutil import resolve_name
from typing import Any, Final

ENTRY_POINTS: Final = "panewise.families"
INPUT: Final = "input"  # the name of the input port of an operator that has one
WRONG_WORDS: Final = frozenset({"port", "side", "source"})  # that somebody may say for `input` in a call


@dataclass(frozen=True)
class Family:
    """References to the parts of a family.

    Attributes:
        name: the name, by which checkpoints name the family.
        spec: facts about a specification, its checks, words and JSON:
            :class:`panewise.spec.protocol.SpecParts`.
        engine: the plan, the operator and its state: :class:`panewise.engine.protocol.EngineParts`.
        oracle: a function of a specification and the types of columns that returns its interpreter.
        testing: how :func:`panewise.testing.run` addresses the operator:
            a :class:`panewise.testing.families.TestingParts`.
    """

    name: str
    spec: str
    engine: str
    oracle: str
    testing: str


WINDOWS: Final = Family(
    "windows",
    spec="panewise.spec.families.windows:PARTS",
    engine="panewise.engine.windows.family:PARTS",
    oracle="panewise.oracle.windows.interpreter:Interpreter",
    testing="panewise.testing.families:PLAIN",
)
CHAIN: Final = Family(
    "chain",
    spec="panewise.spec.families.chain:PARTS",
    engine="panewise.engine.chain.family:PARTS",
    oracle="panewise.oracle.chain.interpreter:ChainInterpreter",
    testing="panewise.testing.families:PLAIN",
)
OVER: Final = Family(
    "over",
    spec="panewise.spec.families.over:PARTS",
    engine="panewise.engine.over.family:PARTS",
    oracle="panewise.oracle.over.interpreter:OverInterpreter",
    testing="panewise.testing.families:ONLY_INSERTS",
)
POLICY: Final = Family(
    "policy",
    spec="panewise.spec.families.policy:PARTS",
    engine="panewise.engine.policy.family:PARTS",
    oracle="panewise.oracle.policy.interpreter:PolicyInterpreter",
    testing="panewise.testing.families:POLICY",
)
DEDUPLICATE: Final = Family(
    "deduplicate",
    spec="panewise.spec.families.deduplicate:PARTS",
    engine="panewise.engine.deduplicate.family:PARTS",
    oracle="panewise.oracle.deduplicate.interpreter:DeduplicateInterpreter",
    testing="panewise.testing.families:PLAIN",
)
JOIN: Final = Family(
    "join",
    spec="panewise.spec.families.join:PARTS",
    engine="panewise.engine.join.family:PARTS",
    oracle="panewise.oracle.join.interpreter:JoinInterpreter",
    testing="panewise.testing.families:JOIN",
)
WINDOWED_JOIN: Final = Family(
    "windowed_join",
    spec="panewise.spec.families.windowed_join:PARTS",
    engine="panewise.engine.windowed_join.family:PARTS",
    oracle="panewise.oracle.windowed_join.interpreter:WindowedJoinInterpreter",
    testing="panewise.testing.families:JOIN",
)
COGROUP: Final = Family(
    "cogroup",
    spec="panewise.spec.families.cogroup:PARTS",
    engine="panewise.engine.cogroup.family:PARTS",
    oracle="panewise.oracle.cogroup.interpreter:CogroupInterpreter",
    testing="panewise.testing.families:COGROUP",
)
# A JSON document is offered to the families in this order, and is of the first that reads it. Windows are
# last, because their documents have no field that marks them.
FAMILIES: Final = (POLICY, OVER, DEDUPLICATE, WINDOWED_JOIN, JOIN, COGROUP, CHAIN, WINDOWS)


@cache
def part(reference: str) -> Any:
    """Returns the module or object that a reference names.

    >>> part("panewise.families:INPUT")
    'input'
    """
    return resolve_name(reference)


def family_named(name: str) -> Family | None:
    """Returns the family of this name, None if there is none.

    >>> family_named("over").oracle, family_named("no such family")
    ('panewise.oracle.over.interpreter:OverInterpreter', None)
    """
    for family in FAMILIES:
        if family.name == name:
            return family
    for found in entry_points(group=ENTRY_POINTS, name=name):
        loaded = found.load()
        if isinstance(loaded, Family) and loaded.name == name:
            return loaded
    return None
