"""`python -m panewise.demo.join [FOLDER]`: joins flights and weather, checks the result, and draws a picture.

The exit status is 0 if all checks pass, else 1. The default folder is out/demo-join.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl

from panewise.demo import job as sessions
from panewise.demo.join import check, inputs, job
from panewise.demo.run import run
from panewise.demo.show import Terminal, findings_table, present


def main(folder: Path, terminal: Terminal) -> int:
    """Runs the demo with all files below `folder`, and returns the exit status."""
    with sessions.starting(folder / "spark.log") as session:
        from panewise.demo.join import explain  # noqa: PLC0415 - it loads Matplotlib, while Spark starts

        flights, weather = map(inputs.in_batches, inputs.load())
        ends = inputs.write(flights, weather, folder)
        terminal.say(
            f"{flights.height:,} flights and {weather.height:,} observations of the weather, "
            f"each in {ends.len()} files, in the order of their arrival"
        )
        _stream(session, ends, folder, terminal)
    outputs = check.read(folder)
    findings = check.verify(flights, weather, outputs)
    tables = [*explain.tables(outputs), findings_table(findings)]
    explain.write(outputs, folder, tables)
    return present(tables, findings, folder / "delays.png", terminal)


def _stream(session: sessions.AwaitSession, ends: pl.Series, folder: Path, terminal: Terminal) -> None:
    """Runs the join over the files."""

    def query(on_batch: Callable[[int], None]) -> None:
        job.run(session(), folder, folder, on_batch)

    outputs = [folder / name for name in (*check.OUTPUTS, "checkpoint")]
    run(query, ends, outputs, folder / "spark.log", terminal)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/demo-join"), Terminal(sys.stdout)))
