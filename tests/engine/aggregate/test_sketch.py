"""Hashes of values for approximate distinct counts."""

import polars as pl

from panewise.engine.aggregate.sketch import hash_values


def test_instants_after_the_year_9999_inside_lists() -> None:
    values = pl.Series([[2**62], [2**62 + 1], [2**62], None], dtype=pl.List(pl.Datetime("us", "UTC")))
    first, second, third, null = hash_values(values)
    assert first == third != second
    assert null is None
