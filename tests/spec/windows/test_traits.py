"""What follows from the kind of a window (semantics 7.2, 8, 9, 9.5, 9.9)."""

from typing import Literal

import pytest

from panewise import Custom, Hopping, Session, Sliding, Tumbling, rows
from panewise.spec import (
    AnyWindow,
    closed_at_end,
    columns_of_window,
    counted,
    counted_by_key,
    merging,
    merging_at_touch,
)

TRAITS = {
    "merging": merging,
    "merging_at_touch": merging_at_touch,
    "closed_at_end": closed_at_end,
    "counted_by_key": counted_by_key,
    "counted": counted,
}


def custom(*, merge: bool | Literal["touching"]) -> Custom:
    return Custom.each(lambda row: [(row["n"], row["n"] + 5)], name="five", columns=["n"], merge=merge)


@pytest.mark.parametrize(
    ("window", "traits", "columns"),
    [
        (Tumbling(10), set(), ()),
        (Tumbling(rows(3)), {"counted", "counted_by_key"}, ()),
        (Hopping(rows(3), rows(1)), {"counted", "counted_by_key"}, ()),
        (Sliding(10), {"closed_at_end"}, ()),
        (Sliding(rows(3)), {"counted", "counted_by_key"}, ()),
        (Session(10), {"merging"}, ()),
        (Session(10, closed="both"), {"merging", "closed_at_end"}, ()),
        (Session(10, touching="merge"), {"merging", "merging_at_touch"}, ()),
        (Session("timeout"), {"merging"}, ("timeout",)),
        (Session(rows(3)), {"merging", "counted"}, ()),
        (custom(merge=False), set(), ("n",)),
        (custom(merge=True), {"merging"}, ("n",)),
        (custom(merge="touching"), {"merging", "merging_at_touch"}, ("n",)),
    ],
)
def test_traits(window: AnyWindow, traits: set[str], columns: tuple[str, ...]) -> None:
    assert {name for name, has in TRAITS.items() if has(window)} == traits
    assert columns_of_window(window) == columns
