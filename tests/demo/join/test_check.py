"""The checks of the demo of joins pass for right outputs, and each fails if what it reads is wrong."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from panewise.demo.join.check import (
    COUNTS,
    INVALID,
    LATE,
    JoinOutputs,
    SideOutputs,
    joined_at_once,
    read,
    verify,
)
from panewise.demo.join.inputs import FLIGHTS, WEATHER
from tests.demo.join.simulated import Pair

FLIGHTS_IN, WEATHER_IN, REJECTED, ONCE, ALONE, VALUES, SUMS = range(7)
FIRST = pl.int_range(pl.len()) == 0
ONE = FIRST.cast(pl.Int64)


def broken(days: Pair, outputs: JoinOutputs) -> set[int]:
    return {number for number, finding in enumerate(verify(*days, outputs)) if not finding.passed}


def test_right_outputs_pass(days: Pair, outputs: JoinOutputs) -> None:
    assert days[0].height > 2500
    assert outputs.joined.filter(pl.col("missing") == "right").height > 10
    assert broken(days, outputs) == set()


def _changed(outputs: JoinOutputs, at: pl.Expr, **values: pl.Expr) -> JoinOutputs:
    """Returns outputs in which the joined rows `at` have other values."""
    other = (pl.when(at).then(value).otherwise(pl.col(name)).alias(name) for name, value in values.items())
    return replace(outputs, joined=outputs.joined.with_columns(*other))


def _uncounted(side: SideOutputs) -> SideOutputs:
    return replace(side, counts=side.counts.with_columns(applied=pl.col("applied") - ONE))


def _flight_uncounted(outputs: JoinOutputs) -> JoinOutputs:
    return replace(outputs, flights=_uncounted(outputs.flights))


def _observation_uncounted(outputs: JoinOutputs) -> JoinOutputs:
    return replace(outputs, weather=_uncounted(outputs.weather))


def _late_flight_not_counted(outputs: JoinOutputs) -> JoinOutputs:
    late = pl.DataFrame({"row": [{"origin": "EWR"}]})
    return replace(outputs, flights=replace(outputs.flights, late=late))


def _invalid_observation_lost(outputs: JoinOutputs) -> JoinOutputs:
    counts = outputs.weather.counts.with_columns(applied=pl.col("applied") - ONE, invalid=ONE)
    return replace(outputs, weather=replace(outputs.weather, counts=counts))


def _one(outputs: JoinOutputs) -> pl.Expr:
    """Returns the condition that selects a flight that left late and has weather."""
    rows = outputs.joined.filter((pl.col("dep_delay") > 0) & (pl.col("wind") > 0))
    return pl.col("id") == rows["id"][0]


def _flight_lost(outputs: JoinOutputs) -> JoinOutputs:
    return replace(outputs, joined=outputs.joined.filter(~_one(outputs)))


def _flight_twice(outputs: JoinOutputs) -> JoinOutputs:
    return replace(outputs, joined=pl.concat([outputs.joined, outputs.joined.filter(_one(outputs))]))


def _retracted(outputs: JoinOutputs) -> JoinOutputs:
    return _changed(outputs, FIRST, op=pl.lit("-"))


def _not_said_to_be_alone(outputs: JoinOutputs) -> JoinOutputs:
    return _changed(outputs, pl.col("missing") == "right", missing=pl.lit(None, pl.String))


def _other_hour(outputs: JoinOutputs) -> JoinOutputs:
    return _changed(outputs, _one(outputs), observed=pl.col("observed") - pl.duration(hours=1))


def _delay_off(outputs: JoinOutputs) -> JoinOutputs:
    return _changed(outputs, _one(outputs), dep_delay=pl.col("dep_delay") + 1)


def _wind_off(outputs: JoinOutputs) -> JoinOutputs:
    return _changed(outputs, _one(outputs), wind=pl.col("wind") + 1e-3)


WRONG: list[tuple[Callable[[JoinOutputs], JoinOutputs], set[int]]] = [
    (_flight_uncounted, {FLIGHTS_IN}),
    (_observation_uncounted, {WEATHER_IN}),
    (_late_flight_not_counted, {REJECTED}),
    (_invalid_observation_lost, {REJECTED}),
    (_flight_lost, {ONCE, VALUES, SUMS}),
    (_flight_twice, {ONCE, SUMS}),
    (_retracted, {ONCE}),
    (_not_said_to_be_alone, {ALONE}),
    (_other_hour, {VALUES}),
    (_delay_off, {SUMS}),
    (_wind_off, {VALUES, SUMS}),
]


@pytest.mark.parametrize(("spoil", "expected"), WRONG, ids=[spoil.__name__.strip("_") for spoil, _ in WRONG])
def test_wrong_outputs_are_found(
    days: Pair, outputs: JoinOutputs, spoil: Callable[[JoinOutputs], JoinOutputs], expected: set[int]
) -> None:
    assert broken(days, spoil(outputs)) == expected


def test_inputs_that_were_not_read_are_found(days: Pair, outputs: JoinOutputs) -> None:
    more = tuple(pl.concat([rows, rows.tail(1)]) for rows in days)
    assert FLIGHTS_IN in broken((more[0], days[1]), outputs)
    assert WEATHER_IN in broken((days[0], more[1]), outputs)


def test_weather_is_at_most_two_hours_old() -> None:
    at = datetime(2013, 3, 8, 12, tzinfo=UTC)
    scheduled = [at + timedelta(minutes=one) for one in (-1, 0, 59, 120, 121)]
    flights = pl.DataFrame({"id": range(6), "origin": [*["EWR"] * 5, "JFK"], "scheduled": [*scheduled, at]})
    values = {"visibility": [10.0], "wind": [5.0], "rain": [0.0]}
    weather = pl.DataFrame({"origin": ["EWR"], "observed": [at], **values})
    found = joined_at_once(flights, weather).sort("id")
    assert found["observed"].to_list() == [None, at, at, at, None, None]


def test_outputs_are_read_from_folders(outputs: JoinOutputs, tmp_path: Path) -> None:
    frames = {"joined": outputs.joined}
    for side, of in ((FLIGHTS, outputs.flights), (WEATHER, outputs.weather)):
        frames |= {f"{side}_{kind}": getattr(of, kind) for kind in (LATE, INVALID, COUNTS)}
    for name, frame in frames.items():
        folder = tmp_path / name / "batch_id=0"
        folder.mkdir(parents=True)
        frame.write_parquet(folder / "part-0.parquet")
    back = read(tmp_path)
    assert back.joined.drop("batch_id").equals(outputs.joined)
    assert back.flights.counts.drop("batch_id").equals(outputs.flights.counts)
    assert back.weather.counts.drop("batch_id").equals(outputs.weather.counts)
    assert back.flights.late.height == back.weather.invalid.height == 0
