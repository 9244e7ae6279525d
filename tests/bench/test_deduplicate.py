"""The rows of the comparison of deduplications: half are copies of rows not long before."""

from datetime import timedelta

import polars as pl

from bench.deduplicate import frame


def test_half_of_the_rows_are_copies() -> None:
    rows = pl.concat([frame(batch, 2000) for batch in range(3)])
    assert rows.height == 6000
    assert 2990 < rows["k"].n_unique() <= 3001
    last = rows.group_by("k").agg(pl.col("ts").max() - pl.col("ts").min())["ts"].max()
    assert timedelta(0) < last < timedelta(minutes=3)  # type: ignore[operator]
