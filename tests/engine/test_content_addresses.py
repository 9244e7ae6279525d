"""Cache and mirror are addressed by content, so states share them whatever the names of their runs are."""

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine import run_library
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.engine.windows.operator import WindowEngine
from panewise.errors import StateError
from panewise.state import Manifest, MemoryRunStore, Mirror
from panewise.state.run_format import checksum, decode, encode
from tests.state.make_golden import CASES, formats_of, read
from tests.state.make_golden import SCHEMA as GOLDEN_SCHEMA

SCHEMA: dict[str, pl.DataType] = {"key": pl.Int64(), "event_time": pl.Int64(), "v": pl.Float64()}
SPEC = pw.WindowOperator(
    window=pw.Tumbling(1_000),
    aggregates=[F.count().alias("n"), F.sum("v").alias("s")],
    keys=["key"],
    trigger=pw.Always(),
    accumulation="accumulating",
)


def rows(*given: tuple[int, int, float]) -> pl.DataFrame:
    return pl.DataFrame(given, schema=SCHEMA, orient="row")


class Worker:
    """A process, whose steps share a cache and a mirror."""

    def __init__(self, folder: Path, limit: int = 1 << 30) -> None:
        self.cache, self.mirror = Cache(limit), Mirror(folder)

    def load(self, store: MemoryRunStore, spec: pw.WindowOperator = SPEC) -> StoredOperator:
        return StoredOperator.load(spec, SCHEMA, RunLibrary(store, self.cache, self.mirror))

    def step(
        self, store: MemoryRunStore, batch: pl.DataFrame, spec: pw.WindowOperator = SPEC
    ) -> pl.DataFrame:
        stored = self.load(store, spec)
        panes = stored.operator.add(batch).panes
        stored.commit()
        return panes


class CountingStore(MemoryRunStore):
    """A run store that records which runs are read."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def run(self, name: str) -> bytes:
        self.read.append(name)
        return super().run(name)


@pytest.fixture(params=["short", "long"], autouse=True)
def _length(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats all copies as those of short runs, or all as those of long runs."""
    monkeypatch.setattr(run_library, "_SHORT", 0 if request.param == "long" else 1 << 22)


def test_two_states_with_the_same_names_share_a_cache_and_a_mirror(tmp_path: Path) -> None:
    """Two queries that share cache and mirror do not mix up their runs, which have the same names."""
    draw, workers = random.Random(3), [Worker(tmp_path), Worker(tmp_path), Worker(tmp_path, limit=0)]
    plain, stores = (
        [WindowEngine(SPEC, SCHEMA), WindowEngine(SPEC, SCHEMA)],
        [MemoryRunStore(), MemoryRunStore()],
    )
    for _ in range(40):
        for operator, store in zip(plain, stores, strict=True):
            batch = rows(*((draw.randrange(5), draw.randrange(9_000), draw.randrange(4)) for _ in range(3)))
            expected = operator.add(batch).panes
            assert draw.choice(workers).step(store, batch).rows() == expected.rows()
    assert stores[0].names == stores[1].names


def test_a_state_that_went_back_is_not_given_what_came_after(tmp_path: Path) -> None:
    """After a restore, a copy of a lost run is not used for a new run of the same name."""
    workers, store = [Worker(tmp_path), Worker(tmp_path)], MemoryRunStore()
    workers[0].step(store, rows((1, 0, 1)))
    copy = copied(store)
    workers[0].step(store, rows((1, 1, 10)))
    workers[1].step(copy, rows((1, 2, 100), (2, 0, 7)))
    panes = workers[0].step(copy, rows((1, 3, 1000), (2, 0, 0)))
    assert panes.sort("key")["s"].to_list() == [1101, 7]


def copied(store: MemoryRunStore) -> MemoryRunStore:
    copy = MemoryRunStore()
    copy.put_manifest(store.manifest() or "")
    for name in store.names:
        copy.put_run(name, store.run(name))
    return copy


