"""The demo's checks pass for right outputs, and each fails if the output that it reads is wrong."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from panewise.demo.check import PaneOutputs, latest, read, verify, watermarks

ACCOUNTING, WRITTEN, INVALID, LATE, COUNTS, MEANS = range(6)


def broken(arrived: pl.DataFrame, outputs: PaneOutputs) -> set[int]:
    return {number for number, finding in enumerate(verify(arrived, outputs)) if not finding.passed}


def test_right_outputs_pass(arrived: pl.DataFrame, outputs: PaneOutputs) -> None:
    assert outputs.late.height > 50
    assert outputs.panes.filter(pl.col("op") == "-").height > 200
    assert broken(arrived, outputs) == set()


def _first(column: str, change: int) -> pl.Expr:
    """Returns the column with its first value changed."""
    return pl.when(pl.int_range(pl.len()) == 0).then(pl.col(column) + change).otherwise(pl.col(column))


def _rows_uncounted(outputs: PaneOutputs) -> PaneOutputs:
    return replace(outputs, counts=outputs.counts.with_columns(applied=_first("applied", -1)))


def _late_row_lost(outputs: PaneOutputs) -> PaneOutputs:
    return replace(outputs, late=outputs.late.slice(1))


def _late_row_twice(outputs: PaneOutputs) -> PaneOutputs:
    return replace(outputs, late=pl.concat([outputs.late, outputs.late.head(1)]))


def _other_reason(outputs: PaneOutputs) -> PaneOutputs:
    return replace(outputs, invalid=outputs.invalid.with_columns(reason=pl.lit("gap")))


def _watermark_jumps(outputs: PaneOutputs) -> PaneOutputs:
    return replace(outputs, counts=outputs.counts.with_columns(pl.col("watermark") + pl.duration(hours=3)))


def _pane_lost(outputs: PaneOutputs) -> PaneOutputs:
    return replace(outputs, panes=outputs.panes.filter(pl.int_range(pl.len()) != 100))


def _retraction_lost(outputs: PaneOutputs) -> PaneOutputs:
    first = outputs.panes.with_row_index("at").filter(pl.col("op") == "-")["at"][0]
    return replace(outputs, panes=outputs.panes.filter(pl.int_range(pl.len()) != first))


def _mean_off(outputs: PaneOutputs) -> PaneOutputs:
    last = pl.col("index") == pl.col("index").max().over("origin", "window_start")
    return replace(
        outputs,
        panes=outputs.panes.with_columns(
            pl.when(last).then(pl.col("mean_delay") + 1e-3).otherwise("mean_delay").alias("mean_delay")
        ),
    )


WRONG: list[tuple[Callable[[PaneOutputs], PaneOutputs], set[int]]] = [
    (_rows_uncounted, {ACCOUNTING}),
    (_late_row_lost, {WRITTEN, LATE, COUNTS, MEANS}),
    (_late_row_twice, {WRITTEN}),
    (_other_reason, {INVALID}),
    (_watermark_jumps, {LATE}),
    (_retraction_lost, {COUNTS}),
    (_mean_off, {MEANS}),
]


@pytest.mark.parametrize(("spoil", "expected"), WRONG, ids=[spoil.__name__.strip("_") for spoil, _ in WRONG])
def test_wrong_outputs_are_found(
    arrived: pl.DataFrame,
    outputs: PaneOutputs,
    spoil: Callable[[PaneOutputs], PaneOutputs],
    expected: set[int],
) -> None:
    assert broken(arrived, spoil(outputs)) == expected


def test_a_lost_pane_is_found(arrived: pl.DataFrame, outputs: PaneOutputs) -> None:
    assert COUNTS in broken(arrived, _pane_lost(outputs))


def test_latest_is_what_remains_after_retractions() -> None:
    panes = pl.DataFrame(
        {
            "origin": ["EWR"] * 3,
            "window_start": [0] * 3,
            "flights": [3, 3, 5],
            "mean_delay": [1.0, 1.0, 2.0],
            "index": [0, 0, 1],
            "op": ["+", "-", "+"],
        }
    )
    assert latest(panes).select("net_flights", "mean_delay").row(0) == (5, 2.0)


def test_batches_without_rows_are_not_numbered(outputs: PaneOutputs) -> None:
    idle = outputs.counts.head(1).with_columns(rows_in=pl.lit(0, pl.Int64), batch_id=pl.lit(10_000, pl.Int64))
    with_idle = replace(outputs, counts=pl.concat([idle, outputs.counts]))
    assert watermarks(with_idle)["batch"].to_list() == watermarks(outputs)["batch"].to_list()


def test_outputs_are_read_from_folders(outputs: PaneOutputs, tmp_path: Path) -> None:
    for name in ("panes", "late", "invalid", "counts"):
        frame: pl.DataFrame = getattr(outputs, name)
        # As Spark may write it: no zone, nanoseconds.
        times = [column for column, kind in frame.schema.items() if isinstance(kind, pl.Datetime)]
        frame = frame.with_columns(
            pl.col(column).dt.replace_time_zone(None).dt.cast_time_unit("ns") for column in times
        )
        for batch, rows in enumerate((frame.head(5), frame.slice(5))):
            folder = tmp_path / name / f"batch_id={batch}"
            folder.mkdir(parents=True)
            rows.drop("batch_id", strict=False).write_parquet(folder / "part-0.parquet")
    back = read(tmp_path)
    assert back.panes.drop("batch_id").equals(outputs.panes.drop("batch_id"))
    assert back.counts.drop("batch_id").equals(outputs.counts.drop("batch_id"))
    assert back.panes["batch_id"].to_list() == [0] * 5 + [1] * (outputs.panes.height - 5)
