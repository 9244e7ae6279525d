"""Runs one join in Flink over the files of both sides: `flink_job.py JOIN FOLDER PARALLELISM STATE`.

It prints seconds as JSON. `python -m bench.joins flink` runs it in .venv-flink. As in bench/flink_job.py, the
files are read before the clock starts, Flink gets them as Arrow, and the second run counts. The time of a
query that reads the same rows and joins nothing is subtracted. Both joins emit k, and ts and v of both sides.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import DataTypes, Schema, StreamTableEnvironment

sys.path.insert(0, str(Path(__file__).parents[1]))
from flink_job import STATES  # bench is no package here, as its imports are not installed

_ROW = DataTypes.ROW([DataTypes.FIELD(name, DataTypes.BIGINT()) for name in ("us", "k", "v")])
_WINDOWS = "SELECT * FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '1' SECOND))"
_BOTH = "L.k, L.us, L.v, R.us, R.v"
JOINS = {
    "interval": f"SELECT {_BOTH} FROM lefts L, rights R WHERE L.k = R.k AND R.ts BETWEEN L.ts AND L.ts + "
    "INTERVAL '1' SECOND",
    "window": f"SELECT {_BOTH} FROM ({_WINDOWS.format('lefts')}) L JOIN ({_WINDOWS.format('rights')}) R ON "
    "L.k = R.k AND L.window_start = R.window_start AND L.window_end = R.window_end",
}
_SCAN = "SELECT k, us, v FROM lefts UNION ALL SELECT k, us, v FROM rights"
_TABLES = {"pairs": ("k", "us", "v", "r_us", "r_v"), "scanned": ("k", "us", "v")}


def environment(folder: str, parallelism: int, settings: dict[str, str]) -> StreamTableEnvironment:
    """Returns an environment in which both sides are tables with watermarks 5 seconds behind."""
    tables = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    given = {"parallelism.default": str(parallelism), "pipeline.object-reuse": "true", **settings}
    for name, value in given.items():
        tables.get_config().set(name, value)
    for name, columns in _TABLES.items():
        schema = ", ".join(f"{column} BIGINT" for column in columns)
        tables.execute_sql(f"CREATE TEMPORARY TABLE {name} ({schema}) WITH ('connector' = 'blackhole')")
    for side in ("left", "right"):
        rows = pq.read_table(Path(folder) / side)
        us = rows["ts"].cast(pa.timestamp("us")).cast(pa.int64())
        frame = pa.table({"us": us, "k": rows["k"], "v": rows["v"]}).to_pandas()
        # A split is a contiguous part of the frame. Were it one of the input, one split would be far ahead of
        # the other in event time, and Flink would store its rows until the other one follows.
        frame = pd.concat([frame[first::parallelism] for first in range(parallelism)])
        stream = tables.to_data_stream(tables.from_pandas(frame, _ROW, splits_num=parallelism))
        schema = Schema.new_builder()
        for name in ("us", "k", "v"):
            schema = schema.column(name, DataTypes.BIGINT())
        schema = schema.column_by_expression("ts", "TO_TIMESTAMP_LTZ(us / 1000, 3)")
        schema = schema.watermark("ts", "ts - INTERVAL '5' SECOND")
        tables.create_temporary_view(f"{side}s", tables.from_data_stream(stream, schema.build()))
    return tables


def seconds(tables: StreamTableEnvironment, query: str) -> float:
    """Returns the seconds of the second run, without those of reading the rows."""
    runs = {
        into: [_run(tables, into, of) for _ in range(2)]
        for into, of in (("pairs", query), ("scanned", _SCAN))
    }
    return runs["pairs"][1] - runs["scanned"][1]


def _run(tables: StreamTableEnvironment, into: str, query: str) -> float:
    began = time.perf_counter()
    tables.execute_sql(f"INSERT INTO {into} {query}").wait()
    return time.perf_counter() - began


if __name__ == "__main__":
    asked, files, cores, state = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="bench-flink-") as checkpoints:
        settings = {**STATES[state], "execution.checkpointing.dir": f"file://{checkpoints}"}
        made = environment(files, int(cores), settings)
        print(json.dumps({"seconds": seconds(made, JOINS[asked])}))
