"""A state that is divided among other shards: what is refused, and what stays where it is.

That other shards emit the same is tested in tests/spark/workers/test_state_pieces.py, for all families.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine import imported_shard
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.exported_operator import entries_of
from panewise.engine.exported_state import ExportedState, StateOwner, exported_states
from panewise.engine.imported_shard import ImportedShard, begin, in_memory, in_store
from panewise.engine.redistribution import Redistribution
from panewise.engine.registry import operator_for
from panewise.engine.run_library import Cache, RunLibrary
from panewise.errors import StateError
from panewise.spec import WindowOperator
from panewise.state import Manifest, MemoryRunStore
from panewise.state.export_file import ExportedFrom, writing

SCHEMA: dict[str, pl.DataType] = {"k": pl.Int64(), "event_time": pl.Int64(), "v": pl.Int64()}
SPEC = pw.WindowOperator(keys=["k"], window=pw.Tumbling(10), aggregates=[F.sum("v").alias("s")])
JOIN = pw.JoinOperator(
    left=pw.Side(keys=["k"]), right=pw.Side(keys=["k"], prefix="r_"), match=pw.Interval(0, 5), how="left"
)
BOTH = {"left": SCHEMA, "right": SCHEMA}


def rows(count: int, first: int = 0) -> pl.DataFrame:
    numbers = range(first, first + count)
    return pl.DataFrame([(n, 1, n) for n in numbers], schema=SCHEMA, orient="row")


def shard(number: int, shards: int = 2) -> dict[str, bytes]:
    operator = operator_for(SPEC, SCHEMA)
    operator.add(rows(100, 100 * number))
    return dict(entries_of(operator, {}, shards))


def manifests(stored: dict[int, dict[str, bytes]]) -> dict[int, Manifest]:
    return {number: Manifest.decode(of["manifest"].decode()) for number, of in stored.items()}


def test_every_row_goes_to_one_shard() -> None:
    """semantics 48.6"""
    stored = {number: shard(number) for number in range(2)}
    plan = Redistribution.plan(SPEC, SCHEMA, manifests(stored), [0, 5, 9])
    pieces = [*plan.pieces(stored)]
    assert {number for number, _, _ in pieces} == {0, 5, 9}
    together = pl.concat([piece for _, _, piece in pieces])
    assert sorted(together["k"]) == list(range(200))
    again = [(number, sorted(piece["k"])) for number, _, piece in plan.pieces(stored)]
    assert again == [(number, sorted(piece["k"])) for number, _, piece in pieces]


def test_rows_stay_if_the_number_of_shards_stays() -> None:
    stored = {number: shard(number) for number in (0, 3)}
    plan = Redistribution.plan(SPEC, SCHEMA, manifests(stored), [0, 3])
    assert [(number, piece.height) for number, _, piece in plan.pieces(stored)] == [(0, 100), (3, 100)]


def numbered(number: int, shards: int = 2) -> dict[str, bytes]:
    operator = operator_for(JOIN, BOTH)
    operator.add(rows(3, number * 3), "left")
    operator.add(rows(1, number * 3), "right")
    operator.add(rows(1, number * 3 + 1).with_columns(event_time=pl.lit(2, pl.Int64)), "right")
    return dict(entries_of(operator, {}, shards))


def test_numbers_of_rows_are_unique_again_and_matches_follow_their_rows() -> None:
    """semantics 48.6: two shards have counted 5 rows each."""
    stored = {number: numbered(number) for number in range(2)}
    plan = Redistribution.plan(JOIN, BOTH, manifests(stored), [0])
    assert plan.header(0)["next_number"] == 10
    found = [
        (name, *pair)
        for _, name, piece in plan.pieces(stored)
        for pair in piece.select("__join_number").rows()
    ]
    assert sorted(number for name, number in found if name == "left") == [0, 1, 2, 5, 6, 7]
    assert sorted(number for name, number in found if name == "left matches") == [0, 1, 5, 6]
    kept = Redistribution.plan(JOIN, BOTH, manifests(stored), [0, 1])
    assert [kept.header(number)["next_number"] for number in (0, 1)] == [5, 5]
    spread = Redistribution.plan(JOIN, BOTH, manifests(stored), [0, 1, 2])
    of_rows = {
        (number, row)
        for number, name, piece in spread.pieces(stored)
        if name == "left"
        for row in piece["__join_number"]
    }
    of_matches = {
        (number, row)
        for number, name, piece in spread.pieces(stored)
        if name == "left matches"
        for row in piece["__join_number"]
    }
    assert len(of_matches) == 4
    assert of_matches <= of_rows


def test_the_columns_of_the_input_may_have_another_order() -> None:
    """semantics 48.7"""
    stored = {number: numbered(number) for number in range(2)}
    reordered = {port: dict(reversed(types.items())) for port, types in BOTH.items()}
    pieces, expected = (
        [*Redistribution.plan(JOIN, types, manifests(stored), [0]).pieces(stored)]
        for types in (reordered, BOTH)
    )
    for (_, name, piece), (_, _, other) in zip(pieces, expected, strict=True):
        assert piece.select(other.columns).equals(other), name
    assert [name for name in pieces[0][2].columns if name in SCHEMA] == ["k", "v", "event_time"]


def test_states_that_are_refused() -> None:
    """semantics 48.7"""
    stored = {0: shard(0, 1)}
    changed = pw.WindowOperator(keys=["k"], window=pw.Tumbling(20), aggregates=[F.sum("v").alias("s")])
    with pytest.raises(StateError, match=r"a changed specification .*window"):
        Redistribution.plan(changed, SCHEMA, manifests(stored), [0])
    with pytest.raises(StateError, match=r"a state with other columns: .*k"):
        Redistribution.plan(SPEC, SCHEMA | {"k": pl.Int32()}, manifests(stored), [0])
    run = next(name for name in stored[0] if name != "manifest")
    plan = Redistribution.plan(SPEC, SCHEMA, manifests(stored), [0])
    with pytest.raises(StateError, match=f"run {run} is missing"):
        list(plan.pieces({0: {}}))


OWNERS = [StateOwner(JOIN, BOTH, [0, 1]), StateOwner(SPEC, SCHEMA, [0, 1, 2])]


def file_of(path: Path, *states: dict[str, bytes]) -> Path:
    """Writes a file with an operator for each state, each in one shard."""
    with writing(path, ExportedFrom()) as writer:
        for operator, entries in enumerate(states):
            for name, data in entries.items():
                writer.add(2 * operator, 0, name, data)  # an operator of Spark has the number between
    return path


def test_states_of_several_operators(tmp_path: Path) -> None:
    """semantics 48.7: a query has them by their places, an operator in process by its specification."""
    file = file_of(tmp_path / "two", numbered(0, 1), shard(0, 1))
    join, windows = exported_states(file, OWNERS)
    assert (join.redistribution.spec, windows.redistribution.spec) == (JOIN, SPEC)
    assert windows.redistribution.shards == (0, 1, 2)
    assert sum(piece.height for _, _, piece in windows.redistribution.pieces(windows.shards)) == 100
    assert ExportedState.open(file, SPEC, SCHEMA, [0]).redistribution.spec == SPEC
    assert [state.shards for state in exported_states(file_of(tmp_path / "none"), OWNERS)] == [{}, {}]


def test_states_of_several_operators_that_are_refused(tmp_path: Path) -> None:
    """semantics 48.7"""
    file, other = file_of(tmp_path / "two", numbered(0, 1), shard(0, 1)), replace(SPEC, allowed_lateness=5)
    with pytest.raises(StateError, match=r"operators \[0, 2\] \| .* as many operators as the file: here 1 "):
        exported_states(file, OWNERS[1:])
    with pytest.raises(StateError, match="a changed specification"):
        exported_states(file, [OWNERS[0], replace(OWNERS[1], spec=other)])
    with pytest.raises(StateError, match=r"operators \[0, 2\] \| exactly one of them .* here 0 "):
        ExportedState.open(file, other, SCHEMA, [0])
    equal = file_of(tmp_path / "equal", shard(0, 1), shard(1, 1))
    with pytest.raises(StateError, match=r"operators \[0, 2\] \| exactly one of them .* here 2 "):
        ExportedState.open(equal, SPEC, SCHEMA, [0])


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imported_shard, "MANY", 64)


@pytest.mark.usefixtures("few_rows")
def test_a_store_gets_the_rows_some_at_a_time() -> None:
    """semantics 48.8: several commits, with merges of their runs, and the live windows of all shards."""
    stored = {number: shard(number, 5) for number in range(5)}
    plan = Redistribution.plan(SPEC, SCHEMA, manifests(stored), [0])
    store, cache = MemoryRunStore(), Cache()

    def load() -> StoredOperator:
        return StoredOperator.load(SPEC, SCHEMA, RunLibrary(store, cache))

    begin(store, SPEC, 1, plan.header(0))
    in_store(plan, stored, ImportedShard(load, lambda loaded: loaded.commit()))
    assert load().manifest.version > 5
    assert len(store.names) < 5
    for operator in (load().operator, in_memory(plan, stored)):
        assert sorted(operator.live()["k"]) == list(range(500))
        assert operator.finish().panes["s"].sum() == sum(range(500))


def test_an_operator_in_memory_has_all_rows_in_its_entries() -> None:
    """semantics 48.4: those of runs, and those that no run has yet."""
    operator = operator_for(SPEC, SCHEMA)
    operator.add(rows(70_000))
    operator.add(rows(10, 70_000))
    entries = dict(entries_of(operator, {}))
    assert len(entries) == 3
    plan = Redistribution.plan(SPEC, SCHEMA, manifests({0: entries}), [0])
    assert in_memory(plan, {0: entries}).live().height == 70_010


def changed_shard(before: WindowOperator, after: WindowOperator, *times: list[int]) -> dict[str, bytes]:
    """Returns a shard of two with rows at the first times, the watermark 100, a change, and further rows."""
    store, cache = MemoryRunStore(), Cache()
    for spec, group in zip((before, after), times, strict=True):
        stored = StoredOperator.load(spec, SCHEMA, RunLibrary(store, cache), 2)
        operator = stored.operator
        list(stored.evaluated())
        operator.add(pl.DataFrame([(7, time, time) for time in group], schema=SCHEMA, orient="row"))
        if operator.changed:
            stored.commit()  # so a run has the windows that expire below
        operator.advance(watermark=100)
        if stored.manifest.header:
            stored.commit()
    text = store.manifest()
    assert text is not None
    return {"manifest": text.encode(), **{name: store.run(name) for name in store.names}}


def continued_in(plan: Redistribution, stored: dict[int, dict[str, bytes]]) -> dict[int, Any]:
    """Returns the operators of the new shards."""
    stores, cache = {number: MemoryRunStore() for number in plan.shards}, Cache()

    def load(number: int) -> StoredOperator:
        return StoredOperator.load(plan.spec, SCHEMA, RunLibrary(stores[number], cache), len(plan.shards))

    imported = {}
    for number, store in stores.items():
        begin(store, plan.spec, len(plan.shards), plan.header(number))
        imported[number] = ImportedShard(partial(load, number), lambda loaded: loaded.commit())
    for number, name, piece in plan.pieces(stored):
        imported[number].add(name, piece)
    for of_shard in imported.values():
        of_shard.end()
    return {number: load(number).operator for number in stores}


LATER = replace(SPEC, allowed_lateness=1000)


@pytest.mark.parametrize("shards", [[0, 1], [0], [0, 1, 2]])
def test_windows_that_are_live_in_a_shard_without_a_floor(shards: list[int]) -> None:
    """semantics 48.11: the lateness was raised, when the first shard had expired windows and the second none.

    Windows of the first one that have expired do not appear again, although its run still has their rows.
    """
    stored = {0: changed_shard(SPEC, LATER, [85, 105], [115]), 1: changed_shard(SPEC, LATER, [], [91])}
    plan = Redistribution.plan(LATER, SCHEMA, manifests(stored), shards)
    assert [plan.header(number).get("floor") for number in shards] == (
        [100, None] if len(shards) == 2 else [None] * len(shards)
    )
    operators = continued_in(plan, stored).values()
    live = pl.concat([operator.live() for operator in operators])
    assert sorted(live["window_start"]) == [90, 100, 110]
    emitted = pl.concat([operator.advance(watermark=200).panes for operator in operators])
    assert sorted(emitted["s"]) == [105, 115]


def test_the_lowest_floor_if_all_shards_have_one() -> None:
    """semantics 48.11"""
    stored = {number: changed_shard(SPEC, LATER, [105], [115]) for number in range(2)}
    plan = Redistribution.plan(LATER, SCHEMA, manifests(stored), [0, 1, 2])
    assert [plan.header(number)["floor"] for number in range(3)] == [100, 100, 100]
    without_one = Redistribution.plan(LATER, SCHEMA, manifests({0: stored[0]}), [0, 1, 2])
    assert "floor" not in without_one.header(0), "the second shard has stored nothing"


@pytest.mark.filterwarnings("ignore::panewise.errors.DataLossWarning")
def test_windows_that_an_earlier_trigger_has_closed_stay_closed() -> None:
    """semantics 47.4, 48.6"""
    closing = replace(SPEC, trigger=pw.AfterCount(1))
    stored = {0: changed_shard(closing, SPEC, [105], []), 1: changed_shard(closing, SPEC, [], [205])}
    plan = Redistribution.plan(SPEC, SCHEMA, manifests(stored), [0, 1, 2])
    operators = continued_in(plan, stored).values()
    live = [operator.live() for operator in operators]
    (place,) = (place for place, windows in enumerate(live) if windows.height)
    assert sorted(live[place].select("window_start", "closed").rows()) == [(100, True), (200, False)]
    row = pl.DataFrame([(7, 106, 1)], schema=SCHEMA, orient="row")
    assert [*operators][place].add(row).late.height == 1
