"""RocksDB's options, and its errors as those of panewise.

rocksdict raises plain exceptions. Only their texts say what happened.
"""

from contextlib import suppress
from pathlib import Path
from typing import TypeGuard

import rocksdict

from panewise.errors import StoreError

INTACT = "a store finds its files complete and unchanged"
RESTORE = "restore the directory from a copy, or delete it and rebuild the store from its source"
_FULL = ("No space left", "Disk quota exceeded", "File too large")
_LOCKED = ("LOCK: Resource temporarily unavailable", "LOCK: No locks available")


class StoreErrors:
    """A context that turns the errors of RocksDB and of the file system into `StoreError`."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and is_of_files(error):
            raise store_error(self._directory, error) from error


def is_of_files(error: BaseException) -> TypeGuard[Exception]:
    """Returns whether an error is one of RocksDB or of the file system. Others are no errors of the files."""
    return type(error) is Exception or isinstance(error, OSError)


def store_error(directory: Path, error: Exception) -> StoreError:
    """Returns the error of panewise for one of RocksDB or of the file system."""
    fault = f"directory={str(directory)!r}: {error}"
    text = str(error)
    if any(part in text for part in _LOCKED):
        return StoreError(fault, "one process at a time uses a store", "close it there first")
    if any(part in text for part in _FULL):
        return StoreError(fault, "a store needs room on its disk", "free some, and commit again")
    if isinstance(error, (PermissionError, NotADirectoryError, FileExistsError)) or any(
        part in text for part in ("Permission denied", "Read-only file system")
    ):
        return StoreError(fault, "a store writes into its directory", "give a directory that can be written")
    return StoreError(fault, INTACT, RESTORE)


def close_files(files: rocksdict.Rdict) -> None:
    """Closes the files, also after an error. Each commit is in the log, so an error here loses nothing."""
    with suppress(Exception):
        files.close()


def options(cache_bytes: int) -> rocksdict.Options:
    """Returns options with bounded memory: the cache includes indexes, and buffers are a share of it."""
    blocks = rocksdict.BlockBasedOptions()
    blocks.set_block_cache(rocksdict.Cache(cache_bytes))
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_bloom_filter(10, False)
    options = rocksdict.Options(raw_mode=True)
    options.set_block_based_table_factory(blocks)
    options.set_db_write_buffer_size(max(cache_bytes // 2, 1 << 20))
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    # A torn last record is that of a commit that did not return. Other damage is an error.
    options.set_wal_recovery_mode(rocksdict.DBRecoveryMode.tolerate_corrupted_tail_records())
    return options
