"""Tests of pack, and of the step on its envelopes, without a query."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine.ingest.output import Output
from panewise.engine.registry import operator_for
from panewise.families import INPUT
from panewise.spark.shuffle.envelope import decode
from panewise.spark.workers.pack import Pack
from panewise.spark.workers.step import ShardBatch, step

SPEC = pw.WindowOperator(
    window=pw.Tumbling("1 minute"),
    keys=["k"],
    event_time="t",
    position=pw.Position(),
    aggregates=[F.sum("v")],
    allowed_lateness="1 minute",
)
SCHEMA = {"t": pl.Int64(), "k": pl.Int64(), "v": pl.Int64(), "partition": pl.Int64(), "offset": pl.Int64()}


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_rows_of_one_position_meet_in_one_shard(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    """Rows of one position go to one shard, whatever their keys (semantics 4.2).

    Each record became three rows, as with `explode`. Two of them are replays.
    """
    monkeypatch.setattr("panewise.spark.workers.pack._CHUNK_ROWS", chunk)
    rows = pl.DataFrame(
        [{"t": 0, "k": at % 7, "v": at, "partition": 0, "offset": at // 3} for at in range(60)], schema=SCHEMA
    )
    batches: list[pa.RecordBatch] = rows.to_arrow().to_batches(max_chunksize=1)
    went = defaultdict(set)
    for sent in Pack(SPEC, {INPUT: SCHEMA}, [0, 1, 2], late_wanted=True)(iter(batches)):
        for envelope in sent.to_pylist():
            if envelope["kind"] == "rows":
                for row in decode(envelope["payload"]).rows(named=True):
                    went[row["offset"]].add(envelope["shard"])
    assert len(went) == 20
    assert all(len(shards) == 1 for shards in went.values())
    assert {shard for shards in went.values() for shard in shards} == {0, 1, 2}


def test_rows_keep_their_order_through_envelopes_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without columns that order them, rows arrive as they stand, chunk after chunk (semantics 3, 8.5)."""
    monkeypatch.setattr("panewise.spark.workers.pack._CHUNK_ROWS", 3)
    spec = pw.WindowOperator(
        window=pw.Tumbling(pw.rows(100)),
        trigger=pw.AfterWatermark(),
        aggregates=[F.collect_list("v").alias("all")],
    )
    schema = {"v": pl.Int64()}
    batches = pl.DataFrame({"v": range(20)}, schema=schema).to_arrow().to_batches(max_chunksize=1)
    envelopes = [
        one
        for sent in Pack(spec, {INPUT: schema}, [0], late_wanted=False)(iter(batches))
        for one in sent.to_pylist()
    ]
    mail = ShardBatch.read((one["kind"], one["payload"]) for one in reversed(envelopes))
    assert len(mail.ports[INPUT].rows) == 7
    mail.control["finish"] = 1
    panes = Output.merged(list(step(operator_for(spec, schema), mail, 0, None))).panes
    assert panes["all"].to_list() == [list(range(20))]


@pytest.mark.parametrize("ordered", [True, False])
def test_every_shard_has_the_marks_of_all_rows(ordered: bool) -> None:
    """Each shard has the marks of a single operator that takes the same batches (semantics 3.1, 4, 4.4)."""
    position = pw.Position() if ordered else pw.Position(ordered=False, remember=2)
    spec = replace(SPEC, position=position)
    batches = [[3, 4, 10, 11], [0, 1, 6, 7, 8, 9], [20, 2, 5], [4, 12, 13, 15, 17]]
    alone, shards = operator_for(spec, SCHEMA), {shard: operator_for(spec, SCHEMA) for shard in (0, 2)}
    for offsets in batches:
        given = [{"t": 0, "k": at, "v": at, "partition": at % 2 * 0, "offset": at} for at in offsets]
        rows = pl.DataFrame(given, schema=SCHEMA)
        sent = [one for part in (rows[:2], rows[2:]) for one in _packed(spec, part)]
        outputs = []
        for shard, operator in shards.items():
            mail = ShardBatch.read((one["kind"], one["payload"]) for one in sent if one["shard"] == shard)
            outputs += list(step(operator, mail, 0, None))
        whole = alone.add(rows).counts
        assert sum(output.counts.applied for output in outputs) == whole.applied
        assert sum(output.counts.replays for output in outputs) == whole.replays
        assert [operator.state.marks.table.rows() for operator in shards.values()] == [
            alone.state.marks.table.rows()
        ] * 2  # type: ignore[union-attr]


def _packed(spec: pw.WindowOperator, rows: pl.DataFrame) -> list[dict[str, Any]]:
    return [
        one
        for sent in Pack(spec, {INPUT: SCHEMA}, [0, 2], late_wanted=True)(iter(rows.to_arrow().to_batches()))
        for one in sent.to_pylist()
    ]


@pytest.mark.parametrize("inputs", [False, True])
def test_the_same_rows_make_the_same_envelopes(*, inputs: bool) -> None:
    """Packing is deterministic.

    When Spark computes a lost part of a shuffle again, it compares checksums, and fails if they differ.
    """
    watermark = pw.Inputs(["a", "b", "c", "d", "e"], column="name") if inputs else None
    spec = pw.WindowOperator(
        window=pw.Tumbling("1 minute"),
        keys=["k"],
        event_time="t",
        watermark=watermark,
        aggregates=[F.sum("v").alias("s"), F.avg("x").alias("m")],
    )
    schema = {
        "t": pl.Datetime("us", "UTC"),
        "k": pl.String(),
        "v": pl.Int64(),
        "x": pl.Float64(),
        "name": pl.String(),
    }
    n = pl.int_range(50_000, eager=True)
    text = {"k": "key" + (n * 7919 % 5_000).cast(pl.String), "name": pl.Series(list("abcde") * 10_000)}
    rows = pl.DataFrame({"t": n * 10_000, "v": n % 100, "x": n / 7, **text}).select(*schema).cast(schema)
    batches: list[pa.RecordBatch] = rows.to_arrow().to_batches()
    made = [
        [sent.to_pylist() for sent in Pack(spec, {INPUT: schema}, [0, 1], late_wanted=False)(iter(batches))]
        for _ in range(4)
    ]
    assert made == [made[0]] * 4
