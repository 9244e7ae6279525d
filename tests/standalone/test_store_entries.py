"""Results as values of stores (semantics 31.15)."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from panewise.standalone.store_entries import has_bytes, keys_of, stored_key, values_of
from panewise.stores import WindowStore

NOON = datetime(1970, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("dtype", "value", "stored"),
    [
        (pl.Int64(), -1, -1),
        (pl.Float64(), 0.5, 0.5),
        (pl.String(), "ä", "ä"),
        (pl.Boolean(), True, True),
        (pl.Decimal(10, 2), Decimal("-1.50"), "-1.50"),
        (pl.Date(), date(2024, 2, 29), "2024-02-29"),
        (pl.Datetime("us", "UTC"), NOON, 43_200_000_000),
        (pl.Datetime("ms", "UTC"), NOON, 43_200_000_000),
        (pl.Datetime("ns"), NOON.replace(tzinfo=None), 43_200_000_000),
        (pl.Duration("ms"), timedelta(milliseconds=2), 2_000),
        (pl.Time(), time(1, 2, 3), "01:02:03"),
        (pl.List(pl.Decimal(4, 1)), [Decimal("1.0"), None], ["1.0", None]),
        (pl.Array(pl.Date(), 1), [date(2024, 1, 1)], ["2024-01-01"]),
        (
            pl.List(pl.Struct({"at": pl.Datetime("ms", "UTC"), "n": pl.Int8()})),
            [{"at": NOON, "n": 1}],
            [{"at": 43_200_000_000, "n": 1}],
        ),
    ],
)
def test_values_can_be_stored(dtype: Any, value: Any, stored: Any) -> None:
    """semantics 31.15"""
    [made, none] = values_of(pl.DataFrame({"a": pl.Series([value, None], dtype=dtype)}))
    assert (made, none) == ({"a": stored}, {"a": None})
    store = WindowStore(10, 1)
    store.put("k", made, time=0)
    assert store.fetch("k", time=0) == made


def test_bytes_are_found_however_deep() -> None:
    assert has_bytes(pl.Struct({"a": pl.List(pl.Binary())}))
    assert not has_bytes(pl.Struct({"a": pl.List(pl.String())}))


def test_keys_come_back() -> None:
    """semantics 31.14"""
    windows = pl.DataFrame({"k": ["a", None], "n": [1, None]})
    for names in ([], ["k"], ["k", "n"]):
        rows = windows.select(names).rows() if names else [(), ()]
        assert [stored_key(key) for key in keys_of(windows, names)] == rows
