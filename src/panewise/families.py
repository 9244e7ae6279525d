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
            :class:`panewise.spec.family_parts.SpecParts`.
        engine: the plan, the operator and its state: :class:`panewise.engine.family_parts.EngineParts`.
        oracle: a function of a specification and the types of columns that returns its interpreter.
        testing: how :func:`panewise.testing.run` addresses the operator:
            a :class:`panewise.testing.families.TestingParts`.
    """

    name: str
    spec: str
    engine: str
    oracle: str
    testing: str


def _family(name: str, interpreter: str, testing: str) -> Family:
    return Family(
        name,
        spec=f"panewise.spec.families.{name}:PARTS",
        engine=f"panewise.engine.{name}.family:PARTS",
        oracle=f"panewise.oracle.{name}.interpreter:{interpreter}",
        testing=f"panewise.testing.families:{testing}",
    )


WINDOWS: Final = _family("windows", "Interpreter", "WINDOWS")
CHAIN: Final = _family("chain", "ChainInterpreter", "CHAIN")
OVER: Final = _family("over", "OverInterpreter", "ONLY_INSERTS")
POLICY: Final = _family("policy", "PolicyInterpreter", "POLICY")
DEDUPLICATE: Final = _family("deduplicate", "DeduplicateInterpreter", "PLAIN")
JOIN: Final = _family("join", "JoinInterpreter", "JOIN")
WINDOWED_JOIN: Final = _family("windowed_join", "WindowedJoinInterpreter", "WINDOWED_JOIN")
COGROUP: Final = _family("cogroup", "CogroupInterpreter", "COGROUP")
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
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        loaded = entry.load()
        if isinstance(loaded, Family) and loaded.name == name:
            return loaded
    return None
