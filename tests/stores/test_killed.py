"""A store whose process is killed at any instant is as after a commit: the last one, or one under way."""

from pathlib import Path
from typing import Any

import pytest

from tests.killing import Kills
from tests.stores import killed_store
from tests.stores.played import CASES, model


def rounds(kind: str, directory: Path, kills: Kills, number: int) -> None:
    """Kills the job so many times. After each one the content must be what its committed steps lead to."""
    case, reported = CASES[kind], 0
    for _ in range(number):
        lines = kills.strike(kind, directory)
        reported = max(map(int, filter(str.isdigit, lines)), default=reported)
        store = case.opened(directory)
        steps = case.steps(store)
        assert steps in (reported, reported + 1)
        assert case.content(store) == model(kind, steps)
        store.close(commit=False)
        reported = steps


@pytest.mark.parametrize("kind", CASES)
def test_a_killed_store_is_as_after_a_commit(kind: str, tmp_path: Path) -> None:
    """semantics 34.4"""
    rounds(kind, tmp_path / "store", Kills(killed_store.__name__, seed=0, longest=0.3), 1)


@pytest.mark.soak
@pytest.mark.kills
@pytest.mark.parametrize("kind", CASES)
def test_stores_that_are_killed_often(kind: str, tmp_path: Path, record_property: Any) -> None:
    """semantics 34.4"""
    kills = Kills(killed_store.__name__, seed=sum(map(ord, kind)))
    rounds(kind, tmp_path / "store", kills, 10)
    kills.report(record_property)
