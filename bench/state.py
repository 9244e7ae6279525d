"""How long `panewise state` takes to read a large state, and the memory it has: `python -m bench.state`.

A query stores one window for each key. Then the command reads the checkpoint in a process of its own.
"""

import argparse
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from bench import data, flat, ours, session
from bench.measure import seconds_of
from bench.measured_process import measured

KEYS = 14_400_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What a call of the command took.

    Attributes:
        seconds: the time of the process.
        resident_mb: the most memory that it had.
        text: what it printed.
    """

    seconds: float
    resident_mb: float
    text: str


def fill(spark: SparkSession, given: data.Events, parent: Path) -> Path:
    """Runs a query whose state has a window for each key of :func:`flat.events`; returns its checkpoint."""
    folder, checkpoint = parent / "in", parent / "checkpoint"
    folder.mkdir()
    files = sorted(given.directory.iterdir())[: given.batches - flat.BATCHES]
    for file in files:
        shutil.copy2(file, folder / file.name)
    events = data.Events(folder, flat.FILL_ROWS, len(files))
    seconds_of(ours.query(session.read(spark, events), flat.WINDOW), "append", str(checkpoint))
    return checkpoint


def read(checkpoint: Path, *options: str) -> Reading:
    """Calls the command, and waits for its end.

    Raises:
        CalledProcessError: if it fails.
    """
    with tempfile.TemporaryFile() as printed:
        taken = measured(["-m", "panewise", "state", str(checkpoint), *options], printed)
        printed.seek(0)
        return Reading(taken.seconds, taken.resident_mb, printed.read().decode())


def main() -> None:
    """Fills a state, and reads its last micro-batch and an earlier one."""
    parser = argparse.ArgumentParser(prog="python -m bench.state", description="What reading a state takes.")
    parser.add_argument("--keys", type=int, default=KEYS, help="the number of windows; default: %(default)s")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as parent:
        spark = session.start()
        checkpoint = fill(spark, flat.events(asked.keys), Path(parent))
        spark.stop()
        for options in ((), ("--batch", "0")):
            found = read(checkpoint, *options)
            name = " ".join(options) or "last micro-batch"
            print(f"{name}: {found.seconds:.1f} s, {found.resident_mb:.0f} MB")
            print(*(line for line in found.text.splitlines() if line.strip().startswith("total")), flush=True)


if __name__ == "__main__":
    main()
