"""Writes sessions of one Kafka topic to a compacted topic, and late and invalid rows to another one.

``python -m tests.connectors.kafka_sink_job BROKER OUT FIRST PHASES [KEY=VALUE ...]``, with settings of Spark.
The job makes the topics unless they exist, and produces phase FIRST. It produces each later phase when the
file OUT/go-PHASE exists, and then creates OUT/produced-PHASE. From phase `WIDER` on, the first topic has more
partitions. After the last phase the job ends its input and copies the topics to Parquet. Then it writes the
answer of a batch to a topic in Avro, copies that, and exits.
"""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.spark import KafkaSink, WindowQuery, WindowResult, configure, kafka_source, windowed
from panewise.spark.sinks.kafka_records import Format
from tests.connectors.topics import Topics
from tests.faults.job import CONF
from tests.faults.processes import wait_until
from tests.faults.rounds import PATIENCE

SOURCE, RESULTS, DEAD, AVRO = "scrambled", "results", "dead-letters", "avro"
PHASE, SPAN, GAP = 80, 3600, 60
# Of the first topic, by phase. It gets more while the query runs, and before it starts again.
PARTITIONS = (2, 3, 4)
START = datetime(2024, 1, 1, tzinfo=UTC)
LATE, INVALID = {75, 150, 230}, {3, 90, 239}  # ids of messages of another day, and of messages without a time
VALUE = "id BIGINT, ts TIMESTAMP, k STRING"


def second(id_: int) -> int:
    """Returns the time of a message. Those of a phase are scrambled over an hour, so that sessions merge."""
    return id_ * 1543 % SPAN


def key(id_: int) -> str:
    return "abcd"[id_ % 4]


def message(id_: int) -> str:
    at = START + timedelta(seconds=second(id_)) - timedelta(days=id_ in LATE)
    return json.dumps({"id": id_, "ts": None if id_ in INVALID else at.isoformat(), "k": key(id_)})


def answer(produced: int) -> dict[tuple[str, int, int], tuple[int, int]]:
    """Returns number and sum of the ids in each session, as a batch computes them."""
    sessions: dict[tuple[str, int, int], tuple[int, int]] = {}
    for name in "abcd":
        own = (id_ for id_ in range(produced) if key(id_) == name and id_ not in LATE | INVALID)
        parts: list[list[int]] = []
        for id_ in sorted(own, key=second):
            if parts and second(id_) < second(parts[-1][-1]) + GAP:
                parts[-1].append(id_)
            else:
                parts.append([id_])
        for ids in parts:
            sessions[name, second(ids[0]), second(ids[-1]) + GAP] = len(ids), sum(ids)
    return sessions


def produce(spark: SparkSession, broker: str, phase: int, partitions: int) -> None:
    """Appends a phase to the first topic."""
    ids = range(phase * PHASE, (phase + 1) * PHASE)
    rows = spark.createDataFrame([(n % partitions, message(n)) for n in ids], "partition INT, value STRING")
    writer = rows.coalesce(1).write.format("kafka").option("kafka.bootstrap.servers", broker)
    writer.option("topic", SOURCE).save()


def sessions(
    spark: SparkSession, broker: str, finish: Literal["never", "at_end"], *, stream: bool = True
) -> WindowResult:
    """Returns the sessions of the topic, which emit a pane for each change.

    A phase has several micro-batches. Only from the third one on there is a watermark by which rows are late.
    """
    options = {"kafka.bootstrap.servers": broker}
    options |= {"maxOffsetsPerTrigger": str(PHASE // 3)} if stream else {}
    rows = kafka_source(spark, SOURCE, options, value=VALUE, stream=stream)
    rows = rows.withWatermark("ts", "2 hours") if stream else rows
    described = windowed(rows, "ts").groupBy("k").window(pw.Session(f"{GAP} seconds")).position()
    described = described.trigger(pw.Repeatedly(pw.AfterCount(1))).accumulation("retracting").finish(finish)
    return described.agg(F.count().alias("n"), F.sum("id").alias("s"))


def start(result: WindowResult, broker: str, out: str, form: Format = "json", **options: Any) -> WindowQuery:
    """Starts the query that writes the topics."""
    servers = {"kafka.bootstrap.servers": broker}
    dead = KafkaSink(DEAD, servers, key=["id"], format=form)
    panes = KafkaSink(RESULTS, servers, format=form)
    return result.write(panes=panes, late=dead, invalid=dead, checkpoint=f"{out}/checkpoint", **options)


def copied(spark: SparkSession, broker: str, out: str) -> None:
    """Copies the written topics to Parquet, which can be read without Kafka."""
    for topic in (RESULTS, DEAD):
        reader = spark.read.format("kafka").option("kafka.bootstrap.servers", broker)
        records: DataFrame = reader.option("subscribe", topic).option("includeHeaders", "true").load()
        records.coalesce(1).write.parquet(f"{out}/{topic}")


def in_avro(spark: SparkSession, broker: str, out: str) -> None:
    """Writes the sessions of a batch to a topic in Avro, and copies what is read from it to Parquet."""
    servers: dict[str, str] = {"kafka.bootstrap.servers": broker}
    result = sessions(spark, broker, "at_end", stream=False)
    result.write(panes=KafkaSink(AVRO, servers, format="avro"))
    jvm: Any = spark._jvm  # type: ignore[attr-defined]
    columns: Any = result.panes.drop("op")._jdf  # type: ignore[operator]
    converters = jvm.org.apache.spark.sql.avro.SchemaConverters
    schema = converters.toAvroType(columns.schema(), False, "topLevelRecord", "").toString()
    records = spark.read.format("kafka").options(**servers).option("subscribe", AVRO).load()
    value = SF.call_function("from_avro", SF.col("value"), SF.lit(schema)).alias("value")
    records.select(value).select("value.*").coalesce(1).write.parquet(f"{out}/{AVRO}")


def main(broker: str, out: str, first: str, phases: str, *settings: str) -> None:
    conf = {**CONF, "spark.local.dir": f"{out}/local", **dict(line.split("=", 1) for line in settings)}
    builder = SparkSession.builder.appName("panewise to Kafka")
    for name, value in conf.items():
        builder = builder.config(name, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True)
    topics = Topics(spark, broker)
    topics.make((SOURCE, RESULTS, DEAD), compacted=RESULTS)
    running: WindowQuery | None = None
    for phase in range(int(first), int(phases)):
        if running is not None:
            query, go = running, Path(out, f"go-{phase}")
            assert wait_until(lambda go=go, query=query: go.exists() or not query.isActive, PATIENCE)
        if phase:
            topics.widen(SOURCE, PARTITIONS[phase])
        produce(spark, broker, phase, PARTITIONS[phase])
        Path(out, f"produced-{phase}").touch()
        running = running or start(sessions(spark, broker, "never"), broker, out)
    if running is not None:
        running.processAllAvailable()
        running.stop()
    ended = sessions(spark, broker, "at_end")
    start(ended, broker, out, available_now=True).awaitTermination()
    copied(spark, broker, out)
    in_avro(spark, broker, out)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
