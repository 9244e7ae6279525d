"""Operators with a store: commits, the order of writes, recovery, and refusals."""

import shutil
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import Always, InputError, SpecError, StateError, Tumbling, WindowOperator
from panewise import functions as F
from panewise.standalone import Callbacks, Emission, StandaloneOperator
from panewise.state.file_store import FILE
from tests.engine.effort import examples
from tests.standalone.test_operator import SPEC, TYPES, message, totals


def events(count: int) -> list[dict[str, Any]]:
    """Returns messages of three keys, some of them late, with offsets from 0 on."""
    return [message(3 * n - 25 * (n % 7 == 3), n, "abc"[n % 3]) for n in range(count)]


def play(operator: StandaloneOperator, messages: list[dict[str, Any]], start: int, stop: int) -> None:
    """Adds messages with their positions. Every fourth one moves the watermark before it."""
    for offset in range(start, stop):
        if offset % 4 == 0:
            operator.advance(watermark=3 * offset - 10)
        operator.add_message(messages[offset], position=("p", 0, offset))


def lines(emissions: list[Emission]) -> dict[tuple[str, int], Any]:
    """Returns what was emitted by kind and number. A number that comes twice must have the same content."""
    found: dict[tuple[str, int], Any] = {}
    for one in emissions:
        for kind, first, table in (
            ("row", one.first_row, one.rows),
            ("late", one.first_late, one.late),
        ):
            for number, row in enumerate(table.rows(), first):
                assert found.setdefault((kind, number), row) == row
    return found


def next_offset(operator: StandaloneOperator) -> int:
    return max((offset for *_, offset in operator.positions()), default=-1) + 1


def test_outputs_are_written_before_the_state_and_its_positions(tmp_path: Path) -> None:
    """semantics 31.3: emissions, then the state, then the positions, after each step."""
    writes: list[str] = []

    def downstream(emission: Emission) -> None:
        writes.append("sink")

    callbacks = Callbacks(write=writes.append)
    with StandaloneOperator(
        SPEC, TYPES, mode="automatic", downstream=downstream, store=tmp_path, callbacks=callbacks
    ) as operator:
        operator.add_message(message(1, 1))
        assert writes == ["state", "position"]
        writes.clear()
        operator.advance(watermark=10)
        assert writes == ["output", "sink", "state", "position"]


@pytest.mark.parametrize(("commit_rows", "committed"), [(1, 4), (3, 2), (5, -1)])
def test_commits_in_automatic_mode(commit_rows: int, committed: int, tmp_path: Path) -> None:
    """semantics 31.3: rows are counted, and so are steps without rows."""
    settings: dict[str, Any] = {"mode": "automatic", "downstream": lambda emission: None, "store": tmp_path}
    with StandaloneOperator(SPEC, TYPES, commit_rows=commit_rows, **settings) as operator:
        for offset in range(4):
            operator.add_message(message(1), position=("p", 0, offset))
        if commit_rows == 1:
            operator.add_message(message(1), position=("p", 0, 4))
    with StandaloneOperator(SPEC, TYPES, **settings) as operator:
        assert next_offset(operator) - 1 == committed


def test_nothing_is_committed_while_an_emission_is_refused(tmp_path: Path) -> None:
    """semantics 32.2, 31.4: after a restart the refused emission comes again, with its number."""
    offered: list[Emission] = []

    def refuse(emission: Emission) -> bool:
        offered.append(emission)
        return False

    settings: dict[str, Any] = {"mode": "automatic", "store": tmp_path}
    with StandaloneOperator(SPEC, TYPES, downstream=refuse, **settings) as operator:
        operator.add_message(message(1, 7), position=("p", 0, 0))
        operator.advance(watermark=10)
    received: list[Emission] = []
    with StandaloneOperator(SPEC, TYPES, downstream=received.append, **settings) as operator:
        assert operator.positions() == [("p", 0, 0)]
        assert operator.watermark is None
        operator.advance(watermark=10)
    assert lines(offered) == lines(received) != {}
    with StandaloneOperator(SPEC, TYPES, downstream=received.append, **settings) as operator:
        operator.finish()
    assert len(received) == 1


