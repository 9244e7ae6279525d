"""The next watermark at which something happens, while a trigger holds windows back."""

import polars as pl
import pytest

from panewise import (
    AfterAll,
    AfterCount,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterWatermark,
    Always,
    OrFinally,
    Repeatedly,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.spec.triggers.composite import Trigger
from panewise.state import MemoryRunStore

SCHEMA: dict[str, pl.DataType] = {"t": pl.Int64(), "v": pl.Int64()}
LATENESS, EXPIRY = 100, 110


class Stored:
    """An operator with windows of 10. If `sealed`, its state is stored and loaded after each step."""

    def __init__(self, late: Trigger, *, sealed: bool) -> None:
        spec = WindowOperator(
            window=Tumbling(10),
            event_time="t",
            aggregates=[F.count()],
            trigger=AfterWatermark(late=late),
            allowed_lateness=LATENESS,
        )
        library = RunLibrary(MemoryRunStore(), Cache())
        self._sealed, self._load = sealed, lambda: StoredOperator.load(spec, SCHEMA, library)
        self._stored = self._load()

    def step(self, *, time: int | None = None, watermark: int | None = None) -> int:
        """Adds a row, or moves the watermark; returns the number of panes."""
        operator = self._stored.operator
        output = (
            operator.advance(watermark=watermark)
            if time is None
            else operator.add(pl.DataFrame([{"t": time, "v": 1}], schema=SCHEMA))
        )
        if self._sealed:
            self._stored.commit()
            self._stored = self._load()
        return output.panes.height

    @property
    def next_due(self) -> int | None:
        return self._stored.operator.next_due()


BOTH = pytest.mark.parametrize("sealed", [False, True])


@BOTH
@pytest.mark.parametrize(
    ("late", "first", "second"),
    [
        (AfterAll(AfterEventTime(7), AfterEventTime(5)), 14, 15),
        (AfterAll(AfterEventTimeDelay(20), AfterEventTimeDelay(31)), 21, 32),
        (AfterAll(AfterEventTime(7), AfterEventTimeDelay(31)), 14, 32),
    ],
)
def test_a_deadline_that_is_held_back_hides_no_later_one(
    late: Trigger, first: int, second: int, sealed: bool
) -> None:
    """semantics 16.10, 16.17: the first part is ready and waits for the second, at which the window fires."""
    operator = Stored(late, sealed=sealed)
    operator.step(time=2)
    operator.step(watermark=10)
    operator.step(time=1)
    assert operator.next_due == first
    assert operator.step(watermark=first) == 0
    assert operator.next_due == second
    assert operator.step(watermark=second - 1) == 0
    assert operator.step(watermark=second) == 1
    assert operator.next_due == EXPIRY


@BOTH
def test_a_deadline_that_waits_for_rows_is_past(sealed: bool) -> None:
    """A part that only rows can make ready is due with no watermark (semantics 16.10)."""
    operator = Stored(AfterAll(AfterEventTimeDelay(20), AfterCount(2)), sealed=sealed)
    operator.step(time=2)
    operator.step(watermark=10)
    operator.step(time=1)
    operator.step(watermark=21)
    assert operator.next_due == EXPIRY
    assert operator.step(time=3) == 1


@BOTH
def test_a_deadline_counts_without_pending_rows(sealed: bool) -> None:
    """semantics 16.7, 16.17: the root fires without rows. The parts are then armed again."""
    late = OrFinally(Repeatedly(Always()), until=AfterEventTimeDelay(20))
    operator = Stored(late, sealed=sealed)
    operator.step(time=2)
    operator.step(watermark=10)
    assert operator.step(time=1) == 1
    assert operator.next_due == 21
    assert operator.step(watermark=21) == 0
    assert operator.next_due == EXPIRY
    assert operator.step(time=9) == 1
    assert operator.next_due == 29
