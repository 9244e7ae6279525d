"""The comparison of joins with Flink: its arguments, and its message if Flink is missing.

`make bench-peers` runs the jobs themselves.
"""

from pathlib import Path

import pytest

from bench.joins import data, flink


def test_defaults() -> None:
    asked = flink.arguments([])
    assert (asked.batch_rows, asked.batches, asked.join, asked.state) == (1_000_000, 6, None, "heap")


@pytest.mark.parametrize("argv", [["--batch-rows", "1"], ["--batches", "2"]])
def test_what_makes_no_sense_is_refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        flink.arguments(argv)
    assert "the first 2 batches are warm-up | give such as 1000000 and 3" in capsys.readouterr().err


def test_without_flink(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(flink, "ENVIRONMENT", tmp_path)
    with pytest.raises(SystemExit, match=r"Flink has an environment of its own \| run make bench-peers"):
        flink.flink_seconds("window", data.Sides(tmp_path, 2, 3), "heap")
