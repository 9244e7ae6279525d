"""`python -m panewise.demo [FOLDER]`: runs the demo, checks its output, and draws a picture of it.

The exit status is 0 if all checks hold, else 1. The default folder is out/demo.
"""

import shutil
import sys
from pathlib import Path
from time import monotonic

import polars as pl

from panewise.demo import check, explain, flights, job
from panewise.demo.show import Terminal, findings_table, lines
from panewise.spark.standard_error import log_to

OUTPUTS = ("panes", "late", "invalid", "counts", "checkpoint")


def main(folder: Path, terminal: Terminal) -> int:
    """Runs the demo with all files below `folder`, and returns the exit status."""
    arrived = flights.in_batches(flights.load())
    flights.write(arrived, folder / "flights")
    terminal.say(
        f"{arrived.height:,} flights in {arrived['batch'].n_unique()} files, in the order of their arrival"
    )
    _stream(arrived, folder, terminal)
    outputs = check.read(folder)
    findings = check.verify(arrived, outputs)
    tables = [*explain.tables(outputs), findings_table(findings)]
    explain.write(arrived, outputs, folder, tables)
    for table in tables:
        terminal.say("\n" + "\n".join(lines(table)))
    terminal.say(f"\npicture  {folder / 'panes.png'}\npage     {folder / 'index.html'}")
    return 0 if all(finding.passed for finding in findings) else 1


def _stream(arrived: pl.DataFrame, folder: Path, terminal: Terminal) -> None:
    """Removes earlier outputs, runs the query over the files, and shows its progress through the year."""
    for name in OUTPUTS:
        shutil.rmtree(folder / name, ignore_errors=True)
    ends = (
        arrived.group_by("batch")
        .agg(pl.col("arrival").first())
        .sort("batch")["arrival"]
        .dt.convert_time_zone(flights.ZONE.key)
    )
    begun = monotonic()

    def on_batch(number: int) -> None:
        done = min(number + 1, ends.len())
        terminal.progress(done, ends.len(), f"{ends[done - 1]:%d %B %H:%M}  {monotonic() - begun:.0f} s")

    terminal.say(f"Spark runs, each file is a micro-batch; Spark's own log is {folder / 'spark.log'}")
    with log_to(folder / "spark.log"):
        spark = job.session()
        job.run(spark, folder / "flights", folder, on_batch)
        spark.stop()
    terminal.say(f"done in {monotonic() - begun:.0f} s")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/demo"), Terminal(sys.stdout)))
