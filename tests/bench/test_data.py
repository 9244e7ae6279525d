"""bench.data: the same events every time, in files that Spark reads in order."""

from pathlib import Path

import polars as pl

from bench.data import cached


def test_events_are_made_once(tmp_path: Path) -> None:
    made = cached(1000, 3, tmp_path)
    times = [file.stat().st_mtime_ns for file in sorted(made.directory.iterdir())]
    assert cached(1000, 3, tmp_path) == made
    assert [file.stat().st_mtime_ns for file in sorted(made.directory.iterdir())] == times
    assert times == sorted(set(times))
    assert list(tmp_path.iterdir()) == [made.directory]


def test_a_million_events_last_a_minute_whatever_the_batch(tmp_path: Path) -> None:
    for batch_rows in (50_000, 100_000):
        events = cached(batch_rows, 3, tmp_path)
        ts = pl.read_parquet(events.directory)["ts"]
        assert len(ts) == events.rows
        span = (ts.max() - ts.min()).total_seconds()  # type: ignore[operator, union-attr]
        assert abs(span - events.rows * 60 / 1_000_000) < 2.1
        assert not ts.is_sorted()
