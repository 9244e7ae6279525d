"""Runs one operator over a directory of files to its end. The tests kill this process and start it again.

``python -m tests.faults.job SOURCE OUT MASTER SPEC spark.local.dir=FOLDER [KEY=VALUE ...]``. A KEY is a
setting of Spark, or ``job.`` and a field of Asked. Spark has its own directories in FOLDER.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from panewise.spark import ParquetSink, WindowQuery, apply, configure
from panewise.spec import Specification
from tests.faults.processes import wait_until
from tests.faults.specs import ALL, JOINS, SECOND, STATIC, WITHOUT_LATE_ROWS
from tests.faults.stream_files import DDL
from tests.jvm import QUICK_JVM

CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": QUICK_JVM,
    "spark.executor.extraJavaOptions": QUICK_JVM,
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.log.level": "ERROR",
}


@dataclass(frozen=True)
class Asked:
    """The options of a job, given as job.finish=never and so on.

    With `fails_at`, the sink of panes fails in that micro-batch, as soon as snapshots of the state exist.
    With `checkpoints` "local", the session is configured for local checkpoints, which Spark writes in another
    way. With `mirror` "read-only", the directory of the mirror cannot be written to.
    """

    finish: str = "at_end"
    shards: str = ""
    fails_at: str = ""
    checkpoints: str = "anywhere"
    mirror: str = "writable"


def begin(
    spark: SparkSession,
    source: str,
    out: str,
    name: str,
    asked: Asked = Asked(),
    *,
    changed: Specification | None = None,
    initial_state: str | None = None,
) -> WindowQuery:
    """Starts or resumes the query of a specification, or of what that is `changed` to."""
    stream = (
        spark.readStream.schema(DDL)
        .option("maxFilesPerTrigger", 1)
        .parquet(source)
        .withWatermark("ts", "20 seconds")
    )
    inputs: Any = stream
    kinds: tuple[str, ...] = ("panes", "counts", "late", "invalid")
    if name in WITHOUT_LATE_ROWS:
        kinds = ("panes", "counts")
    if name in JOINS:
        # Spark reads both sides from one source. So the cuts of both are the same.
        table = spark.read.schema(DDL).parquet(source) if name in STATIC else stream
        inputs = {"left": stream.where("id % 2 = 0"), "right": table.where("id % 2 = 1")}
        if name in STATIC:
            inputs["right"] = inputs["right"].where("ts IS NOT NULL")
        with_outputs = ("left",) if name in STATIC else ("left", "right")
        kinds = ("panes", *(f"{side}_{kind}" for side in with_outputs for kind in kinds[1:]))
    if name in SECOND:
        kinds = ("panes", "counts", "late", "invalid")
    sinks: dict[str, Any] = {kind: ParquetSink(f"{out}/{kind}") for kind in kinds}
    if asked.fails_at:
        sinks["panes"] = FailingSink(sinks["panes"], Path(out), int(asked.fails_at))
    shards = int(asked.shards) if asked.shards else None
    finish: Any = "at_end" if asked.finish == "at_end" and name not in SECOND else "never"
    result: Any = apply(inputs, changed or ALL[name], finish=finish, shards=shards)
    if name in SECOND:
        result = apply(result, SECOND[name], finish="never", shards=shards)
    sinks[result.OUTPUT] = sinks.pop("panes")
    return result.write(
        **sinks, checkpoint=f"{out}/checkpoint", available_now=True, initial_state=initial_state
    )


@dataclass(frozen=True)
class FailingSink:
    """Fails in one micro-batch, after the snapshots of its state are stored and before it is committed."""

    sink: ParquetSink
    out: Path
    batch: int

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        if batch_id == self.batch:
            state = self.out / "checkpoint" / "state" / "0"
            assert wait_until(lambda: len(list(state.glob(f"*/{batch_id + 1}.zip"))) == 2, 60), "no snapshots"
            raise RuntimeError("the sink fails after the snapshots")
        self.sink(rows, batch_id)


def where_panewise_is(spark: SparkSession) -> list[str]:
    """Returns the files that `import panewise` finds in the Python workers."""

    def look(frames: Iterable[Any]) -> Iterator[Any]:
        import panewise

        for frame in frames:
            yield frame.assign(path=panewise.__file__)[["path"]]

    found = spark.range(0, 4, 1, 4).mapInPandas(look, "path STRING").distinct().collect()
    return sorted(row.path for row in found)


def report_panewise(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Prints where the workers find panewise, if the settings ship it to them."""
    if "spark.submit.pyFiles" in settings:
        sys.stdout.write(f"panewise in workers: {' '.join(where_panewise_is(spark))}\n")
        sys.stdout.flush()


def main(source: str, out: str, master: str, name: str, *settings: str) -> None:
    given = {**CONF, **dict(setting.split("=", 1) for setting in settings)}
    asked = Asked(
        **{key.removeprefix("job."): given.pop(key) for key in tuple(given) if key.startswith("job.")}
    )
    builder = SparkSession.builder.master(master).appName(f"panewise {name}")
    for key, value in given.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=asked.checkpoints == "local")
    report_panewise(spark, given)
    blocked = [
        blocks / "panewise"
        for blocks in Path(given["spark.local.dir"]).glob("blockmgr-*")
        if asked.mirror == "read-only"
    ]
    assert blocked or asked.mirror != "read-only", "no directory of Spark's to take the mirror's place in"
    for place in blocked:
        place.mkdir(mode=0o555)
    begin(spark, source, out, name, asked).awaitTermination()
    assert not [copy for place in blocked for copy in place.iterdir()], (
        "something was written where nothing can be"
    )
    spark.stop()
    sys.stdout.write("ended well\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
