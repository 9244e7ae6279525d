"""Reads one partition of Spark's RocksDB state store, as of a version: a snapshot and later changelogs.

A snapshot is an archive with the small files of RocksDB, and a list of its large ones (SST files), which are
beside it. They are linked into a temporary directory, where RocksDB opens them for reading only. The
entries of changelogs are put into a database of their own there. So memory has one entry at a time.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import rocksdict

from panewise.checkpoints import UnknownFormatError
from panewise.checkpoints.changelog import changes, lineage
from panewise.checkpoints.layout import VARIABLE
from panewise.checkpoints.state_values import CHECKSUM_OF_KEY, data_of, family_of, shard_and_name
from panewise.errors import StateError
from panewise.state.manifest import REMEDY

_SNAPSHOT: Final = re.compile(r"([0-9]+)\.zip")
_DELETED: Final = b""  # no value of Spark is empty


@dataclass(frozen=True)
class VersionFiles:
    """The files of a version.

    Attributes:
        folder: the directory of the partition.
        snapshot: the archive of the last snapshot.
        changelogs: the changelogs after it, in order.
    """

    folder: Path
    snapshot: Path
    changelogs: tuple[Path, ...]

    @classmethod
    def of_version(cls, folder: Path, version: int, unique_id: str | None) -> "VersionFiles":
        """Returns the files of a version, whose names may have the unique ids of their versions.

        Raises:
            StateError: if one is missing.
        """
        if unique_id is not None:
            return cls._of_lineage(folder, version, unique_id)
        names = (_SNAPSHOT.fullmatch(path.name) for path in folder.glob("*.zip"))
        snapshots = [number for number in (int(name[1]) for name in names if name) if number <= version]
        if not snapshots:
            raise _missing(folder / f"{version}.zip")
        last = max(snapshots)
        logs = tuple(folder / f"{number}.changelog" for number in range(last + 1, version + 1))
        return cls(folder, folder / f"{last}.zip", logs)

    @classmethod
    def _of_lineage(cls, folder: Path, version: int, unique_id: str) -> "VersionFiles":
        snapshot = folder / f"{version}_{unique_id}.zip"
        if snapshot.exists():
            return cls(folder, snapshot, ())
        last = folder / f"{version}_{unique_id}.changelog"
        if not last.exists():
            raise _missing(last)
        ids = {**lineage(last), version: unique_id}
        snapshots = [number for number in ids if (folder / f"{number}_{ids[number]}.zip").exists()]
        if not snapshots:
            raise _missing(folder / f"{min(ids)}_{ids[min(ids)]}.zip")
        first = max(snapshots)
        logs = tuple(folder / f"{number}_{ids[number]}.changelog" for number in sorted(ids) if number > first)
        return cls(folder, folder / f"{first}_{ids[first]}.zip", logs)


class ShardEntries(Mapping[str, bytes]):
    """The entries of a shard by name: its manifest and its runs. Each is read when it is requested."""

    def __init__(
        self, databases: list[rocksdict.Rdict], checked: bool, keys: dict[str, tuple[int, bytes]]
    ) -> None:
        self._databases, self._checked, self._keys = databases, checked, keys

    def __getitem__(self, name: str) -> bytes:
        place, key = self._keys[name]
        with _explained(str(self._databases[place].path())):
            value: Any = self._databases[place].get(key)
        return bytes(data_of(value, checked=self._checked))

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


@contextmanager
def shards_in(files: VersionFiles, *, checked: bool) -> Iterator[dict[int, ShardEntries]]:
    """Opens the shards of a partition, by number. `checked` says whether rows have checksums.

    Raises:
        StateError: if a file is missing or damaged.
        UnknownFormatError: if a file has a format that only Spark knows.
    """
    with TemporaryDirectory(prefix="panewise-state-") as scratch:
        base, log = Path(scratch) / "snapshot", Path(scratch) / "changes"
        family = _extracted(files, base)
        with _explained(f"snapshot {files.snapshot}"):
            snapshot = rocksdict.Rdict(
                str(base), rocksdict.Options(raw_mode=True), access_type=rocksdict.AccessType.read_only()
            )
        with ExitStack() as opened:
            databases = [opened.enter_context(closing(snapshot))]
            if files.changelogs:
                later = rocksdict.Rdict(str(log), rocksdict.Options(raw_mode=True))
                databases.append(opened.enter_context(closing(later)))
                _apply(files.changelogs, later, family, checked=checked)
            with _explained(f"snapshot {files.snapshot}"):
                shards = _by_shard(databases, family, checked=checked)
            yield shards


def _apply(changelogs: tuple[Path, ...], into: rocksdict.Rdict, family: bytes, *, checked: bool) -> None:
    """Puts the entries of changelogs into a database, the last one of each key."""
    for path in changelogs:
        if not path.exists():
            raise _missing(path)
        for key, value in changes(path, family, CHECKSUM_OF_KEY if checked else 0):
            into.put(key, _DELETED if value is None else value)


def _extracted(files: VersionFiles, into: Path) -> bytes:
    """Makes the directory of a snapshot. Returns the first bytes of the keys of panewise's variable."""
    try:
        with zipfile.ZipFile(files.snapshot) as archive:
            names = [name for name in archive.namelist() if name != "metadata" and "/" not in name]
            archive.extractall(into, names)
            version, _, text = archive.read("metadata").decode().partition("\n")
        metadata = json.loads(text) if version == "v1" else None
    except FileNotFoundError as error:
        raise _missing(files.snapshot) from error
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise _damaged(f"snapshot {files.snapshot}", error) from error
    if metadata is None or VARIABLE not in metadata.get("columnFamilyMapping", {}):
        raise UnknownFormatError(f"the format of {files.snapshot.name}")
    for file in metadata["sstFiles"]:
        stored = files.folder / "SSTs" / file["dfsSstFileName"]
        if not stored.exists():
            raise _missing(stored)
        (into / file["localFileName"]).symlink_to(stored.resolve())
    return family_of(metadata["columnFamilyMapping"][VARIABLE])


def _by_shard(databases: list[rocksdict.Rdict], family: bytes, *, checked: bool) -> dict[int, ShardEntries]:
    """Returns the entries of each shard. Those of a later database replace those of an earlier one."""
    places: dict[int, dict[str, tuple[int, bytes]]] = {}
    for place, database in enumerate(databases):
        entries = database.iter()
        entries.seek(family)
        while entries.valid() and bytes(key := entries.key()).startswith(family):
            shard, name = shard_and_name(bytes(key))
            of_shard = places.setdefault(shard, {})
            of_shard[name] = (place, bytes(key))
            if place and entries.value() == _DELETED:
                del of_shard[name]
            entries.next()
        entries.status()
    return {shard: ShardEntries(databases, checked, keys) for shard, keys in places.items() if keys}


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Raises errors of RocksDB as StateError. It has one class for all: that of `Exception` itself."""
    try:
        yield
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise _damaged(what, error) from error


def _damaged(what: str, error: Exception) -> StateError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return StateError(f"{what} ({reason})", "the files of a snapshot never change", REMEDY)


def _missing(path: Path) -> StateError:
    rule = (
        "the state of a micro-batch can be read until Spark removes it "
        "(spark.sql.streaming.minBatchesToRetain)"
    )
    return StateError(f"{path} does not exist", rule, f"give a later micro-batch, or {REMEDY}")
