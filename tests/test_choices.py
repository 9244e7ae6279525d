"""Options that are one of several values, and flags."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import panewise as pw
from panewise import InputError, SpecError, functions, policies
from panewise.choices import is_choice
from panewise.standalone import AggregatorSettings, StandaloneOperator
from panewise.stores import (
    KeyedWindowedStorage,
    MemoryMap,
    MessageStore,
    SessionStore,
    TimeSeriesStore,
    WindowStore,
    message_key_layout,
)
from panewise.testing import TestStream, run

COUNT = [functions.count().alias("n")]
SIDES: dict[str, Any] = {"left": pw.Side(keys=["k"]), "right": pw.Side(keys=["k"], prefix="r_")}
SPEC = pw.WindowOperator(window=pw.Tumbling(10), aggregates=COUNT)
LAYOUT = message_key_layout("time", "aggregate")
SETTINGS: dict[str, Any] = {
    "measure": "time", "size": 10, "advance": 10, "retention_size": 10, "retention_time": 100,
}  # fmt: skip

CHOICES: list[Callable[[Any], object]] = [
    lambda value: pw.Sliding(5, anchor=value),
    lambda value: pw.Session(5, touching=value),
    lambda value: pw.Session(5, closed=value),
    lambda value: pw.Custom(lambda frame: [], name="mine", merge=value),
    lambda value: pw.WindowOperator(window=pw.Tumbling(10), aggregates=COUNT, allowed_lateness=value),
    lambda value: pw.JoinOperator(**SIDES, match=pw.Interval(0, 1), how=value),
    lambda value: pw.JoinWindow(early=value),
    lambda value: pw.DeduplicateOperator(keys=["k"], within=5, keep=value),
    lambda value: functions.collect_list("v", nulls=value),
    lambda value: policies.samza(early=value),
    lambda value: policies.samza(late=value),
    lambda value: AggregatorSettings(**SETTINGS | {"measure": value}),
    lambda value: AggregatorSettings(**SETTINGS, early=value),
    lambda value: StandaloneOperator(SPEC, {"event_time": "bigint"}, mode=value),
    lambda value: StandaloneOperator(SPEC, {"event_time": "bigint"}).finish(input=value),
    lambda value: StandaloneOperator(SPEC, {"event_time": "bigint"}).advance(watermark=1, input=value),
    lambda value: run(SPEC, [{"op": "watermark", "to": 1, "input": value}]),
    lambda value: run(SPEC, [], value),
    lambda value: TestStream(SPEC).play(value),
    lambda value: message_key_layout(value, "aggregate"),
]
FLAGS: list[Callable[[Any], object]] = [
    lambda value: pw.Hopping(5, 5, gaps=value),
    lambda value: pw.WindowOperator(window=pw.Tumbling(10), aggregates=COUNT, strict=value),
    lambda value: pw.CogroupOperator(**SIDES, window=pw.Tumbling(5), left_aggregates=COUNT, strict=value),
    lambda value: policies.apex(at_watermark=value),
    lambda value: policies.samza(late_aligned=value),
    lambda value: functions.lag("v", ignoreNulls=value),
    lambda value: WindowStore(100, 10, duplicates=value),
    lambda value: TimeSeriesStore(append=value),
    lambda value: MessageStore(LAYOUT, sessions=value),
    lambda value: WindowStore(100, 10).close(commit=value),
    lambda value: WindowStore(100, 10).all(backward=value),
    lambda value: WindowStore(100, 10).fetch("a", first=0, last=1, backward=value),
    lambda value: SessionStore(100).fetch("a", backward=value),
    lambda value: SessionStore(100).fetch_keys("a", "b", backward=value),
    lambda value: TimeSeriesStore().get("a", start=0, end=1, backward=value),
    lambda value: KeyedWindowedStorage().entries(backward=value),
    lambda value: MemoryMap().scan(backward=value),
]


@pytest.mark.parametrize("option", CHOICES)
@pytest.mark.parametrize("value", [np.array([1, 2]), pl.Series([1])], ids=["array", "series"])
def test_a_value_that_does_not_compare_is_no_choice(option: Callable[[Any], object], value: Any) -> None:
    with pytest.raises((SpecError, InputError)):
        option(value)


@pytest.mark.parametrize("option", FLAGS)
@pytest.mark.parametrize("value", ["no", 0, 1, None, np.array([1, 2])], ids=repr)
def test_a_flag_is_a_boolean(option: Callable[[Any], object], value: Any) -> None:
    """A text such as "False" would be true (semantics 15.34)."""
    with pytest.raises((SpecError, InputError), match=r"is True or False|hop > size requires"):
        option(value)


def test_choices_have_a_type() -> None:
    assert is_choice(value=True, choices=(True, False))
    assert not is_choice(1, (True, False))
    assert not is_choice(np.str_("left"), ("left",))
