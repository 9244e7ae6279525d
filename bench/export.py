"""The memory and the time that exported states take: `python -m bench.export`.

It writes a file with a window for each key, in several shards. Then processes of their own import it: into
one store, as a standalone operator does, and as the pieces of other shards, as the driver of a Spark query
does. With `--checkpoint` the state of a query is exported, too. With `--fill` a query stores so many windows
first, and its state is exported.
"""

import argparse
import tempfile
from pathlib import Path

import polars as pl

import panewise as pw
from bench import flat, session
from bench.measured_process import Taken, measured
from bench.state import fill
from panewise import functions as F
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.exported_operator import entries_of
from panewise.engine.exported_state import ExportedState
from panewise.engine.imported_shard import ImportedShard, begin, in_store
from panewise.engine.kernels.hashing import shard_places
from panewise.engine.registry import operator_for
from panewise.engine.run_library import Cache, RunLibrary
from panewise.spark.workers.state_pieces import state_envelopes
from panewise.state.export_file import ExportedFrom, writing
from panewise.state.file_store import FileRunStore

WINDOWS = 10_000_000
SHARDS, OTHERS = 16, 5
MANY = 1 << 18  # rows of a batch
SCHEMA: dict[str, pl.DataType] = {"k": pl.Int64(), "event_time": pl.Int64(), "v": pl.Int64()}
SPEC = pw.WindowOperator(
    keys=["k"],
    window=pw.Tumbling(10),
    aggregates=[F.count().alias("n"), F.sum("v").alias("s"), F.max("v").alias("most")],
)


def write(file: Path, windows: int) -> None:
    """Writes a file with so many windows."""
    with writing(file, ExportedFrom()) as writer:
        for shard in range(SHARDS):
            operator = operator_for(SPEC, SCHEMA)
            for first in range(0, windows, MANY):
                keys = pl.DataFrame({"k": pl.int_range(first, min(first + MANY, windows), eager=True)})
                mine = keys.filter(pl.Series(shard_places(keys, ["k"], SHARDS) == shard))
                operator.add(mine.with_columns(event_time=pl.lit(1, pl.Int64), v=pl.col("k")))
            for name, data in entries_of(operator, {}, SHARDS):
                writer.add(0, shard, name, data)


def into_store(file: str, folder: str) -> int:
    """Imports a file into the store of one operator; returns the number of its windows."""
    exported = ExportedState.open(file, SPEC, SCHEMA, [0])
    store, cache = FileRunStore(folder), Cache(1 << 28)

    def load() -> StoredOperator:
        return StoredOperator.load(SPEC, SCHEMA, RunLibrary(store, cache))

    with store.commit():
        begin(store, SPEC, 1, exported.redistribution.header(0))
        shard = ImportedShard(load, lambda stored: stored.commit())
        in_store(exported.redistribution, exported.shards, shard)
    return sum(run.rows for run in load().manifest.runs)


def into_pieces(file: str) -> int:
    """Divides a file among other shards, as the driver of a query does; returns the bytes of the pieces."""
    exported = ExportedState.open(file, SPEC, SCHEMA, list(range(OTHERS)))
    pieces = state_envelopes(exported.redistribution, exported.shards)
    return sum(len(payload) for _, _, payload in pieces)


def measure(windows: int, parent: Path, checkpoint: str | None = None) -> dict[str, Taken]:
    """Returns what each step took, by its name."""
    file, here = parent / "state", ("-m", "bench.export", "--step")
    write(file, windows)
    taken = {
        "import into a store": measured([*here, "store", str(file), str(parent / "store")]),
        "import as pieces": measured([*here, "pieces", str(file)]),
        "panewise state FILE": measured(["-m", "panewise", "state", str(file), "--json"]),
    }
    if checkpoint is not None:
        export = ["-m", "panewise", "state", "export", checkpoint, str(parent / "of query")]
        taken["panewise state export"] = measured(export)
    return taken


def filled(windows: int, parent: Path) -> str:
    """Returns the checkpoint of a query that stores so many windows."""
    spark = session.start()
    checkpoint = fill(spark, flat.events(windows), parent)
    spark.stop()
    return str(checkpoint)


def main() -> None:
    """Measures each step, or takes one."""
    parser = argparse.ArgumentParser(prog="python -m bench.export", description="What exported states take.")
    parser.add_argument("--windows", type=int, default=WINDOWS, help="default: %(default)s")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--checkpoint", help="a checkpoint whose state is exported, too")
    source.add_argument(
        "--fill", action="store_true", help="let a query store the windows, and export its state"
    )
    parser.add_argument("--step", nargs="+", help="what a measured process does")
    asked = parser.parse_args()
    if asked.step:
        name, *files = asked.step
        print(f"{(into_store if name == 'store' else into_pieces)(*files):,}")
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as parent:
        checkpoint = filled(asked.windows, Path(parent)) if asked.fill else asked.checkpoint
        for name, of in measure(asked.windows, Path(parent), checkpoint).items():
            print(f"{name}: {of.seconds:.1f} s, {of.resident_mb:,.0f} MB")


if __name__ == "__main__":
    main()
