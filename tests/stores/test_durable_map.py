"""What can happen to a directory and to the process that uses it."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from panewise.errors import InputError, SpecError, StoreError
from panewise.stores import DurableMap, durable_snapshot
from panewise.stores.store_directory import HEADER

WRITER = """
import sys
from panewise.stores import DurableMap
entries = DurableMap(sys.argv[1])
first = int.from_bytes(entries.get(b"last") or b"", "big")
for number in range(first + 1, first + 1_000_000):
    for key in range(7):
        entries.put(b"%d" % (number * 7 + key), b"%d" % number)
    entries.put(b"last", number.to_bytes(8, "big"))
    entries.commit()
    print(number, flush=True)
"""


def killed_after(directory: Path, lines: int) -> int:
    """Runs the writer, kills it after some commits, and returns the last commit that it reported."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(directory)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        for _ in range(lines):
            last = writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().splitlines()
    return int(rest[-1] if rest else last)


def check_rounds(directory: Path, rounds: int) -> None:
    draw = random.Random(5)
    for _ in range(rounds):
        reported = killed_after(directory, draw.randrange(1, 40))
        with DurableMap(directory) as entries:
            last = int.from_bytes(entries.get(b"last") or b"", "big")
            assert last in (reported, reported + 1)
            numbers = sorted(int(value) for key, value in entries.scan() if key != b"last")
            assert numbers == sorted(list(range(1, last + 1)) * 7)


def test_a_killed_process_leaves_exactly_what_it_committed(tmp_path: Path) -> None:
    """semantics 34.4"""
    check_rounds(tmp_path / "store", 5)


@pytest.mark.soak
def test_a_hundred_killed_processes(tmp_path: Path) -> None:
    """semantics 34.4"""
    check_rounds(tmp_path / "store", 100)


def test_a_block_commits_but_not_after_an_error(tmp_path: Path) -> None:
    """semantics 34.4"""
    with DurableMap(tmp_path) as entries:
        entries.put(b"a", b"1")
    with suppress(ZeroDivisionError), DurableMap(tmp_path) as entries:
        entries.put(b"b", b"2")
        raise ZeroDivisionError
    with DurableMap(tmp_path) as entries:
        assert list(entries.scan()) == [(b"a", b"1")]


def refused(directory: Path, rule: str) -> None:
    with pytest.raises(StoreError) as caught:
        DurableMap(directory)
    assert caught.value.rule == rule
    assert str(directory) in caught.value.given
    assert caught.value.remedy


def test_an_open_scan_does_not_lock_the_directory(tmp_path: Path) -> None:
    """semantics 34.3, 34.5: the files are released by `close`, although a scan waits at its second entry."""
    entries = DurableMap(tmp_path)
    for key in (b"a", b"b", b"c"):
        entries.put(key, b"1")
    entries.commit()
    scan, snapshot = entries.scan(), entries.snapshot()
    other = snapshot.scan(backward=True)
    assert (next(scan), next(other)) == ((b"a", b"1"), (b"c", b"1"))
    entries.close()
    with DurableMap(tmp_path) as again:
        assert len(list(again.scan())) == 3
    assert list(scan) == list(other) == []


def test_a_directory_of_something_else(tmp_path: Path) -> None:
    """semantics 34.5"""
    (tmp_path / "letter.txt").write_text("dear reader")
    refused(tmp_path, "the directory of a store has been made by one")
    refused(tmp_path / "letter.txt", "a store writes into its directory")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_directory_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 34.5: the test may run as root, who may write everywhere."""

    def no(self: Path, *args: object, **names: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", no)
    refused(tmp_path, "a store writes into its directory")


@pytest.mark.parametrize("text", ['{"form', "[]"])
def test_other_headers(tmp_path: Path, text: str) -> None:
    """semantics 34.5"""
    DurableMap(tmp_path).close()
    assert json.loads((tmp_path / HEADER).read_text()) == {"format": 1, "changes": 0}
    (tmp_path / HEADER).write_text(text)
    refused(tmp_path, "the header of a store is JSON with its format")


def test_a_header_that_was_not_finished_is_written_again(tmp_path: Path) -> None:
    (tmp_path / f"{HEADER}.new").write_text('{"fo')
    DurableMap(tmp_path).close()
    DurableMap(tmp_path).close()


def _files(directory: Path, pattern: str) -> list[Path]:
    return sorted(path for path in directory.glob(pattern) if path.stat().st_size)


def _filled(directory: Path) -> None:
    with DurableMap(directory) as entries:
        for number in range(2_000):
            entries.put(b"%d" % number, b"%d" % number * 20)
    DurableMap(directory).close()  # moves the log into a table


@pytest.mark.parametrize("pattern", ["*.sst", "MANIFEST-*", "CURRENT"])
def test_a_damaged_file(tmp_path: Path, pattern: str) -> None:
    """semantics 34.5: when it is opened or when it is read."""
    _filled(tmp_path)
    path = _files(tmp_path, pattern)[-1]
    raw = path.read_bytes()
    half = len(raw) // 2
    path.write_bytes(raw[: half - 9] + b"\x5a" * 9 + raw[half:])
    with pytest.raises(StoreError) as caught, DurableMap(tmp_path) as entries:
        list(entries.scan())
    assert caught.value.rule == "a store finds its files complete and unchanged"


def test_a_record_of_the_log_that_is_damaged(tmp_path: Path) -> None:
    """semantics 34.5: committed changes before the end of the log are not dropped silently."""
    killed_after(tmp_path, 30)
    path = _files(tmp_path, "*.log")[-1]
    raw = bytearray(path.read_bytes())
    raw[40] ^= 0xFF
    path.write_bytes(raw)
    refused(tmp_path, "a store finds its files complete and unchanged")


FULL = """
import resource, sys
from panewise.errors import InputError, SpecError, StoreError
from panewise.stores import DurableMap
entries = DurableMap(sys.argv[1])
entries.put(b"a", b"1")
entries.commit()
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
entries.put(b"b", os.urandom(1_000_000))
try:
    entries.commit()
