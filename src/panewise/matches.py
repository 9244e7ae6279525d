"""The matches of joins, in one table: where each layer finds the parts of a match.

A match is a rule that says which rows of two sides belong together: an interval, the row as of a time, and so
on. Its class names its kind in the class attribute `kind`. The family of joins reaches what depends on the
match through this table. So a new match has a class, one module or folder in each layer, and an entry here.
It also needs its class in :data:`panewise.spec.operators.join.match.Match`, and a method of the builder.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class MatchKind:
    """References to the parts of a kind of match, which :func:`panewise.families.part` resolves.

    Attributes:
        name: the name, which its class has as `kind`.
        spec: checks, facts and words: a :class:`panewise.spec.operators.join.match_parts.MatchParts`.
        engine: a :class:`panewise.engine.join.match_engine.MatchEngine`.
        oracle: what makes the interpreter's method, given a join, its clocks, and what makes emitted rows.
        testing: how joins and their events are drawn: a
            :class:`panewise.testing.matches.parts.MatchTests`.
    """

    name: str
    spec: str
    engine: str
    oracle: str
    testing: str


def _kind(name: str, engine: str, oracle: str) -> MatchKind:
    return MatchKind(
        name,
        spec=f"panewise.spec.matches.{name}:PARTS",
        engine=f"panewise.engine.join.{engine}",
        oracle=f"panewise.oracle.join.{oracle}",
        testing=f"panewise.testing.matches.{name}:PARTS",
    )


_KINDS: Final = (
    _kind("interval", "interval.parts:PARTS", "interval:IntervalJoin"),
    _kind("as_of", "as_of.parts:PARTS", "as_of:AsOfJoin"),
    _kind("same_window", "same_window.parts:PARTS", "same_window:WindowJoin"),
    _kind("last_rows", "by_arrival.parts:LAST_ROWS", "last_rows:last_rows_join"),
    _kind("latest", "by_arrival.parts:LATEST", "by_arrival:LatestJoin"),
    _kind("streams", "streams.parts:PARTS", "streams:StreamsJoin"),
)
MATCHES: Final = MappingProxyType({kind.name: kind for kind in _KINDS})
