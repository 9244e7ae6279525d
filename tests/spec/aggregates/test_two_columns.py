"""Specifications of aggregates of two columns (semantics 24.24)."""

import pytest

from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import PAIRS, Aggregate


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_they_name_both_columns(name: str) -> None:
    made = getattr(F, name)("y", "x")
    assert (made.name, made.columns, made.ordered) == (f"{name}(y, x)", ("y", "x"), False)


def test_the_second_column_is_required() -> None:
    with pytest.raises(SpecError, match=r"corr\(by=None\) \| corr reads two columns"):
        Aggregate("corr", "y", "a")


def test_a_filter_masks_the_second_column() -> None:
    assert F.corr("y", "x").filter("flag").columns[0] == "y"
    assert "flag" in F.corr("y", "x").filter("flag").columns[1]