def test_a_state_that_starts_again_finds_its_copies(tmp_path: Path) -> None:
    """A new process reads the mirror instead of the store."""
    store = CountingStore()
    Worker(tmp_path).step(store, rows((1, 0, 1)))
    assert Worker(tmp_path).step(store, rows((1, 0, 1)))["n"].to_list() == [2]
    assert store.read == []


def test_two_files_of_the_mirror_that_are_exchanged_are_not_taken(tmp_path: Path) -> None:
    """A copy whose content does not match its name is not used."""
    stores = [MemoryRunStore(), MemoryRunStore()]
    for number, store in enumerate(stores):
        Worker(tmp_path).step(store, rows((1, 0, 10 + number)))
    one, other = sorted(tmp_path.iterdir())
    third = one.rename(tmp_path / "third")
    other.rename(one)
    third.rename(other)
    for number, store in enumerate(stores):
        assert Worker(tmp_path).load(store).operator.live().height == 1
        assert Worker(tmp_path).step(store, rows((1, 0, 0)))["s"].to_list() == [10 + number]


def test_what_two_states_both_have_may_be_dropped_by_one(tmp_path: Path) -> None:
    """If one state deletes a run, another state that has the same run still reads it."""
    worker, store = Worker(tmp_path), MemoryRunStore()
    worker.step(store, rows((1, 0, 5)))
    copy = copied(store)
    held = worker.load(copy)
    assert held.operator.live().height == 1
    gone = worker.load(store)
    gone.operator.advance(0, 10_000)
    gone.commit()
    assert store.names == []
    assert list(tmp_path.iterdir()) == []
    assert held.operator.live().height == 1
    assert worker.step(copy, rows((1, 0, 1)))["s"].to_list() == [6]


def test_the_same_bytes_in_another_order_of_columns_of_the_hash_are_another_run(tmp_path: Path) -> None:
    """Runs with equal bytes whose rows are hashed by different columns have different addresses.

    Sessions and fixed windows can store the same rows, but hash them by different columns.
    """
    fixed = replace(SPEC, window=pw.Tumbling(1_000))
    session = replace(SPEC, window=pw.Session(1_000))
    worker, stores = Worker(tmp_path), (MemoryRunStore(), MemoryRunStore())
    for store, spec in zip(stores, (fixed, session), strict=True):
        worker.step(store, rows((1, 0, 5)), spec)
    assert stores[0].run("1-1") == stores[1].run("1-1")
    for store, spec in zip(stores, (fixed, session), strict=True):
        for reader in (worker, Worker(tmp_path)):
            assert reader.load(store, spec).operator.add(rows((1, 0, 1))).panes["s"].to_list() == [6]


def other_attempt(store: MemoryRunStore) -> MemoryRunStore:
    """Returns the store of another attempt at the same step: only the last digit of a sum differs."""
    other = copied(store)
    (name,) = other.names
    frame = decode(other.run(name), name)
    other.put_run(name, encode(frame.with_columns(pl.col("__sum:v") * (1 + 2**-52)), name))
    assert other.run(name) != store.run(name)
    return other


def test_attempts_at_a_step_need_not_be_the_same_to_the_byte() -> None:
    """The same rows in another order make other bytes: a shuffle does not fix the order of rows."""
    listing, sums = replace(SPEC, aggregates=[F.collect_list("v").alias("l")]), set()
    for order in permutations([(1, 0, 0.1), (1, 0, 0.2), (1, 0, 0.3)]):
        store = MemoryRunStore()
        stored = StoredOperator.load(listing, SCHEMA, RunLibrary(store, Cache()))
        stored.operator.add(rows(*order))
        stored.commit()
        sums.add(checksum(store.run("1-1")))
    assert len(sums) == 6


