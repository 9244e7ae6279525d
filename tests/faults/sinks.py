"""Reads the sinks of a job in a form that can be compared row by row."""

from collections import Counter
from pathlib import Path

import polars as pl

# Columns that differ from run to run: no two runs have the same processing time.
LEFT_OUT = {"processing_time"}

Contents = dict[str, Counter[str]]


def contents(out: Path, files: int) -> Contents:
    """Returns the rows of each sink with the number of their micro-batch, and how often each occurs.

    Micro-batches without data come after the `files` batches with data. A restart can change their number by
    one, so they count as one batch.
    """
    return {kind.name: _rows(kind, files) for kind in sorted(out.iterdir()) if kind.name != "checkpoint"}


def _rows(kind: Path, files: int) -> Counter[str]:
    rows: Counter[str] = Counter()
    for batch in sorted(kind.glob("batch_id=*")):
        number = int(batch.name.removeprefix("batch_id="))
        frame = pl.read_parquet(batch / "part-*.parquet", hive_partitioning=False).drop(
            LEFT_OUT, strict=False
        )
        if kind.name.endswith(
            "counts"
        ):  # the shard that counts an invalid row depends on the task that reads it
            frame = frame.drop("shard").group_by("watermark").sum()
        rows.update(
            f"batch {number if number < files else 'end'} {row}" for row in frame.iter_rows(named=True)
        )
    return rows


def check_same(got: Contents, expected: Contents, story: object) -> None:
    """Asserts that the sinks contain the same rows, equally often; the message shows a few that differ."""
    assert sorted(got) == sorted(expected)
    for kind, rows in expected.items():
        missing, surplus = rows - got[kind], got[kind] - rows
        shown = "\n".join(
            [*(f"- {row}" for row in sorted(missing)[:5]), *(f"+ {row}" for row in sorted(surplus)[:5])]
        )
        assert got[kind] == rows, (
            f"{kind}: {missing.total()} missing, {surplus.total()} too many\n{shown}\n{story}"
        )
