"""Expiry of durable stores: by commits, in slices, without a trace in the files. Positions in the input."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from panewise import InputError, StoreError
from panewise.stores import DurableMap, SessionStore, WindowStore, retaining_store
from panewise.stores.durable_map import PlainDurableMap
from panewise.stores.keys import decode_int64
from tests.stores.make_golden import folder_of
from tests.stores.played import CASES, model

KINDS = ["window", "window with duplicates", "session"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slice_", [1, 3, 10_000])
def test_entries_are_deleted_in_slices(
    kind: str, slice_: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 34.10, 34.23: the content is the same, and after a commit nothing expired is in the files."""
    monkeypatch.setattr(retaining_store, "_DELETED_AT_ONCE", slice_)
    case = CASES[kind]
    for part in range(6):
        with case.opened(tmp_path) as store:
            for number in range(part * 20, part * 20 + 20):
                case.play(store, number)
                if number % 7 == 0:
                    store.commit()
            assert case.content(store) == model(kind, part * 20 + 20)
            store.commit()
            horizon = store.now - 10
        with DurableMap(tmp_path) as entries:
            places = [place for place, _ in entries.scan(b"t", b"u")]
            assert min(decode_int64(place, 1) for place in places) > horizon
            assert len(list(entries.scan(b"k", b"l"))) == len(places)


def test_an_expiry_needs_memory_for_a_slice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 34.23: a commit has at most a slice of deletions in memory, of which each has two places."""
    monkeypatch.setattr(retaining_store, "_DELETED_AT_ONCE", 100)
    pending: list[int] = []
    commit = PlainDurableMap.commit

    def counted(self: Any) -> None:
        pending.append(self.pending)
        commit(self)

    with WindowStore(1_000, 5, directory=tmp_path) as store:
        for number in range(5_000):
            store.put(number, number, time=0)
            if number % 100 == 99:
                store.commit()
        monkeypatch.setattr(PlainDurableMap, "commit", counted)
        store.advance(10_000)
        assert list(store.all()) == []
        store.commit()
        assert len(pending) >= 50
        assert max(pending) <= 2 * 100 + 1
    with DurableMap(tmp_path) as entries:
        assert len(list(entries.scan())) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_position_in_the_input(kind: str, directory: Path | None) -> None:
    """semantics 34.11"""
    with CASES[kind].opened(directory) as store:
        assert store.position == {}
        store.advance_position("orders", partition=0, offset=7)
        store.advance_position("orders", partition=0, offset=5)
        store.advance_position("orders", partition=1, offset=2)
        assert store.position == {"orders": {0: 7, 1: 2}}
    with pytest.raises(StoreError, match="a closed"):
        store.advance_position("orders", partition=0, offset=8)
    if directory:
        with CASES[kind].opened(directory) as store:
            assert store.position == {"orders": {0: 7, 1: 2}}


@pytest.mark.parametrize("store", [WindowStore(100, 10), SessionStore(100)])
def test_a_position_of_other_types(store: WindowStore | SessionStore) -> None:
    """semantics 34.11"""
    for topic, partition, offset in (("t", "0", 1), ("t", 0, 1.5), (None, 0, 1)):
        with pytest.raises(InputError, match="a partition and an offset are ints"):
            store.advance_position(topic, partition=partition, offset=offset)  # type: ignore[arg-type]
    assert store.position == {}


def test_a_directory_from_before_sessions_had_a_position(tmp_path: Path) -> None:
    """semantics 34.11: it is opened, and has none yet."""
    folder = tmp_path / "store"
    shutil.copytree(folder_of("session", 1), folder)
    for position in ({}, {"orders": {0: 7}}):
        with SessionStore(10, directory=folder) as store:
            assert store.position == position
            store.advance_position("orders", partition=0, offset=7)


@pytest.mark.parametrize("store", [WindowStore(100, 10), SessionStore(100)])
def test_entries_to_restore_are_a_list(store: Any) -> None:
    """semantics 15.34, 34.11"""
    with pytest.raises(InputError, match="are a list"):
        store.restore(None)
