"""Calendar windows: engine and oracle agree in every zone, and windows leave no gaps."""

from datetime import datetime
from zoneinfo import available_timezones

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import Calendar
from panewise.chrono import MAX_INSTANT, MIN_INSTANT, instant_us
from panewise.engine.columns import TIME
from panewise.engine.windowing.slicing import Slicing
from panewise.errors import SpecError
from panewise.oracle.windowing.assign import windows_of
from tests.engine.effort import examples

HOUR = 3_600_000_000


def _usable(zone: str) -> bool:
    try:
        Calendar("day", zone=zone)
    except SpecError:
        return False
    return True


ZONES = sorted(filter(_usable, available_timezones()))
CALENDARS = st.one_of(
    st.builds(
        Calendar,
        st.sampled_from(["day", "day", "month", "quarter", "year"]),
        st.integers(1, 40),
        st.sampled_from(ZONES),
    ),
    st.builds(
        Calendar,
        st.just("week"),
        st.integers(1, 5),
        st.sampled_from(ZONES),
        st.sampled_from(["monday", "sunday"]),
    ),
)
# Times of recent years, in which clocks change; of all years; and at the limits of 64 bits.
TIMES = st.one_of(
    st.integers(-130 * 366 * 24, 70 * 366 * 24).map(lambda hours: hours * HOUR),
    st.integers(-62_135_596_800, 253_402_300_800).map(lambda seconds: seconds * 1_000_000),
    st.sampled_from([MIN_INSTANT + 1, -1, 0, MAX_INSTANT]),
)


def sliced(calendar: Calendar, times: list[int]) -> list[list[tuple[int, int]]]:
    slicing = Slicing(calendar)
    return [
        slicing.windows(at)
        for at in slicing.slices(pl.DataFrame({TIME: times}, schema={TIME: pl.Int64})).to_list()
    ]


@examples(400)
@given(CALENDARS, st.lists(TIMES, min_size=1, max_size=6))
def test_engine_is_oracle(calendar: Calendar, times: list[int]) -> None:
    """Engine and oracle assign the same windows, also at and just before the bounds of the windows found."""
    times += [
        bound + off
        for t in times
        for found in windows_of(calendar, t, {})
        for bound in found
        if bound is not None
        for off in (-1, 0)
    ]
    assert sliced(calendar, times) == [windows_of(calendar, t, {}) for t in times]


@examples(100)
@given(CALENDARS, TIMES)
def test_there_are_no_gaps(calendar: Calendar, time: int) -> None:
    """Each window starts where the one before it ends (semantics 6.4)."""
    [found] = sliced(calendar, [time])
    for start, end in found:
        assert start <= time < end
        before, after = sliced(calendar, [start - 1, end])
        assert all(found_end == start for _, found_end in before)
        assert all(found_start == end for found_start, _ in after)


def test_each_change_of_clocks_of_some_zones() -> None:
    """Engine and oracle agree around all clock changes of past years with unusual changes (semantics 6.4)."""
    for zone, year in [
        ("America/Sao_Paulo", 2017),
        ("Africa/Cairo", 2010),
        ("America/St_Johns", 2006),
        ("Pacific/Apia", 2011),
    ]:
        start = instant_us(datetime.fromisoformat(f"{year}-01-01T00:00:00+00:00"))
        times = [start + n * HOUR // 2 - shift for n in range(0, 366 * 48, 5) for shift in (0, 1)]
        calendar = Calendar("day", zone=zone)
        assert sliced(calendar, times) == [windows_of(calendar, t, {}) for t in times]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
def test_dates_are_those_of_polars(zone: str) -> None:
    """Days start at the midnights of Polars, in zones that neither skip nor repeat midnight."""
    times = pl.Series(TIME, range(0, 50 * 365 * 24 * HOUR, 101 * HOUR))
    local = times.cast(pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    midnights = local.dt.truncate("1d").dt.epoch("us")
    starts = Slicing(Calendar("day", zone=zone)).slices(times.to_frame())
    assert starts.to_list() == midnights.to_list()


def test_no_rows() -> None:
    assert sliced(Calendar("day"), []) == []
