"""Checks the demo's output: Polars computes everything again from the input rows, without the engine."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import polars as pl

WINDOW = "1h"
SIZE, LATENESS = timedelta(hours=1), timedelta(hours=2)
PARTS = ("applied", "replays", "late", "invalid")
PANE = ("origin", "window_start")
TOLERANCE = 1e-9  # relative; the same doubles are added in another order


@dataclass(frozen=True)
class PaneOutputs:
    """The four outputs of the query as frames."""

    panes: pl.DataFrame
    late: pl.DataFrame
    invalid: pl.DataFrame
    counts: pl.DataFrame


@dataclass(frozen=True)
class Finding:
    """The result of one check: what was checked, whether it passed, and the figures."""

    what: str
    passed: bool
    figures: str


def read(folder: Path) -> PaneOutputs:
    """Reads the outputs of the query below `folder`: a directory `batch_id=N` for each micro-batch."""
    return PaneOutputs(*(read_output(folder / name) for name in ("panes", "late", "invalid", "counts")))


def read_output(folder: Path) -> pl.DataFrame:
    """Returns one output of a query, with the column `batch_id`."""
    frame = pl.read_parquet(folder / "**" / "*.parquet", hive_partitioning=True)
    times = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
    # Spark's Parquet files contain instants in UTC, even if the column type has no time zone.
    return frame.with_columns(
        pl.col(name).cast(pl.Datetime("us")).dt.replace_time_zone("UTC") for name in times
    )


def watermarks(outputs: PaneOutputs) -> pl.DataFrame:
    """Returns the watermark in force for the rows of each micro-batch that had rows.

    It is that of the micro-batch before (semantics 18.3); `counts` has the watermark after each micro-batch.
    `batch` numbers these micro-batches from 0, as the input files are numbered. `batch_id` is Spark's number.
    """
    each = outputs.counts.group_by("batch_id").agg(pl.col("rows_in").sum(), pl.col("watermark").max())
    return (
        each.sort("batch_id")
        .with_columns(pl.col("watermark").shift(1))
        .filter(pl.col("rows_in") > 0)
        .with_row_index("batch")
        .with_columns(pl.col("batch").cast(pl.Int64))
    )


def late_ids(outputs: PaneOutputs) -> pl.Series:
    """Returns the ids of the rows that were late for all their windows."""
    return outputs.late.filter(~pl.col("partial"))["row"].struct.field("id")


def verify(arrived: pl.DataFrame, outputs: PaneOutputs) -> list[Finding]:
    """Checks the outputs against the input, and returns one finding for each check.

    Args:
        arrived: the flights, with the number of the `batch` in which each arrived.
        outputs: the outputs of the query.
    """
    applied = arrived.filter(
        pl.col("scheduled").is_not_null() & ~pl.col("id").is_in(late_ids(outputs).implode())
    )
    findings = (_outputs_match_counts, _invalid_are_cancelled, _late_by_watermark)
    by_input = [finding(arrived, outputs) for finding in findings]
    balance = accounting(outputs.counts, arrived.height)
    return [balance, *by_input, *_panes_match_batch(applied, outputs.panes)]


def accounting(counts: pl.DataFrame, rows: int, name: str = "rows") -> Finding:
    """Checks that the counts of an input account for all its rows.

    Args:
        counts: the counts of all micro-batches.
        rows: the number of rows of the input.
        name: what the rows are called.
    """
    total = {column: int(counts[column].sum()) for column in ("rows_in", *PARTS)}
    passed = total["rows_in"] == sum(total[part] for part in PARTS) == rows
    figures = f"{total['rows_in']:,} = " + " + ".join(f"{total[part]:,} {part}" for part in PARTS)
    return Finding(f"{name} in = applied + replays + late + invalid", passed, figures)


def _outputs_match_counts(arrived: pl.DataFrame, outputs: PaneOutputs) -> Finding:
    late, invalid = late_ids(outputs), outputs.invalid["row"].struct.field("id")
    written = pl.concat([late, invalid])
    counted = int(outputs.counts["late"].sum()) + int(outputs.counts["invalid"].sum())
    passed = (
        written.is_unique().all()
        and written.len() == counted
        and written.is_in(arrived["id"].implode()).all()
    )
    return Finding(
        "late and invalid rows are in their outputs, each once",
        passed,
        f"{late.len():,} late, {invalid.len():,} invalid",
    )


def _invalid_are_cancelled(arrived: pl.DataFrame, outputs: PaneOutputs) -> Finding:
    cancelled = arrived.filter(pl.col("scheduled").is_null())["id"]
    invalid, reasons = outputs.invalid["row"].struct.field("id"), outputs.invalid["reason"].unique().to_list()
    passed = set(invalid) == set(cancelled) and reasons == ["event time is null"]
    return Finding(
        "the invalid rows are the cancelled flights",
        passed,
        f"{invalid.len():,}, reason: {', '.join(reasons)}",
    )


def _late_by_watermark(arrived: pl.DataFrame, outputs: PaneOutputs) -> Finding:
    """Checks that a row is late if, and only if, its window had expired.

    A window has expired if the watermark in force has reached its end plus the lateness (semantics 13, 13.1).
    """
    clock = watermarks(outputs)
    rows = arrived.join(clock.select("batch", "watermark"), on="batch", how="left")
    expiry = pl.col("scheduled").dt.truncate(WINDOW) + SIZE + LATENESS
    expected = rows.filter(pl.col("watermark") >= expiry)["id"]
    passed = clock.height == arrived["batch"].n_unique() and set(expected) == set(late_ids(outputs))
    return Finding(
        "exactly the rows whose window had expired are late", passed, f"{expected.len():,} by the watermarks"
    )


def _panes_match_batch(applied: pl.DataFrame, panes: pl.DataFrame) -> Iterator[Finding]:
    windows = applied.group_by("origin", pl.col("scheduled").dt.truncate(WINDOW).alias("window_start"))
    expected = windows.agg(flights=pl.len().cast(pl.Int64), mean_delay=pl.col("dep_delay").mean())
    both = expected.join(latest(panes), on=PANE, how="full", coalesce=True, suffix="_seen")
    same = pl.col("flights").eq_missing(pl.col("net_flights"))
    wrong = both.filter(~same).height
    figures = (
        f"{both.height:,} windows, {wrong:,} differ; {applied.height:,} flights, panes {panes_sum(panes):,}"
    )
    yield Finding(
        "sum over + less sum over − = batch count of the applied rows",
        wrong == 0 and panes_sum(panes) == applied.height,
        figures,
    )
    apart = (pl.col("mean_delay") - pl.col("mean_delay_seen")).abs() / pl.max_horizontal(
        1.0, pl.col("mean_delay").abs()
    )
    largest = both.select(apart.fill_null(float("inf")).max()).item()
    yield Finding(
        "last pane of each window = batch mean of the applied rows",
        largest <= TOLERANCE,
        f"largest difference {largest:.1e}",
    )


def _signed_flights() -> pl.Expr:
    return pl.when(pl.col("op") == "+").then(pl.col("flights")).otherwise(-pl.col("flights"))


def panes_sum(panes: pl.DataFrame) -> int:
    """Returns the number of flights in all `+` panes, minus the number in all `-` panes."""
    return int(panes.select(_signed_flights().sum()).item())


def latest(panes: pl.DataFrame) -> pl.DataFrame:
    """Returns for each window the flights net of retractions, and the mean delay of its last `+` pane."""
    net = panes.group_by(PANE).agg(net_flights=_signed_flights().sum())
    last = panes.filter(pl.col("op") == "+").sort("index").group_by(PANE).agg(pl.col("mean_delay").last())
    return net.join(last, on=PANE, how="left")
