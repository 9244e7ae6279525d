"""Types and validity of rows in the oracle, for values that only Python can express."""

import math
from decimal import Decimal
from typing import Any

import pytest

from panewise import Hopping, Position, Tumbling, WindowOperator
from panewise import functions as F
from panewise.errors import InputError
from panewise.oracle import Interpreter

INT64 = 2**63


def reason(row: dict[str, Any], types: dict[str, str] | None = None, **arguments: Any) -> str | None:
    """Returns the reason why a row is invalid, None if it is valid."""
    spec = WindowOperator(
        window=Tumbling(10), event_time="t", aggregates=[F.max("v").alias("m")], **arguments
    )
    invalid = Interpreter(spec, types).add([row])["invalid"]
    return invalid[0]["reason"] if invalid else None


@pytest.mark.parametrize("t", ["1", 1.0, True, Decimal(1)])
def test_event_time_that_is_no_timestamp(t: Any) -> None:
    assert reason({"t": t, "v": 1}) == "event time is not a timestamp"


@pytest.mark.parametrize("t", [-INT64, -INT64 - 1, INT64])
def test_event_time_out_of_range(t: int) -> None:
    assert reason({"t": t, "v": 1}) == "event time out of range"


@pytest.mark.parametrize(
    ("kind", "fitting", "unfitting"),
    [
        ("bigint", [0, -INT64, INT64 - 1, None], [1.0, True, "1", INT64, -INT64 - 1, Decimal(1)]),
        ("double", [0.5, 1, math.nan, math.inf, None], [True, "1", Decimal(1), 10**400]),
        ("string", ["", "a", None], [1, b"a"]),
        ("boolean", [True, False, None], [1, 0, "true"]),
        (
            "decimal(4,2)",
            [
                Decimal("12.34"),
                Decimal("-12.3"),
                Decimal("0"),
                Decimal("1E1"),
                Decimal("1.2300"),
                Decimal("0.00E+9"),
                None,
            ],
            [
                Decimal("123.45"),
                Decimal("1.234"),
                Decimal("1E2"),
                Decimal("0.001"),
                Decimal("NaN"),
                Decimal("Infinity"),
                1,
                1.0,
            ],
        ),
    ],
)
def test_types(kind: str, fitting: list[Any], unfitting: list[Any]) -> None:
    assert [value for value in fitting if reason({"t": 1, "v": value}, {"v": kind}) is not None] == []
    assert [
        value for value in unfitting if reason({"t": 1, "v": value}, {"v": kind}) != "v has the wrong type"
    ] == []


def test_a_type_that_is_not_known() -> None:
    with pytest.raises(InputError, match=r"types\['v'\]='long' \| a type is bigint, .* \| give one of these"):
        reason({"t": 1}, {"v": "long"})


@pytest.mark.parametrize(
    ("partition", "offset", "expected"),
    [
        (0, 1, None),
        ("p", 1, None),
        (0.5, 1, "partition has the wrong type"),
        (True, 1, "partition has the wrong type"),
        (0, "1", "offset has the wrong type"),
        (0, INT64, "offset has the wrong type"),
        (None, "1", "position is null"),
    ],
)
def test_position(partition: Any, offset: Any, expected: str | None) -> None:
    assert reason({"t": 1, "partition": partition, "offset": offset}, position=Position()) == expected


def test_all_null_keys_are_tested_before_nan_keys() -> None:
    strict: dict[str, Any] = {"keys": ["a", "b"], "null_keys": False}
    assert reason({"t": 1, "a": math.nan, "b": None}, **strict) == "key b is null (null_keys=False)"
    assert reason({"t": 1, "a": math.nan, "b": 1.0}, **strict) == "key a is NaN (null_keys=False)"


def test_null_and_nan_are_keys_unless_the_specification_says_otherwise() -> None:
    """By default rows with null and NaN keys are grouped; NaN equals NaN (semantics 15.2, 15.4)."""
    assert reason({"t": 1, "a": math.nan, "b": None}, keys=["a", "b"]) is None
    oracle = Interpreter(
        WindowOperator(window=Tumbling(10), keys=["a"], event_time="t", aggregates=[F.count().alias("n")])
    )
    oracle.add(
        [{"t": 1, "a": float("nan")}, {"t": 2, "a": None}, {"t": 3, "a": -float("nan")}, {"t": 4, "a": None}]
    )
    assert [pane["n"] for pane in oracle.watermark(10)["panes"]] == [2, 2]


def test_invalid_rows_come_in_arrival_order_with_what_cannot_be_read_first() -> None:
    spec = WindowOperator(window=Hopping(3, 10, gaps=True), event_time="t", aggregates=[F.count().alias("n")])
    invalid = Interpreter(spec).add([{"t": 5}, {"t": "x"}, {"t": -1}, {"t": None}, {"t": INT64}])["invalid"]
    assert [item["row"]["t"] for item in invalid] == ["x", None, INT64, -1, 5]


def test_negative_zero_as_a_key_is_zero() -> None:
    spec = WindowOperator(window=Tumbling(10), event_time="t", aggregates=[F.count().alias("n")], keys=["k"])
    oracle = Interpreter(spec, {"k": "double"})
    oracle.add([{"t": 1, "k": -0.0}, {"t": 2, "k": 0.0}, {"t": 3, "k": 0}])
    panes = oracle.finish()["panes"]
    assert [(pane["n"], math.copysign(1, pane["k"])) for pane in panes] == [(3, 1.0)]
