"""Tests that the size of envelopes is bounded: long inputs and outputs of a shard travel in many envelopes.

Spark copies a value several times on the JVM's heap, and cannot write a value of 2 GB.
"""

import polars as pl
import pyarrow as pa
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine.ingest.output import Output
from panewise.engine.registry import operator_for
from panewise.families import INPUT
from panewise.spark.columns.types import spark_schema
from panewise.spark.metrics import COLUMN
from panewise.spark.shuffle.envelope import LARGEST, decode, encode, groups, pieces
from panewise.spark.workers.microbatch import envelope_frames
from panewise.spark.workers.pack import Pack
from panewise.spark.workers.step import ShardBatch, encoded, step
from panewise.spark.workers.unpack import Unpack

ROWS = 1_200_000
LONG = pl.DataFrame({"n": pl.int_range(ROWS, eager=True) * 2**30, "text": ["é" * 8, None, ""] * (ROWS // 3)})
ROOM = LARGEST * 11 // 10  # an envelope with what surrounds its rows
SCHEMA = {"t": pl.Datetime("us", "UTC"), "k": pl.Int64(), "v": pl.Int64()}


def test_pieces_are_bounded_and_have_all_rows_in_order() -> None:
    cut = list(pieces(LONG))
    assert len(cut) > 3
    assert all(len(encode(piece)) <= ROOM for piece in cut)
    assert pl.concat(cut).equals(LONG)
    assert [piece.height for piece in pieces(LONG[:10])] == [10]
    assert list(pieces(LONG.clear())) == []


@pytest.mark.parametrize("text", ["", "abc"])
def test_pieces_of_lists_of_short_texts_are_bounded(text: str) -> None:
    row = {"l": [text] * 100, "s": {"inner": [text] * 50}}
    rows = pl.DataFrame([row] * 8_000)
    assert all(len(encode(piece)) <= ROOM for piece in pieces(rows))
    assert sum(piece.height for piece in pieces(rows)) == rows.height


def test_one_long_row_is_one_piece() -> None:
    rows = pl.DataFrame({"text": ["x" * (LARGEST + 1), "y" * (LARGEST + 1)]})
    assert [piece.height for piece in pieces(rows)] == [1, 1]


def test_groups_are_bounded_and_have_all_envelopes_in_order() -> None:
    half = bytes(LARGEST // 2)
    given = [("a", half), ("b", half), ("c", b""), ("d", bytes(LARGEST + 1)), ("e", b"1")]
    assert [[kind for kind, _ in group] for group in groups(given)] == [["a", "b", "c"], ["d"], ["e"]]
    assert list(groups([])) == []


@pytest.mark.parametrize("shards", [[0], [0, 1]])
@pytest.mark.parametrize("late_wanted", [True, False])
def test_the_first_stage(shards: list[int], *, late_wanted: bool) -> None:
    """Pack emits rows if late rows are wanted, otherwise partials, here of as many keys as there are rows."""
    spec = pw.WindowOperator(
        window=pw.Tumbling("1 day"), keys=["k"], event_time="t", aggregates=[F.sum("v").alias("s")]
    )
    n = pl.int_range(ROWS // 2, eager=True)
    rows = pl.DataFrame({"t": n, "k": n * 2**40, "v": n * 2**40}, schema=SCHEMA)
    packed = list(
        Pack(spec, {INPUT: SCHEMA}, shards, late_wanted=late_wanted)(iter(rows.to_arrow().to_batches()))
    )
    assert all(batch.nbytes <= ROOM for batch in packed)
    envelopes = [one for batch in packed for one in batch.to_pylist()]
    kind = "rows" if late_wanted else "partials"
    assert sum(one["kind"] == kind for one in envelopes) > len(shards)
    panes = []
    for shard in shards:
        mail = ShardBatch.read((one["kind"], one["payload"]) for one in envelopes if one["shard"] == shard)
        mail.control["finish"] = 1
        panes.append(Output.merged(list(step(operator_for(spec, SCHEMA), mail, 0, None))).panes)
    assert pl.concat(panes).select("k", "s").sort("k").equals(rows.select("k", s="v"))


def test_invalid_rows_of_the_first_stage() -> None:
    spec = pw.WindowOperator(
        window=pw.Tumbling("1 day"), keys=["k"], event_time="t", aggregates=[F.sum("v").alias("s")]
    )
    n = pl.int_range(ROWS // 2, eager=True) * 2**40
    rows = pl.DataFrame({"t": [None] * n.len(), "k": n, "v": n}, schema=SCHEMA)
    packed = list(Pack(spec, {INPUT: SCHEMA}, [0], late_wanted=True)(iter(rows.to_arrow().to_batches())))
    assert all(batch.nbytes <= ROOM for batch in packed)
    refused = [
        decode(one["payload"]) for batch in packed for one in batch.to_pylist() if one["kind"] == "invalid"
    ]
    assert pl.concat(refused)["k"].equals(n.alias("k"))


def test_the_envelopes_of_a_step_have_its_metrics_once() -> None:
    frames = list(envelope_frames(encoded([("panes", LONG), ("counts", LONG[:1])]), "1,2"))
    assert len(frames) > 3
    assert all(frame["payload"].map(len).sum() <= ROOM for frame in frames)
    assert [number for frame in frames for number in frame[COLUMN] if number is not None] == ["1,2"]
    assert frames[0][COLUMN][0] == "1,2"
    panes = [decode(row.payload) for frame in frames for row in frame.itertuples() if row.kind == "panes"]
    assert pl.concat(panes).equals(LONG)
    assert [frame.to_dict("records") for frame in envelope_frames([], "1,2")] == [
        [{"kind": "metrics", "payload": b"", COLUMN: "1,2"}]
    ]
    assert list(envelope_frames([], None)) == []


def test_the_real_columns_of_a_step_have_its_metrics_once() -> None:
    unpack = Unpack("panes", spark_schema(LONG.schema), {name: name for name in LONG.columns})
    frames = list(unpack.frames(LONG, "1,2"))
    assert len(frames) > 3
    assert [number for frame in frames for number in frame[COLUMN].dropna()] == ["1,2"]
    tables = [pl.DataFrame(pa.Table.from_pandas(frame, preserve_index=False)) for frame in frames]
    assert all(table.estimated_size() <= 2 * ROOM for table in tables)
    rows = pl.concat(tables).filter(pl.col(COLUMN).is_null()).drop(COLUMN)
    assert rows.equals(LONG)
    assert [len(frame) for frame in unpack.frames(None, "1,2")] == [1]
    assert list(unpack.frames(None, None)) == []


def test_the_columns_of_a_frame_have_one_chunk() -> None:
    """PySpark refuses a column in several chunks, as a table that was made of several has them."""
    unpack = Unpack("panes", spark_schema(LONG.schema), {name: name for name in LONG.columns})
    twice = pl.concat([LONG, LONG], rechunk=False)
    assert twice.n_chunks() == 2
    frame = unpack.frame(twice, None)
    assert all(isinstance(pa.Array.from_pandas(frame[name]), pa.Array) for name in LONG.columns)
