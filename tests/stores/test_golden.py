"""This release reads the stores that earlier ones left behind, and writes on in them."""

import shutil
from pathlib import Path

import pytest

from tests.stores.make_golden import STEPS, folder_of
from tests.stores.played import CASES, model


@pytest.mark.parametrize("kind", CASES)
def test_a_store_of_an_earlier_release(kind: str, tmp_path: Path) -> None:
    """semantics 34.5: the format is the same, so the content is."""
    case, folder = CASES[kind], tmp_path / "store"
    shutil.copytree(folder_of(kind, 1), folder)
    with case.opened(folder) as store:
        assert case.steps(store) == STEPS
        assert case.content(store) == model(kind, STEPS)
        for number in range(STEPS, STEPS + 20):
            case.play(store, number)
    with case.opened(folder) as store:
        assert case.content(store) == model(kind, STEPS + 20)
