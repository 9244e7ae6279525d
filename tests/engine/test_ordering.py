"""Many rows are put in order another way than few."""

import math

import polars as pl
import pytest

from panewise.engine.frames import ordered


@pytest.mark.parametrize("rows", [3, 20_000])
def test_rows_are_in_the_order_of_the_columns_and_else_as_they_stood(rows: int) -> None:
    names = [None, "b", "a"]
    values = [2.0, float("nan"), None, -1.0, 2.0]
    frame = pl.DataFrame({"v": [values[at % 5] for at in range(rows)], "k": [names[at % 3] for at in range(rows)], "at": range(rows)})

    def rank(row: tuple[float | None, str | None, int]) -> tuple[bool, str, bool, bool, float, int]:
        value, name, at = row
        odd = value is None or math.isnan(value)
        return name is not None, name or "", value is not None, value is not None and odd, 0.0 if odd or value is None else value, at

    assert ordered(frame, ["k", "v"])["at"].to_list() == [row[2] for row in sorted(frame.rows(), key=rank)]
