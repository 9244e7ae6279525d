"""The OVER operator of the engine: what it stores and writes, overflow, and refused types (semantics 29)."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import Frame, OverColumn, OverOperator
from panewise import functions as F
from panewise.engine.aggregate import range_aggregate
from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.ingest.output import Output
from panewise.engine.over.operator import OverEngine
from panewise.engine.registry import operator_for
from panewise.engine.run_library import Cache, RunLibrary
from panewise.engine.saved_operator import restore, save
from panewise.errors import AggregateOverflowError, SpecError, StateError
from panewise.state import MemoryRunStore
from panewise.testing.compare import same
from tests.engine.aggregate.test_range_aggregate import AGGREGATES, ROWS, SCHEMA
from tests.engine.effort import examples

COLUMNS: dict[str, pl.DataType] = {"t": pl.Int64(), "k": pl.Int64(), "v": pl.Int64()}


class CountingStore(MemoryRunStore):
    """A run store that counts the bytes written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    def put_run(self, name: str, data: bytes) -> None:
        super().put_run(name, data)
        self.written += len(data)


def operator(spec: OverOperator, schema: dict[str, pl.DataType] | None = None) -> OverEngine:
    made = operator_for(spec, schema or COLUMNS)
    assert isinstance(made, OverEngine)
    return made


def rows(*given: tuple[int, int, int | None]) -> pl.DataFrame:
    return pl.DataFrame(list(given), schema=COLUMNS, orient="row")


def by_time(*columns: OverColumn) -> OverOperator:
    return OverOperator(keys=["k"], event_time="t", columns=columns)


