"""Types, validity and aggregates of the oracle, for values that only Python can express."""

import math
from decimal import Decimal
from typing import Any

import pytest

from panewise import Aggregate, Always, Hopping, Position, Session, Tumbling, UserAggregate, WindowOperator
from panewise import functions as F
from panewise.errors import AggregateOverflowError, InputError
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
    with pytest.raises(InputError, match=r"types\['v'\]='int' \| a type is bigint, .* \| give one of these"):
        reason({"t": 1}, {"v": "int"})


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


def result(aggregate: Aggregate, values: list[Any], kind: str | None = None) -> Any:
    """Returns the aggregate of the values, in one window."""
    spec = WindowOperator(window=Tumbling(10), event_time="t", aggregates=[aggregate.alias("a")])
    oracle = Interpreter(spec, {"v": kind} if kind else None)
    oracle.add([{"t": 1, "v": value} for value in values])
    return oracle.finish()["panes"][0]["a"]


def test_sum_that_leaves_64_bits() -> None:
    assert result(F.sum("v"), [INT64 - 1]) == INT64 - 1
    with pytest.raises(
        AggregateOverflowError, match=r"a=9223372036854775808 \| a sum of whole numbers .* \| sum a double"
    ):
        result(F.sum("v"), [INT64 - 1, 1])
    assert result(F.avg("v"), [INT64 - 1, INT64 - 1]) == float(INT64 - 1)


def test_decimals() -> None:
    values = [Decimal("1.25"), Decimal("2.50"), Decimal("0.25")]
    assert result(F.sum("v"), values, "decimal(10,2)") == Decimal("4.00")
    assert str(result(F.avg("v"), values, "decimal(10,2)")) == "1.333333"
    assert (
        result(F.avg("v"), [Decimal("0.000001"), Decimal(0)], "decimal(10,6)").as_tuple()
        == Decimal("0.0000005000").as_tuple()
    )
    assert str(result(F.avg("v"), values)) == "1.333333"
    assert result(F.median("v"), values, "decimal(10,2)") == 1.25
    assert result(F.max("v"), values, "decimal(10,2)") == Decimal("2.50")


def test_averages_of_decimals_round_half_away_from_zero() -> None:
    thirds = [Decimal("0.1"), Decimal("0.0"), Decimal("0.0"), Decimal("0.0")] * 8
    assert str(result(F.avg("v"), thirds, "decimal(5,1)")) == "0.02500"
    eighths = [Decimal("0.1")] + [Decimal("0.0")] * 31
    assert str(result(F.avg("v"), eighths, "decimal(5,1)")) == "0.00313"
    assert str(result(F.avg("v"), [-value for value in eighths], "decimal(5,1)")) == "-0.00313"


def test_doubles() -> None:
    assert type(result(F.sum("v"), [1, 2], "double")) is float
    assert type(result(F.sum("v"), [1, 2], "bigint")) is int
    assert result(F.median("v"), [math.inf, math.inf]) == math.inf
    assert math.isnan(result(F.avg("v"), [math.inf, -math.inf]))
    assert math.isnan(result(F.variance("v"), [math.inf, 1.0]))
    assert result(F.percentile("v", 0.0), [3, 1, 2]) == 1.0
    assert result(F.percentile("v", 1), [3, 1, 2]) == 3.0
    assert result(F.min("v"), [math.nan, math.inf]) == math.inf


def test_other_values() -> None:
    assert result(F.max("v"), [True, False]) is True
    assert result(F.min("v"), ["b", "a"]) == "a"
    assert result(F.collect_set("v"), [0.0, -0.0, 1.0]) == [0.0, 1.0]
    assert result(F.approx_count_distinct("v"), [str(number) for number in range(500)]) == 500


def test_user_aggregate_is_a_fold_over_all_rows_nulls_included() -> None:
    def never(one: Any, other: Any) -> Any:
        raise AssertionError("merge is not needed")

    trail = UserAggregate(
        "trail",
        init=list,
        accumulate=lambda s, v: [*s, v],
        merge=never,
        finish=lambda s: ",".join(map(str, s)),
        result="string",
    )
    assert result(trail("v"), [1, None, 2]) == "1,None,2"
    spec = WindowOperator(window=Session(10), event_time="t", aggregates=[trail("v").alias("a")])
    oracle = Interpreter(spec)
    oracle.add([{"t": 0, "v": "a"}, {"t": 16, "v": "b"}])
    oracle.add([{"t": 8, "v": "x"}])
    assert oracle.finish()["panes"][0]["a"] == "a,b,x"


def test_lists_are_compared_value_by_value() -> None:
    spec = WindowOperator(
        window=Tumbling(10),
        event_time="t",
        aggregates=[F.collect_set("v").alias("a")],
        accumulation="retracting",
        trigger=Always(),
    )
    oracle = Interpreter(spec)
    assert len(oracle.add([{"t": 1, "v": math.nan}])["panes"]) == 1
    assert oracle.add([{"t": 1, "v": math.nan}])["panes"] == []
    assert [pane["op"] for pane in oracle.add([{"t": 1, "v": 1.0}])["panes"]] == ["-", "+"]
