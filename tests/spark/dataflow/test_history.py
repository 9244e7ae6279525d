"""The state that history leaves, in process (semantics 48.5); test_initial_state.py has a query."""

from typing import Any

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

import panewise as pw
from panewise import functions as F
from panewise.engine.redistribution import Redistribution
from panewise.spark.dataflow.history import state_of_shard
from panewise.spark.shard_numbers import even_shards
from panewise.spark.workers.state_pieces import state_envelopes
from panewise.state import Manifest
from tests.spark.conftest import at
from tests.spark.in_process import Query, rows_of

COLUMNS = StructType(
    [StructField("ts", TimestampType()), StructField("k", StringType()), StructField("v", LongType())]
)
SPEC = pw.WindowOperator(
    keys=["k"],
    window=pw.Tumbling("10 seconds"),
    event_time="ts",
    trigger=pw.AfterWatermark(early=pw.Always()),
    aggregates=[F.sum("v").alias("s")],
)
PAST = [(second, "abc"[second % 3], second) for second in range(40)]
NEW = [(second, "abcd"[second % 4], second) for second in range(36, 60)]
MARK = int(at(30).timestamp())


def table(rows: list[tuple[int, str, int]]) -> pa.Table:
    times = pa.array([at(second) for second, _, _ in rows], pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "k": [k for _, k, _ in rows], "v": [v for _, _, v in rows]})


def panes(emitted: Any) -> list[Any]:
    rows = rows_of(emitted)
    return [] if rows is None else sorted(rows.drop("processing_time").rows())


def history(shards: int, watermark: int | None) -> dict[int, dict[str, bytes]]:
    query = Query(SPEC, {"input": COLUMNS}, shards)
    run = state_of_shard(SPEC, query.schemas, shards, 0, watermark)
    stored: dict[int, dict[str, bytes]] = {}
    for shard, envelopes in query._shuffled(query._packed({"input": table(PAST)})).items():
        kinds, payloads = zip(*envelopes, strict=True)
        given = pa.table({"kind": list(kinds), "payload": pa.array(payloads, pa.binary())})
        for row in run((pa.scalar(shard),), given).to_pylist():
            stored.setdefault(row["shard"], {})[row["name"]] = row["data"]
    return stored


def test_a_stream_goes_on_where_history_ends() -> None:
    """semantics 48.5, 48.10: as after a first micro-batch with all rows of the history, at its watermark."""
    stored = history(3, MARK * 1_000_000)
    manifests = {shard: Manifest.decode(of["manifest"].decode()) for shard, of in stored.items()}
    assert {manifest.shards for manifest in manifests.values()} == {3}
    plan = Redistribution.plan(SPEC, Query(SPEC, {"input": COLUMNS}).schemas, manifests, even_shards(2))
    state = [*state_envelopes(plan, stored)]
    late = Query(SPEC, {"input": COLUMNS}, 2, state=state, least_watermark=MARK * 1_000_000)
    whole = Query(SPEC, {"input": COLUMNS}, 2)
    whole.run({"input": table(PAST)}, watermark=MARK * 1000)
    for rows, watermark in ((NEW, 0), ([], (MARK + 25) * 1000)):
        given = {"input": table(rows)} if rows else {}
        expected = panes(whole.run(given, watermark=max(watermark, MARK * 1000)))
        assert panes(late.run(given, watermark=watermark)) == expected
    assert expected


def test_without_a_watermark_no_window_is_complete() -> None:
    """semantics 48.5"""
    stored = history(1, None)
    (manifest,) = (Manifest.decode(of["manifest"].decode()) for of in stored.values())
    assert manifest.header["watermark"] is None
    assert not manifest.header["finished"]
