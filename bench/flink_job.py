"""Runs one Flink job over the event files: `flink_job.py QUERY DIRECTORY PARALLELISM STATE`.

It prints seconds as JSON. `python -m bench.flink` runs it in .venv-flink, whose libraries clash with those of
panewise, so it imports nothing of panewise. The files are read before the clock starts, and Flink gets them
as Arrow; its output is discarded. STATE is heap, rocksdb, or memory, which has no checkpoints. The job runs
twice and the second run counts. The time that the job takes to start is subtracted.
"""

import json
import sys
import tempfile
import time
from typing import Any

import pyarrow.parquet as pq
from pyflink.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from pyflink.table.expressions import col, row_interval
from pyflink.table.window import Tumble

_EVENT = DataTypes.ROW([DataTypes.FIELD("k", DataTypes.BIGINT()), DataTypes.FIELD("v", DataTypes.BIGINT())])
_TIMED = "SELECT k, v, PROCTIME() AS arrived FROM events"
_PRECEDING = (
    "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY arrived ROWS BETWEEN 2 PRECEDING AND "
    "CURRENT ROW) AS s FROM timed"
)


def rows(tables: TableEnvironment) -> Table:
    """Returns windows of 100 rows of a key: the number of rows, the sum of v, the largest v."""
    windows = tables.from_path("timed").window(Tumble.over(row_interval(100)).on(col("arrived")).alias("w"))
    v = col("v")
    return windows.group_by(col("w"), col("k")).select(
        col("k"), v.count.alias("n"), v.sum.alias("s"), v.max.alias("m")
    )


def over(tables: TableEnvironment) -> Table:
    """Returns for each row the sum of v over it and the two rows of its key before it."""
    return tables.sql_query(_PRECEDING)


CHECKPOINTS = {"execution.checkpointing.interval": "500ms"}  # ours commits a micro-batch about as often
STATES = {
    "heap": {**CHECKPOINTS, "state.backend.type": "hashmap"},
    "rocksdb": {
        **CHECKPOINTS,
        "state.backend.type": "rocksdb",
        "execution.checkpointing.incremental": "true",
    },
    "memory": {"state.backend.type": "hashmap"},
}
QUERIES = {"rows": (rows, "k BIGINT, n BIGINT, s BIGINT, m BIGINT"), "over": (over, "k BIGINT, s BIGINT")}


def seconds(query: str, directory: str, parallelism: int, settings: dict[str, str]) -> float:
    """Returns the seconds from the submission of the job to its end, without the start of its cluster.

    The start is measured as the time of the same job over a few rows.
    """
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", str(parallelism))
    tables.get_config().set("pipeline.object-reuse", "true")
    for name, value in settings.items():
        tables.get_config().set(name, value)
    tables.execute_sql(
        f"CREATE TEMPORARY TABLE nothing ({QUERIES[query][1]}) WITH ('connector' = 'blackhole')"
    )
    events = pq.read_table(directory, columns=["k", "v"]).to_pandas()
    few = events.head(parallelism)
    _, whole, start = (_run(tables, query, given, parallelism) for given in (events, events, few))
    return whole - start


def _run(tables: TableEnvironment, query: str, events: Any, parallelism: int) -> float:
    for name in ("timed", "events"):
        tables.drop_temporary_view(name)
    tables.create_temporary_view("events", tables.from_pandas(events, _EVENT, splits_num=parallelism))
    tables.create_temporary_view("timed", tables.sql_query(_TIMED))
    made = QUERIES[query][0](tables)
    began = time.perf_counter()
    made.execute_insert("nothing").wait()
    return time.perf_counter() - began


if __name__ == "__main__":
    asked, files, cores, state = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="bench-flink-") as folder:
        checkpoints = {"execution.checkpointing.dir": f"file://{folder}"}
        print(json.dumps({"seconds": seconds(asked, files, int(cores), {**STATES[state], **checkpoints})}))
