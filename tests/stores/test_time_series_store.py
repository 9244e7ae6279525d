"""The time series store against a list, in memory and in a directory."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panewise import InputError
from panewise.chrono import MAX_INSTANT
from panewise.stores import TimedValue, TimeSeriesStore

KEYS = st.sampled_from([b"k", b"k\x00", b"kk", "k", "kk"])
TIMES = st.integers(0, 6)
STEPS = st.lists(
    st.tuples(st.just("put"), KEYS, TIMES, st.integers(0, 9))
    | st.tuples(st.sampled_from(["get", "delete", "backward"]), KEYS, TIMES, st.integers(0, 4))
)


@pytest.mark.parametrize("append", [True, False])
@given(steps=STEPS)
def test_steps(append: bool, steps: list[Any]) -> None:
    """semantics 34.16, 34.17"""
    check(TimeSeriesStore(append=append), append, steps)


@settings(max_examples=20)
@given(append=st.booleans(), first=STEPS, second=STEPS)
def test_steps_with_a_restart(
    tmp_path_factory: pytest.TempPathFactory, append: bool, first: Any, second: Any
) -> None:
    """semantics 34, 34.16"""
    directory = tmp_path_factory.mktemp("store") / "s"
    model: list[tuple[Any, int, int]] = []
    for steps in (first, second):
        with TimeSeriesStore(append=append, directory=directory) as store:
            check(store, append, steps, model)


def check(
    store: TimeSeriesStore, append: bool, steps: list[Any], model: list[tuple[Any, int, int]] | None = None
) -> None:
    model = [] if model is None else model
    for step, key, time, value in steps:
        if step == "put":
            if not append:
                model[:] = [one for one in model if one[:2] != (key, time)]
            store.put(key, value, time=time)
            model.append((key, time, value))
            model.sort(key=lambda one: one[1])
            continue
        inside = [one for one in model if one[0] == key and time <= one[1] < time + value]
        if step == "delete":
            assert store.delete(key, start=time, end=time + value) == len(inside)
            model[:] = [one for one in model if one not in inside]
        else:
            expected = [TimedValue(one[1], one[2]) for one in inside]
            backward = step == "backward"
            with store.get(key, start=time, end=time + value, backward=backward) as entries:
                assert list(entries) == (expected[::-1] if backward else expected)


def test_a_hundred_values_at_two_times() -> None:
    """semantics 34.16"""
    store = TimeSeriesStore()
    for _ in range(100):
        store.put("hello", b"world-1", time=1)
        store.put("hello", b"world-2", time=2)
    assert [entry.value for entry in store.get("hello", start=0, end=2)] == [b"world-1"] * 100
    assert [entry.value for entry in store.get("hello", start=2, end=4)] == [b"world-2"] * 100


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda store: store.get("a", start=-1, end=5), "the times of a time series are from 1970 on"),
        (lambda store: store.delete("a", start=-5, end=-1), "the times of a time series are from 1970 on"),
        (lambda store: store.put("a", 1, time=-1), "the times of a time series are from 1970 on"),
        (lambda store: store.get("a", start=5, end=4), "the end of a range is not before its start"),
        (lambda store: store.delete("a", start=5, end=4), "the end of a range is not before its start"),
        (lambda store: store.put(None, 1, time=1), "a key is not null"),
        (lambda store: store.put("a", None, time=1), "a time series has no null values"),
    ],
)
def test_what_is_refused(call: Any, rule: str) -> None:
    """semantics 34.17"""
    store = TimeSeriesStore()
    with pytest.raises(InputError) as caught:
        call(store)
    assert caught.value.rule == rule
    assert caught.value.remedy


@pytest.mark.parametrize("append", [True, False])
def test_the_last_instant(append: bool, directory: Path | None) -> None:
    """semantics 34.17: as an end it is no bound, so a value at it is read and deleted."""
    with TimeSeriesStore(append=append, directory=directory) as store:
        for key in ("a", "aa"):
            store.put(key, key, time=MAX_INSTANT - 1)
            store.put(key, key, time=MAX_INSTANT)
        assert len(list(store.get("a", start=0, end=MAX_INSTANT))) == 2
        assert list(store.get("a", start=MAX_INSTANT, end=MAX_INSTANT)) == [TimedValue(MAX_INSTANT, "a")]
        assert list(store.get("a", start=0, end=MAX_INSTANT - 1)) == []
        assert store.delete("a", start=MAX_INSTANT, end=MAX_INSTANT) == 1
        assert len(list(store.get("aa", start=0, end=MAX_INSTANT))) == 2


def test_a_snapshot(tmp_path: Path) -> None:
    """semantics 34.3"""
    for directory in (None, tmp_path / "s"):
        with TimeSeriesStore(append=False, directory=directory) as store:
            store.put("a", 1, time=1)
            entries = store.get("a", start=0, end=5)
            store.put("a", 2, time=1)
            store.put("a", 3, time=2)
            assert list(entries) == [TimedValue(1, 1)]