except StoreError as error:
    assert entries.pending == 1 and entries.get(b"a") == b"1"
    print("refused", error.rule, flush=True)  # os._exit flushes nothing
    os._exit(0)
"""


def test_a_disk_that_takes_no_more(tmp_path: Path) -> None:
    """semantics 34.5: the limit of a file's size has the effect of a full disk."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("refused")
    with DurableMap(tmp_path) as entries:
        assert list(entries.scan()) == [(b"a", b"1")]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_has_its_own_remedy(tmp_path: Path) -> None:
    """semantics 34.5"""
    (tmp_path / f"{HEADER}.new").symlink_to("/dev/full")
    refused(tmp_path, "a store needs room on its disk")


@pytest.mark.parametrize("damage", ["cut", "changed", "missing"])
def test_a_damaged_manifest_of_the_first_run(tmp_path: Path, damage: str) -> None:
    """semantics 34.5: RocksDB would open what is before the damage, here nothing, and delete the tables."""
    with DurableMap(tmp_path) as entries:
        entries.put(b"a", b"1")
    path = _files(tmp_path, "MANIFEST-*")[-1]
    raw = path.read_bytes()
    at = len(raw) - 40
    if damage == "missing":
        for each in ("CURRENT", "MANIFEST-*", "*.log"):
            for file in tmp_path.glob(each):
                file.unlink()
    else:
        path.write_bytes(raw[:at] if damage == "cut" else raw[:at] + b"\x5a" * 9 + raw[at + 9 :])
    for _ in range(2):
        refused(tmp_path, "a store finds its files complete and unchanged")


def test_a_key_that_is_no_bytes_does_not_stop_commits(tmp_path: Path) -> None:
    """semantics 34.4"""
    with DurableMap(tmp_path) as entries:
        with pytest.raises(InputError, match="the keys of a map are bytes"):
            entries.put("a", b"1")  # type: ignore[arg-type]
        entries.put(b"a", b"1")
        entries.commit()
        assert list(entries.scan()) == [(b"a", b"1")]


def test_a_cache_below_nothing(tmp_path: Path) -> None:
    """semantics 34.21"""
    with pytest.raises(SpecError, match="a cache has 0 bytes or more"):
        DurableMap(tmp_path / "new", cache_bytes=-1)
    assert not (tmp_path / "new").exists()


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Returns a list that receives each entry and each tombstone that a scan reads."""
    read: list[Any] = []
    laid_over = durable_snapshot._laid_over

    def counted(changes: Iterator[Any], stored: Iterator[Any], backward: bool) -> Iterator[Any]:
        return laid_over(listed(changes), listed(stored), backward)

    def listed(entries: Iterator[Any]) -> Iterator[Any]:
        for entry in entries:
            read.append(entry)
            yield entry

    monkeypatch.setattr(durable_snapshot, "_laid_over", counted)
    return read


@pytest.mark.parametrize("first", [b"", b"000500"])
def test_tombstones_are_not_read_again(first: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oldest entries are deleted again and again, and what is left is looked at."""
    read = count_reads(monkeypatch)
    with DurableMap(tmp_path, sync=False) as entries:
        for number in range(2_000):
            entries.put(b"%06d" % number, b"")
            entries.delete_range(first, b"%06d" % max(number - 100, 0))
            if number % 5 == 0:
                next(entries.scan(first), None)
                next(entries.scan(b"000400", backward=True), None)
            if number % 700 == 0:
                entries.commit()
        assert len(read) < 10 * 2_000


def test_a_snapshot_that_is_closed_before_a_deleted_range(tmp_path: Path) -> None:
    """semantics 34.3: the scan ends, on both sides of the range."""
    with DurableMap(tmp_path) as entries:
        for key in (b"a", b"b", b"c"):
            entries.put(key, b"")
        entries.delete_range(b"b", b"c")
        for backward in (False, True):
            snapshot = entries.snapshot()
            scan = snapshot.scan(backward=backward)
            assert next(scan) == ((b"c" if backward else b"a"), b"")
            snapshot.close()
            assert list(scan) == []
