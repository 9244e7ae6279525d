"""Files of S1's window operators: the order of writes, and what cannot be opened."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from panewise import functions as F
from panewise.errors import StoreError
from panewise.standalone import AggregatorSettings, Callbacks, WindowedAggregator
from panewise.standalone.retained.table import RetainedTable
from panewise.stores import DurableMap, MessageStore

TYPES = {"event_time": "bigint", "v": "bigint"}


def opened(
    store: Path, writes: Any = None, aggregate: Any = None, types: Any = TYPES, **settings: Any
) -> WindowedAggregator:
    given = {
        "measure": "time",
        "size": 10,
        "advance": 10,
        "retention_size": 99,
        "retention_time": 20,
        **settings,
    }
    automatic: Any = {} if writes is None else {"mode": "automatic", "downstream": lambda output: True}
    callbacks = Callbacks(write=(lambda kind: None) if writes is None else writes.append)
    aggregate = aggregate or F.median("v").alias("m")
    return WindowedAggregator(
        AggregatorSettings(**{**given, **settings}),
        [aggregate],
        types,
        store=store,
        callbacks=callbacks,
        **automatic,
    )


def add(operator: WindowedAggregator, *times: int) -> None:
    for time in times:
        operator.add_message({"event_time": time, "v": time})


FLUSH = ["messages", "metadata", "position"]


def test_an_output_an_opened_window_and_an_expiry_flush_in_the_order_of_s1(tmp_path: Path) -> None:
    """semantics 26.10"""
    writes: list[str] = []
    with opened(tmp_path, writes, early=None) as operator:
        add(operator, 1)
        assert writes == FLUSH  # opened
        add(operator, 2)
        assert writes == FLUSH  # nothing to flush for
        add(operator, 15)
        assert writes == [*FLUSH, "output", *FLUSH]
        add(operator, 14, 35)  # the first two windows expire
        assert writes[7:] == ["output", *FLUSH]
        assert operator.position == 4


def test_an_operator_continues_behind_the_position(tmp_path: Path) -> None:
    """semantics 26.10, 26.9: metadata are readable without the operator."""
    with opened(tmp_path) as operator:
        add(operator, 1, 2)
        operator.flush()
        add(operator, 3)  # lost
    with opened(tmp_path) as operator:
        assert operator.position == 1
        assert [one.last_offset for one in operator.get_windows(0, 9)] == [1]
    files = DurableMap(tmp_path / "metadata")
    header = json.loads(files.get(b"h") or b"")
    files.close()
    assert header["header"]["mark"] == 1


def test_a_store_is_opened_with_its_settings(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with opened(tmp_path) as operator:
        operator.flush()
    for other in ({"size": 20}, {"aggregate": F.mode("v").alias("m")}):
        with pytest.raises(StoreError, match="a store is opened with the settings that made it"):
            opened(tmp_path, **other)
    opened(tmp_path, early="each", retention_time=99).close()  # policies and retention may change


def test_two_operators_do_not_share_a_store(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(StoreError):
        opened(tmp_path)


def test_metadata_of_another_format_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as operator:
        operator.flush()
    files = DurableMap(tmp_path / "metadata")
    header = json.loads(files.get(b"h") or b"")
    files.put(b"h", json.dumps({**header, "format": 99}).encode())
    files.close()
    with pytest.raises(StoreError, match="metadata of the format 99"):
        opened(tmp_path)


def test_a_lost_message_store_is_noticed_and_restored(tmp_path: Path) -> None:
    """semantics 26.11: messages up to the mark go to the message store, and later ones are applied."""
    with opened(tmp_path, late="each") as operator:
        add(operator, 1, 3, 12)
        operator.flush()
    shutil.rmtree(tmp_path / "messages")
    opened(tmp_path, late="each").close()  # a failure while it restores changes nothing
    with opened(tmp_path, late="each") as operator:
        assert (operator.restoring, operator.restore_from) == (True, 0)
        assert operator.add_message({"event_time": 5, "v": 5}, offset=3) == "past"
        assert [one.window.value for one in operator.drain()] == [{"m": 5.0}]
        kinds = [
            operator.add_message({"event_time": time, "v": time}, offset)
            for offset, time in ((0, 1), (1, 3), (2, 12))
        ]
        assert kinds == ["restored"] * 3
        assert [one.window.value for one in operator.drain()] == [{"m": 3.0}, {"m": 3.0}]
        assert (operator.restoring, operator.restore_from) == (False, None)
        assert operator.add_message({"event_time": 12, "v": 12}, offset=2) == "replay"


def test_an_emptied_message_store_is_noticed(tmp_path: Path) -> None:
    """semantics 26.11: a directory without files is a missing message store."""
    with opened(tmp_path) as operator:
        add(operator, 1)
        operator.flush()
    shutil.rmtree(tmp_path / "messages")
    (tmp_path / "messages").mkdir()
    with opened(tmp_path) as operator:
        assert operator.restore_from == 0


@pytest.mark.parametrize("emptied", [True, False])
def test_messages_without_metadata_are_refused(tmp_path: Path, emptied: bool) -> None:
    """semantics 26.12: otherwise the windows would be lost without a word."""
    with opened(tmp_path) as operator:
        add(operator, 1)
        operator.flush()
    shutil.rmtree(tmp_path / "metadata")
    if emptied:
        (tmp_path / "metadata").mkdir()
    with pytest.raises(StoreError, match=r"^messages in .*, and no metadata \| messages are stored beside"):
        opened(tmp_path)


def test_no_file_of_0_bytes_loses_windows(tmp_path: Path) -> None:
    """semantics 26.12, 34.5"""
    with opened(tmp_path / "whole") as operator:
        add(operator, 1, 12)
        operator.flush()
        windows, messages = operator.get_windows(0, 99), operator.get_messages(0, 99)
    refusals = 0
    for number, file in enumerate(sorted((tmp_path / "whole").rglob("*"))):
        if file.is_dir():
            continue
        cut = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", cut)
        (cut / file.relative_to(tmp_path / "whole")).write_bytes(b"")
        try:
            operator = opened(cut)
        except StoreError:
            refusals += 1
            continue
        with operator:
            assert (operator.get_windows(0, 99), operator.get_messages(0, 99)) == (windows, messages)
    assert refusals >= 8


def test_restoring_can_be_ended(tmp_path: Path) -> None:
    """semantics 26.11"""
    with opened(tmp_path) as operator:
        add(operator, 1)
        operator.flush()
    shutil.rmtree(tmp_path / "messages")
    with opened(tmp_path) as operator:
        operator.end_restore()
        assert not operator.restoring


@pytest.mark.parametrize("removed", ["retire", "del_window", "put_window"])
def test_restoring_ends_with_the_last_window_that_misses_messages(removed: str, tmp_path: Path) -> None:
    """semantics 26.11: otherwise `restore_from` would be None, or the mark would never be reached."""
    with opened(tmp_path, retention_time=999) as operator:
        add(operator, 1, 12)
        operator.flush()
    shutil.rmtree(tmp_path / "messages")
    with opened(tmp_path, retention_time=999) as operator:
        operator.add_message({"event_time": 25, "v": 25}, offset=2)
        assert (operator.restoring, operator.restore_from) == (True, 0)
        for number, start in enumerate((0, 10)):
            assert operator.restoring
            window = operator.get_window(start)
            assert window is not None
            if removed == "retire":
                assert operator.retire(start + 10) == 1
            elif removed == "del_window":
                assert operator.del_window(start)
            else:
                operator.put_window(window._replace(start_offset=2, last_offset=2))
            assert operator.restore_from == (1 if number == 0 else None)
        assert not operator.restoring
        operator.flush()
    with opened(tmp_path, retention_time=999) as operator:
        assert (operator.restoring, operator.restore_from) == (False, None)


SESSIONS = {"session_key": "k", "advance": None, "retention_time": 0}
KEYED = {**TYPES, "k": "string"}


def keyed(operator: WindowedAggregator, offset: int, time: int, k: str) -> str:
    return operator.add_message({"event_time": time, "v": time, "k": k}, offset)


def times(operator: WindowedAggregator) -> list[int]:
    return sorted(message["event_time"] for message in operator.get_messages(-99, 999))


@pytest.mark.parametrize("measure", ["time", "tuple"])
def test_a_failure_in_the_last_commit_leaves_no_messages_of_expired_sessions(
    measure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 26.10"""
    settings = {**SESSIONS, "measure": measure, "size": 3, "retention_size": 1, "types": KEYED}
    commit, commits = MessageStore.commit, []

    def failing(store: MessageStore) -> None:
        commits.append(1)
        if len(commits) == 2:
            raise StoreError("a full disk", "a commit writes", "make room")
        commit(store)

    with opened(tmp_path, **settings) as operator:
        for offset, (time, k) in enumerate(((1, "a"), (2, "b"), (3, "b"), (4, "b"), (20, "b"), (40, "b"))):
            keyed(operator, offset, time, k)
        wanted = times(operator)
        assert 1 not in wanted
        monkeypatch.setattr(MessageStore, "commit", failing)
        with pytest.raises(StoreError, match="a full disk"):
            operator.flush()
    monkeypatch.undo()
    with opened(tmp_path, **settings) as operator:
        assert operator.position == 5
        assert times(operator) == wanted


