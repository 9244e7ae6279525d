"""Expiry of durable stores: by commits, in slices, without a trace in the files."""

from pathlib import Path
from typing import Any

import pytest

from panewise.stores import DurableMap, WindowStore, retaining_store
from panewise.stores.keys import decode_int64
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
    commit = DurableMap.commit

    def counted(self: Any) -> None:
        pending.append(self.pending)
        commit(self)

    with WindowStore(1_000, 5, directory=tmp_path) as store:
        for number in range(5_000):
            store.put(number, number, 0)
            if number % 100 == 99:
                store.commit()
        monkeypatch.setattr(DurableMap, "commit", counted)
        store.advance(10_000)
        assert list(store.all()) == []
        store.commit()
        assert len(pending) >= 50
        assert max(pending) <= 2 * 100 + 1
    with DurableMap(tmp_path) as entries:
        assert len(list(entries.scan())) == 1
