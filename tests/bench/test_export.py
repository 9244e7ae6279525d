"""The benchmark of exported states: all windows are imported, in bounded memory (semantics 48.1)."""

from pathlib import Path

import pytest

from bench import export


def test_all_windows_are_imported(tmp_path: Path) -> None:
    export.write(tmp_path / "state", 1000)
    assert export.into_store(str(tmp_path / "state"), str(tmp_path / "store")) == 1000
    assert export.into_pieces(str(tmp_path / "state")) > 1000


@pytest.mark.nightly
def test_a_million_windows_need_less_than_half_a_gigabyte(tmp_path: Path) -> None:
    """semantics 48.1: ten million take about as much."""
    for name, taken in export.measure(1_000_000, tmp_path).items():
        assert taken.resident_mb < 512, name
