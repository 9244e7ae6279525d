"""Runs queries over several operators in one application. The tests kill its processes.

``python -m tests.faults.together_job SOURCE OUT MASTER WAY.SPEC,WAY.SPEC [KEY=VALUE ...]``. A WAY is "plain",
or one of moved_job. Each query has the folder OUT/queries/WAY.SPEC. A KEY is a setting of Spark,
``job.checkpoints`` as of job, or ``job.first`` as of moved_job, whose ways need it.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from panewise.spark import configure
from tests.faults.job import CONF, begin
from tests.faults.moved_job import run as run_in_parts
from tests.faults.supervised import supervise
from tests.jvm import QUICK_JVM

QUERIES = "queries"  # the folder of all queries
# For each file on a local disk Hadoop starts chmod, a process: a third of the time of a round.
# Without the second compiler the code cache has 48 MB. The plans of many queries fill it, and the JVM would
# compile no more.
_QUICK = f"{QUICK_JVM} -Djdk.lang.Process.launchMechanism=VFORK -XX:ReservedCodeCacheSize=256m"
SESSION = {
    **CONF,
    "spark.driver.extraJavaOptions": _QUICK,
    "spark.executor.extraJavaOptions": _QUICK,
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.driver.memory": "3g",  # for the plans of many queries
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.task.maxFailures": "20",  # of a cluster; the count of a local master stands in its name
}


def session(master: str, values: dict[str, str], connectors: tuple[str, ...] = ()) -> SparkSession:
    """Returns a session with settings of Spark. "local" checkpoints are those on a local disk."""
    given = {**SESSION, **values}
    local = given.pop("job.checkpoints", "anywhere") == "local"
    builder = SparkSession.builder.master(master).appName("panewise rounds")
    for key, value in given.items():
        builder = builder.config(key, value)
    return configure(builder.getOrCreate(), local_checkpoints=local, connectors=connectors)


def query(spark: SparkSession, source: str, folder: Path, first: int) -> Callable[[], None]:
    """Returns what runs the query that has a folder, to its end."""
    way, _, name = folder.name.partition(".")
    if way in {"moved", "changed"}:
        return partial(run_in_parts, spark, source, str(folder), name, way, first)
    return lambda: begin(spark, source, str(folder), name).awaitTermination()


def main(source: str, out: str, master: str, names: str, *settings: str) -> None:
    values = dict(setting.split("=", 1) for setting in settings)
    first = int(values.pop("job.first", "0"))
    spark = session(master, values)
    folder = Path(out) / QUERIES
    folder.mkdir(parents=True, exist_ok=True)
    supervise(Path(out), {name: query(spark, source, folder / name, first) for name in names.split(",")})
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
