"""Runs a Kafka topic through tumbling windows into Delta tables, with a micro-batch that is repeated.

``python -m tests.connectors.topic_to_delta BROKER OUT JARS PHASES [KEY=VALUE ...]``, with settings of Spark.
If there are several phases, the first query fails in a micro-batch after both tables are written. The next
query resumes from its checkpoint, repeats that micro-batch and ends the input. With one phase the query only
writes the table of newest panes, and another query writes sessions to a topic.
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise import functions as F
from panewise.spark import QueryError, WindowQuery, WindowResult, configure, windowed
from tests.connectors import kafka_sink_job
from tests.connectors.delta_sink import SETTINGS, Tables
from tests.connectors.kafka_job import PHASE, produce, topic_twice
from tests.faults.job import CONF, report_panewise

PHASES, FAILS_AT = 3, 1  # three micro-batches with messages; the third one has the late messages


def operator(rows: DataFrame) -> WindowResult:
    """Returns the windows. The newest pane of each lists all applied rows."""
    described = (
        windowed(rows, "ts").groupBy("k").window(pw.Tumbling("1 minute")).position("partition", "offset")
    )
    described = described.trigger(pw.AfterWatermark(early=pw.Always(), late=pw.Always())).finish("at_end")
    return described.agg(F.collect_list("id").alias("ids"), F.sum("v").alias("s"))


def main(broker: str, out: str, jars: str, phases: str, *settings: str) -> None:
    builder = SparkSession.builder.master("local[2]").appName("panewise, Kafka and Delta")
    conf = {**CONF, **SETTINGS, "spark.jars": jars, "spark.local.dir": f"{out}/local"}
    conf |= dict(setting.split("=", 1) for setting in settings)
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True)
    report_panewise(spark, conf)
    for phase in range(int(phases)):
        produce(spark, broker, phase)

    tables = ("appended", "merged") if int(phases) > FAILS_AT else ("merged",)

    def start(fails_at: int | None) -> WindowQuery:
        sink = Tables(Path(out), fails_at, _fail, tables)
        result = operator(topic_twice(spark, broker, PHASE))
        return result.write(panes=sink, checkpoint=f"{out}/checkpoint", available_now=True)

    if int(phases) > FAILS_AT:
        try:
            start(FAILS_AT).awaitTermination()
        except QueryError as error:
            Path(out, "failed").write_text(str(error), encoding="utf-8")
    start(None).awaitTermination()
    Tables(Path(out), None, _fail, tables).copy(spark)
    if int(phases) == 1:
        _to_kafka(spark, broker, f"{out}/kafka")
    spark.stop()


def _to_kafka(spark: SparkSession, broker: str, out: str) -> None:
    """Plays one phase of sessions in a topic."""
    kafka_sink_job.produce(spark, broker, 0, 1)
    sessions = kafka_sink_job.sessions(spark, broker, "at_end")
    kafka_sink_job.start(sessions, broker, out, available_now=True).awaitTermination()
    kafka_sink_job.copied(spark, broker, out)


def _fail() -> None:
    raise RuntimeError("the sink fails when both tables are written")


if __name__ == "__main__":
    main(*sys.argv[1:])
