"""What each match supplies for the engine: its operator, which rows are late, and what a state contains."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, ONE_KEY, TIME
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.kernels.frames import Mask
from panewise.engine.kernels.instants import Instants
from panewise.engine.protocol import Inspection, Schemas, TableReader
from panewise.families import part
from panewise.matches import MATCHES
from panewise.spec import JoinOperator


class MatchEngine(ABC):
    """The parts of a match."""

    @abstractmethod
    def operator(self, spec: JoinOperator, schemas: Schemas) -> Any:
        """Returns an operator that has taken no step."""

    @abstractmethod
    def inspect(self, spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
        """Returns what is stored and has not expired (semantics 41)."""

    def late_rows(
        self, spec: JoinOperator, side: str, times: pl.Series, own: Instants, other: Instants
    ) -> Mask:
        """Returns whether each row of a side is late: it is behind the horizon of its side (semantics 36.4).

        `own` and `other` are the horizons of its side and of the other one when it arrives.
        """
        behind: Mask = (times.to_numpy() < own) | (own == MAX_INSTANT)
        return behind


def match_engine(match: Any) -> MatchEngine:
    """Returns the parts of the kind of a match."""
    found: MatchEngine = part(MATCHES[match.kind].engine)
    return found


def keys_of_side(spec: JoinOperator, side: str) -> list[str]:
    """Returns the key columns of the tables of a side."""
    return list(spec.sides[side].keys) or [ONE_KEY]


def stored_rows(
    spec: JoinOperator, clocks: JoinClocks, found: Iterable[tuple[str, pl.DataFrame]]
) -> Inspection:
    """Returns stored rows of the sides with the keys of the left side, each at its event time."""
    keys, rows = list(spec.keys) or [ONE_KEY], []
    for side, one in found:
        if one.width:
            names = zip(keys_of_side(spec, side), keys, strict=True)
            rows.append(
                one.select(*(pl.col(mine).alias(name) for mine, name in names), pl.col(TIME).alias(END))
            )
    both = pl.concat(rows) if rows else pl.DataFrame()
    return Inspection(clocks, both, keys, ends_in_time=spec.has_event_times)
