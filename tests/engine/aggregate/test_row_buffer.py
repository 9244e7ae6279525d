"""Evictors and deltas in the engine: types, limits of numbers, stored rows (semantics 11.1 to 11.8, 21.7)."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    CountEvictor,
    DeltaEvictor,
    Global,
    Repeatedly,
    Session,
    SpecError,
    TimeEvictor,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.engine.columns import NEW_ROWS, ROW_BUFFER
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windows.operator import WindowEngine
from panewise.errors import AggregateOverflowError

SCHEMA: dict[str, pl.DataType] = {
    "event_time": pl.Int64(),
    "v": pl.Float64(),
    "n": pl.Int64(),
    "price": pl.Decimal(10, 2),
    "seen": pl.Datetime("us", "UTC"),
}
START = datetime(2024, 1, 1, tzinfo=UTC)
LOW, HIGH = -(2**63), 2**63 - 1


def spec(**fields: Any) -> WindowOperator:
    plain = {
        "window": Global(),
        "aggregates": [F.count().alias("rows")],
        "trigger": Always(),
        "accumulation": "accumulating",
    }
    return WindowOperator(**{**plain, **fields})


def values_left(evictor: Any, column: str, values: list[Any]) -> list[Any]:
    """Returns the values that an evictor leaves of a batch of rows with these values."""
    operator = WindowEngine(
        spec(evictor=evictor, delta=[column]), {"event_time": pl.Int64(), column: SCHEMA[column]}
    )
    times = values if column == "event_time" else list(range(len(values)))
    rows = pl.DataFrame(
        {"event_time": times, column: values}, schema={"event_time": pl.Int64(), column: SCHEMA[column]}
    )
    operator.add(rows)
    return [row[column] for row in operator.state.windows.all()[ROW_BUFFER].to_list()[0]]


@pytest.mark.parametrize(
    ("threshold", "values", "left"),
    [
        (1, [LOW, LOW + 1, 0, HIGH], [HIGH]),
        (2**63, [LOW, -1, 0, HIGH], [0, HIGH]),
        (2.0**70, [LOW, HIGH], [LOW, HIGH]),
        (3, [HIGH, 5, 2, 3, 1, None, 5, None], [HIGH, 5, 3, None, 5, None]),
        (3, [None, None], [None, None]),
    ],
)
def test_differences_of_whole_numbers_are_exact(threshold: float, values: list[Any], left: list[Any]) -> None:
    """DeltaEvictor compares whole numbers exactly, also at the limits of 64 bits (semantics 11.4)."""
    assert values_left(DeltaEvictor("n", threshold), "n", values) == left


def test_differences_of_doubles() -> None:
    """A NaN stays, and so does an infinite value if the reference is the same infinity (semantics 11.4)."""
    inf, nan = float("inf"), float("nan")
    assert values_left(DeltaEvictor("v", 0.5), "v", [1.0, 1.5, 2.0, None]) == [2.0, None]
    assert values_left(DeltaEvictor("v", 0.5), "v", [1.0, inf, -inf, None, inf]) == [inf, None, inf]
    assert values_left(DeltaEvictor("v", 0.5), "v", [-inf, 3.0, -inf]) == [-inf, 3.0, -inf]
    *kept, last = values_left(DeltaEvictor("v", 0.5), "v", [0.0, 1.0, nan])
    assert kept == [1.0]
    assert math.isnan(last)


def test_differences_of_timestamps() -> None:
    """Over timestamps the threshold is a duration (semantics 11.4)."""
    seen = [START, START + timedelta(seconds=59), None, START + timedelta(seconds=60)]
    assert values_left(DeltaEvictor("seen", "1 minute"), "seen", seen) == seen[1:]


@pytest.mark.parametrize(
    ("duration", "times", "left"),
    [
        (1, [LOW + 1, 0, HIGH], [HIGH]),
        (HIGH, [LOW + 1, 0, 1], [0, 1]),
        (HIGH, [LOW + 1, LOW + 2], [LOW + 1, LOW + 2]),
        (3, [0, 1, 2, 3], [1, 2, 3]),
    ],
)
def test_times_at_the_ends(duration: int, times: list[int], left: list[int]) -> None:
    """TimeEvictor is right even if m - duration lies outside 64 bits (semantics 11.3)."""
    assert values_left(TimeEvictor(duration), "event_time", times) == left


def test_event_times_may_be_timestamps() -> None:
    operator = WindowEngine(spec(evictor=TimeEvictor("1 s")), {"event_time": pl.Datetime("ms", "UTC")})
    times = pl.Series(
        "event_time",
        [START, START + timedelta(milliseconds=1), START + timedelta(seconds=1)],
        dtype=pl.Datetime("ms", "UTC"),
    )
    assert operator.add(times.to_frame()).panes["rows"].to_list() == [2]


@pytest.mark.parametrize(
    ("evictor", "message"),
    [
        (
            DeltaEvictor("price", 1),
            (
                "DeltaEvictor(column='price', threshold=1, after=False): decimal(10,2) "
                "| an evictor takes the difference of whole numbers, doubles or timestamps | cast price"
            ),
        ),
        (
            DeltaEvictor("n", 0.5),
            (
                "DeltaEvictor(column='n', threshold=0.5, after=False): bigint "
                "| the threshold for whole numbers is a whole number | give one, or cast the column to DOUBLE"
            ),
        ),
        (
            DeltaEvictor("w", 1),
            ("column 'w' | the columns that an operator reads are in its input | use one of the columns"),
        ),
    ],
)
def test_columns_that_an_evictor_cannot_use(evictor: Any, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        WindowPlan(spec(evictor=evictor), SCHEMA)
    assert str(caught.value).startswith(message)


def test_a_row_buffer_has_only_the_needed_columns() -> None:
    """A row buffer has only the columns that are read, and the number of new rows only if it is needed."""

    def kept(**fields: Any) -> tuple[list[str], bool]:
        """Returns the columns of the row buffer, and whether the number of new rows is stored."""
        schema = WindowPlan(spec(aggregates=[F.sum("n").alias("s")], **fields), SCHEMA).table_schema
        rows = schema.get(ROW_BUFFER)
        assert rows is None or isinstance(rows, pl.List)
        columns = [] if rows is None else [field.name for field in rows.inner.fields]  # type: ignore[union-attr]
        assert ("__sum:n" in schema) == ("evictor" not in fields)
        return columns, NEW_ROWS in schema

    assert kept() == ([], False)
    assert kept(evictor=CountEvictor(1)) == (["event_time", "n"], False)
    assert kept(evictor=DeltaEvictor("v", 1.5)) == (["event_time", "v", "n"], False)
    assert kept(delta=["v"]) == (["v"], False)
    assert kept(delta=["v"], window=Session(1)) == (["v"], True)
    assert kept(delta=["v"], window=Session(1), accumulation="discarding") == (["v"], False)
    assert kept(delta=["v"], evictor=CountEvictor(1)) == (["v", "event_time", "n"], True)
    assert kept(delta=True) == (list(SCHEMA), False)


def test_rows_of_an_emitted_delta_are_purged() -> None:
    """Rows that were in an emitted delta are purged from the row buffer (semantics 21.7)."""
    operator = WindowEngine(spec(delta=["n"]), {"event_time": pl.Int64(), "n": pl.Int64()})
    for n in range(3):
        operator.add(pl.DataFrame({"event_time": [n], "n": [n]}))
    assert operator.state.windows.all()[ROW_BUFFER].to_list() == [[]]


@pytest.mark.parametrize("fields", [{"evictor": CountEvictor(1)}, {"delta": ["n"]}])
def test_rows_are_not_combined_before_they_meet_the_state(fields: dict[str, Any]) -> None:
    """With an evictor or a delta, rows are not pre-aggregated before the shuffle."""
    plain = {"window": Tumbling(10), "trigger": AfterWatermark(late=Always())}
    assert WindowPlan(spec(**plain), SCHEMA).can_combine
    assert not WindowPlan(spec(**plain, **fields), SCHEMA).can_combine


def test_evicted_rows_do_not_overflow_a_sum() -> None:
    """Sums are computed when the window fires, so evicted rows cannot overflow (semantics 11.8, 24.3)."""
    aggregates = [F.sum("n").alias("s")]
    schema = {"event_time": pl.Int64(), "n": pl.Int64()}
    rows = pl.DataFrame({"event_time": [0, 1], "n": [HIGH, 1]})
    kept = WindowEngine(spec(aggregates=aggregates, evictor=CountEvictor(1)), schema)
    assert kept.add(rows).panes["s"].to_list() == [1]
    lost = WindowEngine(
        spec(aggregates=aggregates, evictor=CountEvictor(2), trigger=Repeatedly(AfterCount(2))), schema
    )
    with pytest.raises(AggregateOverflowError, match=r"semantics 24\.3"):
        lost.add(rows)


def test_the_spread_of_one_row_that_is_no_number() -> None:
    """The deviation of a single NaN is NaN (semantics 24.2). In Polars it depends on how rows are grouped."""
    operator = WindowEngine(
        spec(aggregates=[F.stddev_pop("v").alias("spread")], evictor=CountEvictor(1)), SCHEMA
    )
    rows = pl.DataFrame({"event_time": [0, 1], "v": [0.0, math.nan]}).with_columns(
        pl.lit(None, dtype=SCHEMA[name]).alias(name) for name in ("n", "price", "seen")
    )
    assert math.isnan(operator.add(rows).panes["spread"][0])
