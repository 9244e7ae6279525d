"""Exports the state in the checkpoint of a query to one file, without Spark. The checkpoint stays as it is.

The entries of the state store are copied, one at a time. So memory does not depend on the number of windows.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from panewise.checkpoints.figures import ShowProgress, silent
from panewise.checkpoints.layout import directory_of, layout_of
from panewise.checkpoints.reader import shards_of
from panewise.checkpoints.shard import manifest_of
from panewise.errors import StateError
from panewise.state.export_file import MANIFEST, ExportedFrom, writing
from panewise.state.manifest import REMEDY
from panewise.state.run_format import check


@dataclass(frozen=True)
class Exported:
    """What was exported.

    Attributes:
        origin: where it comes from, and how far the sources were read.
        operators: the number of operators.
        shards: the number of shards with state, of all operators.
        bytes: the stored length of all runs.
    """

    origin: ExportedFrom
    operators: int
    shards: int
    bytes: int


def export_checkpoint(
    checkpoint: str,
    file: str | Path,
    batch: int | None = None,
    *,
    replace: bool = False,
    progress: ShowProgress = silent,
) -> Exported:
    """Writes the state in a local checkpoint to a file (semantics 48.1).

    The query may be running. The file gets its name when it is complete.

    Args:
        checkpoint: the directory.
        file: the file to write.
        batch: the micro-batch after which the state is exported. Default: the last one that was committed.
        replace: whether a file of this name is replaced.
        progress: is called with what is being read.

    Raises:
        StateError: if there is no such checkpoint or micro-batch, if it has no state of panewise or the state
            is corrupt, if the file exists, or cannot be written.
        UnknownFormatError: if only Spark can read the checkpoint.
    """
    layout = layout_of(checkpoint, batch)
    origin = _origin(checkpoint, layout.batch)
    shards = length = 0
    with writing(Path(file), origin, replace=replace) as writer:
        for stored in layout.operators:
            for shard, entries, after_run in shards_of(layout, stored, progress):
                names = [run.name for run in manifest_of(entries).runs]
                writer.add(stored.number, shard, MANIFEST, entries[MANIFEST])
                for name in names:
                    if name not in entries:
                        raise StateError(f"run {name} is missing", "a manifest names runs that exist", REMEDY)
                    data = entries[name]
                    check(data, name)
                    writer.add(stored.number, shard, name, data)
                    after_run()
                    length += len(data)
                shards += 1
    return Exported(origin, len(layout.operators), shards, length)


def _origin(checkpoint: str, batch: int) -> ExportedFrom:
    """Returns where the state of a micro-batch comes from, with how far its sources had been read."""
    path = directory_of(checkpoint)
    try:
        offsets = (path / "offsets" / str(batch)).read_text(encoding="utf-8").splitlines()
        committed: dict[str, Any] = json.loads(
            (path / "commits" / str(batch)).read_text(encoding="utf-8").splitlines()[1]
        )
    except (OSError, ValueError, IndexError) as error:
        problem, rule = f"{checkpoint} ({error})", "a checkpoint has the files that Spark wrote"
        raise StateError(problem, rule, f"give a later micro-batch, or {REMEDY}") from error
    milliseconds = int(committed.get("nextBatchWatermarkMs") or 0)
    sources = tuple(None if text == "-" else text for text in offsets[2:])
    watermark = milliseconds * 1000 if milliseconds > 0 else None
    return ExportedFrom(checkpoint=checkpoint, batch=batch, watermark=watermark, sources=sources)
