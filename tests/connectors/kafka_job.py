"""Runs tumbling windows over a Kafka topic that is read twice. The test kills this process and restarts it.

``python -m tests.connectors.kafka_job BROKER OUT FIRST PHASES [KEY=VALUE ...]``. The job produces phase FIRST
of the topic at once. It produces each later phase when the file OUT/go-PHASE exists, and then creates
OUT/produced-PHASE. Meanwhile it emits panes. After the last phase it ends its input and exits. With
job.partitions=3,5,7 phases 0, 1 and 2 have so many partitions: the topic gets more while the query runs.
"""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.spark import ParquetSink, WindowResult, configure, windowed
from tests.connectors.topics import Topics
from tests.faults.job import CONF
from tests.faults.processes import wait_until
from tests.faults.rounds import PATIENCE

START = datetime(2024, 1, 1, tzinfo=UTC)
TOPIC, PARTITIONS, PHASE = "measurements", 3, 120
LATE, INVALID = (
    {250, 299, 355},
    {7, 130, 301},
)  # ids of messages that are a day behind, and of messages without a time
VALUE = "id BIGINT, ts TIMESTAMP, k STRING, v BIGINT"


def messages(phase: int, partitions: int = PARTITIONS) -> list[tuple[int, str]]:
    """Returns the messages of a phase as (partition, value). Their times are a second apart."""
    return [(id_ % partitions, _message(id_)) for id_ in range(phase * PHASE, (phase + 1) * PHASE)]


def _message(id_: int) -> str:
    at = START + timedelta(seconds=id_) - (timedelta(days=1) if id_ in LATE else timedelta())
    return json.dumps(
        {"id": id_, "ts": None if id_ in INVALID else at.isoformat(), "k": "abc"[id_ % 7 % 3], "v": id_ * 10}
    )


def produce(spark: SparkSession, broker: str, phase: int, partitions: int = PARTITIONS) -> None:
    """Appends a phase to the topic."""
    rows = spark.createDataFrame(messages(phase, partitions), "partition INT, value STRING").coalesce(1)
    rows.write.format("kafka").option("kafka.bootstrap.servers", broker).option("topic", TOPIC).save()


def topic_twice(spark: SparkSession, broker: str, messages_of_a_batch: int = PHASE // 2) -> DataFrame:
    """Returns the topic, read twice from its beginning.

    Every message comes twice with the same position, as from two readers of one log.
    """
    reader = (
        spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker).option("subscribe", TOPIC)
    )
    reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", messages_of_a_batch)
    both = reader.load().union(reader.load())
    value = SF.from_json(both.value.cast("string"), VALUE).alias("value")
    return (
        both.select("partition", "offset", value)
        .select("partition", "offset", "value.*")
        .withWatermark("ts", "10 minutes")
    )


def operator(rows: DataFrame, finish: Literal["never", "at_end"]) -> WindowResult:
    """Returns the windows. Every applied row is in exactly one pane."""
    described = (
        windowed(rows, "ts").groupBy("k").window(pw.Tumbling("1 minute")).position("partition", "offset")
    )
    described = described.trigger(pw.AfterWatermark(early=pw.AfterCount(3), late=pw.Always())).accumulation(
        "discarding"
    )
    return described.finish(finish).agg(F.collect_list("id").alias("ids"), F.sum("v").alias("s"))


def main(broker: str, out: str, first: str, phases: str, *settings: str) -> None:
    conf = {"spark.master": "local[2]", **CONF, "spark.local.dir": f"{out}/local"}
    conf |= dict(setting.split("=", 1) for setting in settings)
    partitions = [int(number) for number in conf.pop("job.partitions", str(PARTITIONS)).split(",")]
    partitions += [partitions[-1]] * (int(phases) - len(partitions))
    builder = SparkSession.builder.appName("panewise and Kafka")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True)
    sinks = {kind: ParquetSink(f"{out}/{kind}") for kind in ("panes", "late", "invalid", "counts")}
    produce(spark, broker, int(first))
    rows, checkpoint = topic_twice(spark, broker), f"{out}/checkpoint"
    running = operator(rows, "never").write(**sinks, checkpoint=checkpoint)
    for phase in range(int(first) + 1, int(phases)):
        go = Path(out, f"go-{phase}")
        assert wait_until(lambda go=go: go.exists() or not running.isActive, PATIENCE)
        if partitions[phase] > partitions[phase - 1]:
            Topics(spark, broker).widen(TOPIC, partitions[phase])
        produce(spark, broker, phase, partitions[phase])
        Path(out, f"produced-{phase}").touch()
    running.processAllAvailable()
    running.stop()
    operator(rows, "at_end").write(**sinks, checkpoint=checkpoint, available_now=True).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
