"""Stages that are joins of two stages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from panewise.chrono import Duration
from panewise.spec.operators.join.match import Match
from panewise.sql.stages.inputs import PairStage, SparkStage


@dataclass(frozen=True)
class Referring:
    """An expression over the rows of a join, cut where columns stand, as only the tables show whose they are.

    Attributes:
        parts: the text, cut where a column stands.
        columns: the columns: the name of the table, None if there is none, and the name.
        name: the name of the expression, None if it is Spark's.
        original: the expression as it is written.
        with_tables: whether it is `*`, whose columns get the names of their tables, too.
        without: the columns, in lower case, that `*` leaves out.
    """

    parts: tuple[str, ...]
    columns: tuple[tuple[str | None, str], ...]
    name: str | None
    original: str
    with_tables: bool = False
    without: frozenset[str] = frozenset()


@dataclass(frozen=True)
class OpenCondition:
    """A part of ON with a column without a table, as only the tables show whose it is.

    Attributes:
        condition: the part, as a condition with such columns.
        key: whether the join has a key if it compares a column of each side.
        rows: the same as a condition on the rows of the join, None if it selects pairs.
    """

    condition: Any
    key: bool
    rows: Referring | None


@dataclass(frozen=True)
class JoinStage(PairStage):
    """A join of two stages.

    Attributes:
        names: the names by which expressions call the sides.
        keys: the pairs of equal columns.
        times: the columns of the event times; None for that of the watermark.
        match: the match.
        how: the type.
        condition: a further condition on pairs, None if there is none.
        where: the conditions on its rows.
        items: the SELECT list.
        spark: the same query for Spark alone, for a join with a static table; None if Spark does not have it.
        timestamp: the side whose event time is that of the rows, if another operator reads it.
        lateness: the allowed lateness of both sides, None if there is none.
        options: further fields of each side.
        open: the parts of ON with columns without a table.
        hidden: the columns of both sides that are computed for ON, which `*` does not have.
        added_times: the columns of the event times that sides have for this join alone, which `*` does not
            have.
        deletes: the columns of both sides in which null deletes the row of a key; None for none.
        members: the tables of the left side, if it is a join itself; its columns are called `table.column`.
        ends: the names that both sides have for the bounds of the windows of a window join, with their texts.
    """

    names: tuple[str, str]
    keys: tuple[tuple[str, str], ...]
    times: tuple[str | None, str | None]
    match: Match
    how: str
    condition: Any
    where: tuple[Referring, ...]
    items: tuple[Referring, ...]
    spark: SparkStage | None
    timestamp: Literal["left", "right"] | None = None
    lateness: Duration | None = None
    options: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    open: tuple[OpenCondition, ...] = ()
    hidden: frozenset[str] = frozenset()
    members: frozenset[str] = frozenset()
    deletes: tuple[str | None, str | None] = (None, None)
    ends: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    added_times: tuple[str | None, str | None] = (None, None)
