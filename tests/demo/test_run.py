"""The run of a demo's query: earlier outputs go, and its progress is shown."""

import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from panewise.demo.run import run
from panewise.demo.show import Terminal


def test_a_run_starts_afresh_and_shows_how_far_it_is(tmp_path: Path) -> None:
    output, kept, log = tmp_path / "panes", tmp_path / "flights", tmp_path / "spark.log"
    for folder in (output, kept):
        folder.mkdir()

    def query(on_batch: Callable[[int], None]) -> None:
        assert not output.exists()
        on_batch(0)
        on_batch(2)  # the micro-batch after the last file ends the input

    printed = io.StringIO()
    ends = pl.Series([datetime(2013, 1, 1, 22, tzinfo=UTC), datetime(2013, 7, 1, 21, tzinfo=UTC)])
    run(query, ends, [output, tmp_path / "checkpoint"], log, Terminal(printed, every=1))
    first, *progress, last = printed.getvalue().splitlines()
    assert first.endswith(f"Spark's own log is {log}")
    assert [line.split()[1:5] for line in progress] == [
        ["1/2", "01", "January", "17:00"],
        ["2/2", "01", "July", "17:00"],
    ]
    assert last.startswith("done in ")
    assert kept.exists()
