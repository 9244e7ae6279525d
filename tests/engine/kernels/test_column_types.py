"""Types of columns: those that have names, and nested ones with other leaves and without maps."""

import polars as pl
import pytest

from panewise.engine.kernels.column_types import NAMED, polars_type, whole_instants, without_maps
from panewise.spec.column_values import ColumnType

NESTED = pl.Struct({"at": pl.Array(pl.Datetime("ms"), 2), "v": pl.List(pl.Int8())})


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_that_of_a_type_also_inside_of_others(name: str) -> None:
    assert polars_type(ColumnType.parse(name)) == NAMED[name]
    assert polars_type(ColumnType.parse(f"array<struct<a:{name}>>")) == pl.List(pl.Struct({"a": NAMED[name]}))


def test_maps_are_lists_of_their_entries() -> None:
    """Semantics 31.20."""
    entry = pl.Struct({"key": pl.String(), "value": pl.List(pl.Struct({"key": pl.Int8(), "value": NESTED}))})
    assert without_maps(pl.Map(pl.String(), pl.Map(pl.Int8(), NESTED))) == pl.List(entry)
    assert without_maps(NESTED) == NESTED


def test_instants_are_whole_numbers_however_deep_they_are() -> None:
    whole = pl.Struct({"at": pl.Array(pl.Int64(), 2), "v": pl.List(pl.Int8())})
    assert whole_instants(NESTED) == whole
    assert whole_instants(pl.Map(pl.Date(), NESTED)) == pl.List(pl.Struct({"key": pl.Date(), "value": whole}))
