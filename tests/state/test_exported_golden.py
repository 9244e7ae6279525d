"""States of earlier formats and an exported file begin new operators (semantics 48.2, 48.6)."""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from panewise.engine.checkpoint import StoredOperator
from panewise.engine.exported_state import ExportedState
from panewise.engine.imported_shard import ImportedShard, begin, in_memory
from panewise.engine.redistribution import Redistribution
from panewise.engine.run_library import Cache, RunLibrary
from panewise.spec import parts
from panewise.state import Manifest, MemoryRunStore
from panewise.state.export_file import ExportFile
from tests.state.make_golden import CASES, FOLDER, formats_of, read

STATES = [(name, number) for name in sorted(CASES) for number in formats_of(name)]
EXPORTED = sorted(FOLDER.glob("*.state"))


def in_order(live: pl.DataFrame) -> pl.DataFrame:
    return live.select(sorted(live.columns)).sort(by=pl.struct(pl.all().fill_null(strategy="zero")).hash())


def stored_in(name: str, number: int) -> tuple[Manifest, dict[str, bytes]]:
    store = read(name, number)
    text = store.manifest()
    assert text is not None
    return Manifest.decode(text), {run: store.run(run) for run in store.names}


@pytest.mark.parametrize(("name", "number"), STATES)
def test_golden_states_go_on_in_other_shards(name: str, number: int) -> None:
    """semantics 48.6: what is live in the shards together is what was live."""
    case = CASES[name]
    expected = StoredOperator.load(case.spec, case.schemas, RunLibrary(read(name, number), Cache())).operator
    manifest, runs = stored_in(name, number)
    shards = [0] if parts(case.spec).one_shard(case.spec) else [0, 1, 4]
    plan = Redistribution.plan(case.spec, case.schemas, {0: manifest}, shards)
    stores = {shard: MemoryRunStore() for shard in shards}
    cache, imported = Cache(), dict[int, ImportedShard]()
    for shard, store in stores.items():
        begin(store, case.spec, len(shards), plan.header(shard))

        def load(store: MemoryRunStore = store) -> StoredOperator:
            return StoredOperator.load(case.spec, case.schemas, RunLibrary(store, cache), len(shards))

        imported[shard] = ImportedShard(load, lambda stored: stored.commit())
    for shard, table, rows in plan.pieces({0: runs}):
        imported[shard].add(table, rows)
    live = []
    for shard in imported.values():
        shard.end()
        live.append(shard.load().operator.live())
    assert_frame_equal(in_order(pl.concat(live)), in_order(expected.live()))


@pytest.mark.parametrize("path", EXPORTED, ids=lambda path: path.stem)
def test_exported_files_of_earlier_releases(path: Path) -> None:
    """semantics 48.2: what a release has exported, later ones import."""
    export = ExportFile.open(path)
    assert (export.origin.batch, export.origin.watermark) == (2, 31_000_000)
    case = CASES[path.stem.rpartition("-format-")[0]]
    exported = ExportedState.open(path, case.spec, case.schemas, [0])
    expected = StoredOperator.load(
        case.spec, case.schemas, RunLibrary(read("tumbling", 2), Cache())
    ).operator.live()
    operator = in_memory(exported.redistribution, exported.shards)
    assert_frame_equal(in_order(operator.live()), in_order(expected))


def test_there_is_an_exported_file() -> None:
    assert EXPORTED
