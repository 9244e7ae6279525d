"""The inputs of the demo of joins."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl

from panewise.demo.flights import COLUMNS
from panewise.demo.join import inputs
from tests.demo.join.simulated import DAY, Pair


def test_the_year_in_figures(loaded: Pair) -> None:
    flights, weather = loaded
    assert flights.height == 336_776
    assert flights["scheduled"].null_count() == 0
    assert flights["dep_delay"].null_count() == 8_255
    assert weather.height == 26_115
    assert weather.select("origin", "observed").is_unique().all()
    assert weather["observed"].is_sorted()


def test_flights_are_those_of_the_first_demo(loaded: Pair, year: pl.DataFrame) -> None:
    flights, _ = loaded
    left = pl.col("dep_delay").is_not_null()
    assert flights.filter(left).equals(year.filter(left))
    assert flights.drop("scheduled").equals(year.drop("scheduled"))


def test_no_flight_leaves_a_day_late(loaded: Pair) -> None:
    """So the join's watermark delay of a day makes none late."""
    minutes = loaded[0].select((pl.col("known") - pl.col("scheduled")).dt.total_minutes())["known"]
    most, least = minutes.sort()[-1], minutes.sort()[0]
    assert most > 21 * 60
    assert most - least < 24 * 60


def test_batches_end_in_the_afternoon(loaded: Pair) -> None:
    for rows in loaded:
        arrived = inputs.in_batches(rows)
        ends = arrived["arrival"].unique().sort()
        assert ends[0] == datetime(2013, 1, 1, 22, tzinfo=UTC)
        assert set(ends.diff().drop_nulls()) == {inputs.STEP}
        assert arrived.filter(pl.col("known") >= pl.col("arrival")).height == 0
        assert arrived.filter(pl.col("known") < pl.col("arrival") - inputs.STEP).height == 0
        assert arrived.drop("arrival").equals(rows)


def test_what_becomes_known_at_a_cut_is_in_the_batch_after_it() -> None:
    at = datetime(2013, 1, 1, 22, tzinfo=UTC)
    rows = pl.DataFrame({"known": [at - timedelta(microseconds=1), at]})
    assert inputs.in_batches(rows, DAY)["arrival"].to_list() == [at, at + DAY]


def test_both_sides_have_a_file_for_each_batch(days: Pair, tmp_path: Path) -> None:
    flights, weather = days
    weather = weather.filter(pl.col("arrival") != weather["arrival"].max())  # a batch without weather
    ends = inputs.write(flights, weather, tmp_path)
    assert ends.to_list() == flights["arrival"].unique().sort().to_list()
    for name, rows, columns in (
        (inputs.FLIGHTS, flights, COLUMNS),
        (inputs.WEATHER, weather, inputs.OBSERVATION),
    ):
        files = sorted((tmp_path / name).iterdir())
        assert len(files) == ends.len()
        assert pl.concat([pl.read_parquet(path) for path in files]).equals(rows.select(columns))