@examples(8)
@given(data=st.data())
def test_a_restart_anywhere_continues(data: st.DataObject, tmp_path_factory: Any) -> None:
    """semantics 31.2, 31.4: with restarts and flushes anywhere, each number has one content, that without."""
    messages, size = events(24), 24
    whole = StandaloneOperator(SPEC, TYPES)
    play(whole, messages, 0, size)
    whole.finish()
    wanted = lines(whole.drain())
    path, found, at = tmp_path_factory.mktemp("store"), [], 0
    while at < size:
        with StandaloneOperator(SPEC, TYPES, store=path) as operator:
            at = next_offset(operator)
            assert operator.counts.get("input") is None or operator.counts["input"].rows_in == at
            flushed = data.draw(st.integers(at, size), label="flushed")
            play(operator, messages, at, flushed)
            found += operator.get_result()
            operator.flush()
            lost = data.draw(st.integers(flushed, size), label="lost")
            play(operator, messages, flushed, lost)
            found += operator.drain()
            at = flushed
    with StandaloneOperator(SPEC, TYPES, store=path) as operator:
        operator.finish()
        found += operator.drain()
        assert operator.counts == whole.counts
    assert lines(found) == wanted


def test_a_store_belongs_to_one_specification(tmp_path: Path) -> None:
    """semantics 31.5: the error names what changed."""
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        operator.add_message(message(1))
        operator.flush()
    other = WindowOperator(window=Tumbling(20), keys=["k"], aggregates=[F.sum("v").alias("total")])
    with pytest.raises(StateError, match=r"^a changed specification \(window"):
        StandaloneOperator(other, TYPES, store=tmp_path)
    with pytest.raises(StateError, match=r"^a state with other columns"):
        StandaloneOperator(SPEC, {**TYPES, "v": "double"}, store=tmp_path)
    StandaloneOperator(SPEC, TYPES, store=tmp_path).close()


