"""Reads the state of a checkpoint in a local directory, without Spark."""

from collections.abc import Iterator

import polars as pl

from panewise.checkpoints.figures import (
    CheckpointFigures,
    OperatorFigures,
    ShardFigures,
    ShowProgress,
    silent,
)
from panewise.checkpoints.layout import CheckpointLayout, Stored, directory_of, layout_of, record_in
from panewise.checkpoints.partition import ShardEntries, VersionFiles, shards_in
from panewise.checkpoints.shard import live_rows, manifest_of, recorded_spec, shard_figures
from panewise.engine.columns import END, ONE_KEY, START
from panewise.engine.protocol import Inspection
from panewise.state import Manifest


def read_files(
    checkpoint: str, batch: int | None = None, progress: ShowProgress = silent
) -> CheckpointFigures:
    """Reads the state in a checkpoint, as of a micro-batch: by default the last one that was committed.

    The query may be running. Memory has about a million windows of it at once.

    Args:
        checkpoint: the local directory.
        batch: the number of the micro-batch.
        progress: is called with what is being read.

    Raises:
        StateError: if there is no such checkpoint or micro-batch, if it has no state of panewise, or if the
            state is corrupt.
        UnknownFormatError: if only Spark can read it.
    """
    layout = layout_of(checkpoint, batch)
    record = record_in(directory_of(checkpoint))
    known = None if record is None else Manifest.decode(record)
    operators = tuple(_operator_figures(layout, stored, known, progress) for stored in layout.operators)
    return CheckpointFigures(checkpoint, layout.batch, operators)


def live_in_files(
    checkpoint: str, batch: int | None = None, progress: ShowProgress = silent
) -> Iterator[pl.DataFrame]:
    """Yields the live windows in a checkpoint, in frames of about a million rows at most.

    The columns are `operator`, `shard`, `key`, `start` and `end`, both in microseconds. `key` is a struct, in
    which bytes are hexadecimal digits; without keys it is absent. Rows of OVER operators and joins have an
    event time as `end`, and no `start`. Arguments and errors are those of :func:`read_files`.
    """
    layout = layout_of(checkpoint, batch)
    for stored in layout.operators:
        words = _Words(stored, progress)
        for partition, shard, entries in shards_of(layout, stored):
            words.partition = partition
            for part in live_rows(shard, entries, words):
                if part.rows.height:
                    yield _listed(stored.number, shard, part)


def _listed(operator: int, shard: int, part: Inspection) -> pl.DataFrame:
    types = part.rows.schema
    keys = [
        pl.col(name).bin.encode("hex") if types[name] == pl.Binary else pl.col(name)
        for name in part.keys
        if name != ONE_KEY
    ]
    bounds = {START: "start", END: "end"}
    return part.rows.select(
        pl.lit(operator).alias("operator"),
        pl.lit(shard).alias("shard"),
        *([pl.struct(keys).alias("key")] if keys else []),
        *(pl.col(name).alias(shown) for name, shown in bounds.items() if name in part.rows.columns),
    )


def shards_of(layout: CheckpointLayout, stored: Stored) -> Iterator[tuple[int, int, ShardEntries]]:
    """Yields partition, number and entries of each shard of an operator.

    The entries can be read until the next shard is requested.
    """
    for partition, (folder, unique_id) in enumerate(zip(stored.partitions, stored.ids, strict=True)):
        files = VersionFiles.of_version(folder, layout.batch + 1, unique_id)
        with shards_in(files, checked=layout.checked) as shards:
            for shard, entries in sorted(shards.items()):
                yield partition, shard, entries


def operator_figures(number: int, manifest: Manifest | None, figures: list[ShardFigures]) -> OperatorFigures:
    """Returns the state of an operator from one of its manifests, None if there is none, and its shards."""
    shards = tuple(sorted(figures, key=lambda state: state.shard))
    if manifest is None:
        return OperatorFigures(number, None, 0, shards)
    return OperatorFigures(number, recorded_spec(manifest), manifest.shards, shards)


def _operator_figures(
    layout: CheckpointLayout, stored: Stored, known: Manifest | None, progress: ShowProgress
) -> OperatorFigures:
    manifest, shards, words = None, list[ShardFigures](), _Words(stored, progress)
    for partition, shard, entries in shards_of(layout, stored):
        words.partition = partition
        shards.append(shard_figures(shard, entries, words))
        manifest = manifest or manifest_of(entries)
    return operator_figures(stored.number, manifest or known, shards)


class _Words:
    """Says how much of an operator has been read, each time that a run was read."""

    def __init__(self, stored: Stored, progress: ShowProgress) -> None:
        self._stored, self._progress, self._runs, self.partition = stored, progress, 0, 0

    def __call__(self) -> None:
        self._runs += 1
        of = f"partition {self.partition + 1} of {len(self._stored.partitions)}"
        self._progress(f"operator {self._stored.number}, {of}: {self._runs:,} runs")
