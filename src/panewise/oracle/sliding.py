"""Sliding windows, from scratch: which of them a key's rows make (semantics 7 to 7.8).

Bounds are half-open here, too: the window [s, e] closed at both ends is [s, e + 1 microsecond).
"""

from collections.abc import Callable, Iterable

from panewise.chrono import Duration
from panewise.oracle.assign import Bounds, exists, finite, own_sliding
from panewise.oracle.rows import Row
from panewise.spec import Sliding

Key = tuple[object, ...]


class Slides:
    """The rows of every key that were applied, in arrival order.

    >>> sorted(made_by(Sliding(10), [0, 5]))
    [(-10, 1), (-5, 6)]
    """

    def __init__(self, window: Sliding) -> None:
        self._window = window
        self._rows: dict[Key, list[Row]] = {}

    def holding(self, row: Row) -> list[Bounds]:
        """The windows that hold a row once it is there, in order."""
        times = {row.time, *(other.time for other in self._rows.get(row.key, ()))}
        return sorted((bounds for bounds in made_by(self._window, times) if _holds(bounds, row)), key=finite)

    def take(self, row: Row, late: Callable[[Bounds], bool]) -> tuple[bool, list[Bounds], list[tuple[Bounds, list[Row]]]]:
        """Takes a row, unless it is late for all windows that would hold it (semantics 7.5).

        Returns:
            Whether it is applied; the windows that it misses; and every window of its key that is not late, with its rows in arrival order.
        """
        holding = self.holding(row)
        if all(late(bounds) for bounds in holding):
            return False, [own_sliding(self._window, row.time)], []
        rows = self._rows.setdefault(row.key, [])
        rows.append(row)
        windows = [bounds for bounds in made_by(self._window, {other.time for other in rows}) if not late(bounds)]
        filled = [(bounds, [other for other in rows if _holds(bounds, other)]) for bounds in windows]
        return True, [bounds for bounds in holding if late(bounds)], [(bounds, inside) for bounds, inside in filled if inside]


def made_by(window: Sliding, times: Iterable[int]) -> set[Bounds]:
    """The windows that rows at these times make, whether or not they hold any."""
    made: set[Bounds] = {own_sliding(window, t) for t in times}
    if window.anchor == "both" and isinstance(window.size, Duration):
        made |= {(t + 1, t + 1 + window.size.us + 1) for t in times}
    return {bounds for bounds in made if exists(bounds)}


def _holds(bounds: Bounds, row: Row) -> bool:
    start, end = finite(bounds)
    return start <= row.time < end
