"""Column types are checked before anything runs, with the same errors in every runtime (semantics 24.19)."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine.aggregate.types import types_of
from panewise.engine.registry import operator_for
from panewise.errors import SpecError
from panewise.oracle import interpreter
from panewise.spec.column_types import Type, decimal
from panewise.spec.type_checks import check_types
from panewise.streamwindow import StreamWindow, count, delta, punct
from panewise.testing import run

Build = Callable[[], Any]


def windows(**fields: Any) -> Build:
    given = {"aggregates": [F.count().alias("n")], "window": pw.Tumbling(10), **fields}
    return lambda: pw.WindowOperator(**given)


def of(aggregate: pw.Aggregate) -> Build:
    return windows(aggregates=[aggregate])


def over(what: Any, start: int | None = -1) -> Build:
    return lambda: pw.OverOperator(
        event_time="event_time", columns=[pw.OverColumn(what, pw.Frame("rows", start, 0))]
    )


def chain(first: pw.Aggregate, then: pw.Aggregate) -> Build:
    return lambda: pw.WindowOperator(window=pw.Tumbling(10), aggregates=[first.alias("a")]).then(
        aggregates=[then]
    )


ROW = {"event_time": 1, "s": "x", "n": 1, "d": 0.5, "o": True}
TYPES = {"event_time": "bigint", "s": "string", "n": "bigint", "d": "double", "o": "boolean"}
SCHEMA = {"event_time": pl.Int64(), "s": pl.String(), "n": pl.Int64(), "d": pl.Float64(), "o": pl.Boolean()}
WHOLE = "the amount for whole numbers is a whole number | give one, or cast the column to DOUBLE"
NUMBERS = [
    F.sum,
    F.avg,
    F.stddev,
    F.variance,
    F.stddev_pop,
    F.var_pop,
    F.median,
    lambda name: F.percentile(name, 0.5),
]
REFUSED: list[tuple[Build, str]] = [
    *(
        (of(fn("s")), f"'{fn('s').name}' over s: string | {fn('s').fn} takes numbers | cast s to a number")
        for fn in NUMBERS
    ),
    *(
        (of(fn("o")), f"'{fn('o').name}' over o: boolean | {fn('o').fn} takes numbers | cast o to a number")
        for fn in NUMBERS
    ),
    (
        of(F.count_if("n")),
        "'count_if(n)' over n: bigint | count_if takes a Boolean column | make one before the operator",
    ),
    (
        of(F.bool_or("s")),
        "'bool_or(s)' over s: string | bool_or takes a Boolean column | make one before the operator",
    ),
    (
        windows(trigger=pw.Repeatedly(pw.OnDelta("s", 1))),
        (
            "OnDelta(column='s', amount=1): string | a delta is a difference of whole "
            "numbers, doubles or timestamps | cast s"
        ),
    ),
    (
        windows(trigger=pw.Repeatedly(pw.OnDelta("n", 0.5))),
        f"OnDelta(column='n', amount=0.5): bigint | {WHOLE}",
    ),
    (
        windows(trigger=pw.Repeatedly(pw.OnPunctuation("n"))),
        (
            "OnPunctuation(column='n'): bigint | OnPunctuation reads a Boolean column | "
            "compute such a column before the operator"
        ),
    ),
    (
        windows(evictor=pw.DeltaEvictor("s", 1)),
        (
            "DeltaEvictor(column='s', threshold=1, after=False): string | an evictor takes the difference "
            "of whole numbers, doubles or"
        ),
    ),
    (
        windows(evictor=pw.DeltaEvictor("n", 0.5)),
        (
            "DeltaEvictor(column='n', threshold=0.5, after=False): bigint | "
            f"{WHOLE.replace('amount', 'threshold')}"
        ),
    ),
    (
        windows(position=pw.Position("s", "d")),
        "offset d: double | an offset is a whole number | use the offset of the source",
    ),
    (
        windows(position=pw.Position("d", "n")),
        "position d: double | the columns that name a source's partition are whole numbers or text",
    ),
    (
        windows(watermark=pw.Inputs(["a"], column="n")),
        "input n: bigint | the column that names the input of a row contains strings",
    ),
    (
        windows(window=pw.Session("d")),
        "gap d: double | the gap of a row is whole microseconds or an interval of them",
    ),
    (
        lambda: StreamWindow.tumbling(punct("n")),
        ("punct over n: bigint | a Boolean column says which rows are markers (semantics 10.5) | make one"),
    ),
    (
        lambda: StreamWindow.tumbling(delta("s", 1)),
        "delta over s: string | a delta is of whole numbers, doubles, decimals or timestamps",
    ),
    (
        lambda: StreamWindow.sliding(count(2), delta("d", "1 second")),
        (
            "delta('d', Duration('1 second')) over d: double | a duration is an amount of timestamps, and "
            "of whole numbers"
        ),
    ),
    (
        lambda: StreamWindow.tumbling(count(2), aggregates=[F.sum("s").alias("a")]),
        "'a' over s: string | sum takes numbers | cast s to a number, or use another aggregate",
    ),
    (
        over(F.avg("s")),
        "'avg(s)' over s: string | avg takes numbers | cast s to a number, or use another aggregate",
    ),
    (
        lambda: pw.OverOperator(event_time="event_time", columns=[pw.OverColumn(F.lag("n", 1, "x"))]),
        (
            "lag(n, 1, x): default='x' | the default has the type of the column, bigint | give a value of "
            "it, or leave it out"
        ),
    ),
    (
        chain(F.max("s"), F.sum("a")),
        "'sum(a)' over a: string | sum takes numbers | cast a to a number, or use another aggregate",
    ),
    (
        chain(F.collect_list("s"), F.max("a")),
        "'max(a)' over a: array<string> | max takes values that have an order | use a column of",
    ),
    (
        chain(F.sum("n"), F.bool_and("a")),
        "'bool_and(a)' over a: bigint | bool_and takes a Boolean column | make one before the operator",
    ),
]


# Unless a type is given, testing.run does not infer the types of these columns from their values. A value of
# another type makes its row invalid.
NEVER_INFERRED = ("offset", "input", "gap")


@pytest.mark.parametrize(
    ("build", "message"), REFUSED, ids=[message.split(" | ")[0] for _, message in REFUSED]
)
def test_a_column_of_a_type_without_a_use_is_refused_when_built(build: Build, message: str) -> None:
    """semantics 24.19: every way of checking raises the same error.

    The ways are the check itself, a run with given types, a run with inferred types, the oracle alone, and
    the engine alone.
    """
    spec = build()
    add = [{"op": "add", "rows": [ROW]}]
    ways: list[Callable[[], Any]] = [
        lambda: check_types(spec, {name: Type(kind) for name, kind in TYPES.items()}),
        lambda: run(spec, add, types=TYPES),
        lambda: run(spec, add, "engine", types=TYPES),
        *(
            []
            if message.startswith(NEVER_INFERRED)
            else [lambda: run(spec, add), lambda: run(spec, add, "engine")]
        ),
        lambda: interpreter(spec, TYPES),
        lambda: operator_for(spec, SCHEMA),
    ]
    told = []
    for way in ways:
        with pytest.raises(SpecError) as caught:
            way()
        told.append(str(caught.value))
    assert told[0].startswith(message)
    assert set(told) == {told[0]}


def test_a_column_without_values_has_a_type_that_fits() -> None:
    """The inferred type is boolean if the column needs to be Boolean, otherwise bigint."""
    spec = pw.WindowOperator(
        window=pw.Global(), aggregates=[F.count_if("o").alias("n"), F.sum("v").alias("s")]
    )
    events = [{"op": "add", "rows": [{"event_time": 1, "o": None, "v": None}]}, {"op": "finish"}]
    for runtime in ("oracle", "engine"):
        [pane] = run(spec, events, runtime)[-1]["panes"]
        assert (pane["n"], pane["s"]) == (0, None)


def test_columns_of_unknown_types_are_not_checked() -> None:
    check_types(of(F.sum("s"))(), {})
    assert interpreter(of(F.sum("s"))()).add([{"event_time": 1, "s": 2}])["counts"]["applied"] == 1


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (pl.Int16(), "smallint"),
        (pl.UInt64(), "bigint"),
        (pl.Float32(), "float"),
        (pl.Decimal(20, 3), "decimal(20,3)"),
        (pl.Datetime("us", "UTC"), "timestamp"),
        (pl.Datetime("us"), "timestamp_ntz"),
        (pl.Duration("us"), "interval day to second"),
        (pl.List(pl.Struct({"a": pl.Date(), "b": pl.Binary()})), "array<struct<a:date,b:binary>>"),
        (pl.Categorical(), "categorical"),
    ],
)
def test_types_have_the_names_that_spark_gives_them(dtype: pl.DataType, name: str) -> None:
    assert types_of({"v": dtype}) == {"v": Type(name)}


def test_kinds_of_types() -> None:
    assert [
        Type(name).is_numeric for name in ("tinyint", "decimal(3,1)", "float", "boolean", "timestamp")
    ] == [True] * 3 + [False] * 2
    assert [
        Type(name).is_duration for name in ("interval day to second", "interval year to month", "bigint")
    ] == [True, False, False]
    assert [
        Type(name).is_nested for name in ("map<string,int>", "struct<a:int>", "array<int>", "binary")
    ] == [True] * 3 + [False]
    assert decimal(40, 41) == Type("decimal(38,38)")
