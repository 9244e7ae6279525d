"""The processor time and the memory of this process and of all that it has started, from /proc."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_TICK = 1 / os.sysconf("SC_CLK_TCK")
_WORKER = b"pyspark.daemon"


def core_seconds() -> float:
    """Returns the processor time of the tree of processes, including processes of it that have ended."""
    return sum(sum(map(int, fields[11:15])) for _, fields in _tree()) * _TICK


def forget_most_bytes() -> None:
    """Lets :func:`most_worker_bytes` begin again: a worker is used by one query after another."""
    for pid in _workers():
        with suppress(OSError):  # it has ended
            Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="utf-8")


def most_worker_bytes() -> int:
    """Returns the most memory that one of Spark's Python workers has had, of those that run now."""
    most = 0
    for pid in _workers():
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
            most = max(most, *(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)
    return most


def _workers() -> Iterator[int]:
    for pid, _ in _tree():
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if _WORKER in command:
                yield pid


def _tree() -> Iterator[tuple[int, list[str]]]:
    """Yields the processes of the tree, each with the fields of its `stat` after the name."""
    fields = dict[int, list[str]]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields[int(path.parent.name)] = path.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
    left = [os.getpid()]
    while left:
        pid = left.pop()
        if pid in fields:
            yield pid, fields[pid]
        left += [child for child, values in fields.items() if int(values[1]) == pid]
