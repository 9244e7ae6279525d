"""S1's matrix, row by row."""

from typing import Any

import pytest

from panewise import SpecError
from panewise.stores import message_key_layout

BOTH: Any = (False, True)
SIZES: Any = ("small", "large")
ANY: Any = (None, *SIZES)
MATRIX: list[tuple[str, str, Any, Any, Any, str]] = [
    ("tuple", "aggregate", (False,), (False,), ANY, "offset"),
    ("tuple", "join", (False,), (False,), ANY, "offset"),
    ("tuple", "join", (True,), (False,), ("small",), "offset"),
    ("tuple", "join", (True,), (False,), ("large",), "equal_fields offset"),
    ("time", "aggregate", (False,), (False,), ANY, "timestamp offset"),
    ("time", "join", (False,), BOTH, ANY, "timestamp offset"),
    ("time", "join", (True,), (False,), ANY, "equal_fields timestamp offset"),
    ("time", "join", (True,), (True,), ("small",), "timestamp equal_fields offset"),
    ("time", "join", (True,), (True,), ("large",), "equal_fields timestamp offset"),
]


@pytest.mark.parametrize(("measure", "use", "equal", "ranges", "sizes", "layout"), MATRIX)
def test_the_matrix(measure: Any, use: Any, equal: Any, ranges: Any, sizes: Any, layout: str) -> None:
    """semantics 25"""
    for equal_join in equal:
        for time_range_join in ranges:
            for size in sizes:
                found = message_key_layout(
                    measure, use, equal_join=equal_join, time_range_join=time_range_join, window_size=size
                )
                assert found == tuple(layout.split())


@pytest.mark.parametrize(
    ("names", "rule"),
    [
        ({"measure": "rows"}, "measure is one of the values 'tuple' or 'time'"),
        ({"use": "sum"}, "use is one of the values 'aggregate' or 'join'"),
        ({"window_size": "huge"}, "window_size is one of the values 'small' or 'large' or None"),
        ({"use": "aggregate", "equal_join": True}, "only a join has conditions"),
        ({"use": "aggregate", "time_range_join": True}, "only a join has conditions"),
        ({"time_range_join": True}, "windows of messages have no ranges of time"),
        ({"equal_join": True}, "a join with equal fields needs the size of its windows"),
        (
            {"measure": "time", "equal_join": True, "time_range_join": True},
            "a join with equal fields needs the size of its windows",
        ),
    ],
)
def test_contradictions(names: Any, rule: str) -> None:
    """semantics 25"""
    with pytest.raises(SpecError) as caught:
        message_key_layout(**{"measure": "tuple", "use": "join", **names})
    assert caught.value.rule == rule
    assert caught.value.remedy
