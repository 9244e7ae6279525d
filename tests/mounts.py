"""Small file systems for tests, full or read-only, and a user who may not write."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

SIZE = 3 << 20
NOBODY = 65534
_BECOME_NOBODY = f"import os; os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})"


@contextmanager
def small_disk(room: int = 300_000) -> Iterator[Path]:
    """Mounts a file system of 3 MB with little room in bytes. Skips the test where that is not allowed."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", folder], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"cannot mount: {done.stderr.decode().strip()}")
        try:
            (Path(folder) / "ballast").write_bytes(bytes(SIZE - room))
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """Makes a disk read-only for a while."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    yield
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)


def fill(disk: Path) -> None:
    """Leaves no room on a disk."""
    with suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while file.write(bytes(1 << 12)):
            pass


def make_room(disk: Path) -> None:
    """Deletes what tests have filled a disk with."""
    for name in ("ballast", "filler"):
        (disk / name).unlink(missing_ok=True)


def as_nobody(before: str, script: str, folder: str) -> list[str]:
    """Runs a script as a user who may read the folder, its argument, and not write it. Returns its lines.

    `before` runs as the present user: it imports what is imported late. Only root can become another user.
    """
    for path in (Path(folder), *Path(folder).rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    command = [sys.executable, "-c", f"{before}\n{_BECOME_NOBODY}\n{script}", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "os.setgroups" in done.stderr and "PermissionError" in done.stderr:
        pytest.skip("only root can become another user")
    assert not done.stderr
    return done.stdout.splitlines()
