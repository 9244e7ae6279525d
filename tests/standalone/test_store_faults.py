"""Disks that are full or read-only, other users, torn files and other formats, for operators of every kind.

A fault is an error. Afterwards the operator continues from its last commit, and emits the same rows with the
same numbers (semantics 31.4 to 31.6).
"""

import sqlite3
import tempfile
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from panewise import StateError
from panewise.standalone import Emission, StandaloneOperator
from panewise.state.file_store import FILE
from tests.mounts import as_nobody, fill, make_room, read_only, small_disk
from tests.nightly import nightly
from tests.standalone.killed_job import COMMIT_EVERY, SPECS, add, advance_after, lines, made, play, start_of
from tests.standalone.test_killed import MODES, Model, state

MESSAGES = 60
ROOM = 2 << 20
CANNOT_WRITE = r"^cannot .* \| a store is in a directory that can be written, on a disk with free space \| "
FULL = r"disk is full \| .* \| .* as after its last commit \[PW-"
SOME = ("hopping", "join", "sliding policy")  # in `make test`: windows, two inputs, and policy windows
_CASES = list(zip(SPECS, cycle(MODES), strict=False))
EACH = pytest.mark.parametrize(
    ("kind", "mode"), [case if case[0] in SOME else nightly(case) for case in _CASES]
)
# Where only the file matters, which is the same for all kinds.
EACH_FILE = pytest.mark.parametrize(
    ("kind", "mode"), [case if case[0] == "join" else nightly(case) for case in _CASES]
)


class Sink:
    """Receives emissions. A number that comes twice must have the same row."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int], str] = {}

    def write(self, emission: Emission) -> None:
        for kind, number, row in lines(emission):
            assert self.rows.setdefault((kind, number), row) == row

    def flush(self, operator: StandaloneOperator, mode: str, offset: int) -> None:
        """In standalone mode takes over what was emitted, and commits."""
        if mode == "standalone" and offset % COMMIT_EVERY == 0:
            for emission in operator.get_result():
                self.write(emission)
            operator.flush()


def played(kind: str, mode: Any, store: Path, sink: Sink, stop: int) -> StandaloneOperator:
    """Returns an operator that has continued from its last commit up to a message."""
    operator = made(kind, mode, store, sink.write)
    start = start_of(operator)
    advance_after(operator, start - 1)
    play(operator, start, stop, lambda offset: sink.flush(operator, mode, offset))
    return operator


def check_continues(kind: str, mode: Any, store: Path, sink: Sink) -> None:
    """The state is that of the last commit, and the sink receives what an operator without faults emits."""
    model = Model(kind)
    with made(kind, mode, store) as operator:
        assert state(operator) in model.states_before(start_of(operator))
    with played(kind, mode, store, sink, MESSAGES) as operator:
        operator.finish()
        sink.flush(operator, mode, 0)
    assert sink.rows == model.emitted(MESSAGES)


@EACH
def test_a_full_disk(kind: str, mode: Any) -> None:
    """semantics 31.6"""
    with small_disk(ROOM) as disk:
        store, sink = disk / "store", Sink()
        operator = played(kind, mode, store, sink, MESSAGES // 2)
        fill(disk)
        with pytest.raises(StateError, match=FULL):
            play(operator, MESSAGES // 2, MESSAGES, lambda offset: sink.flush(operator, mode, offset))
        make_room(disk)
        check_continues(kind, mode, store, sink)


@EACH_FILE
def test_a_disk_that_is_read_only(kind: str, mode: Any) -> None:
    """semantics 31.5, 31.10"""
    with small_disk(ROOM) as disk:
        store, sink = disk / "store", Sink()
        played(kind, mode, store, sink, MESSAGES // 2).close()
        with read_only(disk):
            for path in (store, disk / "new"):
                with pytest.raises(StateError, match=CANNOT_WRITE):
                    made(kind, mode, path)
        check_continues(kind, mode, store, sink)


BEFORE = """
import sys, tempfile
from pathlib import Path
from panewise import StateError
from tests.standalone.killed_job import made
with tempfile.TemporaryDirectory() as folder:
    made("join", "standalone", Path(folder)).close()
"""
OPENING = """
for name in ("store", "new"):
    try:
        made("join", "standalone", Path(sys.argv[1]) / name)
    except StateError as error:
        print(error.rule)
"""


def test_a_directory_of_another_user() -> None:
    """semantics 31.5: permissions do not bind root, so the stores are opened by another user."""
    with tempfile.TemporaryDirectory() as folder:
        store, sink = Path(folder) / "store", Sink()
        played("join", "standalone", store, sink, MESSAGES // 2).close()
        rule = "a store is in a directory that can be written, on a disk with free space"
        assert as_nobody(BEFORE, OPENING, folder) == [rule] * 2
        check_continues("join", "standalone", store, sink)


@EACH_FILE
def test_another_format(kind: str, mode: Any, tmp_path: Path) -> None:
    """semantics 31.5: it is refused, and the file is not changed."""
    sink = Sink()
    played(kind, mode, tmp_path, sink, MESSAGES // 2).close()
    for number in (99, 1):
        database = sqlite3.connect(tmp_path / FILE)
        database.execute(f"PRAGMA user_version={number}")
        database.close()
        if number == 99:
            with pytest.raises(StateError, match=r"of format 99 \| this version of panewise reads"):
                made(kind, mode, tmp_path)
    check_continues(kind, mode, tmp_path, sink)


@pytest.mark.parametrize("part", [0.3, 0.6])
@EACH_FILE
def test_a_torn_file(kind: str, mode: Any, part: float, tmp_path: Path) -> None:
    """semantics 31.5: an error when it is opened or read."""
    with pytest.raises(StateError) as caught:
        torn_and_read(kind, mode, part, tmp_path)
    assert str(caught.value).count(" | ") == 2


@EACH_FILE
def test_a_file_that_lacks_its_end(kind: str, mode: Any, tmp_path: Path) -> None:
    """semantics 31.5: its end may be unused pages. If not, there is an error."""
    with suppress(StateError):
        torn_and_read(kind, mode, 0.9, tmp_path)


def torn_and_read(kind: str, mode: Any, part: float, store: Path) -> None:
    """Cuts off the end of the file of an operator, and checks what is read then."""
    played(kind, mode, store, Sink(), MESSAGES // 2).close()
    with made(kind, mode, store) as operator:
        before = state(operator)
    file = store / FILE
    file.write_bytes(file.read_bytes()[: int(part * file.stat().st_size)])
    with made(kind, mode, store) as operator:
        assert state(operator) == before
        add(operator, MESSAGES)
        operator.finish()
        operator.life_cycle.drain()
        if mode == "standalone":
            operator.flush()
