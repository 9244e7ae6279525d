"""The windows of slices are those that plain arithmetic gives by semantics 6 to 6.2."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import TIME
from panewise.engine.windowing.slicing import Slicing

TIMES = st.one_of(
    st.integers(-60, 60), st.sampled_from([MIN_INSTANT + 1, MIN_INSTANT + 40, MAX_INSTANT, MAX_INSTANT - 40])
)
SIZES = st.integers(1, 20)


def windows_of(slicing: Slicing, time: int) -> list[tuple[int, int]]:
    at = slicing.slices(pl.DataFrame({TIME: [time]}, schema={TIME: pl.Int64})).to_list()[0]
    return slicing.windows(at)


def existing(windows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(start, end) for start, end in windows if start >= MIN_INSTANT and end <= MAX_INSTANT]


@given(TIMES, SIZES, st.integers(-30, 30))
def test_tumbling(time: int, size: int, origin: int) -> None:
    """A row is in the one window of `Tumbling` that contains it (semantics 6)."""
    n = (time - origin) // size
    assert windows_of(Slicing(pw.Tumbling(size, origin)), time) == existing(
        [(origin + n * size, origin + (n + 1) * size)]
    )


@given(TIMES, SIZES, SIZES, st.integers(-30, 30))
def test_hopping(time: int, size: int, hop: int, origin: int) -> None:
    """A row is in all windows of `Hopping` that contain it, or in none if it is in a gap (semantics 6.1)."""
    n = (time - origin) // hop
    expected = [(origin + k * hop, origin + k * hop + size) for k in range(n - size // hop - 1, n + 1)]
    found = windows_of(Slicing(pw.Hopping(size, hop, origin, gaps=hop > size)), time)
    assert found == existing([(start, end) for start, end in expected if start <= time < end])


@given(TIMES, st.integers(1, 5), st.integers(1, 6), st.integers(-30, 30))
def test_cumulating(time: int, step: int, steps: int, origin: int) -> None:
    """A row is in all windows of `Cumulating` that contain it (semantics 6.2)."""
    size = step * steps
    start = origin + (time - origin) // size * size
    expected = [(start, start + k * step) for k in range(1, steps + 1) if time < start + k * step]
    assert windows_of(Slicing(pw.Cumulating(size, step, origin)), time) == existing(expected)


def test_many_rows_at_once_as_each_alone() -> None:
    """The slice of a row does not depend on the other rows."""
    slicing = Slicing(pw.Hopping(10, 3, 1))
    times = pl.DataFrame({TIME: list(range(-50, 50))})
    alone = [slicing.slices(times[n : n + 1]).item() for n in range(100)]
    assert slicing.slices(times).to_list() == alone
    far = pl.concat([times, pl.DataFrame({TIME: [MAX_INSTANT]})])
    assert slicing.slices(far).to_list()[:100] == alone
