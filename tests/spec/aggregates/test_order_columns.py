"""Order columns: names and directions."""

from typing import Any

import pytest

from panewise import Window
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec.aggregates.order_columns import OrderColumn


def test_a_column_and_its_direction() -> None:
    """semantics 24.26: `asc` puts the smallest values first, `desc` the largest."""
    assert F.asc("v") == OrderColumn("v", ascending=True)
    assert F.desc("`a.b`") == OrderColumn("a.b", ascending=False)


@pytest.mark.parametrize(
    ("column", "ascending", "message"),
    [
        ("", True, "column='' | an order column is named by a non-empty string | give the column's name"),
        ("v", None, "ascending=None | ascending is True or False | give one of these"),
    ],
)
def test_fields_are_checked(column: Any, ascending: Any, message: str) -> None:
    with pytest.raises(SpecError) as error:
        OrderColumn(column, ascending)
    assert error.value.args[0] == message


def test_an_order_of_over_has_directions() -> None:
    """semantics 29.13: ascending is the default."""
    assert Window.partitionBy("k").orderBy("ts", F.asc("v")) == Window.partitionBy("k").orderBy("ts", "v")
    assert Window.orderBy("ts", F.desc("v")) != Window.orderBy("ts", "v")