def test_a_run_of_another_attempt_at_the_same_step_is_taken_and_described_anew(tmp_path: Path) -> None:
    """A run of another attempt is accepted, and the manifest gets its checksum.

    Spark may restore the snapshot of one attempt with the change logs of another (docs/decisions/0009).
    """
    store, worker = MemoryRunStore(), Worker(tmp_path)
    worker.step(store, rows((1, 0, 0.1)))
    other = other_attempt(store)
    cold = Worker(tmp_path / "other")
    assert cold.step(other, rows((2, 0, 1)))["n"].to_list() == [1]
    stored = Worker(tmp_path / "other").load(other)
    assert [run.checksum for run in stored.manifest.runs] == [
        checksum(other.run(run.name)) for run in stored.manifest.runs
    ]
    assert stored.operator.live().height == 2


def test_a_run_with_other_windows_is_refused(tmp_path: Path) -> None:
    stores = [MemoryRunStore(), MemoryRunStore()]
    for store, batch in zip(stores, (rows((1, 0, 1)), rows((1, 5_000, 1))), strict=True):
        Worker(tmp_path).step(store, batch)
    stores[0].put_run("1-1", stores[1].run("1-1"))
    with pytest.raises(
        StateError,
        match=r"another run is stored as run 1-1 \| a run contains the windows that the manifest lists \| "
        r"restore",
    ):
        Worker(tmp_path / "new").load(stores[0]).operator.live()


def test_a_run_with_the_columns_of_another_operator_is_refused(tmp_path: Path) -> None:
    stores = [MemoryRunStore(), MemoryRunStore()]
    for store, spec in zip(stores, (SPEC, replace(SPEC, aggregates=[F.max("v").alias("m")])), strict=True):
        Worker(tmp_path).step(store, rows((1, 0, 1)), spec)
    stores[0].put_run("1-1", stores[1].run("1-1"))
    with pytest.raises(
        StateError, match=r"run 1-1 with other columns \| a run has the columns of its table \| restore"
    ):
        Worker(tmp_path / "new").load(stores[0]).operator.live()


Damage = Callable[[bytes], bytes]


@pytest.mark.parametrize("at", [0, 4, 6, 12, 64, 200, -1])
def test_a_damaged_run_of_the_store_is_named(tmp_path: Path, at: int) -> None:
    store = MemoryRunStore()
    Worker(tmp_path).step(store, rows((1, 0, 1)))
    data = bytearray(store.run("1-1"))
    data[at] ^= 0x41
    store.put_run("1-1", bytes(data))
    with pytest.raises(StateError, match="1-1"):
        Worker(tmp_path / "new").load(store).operator.live()


@pytest.mark.parametrize("name", [name for name in sorted(CASES) if 1 in formats_of(name)])
def test_runs_of_format_1_have_checksums_once_they_are_read_and_written_about(
    tmp_path: Path, name: str
) -> None:
    """Runs of format 1 have no checksum, so they are read from the store; a commit adds their checksums."""
    store, spec = read(name, 1), CASES[name].spec
    stored = StoredOperator.load(spec, GOLDEN_SCHEMA, RunLibrary(store, Cache(), Mirror(tmp_path)))
    assert {run.checksum for run in stored.manifest.runs} == {None}
    stored.operator.live()
    stored.commit()
    known = {
        run.name: run.checksum
        for run in Manifest.decode(store.manifest() or "").runs
        if run.checksum is not None
    }
    assert known == {run: checksum(store.run(run)) for run in known}
    assert known


TRUNCATED = """
import sys
from pathlib import Path
import panewise.state.run_mirror as module
import polars as pl
from panewise.state.run_format import stream_of
mirror = module.Mirror(Path(sys.argv[1]))
frame = pl.DataFrame({"n": range(1_000_000)})
mirror.write("a", stream_of(frame, "uncompressed"))
(path,) = Path(sys.argv[1]).iterdir()
assert mirror.read("a").equals(frame)
with path.open("r+b") as file:
    file.truncate(5_000_000)
print(mirror.read("a"))
"""


def test_a_truncated_copy_is_seen_before_it_is_mapped(tmp_path: Path) -> None:
    """A truncated copy is deleted, not mapped: reading a missing page of a mapped file kills the process."""
    done = subprocess.run(
        [sys.executable, "-c", TRUNCATED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "None\n", "")
    assert list(tmp_path.iterdir()) == []
