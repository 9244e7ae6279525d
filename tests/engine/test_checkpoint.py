"""The state of an operator in runs: what a step writes, merges, cache and mirror, refused states."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import panewise as pw
from panewise import functions as F
from panewise.engine import run_library
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.engine.tables.run import RunRows, Shape
from panewise.engine.windows.operator import WindowEngine
from panewise.errors import SpecError, StateError
from panewise.state import MemoryRunStore, Mirror
from panewise.state.run_format import checksum

SHAPE = Shape({}, ["key"], ["key"])
SCHEMA: dict[str, pl.DataType] = {"key": pl.Int64(), "event_time": pl.Int64(), "v": pl.Int64()}


def spec(size: int = 1_000, **fields: object) -> pw.WindowOperator:
    aggregates = [F.count().alias("n"), F.sum("v").alias("s"), F.collect_list("v").alias("l")]
    return pw.WindowOperator(window=pw.Tumbling(size), aggregates=aggregates, keys=["key"], **fields)  # type: ignore[arg-type]


def rows(*given: tuple[int, int, int]) -> pl.DataFrame:
    return pl.DataFrame(given, schema=SCHEMA, orient="row")


class CountingStore(MemoryRunStore):
    """A run store that records which runs are read, and how many bytes are written."""

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


def load(store: MemoryRunStore, cache: Cache | None = None, mirror: Mirror | None = None) -> StoredOperator:
    return StoredOperator.load(spec(), SCHEMA, RunLibrary(store, cache or Cache(), mirror))


def step(
    store: MemoryRunStore,
    cache: Cache,
    batch: pl.DataFrame,
    watermark: int | None = None,
    mirror: Mirror | None = None,
) -> pl.DataFrame:
    stored = load(store, cache, mirror)
    panes = pl.concat([stored.operator.advance(0, watermark).panes, stored.operator.add(batch).panes])
    stored.commit()
    return panes


def test_a_store_gives_what_an_operator_in_memory_gives_whatever_the_cache_knows() -> None:
    """A stored operator emits what an operator in memory emits, with warm and with empty caches."""
    draw = random.Random(7)
    plain, store, warm = WindowEngine(spec(), SCHEMA), MemoryRunStore(), Cache()
    for n in range(60):
        batch = rows(
            *(
                (draw.randrange(20), draw.randrange(n * 50, n * 50 + 900), draw.randrange(9))
                for _ in range(30)
            )
        )
        expected = pl.concat([plain.advance(0, n * 50 - 200).panes, plain.add(batch).panes])
        cache = warm if draw.random() < 0.7 else Cache()  # a worker that knows the shard, or a new one
        assert_frame_equal(step(store, cache, batch, n * 50 - 200), expected)


def test_a_store_holds_few_runs_and_no_window_that_has_expired() -> None:
    """Runs are merged, and merges purge expired windows."""
    store, cache = MemoryRunStore(), Cache()
    for n in range(200):
        step(store, cache, rows((n % 50, n * 100, 1)), n * 100 - 1_500)
        assert len(store.names) <= 12
    assert load(store).operator.live()["window_end"].min() > 199 * 100 - 1_500  # type: ignore[operator]
    step(store, cache, rows((1, 10**9, 1)), 10**9)
    assert len(load(store).operator.live()) == len(store.names) == 1


def test_the_writes_of_a_step_do_not_depend_on_the_size_of_the_state() -> None:
    """The bytes that a step writes do not grow with the size of the state."""
    store, cache = CountingStore(), Cache()
    step(store, cache, rows(*((k, 0, 1) for k in range(20_000))))
    for n in range(64):
        step(store, cache, rows(*((n * 10 + k, 1, 1) for k in range(10))))
    # The first run has 20,000 rows. Small runs are merged with each other, never with it.
    assert max(store.written_bytes[1:]) < store.written_bytes[0] / 20


def test_a_long_table_is_kept_in_parts_and_a_step_merges_a_part_at_a_time() -> None:
    store, cache = CountingStore(), Cache()
    for n in range(40):
        step(store, cache, rows(*((k, 0, 1) for k in range(n * 10_000, n * 10_000 + 10_000))))
    parts = {run.part for run in load(store).manifest.runs}
    assert parts >= set(range(16))
    assert load(store).operator.live().height == 400_000
    changed = list(range(0, 400_000, 997))
    step(store, cache, rows(*((k, 5, 1) for k in changed)))
    panes = step(store, cache, rows(), 10_000)
    assert panes.filter(pl.col("n") == 2)["key"].to_list() == changed  # changed windows are found
    assert panes.height == 400_000


def test_a_warm_cache_reads_nothing_and_a_cold_one_what_it_needs() -> None:
    """A step with a warm cache reads no runs; one with an empty cache reads only the runs that it needs."""
    store, cache = CountingStore(), Cache()
    step(store, cache, rows(*((k, 0, 1) for k in range(100))))
    step(store, cache, rows((1, 1, 1)))
    step(store, cache, rows((1, 5_000, 1)))
    assert store.read == []
    load(store).operator.add(rows((1, 2, 1)))
    assert len(store.read) == 2  # the newest run, without the window, and the one before it, which has it


def test_a_cold_worker_does_not_read_what_has_expired() -> None:
    store = CountingStore()
    step(store, Cache(), rows(*((k, 0, 1) for k in range(100))))
    stored = load(store)
    state: Any = stored.operator.state
    stored.operator.replace_state(replace(state, windows=state.windows.expired(1_000)))
    assert stored.operator.live().is_empty()
    assert store.read == []


def test_a_step_that_is_repeated_from_the_same_state_writes_the_same_names() -> None:
    stores = [MemoryRunStore(), MemoryRunStore()]
    for store in stores:
        for n in range(7):
            step(store, Cache(), rows((n, n, n)))
    assert stores[0].names == stores[1].names
    assert stores[0].manifest() == stores[1].manifest()


def test_a_cache_that_knows_another_history_is_not_believed() -> None:
    """A cached run of another store is not used, even if it has the name of a run of this store."""
    one, two, cache = MemoryRunStore(), MemoryRunStore(), Cache()
    step(one, cache, rows((1, 0, 5)))
    step(two, cache, rows((2, 0, 7)))
    assert load(one, cache).operator.live()["key"].to_list() == [1]


def test_a_cache_keeps_its_bound_and_forgets_the_least_recently_used() -> None:
    size = RunRows.sorted_by_hash(rows(*((k, 0, 1) for k in range(1_000))), SHAPE).frame.estimated_size()
    cache = Cache(limit=int(2.5 * size))
    made = {name: RunRows.sorted_by_hash(rows(*((k, 0, 1) for k in range(1_000))), SHAPE) for name in "abc"}
    for name in "ab":
        cache.put(name, made[name])
    assert cache.get("a") is made["a"]
    cache.put("c", made["c"])
    assert [cache.get(name) is not None for name in "abc"] == [True, False, True]
    assert cache.bytes == 2 * size
    cache.put("a", made["b"])
    assert cache.bytes == 2 * size
    cache.drop("a")
    cache.drop("never there")
    assert cache.bytes == size


@pytest.fixture(params=["short", "long"])
def _length(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats all copies as those of short runs, or all as those of long runs.

    The copy of a short run is the stored bytes. The copy of a long run is memory-mapped.
    """
    monkeypatch.setattr(run_library, "_SHORT", 0 if request.param == "long" else 1 << 22)


