"""Exports the state in the checkpoint of a query to one file, without Spark. The checkpoint stays as it is.

The entries of the state store are copied, one at a time. So memory does not depend on the number of windows.
"""

import json
from dataclasses import dataclass, field
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Any, Final

from panewise.checkpoints.figures import ShowProgress, silent
from panewise.checkpoints.layout import AFTER, ROWS, directory_of, layout_of, record_in, spark_operators
from panewise.checkpoints.reader import shards_of
from panewise.checkpoints.shard import manifest_of
from panewise.errors import StateError
from panewise.spec.codec import changed_fields
from panewise.state import Manifest
from panewise.state.export_file import MANIFEST, ExportedFrom, writing
from panewise.state.manifest import REMEDY
from panewise.state.run_format import checked_stream

_LAST: Final = 0  # Spark numbers the stateful operators of a query from the last one on


@dataclass(frozen=True)
class ExportReport:
    """What was exported.

    Attributes:
        origin: where it comes from, and how far the sources were read.
        operators: the number of operators.
        shards: the number of shards with state, of all operators.
        bytes: the stored length of all runs.
        has_begun_next: whether the next micro-batch has begun. Sinks may have its rows.
        left_out: the stateful operators of Spark itself in the query, whose states are not exported.
    """

    origin: ExportedFrom
    operators: int
    shards: int
    bytes: int
    has_begun_next: bool = False
    left_out: tuple[str, ...] = ()


def export_checkpoint(
    checkpoint: str,
    file: str | Path,
    batch: int | None = None,
    *,
    replace: bool = False,
    progress: ShowProgress = silent,
) -> ExportReport:
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
            is corrupt or of several specifications, if the file exists, or cannot be written.
        UnknownFormatError: if only Spark can read the checkpoint.
    """
    layout = layout_of(checkpoint, batch)
    path, shards, length = directory_of(checkpoint), 0, 0
    record = _record(path)
    same = _SameSpecification(None if record is None or batch is not None else record.spec)
    origin = replace_fields(_origin(checkpoint, layout.batch), rows=_rows(record, layout.batch))
    with writing(Path(file), origin, replace=replace) as writer:
        for stored in layout.operators:
            for shard, entries, after_run in shards_of(layout, stored, progress):
                manifest = manifest_of(entries)
                same.check(stored.number, manifest)
                names = [run.name for run in manifest.runs]
                writer.add(stored.number, shard, MANIFEST, entries[MANIFEST])
                for name in names:
                    if name not in entries:
                        raise StateError(f"run {name} is missing", "a manifest names runs that exist", REMEDY)
                    data = entries[name]
                    checked_stream(data, name)
                    writer.add(stored.number, shard, name, data)
                    after_run()
                    length += len(data)
                shards += 1
    has_begun_next = (path / "offsets" / str(layout.batch + 1)).exists()
    left_out = () if record is None else spark_operators(record.header)
    return ExportReport(origin, len(layout.operators), shards, length, has_begun_next, left_out)


@dataclass
class _SameSpecification:
    """Refuses shards that differ in their specification (semantics 48.14).

    Attributes:
        recorded: the specification in the record of the checkpoint, which all shards of the last operator
            should have; None if none is known. Earlier operators never change (semantics 47.9).
    """

    recorded: dict[str, Any] | None
    _of_operators: dict[int, dict[str, Any]] = field(default_factory=dict)

    def check(self, operator: int, manifest: Manifest) -> None:
        """Checks the specification of a shard.

        Raises:
            StateError: if another shard of the operator, or the record, has another one.
        """
        recorded = self.recorded if operator == _LAST else None
        expected = self._of_operators.setdefault(operator, recorded or manifest.spec)
        if manifest.spec == expected or not changed_fields(manifest.spec, expected):
            return
        changed = changed_fields(manifest.spec, expected)
        rule = "an exported state has one specification, and shards take a change over when they run"
        remedy = "let the query run a micro-batch with rows first, or give --batch"
        raise StateError(f"shards before and after a change of {changed} (semantics 48.14)", rule, remedy)


def _record(path: Path) -> Manifest | None:
    text = record_in(path)
    return None if text is None else Manifest.decode(text)


def _rows(record: Manifest | None, batch: int) -> Any:
    """Returns which emitted rows a query wrote up to a micro-batch; None if only a later record says it."""
    if record is None or record.header.get(AFTER, -1) >= batch:
        return None
    return record.header.get(ROWS)


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
