"""Outputs that are passed on before a step has ended: many pairs of a join."""

from dataclasses import replace

import polars as pl
import pytest

from panewise.engine.ingest.output import Counts, Output
from panewise.spark import joined
from panewise.spark.shuffle.envelope import carried
from panewise.spark.workers import step as step_module
from panewise.spark.workers.step import OutputBuffer, ShardBatch
from tests.spark.conftest import Feed, write
from tests.spark.test_metrics import totals

SIDE = 600  # rows of each side, all of one key: more pairs than MANY


def test_panes_are_passed_on_once_and_counts_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_module, "MANY", 3)
    schema: dict[str, pl.DataType] = {"n": pl.Int64()}
    nothing = Output.nothing(schema, schema, schema)
    given = [
        replace(nothing, panes=pl.DataFrame({"n": [n, n]}), counts=Counts(1, applied=1)) for n in range(5)
    ]
    outputs = OutputBuffer()
    passed_on = [panes["n"].to_list() for panes in outputs.many_panes(given)]
    assert passed_on == [[0, 0, 1, 1], [2, 2, 3, 3]]
    rest = outputs.rest()
    assert (rest.panes["n"].to_list(), rest.counts) == ([4, 4], Counts(5, applied=5))


@pytest.mark.nightly
def test_many_pairs_arrive_once(feed: Feed, other: Feed) -> None:
    for one in (feed, other):
        one.put(*((n % 60, "a", n) for n in range(SIDE)))
    streams = (one.stream().withWatermark("ts", "1 hour") for one in (feed, other))
    result = joined(*streams).on("k").within(-60_000_000, 60_000_000).prefix(right="r_").how("left")
    query = write(feed, result, outputs=("rows", "left_counts"))
    pairs = feed.read("rows")
    assert pairs.height == pairs.select("v", "r_v").n_unique() == SIDE * SIDE > step_module.MANY
    assert feed.read("left_counts")["applied"].sum() == SIDE
    assert totals(query.query)["panes"] == SIDE * SIDE


def test_carried_outputs_are_in_the_order_of_their_task() -> None:
    """A shuffle may change it. The panes of a key stay in the order of emission (semantics 49.1)."""
    arrived = [(carried("0/panes", number), bytes([number])) for number in (10, 2, 9, 1)]
    outputs = ShardBatch.read(arrived).carried
    assert outputs == [("0/panes", bytes([number])) for number in (1, 2, 9, 10)]
