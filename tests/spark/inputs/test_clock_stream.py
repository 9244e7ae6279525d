"""The offsets of the clock stream (semantics 12.7, 47.20)."""

import time

import pytest

from panewise.spark.inputs.clock_stream import ClockSource, _ClockReader

SECOND = 1_000_000


def reader(every: int) -> _ClockReader:
    made = ClockSource({"every": str(every)}).streamReader(None)
    assert isinstance(made, _ClockReader)
    return made


@pytest.fixture(autouse=True)
def at_25_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 25 * SECOND * 1000)


def test_the_first_micro_batch_has_a_row_and_the_next_one_none() -> None:
    clock = reader(10 * SECOND)
    start = clock.initialOffset()
    end = clock.latestOffset(start)
    assert (start, end) == ({"at": 10 * SECOND}, {"at": 20 * SECOND})
    assert len(clock.partitions(start, end)) == 1
    assert clock.partitions(end, clock.latestOffset(end)) == []


def test_an_offset_never_decreases() -> None:
    clock, ahead = reader(10 * SECOND), {"at": 40 * SECOND}
    assert clock.latestOffset(ahead) == ahead


def test_what_is_available_now_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 12.7"""
    clock = reader(10 * SECOND)
    clock.prepareForTriggerAvailableNow()
    monkeypatch.setattr(time, "time_ns", lambda: 41 * SECOND * 1000)
    assert clock.latestOffset({"at": 10 * SECOND}) == {"at": 20 * SECOND}
    assert clock.latestOffset({"at": 20 * SECOND}) == {"at": 20 * SECOND}


@pytest.mark.parametrize("every", [20 * SECOND, 8 * SECOND])
def test_another_interval_goes_on(monkeypatch: pytest.MonkeyPatch, every: int) -> None:
    """semantics 47.20"""
    stored, clock = reader(10 * SECOND).latestOffset(), reader(every)
    monkeypatch.setattr(time, "time_ns", lambda: 41 * SECOND * 1000)
    assert clock.latestOffset(stored) == {"at": 40 * SECOND}
    assert len(clock.partitions(stored, clock.latestOffset(stored))) == 1


def test_offsets_of_earlier_releases() -> None:
    """semantics 48.13"""
    clock = reader(10 * SECOND)
    assert clock.partitions({"tick": 2}, clock.latestOffset({"tick": 2})) == []
    assert len(clock.partitions({"tick": 1}, clock.latestOffset({"tick": 1}))) == 1


def test_offsets_of_earlier_releases_and_a_longer_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 47.20: they lie in the future if they are taken for intervals of the new length."""
    clock = reader(20 * SECOND)
    end = clock.latestOffset({"tick": 2})
    assert clock.partitions({"tick": 2}, end) == []
    monkeypatch.setattr(time, "time_ns", lambda: 41 * SECOND * 1000)
    assert len(clock.partitions(end, clock.latestOffset(end))) == 1
