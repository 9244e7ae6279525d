"""The sliding windows that the rows of a key make, computed anew for every row (semantics 7 to 7.8).

Bounds are half-open here: the window [s, e] closed at both ends is [s, e + 1 microsecond) (semantics 7.2).
"""

from collections.abc import Callable, Iterable

from panewise.chrono import Duration
from panewise.oracle.rows import Row
from panewise.oracle.windowing.assign import Bounds, exists, finite, own_sliding
from panewise.spec import Sliding

Key = tuple[object, ...]


class Slides:
    """The applied rows of every key, in arrival order.

    >>> sorted(made_by(Sliding(10), [0, 5]))
    [(-10, 1), (-5, 6)]
    """

    def __init__(self, window: Sliding) -> None:
        self._window = window
        self._rows: dict[Key, list[Row]] = {}

    def windows_containing(self, row: Row) -> list[Bounds]:
        """Returns the windows that contain a row once it is stored, by start and end (semantics 7.5)."""
        times = {row.time, *(other.time for other in self._rows.get(row.key, ()))}
        return sorted(
            (bounds for bounds in made_by(self._window, times) if _contains(bounds, row)), key=finite
        )

    @property
    def rows(self) -> list[Row]:
        """The applied rows of all keys."""
        return [row for of_key in self._rows.values() for row in of_key]

    def rows_in(self, key: Key, bounds: Bounds) -> list[Row]:
        """Returns the applied rows of a key that a window contains."""
        return [row for row in self._rows.get(key, ()) if _contains(bounds, row)]

    def take(
        self, row: Row, late: Callable[[Bounds], bool]
    ) -> tuple[bool, list[Bounds], list[tuple[Bounds, list[Row]]]]:
        """Stores a row, unless it is late for all windows that would contain it (semantics 7.5, 7.6).

        Args:
            row: the row.
            late: whether a row is late for a window with these bounds.

        Returns:
            Whether the row was applied. The windows for which it is late. If it was applied, also all windows
            of its key that have not expired and contain rows, each with its rows in arrival order.
        """
        containing = self.windows_containing(row)
        if all(late(bounds) for bounds in containing):
            return False, [own_sliding(self._window, row.time)], []
        rows = self._rows.setdefault(row.key, [])
        rows.append(row)
        windows = [
            bounds for bounds in made_by(self._window, {other.time for other in rows}) if not late(bounds)
        ]
        filled = [(bounds, [other for other in rows if _contains(bounds, other)]) for bounds in windows]
        return (
            True,
            [bounds for bounds in containing if late(bounds)],
            [(bounds, inside) for bounds, inside in filled if inside],
        )


def made_by(window: Sliding, times: Iterable[int]) -> set[Bounds]:
    """Returns the windows that rows at these times may make. Some of them may contain no row.

    With `anchor="both"` the second window of a row exists only if it contains a row (semantics 7). The caller
    tests that.
    """
    windows: set[Bounds] = {own_sliding(window, t) for t in times}
    if window.anchor == "both" and isinstance(window.size, Duration):
        windows |= {(t + 1, t + 1 + window.size.us + 1) for t in times}
    return {bounds for bounds in windows if exists(bounds)}


def _contains(bounds: Bounds, row: Row) -> bool:
    start, end = finite(bounds)
    return start <= row.time < end
