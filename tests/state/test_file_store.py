"""The run store in a file: atomic commits, long values, and refusals."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from panewise.errors import StateError
from panewise.state import file_store
from panewise.state.file_store import FILE, FileRunStore


def test_values_survive(tmp_path: Path) -> None:
    store = FileRunStore(tmp_path / "a" / "b")
    assert store.manifest() is None
    assert store.copy("one") is None
    with store.commit():
        store.put_manifest("text")
        store.put_run("1-1", b"run")
        store.put_run("1-2", b"")
        store.put_copy("one", b"copy", "notes")
    with store.commit():
        store.drop_run("1-1")
    store.close()
    store = FileRunStore(tmp_path / "a" / "b")
    assert (store.manifest(), store.run("1-2"), store.copy("one")) == ("text", b"", (b"copy", "notes"))
    with pytest.raises(StateError, match=r"^run 1-1 is missing"):
        store.run("1-1")


def test_a_commit_that_raises_writes_nothing(tmp_path: Path) -> None:
    """semantics 31.3, 31.6"""
    store = FileRunStore(tmp_path)

    def fail() -> None:
        with store.commit():
            store.put_manifest("text")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert store.manifest() is None


def test_long_values_are_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_store, "_PIECE", 3)
    store = FileRunStore(tmp_path)
    for data in (b"12345678", b"123"):
        with store.commit():
            store.put_run("1-1", data)
        assert store.run("1-1") == data


@pytest.mark.parametrize(
    ("pragma", "text"),
    [
        ("application_id=7", " | the file of a store is one that panewise wrote | give another directory"),
        (
            "user_version=2",
            (
                " of format 2 | this version of panewise reads format 1 | "
                "use the version of panewise that wrote it"
            ),
        ),
    ],
)
def test_other_files_are_refused(pragma: str, text: str, tmp_path: Path) -> None:
    """semantics 31.5"""
    FileRunStore(tmp_path).close()
    database = sqlite3.connect(tmp_path / FILE)
    database.execute(f"PRAGMA {pragma}")
    database.close()
    with pytest.raises(StateError) as caught:
        FileRunStore(tmp_path)
    assert caught.value.args[0] == f"{tmp_path / FILE}{text}"


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    """semantics 31.5"""
    (tmp_path / FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(StateError) as caught:
        FileRunStore(tmp_path)
    assert caught.value.args[0] == (
        f"cannot open {tmp_path / FILE}: file is not a database | the file of a store is one that panewise "
        "wrote | restore the directory from a copy, or start in an empty one"
    )


def test_an_empty_file_is_damaged(tmp_path: Path) -> None:
    """semantics 31.5: also one with commits in its log."""
    FileRunStore(tmp_path).close()
    (tmp_path / FILE).write_bytes(b"")
    for _ in range(2):
        with pytest.raises(StateError) as caught:
            FileRunStore(tmp_path)
        assert caught.value.args[0] == (
            f"{tmp_path / FILE} of 0 bytes | a store writes its file before it is used, so the file is "
            "never empty | "
            "restore the directory from a copy, or start in an empty one"
        )
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_file_gets_its_name_when_it_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 31.5: no crash leaves an empty file."""

    def crash(new: str, path: Path) -> None:
        assert Path(new).stat().st_size
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", crash)
        with pytest.raises(KeyboardInterrupt):
            FileRunStore(tmp_path)
    assert list(tmp_path.iterdir()) == []
    FileRunStore(tmp_path).close()


@pytest.mark.parametrize("error", [FileExistsError, PermissionError])
def test_a_file_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError]) -> None:
    """Another process makes it at the same time, or there are no hard links."""

    def link(new: str, path: Path) -> None:
        if error is FileExistsError:
            shutil.copy(new, path)
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(os, "link", link)
        store = FileRunStore(tmp_path)
    with store.commit():
        store.put_manifest("text")
    store.close()
    assert FileRunStore(tmp_path).manifest() == "text"


def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StateError, match=r"Not a directory \| a store is in a directory that can be written"):
        FileRunStore(tmp_path / "file" / "store")
    if os.geteuid() == 0:  # root may write anywhere
        return
    tmp_path.chmod(0o555)
    with pytest.raises(StateError, match=r"Permission denied \| a store is in a directory that"):
        FileRunStore(tmp_path)
    tmp_path.chmod(0o755)


FORKING = """
import os, sys
from panewise.state.file_store import FileRunStore
store = FileRunStore(sys.argv[1])
with store.commit(): store.put_run("1-1", b"before")
child = os.fork()
if not child:
    try: store.run("1-1")
    except Exception as error: print(error, flush=True)
    if sys.argv[2] == "close": store.close()
    del store
    sys.exit()
os.waitpid(child, 0)
with store.commit(): store.put_run("1-2", b"after")
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("how", ["close", "exit"])
def test_a_forked_process_takes_nothing_away(how: str, tmp_path: Path) -> None:
    """semantics 31.5, 31.10: when it ends, what is committed later survives, too."""
    command = [sys.executable, "-c", FORKING, str(tmp_path), how]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == (
        f"{tmp_path / FILE} in a forked process | one process at a time has a store open | "
        "open it in one process [PW-STATE-061]\n"
    )
    store = FileRunStore(tmp_path)
    assert (store.run("1-1"), store.run("1-2")) == (b"before", b"after")


def test_a_file_that_was_replaced_is_refused(tmp_path: Path) -> None:
    """semantics 31.10"""
    store = FileRunStore(tmp_path)
    shutil.copy(tmp_path / FILE, tmp_path / "copy")
    (tmp_path / "copy").rename(tmp_path / FILE)
    with pytest.raises(StateError, match="the file is no longer there"), store.commit():
        store.put_manifest("text")
