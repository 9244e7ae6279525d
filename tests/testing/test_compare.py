"""Comparison of outputs: which values are equal, and how a difference is shown."""

from datetime import UTC, datetime, timedelta, timezone
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
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 0, True),
        (datetime(1970, 1, 1, tzinfo=UTC), 1, False),
        (
            datetime(1970, 1, 1, tzinfo=UTC),
            datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
            True,
        ),
        (datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None), 0, False),
        ([{"at": datetime(1970, 1, 1, tzinfo=UTC)}], [{"at": 0}], True),
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
    assert caught.value.args[0] == message


@pytest.mark.parametrize(
    ("got", "expected", "lines"),
    [
        (  # a pane before the expected ones: they are not missing, whatever their positions
            [{"k": "a", "v": 0}, {"k": "b", "v": 0.1 + 0.2}, {"k": "c", "v": 1}],
            [{"k": "b", "v": 0.3}, {"k": "c"}],
            ["+ k='a'  v=0", "  k='b'  v=0.3", "  k='c'"],
        ),
        (
            [{"k": "a"}, {"k": "c"}],
            [{"k": "a"}, {"k": "b"}, {"k": "c"}, {"k": "d"}],
            ["  k='a'", "- k='b'", "  k='c'", "- k='d'"],
        ),
        ([{"k": "a", "total": 1}], [{"totl": 1}], ["- totl=1", "+ k='a'  total=1"]),
        (
            [{"at": 1_000_000, "k": 1}],
            [{"at": datetime(1970, 1, 1, tzinfo=UTC)}],
            [
                "- at=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)",
                "+ at=datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.timezone.utc)",
                "?                                       +++",
            ],
        ),
        (
            [{"at": 2**62}],
            [{"at": datetime(1970, 1, 1, tzinfo=UTC)}],
            [
                "- at=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.timezone.utc)",
                "+ at=4611686018427387904",
            ],
        ),
    ],
    ids=["one before", "two missing", "a column that panes lack", "an instant", "an instant of no year"],
)
def test_a_difference_shows_only_what_differs(
    got: list[dict[str, Any]], expected: list[dict[str, Any]], lines: list[str]
) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_panes(got, expected)
    assert str(caught.value).splitlines()[1:] == lines


MAP = [{"key": "a", "value": 0.1 + 0.2}, {"key": "b", "value": [{"key": 1, "value": None}]}]


@pytest.mark.parametrize(
    "expected",
    [MAP, {"a": 0.3, "b": {1: None}}, {"b": {1: None}, "a": 0.3}, {"a": 0.3, "b": [MAP[1]["value"][0]]}],
)
def test_an_expected_map_is_a_dict_or_its_entries(expected: Any) -> None:
    assert_panes([{"m": MAP}], [{"m": expected}])
    assert_panes([{"m": [{"inner": MAP}]}], [{"m": [{"inner": expected}]}])


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (MAP, {"a": 0.3}),
        (MAP, {"a": 0.3, "b": {1: 2}}),
        (MAP, {"a": 0.3, "b": {1: None}, "c": None}),
        (MAP, MAP[::-1]),
        ([MAP[0], MAP[0]], {"a": 0.3}),
        ([1, 2], {1: 2}),
        ([1], {}),
        ({"a": 1}, [{"key": "a", "value": 1}]),
        (None, {}),
    ],
)
def test_other_maps_differ(got: Any, expected: Any) -> None:
    with pytest.raises(AssertionError):
        assert_panes([{"m": got}], [{"m": expected}])


def test_a_map_that_differs_is_shown_as_a_dict() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_panes([{"m": [{"key": "a", "value": 1}]}], [{"m": {"a": 2}}])
    assert str(caught.value).splitlines()[1::2] == ["- m={'a': 2}", "+ m={'a': 1}"]
    with pytest.raises(AssertionError, match="'key': \\[1\\]"):
        assert_panes([{"m": [{"key": [1], "value": 1}]}], [{"m": {"a": 2}}])


@pytest.mark.parametrize("expected", [{"t": 20}, None, "x", ["x"], 5])
def test_what_is_expected_is_a_list_of_dicts(expected: Any) -> None:
    message = (
        r"^expected=.* \| the expected panes are a list with a dict for each of them \| "
        r"give such as \[\{'total': 5\}\], or \[\] for none \[PW-"
    )
    with pytest.raises(InputError, match=message):
        assert_panes([{"t": 20}], expected)


@pytest.mark.parametrize("output", [{"t": 20}, None, "x", ["x"]])
def test_other_values_have_no_panes(output: Any) -> None:
    with pytest.raises(InputError, match=r"\| an output has panes \| give what run returns, or"):
        assert_panes(output, [])


def test_the_difference_of_long_lists_is_made_at_once() -> None:
    """Pairs of entries are not compared, as they would be more than a million."""
    with pytest.raises(AssertionError) as caught:
        assert_panes([{"k": n} for n in range(2_000)], [{"k": n} for n in range(2_001)])
    assert str(caught.value).splitlines()[-2:] == ["  k=1999", "- k=2000"]


def test_an_output_has_panes() -> None:
    with pytest.raises(InputError) as caught:
        assert_panes({"late": []}, [])
    assert (
        caught.value.args[0]
        == "output={'late': []} | an output has panes | give what run returns, or a list of panes"
    )
