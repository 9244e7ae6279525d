"""An operator's state in runs: what a step writes, how runs are merged, what a cache saves, what is refused."""

import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import panewise as pw
from panewise import functions as F
from panewise.engine import Operator
from panewise.engine.persistence import Cache, Stored, restore, save
from panewise.errors import StateError
from panewise.state import MemoryRunStore

SCHEMA: dict[str, pl.DataType] = {"key": pl.Int64(), "event_time": pl.Int64(), "v": pl.Int64()}


def spec(size: int = 1_000, **fields: object) -> pw.WindowOperator:
    aggregates = [F.count().alias("n"), F.sum("v").alias("s"), F.collect_list("v").alias("l")]
    return pw.WindowOperator(window=pw.Tumbling(size), aggregates=aggregates, keys=["key"], **fields)  # type: ignore[arg-type]


def rows(*given: tuple[int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(given, schema=SCHEMA, orient="row")


class CountingStore(MemoryRunStore):
    """Counts what is read and written."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.written_bytes: list[int] = []

    def run(self, name: str) -> bytes:
        self.read.append(name)
        return super().run(name)

    def put_run(self, name: str, data: bytes) -> None:
        self.written_bytes.append(len(data))
        super().put_run(name, data)


def step(store: MemoryRunStore, cache: Cache, batch: pl.DataFrame, watermark: int | None = None) -> pl.DataFrame:
    stored = Stored.load(spec(), SCHEMA, store, cache, "op")
    panes = pl.concat([stored.operator.advance(0, watermark).panes, stored.operator.add(batch).panes])
    stored.commit(store)
    return panes


def test_a_store_gives_what_an_operator_in_memory_gives_whatever_the_cache_knows() -> None:
    draw = random.Random(7)
    plain, store, warm = Operator(spec(), SCHEMA), MemoryRunStore(), Cache()
    for n in range(60):
        batch = rows(*((draw.randrange(20), draw.randrange(n * 50, n * 50 + 900), draw.randrange(9)) for _ in range(30)))
        expected = pl.concat([plain.advance(0, n * 50 - 200).panes, plain.add(batch).panes])
        cache = warm if draw.random() < 0.7 else Cache()  # a worker that has seen the shard before, or one that has not
        assert_frame_equal(step(store, cache, batch, n * 50 - 200), expected)


def test_a_store_holds_few_runs_and_no_window_that_has_expired() -> None:
    store, cache = MemoryRunStore(), Cache()
    for n in range(200):
        step(store, cache, rows((n % 50, n * 100, 1)), n * 100 - 1_500)
        assert len(store.names) <= 8
    stored = Stored.load(spec(), SCHEMA, store, Cache(), "op")
    assert stored.operator.held()["window_end"].min() > 199 * 100 - 1_500  # type: ignore[operator]
    step(store, cache, rows(), 10**9)
    step(store, cache, rows((1, 10**9, 1)), 10**9)
    assert len(Stored.load(spec(), SCHEMA, store, Cache(), "op").operator.held()) == 1


def test_what_a_step_writes_does_not_depend_on_what_is_held() -> None:
    store, cache = CountingStore(), Cache()
    step(store, cache, rows(*((k, 0, 1) for k in range(20_000))))
    for n in range(64):
        step(store, cache, rows(*((n * 10 + k, 1, 1) for k in range(10))))
    # The first run is 20,000 rows; small ones are merged among themselves, never with it.
    assert max(store.written_bytes[1:]) < store.written_bytes[0] / 20


def test_a_warm_cache_reads_nothing_and_a_cold_one_every_run_once() -> None:
    store, cache = CountingStore(), Cache()
    step(store, cache, rows(*((k, 0, 1) for k in range(100))))
    step(store, cache, rows((1, 1, 1)))
    assert store.read == []
    Stored.load(spec(), SCHEMA, store, Cache(), "op")
    assert sorted(store.read) == store.names


def test_a_cache_that_knows_another_history_is_not_believed() -> None:
    one, two, cache = MemoryRunStore(), MemoryRunStore(), Cache()
    step(one, cache, rows((1, 0, 5)))
    step(two, cache, rows((2, 0, 7)))
    assert Stored.load(spec(), SCHEMA, one, cache, "op").operator.held()["key"].to_list() == [1]


def test_a_cache_forgets_the_least_recently_used() -> None:
    cache, stores = Cache(size=2), [CountingStore() for _ in range(3)]
    for n, store in enumerate(stores):
        stored = Stored.load(spec(), SCHEMA, store, cache, f"op{n}")
        stored.operator.add(rows((1, 0, n)))
        stored.commit(store)
    for n, store in enumerate(stores):
        Stored.load(spec(), SCHEMA, store, cache, f"op{n}")
        assert bool(store.read) == (n == 0)


def test_clocks_alone_are_nothing_to_write() -> None:
    store = MemoryRunStore()
    stored = Stored.load(spec(), SCHEMA, store, Cache(), "op")
    stored.operator.advance(5, 5)
    assert not stored.changed
    stored.operator.add(rows((1, 10, 1)))
    assert stored.changed
    stored.commit(store)
    again = Stored.load(spec(), SCHEMA, store, Cache(), "op")
    again.operator.finish()
    assert again.changed


def test_another_specification_is_refused_with_the_field_that_changed() -> None:
    store = MemoryRunStore()
    step(store, Cache(), rows((1, 10, 1)))
    changed = r"a changed specification \(accumulation: 'discarding' -> 'retracting'\) \| a state belongs to .* \| put the field back"
    with pytest.raises(StateError, match=changed):
        Stored.load(spec(accumulation="retracting"), SCHEMA, store, Cache(), "op")


def test_another_number_of_shards_is_refused() -> None:
    store = MemoryRunStore()
    step(store, Cache(), rows((1, 10, 1)))
    with pytest.raises(StateError, match=r"shards=4 \| this state was made with 1 shards, and their number is fixed \| give shards=1"):
        Stored.load(spec(), SCHEMA, store, Cache(), "op", shards=4)


def test_other_column_types_are_refused() -> None:
    store = MemoryRunStore()
    step(store, Cache(), rows((1, 10, 1)))
    with pytest.raises(StateError, match=r"a state with other columns: \['__list:v', '__sum:v'\]"):
        Stored.load(spec(), {**SCHEMA, "v": pl.Float64()}, store, Cache(), "op")


def test_saved_and_restored_is_the_same_operator() -> None:
    operator = Operator(spec(), SCHEMA)
    operator.advance(3, 40)
    operator.add(rows((1, 1_010, 1), (2, 3_000, 5)))
    again = restore(spec(), SCHEMA, save(operator))
    assert_frame_equal(again.held(), operator.held())
    assert again.state.clocks == operator.state.clocks
    assert_frame_equal(again.finish().panes, operator.finish().panes)
