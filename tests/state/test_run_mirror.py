"""The mirror: one limit for all processes, no wrong or partial copies, and no files left behind."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from panewise.state import Mirror, run_mirror
from panewise.state.run_format import stream_of

ROWS = 1_000
LENGTH = len(stream_of(pl.DataFrame({"n": range(ROWS)}), "uncompressed")) + 64


def stream(first: int = 0) -> bytes:
    return stream_of(pl.DataFrame({"n": range(first, first + ROWS)}), "uncompressed")


def total(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def addresses(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.iterdir())


def test_all_processes_together_keep_to_the_bound(tmp_path: Path) -> None:
    limit = 20 * LENGTH
    processes = [Mirror(tmp_path, limit) for _ in range(4)]
    for number in range(100):
        processes[number % 4].write(f"{number:03}", stream(number))
        assert total(tmp_path) <= limit
    assert len(addresses(tmp_path)) >= 16
    for process in processes:
        kept = process.read("099")
        assert kept is not None
        assert kept["n"][0] == 99


def test_a_process_does_not_look_at_the_directory_with_each_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Path] = []
    monkeypatch.setattr(run_mirror, "_files", lambda directory: looked.append(directory) or [])
    process = Mirror(tmp_path, 64 * 10 * LENGTH)
    for number in range(41):
        process.write(f"{number}", stream())
    assert len(looked) == 5  # at the first write, and after every ten more


def test_the_least_recently_used_is_deleted_first(tmp_path: Path) -> None:
    process = Mirror(tmp_path, 8 * LENGTH)  # a sweep leaves seven copies
    for number, name in enumerate("abcdefg"):
        process.write(name, stream(number))
        os.utime(tmp_path / f"{name}.run", (number, number))
    assert process.read("a") is not None
    process.write("h", stream())
    assert addresses(tmp_path) == ["a", "c", "d", "e", "f", "g", "h"]


def test_a_lower_bound_holds_at_once(tmp_path: Path) -> None:
    process = Mirror(tmp_path)
    for name in "abcdefgh":
        process.write(name, stream())
    process.bound(4 * LENGTH)
    assert len(addresses(tmp_path)) == 3
    process.write("i", stream())
    assert len(addresses(tmp_path)) == 3
    process.bound(0)
    assert addresses(tmp_path) == []


def test_a_swept_temporary_is_room_for_a_copy(tmp_path: Path) -> None:
    process = Mirror(tmp_path, 8 * LENGTH)  # a sweep leaves seven copies
    for name in "abcd":
        process.write(name, stream())
    left = tmp_path / "999999999-left.tmp"
    left.write_bytes(bytes(4 * LENGTH))
    os.utime(left, (0, 0))
    process.write("e", stream())
    assert addresses(tmp_path) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("limit", [0, LENGTH])
def test_what_would_leave_no_room_is_not_written(tmp_path: Path, limit: int) -> None:
    process = Mirror(tmp_path / "runs", limit)
    process.write("a", stream())
    assert not (tmp_path / "runs").exists()
    assert process.read("a") is None


def test_files_that_dead_processes_left_are_swept(tmp_path: Path) -> None:
    dead = 2**22 + 1  # above the highest process id of Linux
    for name in (f"{dead}-x.tmp", "none-x.tmp", f"{os.getpid()}-x.tmp", "foreign"):
        (tmp_path / name).write_bytes(b"x")
    Mirror(tmp_path).write("a", stream())
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{os.getpid()}-x.tmp", "a.run", "foreign"]


@contextmanager
def full_disk(room: int) -> Iterator[None]:
    """Makes a write fail once a file has `room` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_no_error_and_keeps_no_part_of_a_copy(tmp_path: Path) -> None:
    process = Mirror(tmp_path)
    process.write("a", stream())
    with full_disk(LENGTH // 2):
        process.write("b", stream())
    assert addresses(tmp_path) == ["a"]
    process.write("b", stream())
    assert addresses(tmp_path) == ["a", "b"]


@pytest.mark.skipif(
    not Path("/proc/self").exists(),
    reason="a directory that takes no file from anybody, as root ignores permissions",
)
def test_a_read_only_directory_is_done_without() -> None:
    process = Mirror(Path("/proc/self"))
    process.write("a", stream())
    assert process.read("a") is None
    process.drop(["a"])


def test_a_file_that_another_process_deletes_meanwhile_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Mirror(tmp_path, 2 * LENGTH)
    process.write("a", stream())
    gone = (0, 1, tmp_path / "gone.run")
    monkeypatch.setattr(run_mirror, "_files", lambda directory: [gone, (1, 2 * LENGTH, tmp_path / "a.run")])
    process.write("b", stream())
    assert addresses(tmp_path) == ["b"]
    process.drop(["a", "b"])
    assert process.read("b") is None


@pytest.mark.parametrize("long", [False, True])
def test_a_copy_under_another_address_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, long: bool
) -> None:
    monkeypatch.setattr(run_mirror, "MAPPED_FROM", 0 if long else 1 << 22)
    process = Mirror(tmp_path)
    process.write("a", stream(1))
    process.write("b", stream(2))
    for name in "ab":
        assert process.read(name) is not None
    (tmp_path / "a.run").replace(tmp_path / "b.run")  # of the same length
    assert process.read("b") is None
    assert addresses(tmp_path) == []


def test_a_copy_of_another_release_is_left_to_it(tmp_path: Path) -> None:
    process = Mirror(tmp_path)
    process.write("a", stream())
    data = bytearray((tmp_path / "a.run").read_bytes())
    data[4] = 9
    (tmp_path / "a.run").write_bytes(data)
    assert process.read("a") is None
    assert addresses(tmp_path) == ["a"]


def test_a_mapped_copy_outlives_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_mirror, "MAPPED_FROM", 0)
    process = Mirror(tmp_path)
    process.write("a", stream(5))
    frame = process.read("a")
    process.drop(["a"])
    assert frame is not None
    assert frame["n"].to_list() == list(range(5, 5 + ROWS))


def test_a_table_is_copied_as_its_stream_is(tmp_path: Path) -> None:
    """The second table is long. The process that wrote its copy does not compute the checksum again."""
    process = Mirror(tmp_path)
    for rows in (3, run_mirror.MAPPED_FROM // 8):
        table = pl.DataFrame({"n": range(rows)}).to_arrow()
        process.write("a", table)
        for reader in (process, Mirror(tmp_path)):
            copy = reader.read("a")
            assert copy is not None
            assert copy["n"].to_list() == list(range(rows))


def test_a_table_on_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    process = Mirror(tmp_path)
    with full_disk(LENGTH // 2):
        process.write("a", pl.DataFrame({"n": range(ROWS)}).to_arrow())
    assert process.read("a") is None
    assert list(tmp_path.iterdir()) == []


def test_a_spool_has_no_name_and_there_may_be_none(tmp_path: Path) -> None:
    with Mirror(tmp_path / "runs").spool(4) as spool:
        assert spool is not None
        spool.write(b"some")
        assert list((tmp_path / "runs").iterdir()) == []
    for none in (Mirror(tmp_path / "none", 3), Mirror(Path("/proc/self"))):
        with none.spool(4) as spool:
            assert spool is None
    assert not (tmp_path / "none").exists()
