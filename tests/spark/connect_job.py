"""The job of test_connect: the operator through Spark Connect, in a process of its own."""

import json
import sys

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import SetupError, SpecError
from panewise.families import INPUT
from panewise.spark import ParquetSink, compat, configure, joined, sql, windowed
from panewise.spark.inputs.checks import watermark_columns
from panewise.spark.metrics import NAMES


def main(server: str, source: str, out: str, part: str) -> None:
    spark = configure(SparkSession.builder.remote(server).getOrCreate(), shuffle_partitions=2)
    schema = "ts TIMESTAMP, k STRING, v BIGINT"
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(source)
    aggregates = (F.count().alias("n"), F.sum("v").alias("s"))

    def described(df):  # type: ignore[no-untyped-def]
        return windowed(df, event_time="ts").groupBy("k").window(pw.Tumbling("1 minute"))

    result = described(stream.withWatermark("ts", "10 seconds")).finish("at_end").agg(*aggregates)
    outputs = ["panes"] if part == "smoke" else ["panes", "late", "invalid"]
    sinks = {name: ParquetSink(f"{out}/{name}") for name in outputs}
    written = result.write(**sinks, checkpoint=f"{out}/checkpoint", available_now=True, name="minutes")
    first = written.query
    written.awaitTermination()
    if part == "smoke":
        panes = rows_of(spark.read.parquet(f"{out}/panes"))
        sys.stdout.write("told " + json.dumps([type(spark).__module__, panes]) + "\n")
        spark.stop()
        return
    batch = described(spark.read.schema(schema).parquet(source)).agg(*aggregates)
    try:
        described(stream).agg(*aggregates)
        refused = False
    except SetupError:
        refused = True
    stamped = described(stream.withWatermark("ts", "10 seconds")).options(timestamp="window_time")
    panes = stamped.agg(*aggregates).panes
    told: dict[str, object] = {"timely": watermark_columns(panes), "refusals": refusals(panes)}
    told |= {"twice": twice(panes, out), "behind": behind(panes, out)}
    told["as_pyspark"] = as_pyspark(stream.withWatermark("ts", "10 seconds"), out)
    told["joined"] = pairs_of(stream.withWatermark("ts", "10 seconds"), out)
    told["counted"] = counted(stream.withWatermark("ts", "10 seconds"), out)
    told["sql"] = [texts_of(spark.read.schema(schema).parquet(source)), streamed_texts(stream, out)]
    odd = SF.col("v") % 2 == 1
    totals = described(spark.read.schema(schema).parquet(source)).agg(
        F.sum(SF.col("V") * 2), F.sum(SF.col("v") * 2).filter(odd)
    )
    told |= {
        "expressions": [aggregate.name for aggregate in totals.spec.ports[INPUT].aggregates],
        "expressed": sorted(list(r) for r in totals.panes.select(*totals.panes.columns[3:5]).collect()),
        "connect": type(spark).__module__,
        "refused": refused,
        "name": first.name,
        "observed": observed(first),
        "streamed": rows_of(spark.read.parquet(f"{out}/panes")),
        "late": [r.reason for r in spark.read.parquet(f"{out}/late").collect()],
        "invalid": [r.reason for r in spark.read.parquet(f"{out}/invalid").collect()],
        "batch": rows_of(batch.panes),
    }
    sys.stdout.write("told " + json.dumps(told) + "\n")
    spark.stop()


def rows_of(panes) -> list[object]:  # type: ignore[no-untyped-def]
    """Returns keys, counts and sums of panes."""
    return [list(row) for row in panes.select("k", "n", "s").orderBy("k", "window_start").collect()]


def written(df, out: str, name: str) -> list[object]:  # type: ignore[no-untyped-def]
    """Runs a query to its end; returns the rows that it writes, in order."""
    writer = df.writeStream.format("parquet").option("checkpointLocation", f"{out}/{name}_checkpoint")
    writer.trigger(availableNow=True).start(f"{out}/{name}").awaitTermination()
    return sorted(map(list, df.sparkSession.read.parquet(f"{out}/{name}").collect()))


def twice(panes, out: str) -> list[object]:  # type: ignore[no-untyped-def]
    """Returns the rows of a query that has each pane twice (semantics 42.13)."""
    one = panes.select("k", "n")
    return written(one.union(one), out, "twice")


def behind(panes, out: str) -> list[object]:  # type: ignore[no-untyped-def]
    """Returns the counts of Spark's own windows over panes (semantics 42.11)."""
    counts = panes.groupBy(SF.window("timestamp", "2 minutes"), "k").agg(SF.sum("n").alias("n"))
    return written(counts.select("k", "n"), out, "behind")


def refusals(panes) -> list[str]:  # type: ignore[no-untyped-def]
    """Returns what is refused: an operator over panes, and a watermark of panes."""
    with pytest.raises(SetupError) as stacked:
        windowed(panes, event_time="timestamp").window(pw.Tumbling("1 hour")).agg(F.sum("s").alias("t"))
    with pytest.raises(SetupError) as watermark:
        panes.select("k", "timestamp").where("k = 'a'").withWatermark("timestamp", "1 second")
    return [stacked.value.given, watermark.value.given]


