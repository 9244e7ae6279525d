"""Comparison of outputs: which values are equal, and how a difference is shown."""

from decimal import Decimal
from typing import Any

import pytest

from panewise.errors import InputError
from panewise.testing import assert_panes
from panewise.testing.compare import same

NAN = float("nan")


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (None, None, True),
        (None, 0, False),
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (0.0, -0.0, True),
        (NAN, NAN, True),
        (NAN, None, False),
        (NAN, 1.0, False),
        (0.1 + 0.2, 0.3, True),
        (1.0, 1.00001, False),
        (2**60, 2**60 + 1, False),
        (Decimal("1.5"), Decimal("1.50"), True),
        (Decimal("NaN"), Decimal("NaN"), True),
        (Decimal("1.5"), 1.5, True),
        (Decimal("1.0000000001"), Decimal(1), False),
        ("a", "a", True),
        ("1", 1.0, False),
        ([1, [NAN]], [1, [NAN]], True),
        ([1], [1, 2], False),
        ({"a": NAN}, {"a": NAN}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
    ],
)
def test_same(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) == same(other, one) == equal


PANES = [{"k": "a", "total": 1, "op": "+", "index": 0}, {"k": "b", "total": 2, "op": "+", "index": 0}]


@pytest.mark.parametrize(
    "output",
    [PANES, {"panes": PANES, "late": []}, [{"panes": PANES[:1]}, {"panes": []}, {"panes": PANES[1:]}]],
)
def test_panes_are_found_in_every_form(output: Any) -> None:
    assert_panes(output, [{"k": "a", "total": 1.0}, {"k": "b"}])
    with pytest.raises(AssertionError):
        assert_panes(output, [{"k": "b"}, {"k": "a"}])


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ([{"k": "a"}], "panes: expected 1 (-), got 2 (+)\n  k='a'\n+ k='b'  op='+'  index=0  total=2"),
        (
            [{"k": "a", "op": "+"}, {"k": "b"}, {"k": "c"}],
            "panes: expected 3 (-), got 2 (+)\n  op='+'  k='a'\n  k='b'\n- k='c'",
        ),
        (
            [],
            (
                "panes: expected 0 (-), got 2 (+)\n+ op='+'  index=0  k='a'  total=1\n+ op='+'  index=0  "
                "k='b'  total=2"
            ),
        ),
    ],
)
def test_a_difference_can_be_read(expected: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_panes(PANES, expected)
    assert str(caught.value) == message


def test_an_output_has_panes() -> None:
    with pytest.raises(InputError) as caught:
        assert_panes({"late": []}, [])
    assert (
        str(caught.value)
        == "output={'late': []} | an output has panes | give what run returns, or a list of panes"
    )
