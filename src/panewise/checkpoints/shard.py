"""Inspects the state of a shard: its manifest and its runs by name."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import polars as pl

from panewise.checkpoints.figures import ShardFigures
from panewise.checkpoints.tables import MANY, ShardTables, check_sound
from panewise.engine.checkpoint import unreadable_spec
from panewise.engine.columns import END, ONE_KEY
from panewise.engine.family_parts import Inspection, engine_parts
from panewise.engine.kernels.instants import lowest
from panewise.engine.progress.clocks import highest
from panewise.errors import SpecError, SpecWarning, StateError
from panewise.spec import Specification
from panewise.spec.codec import without_functions
from panewise.state import Manifest
from panewise.state.manifest import REMEDY

_MANIFEST = "manifest"


def _nothing() -> None:
    """Does nothing."""


def shard_figures(
    shard: int, stored: Mapping[str, bytes], after_run: Callable[[], None] = _nothing, many: int = MANY
) -> ShardFigures:
    """Returns the state of a shard, from its manifest and its runs by name.

    Args:
        shard: the number of the shard.
        stored: the manifest and the runs, which may be read when they are requested.
        after_run: is called after each run that was read.
        many: about how many rows are in memory together.

    Raises:
        StateError: if they are corrupt, incomplete, or of an unknown format.
    """
    with _of_shard(shard):
        manifest = manifest_of(stored)
        sizes = [check_sound(stored, run) for run in manifest.runs]
        figures = ShardFigures(shard, runs=len(sizes), bytes=sum(sizes))
        for inspection in inspections(manifest, stored, after_run, many):
            figures = _added(figures, inspection)
    return figures


def live_rows(
    shard: int, stored: Mapping[str, bytes], after_run: Callable[[], None] = _nothing, many: int = MANY
) -> Iterator[Inspection]:
    """Yields what is live in a shard, in parts. Arguments and errors are those of :func:`shard_figures`."""
    with _of_shard(shard):
        manifest = manifest_of(stored)
        for run in manifest.runs:
            check_sound(stored, run)
        yield from inspections(manifest, stored, after_run, many)


def inspections(
    manifest: Manifest, stored: Mapping[str, bytes], after_run: Callable[[], None], many: int
) -> Iterator[Inspection]:
    """Yields what each part of a shard contains. A key is in one part; without keys there is one part."""
    spec = recorded_spec(manifest)
    family = engine_parts(spec)
    parts = 1 + sum(run.rows for run in manifest.runs) // many
    with TemporaryDirectory(prefix="panewise-state-") as scratch:
        tables = ShardTables(family.tables(spec), manifest.runs, stored, Path(scratch), after_run, parts)
        for part in range(parts):
            yield family.inspect(spec, manifest.header, replace(tables, part=part))


def manifest_of(stored: Mapping[str, bytes]) -> Manifest:
    """Returns the manifest of a shard.

    Raises:
        StateError: if it is missing or damaged.
    """
    if _MANIFEST not in stored:
        raise StateError("no manifest", "a shard with state has a manifest", REMEDY)
    return Manifest.decode(stored[_MANIFEST].decode(errors="replace"))


def _added(before: ShardFigures, part: Inspection) -> ShardFigures:
    """Returns the figures of a shard with a further part."""
    rows, clocks = part.rows, part.clocks
    ends = rows[END] if part.ends_in_time and not rows.is_empty() else pl.Series(dtype=pl.Int64())
    keys = rows.select(part.keys).n_unique() if rows.height else 0
    oldest = [cast(int | None, ends.min()), before.oldest_end]
    newest = [cast(int | None, ends.max()), before.newest_end]
    return replace(
        before,
        windows=before.windows + rows.height,
        keys=max(before.keys, keys) if part.keys == [ONE_KEY] else before.keys + keys,
        watermark=part.watermark,
        processing_time=clocks.processing_time,
        finished=clocks.finished,
        oldest_end=lowest(oldest),
        newest_end=highest(newest),
    )


@contextmanager
def _of_shard(shard: int) -> Iterator[None]:
    try:
        yield
    except StateError as error:
        raise StateError(f"shard {shard}: {error.given}", error.rule, error.remedy) from error


def recorded_spec(manifest: Manifest) -> Specification:
    """Returns the specification in a manifest, with placeholders for user-defined functions.

    Raises:
        StateError: if the specification is not valid.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)  # the user was warned when the query was built
        try:
            spec: Specification = without_functions(manifest.spec)
        except SpecError as error:
            raise unreadable_spec(error) from error
    return spec
