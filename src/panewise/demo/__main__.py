"""`python -m panewise.demo [FOLDER]`: runs the demo, checks its output, and draws a picture of it.

The exit status is 0 if all checks pass, else 1. The default folder is out/demo.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl

from panewise.demo import check, flights, job
from panewise.demo.run import run
from panewise.demo.show import Terminal, findings_table, present

OUTPUTS = ("panes", "late", "invalid", "counts", "checkpoint")


def main(folder: Path, terminal: Terminal) -> int:
    """Runs the demo with all files below `folder`, and returns the exit status."""
    with job.starting(folder / "spark.log") as session:
        from panewise.demo import explain  # noqa: PLC0415 - it loads Matplotlib, while Spark starts

        arrived = flights.in_batches(flights.load())
        flights.write(arrived, folder / "flights")
        files = arrived["batch"].n_unique()
        terminal.say(f"{arrived.height:,} flights in {files} files, in the order of their arrival")
        _stream(session, arrived, folder, terminal)
    outputs = check.read(folder)
    findings = check.verify(arrived, outputs)
    tables = [*explain.tables(outputs), findings_table(findings)]
    explain.write(arrived, outputs, folder, tables)
    return present(tables, findings, folder / "panes.png", terminal)


def _stream(session: job.AwaitSession, arrived: pl.DataFrame, folder: Path, terminal: Terminal) -> None:
    """Runs the query over the files."""
    ends = arrived.group_by("batch").agg(pl.col("arrival").first()).sort("batch")["arrival"]

    def query(on_batch: Callable[[int], None]) -> None:
        job.run(session(), folder / "flights", folder, on_batch)

    run(query, ends, [folder / name for name in OUTPUTS], folder / "spark.log", terminal)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/demo"), Terminal(sys.stdout)))
