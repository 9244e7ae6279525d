"""Directories that are full, read-only, in use, torn or of another format, for each kind of store.

A fault is an error, and afterwards the store is as after its last commit (semantics 34.4, 34.5).
"""

import json
import shutil
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import rocksdict

from panewise.errors import InputError, StoreError
from panewise.stores import DurableMap, TimeSeriesStore, WindowStore
from panewise.stores.rocks import store_error
from panewise.stores.store_directory import HEADER
from tests.mounts import as_nobody, make_room, read_only, small_disk
from tests.nightly import first_here, nightly
from tests.stores.played import CASES, model

STEPS = 20
SOME = ("window", "session", "time series", "message", "session windowed")  # in `make test`
EACH = pytest.mark.parametrize("kind", [kind if kind in SOME else nightly(kind) for kind in CASES])


def filled(kind: str, directory: Path) -> None:
    with CASES[kind].opened(directory) as store:
        for number in range(STEPS):
            CASES[kind].play(store, number)


def check_intact(kind: str, directory: Path) -> None:
    with CASES[kind].opened(directory) as store:
        assert CASES[kind].steps(store) == STEPS
        assert CASES[kind].content(store) == model(kind, STEPS)


def read(kind: str, directory: Path) -> None:
    store = CASES[kind].opened(directory)
    try:
        CASES[kind].content(store)
    finally:
        store.close(commit=False)


def refused(kind: str, directory: Path, rule: str) -> None:
    with pytest.raises(StoreError) as caught:
        CASES[kind].opened(directory)
    assert caught.value.rule == rule
    assert caught.value.remedy


def played_until_full(kind: str, store: Any) -> int:
    """Plays and commits steps until the disk is full. Returns how many were played."""
    for number in count():
        CASES[kind].play(store, number)
        if number % STEPS == STEPS - 1 and not commits(store):
            return number + 1
    raise AssertionError


def commits(store: Any) -> bool:
    """Commits. Returns False if the disk is full."""
    try:
        store.commit()
    except StoreError as error:
        return (error.rule, error.remedy) != ("a store needs room on its disk", "free some, and commit again")
    return True


@EACH
def test_a_full_disk(kind: str) -> None:
    """semantics 34.5: the changes are still pending, can be read, and are committed when there is room."""
    with small_disk() as disk:
        case, directory = CASES[kind], disk / "store"
        store = case.opened(directory)
        number = played_until_full(kind, store)
        assert not commits(store)
        expected = model(kind, number)
        assert case.content(store) == expected
        make_room(disk)
        store.commit()
        store.close()
        with case.opened(directory) as store:
            assert case.content(store) == expected


@pytest.mark.parametrize("kind", first_here(CASES))
def test_a_store_is_closed_again_after_a_full_disk(kind: str) -> None:
    """semantics 34.5: it stays open with its changes."""
    with small_disk() as disk:
        case, directory = CASES[kind], disk / "store"
        store = case.opened(directory)
        expected = model(kind, played_until_full(kind, store))
        with pytest.raises(StoreError, match="a store needs room on its disk"):
            store.close()
        assert case.content(store) == expected
        make_room(disk)
        store.close()
        with case.opened(directory) as store:
            assert case.content(store) == expected


@pytest.mark.parametrize("kind", [TimeSeriesStore, DurableMap])
def test_iterators_do_not_stop_a_close_after_a_full_disk(kind: Any) -> None:
    """semantics 34.5, 34.22: it closes them before it commits."""
    with small_disk() as disk:
        store = kind(directory=disk / "store")
        store.put(b"a", bytes(2 << 20), **({"time": 1} if kind is TimeSeriesStore else {}))
        with pytest.raises(StoreError, match="a store needs room on its disk"):
            store.commit()
        entries = store.scan() if kind is DurableMap else store.get(b"a", start=0, end=9)
        make_room(disk)
        store.close()
        assert list(entries) == []
        with kind(directory=disk / "store") as store:
            assert len(list(store.scan() if kind is DurableMap else store.get(b"a", start=0, end=9))) == 1