def test_a_store_continues_with_another_specification(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """semantics 47.10: it takes effect when the store is opened, and is stored by the next commit."""
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        operator.add_message(message(1))
        operator.life_cycle.checkpoint("before")
        operator.flush()
    aggregates = [*SPEC.aggregates, F.count().alias("later")]
    other = replace(SPEC, trigger=Always(), aggregates=aggregates)
    for _ in range(2):  # without a commit, the next start does the same
        operator = StandaloneOperator(other, TYPES, store=tmp_path, added_aggregates="from_now_on")
        [emission] = operator.get_result()
        assert emission.rows["later"].to_list() == [0]
        operator.close()
    assert caplog.messages[0] == caplog.messages[1]
    assert caplog.messages[0].endswith(
        "trigger: {'kind': 'after_watermark', 'early': None, 'late': "
        "{'kind': 'always'}} -> {'kind': 'always'})"
    )
    with StandaloneOperator(other, TYPES, store=tmp_path, added_aggregates="from_now_on") as operator:
        operator.flush()
    with StandaloneOperator(other, TYPES, store=tmp_path) as operator:
        assert operator.get_result() == []
        operator.life_cycle.reset("before")
        assert operator.get_result()[0].rows["later"].to_list() == [0]
    with pytest.raises(StateError, match=r"materialize=\.\.\. with a changed specification"):
        StandaloneOperator(SPEC, TYPES, store=tmp_path, materialize=object())  # type: ignore[arg-type]


def test_a_copy_that_lacks_aggregates_of_an_operator_without_a_state_is_refused(tmp_path: Path) -> None:
    """semantics 47.10: the operator has not marked them, so its tables have no column for the mark."""
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        operator.add_message(message(1))
        operator.life_cycle.checkpoint("x")
    more = replace(SPEC, aggregates=[*SPEC.aggregates, F.count().alias("later")])
    with (
        StandaloneOperator(more, TYPES, store=tmp_path) as operator,
        pytest.raises(StateError, match=r"^the saved state 'x' \| .* lacks no aggregate"),
    ):
        operator.life_cycle.reset("x")
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        operator.life_cycle.reset("x")
        operator.flush()
    with StandaloneOperator(more, TYPES, store=tmp_path) as operator:
        operator.finish()
        assert [row for it in operator.drain() for row in it.rows["later"]] == [None]
    with pytest.raises(SpecError, match=r"added_aggregates='zero'"):
        StandaloneOperator(SPEC, TYPES, added_aggregates="zero")  # type: ignore[arg-type]


def test_a_store_belongs_to_one_process(tmp_path: Path) -> None:
    """semantics 31.5"""
    probe = (
        "import sys; from panewise.state.file_store import FileRunStore\n"
        "try: FileRunStore(sys.argv[1])\n"
        "except Exception as error: print(error)"
    )
    with StandaloneOperator(SPEC, TYPES, store=tmp_path):
        with pytest.raises(StateError, match="one process at a time has a store open"):
            StandaloneOperator(SPEC, TYPES, store=tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", probe, str(tmp_path)], capture_output=True, text=True, check=True
        )
    assert done.stdout.startswith(
        f"cannot open {tmp_path / FILE}: database is locked | one process at a time has a store open | "
        "close it there first [PW-"
    )
    StandaloneOperator(SPEC, TYPES, store=tmp_path).close()


def test_a_full_disk_leaves_the_last_commit(tmp_path: Path) -> None:
    """semantics 31.6: the operator is closed; opened again it continues from the commit before."""
    operator = StandaloneOperator(SPEC, TYPES, store=tmp_path)
    operator.add_message(message(1, 1), position=("p", 0, 0))
    operator.flush()
    host: Any = operator._core.host
    database: sqlite3.Connection = host._store._database
    pages = database.execute("PRAGMA page_count").fetchone()[0]
    database.execute(f"PRAGMA max_page_count={pages}")
    operator.add_batch(
        pl.DataFrame([message(1, n, f"key {n}") for n in range(20_000)]),
        positions=[("p", 0, 1)],
    )
    with pytest.raises(
        StateError, match=r"database or disk is full \| .* \| .* it is as after its last commit \[PW-"
    ):
        operator.flush()
    for call in (lambda: operator.add_message(message(1)), operator.flush, operator.finish):
        with pytest.raises(InputError, match=r"^a closed operator"):
            call()
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as again:
        assert again.positions() == [("p", 0, 0)]
        again.finish()
        assert totals(again.drain()) == [1]


def test_a_commit_removes_the_runs_of_the_state_before_a_reset(tmp_path: Path) -> None:
    """semantics 33.3: what is stored is the state after the reset."""
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        operator.life_cycle.checkpoint("empty")
        operator.add_message(message(1, 1))
        operator.flush()
        operator.life_cycle.reset("empty")
        operator.flush()
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        assert operator.live().is_empty()
        operator.add_message(message(1, 9))
        operator.finish()
        assert totals(operator.drain()) == [9]


def test_numbers_continue_behind_a_checkpoint_that_a_restart_is_behind(tmp_path: Path) -> None:
    """semantics 33.3: the rows up to the checkpoint were emitted, although they were not committed."""
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        operator.add_message(message(1, 1))
        operator.advance(watermark=10)
        operator.add_message(message(11, 2))
        [before] = operator.drain()
        operator.life_cycle.checkpoint("one")
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        operator.life_cycle.reset("one")
        operator.finish()
        [after] = operator.drain()
    assert [(one.first_row, totals([one])) for one in (before, after)] == [(1, [1]), (2, [2])]
    assert after.step > before.step


def test_a_commit_into_a_deleted_directory_is_refused(tmp_path: Path) -> None:
    """semantics 31.10, 31.6: SQLite would write on into the deleted file."""
    path = tmp_path / "a store ä%20?"
    operator = StandaloneOperator(SPEC, TYPES, store=path)
    operator.add_message(message(1))
    shutil.rmtree(path)
    with pytest.raises(StateError, match=r"No such file or directory \| a store is in a directory"):
        operator.flush()
    for call in (lambda: operator.add_message(message(1)), operator.flush, operator.finish):
        with pytest.raises(InputError, match=r"^a closed operator"):
            call()


def test_a_store_is_closed_if_the_operator_cannot_be_made(tmp_path: Path) -> None:
    def fail() -> None:
        raise ValueError("no sink")

    with pytest.raises(ValueError, match="no sink") as caught:
        StandaloneOperator(SPEC, TYPES, store=tmp_path, callbacks=Callbacks(setup=fail))
    StandaloneOperator(SPEC, TYPES, store=tmp_path).close()
    assert caught.value.args == ("no sink",)


def test_an_operator_can_be_used_in_another_thread(tmp_path: Path) -> None:
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        operator.add_message(message(1), position=("p", 0, 1))
        thread = threading.Thread(target=operator.flush)
        thread.start()
        thread.join()
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as operator:
        assert operator.positions() == [("p", 0, 1)]


def test_a_flush_that_fails_removes_no_emission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 31.6: the emissions can still be read from the closed operator, and are emitted again."""
    operator = StandaloneOperator(SPEC, TYPES, store=tmp_path)
    operator.add_message(message(1, 7))
    operator.advance(watermark=10)
    host: Any = operator._core.host

    def fails(text: str) -> None:
        raise StateError("the disk", "it has room", "make some")

    monkeypatch.setattr(host._store, "put_manifest", fails)
    with pytest.raises(StateError, match=r"^the disk"):
        operator.flush()
    assert totals(operator.get_result()) == [7]
    assert totals(operator.drain()) == [7]
    assert operator.drain() == []
    with StandaloneOperator(SPEC, TYPES, store=tmp_path) as again:
        again.add_message(message(1, 7))
        again.advance(watermark=10)
        assert totals(again.flush()) == [7]
        assert again.get_result() == []
    with pytest.raises(InputError, match=r"^a closed operator"):
        again.get_result()