def copies(folder: Path) -> set[str]:
    """Returns the checksums of the runs that have a copy in the folder.

    The name of a copy is this checksum, a hyphen, and a checksum of the columns by which rows are hashed.
    """
    return {path.stem.partition("-")[0] for path in folder.iterdir()}


@pytest.mark.usefixtures("_length")
def test_another_process_reads_the_mirror_and_not_the_store(tmp_path: Path) -> None:
    store, mirror = CountingStore(), Mirror(tmp_path / "runs")
    step(store, Cache(), rows((1, 0, 5)), mirror=mirror)
    assert load(store, mirror=mirror).operator.live().height == 1
    assert store.read == []
    assert copies(tmp_path / "runs") == {checksum(store.run(name)) for name in store.names}
    step(store, Cache(), rows((1, 10**9, 1)), 10**9, mirror)
    assert copies(tmp_path / "runs") == {checksum(store.run(name)) for name in store.names}


@pytest.mark.usefixtures("_length")
@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-1], lambda data: data[:-3] + b"x" + data[-2:], None]
)
def test_a_lost_or_damaged_copy_is_read_from_the_store(
    tmp_path: Path, damage: Callable[[bytes], bytes] | None
) -> None:
    store, mirror = CountingStore(), Mirror(tmp_path)
    step(store, Cache(), rows((1, 0, 5)), mirror=mirror)
    (copy,) = tmp_path.iterdir()
    sound = copy.read_bytes()
    if damage is None:
        copy.unlink()
    else:
        copy.write_bytes(damage(sound))
    assert load(store, mirror=mirror).operator.live()["pending"].to_list() == [1]
    assert store.read == store.names
    assert copy.read_bytes() == sound  # the copy was written again
    assert load(store, mirror=mirror).operator.live().height == 1
    assert len(store.read) == 1