def random_rows(seed: int, count: int, keys: int, start: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    times = start + random.integers(0, 150, count)
    return pl.DataFrame(
        {"t": times, "k": random.integers(0, keys, count), "v": random.integers(0, 100, count)}
    )


TOTAL = OverColumn(F.sum("v").alias("s"), Frame("rows", -2, 0))


def stepped(
    spec: OverOperator, batches: int, store: MemoryRunStore, count: int = 500, keys: int = 20
) -> Iterator[tuple[Output, Output]]:
    """Yields the two outputs of each step: of the watermark, and of a batch or, at last, of the end of input.

    The rows of a batch are not in order. The watermark is 50 before the first time of the batch.
    """
    cache = Cache()
    for n in range(batches + 1):
        stored = StoredOperator.load(spec, COLUMNS, RunLibrary(store, cache))
        first = stored.operator.advance(watermark=n * 100 - 50)
        second = (
            stored.operator.finish()
            if n == batches
            else stored.operator.add(random_rows(n, count, keys, n * 100))
        )
        stored.commit()
        yield first, second


def test_ranges_longer_than_steps() -> None:
    """Frames of blocks and single rows (engine/over/ranges.py) have the results of one batch of all rows."""
    made = [
        F.sum("v"),
        F.min("v"),
        F.stddev("v"),
        F.collect_list("v"),
        F.first("v"),
        F.last("v"),
        F.median("v"),
        F.max_by("t", "v"),
    ]
    frames = {
        "long": Frame("range", -350, 0),
        "short": Frame("range", -30, 0),
        "around": Frame("range", -120, 25),
    }
    columns = [
        OverColumn(what.alias(f"{name} {what.name}"), frame)
        for name, frame in frames.items()
        for what in made
    ]
    spec = by_time(*columns, OverColumn(F.lag("v")))
    found = pl.concat(
        [output.panes for pair in stepped(spec, 9, MemoryRunStore(), count=60, keys=3) for output in pair]
    )
    together = operator(spec)
    together.add(pl.concat([random_rows(n, 60, 3, n * 100) for n in range(9)]))
    wanted = together.finish().panes
    assert found.height == 9 * 60
    for name in found.columns:
        assert same(found[name].to_list(), wanted[name].to_list()), name


@pytest.mark.parametrize(
    ("start", "end", "wanted"), [(1, 1, [0, 0]), (1, 3, [1, 0]), (0, 3, [2, 1]), (2**62, 2**63 - 2, [0, 0])]
)
def test_ranges_after_the_last_instant_are_empty(start: int, end: int, wanted: list[int]) -> None:
    one = operator(by_time(OverColumn(F.count().alias("n"), Frame("range", start, end))))
    one.add(rows((2**63 - 4, 1, 1), (2**63 - 1, 1, 1)))
    assert one.finish().panes["n"].to_list() == wanted


def test_rows_wait_in_runs() -> None:
    """Rows that wait in runs over many steps are emitted as if they were one batch, in the order of time."""
    spec = by_time(
        TOTAL,
        OverColumn(F.max("v").alias("m"), Frame("range", -30, 0)),
        OverColumn(F.row_number().alias("n")),
    )
    sent = pl.concat([output.panes for pair in stepped(spec, 40, MemoryRunStore()) for output in pair])
    together = operator(spec)
    together.add(pl.concat([random_rows(n, 500, 20, n * 100) for n in range(40)]))
    assert sent.equals(together.finish().panes)
    assert sent["t"].is_sorted()


@pytest.mark.parametrize("event_time", ["t", None])
def test_the_writes_of_a_step_do_not_depend_on_the_size_of_the_state(event_time: str | None) -> None:
    """A step over ten keys writes as much if ten thousand keys are stored as if ten are."""
    spec = OverOperator(
        keys=["k"],
        event_time=event_time,
        columns=[TOTAL, OverColumn(F.avg("v").alias("a"), Frame("rows", None, 0))],
    )
    written = []
    for keys in (10, 10_000):
        store, cache = CountingStore(), Cache()
        for n in range(12):
            stored = StoredOperator.load(spec, COLUMNS, RunLibrary(store, cache))
            met = keys if n == 0 else 10
            if n == 11:
                store.written = 0
            stored.operator.advance(watermark=n * 10)
            stored.operator.add(pl.DataFrame({"t": [n * 10] * met, "k": range(met), "v": [n] * met}))
            stored.commit()
        written.append(store.written)
    assert written[1] < 1.2 * written[0]


def test_rows_that_are_stored() -> None:
    """The last rows of a key are stored for ROWS, and those within reach for RANGE (semantics 29.9)."""
    rowwise, timed = (
        operator(by_time(TOTAL)),
        operator(by_time(OverColumn(F.count().alias("n"), Frame("range", -10, 0)))),
    )
    for n in range(30):
        for one in (rowwise, timed):
            one.add(rows((n * 5, 1, n), (n * 5, 2, n)))
            one.advance(watermark=n * 5 + 1)
    assert rowwise.state.recent.all().height == 2 * 2
    assert rowwise.state.waiting.all().is_empty()
    passed, blocks = timed.state.passed, timed.state.blocks
    assert sorted(passed.all()["__end"].unique()) == [140, 145]  # W is 146: those from 136 on
    assert sorted(blocks.all()["__end"].unique()) == [140, 145]
    timed.advance(watermark=1000)
    assert all(table.all().is_empty() for table in timed.state.tables.values())


def test_rows_that_wait_look_back() -> None:
    """Rows in the range of a waiting row stay stored until it is emitted, whatever W is (semantics 29.9)."""
    spec = by_time(
        OverColumn(F.sum("v").alias("s"), Frame("range", -10, 0)), OverColumn(F.lead("v").alias("next"))
    )
    one = operator(spec)
    one.add(rows((0, 1, 1), (5, 1, 2), (8, 1, 4)))
    assert one.advance(watermark=500).panes["s"].to_list() == [1, 3]
    one = restored(one)
    one.add(rows((600, 1, 8)))
    assert one.advance(watermark=700).panes.rows() == [(8, 1, 4, 7, 8)]
    assert one.state.recent.all()["t"].to_list() == [600]
    assert one.finish().panes.rows() == [(600, 1, 8, 8, None)]


def restored(one: OverEngine) -> OverEngine:
    made = restore(one.spec, COLUMNS, save(one))
    assert isinstance(made, OverEngine)
    return made


def test_long_batches_in_memory() -> None:
    """An operator in memory stores the rows of long batches in runs, too, and emits the same rows."""
    spec = OverOperator(keys=["k"], event_time="t", columns=[TOTAL, OverColumn(F.lead("v", 2).alias("l"))])
    batches = [random_rows(n, 40_000, 30_000, n * 100) for n in range(5)]
    one, other = operator(spec), operator(spec)
    sent = []
    for n, batch in enumerate(batches):
        sent += [one.advance(watermark=n * 100 - 50).panes, one.add(batch).panes]
    assert one.state.waiting.runs
    assert one.state.recent.runs
    other.add(pl.concat(batches))
    everything = pl.concat([*sent, one.finish().panes])
    columns = everything.columns
    assert everything.sort(columns).equals(other.finish().panes.sort(columns))


def test_a_sum_that_leaves_64_bits_is_refused() -> None:
    """A sum over the rows of several batches never wraps around (semantics 24.3)."""
    one = operator(
        OverOperator(event_time=None, columns=[OverColumn(F.sum("v").alias("s"), Frame("rows", None, 0))])
    )
    one.add(rows((0, 1, 2**62)))
    with pytest.raises(AggregateOverflowError, match=r"sum\(v\) = 9223372036854775808 \| .*64 bits"):
        one.add(rows((0, 1, 2**62)))
    near = operator(OverOperator(event_time=None, columns=[TOTAL]))
    assert near.add(rows((0, 1, 2**62), (0, 1, -(2**62)), (0, 1, 2**62), (0, 1, 1))).panes["s"].to_list() == [
        2**62,
        0,
        2**62,
        1,
    ]


def test_rows_come_back_as_they_were() -> None:
    """The columns of a row are emitted unchanged, nested ones and a key of -0.0 included (semantics 29.1)."""
    schema: dict[str, Any] = {
        "t": pl.Datetime("us", "UTC"), "k": pl.Float64(), "list": pl.List(pl.Int64()),
        "struct": pl.Struct({"a": pl.String()}),
        "b": pl.Binary(),
    }  # fmt: skip
    at = datetime(1969, 7, 20, 20, 17, 40, tzinfo=UTC)
    given = pl.DataFrame(
        [(at, -0.0, [1, None], {"a": "x"}, b"\x00"), (at, 0.0, None, None, None)], schema=schema, orient="row"
    )
    spec = OverOperator(
        keys=["k"],
        event_time="t",
        columns=[OverColumn(F.lag("struct").alias("before")), OverColumn(F.lead("list").alias("l"))],
    )
    one = operator(spec, schema)
    one.add(given)
    sent = one.finish().panes
    assert sent.select(given.columns).equals(given)
    assert sent["before"].to_list() == [None, {"a": "x"}]
    assert str(sent["k"][0]) == "-0.0"


@examples(60)
@given(given_rows=st.lists(ROWS, min_size=1, max_size=12))
def test_single_rows_are_lifted_alike(given_rows: list[dict[str, Any]]) -> None:
    """`Aggregation.singles` returns the same partials as `lift` with each row as a group of its own."""
    aggregation = Aggregation(
        tuple(one.alias(f"a{n}") for n, one in enumerate((*AGGREGATES, F.count(), F.var_pop("x")))), SCHEMA
    )
    frame = pl.DataFrame(given_rows, schema={"piece": pl.Int64(), **SCHEMA})
    quick = aggregation.singles(frame)
    slow = aggregation.lift(frame.drop("piece").with_row_index("piece"), ["piece"]).drop("piece")
    assert quick.schema == slow.schema
    assert all(same(one, other) for one, other in zip(quick.to_dicts(), slow.to_dicts(), strict=True))


REFUSED: list[tuple[OverOperator, str]] = [
    (
        OverOperator(columns=[TOTAL], keys=["k"]),
        "column 'event_time' | the columns that an operator reads are in its input",
    ),
    (
        by_time(OverColumn(F.lag("v").alias("t2")), OverColumn(F.lag("w"))),
        "column 'w' | the columns that an operator reads are in its input",
    ),
    (
        by_time(OverColumn(F.lag("v", 1, 1.5))),
        "lag(v, 1, 1.5): default=1.5 | the default has the type of the column, bigint | ",
    ),
    (
        by_time(OverColumn(F.lag("v", 1, True))),
        "lag(v, 1, True): default=True | the default has the type of the column, bigint",
    ),
    (
        by_time(OverColumn(F.lag("v", 1, 2**63))),
        f"lag(v, 1, {2**63}): default={2**63} | the default has the type of the column, bigint",
    ),
    (
        by_time(OverColumn(F.bool_and("v"), Frame("rows", -1, 0))),
        "'bool_and(v)' over v: bigint | bool_and takes a Boolean column",
    ),
]


@pytest.mark.parametrize(("spec", "message"), REFUSED)
def test_types_that_are_refused(spec: OverOperator, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        operator_for(spec, COLUMNS)
    assert str(refused.value).startswith(message)


def test_a_new_column_is_new() -> None:
    """A new column with the name of an input column is refused (semantics 29)."""
    with pytest.raises(
        SpecError, match=r"'s' twice \| new columns have different names, which no input column has"
    ):
        operator_for(by_time(TOTAL), {**COLUMNS, "s": pl.Int64()})


def test_a_state_of_another_operator_is_refused() -> None:
    store = MemoryRunStore()
    for _ in stepped(by_time(TOTAL), 1, store):
        pass
    other = by_time(OverColumn(F.sum("v").alias("s"), Frame("rows", -3, 0)))
    with pytest.raises(StateError, match=r"a changed specification \(columns: "):
        StoredOperator.load(other, COLUMNS, RunLibrary(store, Cache()))
    with pytest.raises(StateError, match=r"a state with other columns: \[.*'v'\]"):
        StoredOperator.load(by_time(TOTAL), {**COLUMNS, "v": pl.Int32()}, RunLibrary(store, Cache()))


@pytest.mark.parametrize("frame", [Frame("rows", None, 0), Frame("rows", -3, 0), Frame("range", -4, 0)])
def test_long_spans_are_merged_some_at_a_time(monkeypatch: pytest.MonkeyPatch, frame: Frame) -> None:
    """The results do not depend on how many values of index ranges are merged at once."""
    values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]
    aggregates = [F.median("v").alias("m"), F.collect_list("v").alias("l"), F.sum("v").alias("s")]
    spec = OverOperator(columns=[OverColumn(made, frame) for made in aggregates], keys=["k"], event_time="t")

    def sent() -> list[tuple[Any, ...]]:
        made = operator(spec)
        told = []
        for n in range(2):  # two steps, so that the second one reads stored rows
            made.add(
                pl.DataFrame(
                    {"t": range(n * 20, n * 20 + 11), "k": [1, 2] * 5 + [1], "v": values}, schema=COLUMNS
                )
            )
            told += made.advance(0, n * 20 + 15).panes.rows()
        return told

    whole = sent()
    assert len(whole) == 22
    for together in (1, 7):
        monkeypatch.setattr(range_aggregate, "_TOGETHER", together)
        assert sent() == whole


@pytest.mark.parametrize("fn", [F.lag, F.lead])
def test_rows_farther_away_than_there_can_be_any(fn: Any) -> None:
    """Distances of 2^62 rows in `lag`, `lead` and ROWS do not overflow."""
    far = 2**62
    columns = [
        OverColumn(F.lag("v", far).alias("a")),
        OverColumn(F.lead("v", far).alias("b")),
        OverColumn(fn("v").alias("c")),
    ]
    spec = OverOperator(
        columns=[*columns, OverColumn(F.count().alias("n"), Frame("rows", -far, far))],
        keys=["k"],
        event_time="t",
    )
    made = operator(spec)
    made.add(pl.DataFrame({"t": [1, 2], "k": [1, 1], "v": [5, 6]}, schema=COLUMNS))
    made.advance(0, 9)
    near = [None, 5] if fn is F.lag else [6, None]
    assert made.finish().panes.select("a", "b", "c", "n").rows() == [(None, None, one, 2) for one in near]


def test_a_position_of_another_type_is_refused_as_a_column_of_another_type() -> None:
    """The replay marks in the header have the old type; the error names the column."""
    spec = OverOperator(columns=[TOTAL], keys=["k"], event_time="t", position=pw.Position())
    old = {**COLUMNS, "partition": pl.String(), "offset": pl.Int64()}
    operator = operator_for(spec, old)
    rows = pl.DataFrame({name: [None] for name in old}, schema=old)
    rows = rows.with_columns(pl.lit(5).cast(old["t"]).alias("t"), partition=pl.lit("a"), offset=pl.lit(1))
    operator.add(rows.with_columns(pl.lit(1).cast(old["k"]).alias("k")))
    assert operator.header()["marks"] == [["a", 1]]
    with pytest.raises(StateError, match=r"a state with other columns: \['partition'\]"):
        restore(spec, {**old, "partition": pl.Int64()}, save(operator))
