"""Tests of the records for Kafka, and of what is refused. tests/connectors has those with a broker."""

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

import panewise as pw
from panewise import Window
from panewise import functions as F
from panewise.errors import SetupError, SpecError
from panewise.spark import (
    DeltaSink,
    KafkaSink,
    WindowBuilder,
    deduplicate,
    joined,
    kafka_source,
    over,
    policy_windows,
    sql,
    windowed,
)
from panewise.spark.sinks.base import BoundSink, SinkOutput
from panewise.spark.sinks.kafka_records import appended, dead_letters, upserts
from panewise.streamwindow import count
from tests.spark.conftest import Feed

BROKER = {"kafka.bootstrap.servers": "localhost:9", "kafka.sasl.jaas.config": "secret"}
SPEC = pw.WindowOperator(keys=["k"], window=pw.Tumbling(5), aggregates=[F.sum("v").alias("s")])


def output_of(rows: DataFrame, kind: str = "panes", **fields: Any) -> SinkOutput:
    """Returns an output with the columns of these rows, of which `seq` is not to be written."""
    schema = StructType([field for field in rows.schema.fields if field.name != "seq"])
    output = SinkOutput("out", kind, schema, SPEC, ("k",), "seq", "op", rows.sparkSession, None)
    return replace(output, **fields)


def shown(records: DataFrame) -> list[tuple[Any, Any, dict[str, str]]]:
    """Returns keys and values as texts, and the headers."""
    rows = (row.asDict() for row in records.collect())
    return [(row.get("key"), row["value"], {h.key: h.value.decode() for h in row["headers"]}) for row in rows]


@pytest.fixture
def rows(spark: SparkSession) -> DataFrame:
    at = datetime(2024, 1, 1, 0, 0, 0, 10)  # noqa: DTZ001 - in the time zone of the session
    panes = [("a", at, 1, "+", 0), ("a", at, 1, "-", 1), ("b", at, 2, "+", 0), ("b", at, 3, "+", 2)]
    frame = spark.createDataFrame(panes, "k STRING, t TIMESTAMP, s BIGINT, op STRING, seq BIGINT")
    return frame.selectExpr("IF(k = 'a', NULL, k) AS k", "t", "s", "op", "seq")


def test_upserts(rows: DataFrame) -> None:
    """Null keys are written, and instants in UTC with all digits (semantics 49.11, 49.14, 49.15)."""
    records = upserts(rows, output_of(rows), ("k", "t"), "json")
    at = "2024-01-01T00:00:00.000010Z"
    texts = sorted(shown(records), key=str)
    assert [(json.loads(key), value and json.loads(value), headers) for key, value, headers in texts] == [
        (
            {"k": "b", "t": at},
            {"k": "b", "t": at, "s": 3},
            {"output": "out", "operation": "upsert", "sequence": "2"},
        ),
        ({"k": None, "t": at}, None, {"output": "out", "operation": "delete", "sequence": "1"}),
    ]


def test_each_row_is_a_record(rows: DataFrame) -> None:
    """semantics 49.12"""
    records = shown(appended(rows, output_of(rows), (), "json"))
    assert [headers["operation"] for _, _, headers in records] == ["+", "-", "+", "+"]
    assert json.loads(records[1][1])["op"] == "-"
    assert {key for key, *_ in records} == {None}
    counts = output_of(rows.drop("op"), "counts", op=None, sequence=None)
    assert shown(appended(rows.drop("op"), counts, ("s",), "json"))[3][::2] == ('{"s":3}', {"output": "out"})


def test_dead_letters(spark: SparkSession) -> None:
    """semantics 49.13"""
    text = "struct(7 AS id, 'a' AS k) AS row", "'late' AS reason", "array(struct(1 AS start)) AS windows"
    late = spark.range(1).selectExpr(*text, "5L AS late_by", "false AS partial")
    ((key, value, headers),) = shown(dead_letters(late, output_of(late, "late"), ("k",), "json"))
    assert (key, value) == ('{"k":"a"}', '{"id":7,"k":"a"}')
    assert headers == {
        "output": "out",
        "reason": "late",
        "windows": '[{"start":1}]',
        "late_by": "5",
        "partial": "false",
    }