def test_a_disk_that_takes_no_copies_is_done_without(tmp_path: Path) -> None:
    """If the mirror cannot write, runs are read from the store."""
    (tmp_path / "file").write_text("in the way")
    store, mirror = CountingStore(), Mirror(tmp_path / "file" / "runs")
    step(store, Cache(), rows((1, 0, 5)), mirror=mirror)
    assert load(store, mirror=mirror).operator.live().height == 1
    assert store.read == store.names


def test_a_lost_run_is_an_error_and_not_an_empty_state() -> None:
    store = MemoryRunStore()
    step(store, Cache(), rows((1, 10, 1)))
    store.drop_run(store.names[0])
    with pytest.raises(StateError, match=r"is missing \| every run that a manifest names exists \| restore"):
        load(store).operator.live()


def test_clocks_alone_are_nothing_to_write() -> None:
    """A step that only moves clocks does not change the state; the end of input does."""
    store = MemoryRunStore()
    stored = load(store)
    stored.operator.advance(5, 5)
    assert not stored.changed
    stored.operator.add(rows((1, 10, 1)))
    assert stored.changed
    stored.commit()
    again = load(store)
    again.operator.finish()
    assert again.changed


def test_another_specification_is_refused_with_the_field_that_changed() -> None:
    """semantics 47.2."""
    store = MemoryRunStore()
    step(store, Cache(), rows((1, 10, 1)))
    changed = (
        r"a changed specification \(window: .*'size': 1000.* -> .*'size': 2000.*\) \| a state "
        r"belongs to the window .* \| put the field back"
    )
    with pytest.raises(StateError, match=changed):
        StoredOperator.load(spec(2_000), SCHEMA, RunLibrary(store, Cache()))


def test_another_number_of_shards_is_refused() -> None:
    store = MemoryRunStore()
    step(store, Cache(), rows((1, 10, 1)))
    with pytest.raises(
        StateError,
        match=r"shards=4 \| .* with 1 shards, and their number is fixed \| give shards=1, .*initial_state=",
    ):
        StoredOperator.load(spec(), SCHEMA, RunLibrary(store, Cache()), shards=4)


def test_other_column_types_are_refused() -> None:
    store = MemoryRunStore()
    step(store, Cache(), rows((1, 10, 1)))
    with pytest.raises(
        StateError, match=r"a state with other columns: \['v'\] \| the columns of a state have"
    ):
        StoredOperator.load(spec(), {**SCHEMA, "v": pl.Float64()}, RunLibrary(store, Cache()))


def test_the_columns_of_a_position_are_such_as_json_keeps() -> None:
    """Columns of a position whose types JSON cannot restore are refused (semantics 4)."""
    positioned = pw.WindowOperator(
        window=pw.Tumbling(10),
        aggregates=[F.count().alias("n")],
        keys=["key"],
        position=pw.spec.Position("p", "v"),
    )
    WindowEngine(positioned, SCHEMA | {"p": pl.String()})
    with pytest.raises(
        SpecError,
        match=r"position p: date \| the columns that name a source's partition .* \| cast p to STRING",
    ):
        WindowEngine(positioned, SCHEMA | {"p": pl.Date()})
    with pytest.raises(SpecError, match=r"offset v: double \| an offset is a whole number"):
        WindowEngine(positioned, SCHEMA | {"p": pl.Int64(), "v": pl.Float64()})


def test_late_rows_come_in_arrival_order_whatever_makes_them_late() -> None:
    """With drop_by="row" rows of Global() can be late, and keep their arrival order (semantics 13.3, 23)."""
    late = pw.WindowOperator(
        window=pw.Global(),
        aggregates=[F.count().alias("n")],
        keys=["key"],
        drop_by="row",
        trigger=pw.Always(),
    )
    operator = WindowEngine(late, SCHEMA)
    operator.advance(0, 2)
    assert operator.add(rows((1, 0, 2), (1, -1, 3))).late["v"].to_list() == [3, 2]