def test_a_block_that_ends_on_a_full_disk() -> None:
    """semantics 34.4, 34.5: the store is still open, and can be closed when there is room."""
    with small_disk() as disk:
        with (
            pytest.raises(StoreError, match="a store needs room on its disk"),
            DurableMap(disk / "store") as entries,
        ):
            entries.put(b"a", bytes(2 << 20))
        make_room(disk)
        entries.close()
        entries.close()
        with DurableMap(disk / "store") as entries:
            assert len(list(entries.scan())) == 1


def test_files_that_cannot_be_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 34.5, 34.22: the changes are still pending, and the next use tries again."""
    opened = rocksdict.Rdict
    with WindowStore(100, 5, directory=tmp_path) as store:
        store.put("a", 1, time=1)
        store.commit()
        store.put("b", 2, time=2)
        entries: Any = store._map
        entries._failed = True  # as after a commit on a full disk
        monkeypatch.setattr(rocksdict, "Rdict", refuse)
        for call in (store.commit, store.close, lambda: store.fetch("c", time=3), store.all):
            with pytest.raises(StoreError, match="a store needs room on its disk"):
                call()
        monkeypatch.setattr(rocksdict, "Rdict", opened)
        assert [entry.value for entry in store.all()] == [1, 2]
    with WindowStore(100, 5, directory=tmp_path) as store:
        assert [entry.value for entry in store.all()] == [1, 2]


def test_a_store_whose_files_cannot_be_opened_again_can_be_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 34.5"""
    with DurableMap(tmp_path) as entries:
        entries.put(b"a", b"1")
        entries._failed = True
        monkeypatch.setattr(rocksdict, "Rdict", refuse)
        with pytest.raises(StoreError, match="a store needs room on its disk"):
            entries.commit()
        entries.close(commit=False)
        with pytest.raises(StoreError, match="a closed map"):
            entries.commit()


def refuse(*names: object) -> None:
    raise Exception("IO error: No space left on device")


@pytest.mark.parametrize("reason", ["No space left on device", "Disk quota exceeded", "File too large"])
def test_a_file_that_cannot_grow_is_no_damage(reason: str, tmp_path: Path) -> None:
    """semantics 34.5: the remedy of a damaged store is to delete it."""
    error = store_error(tmp_path, Exception(f"IO error: While appending to file: x.log: {reason}"))
    assert "a store needs room on its disk" in str(error)
    assert "delete it" not in str(error)


def test_a_full_disk_that_remains_full() -> None:
    """semantics 34.4, 34.5: changes can be given up; the store is then as after its last commit."""
    with small_disk() as disk:
        case, directory = CASES["window"], disk / "store"
        store = case.opened(directory)
        number = played_until_full("window", store)
        with pytest.raises(StoreError, match="a store needs room on its disk"):
            store.close()
        store.close(commit=False)
        make_room(disk)
        with case.opened(directory) as store:
            assert case.steps(store) == number - STEPS
            assert case.content(store) == model("window", number - STEPS)


def test_a_commit_after_a_full_disk_needs_closed_iterators() -> None:
    """semantics 34.22: the files are opened again, which must not end an iterator before its last entry."""
    with small_disk() as disk, DurableMap(disk / "store") as entries:
        for number in range(10):
            entries.put(b"%d" % number, b"1")
        entries.commit()
        entries.put(b"large", bytes(2 << 20))
        with pytest.raises(StoreError, match="a store needs room on its disk"):
            entries.commit()
        scan = entries.scan()
        assert next(scan) == (b"0", b"1")
        make_room(disk)
        with pytest.raises(StoreError, match=r"with open iterators \| .* \| close them, and commit again"):
            entries.commit()
        assert [key for key, _ in scan] == [b"%d" % number for number in range(1, 10)] + [b"large"]
        entries.commit()
        assert entries.pending == 0
        assert entries.get(b"large") == bytes(2 << 20)


@EACH
def test_a_disk_that_is_read_only(kind: str) -> None:
    """semantics 34.5"""
    with small_disk() as disk:
        filled(kind, disk / "store")
        with read_only(disk):
            refused(kind, disk / "store", "a store writes into its directory")
            refused(kind, disk / "new", "a store writes into its directory")
        check_intact(kind, disk / "store")


