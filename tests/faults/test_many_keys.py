"""Five million keys on Spark: after kill -9 and a restart each key has the right pane, in bounded memory."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.faults.processes import kill_job, python_workers, wait_until
from tests.faults.rounds import ROOT, bury
from tests.faults.stream_files import START

pytestmark = pytest.mark.soak

KEYS, OF_A_FILE = 5_000_000, 500_000
SOME = 10  # each file after the first ones has every tenth key
MORE_FILES = 3
HOUR = 3600
# MB of one Python worker, with half a million rows in a micro-batch, and with the panes of all keys in the
# last one
MEMORY = 800


class Peak:
    """The maximum of the anonymous memory of a job's Python workers. Memory-mapped files do not count."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.megabytes = 0.0

    def look(self) -> None:
        for one in python_workers([self._process.pid]):
            try:
                status = Path(f"/proc/{one.pid}/status").read_text(encoding="ascii", errors="replace")
            except OSError:  # it has ended meanwhile
                continue
            for line in status.splitlines():
                if line.startswith("RssAnon"):
                    self.megabytes = max(self.megabytes, int(line.split()[1]) / 1024)


def files() -> list[pl.DataFrame]:
    """Returns files with each key once, then files with some keys again. Keys are far apart and unordered."""
    numbers = pl.int_range(KEYS, eager=True)
    first = [numbers[at : at + OF_A_FILE] for at in range(0, KEYS, OF_A_FILE)]
    again = [numbers.gather_every(SOME, offset) for offset in range(MORE_FILES)]
    return [_rows(file, place) for place, file in enumerate([*first, *again])]


def _rows(numbers: pl.Series, place: int) -> pl.DataFrame:
    n = pl.col("n")
    at = pl.lit(START) + pl.duration(seconds=n % 80_000, time_unit="us")
    return numbers.to_frame("n").select(
        at.alias("ts"), (n * 2_654_435_761 % 2**40).alias("k"), (n % 1_000 + place).alias("v")
    )


def test_five_million_keys_through_a_restart(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    given = files()
    for number, rows in enumerate(given):
        path = source / f"{number:04}.parquet"
        rows.write_parquet(path)
        os.utime(path, (number + 1, number + 1))
    first = start(tmp_path)
    commits = tmp_path / "checkpoint" / "commits"
    all_keys = KEYS // OF_A_FILE
    peaks = [run(tmp_path, first, lambda: (commits / str(all_keys)).exists())]
    assert len(list(commits.glob("[0-9]*"))) < len(given)
    second = start(tmp_path)
    peaks.append(run(tmp_path, second, lambda: False))
    (tmp_path / "peaks").write_text(str(peaks), encoding="utf-8")
    check(tmp_path, given)
    assert max(peaks) < MEMORY, peaks


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.faults.many_keys_job", str(folder)]
    with (folder / "printed").open("ab") as printed:
        return subprocess.Popen(
            command, cwd=ROOT, env=os.environ, stdout=printed, stderr=printed, start_new_session=True
        )


def run(folder: Path, process: subprocess.Popen[bytes], killed: Callable[[], bool]) -> float:
    """Runs a job until it ends well or `killed()` is true; returns the maximum memory of a worker in MB."""
    peak = Peak(process)

    def done() -> bool:
        peak.look()
        return killed() or process.poll() is not None

    try:
        assert wait_until(done, HOUR)
        if process.poll() is None:
            kill_job(process)
        else:
            assert process.returncode == 0, (folder / "printed").read_text(errors="replace")[-4000:]
    finally:
        bury(process)
    return peak.megabytes


def check(folder: Path, given: list[pl.DataFrame]) -> None:
    """Checks that each key has one pane, equal to that of a batch query, and that each row counts once."""
    expected = (
        pl.concat(given)
        .group_by("k")
        .agg(n=pl.len().cast(pl.Int64), s=pl.col("v").sum(), most=pl.col("v").max())
        .sort("k")
    )
    panes = _written(folder / "panes").select("k", "n", "s", "most", "timing", "index", "is_last")
    assert panes.select("timing", "index", "is_last").unique().rows() == [("ON_TIME", 0, True)]
    assert panes.select("k", "n", "s", "most").sort("k").equals(expected)
    counts = _written(folder / "counts").select("rows_in", "applied", "late", "invalid").sum().row(0)
    rows = sum(map(len, given))
    assert counts == (rows, rows, 0, 0)


def _written(folder: Path) -> pl.DataFrame:
    return pl.concat(
        [
            pl.read_parquet(path, hive_partitioning=False)
            for path in sorted(folder.glob("batch_id=*/part-*.parquet"))
        ]
    )
