"""The inputs of the tutorial: one day of the data of the demos, in files of two hours each."""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import polars as pl

from panewise.demo.flights import STORM, ZONE
from panewise.demo.join import inputs

FOLDER = Path("out/tutorial")
FLIGHTS, WEATHER = FOLDER / inputs.FLIGHTS, FOLDER / inputs.WEATHER
START = datetime.combine(STORM, time(4), ZONE).astimezone(UTC)
FILES, STEP = 14, timedelta(hours=2)


def write(folder: Path = FOLDER) -> None:
    """Writes `flights/` and `weather/` below `folder`: those of 8 March 2013, the day of a snow storm.

    Each has 14 files, one for each two hours in which rows became known, from 4:00 in New York on.
    """
    flights, weather = (_in_files(rows) for rows in inputs.load())
    on_that_day = pl.col("scheduled").dt.convert_time_zone(ZONE.key).dt.date() == STORM
    left = pl.col("dep_delay").is_not_null()
    inputs.write(flights.filter(on_that_day).with_columns(pl.when(left).then("scheduled")), weather, folder)


def _in_files(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds `arrival`, the end of the file of a row, and leaves out the rows of other days."""
    numbers = (pl.col("known") - pl.lit(START)).dt.total_microseconds() // (STEP // timedelta(microseconds=1))
    end = pl.lit(START) + (numbers + 1) * pl.lit(STEP)
    return rows.with_columns(arrival=end).filter(numbers.is_between(0, FILES - 1))
