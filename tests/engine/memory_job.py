"""Measures the resident memory after steps over a large state with a small cache.

test_memory runs this script in a process of its own.
"""

import json
import os
import random
import sys
from pathlib import Path

import polars as pl

import panewise as pw
from panewise import functions as F
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.state import Mirror

SCHEMA: dict[str, pl.DataType] = {"key": pl.Int64(), "event_time": pl.Int64(), "v": pl.Int64()}
SPEC = pw.WindowOperator(
    window=pw.Tumbling("1 hour"),
    aggregates=[F.count().alias("n"), F.sum("v").alias("s"), F.max("v").alias("m")],
    keys=["key"],
    trigger=pw.Always(),
    accumulation="accumulating",
)
FILL, STEP = 100_000, 20_000


class DiskStore:
    """A durable store on disk, outside the memory of this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def manifest(self) -> str | None:
        path = self.folder / "manifest"
        return path.read_text() if path.exists() else None

    def put_manifest(self, text: str) -> None:
        (self.folder / "manifest").write_text(text)

    def run(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def put_run(self, name: str, data: bytes) -> None:
        (self.folder / name).write_bytes(data)

    def drop_run(self, name: str) -> None:
        (self.folder / name).unlink()


def resident() -> int:
    """Returns the resident bytes of this process, mapped files included."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(folder: str, keys: int, limit: int) -> None:
    durable = Path(folder) / "durable"
    durable.mkdir()
    store, cache, mirror = DiskStore(durable), Cache(limit), Mirror(Path(folder) / "mirror")
    draw = random.Random(1)

    def step(chosen: list[int]) -> int:
        stored = StoredOperator.load(SPEC, SCHEMA, RunLibrary(store, cache, mirror))
        panes = stored.operator.add(
            pl.DataFrame({"key": chosen, "event_time": 1, "v": 1}, schema=SCHEMA)
        ).panes
        stored.commit()
        return panes.height

    step([-1])
    before = resident()
    for first in range(0, keys, FILL):
        step(list(range(first, first + FILL)))
    seen = []
    for _ in range(12):
        chosen = sorted(draw.sample(range(keys), STEP))
        assert step(chosen) == STEP
        seen.append(resident() - before)
    state = sum(path.stat().st_size for path in (Path(folder) / "mirror").iterdir())
    sys.stdout.write(json.dumps({"state": state, "cached": cache.bytes, "grown": max(seen)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