BEFORE = """
import sys
from pathlib import Path
from panewise.errors import StoreError
from tests.stores.played import CASES
CASES["window"].opened(Path(sys.argv[1]) / "window").close()
"""
OPENING = """
for kind, case in CASES.items():
    for name in (kind, "new"):
        try:
            case.opened(Path(sys.argv[1]) / name)
        except StoreError as error:
            print(error.rule)
"""


def test_a_directory_of_another_user() -> None:
    """semantics 34.5: permissions do not bind root, so the stores are opened by another user."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in CASES:
            filled(kind, Path(folder) / kind)
        refusals = as_nobody(BEFORE, OPENING, folder)
        assert refusals == ["a store writes into its directory"] * 2 * len(CASES)
        for kind in CASES:
            check_intact(kind, Path(folder) / kind)


@EACH
def test_a_directory_that_is_in_use(kind: str, tmp_path: Path) -> None:
    """semantics 34.5: in this process and in another one; the first user is not disturbed."""
    filled(kind, tmp_path)
    rule = "one process at a time uses a store"
    with CASES[kind].opened(tmp_path) as store:
        refused(kind, tmp_path, rule)
        opening = (
            "import sys; from pathlib import Path; from tests.stores.played import CASES\n"
            "CASES[sys.argv[1]].opened(Path(sys.argv[2]))"
        )
        command = [sys.executable, "-c", opening, kind, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert rule in done.stderr
        assert CASES[kind].content(store) == model(kind, STEPS)
    check_intact(kind, tmp_path)


@EACH
def test_another_format(kind: str, tmp_path: Path) -> None:
    """semantics 34.5: it is refused, and the files are not changed."""
    filled(kind, tmp_path)
    header = tmp_path / HEADER
    written = header.read_text()
    header.write_text(json.dumps({**json.loads(written), "format": 99}))
    refused(kind, tmp_path, "this version of panewise reads format 1")
    header.write_text(written)
    check_intact(kind, tmp_path)


@pytest.mark.parametrize("pattern", ["*.sst", "MANIFEST-*", "CURRENT"])
@EACH
def test_a_torn_file(kind: str, pattern: str, tmp_path: Path) -> None:
    """semantics 34.5: half of a file is an error when the store is opened or read, never other content."""
    filled(kind, tmp_path)
    path = max(tmp_path.glob(pattern), key=lambda found: found.stat().st_size)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(StoreError) as caught:
        read(kind, tmp_path)
    assert caught.value.rule == "a store finds its files complete and unchanged"


def test_a_log_without_the_first_commit_is_refused(tmp_path: Path) -> None:
    """semantics 34.5: without the log a map whose process was killed would be a new, empty one."""
    with DurableMap(tmp_path / "open") as entries:
        entries.put(b"a", b"1")
        entries.commit()
        entries.put(b"b", b"2")
        entries.commit()
        for name in ("whole", "cut"):
            shutil.copytree(tmp_path / "open", tmp_path / name)
    with DurableMap(tmp_path / "whole") as entries:
        assert list(entries.scan()) == [(b"a", b"1"), (b"b", b"2")]
    [log] = (tmp_path / "cut").glob("*.log")
    log.write_bytes(b"")
    with pytest.raises(StoreError, match="changes that had been written are missing"):
        DurableMap(tmp_path / "cut")


@EACH
def test_no_file_of_0_bytes_loses_entries(kind: str, tmp_path: Path) -> None:
    """semantics 34.5: the store is refused, or has all its entries."""
    filled(kind, tmp_path / "whole")
    refusals = 0
    for file in sorted(path.name for path in (tmp_path / "whole").iterdir()):
        cut = tmp_path / f"cut {file}"
        shutil.copytree(tmp_path / "whole", cut)
        (cut / file).write_bytes(b"")
        try:
            CASES[kind].opened(cut).close()
        except StoreError:
            refusals += 1
        else:
            check_intact(kind, cut)
    assert refusals >= 4


@pytest.mark.parametrize("path", ["a\0b", "\ud800", Path("a\0b")])
@pytest.mark.parametrize("kind", CASES)
def test_a_path_that_no_file_system_has(kind: str, path: Any) -> None:
    """semantics 15.34, 34.5"""
    with pytest.raises(InputError, match="a path can be encoded"):
        CASES[kind].opened(path)
