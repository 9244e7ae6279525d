"""The comparison of `add_batch` with Bytewax and Pathway: arguments, sums, and the message without them.

`make bench-peers` runs the peers themselves.
"""

from pathlib import Path

import polars as pl
import pytest

from bench import standalone_peers
from bench.standalone import WINDOW, rows


def test_defaults() -> None:
    asked = standalone_peers.arguments([])
    assert (asked.rows, asked.batches, asked.rounds, asked.run_once) == (1_000_000, 2, 3, None)


@pytest.mark.parametrize("option", ["--rows", "--batches", "--rounds"])
def test_what_makes_no_sense_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        standalone_peers.arguments([option, "0"])
    assert "rows, batches and rounds are 1 or more | give a greater number" in capsys.readouterr().err


def test_sums_by_key_and_window() -> None:
    given = pl.DataFrame({"k": [1, 1, 1, 0], "event_time": [0, WINDOW - 1, WINDOW, 5], "v": [1, 2, 4, 8]})
    assert standalone_peers.expected(given).rows() == [(0, 0, 8), (1, 0, 3), (1, WINDOW, 4)]


@pytest.mark.parametrize("name", [standalone_peers.OURS, standalone_peers.QUERY])
def test_a_run_has_the_sums_of_the_query(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = pl.concat(rows(n, 2000).with_columns(batch=pl.lit(n)) for n in range(3))
    given.write_parquet(tmp_path / "rows.parquet")
    standalone_peers.run_once(name, tmp_path)
    found = pl.read_parquet(tmp_path / "sums.parquet").sort("start", "k")
    assert found.equals(standalone_peers.expected(given))
    assert '"seconds": ' in capsys.readouterr().out


def test_without_the_peers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(standalone_peers, "ENVIRONMENT", tmp_path)
    with pytest.raises(SystemExit, match=r"peers have an environment of their own \| run make bench-peers"):
        standalone_peers.seconds_of("Pathway, csv", tmp_path, 0, 1, pl.DataFrame())