def test_a_sink_reaches_the_process_that_writes(rows: DataFrame) -> None:
    """Spark Connect sends it there, without the session."""
    bound = BoundSink(KafkaSink("t", BROKER), output_of(rows))
    sent = cloudpickle.loads(cloudpickle.dumps(bound))
    assert sent.sink == bound.sink
    assert {**vars(sent.output), "session": bound.output.session} == vars(bound.output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"topic": ""}, r"^topic='' \| a topic has a name \|"),
        ({"topic": ".."}, r"^topic='\.\.' \| Kafka takes names of .* not \. or \.\. alone"),
        ({"topic": "a,b"}, r"^topic='a,b' \| Kafka takes names of .* \| give such a name"),
        ({"topic": "n" * 250}, r"^topic='n*' \| Kafka takes names of up to 249"),
        ({"options": {}}, r"^options with \[\] \| the connector finds the brokers by .* \| add "),
        ({"options": None}, r"^options of Kafka that are no texts \| .* \| give \{'kafka.bootstrap"),
        (
            {"options": {**BROKER, "topic": "x"}},
            r"^options with \['topic'\] \| the topic is an argument of its own, and no option",
        ),
        (
            {"options": {**BROKER, "acks": "all"}},
            r"^options with \['acks'\] \| a sink has options of Kafka's .* write kafka\. before them",
        ),
        ({"key": []}, r"^key=\[\] \| a key has one column or more \| leave key out"),
        ({"key": "k"}, r"^key='k' \| key is a list"),
        ({"mode": "update"}, r"^mode='update' \| "),
        ({"format": "protobuf"}, r"^format='protobuf' \| "),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], message: str) -> None:
    """semantics 49.10, 49.55"""
    with pytest.raises(SpecError, match=message):
        KafkaSink(**{"topic": "t", "options": BROKER, **arguments})


def test_passwords_are_not_shown() -> None:
    assert repr(KafkaSink("t", BROKER)) == "KafkaSink(topic='t', key=None, mode=None, format='json')"


def sessions(df: DataFrame) -> WindowBuilder:
    return windowed(df, "ts").groupBy("k").window(pw.Session("1 minute"))


EARLY = pw.AfterWatermark(early=pw.AfterCount(2))
NO_KEY = r"\| no columns are known to identify these rows .* \| give key=\[\.\.\.\], or mode='append' \[PW-"
AGAIN = KafkaSink("t", BROKER, mode="upsert")
SQL = (
    "SELECT {}, window_start, window_end, count(*) AS n FROM TUMBLE(t, ts, '1 minute') "
    "GROUP BY k, window_start, window_end {}"
)
BY_ALL = KafkaSink("t", BROKER, key=["k", "op"])
# Results over a batch, their sinks, and why these cannot write them.
REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (
        lambda df: sessions(df).agg(F.count().alias("n")),
        {"panes": KafkaSink("t", BROKER, key=["x"])},
        r"^panes=KafkaSink\(topic='t', key=\('x',\), .* with the key 'x' \| the columns are \[",
    ),
    (
        lambda df: sessions(df).agg(F.count().alias("n")),
        {"late": KafkaSink("t", BROKER, key=["n"])},
        r"with the key 'n' \| the columns are \['ts', 'k', 'v'\] \| name one of these \[PW-",
    ),
    (
        lambda df: sessions(df).agg(F.count().alias("n")),
        {"counts": AGAIN},
        r"^counts=KafkaSink.* \| late rows, invalid rows and counts are only appended .* \| leave mode out",
    ),
    (
        lambda df: sessions(df).accumulation("discarding").trigger(EARLY).agg(F.count().alias("n")),
        {"panes": AGAIN},
        r", accumulation='discarding' \| .* only the rows since .* \| .* or mode='append' \[PW-",
    ),
    (
        lambda df: sessions(df).trigger(EARLY).agg(F.count().alias("n")),
        {"panes": AGAIN},
        r", accumulation='accumulating' of windows that merge \| .* \| use accumulation='retracting', or",
    ),
    (
        lambda df: sessions(df).accumulation("retracting").agg(F.count().alias("n")),
        {"panes": BY_ALL},
        r"\| a retraction differs from its row in op and processing_time .* \| leave them out of the key",
    ),
    (
        lambda df: over(df, "ts").withColumn("n", F.count().over(Window.orderBy("ts"))),
        {"rows": AGAIN},
        NO_KEY,
    ),
    (
        lambda df: joined(df, df, "ts").on("k").within(0, 1).prefix(right="r_").how("left"),
        {"rows": AGAIN},
        NO_KEY,
    ),
    (lambda df: deduplicate(df, "ts").on("k").within("1 hour"), {"rows": AGAIN}, NO_KEY),
    (lambda df: policy_windows(df).tumbling(count(2)).tuples(), {"events": AGAIN}, NO_KEY),
    (
        lambda df: sql(
            "SELECT k, count(*) AS n FROM TUMBLE(t, ts, '1 minute') GROUP BY k, window_start", t=df
        ),
        {"panes": AGAIN},
        NO_KEY,
    ),
    (lambda df: sql(SQL.format("upper(k) AS k", ""), t=df), {"panes": AGAIN}, NO_KEY),
    (lambda df: sql(SQL.format("k", "HAVING count(*) > 1"), t=df), {"panes": AGAIN}, NO_KEY),
    (
        lambda df: sql(SQL.format("k", "HAVING count(*) > 1 EMIT EARLY EVERY 2 ROWS"), t=df),
        {"panes": KafkaSink("t", BROKER, key=["k"])},
        r", accumulation='accumulating' and a condition \| .* \| use 'retracting', or mode='append' \[PW-",
    ),
    (
        lambda df: sql(SQL.format("'-' AS op, k", "EMIT EARLY EVERY 2 ROWS RETRACTING"), t=df),
        {"panes": AGAIN},
        r", rows without op \| .* \| select op, too, or use mode='append' \[PW-",
    ),
    (
        lambda df: sql(SQL.format("k", "ORDER BY k"), t=df),
        {"panes": KafkaSink("t", BROKER, key=["k"])},
        r", ORDER BY or LIMIT \| sorted rows are not in the order .* \| leave that out",
    ),
    (
        lambda df: sessions(df).agg(F.count().alias("n")),
        {"panes": KafkaSink("t", BROKER, key=["window_start"])},
        r", key=\['window_start'\] \| only rows with the same keys of the operator .* \| add all keys of",
    ),
    (
        lambda df: sql(SQL.format("upper(k) AS k", ""), t=df),
        {"panes": KafkaSink("t", BROKER, key=["k", "window_start"])},
        r", key=\['k', 'window_start'\] \| only rows with the same keys of the operator",
    ),
    (
        lambda df: sql(SQL.format("k AS user", ""), t=df),
        {"panes": DeltaSink("t", mode="upsert", key=["window_start"])},
        r"^panes with mode='upsert', key=\['window_start'\] \| only rows with the same keys of the operator",
    ),
    (lambda df: sessions(df).agg(F.count().alias("n")), {"panes": 7}, r"^panes=7 \| a sink is a path"),
]


