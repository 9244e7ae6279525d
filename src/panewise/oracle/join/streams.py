"""S1's windowed stream join: rows wait for their release, and then look for partners (37.14 to 37.19)."""

import math
from dataclasses import dataclass
from typing import Any

from panewise.oracle.join.applied import Applied
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.join.method import StoringJoin
from panewise.oracle.join.partners import are_partners, has_null_key, keys_are_equal
from panewise.oracle.rows import Row
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.streams import JoinWindow, WindowedStreams
from panewise.spec.triggers.simple import Every
from panewise.spec.windows.kinds import Hopping, Tumbling


@dataclass(frozen=True)
class WaitingRow:
    """A row that waits for its release.

    Attributes:
        applied: the row.
        arrived_at: the processing time at which it arrived.
        late: whether its window was complete when it arrived.
    """

    applied: Applied
    arrived_at: int
    late: bool


class StreamsJoin(StoringJoin):
    """Releases the rows of both sides, and pairs each with the released rows of the other side."""

    def __init__(self, spec: JoinOperator, clocks: SideClocks, emitted: EmittedRows) -> None:
        super().__init__(spec, clocks, emitted)
        assert isinstance(spec.match, WindowedStreams)
        self._match = spec.match
        self._arrived = 0
        self._waiting: dict[str, list[WaitingRow]] = {LEFT: [], RIGHT: []}
        self._released: dict[str, list[Applied]] = {LEFT: [], RIGHT: []}  # in the order of their release

    def apply(self, side: str, row: Row) -> None:
        """Stores a row until its release. With a null key it has no partner and is dropped (semantics 28)."""
        applied = Applied(side, row, self._arrived)
        self._arrived += 1
        if not has_null_key(row):
            late = self._clocks.watermark(side) >= self._first_end(side, row.time)
            self._waiting[side].append(WaitingRow(applied, self._clocks.processing_time, late))

    def evaluate(self) -> list[dict[str, Any]]:
        """Releases rows, those of the first side first, and returns their pairs (semantics 37.15, 40.3)."""
        emitted = []
        for side in (self._match.first_side, OTHER[self._match.first_side]):
            due = [it for it in self._waiting[side] if self._is_due(side, it)]
            self._waiting[side] = [it for it in self._waiting[side] if it not in due]
            for it in due:
                for partner in sorted(self._partners(it.applied), key=lambda partner: partner.row.time):
                    left, right = (it.applied, partner) if side == LEFT else (partner, it.applied)
                    emitted.append(self._emitted.pair(left.row, right.row))
                self._released[side].append(it.applied)
        return emitted

    def stored(self) -> list[Applied]:
        """Returns the waiting rows, and the released rows that can still be found (semantics 41.5)."""
        waiting = [it.applied for side in (LEFT, RIGHT) for it in self._waiting[side]]
        released = []
        for side, rows in self._released.items():
            horizon = self._clocks.horizon(OTHER[side])
            size = self._match.windows[side].size
            reach = math.inf if size is None else size
            released += [
                applied
                for applied in rows
                if horizon != math.inf and horizon <= applied.row.time + reach and self._is_retained(applied)
            ]
        return waiting + released

    def lowest(self) -> float:
        """Returns the least event time of rows that are still to be released."""
        times = [it.applied.row.time for side in (LEFT, RIGHT) for it in self._waiting[side]]
        return min([super().lowest(), *times])

    def furthest_behind(self) -> int | None:
        """Returns how far `join_time` may lie behind the horizons and the waiting rows (semantics 40.4).

        The partner that is released later is not behind. The other one is behind them by at most the size of
        its window. None if that is unlimited.
        """
        left, right = (self._match.windows[side].size for side in (LEFT, RIGHT))
        both = None if left is None or right is None else max(left, right)
        of_timestamp = {"later": 0, "left": left, "right": right, "earlier": both}
        assert self._spec.timestamp is not None
        return of_timestamp[self._spec.timestamp]

    # Releases

    def _is_due(self, side: str, it: WaitingRow) -> bool:
        """Returns whether a row is released by the evaluation that takes place now (semantics 37.16)."""
        window = self._match.windows[side]
        if self._clocks.has_ended(side):
            return True
        if not it.late and self._clocks.watermark(side) >= self._first_end(side, it.applied.row.time):
            return True
        policy = window.late if it.late else window.early
        if isinstance(policy, Every):
            return self._clocks.processing_time >= boundary(policy, it.arrived_at)
        return policy is not None

    def _first_end(self, side: str, time: int) -> float:
        """Returns the end of the first window that contains an event time (semantics 37.16)."""
        window = self._match.windows[side]
        if window.size is None or window.hop is None:
            return math.inf
        assert isinstance(window.window, (Tumbling, Hopping))
        # Ends are at the origin plus the size plus a multiple of the hop. The first one after t is that of t.
        passed = time - (window.window.origin + window.size)
        return time + window.hop - passed % window.hop

    # Partners

    def _partners(self, new: Applied) -> list[Applied]:
        """Returns the released rows of the other side that match a row which is released now (37.17)."""
        mine = self._match.windows[new.side]
        partners = []
        for old in self._released[OTHER[new.side]]:
            other = self._match.windows[old.side]
            near = _reaches(other, old.row, new.row) and _reaches(mine, new.row, old.row)
            if near and are_partners(self._spec.condition, new, old) and self._is_retained(old):
                partners.append(old)
        return partners

    def _is_retained(self, applied: Applied) -> bool:
        """Returns whether a released row is among the last rows of its window, and in the retention."""
        window = self._match.windows[applied.side]
        retention = math.inf if window.retention is None else window.retention.us
        if applied.row.time < self._clocks.last_watermark(applied.side) - retention:
            return False
        mine = [it for it in self._released[applied.side] if keys_are_equal(it.row, applied.row)]
        if window.count is not None:
            return applied in mine[-window.count :]
        if window.retention_rows is not None:
            latest = sorted(mine, key=lambda it: it.row.time)  # stable: of equal time the last one released
            return applied in latest[-window.retention_rows :]
        return True


def _reaches(window: JoinWindow, row: Row, other: Row) -> bool:
    """Returns whether a window of time that ends at the other row contains a row, or the row is later."""
    return window.size is None or other.time - row.time <= window.size


def boundary(every: Every, at: int) -> int:
    """Returns the first boundary of an aligned period after an instant (semantics 16.14, 37.16).

    >>> from panewise import Every
    >>> [boundary(Every(10, aligned=True, offset=3), at) for at in (3, 4, 13)]
    [13, 13, 23]
    """
    return at + 1 + (every.offset.us - at - 1) % every.period.us
