"""What a query reads and stores: rows, keys and durations, and the number of stored entries that follow.

An entry is what an operator stores a row for: a window of a key, a session, a row that waits, a key. The
numbers are upper bounds of the mean, where every key is as frequent as the others. After the end of its
window a row is stored until the watermark has passed it: for the watermark delay, the allowed lateness,
and one micro-batch, as the watermark moves after it.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from panewise.errors import SetupError


@dataclass(frozen=True)
class Workload:
    """An operator and its input. Durations are in seconds.

    Attributes:
        operator: one of `OPERATORS`.
        rows_per_second: the rate of the input in the busiest minutes; of a join that of both sides together.
        keys: the number of keys that occur within a window, its delay and lateness.
        window: the size of windows, the gap of sessions, the range of a frame, the duration in which rows are
            duplicates, or the length of the interval of a join.
        slide: the time between the starts of windows. Default: `window`.
        delay: the watermark delay.
        lateness: the allowed lateness.
        batch: the time between the starts of two micro-batches.

    Raises:
        SetupError: for values that no query can have.
    """

    operator: str
    rows_per_second: float
    keys: float
    window: float = 0.0
    slide: float | None = None
    delay: float = 10.0
    lateness: float = 0.0
    batch: float = 10.0

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            rule = f"costs are known of the operators {', '.join(OPERATORS)}"
            raise SetupError(f"operator={self.operator!r}", rule, "give the one that stores the same")
        for valid, field, rule, remedy in self._checks():
            if not valid:
                raise SetupError(field, rule, remedy)

    def _checks(self) -> Iterator[tuple[bool, str, str, str]]:
        """Yields whether a field is valid, and the parts of the error if it is not."""
        rate, rule = self.rows_per_second, "a stream has more than 0 rows a second"
        yield 0 < rate < math.inf, f"rows_per_second={rate:g}", rule, "give the rate of the busiest minutes"
        rule = "a stream has a key or more"
        yield 1 <= self.keys < math.inf, f"keys={self.keys:g}", rule, "give 1 if rows have none"
        rule, remedy = "a micro-batch takes time", "give such as 10 seconds"
        yield self.batch > 0, f"batch={self.batch:g} s", rule, remedy
        for name, seconds in (("delay", self.delay), ("lateness", self.lateness)):
            yield 0 <= seconds < math.inf, f"{name}={seconds:g} s", f"the {name} is 0 or more", remedy
        frame, window = self.operator == "over", f"window={self.window:g} s"
        rule = "the range of a frame is 0 or more" if frame else "the length of windows is above 0"
        valid = 0 < self.window < math.inf or (frame and self.window == 0)
        yield valid, window, rule, "give the window"
        if self.slide is not None:
            slide, rule = f"slide={self.slide:g} s", "only the operators 'windows' and 'values' have a slide"
            yield self.operator in SLIDING, f"{slide}, operator={self.operator!r}", rule, "leave it out"
            rule, remedy = "a slide is above 0, and at most the window", "give a smaller slide"
            yield 0 < self.slide <= self.window, f"{slide}, {window}", rule, remedy

    @property
    def windows_of_a_row(self) -> float:
        """In how many windows a row is."""
        return self.window / self.slide if self.slide else 1.0

    @property
    def entries(self) -> float:
        """The number of stored entries."""
        return OPERATORS[self.operator].entries(self)

    @property
    def changed(self) -> float:
        """The number of entries that a micro-batch changes, or adds."""
        return OPERATORS[self.operator].changed(self)

    @property
    def rows(self) -> float:
        """The rows of a micro-batch."""
        return self.rows_per_second * self.batch

    @property
    def stay(self) -> float:
        """For how long after its end a window stays."""
        return self.delay + self.lateness + self.batch

    @property
    def hop(self) -> float:
        """The time between the starts of two windows."""
        return self.slide or self.window


@dataclass(frozen=True)
class _Entries:
    """How many entries an operator stores, and what a micro-batch changes of it."""

    entries: Callable[[Workload], float]
    changed: Callable[[Workload], float]


def _windows(load: Workload) -> float:
    return (load.window + load.stay) / load.hop * min(load.keys, load.rows_per_second * load.window)


def _changed_windows(load: Workload) -> float:
    return min(
        load.keys * (load.window + load.delay + load.batch) / load.hop, load.rows * load.windows_of_a_row
    )


def _sessions(load: Workload) -> float:
    return _sessions_of(load, load.stay)


def _changed_sessions(load: Workload) -> float:
    return min(_sessions_of(load, load.delay + load.batch), load.rows)


def _sessions_of(load: Workload, after: float) -> float:
    """Returns the number of sessions that are open, or have ended in the last seconds.

    The rows of a key are independent of each other, so a row begins a session with the probability that
    none came in the gap before it, exp(-rows in a gap). Sessions are most numerous if a key has one row
    in a gap. Beyond that they merge, which the number does not count on.
    """
    rows = load.rows_per_second / load.keys * load.window
    begins = min(rows, 1.0) * math.exp(-min(rows, 1.0)) / load.window  # of a key in a second
    return float(load.keys) * (1 - math.exp(-rows) + begins * after)


def _rows(load: Workload) -> float:
    return load.rows_per_second * (load.window + load.stay) * load.windows_of_a_row


def _added_rows(load: Workload) -> float:
    return load.rows * load.windows_of_a_row


OPERATORS: Final[Mapping[str, _Entries]] = {
    "windows": _Entries(_windows, _changed_windows),
    "sessions": _Entries(_sessions, _changed_sessions),
    "values": _Entries(_rows, _added_rows),
    "over": _Entries(lambda load: _rows(load) + load.keys, _added_rows),
    "deduplicate": _Entries(lambda load: min(load.keys, _rows(load)), lambda load: min(load.keys, load.rows)),
    "join": _Entries(_rows, _added_rows),
}
SLIDING: Final = ("windows", "values")
