"""Micro-batches with Spark's clocks, in this process: rows, then the watermark; timers; static sides."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

import panewise as pw
from panewise import functions as F
from panewise.engine.protocol import Operator
from panewise.engine.registry import operator_for
from panewise.families import INPUT
from panewise.spark.columns.types import polars_schema
from panewise.spark.inputs.watermarks import follows_query
from panewise.spark.shuffle.reports import KIND
from panewise.spark.workers import step as step_module
from panewise.spark.workers.unpack import ArrowColumns
from panewise.spec import Specification
from tests.engine.effort import examples
from tests.nightly import first_here, nightly
from tests.spark.in_process import Cut, Envelope, Query, Stored, rows_of

COLUMNS = StructType(
    [StructField("t", TimestampType()), StructField("k", StringType()), StructField("v", LongType())]
)
TYPES = polars_schema(COLUMNS)
EARLY = pw.AfterWatermark(early=pw.AfterCount(2), late=pw.Always())
SUMS = [F.sum("v").alias("s"), F.count().alias("n")]
LEFT = pw.Side(keys=["k"], event_time="t", allowed_lateness=1_000_000)
RIGHT = pw.Side(keys=["k"], event_time="t", prefix="r_")


def windows(window: Any, **options: Any) -> pw.WindowOperator:
    return pw.WindowOperator(window=window, keys=["k"], event_time="t", aggregates=SUMS, **options)


SPECS: dict[str, Specification] = {
    "tumbling": windows(pw.Tumbling("3 seconds"), trigger=EARLY, allowed_lateness="2 seconds"),
    "retracting sessions": windows(pw.Session("2 seconds"), trigger=EARLY, accumulation="retracting"),
    "sliding": windows(pw.Sliding("2 seconds")),
    "processing time": replace(windows(pw.Tumbling("3 seconds")), time="processing", event_time=None),
    "a lag behind the clock": windows(pw.Tumbling("3 seconds"), watermark=pw.FixedLag("1 second")),
    "deduplicate": pw.DeduplicateOperator(keys=["k"], event_time="t", keep="last", within="2 seconds"),
    "interval": pw.JoinOperator(left=LEFT, right=RIGHT, match=pw.Interval(-1_000_000, 2_000_000), how="full"),
    "as of": pw.JoinOperator(left=LEFT, right=RIGHT, match=pw.AsOf(), how="left"),
}

CUTS = [Cut(), Cut(3, rows=1, order=2, cold=True), Cut(2, bytes=64, repeat=True)]

Rows = Sequence[tuple[int, str, int]]  # seconds, key, value
Batch = tuple[Mapping[str, Rows], int, int]  # rows by port; the clock and the watermark in seconds


def frame(rows: Rows) -> pl.DataFrame:
    given = [(datetime.fromtimestamp(t, UTC), k, v) for t, k, v in rows]
    return pl.DataFrame(given, schema=TYPES, orient="row")


def table(rows: Rows) -> pa.Table:
    columns = ArrowColumns.from_spark(COLUMNS)
    return pa.Table.from_batches(columns.batches(frame(rows)), columns.schema)


def play(query: Query, batches: Sequence[Batch]) -> Iterator[list[Envelope]]:
    for rows, now, watermark in batches:
        given = {port: table(of) for port, of in rows.items() if of}
        yield query.run(given, now=now * 1000, watermark=watermark * 1000)


def expected(operator: Operator, batch: Batch) -> list[pl.DataFrame]:
    """Runs a micro-batch on one operator (semantics 18.3); returns the panes of each event."""
    rows, now, watermark = batch
    found = [operator.advance(processing_time=now * 1_000_000)]
    frames = {port: frame(of) for port, of in rows.items() if of}
    if len(operator.plan.ports) > 1 and frames:
        found += operator.add_batch(frames)  # type: ignore[attr-defined]
    elif frames:
        found.append(operator.add(frames[INPUT], INPUT))
    if watermark > 0 and moves(operator):
        found.append(operator.advance(watermark=watermark * 1_000_000))
    return [output.panes for output in found]


def moves(operator: Any) -> bool:
    """Returns whether the watermark of the query is that of the operator."""
    spec: Specification = operator.plan.spec
    return all(follows_query(spec, port) for port in spec.ports)


def sorted_rows(panes: pl.DataFrame | None) -> list[str]:
    """Returns panes in an order that the number of shards does not change."""
    instants = [] if panes is None else [name for name, of in panes.schema.items() if of == pl.Datetime]
    rows = [] if panes is None else panes.with_columns(pl.col(instants).to_physical()).rows()
    return sorted(map(str, rows))


def same(spec: Specification, query: Query, batches: Sequence[Batch]) -> list[str]:
    """Asserts that the shards of a query emit together what one operator does; returns it.

    Without rows shards run only if the watermark of the query, which they follow, has moved. Before the first
    rows there are no shards.
    """
    operator, whole, before = operator_for(spec, dict.fromkeys(spec.ports, TYPES)), list[str](), None
    for emitted, batch in zip(play(query, batches), batches, strict=True):
        rows, _, watermark = batch
        woken = before is not None and watermark > before and moves(operator)
        panes = expected(operator, batch) if any(rows.values()) or woken else []
        before = watermark if any(rows.values()) or woken else before
        found = [one for one in panes if one.height]
        wanted = sorted_rows(pl.concat(found) if found else None)
        assert sorted_rows(rows_of(emitted)) == wanted, batch
        whole += wanted
    return whole


def query_of(spec: Specification, cut: Cut | None = None, **options: Any) -> Query:
    given = {"shards": 4, "cut": cut or Cut(partitions=2)} | options
    return Query(spec, dict.fromkeys(spec.ports, COLUMNS), **given)


row = st.tuples(st.integers(1, 30), st.sampled_from("abcd"), st.integers(0, 9))


@pytest.mark.parametrize("name", first_here(SPECS, 4))
@examples(30)
@given(data=st.data())
def test_rows_come_before_the_watermark(name: str, data: st.DataObject) -> None:
    """Every shard sees each watermark, also one without rows (semantics 18.3, 12.1).

    The clock and the watermark move on in each micro-batch, or stand still.
    """
    spec, batches, clocks = SPECS[name], list[Batch](), (0, 0)
    for _ in range(data.draw(st.integers(2, 6))):
        rows = {port: data.draw(st.lists(row, max_size=5)) for port in spec.ports}
        later = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([0, 1, 4, 9]))
        clocks = clocks[0] + later[0], clocks[1] + later[1]
        batches.append((rows, *clocks))
    cut = data.draw(st.sampled_from(CUTS))
    same(spec, query_of(spec, cut), batches)


def test_a_timer_wakes_a_shard_without_rows() -> None:
    """It gets the watermark of each micro-batch in which it has moved, and each shard then has one timer."""
    query = query_of(SPECS["tumbling"])
    batches: list[Batch] = [({INPUT: [(1, k, 1) for k in "abcdefgh"]}, 1, 0), ({INPUT: [(9, "a", 1)]}, 2, 4)]
    found = same(query.spec, query, [*batches, ({}, 3, 4), ({INPUT: [(9, "a", 2)]}, 4, 9), ({}, 5, 20)])
    assert len(found) == 10
    assert [stored.timers for stored in query.stored.values()] == [{20_001}] * 4


def test_a_row_is_late_by_the_watermark_of_the_micro_batch_before() -> None:
    """semantics 18.3, also in a shard that had no row in that micro-batch"""
    query = query_of(windows(pw.Tumbling("1 second")))
    batches: list[Batch] = [
        ({INPUT: [(1, "a", 1)]}, 1, 0),
        ({INPUT: [(20, "a", 1)]}, 2, 15),
        ({INPUT: [(3, k, 1) for k in "abcdefgh"]}, 3, 18),
    ]
    assert [rows_of(emitted, "late") is None for emitted in play(query, batches[:2])] == [True, True]
    [emitted] = play(query, batches[2:])
    late = rows_of(emitted, "late")
    assert late is not None
    assert sorted(late["k"]) == list("abcdefgh")


def test_a_stream_is_not_idle_in_a_micro_batch_with_rows() -> None:
    """The time for which a query was stopped makes none of its first rows late (semantics 12.12)."""
    idle = pw.StreamTime(per="all", idle_after="5 seconds")
    query = query_of(windows(pw.Tumbling("10 seconds"), watermark=idle))
    batches: list[Batch] = [
        ({INPUT: [(1, "a", 1), (4, "b", 1)]}, 100, 0),
        ({INPUT: [(2, "a", 2), (3, "b", 2)]}, 3700, 0),
        ({INPUT: [(11, "c", 4)]}, 3701, 0),
    ]
    *before, last = play(query, batches)
    assert [rows_of(emitted) for emitted in before] == [None, None]
    panes = rows_of(last)
    assert panes is not None
    assert sorted(panes.select("k", "s").rows()) == [("a", 3), ("b", 3)]


def test_a_state_of_an_earlier_release_has_older_watermarks_in_some_shards() -> None:
    """semantics 18.3: fewer rows are late there, until its first micro-batch has passed; no row is lost."""
    query = query_of(windows(pw.Tumbling("1 second")))
    everyone = [(1, k, 1) for k in "abcdefgh"]
    before: list[Batch] = [({INPUT: everyone}, 1, 0), ({INPUT: [(20, "a", 1)]}, 2, 15)]
    next(batches := play(query, before))
    older = {shard: Stored({**of.values}) for shard, of in query.stored.items()}  # without a timer
    next(batches)
    keyed = {shard: older[shard] for n, shard in enumerate(query.numbers) if n % 2 and shard in older}
    query.stored |= keyed
    late = [(3, k, 1) for k in "abcdefgh"]
    found = list(play(query, [({INPUT: late}, 3, 18), ({INPUT: late}, 4, 19)]))
    first, second = (rows_of(emitted, "late") for emitted in found)
    assert first is not None
    assert second is not None
    assert 0 < first.height < 8
    assert sorted(second["k"]) == list("abcdefgh")
    applied = [rows_of(emitted, "counts") for emitted in found]
    counts = [one.select("rows_in", "applied", "late").sum().row(0) for one in applied if one is not None]
    assert counts == [(8, 8 - first.height, first.height), (8, 0, 8)]


def test_partials_make_the_panes_of_rows() -> None:
    """Rows are pre-aggregated if the late rows are no output; the counts of late rows are the same."""
    batches: list[Batch] = [
        ({INPUT: [(n % 7, "abc"[n % 3], n) for n in range(20)]}, 1, 0),
        ({INPUT: [(30, "a", 1)]}, 2, 5),
        ({INPUT: [(n, "ab"[n % 2], n) for n in range(9)]}, 3, 20),
        ({}, 4, 40),
    ]
    spec = windows(pw.Tumbling("3 seconds"), allowed_lateness="1 second")
    queries = [query_of(spec, Cut(3, rows=2), late_wanted=late_wanted) for late_wanted in (False, True)]
    counts = []
    for query in queries:
        played = list(play(query, batches))
        given = [rows_of(emitted) for emitted in played]
        sums = [one.select("k", "window_start", "s", "n") if one is not None else None for one in given]
        lines = [one for emitted in played if (one := rows_of(emitted, "counts")) is not None]
        counts.append((list(map(sorted_rows, sums)), pl.concat(lines)["late"].sum()))
    assert counts[0] == counts[1]
    assert counts[0][1] > 0


@pytest.mark.parametrize("cut", [Cut(), Cut(partitions=3, rows=1, order=1, cold=True)])
def test_a_static_side_is_one_batch_before_all_rows(cut: Cut) -> None:
    """semantics 36.8, even if Spark cuts it, and if no left row comes in the first micro-batch"""
    spec = pw.JoinOperator(left=pw.Side(keys=["k"], event_time="t"), right=RIGHT, match=pw.AsOf(), how="left")
    static = [(0, "a", 1), (10, "a", 2), (5, "b", 3), (1, "c", 5)]
    query = query_of(spec, cut, static={"right": table(static)})
    first: Batch = ({"left": [(12, "a", 0), (4, "b", 1)]}, 1, 0)
    batches = [({}, 0, 0), first, ({"left": [(13, "a", 2), (9, "b", 3), (30, "c", 5)]}, 2, 5)]
    emitted = [rows_of(of) for of in play(query, batches)]
    rows = [None if one is None else sorted(one.select("v", "r_v").rows()) for one in emitted]
    assert rows == [None, [(0, 2), (1, None)], [(2, 2), (3, 3), (5, 5)]]


def test_many_panes_are_passed_on_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = SPECS["interval"]
    batch: Batch = ({"left": [(1, "a", n) for n in range(9)], "right": [(1, "a", n) for n in range(9)]}, 1, 0)
    wanted = same(spec, query_of(spec), [batch])
    monkeypatch.setattr(step_module, "MANY", 4)
    assert same(spec, query_of(spec), [batch]) == wanted
    assert len(wanted) == 81


SECOND: dict[str, Callable[[str], Specification]] = {
    "windows behind windows": lambda time: pw.WindowOperator(
        window=pw.Tumbling("10 seconds"), keys=["k"], event_time=time, aggregates=[F.sum("s"), F.count()]
    ),
    "deduplication behind windows": lambda time: pw.DeduplicateOperator(
        keys=["s"], event_time=time, within="5 seconds"
    ),
}


@pytest.mark.parametrize("cut", [Cut(), Cut(partitions=2, rows=2, cold=True, repeat=True)])
@pytest.mark.parametrize("name", SECOND)
def test_an_operator_behind_another(name: str, cut: Cut) -> None:
    """It follows the output watermark of the first one, the least of its shards (semantics 42.5, 42.6)."""
    first = windows(pw.Tumbling("3 seconds"), timestamp="window_time")
    before = query_of(first, cut, reports=True)
    second = SECOND[name]("timestamp")
    columns = dict.fromkeys(second.ports, before.emitted_columns)
    after = Query(second, columns, 3, cut, fed=dict.fromkeys(second.ports, tuple(before.numbers)))
    one = operator_for(first, {INPUT: TYPES})
    other = operator_for(second, after.schemas)
    for n in range(6):
        rows = [(3 * n + i % 4, "abcde"[i % 5], i) for i in range(7)] if n != 3 else []
        emitted = before.run({INPUT: table(rows)} if rows else {}, now=n * 1000, watermark=3000 * n)
        fed = before.feed(emitted)
        found = after.run({INPUT: fed}, now=n * 1000, watermark=3000 * n)
        panes = [of for of in expected(one, ({INPUT: rows}, n, 3 * n)) if of.height]
        events = [other.advance(processing_time=n * 1_000_000)]
        if panes:
            typed = pl.concat(panes).select(
                pl.col(name).cast(of) for name, of in after.schemas[INPUT].items()
            )
            events.append(other.add(typed, INPUT))
        mark = one.output_watermark()
        events += [] if mark is None else [other.advance(watermark=mark)]
        wanted = [event.panes for event in events if event.panes.height]
        assert sorted_rows(rows_of(found)) == sorted_rows(pl.concat(wanted) if wanted else None), n


def test_shards_may_report_in_different_micro_batches() -> None:
    """The reports are stored: the last shard that reports moves the watermark (semantics 42.6)."""
    before = query_of(windows(pw.Tumbling("3 seconds"), timestamp="window_time"), reports=True)
    second = SECOND["windows behind windows"]("timestamp")
    fed = {INPUT: tuple(before.numbers)}
    after = Query(second, {INPUT: before.emitted_columns}, 3, fed=fed)
    emitted = before.run({INPUT: table([(1, k, 1) for k in "abcd"])}, now=1000, watermark=30_000)
    reports = [one for one in emitted if one[0] == KIND]
    assert len(reports) == 4
    rest = [one for one in emitted if one != reports[-1]]
    found = [rows_of(after.run({INPUT: before.feed(of)}, now=2000)) for of in (rest, reports[-1:])]
    assert found[0] is None
    assert found[1] is not None
    assert sorted(found[1]["k"]) == list("abcd")


@pytest.mark.parametrize("shards", [(7, 2), nightly(((4, 5),))])
def test_both_operators_continue_in_other_shards(shards: tuple[int, int]) -> None:
    """semantics 42.6, 48.6: no report is imported, and each shard of the first one reports anew."""
    cut = Cut(partitions=2, rows=2, cold=True, repeat=True)
    first = windows(pw.Tumbling("3 seconds"), timestamp="window_time")
    second = SECOND["windows behind windows"]("timestamp")

    def both(before: Query, after: Query, numbers: range) -> list[Any]:
        emitted = []
        for n in numbers:
            rows = [(3 * n + i % 4, "abcde"[i % 5], i) for i in range(7)] if n not in (3, 6) else []
            panes = before.run({INPUT: table(rows)} if rows else {}, now=n * 1000, watermark=3000 * n)
            emitted.append(sorted_rows(rows_of(after.run({INPUT: before.feed(panes)}, now=n * 1000))))
        return emitted

    def queries() -> tuple[Query, Query]:
        before = query_of(first, cut, reports=True)
        fed = {INPUT: tuple(before.numbers)}
        return before, Query(second, {INPUT: before.emitted_columns}, 3, cut, fed=fed)

    wanted = both(*queries(), range(9))
    before, after = queries()
    emitted = both(before, after, range(5))
    before, after = before.moved(shards[0]), after.moved(shards[1])
    after = replace(after, fed={INPUT: tuple(before.numbers)})
    assert [*emitted, *both(before, after, range(5, 9))] == wanted
    assert any(wanted[6:])
