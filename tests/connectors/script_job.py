"""Runs a script of SQL from a Kafka topic into a Delta table and another topic.

``python -m tests.connectors.script_job BROKER OUT JARS PHASE [DIES_AT]`` produces a phase of the topic, and
runs the script over what is new. With DIES_AT the process kills itself in that micro-batch, after Delta has
it and before the checkpoint does. Otherwise it copies both outputs to Parquet at its end.
"""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from panewise.spark import WindowQuery, configure
from panewise.spark.streaming_sql.script_run import ScriptRun
from panewise.spark.streaming_sql.table_sinks import AppendingSink
from panewise.sql.script.application import compile_script
from tests.connectors.delta_sink import SETTINGS
from tests.connectors.kafka_job import PARTITIONS, TOPIC, produce
from tests.faults.job import CONF

SCRIPT = """
SET panewise.checkpoint = '{out}/checkpoints';
SET panewise.trigger = 'available now';
CREATE TEMPORARY VIEW m (
  id BIGINT, ts TIMESTAMP, k STRING, v BIGINT, WATERMARK ts DELAY OF INTERVAL '2' DAYS
) USING kafka OPTIONS (kafka.bootstrap.servers '{broker}', subscribe '{topic}', startingOffsets 'earliest',
    maxOffsetsPerTrigger 60, include 'partition, offset');
CREATE TABLE panes USING delta LOCATION '{out}/panes';
CREATE TABLE counts USING kafka OPTIONS (kafka.bootstrap.servers '{broker}', topic 'counts', key 'k');
INSERT INTO panes SELECT k, window_start, collect_list(id) AS ids FROM TUMBLE(m, ts, INTERVAL '1' MINUTE)
  GROUP BY k, window_start EMIT CHANGES, DISCARDING;
SELECT count(*) AS panes FROM panes;
INSERT INTO counts SELECT k, count(*) AS n, max(partition) AS p FROM m WHERE k IS NOT NULL
  GROUP BY k EMIT CHANGES;
"""


def run_script(spark: SparkSession, broker: str, out: str) -> None:
    """Runs the script over what is new, and copies its outputs."""
    text = SCRIPT.format(broker=broker, out=out, topic=TOPIC)
    run = ScriptRun(spark, compile_script(text, {}), _wait)
    run.start()
    _wait(run.queries)
    copied = {"panes": spark.read.format("delta").load(f"{out}/panes"), "counts": _topic(spark, broker)}
    for name, rows in copied.items():
        rows.coalesce(1).write.mode("overwrite").parquet(f"{out}/{name}-copy")


def _wait(queries: Mapping[str, WindowQuery]) -> None:
    for query in queries.values():
        query.awaitTermination()


def _topic(spark: SparkSession, broker: str) -> DataFrame:
    reader = (
        spark.read.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", "counts")
    )
    value = "from_json(CAST(value AS STRING), 'k STRING, n BIGINT, p INT') AS v"
    return reader.load().selectExpr("CAST(key AS STRING) AS key", value)


def malformed(spark: SparkSession, broker: str) -> None:
    """Adds messages of which Spark decodes nothing, or all but one field."""
    values = ["no json", '{"id": 1', '{"id": "x", "ts": "2024-01-01T00:00:00Z", "k": "bad", "v": 1}']
    numbered = [(number % PARTITIONS, value) for number, value in enumerate(values)]
    rows = spark.createDataFrame(numbered, "partition INT, value STRING")
    rows.write.format("kafka").option("kafka.bootstrap.servers", broker).option("topic", TOPIC).save()


def main(broker: str, out: str, jars: str, phase: str, dies_at: str = "") -> None:
    builder = SparkSession.builder.master("local[2]").appName("panewise, a script with Kafka and Delta")
    for key, value in {**CONF, **SETTINGS, "spark.jars": jars, "spark.local.dir": f"{out}/local"}.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True)
    produce(spark, broker, int(phase))
    malformed(spark, broker)
    if dies_at:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(AppendingSink, "__call__", _dying(int(dies_at)))
            run_script(spark, broker, out)
    run_script(spark, broker, out)
    Path(f"{out}/panes-copy").rename(f"{out}/panes-of-one-checkpoint")
    shutil.rmtree(f"{out}/checkpoints/panes")
    run_script(spark, broker, out)  # a new checkpoint reads all messages again
    spark.stop()


def _dying(batch: int) -> Callable[[AppendingSink, DataFrame, int], None]:
    write = AppendingSink.__call__

    def call(self: AppendingSink, rows: DataFrame, batch_id: int) -> None:
        write(self, rows, batch_id)
        if batch_id == batch:
            os.killpg(os.getpgrp(), signal.SIGKILL)

    return call


if __name__ == "__main__":
    main(*sys.argv[1:])
