"""The clocks and the state of a windowed stream join.

The clocks know the least values of the rows that wait for their release. Invariant: these are not above those
of any row that waits. So the horizons that follow from them expire no row that a waiting row can still match,
and a step at which none of them is reached reads no waiting row. Cost: a minimum over the rows that begin to
wait, and over all that wait when some of them were released.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field, fields, replace
from itertools import chain
from typing import Any, Final, Self

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, saturating_add
from panewise.engine.columns import COMPLETE, RELEASE, TIME
from panewise.engine.ingest.validate import Port
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.two_sides import JoinState, read_clocks
from panewise.engine.kernels.instants import lowest
from panewise.engine.progress.clocks import highest
from panewise.spec import JoinOperator, JoinWindow, WindowedStreams
from panewise.spec.operators.join.columns import OTHER, SIDES
from panewise.spec.operators.join.side_entry import TwoSided
from panewise.state.manifest import Checks, check_fields, optional, whole

# The fields of the header: the least values of the rows that wait, and the number of the next release.
WAITING: Final = "waiting"
RELEASED: Final = "released"


def waiting_name(side: str) -> str:
    """Returns the name of the table of rows of a side that wait."""
    return f"{side} {WAITING}"


@dataclass(frozen=True)
class LeastWaiting:
    """The least values of the waiting rows of a side; None if no row waits.

    With them, few steps have to read these rows.

    Attributes:
        time: the least event time. A row that a waiting row can still match has not expired.
        release: the least processing time that releases one of them.
        complete: the least watermark that releases one of them.
    """

    time: int | None = None
    release: int | None = None
    complete: int | None = None

    @classmethod
    def of_rows(cls, rows: pl.DataFrame) -> Self:
        """Returns the least values of rows that wait, None where all are null."""
        return cls(*rows.select(TIME, RELEASE, COMPLETE).min().row(0))

    def least_with(self, other: "LeastWaiting") -> "LeastWaiting":
        """Returns the least values of both."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return LeastWaiting(*map(lowest, pairs))


@dataclass(frozen=True)
class StreamsClocks(JoinClocks):
    """The clocks of both sides, and by side the least values of the rows that wait."""

    waiting: Mapping[str, LeastWaiting] = field(default_factory=lambda: dict.fromkeys(SIDES, LeastWaiting()))

    def lowest(self, spec: TwoSided, side: str) -> int | None:
        """Returns the lowest event time of the rows of a side that are still to be released.

        None if it may be any.
        """
        horizon, waiting = self.horizon(spec, side), self.waiting[side].time
        return horizon if horizon is None or waiting is None else min(horizon, waiting)

    def none_to_come(self, spec: TwoSided, side: str) -> bool:
        """Returns whether no row of a side is still to be released."""
        return self.waiting[side].time is None and super().none_to_come(spec, side)

    def matching_from(self, spec: JoinOperator, side: str) -> int | None:
        """Returns the least event time of the released rows of a side that can match; None: any.

        It is MAX_INSTANT + 1 if none can, because no row of the other side is to come.
        """
        return highest([self._by_window(spec, side), self._by_retention(spec, side)])

    def listed_from(self, spec: JoinOperator, side: str) -> int | None:
        """Returns the value of :meth:`matching_from` if no row of the other side waited (41.5)."""
        return replace(self, waiting=dict.fromkeys(SIDES, LeastWaiting())).matching_from(spec, side)

    def table_horizon(self, spec: JoinOperator, side: str) -> int | None:
        """Returns the event time of released rows at or before which they have expired; None: none have."""
        first = self.matching_from(spec, side)
        if first is None or first == MIN_INSTANT:
            return None
        return MAX_INSTANT if first == MAX_INSTANT + 1 else first - 1

    def _by_window(self, spec: JoinOperator, side: str) -> int | None:
        first, size = self.lowest(spec, OTHER[side]), _window(spec, side).size
        if self.none_to_come(spec, OTHER[side]):
            return MAX_INSTANT + 1
        return None if first is None or size is None else saturating_add(first, -size)

    def _by_retention(self, spec: JoinOperator, side: str) -> int | None:
        watermark, retention = self.sides[side].watermark, _window(spec, side).retention
        return None if watermark is None or retention is None else saturating_add(watermark, -retention.us)


def _window(spec: JoinOperator, side: str) -> JoinWindow:
    assert isinstance(spec.match, WindowedStreams)
    return spec.match.windows[side]


@dataclass(frozen=True, kw_only=True)
class StreamsState(JoinState):
    """The state. Released rows are stored with their number; `next_release` is that of the next one."""

    clocks: StreamsClocks = field(default_factory=StreamsClocks)
    next_release: int = 0

    def header(self) -> dict[str, Any]:
        """Returns everything that is not in a table, as JSON values. Each release changes it."""
        waiting = {side: list(astuple(least)) for side, least in self.clocks.waiting.items()}
        return super().header() | {WAITING: waiting, RELEASED: self.next_release}

    def with_header(self, ports: Mapping[str, Port], header: Mapping[str, Any]) -> Self:
        """Returns the state with the values of a header; `{}` is that of no commit."""
        state, clocks = super().with_header(ports, header), read_streams_clocks(header)
        return replace(state, clocks=clocks, next_release=header.get(RELEASED, 0))

    def settled(self) -> Self:
        """Returns the state with the least values of the rows that wait in its tables."""
        waiting = {side: LeastWaiting.of_rows(self.tables[waiting_name(side)].all()) for side in SIDES}
        return replace(self, clocks=replace(self.clocks, waiting=waiting))


def read_streams_clocks(header: Mapping[str, Any]) -> StreamsClocks:
    """Returns the clocks of a header; `{}` is that of no commit."""
    known = read_clocks(header)
    if not header:
        return StreamsClocks()
    own = {name: header[name] for name in _CHECKS if name in header}
    check_fields("a header", own, _CHECKS, required=_CHECKS)
    waiting = {side: LeastWaiting(*least) for side, least in header[WAITING].items()}
    return StreamsClocks(known.processing_time, known.since, known.sides, waiting=waiting)


def lowest_of_shards(values: Sequence[Sequence[int | None]]) -> list[int | None]:
    """Returns the least values of the rows of a side that wait in any shard, as the header has them."""
    return [lowest(column) for column in zip(*values, strict=True)]


def _instants(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != set(SIDES):
        return False
    lists = [least for least in value.values() if isinstance(least, list) and len(least) == _LEAST]
    return len(lists) == len(value) and all(map(optional(whole()), chain(*lists)))


_LEAST: Final = len(fields(LeastWaiting))
_CHECKS: Final[Checks] = {WAITING: _instants, RELEASED: whole(0)}
