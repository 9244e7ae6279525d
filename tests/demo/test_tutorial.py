"""The inputs of the tutorial."""

from pathlib import Path

import polars as pl

from panewise.demo import tutorial


def test_the_day_is_in_files_in_the_order_in_which_rows_became_known(tmp_path: Path) -> None:
    """docs/tutorial shows these numbers."""
    tutorial.write(tmp_path)
    flights = [pl.read_parquet(path) for path in sorted((tmp_path / "flights").glob("*"))]
    assert [rows.height for rows in flights] == [18, 113, 110, 74, 93, 128, 127, 125, 123, 47, 19, 2, 0, 0]
    day = pl.concat(flights)
    assert day["known"].is_sorted()
    assert day["scheduled"].null_count() == day["dep_delay"].null_count() == 180
    weather = [pl.read_parquet(path).height for path in sorted((tmp_path / "weather").glob("*"))]
    assert weather == [6] * 14
