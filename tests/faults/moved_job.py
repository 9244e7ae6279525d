"""Runs an operator in two parts. Between them its state is moved to another checkpoint, or it is changed.

``python -m tests.faults.moved_job SOURCE OUT MASTER SPEC job.way=moved job.first=FILES [KEY=VALUE ...]``,
or ``job.way=changed``. FILES is how many files the first part has. A KEY is a setting of Spark, or
``job.checkpoints`` as of job. The tests kill this process and start it again. It goes on where it was: the
file of an exported state, and marks beside it, say how far it came.
"""

import os
import sys
from pathlib import Path
from typing import Literal

from pyspark.sql import SparkSession

from panewise.checkpoints.export import export_checkpoint
from panewise.spark import configure
from panewise.spec import parts
from tests.faults.job import CONF, Asked, begin
from tests.faults.specs import ALL, CHANGED
from tests.faults.specs import SECOND as SECOND_SPECS

Way = Literal["moved", "changed"]
FIRST, SECOND = "first", "second"  # the folders of the sinks; a changed query has only the first one
ENDED, STATE, BEGINS = "first-ended", "exported.state", "second-begins"
SHARDS = "3"  # of the checkpoint that begins with the state, unless an operator has one shard


def run(spark: SparkSession, source: str, out: str, name: str, way: Way, first: int) -> None:
    """Runs the query over the first files, moves or changes it, and runs it over the others."""
    files, folder = sorted(Path(source).glob("*.parquet")), Path(out)
    folder.mkdir(exist_ok=True)
    inputs = _linked(files[:first], folder / "in")
    if not (folder / ENDED).exists():
        begin(spark, str(inputs), f"{out}/{FIRST}", name, Asked("never")).awaitTermination()
        (folder / ENDED).touch()
    if way == "changed":
        inputs = _linked(files[first:], folder / "in")
        (folder / BEGINS).touch()
        begin(spark, str(inputs), f"{out}/{FIRST}", name, changed=CHANGED[name]).awaitTermination()
        return
    if not (folder / STATE).exists():
        export_checkpoint(f"{out}/{FIRST}/checkpoint", folder / STATE)
    inputs = _linked(files[first:], folder / "in-second")
    (folder / BEGINS).touch()
    asked, state = Asked(shards=shards_of(name)), str(folder / STATE)
    begin(spark, str(inputs), f"{out}/{SECOND}", name, asked, initial_state=state).awaitTermination()


def shards_of(name: str) -> str:
    """Returns the number of shards of the checkpoint that begins with the state of a query.

    >>> shards_of("evictor"), shards_of("chain")
    ('3', '1')
    """
    specs = [ALL[name], *([SECOND_SPECS[name]] if name in SECOND_SPECS else [])]
    return SHARDS if all(parts(spec).one_shard(spec) is None for spec in specs) else "1"


def _linked(files: list[Path], folder: Path) -> Path:
    """Adds files to a folder, each at once."""
    folder.mkdir(exist_ok=True)
    for path in files:
        if not (folder / path.name).exists():
            os.link(path, folder / path.name)
    return folder


def main(source: str, out: str, master: str, name: str, *settings: str) -> None:
    values: dict[str, str] = {**CONF, **dict(setting.split("=", 1) for setting in settings)}
    way, first = values.pop("job.way"), int(values.pop("job.first"))
    checkpoints = values.pop("job.checkpoints", "anywhere")
    builder = SparkSession.builder.master(master).appName(f"panewise {way} {name}")
    for key, value in values.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=checkpoints == "local")
    run(spark, source, out, name, "moved" if way == "moved" else "changed", first)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
