"""Stored rows of a join as Python objects."""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from panewise.engine.tables.copied_tables import Row


class JoinRow(NamedTuple):
    """A stored row of a side.

    Attributes:
        time: its event time, 0 without one.
        number: a number by arrival. If a row has a lower number than another one, it arrived first.
        key: the values of its keys.
        values: its values in the selected columns of its side. Those of either side are of the left one.
    """

    time: int
    number: int
    key: Row
    values: Row


@dataclass(slots=True)
class RowsOfKey:
    """The rows of a key of a side, in the order of time, of equal times in arrival order."""

    times: list[int] = field(default_factory=list)
    rows: list[JoinRow] = field(default_factory=list)

    def insert(self, row: JoinRow) -> None:
        """Adds a row, which arrived after all others."""
        times, time = self.times, row.time
        if not times or time >= times[-1]:
            times.append(time)
            self.rows.append(row)
            return
        place = bisect_right(times, time)
        times.insert(place, time)
        self.rows.insert(place, row)

    def trim(self, count: int) -> None:
        """Removes so many of the first rows."""
        del self.times[:count], self.rows[:count]
