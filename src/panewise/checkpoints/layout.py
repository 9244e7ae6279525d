"""Finds what a checkpoint directory contains: the micro-batches, their settings, and the operators."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from panewise.checkpoints import UnknownFormatError
from panewise.errors import StateError
from panewise.state.manifest import REMEDY, newest_record

VARIABLE: Final = "panewise"
AFTER: Final = (
    "after"  # the field of the record with the last micro-batch before its specification, -1 for none
)
ROWS: Final = "rows"  # the field of the record that says which emitted rows are written (semantics 47.22)
SINKS: Final = "sinks"  # the field of the record with the paths that the query has written files to
READS: Final = "reads"  # the field of the record that says what of Spark's checkpoint the plan fixes
STATEFUL: Final = "stateful"  # its field with the names of Spark's own stateful operators
GIVE_CHECKPOINT: Final = "give the checkpoint= of write()"
_ROCKSDB: Final = "RocksDBStateStoreProvider"
_STORE: Final = "spark.sql.streaming.stateStore."


@dataclass(frozen=True)
class Stored:
    """An operator of panewise in a checkpoint.

    Attributes:
        number: its number in the query.
        partitions: the directories of the state store, one for each partition.
        ids: the unique id of the version of each partition, None in a checkpoint without such ids.
    """

    number: int
    partitions: tuple[Path, ...]
    ids: tuple[str | None, ...]


@dataclass(frozen=True)
class CheckpointLayout:
    """A checkpoint as of a micro-batch.

    Attributes:
        batch: the number of the micro-batch.
        checked: whether rows have checksums.
        operators: the operators of panewise.
    """

    batch: int
    checked: bool
    operators: tuple[Stored, ...]


def directory_of(checkpoint: str) -> Path:
    """Returns the local directory of a checkpoint.

    Raises:
        UnknownFormatError: if it may be in another file system, which only Spark knows.
    """
    scheme, separator, rest = checkpoint.partition(":/")
    if separator and scheme == "file":
        return Path(f"/{rest.lstrip('/')}")
    if "://" in checkpoint:
        raise UnknownFormatError(f"the file system of {checkpoint}")
    path = Path(checkpoint)
    if not path.is_dir() and "HADOOP_CONF_DIR" in os.environ:
        raise UnknownFormatError(f"the file system of {checkpoint}, which HADOOP_CONF_DIR may name")
    return path


def layout_of(checkpoint: str, batch: int | None) -> CheckpointLayout:
    """Returns the layout of a checkpoint as of a micro-batch, by default the last one that was committed.

    Raises:
        StateError: if there is no such checkpoint or micro-batch, or it has no state of panewise.
        UnknownFormatError: if it has a format that only Spark knows.
    """
    path = directory_of(checkpoint)
    batch = chosen(checkpoint, _numbers(checkpoint, path / "commits"), batch)
    conf = _lines(path / "offsets" / str(batch))[1].get("conf") or {}
    _check_known(conf)
    committed = _lines(path / "commits" / str(batch))
    ids = (committed[1] if len(committed) > 1 else {}).get("stateUniqueIds") or {}
    operators = [
        Stored(number, *_partitions(path / "state" / str(number), count, ids.get(str(number))))
        for number, count in _ours(path, batch).items()
    ]
    if not operators:
        raise nothing_of_ours(checkpoint)
    checked = str(conf.get(f"{_STORE}rowChecksum.enabled", "false")).lower() == "true"
    return CheckpointLayout(batch, checked, tuple(operators))


def chosen(checkpoint: str, committed: set[int], batch: int | None) -> int:
    """Returns the micro-batch that is shown.

    Raises:
        StateError: if it was not committed, or none was.
    """
    if not committed:
        rule = "a checkpoint contains no state before a micro-batch has been committed"
        raise StateError(f"checkpoint {checkpoint!r} without a committed micro-batch", rule, GIVE_CHECKPOINT)
    wanted = max(committed) if batch is None else batch
    if wanted not in committed:
        known = f"the micro-batches in this checkpoint are {min(committed)} to {max(committed)}"
        raise StateError(f"batch={wanted}", known, "give one of them, or leave it out for the last one")
    return wanted


def no_checkpoint(checkpoint: str, reason: str) -> StateError:
    """Returns the error for a path that is no checkpoint."""
    rule = "a query's checkpoint is a directory that can be read"
    inner = _checkpoints_in(checkpoint)
    remedy = GIVE_CHECKPOINT if not inner else f"give one of those in it: {', '.join(inner)}"
    return StateError(f"checkpoint {checkpoint!r} ({reason})", rule, remedy)


def _checkpoints_in(parent: str) -> list[str]:
    """Returns the checkpoints in a local directory, such as that of a script; none if it cannot be read."""
    try:
        return sorted(str(path.parent) for path in directory_of(parent).glob("*/commits"))
    except (OSError, UnknownFormatError):
        return []


def nothing_of_ours(checkpoint: str) -> StateError:
    """Returns the error for the checkpoint of a query without an operator of panewise."""
    rule = "a query with an operator of panewise stores its state in its checkpoint"
    return StateError(f"checkpoint {checkpoint!r} without state of panewise", rule, GIVE_CHECKPOINT)


def has_variable(properties: str | None) -> bool:
    """Returns whether an operator with these properties has the state variable of panewise."""
    known = json.loads(properties) if properties else {}
    return VARIABLE in {variable["stateName"] for variable in known.get("stateVariables", ())}


def record_in(path: Path) -> str | None:
    """Returns the record of the operator that `write` made in a checkpoint directory, None without one."""
    files = sorted((path / "panewise" / "operator").glob("part-*"))
    texts = [text for file in files if (text := file.read_text(encoding="utf-8").strip())]
    if len(texts) < 2:
        return next(iter(texts), None)
    record = newest_record(texts)
    return None if record is None else record.encode()


def spark_operators(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the names of Spark's own stateful operators in a query, from the header of its record.

    Earlier releases did not record them.
    """
    return tuple(record.get(READS, {}).get(STATEFUL, ()))