def observed(query) -> list[int]:  # type: ignore[no-untyped-def]
    """Returns the sums of the metrics over all micro-batches.

    PySpark's client may give their values as a list, beside their schema.
    """
    found = [
        progress.observedMetrics["panewise"].asDict()
        for progress in query.recentProgress
        if progress.observedMetrics
    ]
    numbers = [(line.get("values") or [line[name] for name in NAMES])[: len(NAMES)] for line in found]
    return [sum(column) for column in zip(*numbers, strict=True)]


def as_pyspark(df, out: str) -> list[object]:  # type: ignore[no-untyped-def]
    """Returns the rows of a streaming query with a function over a window under its pyspark name."""
    w = compat.Window.partitionBy("k").orderBy("ts")
    rise = compat.functions.col("v") - compat.functions.lag("v").over(w)
    with pytest.raises(SpecError, match=r"call panewise\.spark\.compat\.enable\(\) first \[PW-"):
        _ = df.withColumn("rise", rise).columns
    with compat.enabled():
        made = df.withColumn("rise", rise)
    query = (
        made.writeStream.format("parquet")
        .option("checkpointLocation", f"{out}/own")
        .trigger(availableNow=True)
    )
    query.start(f"{out}/rises").awaitTermination()
    return [
        list(row)
        for row in df.sparkSession.read.parquet(f"{out}/rises")
        .select("k", "v", "rise")
        .orderBy("ts")
        .collect()
    ]


def counted(df, out: str) -> list[object]:  # type: ignore[no-untyped-def]
    """Returns the panes of windows over a join: two operators in one query."""
    pairs = joined(df, df).on("k").within(0, "10 seconds").select("k", ("left", "v"), ("right", "v", "w"))
    counts = (
        windowed(pairs.how("inner")).groupBy("v").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))
    )
    sink = ParquetSink(f"{out}/counted")
    counts.write(panes=sink, checkpoint=f"{out}/two", available_now=True).awaitTermination()
    rows = df.sparkSession.read.parquet(f"{out}/counted").select("v", "n").orderBy("v")
    return [list(row) for row in rows.collect()]


def pairs_of(df, out: str) -> list[object]:  # type: ignore[no-untyped-def]
    """Returns the pairs of a self join with a computed key, and the reasons of late right rows."""
    described = joined(df, df).on(SF.upper("k").alias("key")).within("1 second", "5 seconds")
    result = described.select("key", ("left", "v"), ("right", "v", "w")).how("inner")
    sinks = {name: ParquetSink(f"{out}/joined_{name}") for name in ("rows", "right_late")}
    result.write(**sinks, checkpoint=f"{out}/join", available_now=True).awaitTermination()
    rows, late = (df.sparkSession.read.parquet(f"{out}/joined_{name}") for name in sinks)
    return [*(list(row)[:3] for row in rows.collect()), *(row.reason for row in late.collect())]


EARLY = """
SELECT k, sum(v) * 2 AS d FROM TUMBLE(t WATERMARK ts DELAY OF INTERVAL '10' SECONDS, ts, INTERVAL '1' MINUTE)
WHERE v > 1 GROUP BY k, window_start, window_end HAVING sum(v) < 100 EMIT EARLY EVERY UPDATE
"""
OVER = """
SELECT k, v, sum(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) + 1 AS s
FROM t WATERMARK ts DELAY OF INTERVAL '10' SECONDS WHERE v < 100
"""
JOIN = """
SELECT x.k, x.v, y.v AS w FROM t WATERMARK ts DELAY OF INTERVAL '10' SECONDS x
JOIN t WATERMARK ts DELAY OF INTERVAL '10' SECONDS y
ON x.k = y.k AND y.ts BETWEEN x.ts + INTERVAL '1' SECOND AND x.ts + INTERVAL '9' SECONDS
"""


def texts_of(df) -> list[object]:  # type: ignore[no-untyped-def]
    """Returns the rows of texts of SQL over a batch."""
    results = [sql(text, t=df) for text in (EARLY, OVER, JOIN)]
    frames = [results[0].panes, results[1].rows, results[2].rows]
    return [sorted(map(list, frame.collect()), key=repr) for frame in frames]


def streamed_texts(df, out: str) -> list[object]:  # type: ignore[no-untyped-def]
    """Returns the rows of texts of SQL over a stream."""
    found: list[object] = []
    for number, text in enumerate((EARLY, OVER, JOIN)):
        result = sql(text, t=df)
        sinks = {"rows" if number else "panes": ParquetSink(f"{out}/sql{number}")}
        result.write(sinks, checkpoint=f"{out}/sql{number}_checkpoint", available_now=True).awaitTermination()
        rows = df.sparkSession.read.parquet(f"{out}/sql{number}").drop("batch_id")
        found.append(sorted(map(list, rows.collect()), key=repr))
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