def test_what_the_sink_cannot_write_is_refused(feed: Feed) -> None:
    """Each family says what is missing, before the query starts (semantics 49.2, 49.4, 49.6, 49.11)."""
    feed.put((0, "a", 1))
    for result, sinks, message in REFUSED:
        with pytest.raises(SpecError, match=message):
            result(feed.batch()).write(sinks)


def test_a_key_with_all_keys_of_the_operator(feed: Feed) -> None:
    """They may have other names, and the key may lack the window (semantics 49.4)."""
    feed.put((0, "a", 1))
    named = sql(SQL.format("k AS user", ""), t=feed.batch())
    panes = sessions(feed.batch()).agg(F.count().alias("n"))
    for result, key in ((named, ["user"]), (panes, ["k"])):
        with pytest.raises(SetupError, match=r"^a session without kafka"):  # it is checked last
            result.write(panes=KafkaSink("t", BROKER, key=key))


@pytest.mark.parametrize("format", ["json", "avro"])
def test_a_missing_jar_is_named(feed: Feed, format: Any) -> None:  # noqa: A002 - its name
    """semantics 49.6"""
    feed.put((0, "a", 1))
    result = sessions(feed.stream().withWatermark("ts", "1 hour")).agg(F.count().alias("n"))
    checkpoint = feed.sink("checkpoint")
    with pytest.raises(SetupError, match=r"^a session without kafka \| .* \| start the session with"):
        result.write(panes=KafkaSink("t", BROKER, format=format), checkpoint=checkpoint)
    with pytest.raises(SetupError, match=r"^a session without kafka \| "):
        kafka_source(feed.spark, "t", BROKER, value="id BIGINT")
    assert not Path(checkpoint).exists()


@pytest.mark.parametrize(
    ("topics", "options", "message"),
    [
        ([], BROKER, r"^topics=\[\] \| a topic has a name, without commas"),
        ("a,b", BROKER, r"^topics='a,b' \| "),
        (["a", 7], BROKER, r"^topics=\['a', 7\] \| "),
        ("a", {}, r"^options with \[\] \| "),
    ],
)
def test_topics_that_cannot_be_read(spark: SparkSession, topics: Any, options: Any, message: str) -> None:
    """semantics 49.17"""
    with pytest.raises(SpecError, match=message):
        kafka_source(spark, topics, options, value="id BIGINT")