def _numbers(checkpoint: str, folder: Path) -> set[int]:
    try:
        return {int(name) for name in (file.name for file in folder.iterdir()) if name.isdecimal()}
    except OSError as error:
        raise no_checkpoint(checkpoint, f"{error.strerror}: {error.filename}") from error


def _check_known(conf: Mapping[str, Any]) -> None:
    provider = str(conf.get(f"{_STORE}providerClass", ""))
    if not provider.endswith(_ROCKSDB):
        raise UnknownFormatError(f"the state store {provider.rpartition('.')[2] or 'of this checkpoint'}")
    encoding = str(conf.get(f"{_STORE}encodingFormat", "unsaferow"))
    if encoding != "unsaferow":
        raise UnknownFormatError(f"the encoding {encoding} of the state store")


def _ours(path: Path, batch: int) -> dict[int, int]:
    """Returns the numbers of panewise's operators, with their numbers of partitions."""
    partitions = {}
    for folder in (path / "state").glob("*/_metadata/v2"):
        known = [int(file.name) for file in folder.iterdir() if file.name.isdecimal()]
        before = [number for number in known if number <= batch]
        if not known:
            continue
        metadata = _lines(folder / str(max(before) if before else min(known)))[1]
        if has_variable(metadata.get("operatorPropertiesJson")):
            (store,) = metadata["stateStoreInfo"]
            partitions[int(metadata["operatorInfo"]["operatorId"])] = int(store["numPartitions"])
    return dict(sorted(partitions.items()))


def _partitions(
    folder: Path, count: int, ids: list[list[str]] | None
) -> tuple[tuple[Path, ...], tuple[str | None, ...]]:
    """Returns directory and unique id of each partition."""
    paths = tuple(folder / str(number) for number in range(count))
    return paths, tuple(None if ids is None else ids[number][0] for number in range(count))


def _lines(path: Path) -> list[Any]:
    """Returns the version and the JSON objects of one of Spark's files, a line each."""
    try:
        version, *lines = path.read_text(encoding="utf-8").splitlines()
        return [version, *(json.loads(line) for line in lines)] if lines else [version, {}]
    except (OSError, ValueError) as error:
        problem, rule = f"{path} ({error})", "a checkpoint has the files that Spark wrote"
        raise StateError(problem, rule, f"give a later micro-batch, or {REMEDY}") from error
