"""The comparison of `add_batch` with Bytewax and Pathway: the sums of all of them.

`make bench-peers` runs the peers themselves.
"""

from pathlib import Path

import polars as pl
import pytest

from bench import standalone_peers
from bench.standalone import WINDOW, rows


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
