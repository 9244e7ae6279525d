"""Reads the state of a checkpoint in a local directory, without Spark."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count, groupby
from operator import itemgetter

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
from panewise.engine.family_parts import Inspection
from panewise.errors import StateError
from panewise.state import Manifest
from panewise.state.export_file import ExportFile, is_export


def read_files(
    checkpoint: str, batch: int | None = None, progress: ShowProgress = silent
) -> CheckpointFigures:
    """Reads the state in a checkpoint, as of a micro-batch: by default the last one that was committed.

    The query may be running. Memory has about a million windows of it at once.

    Args:
        checkpoint: the local directory, or a file with an exported state.
        batch: the number of the micro-batch.
        progress: is called with what is being read.

    Raises:
        StateError: if there is no such checkpoint or micro-batch, if it has no state of panewise, or if the
            state is corrupt.
        UnknownFormatError: if only Spark can read it.
    """
    if is_export(checkpoint):
        return _exported_figures(checkpoint, _opened(checkpoint, batch), progress)
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
    for operator, shard, entries, after_run in _all_shards(checkpoint, batch, progress):
        for part in live_rows(shard, entries, after_run):
            if part.rows.height:
                yield _listed(operator, shard, part)


def _all_shards(
    checkpoint: str, batch: int | None, progress: ShowProgress
) -> Iterator[tuple[int, int, Mapping[str, bytes], Callable[[], None]]]:
    """Yields the operators of a checkpoint or file, each with what :func:`shards_of` yields."""
    if is_export(checkpoint):
        yield from _exported_shards(_opened(checkpoint, batch), progress)
        return
    layout = layout_of(checkpoint, batch)
    for stored in layout.operators:
        for shard, of_shard, after_run in shards_of(layout, stored, progress):
            yield stored.number, shard, of_shard, after_run


def _opened(file: str, batch: int | None) -> ExportFile:
    """Returns an exported state, which is that of one micro-batch."""
    if batch is not None:
        rule = "an exported state is that after one micro-batch"
        raise StateError(f"batch={batch} with the file {file}", rule, "leave it out")
    return ExportFile.open(file)


def _exported_shards(
    export: ExportFile, progress: ShowProgress
) -> Iterator[tuple[int, int, Mapping[str, bytes], Callable[[], None]]]:
    """Yields the operators of a file, each with what :func:`shards_of` yields."""
    total, place = sum(map(len, export.operators.values())), count()
    for operator, shards in export.operators.items():
        for shard, entries in shards.items():
            words = f"operator {operator}, shard {shard}"
            yield operator, shard, entries, _after_run(progress, words, next(place) / total)


def _after_run(progress: ShowProgress, words: str, share: float) -> Callable[[], None]:
    runs = count(1)
    return lambda: progress(f"{words}: {next(runs):,} runs", share)


def _exported_figures(file: str, export: ExportFile, progress: ShowProgress) -> CheckpointFigures:
    """Returns what an exported state contains."""
    operators = []
    for number, together in groupby(_exported_shards(export, progress), key=itemgetter(0)):
        shards = [(shard, entries, after_run) for _, shard, entries, after_run in together]
        manifest = manifest_of(shards[0][1])
        operators.append(operator_figures(number, manifest, [shard_figures(*shard) for shard in shards]))
    return CheckpointFigures(file, export.origin.batch or 0, tuple(operators))


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


def shards_of(
    layout: CheckpointLayout, stored: Stored, progress: ShowProgress
) -> Iterator[tuple[int, ShardEntries, Callable[[], None]]]:
    """Yields number and entries of each shard of an operator, and a function to call after each read run.

    The entries can be read until the next shard is requested. The function shows how much has been read.
    """
    runs, length = count(1), len(stored.partitions)
    before = sum(len(other.partitions) for other in layout.operators[: layout.operators.index(stored)])
    total = sum(len(each.partitions) for each in layout.operators)
    for partition, (folder, unique_id) in enumerate(zip(stored.partitions, stored.ids, strict=True)):
        words = f"operator {stored.number}, partition {partition + 1} of {length}"
        files = VersionFiles.of_version(folder, layout.batch + 1, unique_id)
        with shards_in(files, checked=layout.checked) as shards:
            for place, (shard, entries) in enumerate(sorted(shards.items())):
                share = (before + partition + place / len(shards)) / total
                yield shard, entries, lambda: progress(f"{words}: {next(runs):,} runs", share)  # noqa: B023


def operator_figures(number: int, manifest: Manifest | None, figures: list[ShardFigures]) -> OperatorFigures:
    """Returns the state of an operator from one of its manifests, None if there is none, and its shards."""
    shards = tuple(sorted(figures, key=lambda state: state.shard))
    if manifest is None:
        return OperatorFigures(number, None, 0, shards)
    return OperatorFigures(number, recorded_spec(manifest), manifest.shards, shards)


def _operator_figures(
    layout: CheckpointLayout, stored: Stored, known: Manifest | None, progress: ShowProgress
) -> OperatorFigures:
    manifest, shards = None, list[ShardFigures]()
    for shard, entries, after_run in shards_of(layout, stored, progress):
        shards.append(shard_figures(shard, entries, after_run))
        manifest = manifest or manifest_of(entries)
    return operator_figures(stored.number, manifest or known, shards)
