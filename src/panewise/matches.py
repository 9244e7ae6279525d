"""The matches of joins, in one table: where each layer finds the parts of a match.

A match is a rule that says which rows of two sides belong together: an interval, the row as of a time, and so
on. Its class names its kind in the class attribute `kind`. The family of joins reaches what depends on the
match through this table, so a new match changes no other code.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True)
class MatchKind:
    """References to the parts of a kind of match, which :func:`panewise.families.part` resolves.

    Attributes:
        name: the name, by which JSON documents name the kind.
        spec: checks, facts and words: a :class:`panewise.spec.operators.join.match_parts.MatchParts`.
        engine: the operator and its inspection: a :class:`panewise.engine.join.match_engine.MatchEngine`.
        oracle: a function of a join, its clocks and a maker of rows that returns the interpreter's method.
        testing: how joins and their events are drawn: a
            :class:`panewise.testing.matches.parts.MatchTests`.
    """

    name: str
    spec: str
    engine: str
    oracle: str
    testing: str


_KINDS: Final = (
    MatchKind(
        "interval",
        spec="panewise.spec.matches.interval:PARTS",
        engine="panewise.engine.join.interval.parts:PARTS",
        oracle="panewise.oracle.join.interval:IntervalJoin",
        testing="panewise.testing.matches.interval:PARTS",
    ),
    MatchKind(
        "as_of",
        spec="panewise.spec.matches.as_of:PARTS",
        engine="panewise.engine.join.as_of.parts:PARTS",
        oracle="panewise.oracle.join.as_of:AsOfJoin",
        testing="panewise.testing.matches.as_of:PARTS",
    ),
    MatchKind(
        "window",
        spec="panewise.spec.matches.same_window:PARTS",
        engine="panewise.engine.join.same_window.parts:PARTS",
        oracle="panewise.oracle.join.same_window:WindowJoin",
        testing="panewise.testing.matches.same_window:PARTS",
    ),
    MatchKind(
        "rows",
        spec="panewise.spec.matches.last_rows:PARTS",
        engine="panewise.engine.join.by_arrival.parts:LAST_ROWS",
        oracle="panewise.oracle.join.last_rows:last_rows_join",
        testing="panewise.testing.matches.last_rows:PARTS",
    ),
    MatchKind(
        "latest",
        spec="panewise.spec.matches.latest:PARTS",
        engine="panewise.engine.join.by_arrival.parts:LATEST",
        oracle="panewise.oracle.join.by_arrival:LatestJoin",
        testing="panewise.testing.matches.latest:PARTS",
    ),
    MatchKind(
        "streams",
        spec="panewise.spec.matches.streams:PARTS",
        engine="panewise.engine.join.streams.parts:PARTS",
        oracle="panewise.oracle.join.streams:StreamsJoin",
        testing="panewise.testing.matches.streams:PARTS",
    ),
)
MATCHES: Final = MappingProxyType({one.name: one for one in _KINDS})