def test_only_messages_of_windows_in_retention_are_restored(tmp_path: Path) -> None:
    """semantics 26.11: neither those below `restore_from`, nor rejected ones, nor those of other sessions."""
    settings = {**SESSIONS, "retention_time": 5, "size": 3, "types": KEYED}
    given = [(1, "b"), (50, "a"), (30, "a"), (60, "b"), (52, "a"), (54, "b")]
    with opened(tmp_path, **settings) as operator:
        kinds = [keyed(operator, offset, time, k) for offset, (time, k) in enumerate(given)]
        assert kinds[2] == "out_of_retention"
        wanted = times(operator)
        operator.flush()
    shutil.rmtree(tmp_path / "messages")
    with opened(tmp_path, **settings) as operator:
        assert operator.restore_from is not None
        assert operator.restore_from > 0
        assert {keyed(operator, offset, *one) for offset, one in enumerate(given)} == {"restored"}
        assert not operator.restoring
        assert times(operator) == wanted


def test_an_operator_that_cannot_be_made_releases_its_files(tmp_path: Path) -> None:
    """The error holds the frames of the call, and with them the operator."""

    def broken() -> None:
        raise OSError("no metrics")

    settings = AggregatorSettings(measure="time", size=10, advance=10, retention_size=99, retention_time=20)
    with pytest.raises(OSError, match="no metrics") as error:
        WindowedAggregator(
            settings, [F.median("v").alias("m")], TYPES, store=tmp_path, callbacks=Callbacks(setup=broken)
        )
    opened(tmp_path).close()
    assert error.value.args == ("no metrics",)


