"""Standalone operators: messages, batches, modes, numbers and errors."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    DeliveryDisabledError,
    InputError,
    Interval,
    JoinOperator,
    LastRows,
    PanewiseError,
    Position,
    Repeatedly,
    Side,
    SpecError,
    Tumbling,
    UserAggregate,
    Window,
    WindowOperator,
    over_operator,
)
from panewise import functions as F
from panewise.standalone import Counts, Emission, StandaloneOperator
from panewise.standalone.positions import _RULE

TYPES = {"k": "string", "event_time": "bigint", "v": "bigint"}
SPEC = WindowOperator(window=Tumbling(10), keys=["k"], aggregates=[F.sum("v").alias("total")])
JOIN = JoinOperator(left=Side(keys=["k"]), right=Side(keys=["k"], prefix="r_"), match=Interval(0, 9))


def message(time: int, v: Any = 1, k: str = "a") -> dict[str, Any]:
    return {"k": k, "event_time": time, "v": v}


def totals(emissions: list[Emission]) -> list[int]:
    return [total for one in emissions for total in one.rows["total"].to_list()]


class Downstream:
    """Accepts emissions until it is told otherwise."""

    def __init__(self) -> None:
        self.accepts = True
        self.received: list[Emission] = []
        self.offered = 0

    def __call__(self, emission: Emission) -> bool:
        self.offered += 1
        if self.accepts:
            self.received.append(emission)
        return self.accepts


def automatic(**settings: Any) -> tuple[StandaloneOperator, Downstream]:
    downstream = Downstream()
    return StandaloneOperator(SPEC, TYPES, mode="automatic", downstream=downstream, **settings), downstream


async def _waiting(emission: Emission) -> None:
    """A downstream that nothing awaits."""


def test_get_result_keeps_and_drain_and_flush_remove() -> None:
    """semantics 32: get_result returns a copy, drain and flush remove; flush returns what it removed."""
    operator = StandaloneOperator(SPEC, TYPES)
    operator.add_message(message(1, 2))
    operator.advance(watermark=10)
    found = operator.get_result()
    assert totals(found) == totals(operator.get_result()) == [2]
    found.clear()
    assert totals(operator.drain()) == [2]
    assert operator.get_result() == operator.drain() == []
    operator.add_message(message(11, 3))
    operator.advance(watermark=20)
    assert totals(operator.flush()) == [3]
    assert operator.get_result() == operator.flush() == []


@pytest.mark.parametrize(("buffer", "panes"), [(1, [1, 2, 3, 4]), (2, [2, 4]), (3, [3]), (None, [])])
def test_messages_are_batches_of_their_own_unless_they_are_buffered(buffer: int | None, panes: Any) -> None:
    """semantics 31.1: a trigger that fires after each batch with rows shows where batches end."""
    spec = WindowOperator(
        window=Tumbling(10), aggregates=[F.count().alias("n")], trigger=Repeatedly(AfterCount(1))
    )
    operator = StandaloneOperator(
        spec, TYPES, mode="automatic", downstream=(received := []).append, buffer=buffer
    )
    for _ in range(4):
        operator.add_message(message(1))
    assert [one.rows["n"].item() for one in received] == panes


def test_the_buffer_is_evaluated_before_other_steps() -> None:
    """semantics 31.1: a message that waits arrives before the watermark that follows it."""
    operator = StandaloneOperator(SPEC, TYPES, buffer=100)
    operator.add_message(message(1, 2))
    assert operator.counts == {}
    operator.advance(watermark=10)
    operator.add_message(message(2, 2))
    assert totals(operator.get_result()) == [2]
    assert operator.counts == {"input": Counts(rows_in=2, applied=1, late=1)}
    operator.add_message(message(12, 5))
    operator.add_batch(pl.DataFrame([message(13, 6)]))
    operator.finish()
    assert totals(operator.flush()) == [2, 11]


@pytest.mark.parametrize("evaluate", ["timeout", "flush", "drain", "get_result"])
def test_calls_that_evaluate_the_buffer(evaluate: str) -> None:
    """semantics 31.1"""
    operator = StandaloneOperator(SPEC, TYPES, buffer=None)
    for time in range(5):
        operator.add_message(message(time))
    assert operator.live().is_empty()
    getattr(operator, evaluate)()
    assert operator.live()["pending"].to_list() == [5]


def test_buffered_messages_of_both_sides_are_one_batch() -> None:
    """semantics 31.1: the rows of both sides arrive together, so both have partners in the batch."""
    operator = StandaloneOperator(JOIN, {"left": TYPES, "right": TYPES}, buffer=2)
    operator.add_message(message(1, 1), "left")
    operator.add_message(message(2, 2), "right")
    assert sum(one.rows.height for one in operator.drain()) == 1
    assert operator.counts == {side: Counts(rows_in=1, applied=1) for side in ("left", "right")}


def test_misfits_of_both_sides_are_in_the_emissions_of_their_sides() -> None:
    operator = StandaloneOperator(JOIN, {"left": TYPES, "right": TYPES}, buffer=None)
    given = {"left": {"k": 1, "event_time": 1, "v": 1}, "right": {"k": "a", "event_time": "x", "v": 1}}
    for port, one in given.items():
        operator.add_message(one, port)
    assert {one.input: one.misfits for one in operator.drain()} == {
        port: (one,) for port, one in given.items()
    }


def test_rows_are_numbered() -> None:
    """semantics 31.2: rows, late rows and invalid rows have numbers from 1 on."""
    operator = StandaloneOperator(SPEC, TYPES)
    for key in ("a", "b"):
        operator.add_message(message(1, 1, key))
    operator.advance(watermark=10)
    operator.add_message(message(2))
    operator.add_message(message(3))
    operator.add_message({"k": "a"})
    operator.add_message(message(11, 7))
    operator.finish()
    first, late, later, invalid, last = operator.drain()
    assert first.numbered().select("k", "total", "number").rows() == [("a", 1, 1), ("b", 1, 2)]
    assert [(one.first_late, one.late.height) for one in (late, later)] == [(1, 1), (2, 1)]
    assert (invalid.first_invalid, invalid.invalid["__reason"].to_list()) == (1, ["event time is null"])
    assert last.numbered()["number"].to_list() == [3]
    assert [one.step for one in (first, late, later, invalid, last)] == [3, 4, 5, 6, 8]


def test_a_downstream_receives_emissions_in_their_order() -> None:
    """semantics 32.1: only emissions with a row are delivered."""
    operator, downstream = automatic()
    for time in (1, 11, 21):
        operator.add_message(message(time, time))
    assert downstream.received == []
    operator.advance(watermark=20)
    operator.add_message(message(2, 2))
    operator.finish()
    assert totals(downstream.received) == [1, 11, 21]
    assert [one.late.height for one in downstream.received] == [0, 1, 0]


def test_a_downstream_that_refuses_disables_delivery_until_a_timeout() -> None:
    """semantics 32.2, 32.3: what waits is delivered in order, from where it stopped; then the clock moves."""
    operator, downstream = automatic()
    operator.add_message(message(1, 1))
    operator.add_message(message(11, 11))
    downstream.accepts = False
    operator.advance(watermark=10)
    assert not operator.delivery_enabled
    calls: list[Callable[[], object]] = [
        lambda: operator.add_message(message(12)),
        lambda: operator.add_batch(pl.DataFrame([message(12)])),
        lambda: operator.advance(watermark=20),
        operator.finish,
        operator.flush,
    ]
    for call in calls:
        with pytest.raises(DeliveryDisabledError, match=r"^1 emissions that wait \| .* \| call timeout"):
            call()
    assert operator.counts["input"].rows_in == 2
    assert operator.timeout(5) is False
    assert (operator.clock, operator.watermark) == (0, 10)
    downstream.accepts = True
    assert operator.timeout(5) is True
    assert (operator.clock, operator.delivery_enabled) == (5, True)
    operator.advance(watermark=20)
    assert totals(downstream.received) == [1, 11]


def test_a_refusal_within_several_emissions_stops_between_them() -> None:
    """semantics 32.2, 32.3: the first emission is delivered once, the second waits."""
    operator, downstream = automatic(buffer=None)
    operator.add_message(message(1, 1))
    operator.advance(watermark=10)
    downstream.accepts = False
    operator.add_message(message(2, 2))
    operator.timeout()
    operator.timeout()
    assert downstream.offered == 3
    downstream.accepts = True
    assert operator.timeout()
    assert [(one.rows.height, one.late.height) for one in downstream.received] == [(1, 0), (0, 1)]


def test_a_downstream_that_raises_has_refused() -> None:
    """semantics 32.4: the row is added, the emission waits."""
    broken = [True]
    received: list[Emission] = []

    def downstream(emission: Emission) -> None:
        if broken[0]:
            raise ConnectionError("no sink")
        received.append(emission)

    operator = StandaloneOperator(SPEC, TYPES, mode="automatic", downstream=downstream)
    operator.add_message(message(1, 1))
    with pytest.raises(ConnectionError):
        operator.finish()
    assert not operator.delivery_enabled
    broken[0] = False
    assert operator.timeout()
    assert totals(received) == [1]


CALLS: list[Callable[[StandaloneOperator], object]] = [
    lambda operator: operator.add_message(message(30)),
    lambda operator: operator.add_batch(pl.DataFrame([message(30)])),
    lambda operator: operator.advance(watermark=50),
    lambda operator: operator.timeout(),
    lambda operator: operator.finish(),
    lambda operator: operator.flush(),
    lambda operator: operator.close(),
    lambda operator: operator.life_cycle.drain(),
    lambda operator: operator.life_cycle.reset_to_initial(),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_downstream_cannot_call_its_own_operator(call: Callable[[StandaloneOperator], object]) -> None:
    """semantics 31.8: the call is refused, and the emission is delivered once."""
    received: list[Emission] = []

    def downstream(emission: Emission) -> None:
        received.append(emission)
        with pytest.raises(InputError, match=r"^a call within another call \| .* \| return first, then"):
            call(operator)
        assert operator.positions() == []

    operator = StandaloneOperator(SPEC, TYPES, mode="automatic", downstream=downstream)
    operator.add_message(message(1, 4))
    operator.advance(watermark=10)
    operator.add_message(message(11, 5))
    operator.finish()
    assert totals(received) == [4, 5]


LATEST = over_operator(
    {"total": F.sum("v").over(Window.partitionBy("k").orderBy("event_time").rowsBetween(-1, 0))}
)
PAIRS = JoinOperator(left=Side(keys=["k"]), right=Side(keys=["k"], prefix="r_"), match=LastRows(2))
EARLY = replace(SPEC, trigger=AfterWatermark(early=Always(), late=Always()))


@pytest.mark.parametrize(
    ("spec", "evaluation"),
    [
        (EARLY, "direct"),
        (LATEST, "direct"),
        (replace(EARLY, aggregates=[F.median("v").alias("total")]), "each"),
        (PAIRS, None),
    ],
)
def test_a_downstream_reads_the_state_after_the_message(spec: Any, evaluation: str | None) -> None:
    """semantics 31.8: however the operator evaluates messages."""
    seen: list[tuple[int, int]] = []

    def downstream(emission: Emission) -> None:
        applied = sum(counts.applied for counts in operator.counts.values())
        seen.append((applied, len(operator.live())))

    types = dict.fromkeys(spec.ports, TYPES) if len(spec.ports) > 1 else TYPES
    operator = StandaloneOperator(spec, types, mode="automatic", downstream=downstream)
    if evaluation is not None:
        assert operator.evaluation == evaluation
    for number, name in enumerate(["right", "left", "left"] if len(spec.ports) > 1 else [None] * 3):
        operator.add_message(message(number), name)
        operator.advance(watermark=number + 1)
        applied = sum(counts.applied for counts in operator.counts.values())
        assert applied == number + 1
        if seen:
            assert seen[-1][0] == applied
            assert seen[-1][1] > 0 or spec is LATEST
    assert len(seen) >= 2


def test_a_user_function_cannot_call_its_own_operator() -> None:
    """semantics 31.8: else the rows that it adds would be lost."""

    def accumulate(total: float, value: Any) -> float:
        with pytest.raises(InputError, match=r"^a call within another call"):
            operator.add_message(message(1, 100))
        with pytest.raises(InputError, match=r"^a call within another call"):
            operator.get_result()
        return total + float(value)

    total = UserAggregate.fold("total", 0.0, accumulate, lambda one, other: one + other)
    spec = WindowOperator(window=Tumbling(10), aggregates=[total("v").alias("total")])
    operator = StandaloneOperator(spec, TYPES)
    operator.add_message(message(1, 2))
    operator.finish()
    assert totals(operator.drain()) == [2]
    assert operator.counts["input"].rows_in == 1


@pytest.mark.parametrize("buffer", [1, None])
def test_a_message_that_waits_is_a_copy(buffer: int | None) -> None:
    """semantics 31.9"""
    operator, one = StandaloneOperator(SPEC, TYPES, buffer=buffer), message(1)
    for value in (1, 2, 3):
        one["v"] = value
        operator.add_message(one)
    operator.finish()
    assert totals(operator.drain()) == [6]


def test_texts_that_cannot_be_encoded_are_misfits() -> None:
    operator = StandaloneOperator(SPEC, TYPES)
    operator.add_message(message(1))
    operator.add_message(message(1, 1, "\ud800"))
    assert operator.counts["input"] == Counts(rows_in=2, applied=1, invalid=1)
    assert [one.misfits for one in operator.drain()] == [(message(1, 1, "\ud800"),)]


def test_a_column_of_numbers_is_beside_others() -> None:
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.sum("v").alias("number")])
    operator = StandaloneOperator(spec, TYPES)
    operator.add_message(message(1, 7))
    operator.finish()
    [emission] = operator.drain()
    assert emission.numbered("row").select("number", "row").rows() == [(7, 1)]
    with pytest.raises(
        InputError, match=r"^a column 'number' for numbers \| .* \| give numbered\(\) another"
    ):
        emission.numbered()


def test_nanoseconds_are_refused_if_a_value_would_change() -> None:
    operator = StandaloneOperator(SPEC, {**TYPES, "event_time": "timestamp"})
    rows = pl.DataFrame({"k": ["a", None], "event_time": [1000, None], "v": [1, 1]})
    nanos = pl.col("event_time").cast(pl.Datetime("ns", "UTC"))
    operator.add_batch(rows.with_columns(nanos))
    assert operator.counts["input"] == Counts(rows_in=2, applied=1, invalid=1)
    with pytest.raises(InputError, match=r"^column 'event_time' of .* no value may change \| truncate"):
        operator.add_batch(rows.with_columns((pl.col("event_time") + 1).cast(pl.Datetime("ns", "UTC"))))


@pytest.mark.parametrize("buffer", [1, 3])
def test_a_step_that_raises_changes_nothing(buffer: int) -> None:
    """semantics 31.7: neither the state nor the buffer nor the counts; the message is not added."""

    def accumulate(total: float, value: Any) -> float:
        if value < 0:
            raise ArithmeticError("negative")
        return total + float(value)

    total = UserAggregate.fold("total", 0.0, accumulate, lambda one, other: one + other)
    spec = WindowOperator(window=Tumbling(10), aggregates=[total("v").alias("total")])
    operator = StandaloneOperator(spec, TYPES, buffer=buffer)
    for value in (1, 2, 3, 4, 5):
        operator.add_message(message(1, value), position=("p", 0, value))
    counts, positions = operator.counts, operator.positions()
    with pytest.raises(ArithmeticError, match="negative"):
        operator.add_message(message(1, -6), position=("p", 0, 6))
    assert (operator.counts, operator.positions()) == (counts, positions)
    operator.add_message(message(1, 6), position=("p", 0, 6))
    operator.finish()
    assert totals(operator.drain()) == [21]
    assert operator.positions() == [("p", 0, 6)]


def test_frames_of_polars_and_pyarrow() -> None:
    rows = pl.DataFrame([message(1, 1), message(2, 2)]).with_columns(pl.lit("x").alias("other"))
    tables: list[Any] = [rows, rows.to_arrow(), rows.to_arrow().to_batches()[0], pa.table(rows.to_arrow())]
    for table in tables:
        operator = StandaloneOperator(SPEC, TYPES)
        operator.add_batch(table)
        operator.finish()
        assert totals(operator.drain()) == [3]


def test_columns_of_a_batch_are_cast_where_no_value_changes() -> None:
    types = {"k": "string", "event_time": "timestamp", "v": "double"}
    when = datetime(2024, 1, 1, tzinfo=UTC)
    rows = pl.DataFrame({"k": [None], "event_time": [when], "v": [1]}).with_columns(
        pl.col("event_time").dt.cast_time_unit("ms"), pl.col("v").cast(pl.Float32)
    )
    operator = StandaloneOperator(SPEC, types)
    operator.add_batch(rows)
    operator.add_message({"event_time": when + timedelta(microseconds=1), "v": 2, "k": None})
    operator.finish()
    assert totals(operator.drain()) == [3.0]
    with pytest.raises(InputError, match=r"^column 'v' of the type Int64 \| .* \| cast the column \[PW-"):
        operator.add_batch(rows.with_columns(pl.col("v").cast(pl.Int64)))


@pytest.mark.parametrize(
    ("dtype", "fits", "misfits"),
    [
        ("bigint", [0, -1, 2.0, np.int64(3)], [2**63, 1.5, "1", True, np.datetime64("2024-01-01")]),
        ("double", [1, 1.5, Decimal(1), np.float32(1.5), np.int8(1)], ["1", False, np.bool_(False)]),
        ("string", ["", "a"], [1, b"a"]),
        ("boolean", [True], [1, "true"]),
        ("decimal(4,2)", [Decimal("1.5")], [Decimal(1000), 1.5, Decimal("0.001")]),
        ("binary", [b"a"], [1]),
        (pl.List(pl.Int64), [[1, None]], [["a"], 1]),
    ],
)
def test_messages_with_misfits_are_invalid(dtype: Any, fits: list[Any], misfits: list[Any]) -> None:
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.count("v").alias("n")])
    operator = StandaloneOperator(spec, {"event_time": "bigint", "v": dtype}, buffer=None)
    for value in (*fits[1:], None):
        operator.add_message({"event_time": 1, "v": value})
    good = len(fits[1:]) + 1
    wanted = [value for value in misfits if not (dtype == "bigint" and value == 2.0)]
    for value in wanted:
        operator.add_message({"event_time": 1, "v": value})
    [emission] = operator.drain()
    given = [one["v"] for one in emission.misfits]
    assert given[-len(wanted) :] == wanted
    assert emission.counts.rows_in == good + len(wanted)
    assert emission.counts.invalid == len(given)
    assert set(emission.invalid["__reason"]) == {"v has the wrong type"}


def test_numbers_of_numpy_are_those_of_python() -> None:
    """Also as event times and keys; instants of NumPy are invalid (semantics 15.31)."""
    types = {"k": "int", "event_time": "timestamp", "v": "double"}
    operator = StandaloneOperator(SPEC, types)
    for time in (np.int64(1), np.datetime64("1970-01-01")):
        operator.add_message({"k": np.int32(7), "event_time": time, "v": np.float32(1.5)})
    operator.finish()
    emissions = operator.drain()
    assert [row for one in emissions for row in one.rows.select("k", "total").rows()] == [(7, 1.5)]
    assert [row for one in emissions for row in one.invalid["__reason"]] == ["event time is not a timestamp"]


@pytest.mark.parametrize("buffer", [1, None])
@pytest.mark.parametrize("trigger", [SPEC.trigger, AfterWatermark(early=Always(), late=Always())])
@pytest.mark.parametrize(
    ("dtype", "fits", "misfits"),
    [
        ("array<bigint>", [[np.int64(1), None], (np.int8(1),)], [[np.float64(1)], [np.bool_(True)]]),
        ("struct<a:double>", [{"a": np.float32(1)}, {"a": np.int64(1)}], [{"a": np.str_("1")}]),
        ("map<string,boolean>", [{"a": np.bool_(False)}], [{"a": np.int64(1)}]),
        (
            "timestamp",
            [pd.Timestamp(5_000, unit="ns", tz="UTC")],
            [pd.Timestamp(5_001, unit="ns", tz="UTC"), pd.NaT],
        ),
        ("timestamp_ntz", [pd.Timestamp(5_000, unit="ns")], [pd.Timestamp(5_001, unit="ns"), pd.NaT]),
        ("bigint", [1], [pd.NaT, pd.NA]),
    ],
)
def test_values_of_numpy_and_pandas(
    dtype: str, fits: list[Any], misfits: list[Any], trigger: Any, buffer: int | None
) -> None:
    """semantics 15.33: nothing of a value is lost, and a misfit stops no operator."""
    spec = WindowOperator(window=Tumbling(10), trigger=trigger, aggregates=[F.first("v").alias("v")])
    operator = StandaloneOperator(spec, {"event_time": "bigint", "v": dtype}, buffer=buffer)
    for value in (*misfits, *fits):
        operator.add_message({"event_time": 1, "v": value})
    operator.finish()
    assert operator.counts["input"] == Counts(
        rows_in=len(fits) + len(misfits), applied=len(fits), invalid=len(misfits)
    )


def test_instants_of_pandas() -> None:
    """semantics 15.33"""
    operator = StandaloneOperator(SPEC, {**TYPES, "event_time": "timestamp"})
    fine, exact = pd.Timestamp(5_001, unit="ns", tz="UTC"), pd.Timestamp(5_000, unit="ns", tz="UTC")
    for time in (fine, pd.NaT, exact):
        operator.add_message({"k": "a", "event_time": time, "v": 1})
    assert operator.counts["input"] == Counts(rows_in=3, applied=1, invalid=2)
    for time in (fine, pd.NaT):
        with pytest.raises(SpecError, match="an instant is exact"):
            operator.advance(watermark=time)
        with pytest.raises(SpecError, match="an instant is exact"):
            operator.timeout(time)
    operator.advance(watermark=exact)
    assert operator.watermark == 5
    for length in (pd.Timedelta(1_500, unit="ns"), pd.NaT):
        with pytest.raises(SpecError, match="a duration is exact"):
            Tumbling(length)
    assert Tumbling(pd.Timedelta(1_000, unit="ns")) == Tumbling(1)


def test_names_that_are_patterns_of_polars_are_refused() -> None:
    """semantics 15.30"""
    for name in ("*", "^v.*$"):
        with pytest.raises(SpecError, match=r"\| in process '\*' and names from '\^' to '\$' are patterns"):
            StandaloneOperator(SPEC, {**TYPES, name: "bigint"})
        named = replace(SPEC, aggregates=[F.count().alias(name)])
        with pytest.raises(SpecError, match=r"\| in process '\*' and names from '\^' to '\$' are patterns"):
            StandaloneOperator(named, TYPES)


def test_event_times_that_do_not_fit() -> None:
    operator = StandaloneOperator(SPEC, TYPES, buffer=None)
    times = ["1", 2**63, datetime(2024, 1, 1), datetime(1970, 1, 1, tzinfo=UTC), None]  # noqa: DTZ001
    for time in times:
        operator.add_message({"k": "a", "event_time": time, "v": 1})
    [emission] = operator.drain()
    assert sorted(emission.invalid["__reason"]) == [
        "event time is not a timestamp",
        "event time is not a timestamp",
        "event time is null",
        "event time out of range",
    ]
    assert [one["event_time"] for one in emission.misfits] == times[:3]
    assert emission.counts == Counts(rows_in=5, applied=1, invalid=4)


def test_positions() -> None:
    """semantics 31.4: the positions of rows that wait in the buffer are not reached yet."""
    operator = StandaloneOperator(SPEC, TYPES, buffer=2)
    operator.add_message(message(1), position=("orders", 0, 7))
    assert operator.positions() == []
    operator.add_message(message(1), position=("orders", 1, 3))
    assert operator.positions() == [("orders", 0, 7), ("orders", 1, 3)]
    operator.add_batch(pl.DataFrame([message(1)]), positions=[("orders", 0, 9), ("orders", 1, 1)])
    assert operator.positions("input") == [("orders", 0, 9), ("orders", 1, 3)]


def test_positions_of_the_specification() -> None:
    """semantics 4, 31.4: values go into the columns of the position, and replays are dropped."""
    spec = WindowOperator(
        window=Tumbling(10), aggregates=[F.count().alias("n")], position=Position(), keys=["k"]
    )
    types = {**TYPES, "partition": "bigint", "offset": "bigint"}
    operator = StandaloneOperator(spec, types)
    operator.add_message(message(1), position=(0, 5))
    operator.add_message(message(1), position=(0, 5))
    operator.add_batch(pl.DataFrame([message(1) | {"partition": 1, "offset": 8}]))
    assert operator.positions() == [(0, 5), (1, 8)]
    assert operator.counts["input"] == Counts(rows_in=3, applied=2, replays=1)
    with pytest.raises(InputError, match=r"the specification reads the position from \['partition'"):
        operator.add_message(message(1), position=("orders", 0, 5))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: StandaloneOperator(SPEC, TYPES, mode="manual"),  # type: ignore[arg-type]
            "mode='manual' | the modes are 'standalone' and 'automatic' | give one of these",
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES, mode="automatic"),
            (
                "mode='automatic' with downstream=None | mode='automatic' has a downstream, which is "
                "a function, and mode='standalone' has none | give both, or leave out both"
            ),
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES, buffer=0),
            "buffer=0 | buffer is a whole number above zero | give 1 or more",
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES, commit_rows=True),
            "commit_rows=True | commit_rows is a whole number above zero | give 1 or more",
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES, store="none", commit_rows=5),
            (
                "commit_rows=5 | in mode='standalone' only flush commits | "
                "leave it out, or use mode='automatic'"
            ),
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES, callbacks=print),  # type: ignore[arg-type]
            (
                "callbacks=<built-in function print> | functions of the life cycle are in Callbacks | "
                "give Callbacks(setup=..., teardown=...)"
            ),
        ),
        (
            lambda: StandaloneOperator(Tumbling(5), TYPES),  # type: ignore[arg-type]
            (
                "spec=Tumbling(size=Duration('5 microseconds'), origin=0) | an operator in process runs a "
                "specification | give one such as WindowOperator(...)"
            ),
        ),
        (
            lambda: StandaloneOperator(JOIN, dict.fromkeys(["left", "right"], TYPES)).add_batch(
                {"left": pl.DataFrame([message(1)])}, input="right"
            ),
            (
                "input='right' with rows of ['left'] | rows by input name their inputs, and input= names "
                "that of the positions | leave it out"
            ),
        ),
        (
            lambda: StandaloneOperator(SPEC, ["k"]),  # type: ignore[arg-type]
            "schema=['k'] | a schema has a type for each column | give {'v': 'bigint'}",
        ),
        (
            lambda: StandaloneOperator(JOIN, TYPES),
            (
                "a schema for ['event_time', 'k', 'v'] | the inputs of the operator are ['left', "
                "'right'] | give the columns of each input by its name"
            ),
        ),
        (
            lambda: StandaloneOperator(SPEC, {"k": "string", "event_time": "bigint"}),
            (
                "column 'v' | the columns that an operator reads are in its schema | use one of the "
                "columns ['event_time', 'k']"
            ),
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES).add_message(1),  # type: ignore[arg-type]
            "a message of the type int | a message has a value for each column | give a dict",
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES).add_message({}, "left"),
            "input='left' | the inputs of the operator are ['input'] | name one of them",
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES).add_message({}, position=(1,)),
            f"position=(1,) | {_RULE} | give such a tuple",
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES).add_batch(pl.LazyFrame()),  # type: ignore[arg-type]
            (
                "a batch of the type polars.LazyFrame | a batch is a Polars DataFrame, or a table or record "
                "batch of PyArrow | give one of these, such as pl.from_pandas(df) or frame.collect()"
            ),
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES).add_batch([{}]),  # type: ignore[arg-type]
            (
                "a batch of the type list | a batch is a Polars DataFrame, or a table or record "
                "batch of PyArrow | give one of these, such as pl.from_pandas(df) or frame.collect()"
            ),
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES).add_batch(pl.DataFrame({"k": ["a"]})),
            (
                "a batch without 'event_time' | a batch has the columns of the schema: ['k', "
                "'event_time', 'v'] | add the column, with nulls if need be"
            ),
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES).add_batch(
                pa.table([pa.array([1])] * 2, names=["v", "v"]),
            ),
            (
                "a batch with two columns 'v' | each column of a batch has a name of its own | "
                "rename one of them"
            ),
        ),
        (
            lambda: StandaloneOperator(SPEC, {}),
            "a schema without columns | a schema has a type for each column | add a column",
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES).advance(watermark=5, input="left"),
            "input='left' | the watermarks of this operator are those of ['input'] | name one of them",
        ),
        (
            lambda: StandaloneOperator(JOIN, {"left": TYPES, "right": TYPES}).advance(
                watermark=5, input="up"
            ),
            "input='up' | the watermarks of this operator are those of ['left', 'right'] | name one of them",
        ),
        (
            lambda: StandaloneOperator(SPEC, TYPES, mode="automatic", downstream=_waiting),
            (
                "downstream with 'async def' | a downstream returns when it has received the "
                "emission, and nothing awaits it | use AsyncOperator"
            ),
        ),
        (
            lambda: automatic()[0].get_result(),
            (
                "get_result() | in mode='automatic' the downstream receives all emissions | use "
                "mode='standalone', or timeout()"
            ),
        ),
    ],
)
def test_errors(call: Callable[[], object], text: str) -> None:
    with pytest.raises(PanewiseError) as caught:
        call()
    assert caught.value.args[0] == text


def test_types_are_checked() -> None:
    with pytest.raises(SpecError, match="string"):
        StandaloneOperator(SPEC, {**TYPES, "v": "string"})
    with pytest.raises(InputError, match=r"^type 'long' of 'v' \| a type is one of \['tinyint'"):
        StandaloneOperator(SPEC, {**TYPES, "v": "long"})


def test_a_closed_operator_takes_no_calls() -> None:
    with StandaloneOperator(SPEC, TYPES) as operator:
        operator.add_message(message(1))
    operator.close()
    with pytest.raises(InputError, match=r"^a closed operator \| .* \| make a new one \[PW-"):
        operator.add_message(message(1))


def test_the_false_of_numpy_refuses_too() -> None:
    """semantics 32.2: no other value does, not even one that equals False."""
    for answer, accepts in (
        (np.False_, False),
        (False, False),
        (np.True_, True),
        (np.int64(0), True),
        (0, True),
        (None, True),
        (np.array([False, False]), True),
    ):
        operator = StandaloneOperator(SPEC, TYPES, mode="automatic", downstream=lambda one, it=answer: it)
        operator.add_message(message(1))
        operator.finish()
        assert operator.delivery_enabled is accepts, answer


@pytest.mark.parametrize("name", ["__bad_type", "__bad_time", "__out_of_range", "__row", "__other"])
def test_columns_with_names_of_the_operator(name: str) -> None:
    """A schema with such a column is refused; a batch may have one, as it may have any other column."""
    with pytest.raises(SpecError) as caught:
        StandaloneOperator(SPEC, {**TYPES, name: "string"})
    rule = "names that start with '__' are the operator's own"
    assert caught.value.args[0] == f"column {name!r} | {rule} | rename the column"
    operator = StandaloneOperator(SPEC, TYPES)
    operator.add_batch(pl.DataFrame([message(1, 2)]).with_columns(pl.lit("k").alias(name)))
    assert operator.counts["input"].applied == 1


def test_messages_that_raise_can_be_taken_out_of_the_buffer() -> None:
    """semantics 31.12: all messages return with their ports and positions, in their order."""
    join = StandaloneOperator(JOIN, {"left": TYPES, "right": TYPES}, buffer=None)
    given = [
        (message(1), "left", ("p", 0, 1)),
        (message(2), "right", None),
        (message(3), "left", ("p", 0, 2)),
    ]
    for one in given:
        join.add_message(*one)
    removed = join.remove_waiting()
    assert removed == given
    assert [one.input for one in removed] == ["left", "right", "left"]
    assert (join.remove_waiting(), join.counts, join.positions("left")) == ([], {}, [])
    for one in removed[:2]:
        join.add_message(*one)
    join.finish()
    assert [emission.rows.height for emission in join.drain() if emission.rows.height] == [1]
    assert join.positions("left") == [("p", 0, 1)]


def test_messages_that_count_as_evaluated_do_not_wait() -> None:
    """semantics 31.12, 31.1"""
    operator = StandaloneOperator(SPEC, TYPES)
    operator.add_message(message(1, 5))
    assert operator.remove_waiting() == []
    operator.finish()
    assert totals(operator.drain()) == [5]
