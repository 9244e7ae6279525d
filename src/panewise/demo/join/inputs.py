"""The inputs of the demo of joins: the flights of 2013, and the hourly weather at their airports.

A flight becomes known when it leaves, up to 22 hours after its scheduled departure; a cancelled one at its
scheduled departure. An observation of the weather becomes known at its hour. Some hours have none.
"""

from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import polars as pl

from panewise.demo.flights import COARSE_HOUR, COLUMNS, FIRST_DAY, ZONE, load_planned, read_table, write_files

FLIGHTS, WEATHER = "flights", "weather"  # the folders of the files
OBSERVATION = ("origin", "observed", "visibility", "wind", "rain")
START = datetime.combine(FIRST_DAY, time(COARSE_HOUR), ZONE).astimezone(UTC)  # the first file ends here
STEP = timedelta(days=28)


def load() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the flights and the weather, each in the order in which it became known.

    Visibility is in miles, wind in miles an hour, rain (also melted snow) in inches in the hour. `observed`
    is UTC.

    Raises:
        InputError: if the times of the package do not agree with each other.
    """
    raw = read_table("weather.csv", wind_speed=pl.Float64, precip=pl.Float64, visib=pl.Float64)
    weather = raw.select(
        "origin",
        observed=pl.col("time_hour").str.to_datetime(time_unit="us", time_zone="UTC"),
        visibility="visib",
        wind="wind_speed",
        rain="precip",
    )
    weather = weather.with_columns(known="observed")
    return load_planned(), weather.sort("observed", "origin")


def in_batches(rows: pl.DataFrame, step: timedelta = STEP) -> pl.DataFrame:
    """Adds `arrival`, the end of the batch in which a row arrives. A batch is as long as `step`.

    A row that becomes known at a cut is in the batch after it.
    """
    length = step // timedelta(microseconds=1)
    number = (pl.col("known") - START).dt.total_microseconds().floordiv(length) + 1
    return rows.with_columns(arrival=pl.lit(START) + pl.duration(microseconds=number * length))


def write(flights: pl.DataFrame, weather: pl.DataFrame, folder: Path) -> pl.Series:
    """Writes both inputs below `folder`, one Parquet file for each batch. Returns the ends of the batches.

    Both have equally many files, so that those of one batch are read by one micro-batch. A file may be empty.
    """
    ends = pl.concat([flights["arrival"], weather["arrival"]]).unique().sort()
    for name, rows, columns in ((FLIGHTS, flights, COLUMNS), (WEATHER, weather, OBSERVATION)):
        batches = (rows.filter(pl.col("arrival") == end).select(columns) for end in ends)
        write_files(batches, folder / name)
    return ends
