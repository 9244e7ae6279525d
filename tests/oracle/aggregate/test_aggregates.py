"""Aggregates of the oracle, for values that only Python can express."""

import math
from decimal import Decimal
from typing import Any

import pytest

from panewise import Aggregate, Always, Session, Tumbling, UserAggregate, WindowOperator
from panewise import functions as F
from panewise.errors import AggregateOverflowError
from panewise.oracle import Interpreter

INT64 = 2**63


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