def test_a_longer_retention_opens_no_window_whose_messages_were_deleted(tmp_path: Path) -> None:
    """semantics 26.2: otherwise a message of it would be applied, and not stored."""
    with opened(tmp_path) as operator:
        for time in (1, 105, 106):
            add(operator, time)
            operator.flush()
    with opened(tmp_path, retention_time=1000) as operator:
        assert operator.add_message({"event_time": 50, "v": 50}) == "out_of_retention"
        assert operator.add_message({"event_time": 85, "v": 85}) == "past"
        assert [one.value for one in operator.get_windows(0, 99)] == [{"m": 85.0}]


def test_a_message_store_is_not_left_behind(tmp_path: Path) -> None:
    """Otherwise messages of the time without it would be missing later, and nobody would notice."""
    total = F.sum("v").alias("s")
    with opened(tmp_path, aggregate=total, message_store=True) as operator:
        add(operator, 1)
        operator.flush()
    with pytest.raises(StoreError, match="settings without a message store, and messages in"):
        opened(tmp_path, aggregate=total)
    shutil.rmtree(tmp_path / "messages")
    with opened(tmp_path, aggregate=total) as operator:
        add(operator, 2)
        operator.flush()
    with opened(tmp_path, aggregate=total, message_store=True) as operator:
        assert (operator.restoring, operator.restore_from) == (True, 0)


@pytest.mark.parametrize(
    "settings",
    [
        {"measure": "tuple", "size": 2, "advance": 1},
        {"measure": "tuple", "size": 1, "session_key": "k", "advance": None},
        {"measure": "time", "size": 5, "session_key": "k", "advance": None},
    ],
)
def test_a_restored_message_is_compared_with_few_windows(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 26.11: with as many as can contain it, however many there are."""
    whole = {"retention_size": 10**6, "retention_time": 10**6, "types": KEYED, **settings}
    given = [(10 * at, "a" if at % 3 else "b") for at in range(60)]
    with opened(tmp_path, **whole) as operator:
        for offset, one in enumerate(given):
            keyed(operator, offset, *one)
        wanted = times(operator)
        operator.flush()
    shutil.rmtree(tmp_path / "messages")
    found: list[int] = []
    latest = RetainedTable.latest
    monkeypatch.setattr(RetainedTable, "latest", lambda *given: _counted(found, latest(*given)))
    with opened(tmp_path, **whole) as operator:
        assert {keyed(operator, offset, *one) for offset, one in enumerate(given)} == {"restored"}
        assert times(operator) == wanted
    assert max(found) <= 2
    assert sum(found) >= 60


def _counted(found: list[int], windows: list[Any]) -> list[Any]:
    found.append(len(windows))
    return windows
