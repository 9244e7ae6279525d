"""OVER operators as values: rules, the builder with pyspark's names, JSON, descriptions (semantics 29)."""

from datetime import timedelta
from typing import Any

import pytest

import panewise as pw
from panewise import (
    Duration,
    FixedLag,
    Frame,
    Inputs,
    OverColumn,
    OverOperator,
    Position,
    StreamTime,
    UserAggregate,
    Window,
)
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec import Over, RowFunction, WindowSpec, over_operator
from panewise.spec.codec import changed_fields, from_dict, from_json, to_dict, to_json
from panewise.spec.describe import describe

LAST = UserAggregate(
    "last_text",
    init=str,
    accumulate=lambda s, v: v or s,
    merge=lambda a, b: b or a,
    finish=str,
    result="string",
)
TOTAL = OverColumn(F.sum("v").alias("total"), Frame("rows", -2, 0))
BY_TIME = Window.partitionBy("k").orderBy("ts")

SPECS = [
    OverOperator(columns=[TOTAL]),
    OverOperator(
        columns=[TOTAL, OverColumn(F.lag("v", 2, -1))],
        keys=["k", "j"],
        event_time="ts",
        order=["seq"],
        null_keys=True,
    ),
    OverOperator(
        columns=[OverColumn(F.row_number()), OverColumn(F.nth_value("v", 3), Frame("rows", None, 2))],
        event_time=None,
    ),
    OverOperator(columns=[TOTAL], event_time=None, position=Position("p", "o", "s")),
    OverOperator(
        columns=[OverColumn(F.rank()), OverColumn(F.dense_rank())],
        max_future_skew="1 hour",
        watermark=FixedLag(5),
    ),
    OverOperator(
        columns=[OverColumn(F.percentile("v", 0.9), Frame("range", None, 0))],
        watermark=Inputs(["a", "b"], "1 minute"),
    ),
    OverOperator(columns=[OverColumn(F.lag("v"))], watermark=StreamTime("1 second", per="all")),
    OverOperator(
        columns=[
            OverColumn(LAST("s"), Frame("range", -5, 3)),
            OverColumn(F.lead("flag", 1, False).alias("next")),
        ]
    ),
]


@pytest.mark.parametrize("spec", SPECS)
def test_every_operator_has_words(spec: OverOperator) -> None:
    told = describe(spec)
    assert all(column.name in told for column in spec.columns)
    assert told.splitlines()[-1].startswith("State: ")


def test_changed_fields() -> None:
    spec, windows = SPECS[0], pw.WindowOperator(window=pw.Tumbling(10), aggregates=[F.count()])
    assert changed_fields(to_dict(spec), {**to_dict(spec), "keys": ["k"]}) == ["keys"]
    assert changed_fields(to_dict(spec), {"columns": to_dict(spec)["columns"]}) == []
    assert {"window", "aggregates", "columns"} <= set(changed_fields(to_dict(windows), to_dict(spec)))


def test_defaults_are_those_of_the_functions() -> None:
    spec = from_dict(
        {
            "columns": [
                {"fn": "lag", "column": "v"},
                {"fn": "count", "frame": {"kind": "rows"}},
                {"fn": "row_number"},
            ]
        }
    )
    assert spec == OverOperator(
        columns=[
            OverColumn(F.lag("v")),
            OverColumn(F.count(), Frame("rows", None)),
            OverColumn(F.row_number()),
        ]
    )


def column(fn: str, **fields: Any) -> dict[str, Any]:
    return {"columns": [{"fn": fn, "column": "v", **fields}]}


ROWS = {"kind": "rows", "start": -1}
DOCUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"columns": [], "event_time": None}, "columns=() without an event time | without new columns"),
    ({"columns": 3}, "columns=3 | columns is a list of columns"),
    ({"columns": [3]}, "columns[0]=3 | columns[0] is an object with named fields"),
    ({**column("sum", frame=ROWS), "trigger": None}, "trigger=None | the known fields are"),
    (column("ntile"), "columns[0].fn='ntile' | the functions of aggregates are"),
    (column("sum"), "sum(v) without a frame | sum(v) reads the rows of a frame"),
    (column("sum", frame={"start": -1}), "columns[0].frame.kind is missing"),
    (column("sum", frame={"kind": "rows", "begin": 1}), "columns[0].frame.begin=1 | the known fields are"),
    (column("lag", frame=ROWS), "lag(v, 1) with Frame("),
    (column("lag", by="w"), "columns[0].by='w' | the known fields are"),
    (
        {**column("lag"), "watermark": {"kind": "outside"}},
        "watermark.kind='outside' | the known kinds are ['fixed_lag', 'inputs', 'stream_time']",
    ),
    ({**column("lag"), "event_time": 3}, "event_time=3 | event_time is a string"),
    ({**column("lag"), "panewise": 9}, "panewise=9 | this version of panewise reads format 1"),
]


@pytest.mark.parametrize(("document", "message"), DOCUMENTS)
def test_documents_that_are_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as refused:
        from_dict(document)
    assert str(refused.value).startswith(message)


CASES: list[tuple[Any, str]] = [
    (lambda: Frame("groups", -1, 0), "kind='groups' | a frame is one of rows or of a range of time"),  # type: ignore[arg-type]
    (lambda: Frame("rows", -1.5, 0), "start=-1.5 | the bounds of a frame are whole numbers"),  # type: ignore[arg-type]
    (lambda: Frame("rows", None, None), "a frame without bounds | a stream has no last row"),
    (
        lambda: Frame("rows", -1, 0, "others"),  # type: ignore[arg-type]
        "exclude='others' | a frame excludes one of 'no others', 'current row', 'group', 'ties' | give",
    ),
    (
        lambda: Frame("range", 5, None),
        "range from 5 microseconds after the row to the last row | a range without an end starts at the",
    ),
    (
        lambda: OverOperator(columns=[OverColumn(F.count(), Frame("rows", 0, None))]),
        "count(*): Frame(kind='rows', start=0, end=None) | a stream has no last row, so no frame reaches",
    ),
    (
        lambda: OverOperator(
            columns=[OverColumn(F.count(), Frame("rows", None, 0))], descending=["event_time"]
        ),
        "count(*): Frame(kind='rows', start=None, end=0) with descending event time | a stream",
    ),
    (
        lambda: OverOperator(columns=[OverColumn(F.rank())], descending=["event_time"]),
        "rank(): rank with descending event time | with descending event time each new row would change",
    ),
    (
        lambda: OverOperator(columns=[TOTAL], order=["a"], descending=["b"]),
        "descending=('b',), event_time='event_time', order=('a',) | a direction is given for the event time",
    ),
    (
        lambda: OverOperator(columns=[TOTAL], event_time=None, order=["a"], descending=["a"]),
        "descending=('a',), event_time=None, order=('a',) | a direction is given for the event time or",
    ),
    (
        lambda: OverOperator(columns=[TOTAL], order=["a"], nulls_last=["a", "a"]),
        "nulls_last=('a', 'a'), event_time='event_time', order=('a',) | a direction is",
    ),
    (
        lambda: OverOperator(columns=[TOTAL], nulls_last=["event_time"]),
        "nulls_last=('event_time',) | an event time is never null | leave it out",
    ),
    (
        lambda: OverOperator(columns=[OverColumn(F.count(), Frame("rows", -1, 0, "ties"))], event_time=None),
        "count(*): exclude='ties' without an event time | without an event time rows have no time to",
    ),
    (
        lambda: RowFunction("rank", None, "r", ignorenulls=True),
        "rank(ignorenulls=True) | lag, lead, nth_value ignore nulls, and rank reads no values | leave it out",
    ),
    (
        lambda: Window.orderBy("ts").excluding("ties"),
        "excluding('ties') | rows are left out of a frame, as one of 'no others'",
    ),
    (
        lambda: Frame("rows", 1, 0),
        "start=1, end=0 | a frame does not end before it starts | exchange the two",
    ),
    (
        lambda: Frame("range", None, -5),
        "range from the first row to 5 microseconds before the row | a range without a start ends at",
    ),
    (lambda: F.lag("v", True), "lag(offset=True) | lag takes a whole number of rows | give such a number"),
    (lambda: F.lead("v", 0.5), "lead(offset=0.5) | lead takes a whole number of rows"),
    (lambda: F.lag("v", -(2**70)), "lag(offset=-1180591620717411303424) | lag takes a whole number of rows"),
    (
        lambda: RowFunction("lag", "v", "x", -1),
        "lag(n=-1) | lag takes a number of rows, 0 or more | use lead to look ahead",
    ),
    (
        lambda: F.nth_value("v", 2, "no"),  # type: ignore[arg-type]
        "ignorenulls='no' | ignorenulls is True or False | give one of these",
    ),
    (
        lambda: F.ntile(2),
        (
            "panewise.functions.ntile | ntile, percent_rank and cume_dist count a whole partition, which "
            "has no end on a stream | use row_"
        ),
    ),
    (
        lambda: F.percent_rank(),
        "panewise.functions.percent_rank | ntile, percent_rank and cume_dist count a whole partition",
    ),
    (lambda: F.nth_value("v", 0), "nth_value(n=0) | nth_value takes a number of rows, 1 or more"),
    (lambda: F.lag("v + 1 "), "column='v + 1 ' | an aggregate reads a column |"),
    (lambda: F.lag("v", 1, [1]), "lag(default=[1]) | only lag and lead have a default"),  # type: ignore[arg-type]
    (lambda: RowFunction("rank", "v", "r"), "rank(column='v') | rank takes no column | leave it out"),
    (lambda: RowFunction("ntile", "v", "r"), "fn='ntile' | a row function is one of"),
    (lambda: OverColumn(F.sum("v")), "sum(v) without a frame | sum(v) reads the rows of a frame"),
    (
        lambda: OverColumn(F.rank(), Frame("rows", -1, 0)),
        "rank() with Frame(kind='rows', start=-1, end=0) | rank reads all rows",
    ),
    (lambda: OverOperator(event_time=None), "columns=() without an event time | without new columns an oper"),
    (lambda: OverOperator(columns=TOTAL), "columns=OverColumn("),  # type: ignore[arg-type]
    (lambda: OverOperator(columns=[F.sum("v")]), "columns=[Aggregate("),  # type: ignore[list-item]
    (
        lambda: OverOperator(columns=[TOTAL, TOTAL]),
        ("'total' twice | new columns have different names, which no input column has"),
    ),
    (
        lambda: OverOperator(columns=[OverColumn(F.sum("v").alias("v"), TOTAL.frame)]),
        "'v' twice | new columns have different names, which no input column has",
    ),
    (
        lambda: OverOperator(columns=[TOTAL], keys=["k", "k"]),
        "keys=['k', 'k'] | a key is named once | name 'k' once",
    ),
    (
        lambda: F.first_value("v", "no"),
        "first(ignorenulls='no') | ignorenulls is True or False | give one of these",
    ),  # type: ignore[arg-type]
    (lambda: F.count(1), "column=1 | an aggregate reads a column |"),  # type: ignore[arg-type]
    (
        lambda: F.sum("v").over(BY_TIME) - F.lag("v").over(BY_TIME),
        "an expression of sum(v) over a window | a function over a window is a whole column",
    ),  # type: ignore[operator]
    (lambda: 1 + F.lag("v").over(BY_TIME), "an expression of lag(v, 1) over a window | "),  # type: ignore[operator]
    (lambda: F.lag("v").over(BY_TIME).cast("int"), "an expression of lag(v, 1) over a window | "),
    (
        lambda: F.col("v"),
        (
            "panewise.functions.col | panewise.functions has aggregates; columns and expressions "
            "are those of pyspark | import pyspark."
        ),
    ),
    (
        lambda: F.desc_nulls_last("v"),
        (
            "panewise.functions.desc_nulls_last | nulls come first in ascending and last in descending "
            "order | use asc or desc"
        ),
    ),
    (
        lambda: Window.orderBy("ts", 5),
        (
            "column 5 | keys and order columns are given by name; the order is ascending, nulls first | "
            "give the column's name"
        ),
    ),
    (
        lambda: F.countDistinct("v"),
        "panewise.functions.countDistinct | panewise has this function under one name only | use ",
    ),
    (lambda: OverOperator(columns=[TOTAL], keys=[""]), "column '' | columns are named by non-empty strings"),
    (
        lambda: OverOperator(columns=[TOTAL], order=["event_time"]),
        "order=('event_time',), event_time='event_time' | rows are always ordered",
    ),
    (
        lambda: OverOperator(columns=[TOTAL], order=["a"], position=Position()),
        "order=('a',) and a position | a position is the arrival",
    ),
    (lambda: OverOperator(columns=[TOTAL], watermark=StreamTime()), "watermark=StreamTime("),
    (
        lambda: OverOperator(columns=[TOTAL], event_time=None, max_future_skew=1),
        (
            "event_time=None, max_future_skew=Duration('1 microsecond') | max_future_skew and watermark need "
            "an event time | leave max_future_skew out, or name the event time"
        ),
    ),
    (
        lambda: OverOperator(columns=[TOTAL], max_future_skew=-1),
        "max_future_skew=-1 | max_future_skew is not negative",
    ),
    (
        lambda: OverOperator(columns=[TOTAL], event_time=None, watermark=FixedLag(1)),
        "event_time=None, watermark=FixedLag(",
    ),
    (
        lambda: OverOperator(columns=[OverColumn(F.rank())], event_time=None),
        "rank(): rank without an event time | without an event time rows",
    ),
    (
        lambda: OverOperator(columns=[OverColumn(F.count(), Frame("range", -5, 0))], event_time=None),
        (
            "count(*): a RANGE frame without an event time | without an event time rows have "
            "no time to compare | order by the"
        ),
    ),
    (
        lambda: OverOperator(columns=[OverColumn(F.count(), Frame("range", -5, 0))], order=["seq"]),
        (
            "count(*): Frame(kind='range', start=-5, end=0) with order=('seq',) | a RANGE "
            "frame measures the distance of rows by the event time alone | leave"
        ),
    ),
    (
        lambda: Window.partitionBy(3),
        "column 3 | keys and order columns are given by name; the order is ascending",
    ),
    (
        lambda: Window.rowsBetween(-1.0, 0),
        ("rowsBetween(start=-1.0) | a bound of rowsBetween is a whole number of rows"),
    ),  # type: ignore[arg-type]
    (
        lambda: Window.rowsBetween(-1, Window.unboundedFollowing),
        "rows to unboundedFollowing | a stream has no last row",
    ),
    (
        lambda: Window.rowsBetween(-1, Window.unboundedPreceding),
        "rows to unboundedPreceding | a frame does not end before it starts",
    ),
    (
        lambda: Window.rangeBetween("soon", 0),
        "start='soon' | a duration is a sum of whole numbers of units, from weeks to microseconds",
    ),
    (lambda: F.sum("v").over("w"), "over('w') | over() takes a window of panewise"),  # type: ignore[arg-type]
    (lambda: over_operator({"a": F.sum("v")}), "a=Aggregate("),  # type: ignore[dict-item]
    (lambda: over_operator({}), "columns=() without an event time | without new columns"),
    (
        lambda: over_operator({"a": F.sum("v").over(Window.partitionBy("k"))}),
        "a over a window without order and frame | without an order the",
    ),
    (
        lambda: over_operator(
            {"a": F.lag("v").over(BY_TIME), "b": F.lag("v").over(Window.partitionBy("j").orderBy("ts"))}
        ),
        (
            "windows by [(['k'], ['ts']), (['j'], ['ts'])] | the windows of one operator have the same keys "
            "and order"
        ),
    ),
    (
        lambda: over_operator({"a": F.lag("v").over(Window.orderBy("seq"))}, "ts"),
        (
            "orderBy('seq',), event_time='ts' | the rows of a stream are ordered by event "
            "time, or by arrival | order by 'ts'"
        ),
    ),
]


@pytest.mark.parametrize(("make", "message"), CASES, ids=[message[:40] for _, message in CASES])
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        make()
    assert str(refused.value).startswith(message), str(refused.value)
    assert all(refused.value.args[0].split(" | "))
    assert len(refused.value.args[0].split(" | ")) == 3


def test_other_names_are_attribute_errors() -> None:
    assert not hasattr(F, "harmonic_mean")
    with pytest.raises(
        AttributeError,
        match=r"no attribute 'harmonic_mean'; user-defined aggregates are made by panewise.UserAggregate",
    ):
        _ = F.harmonic_mean


def test_windows_as_pyspark_writes_them() -> None:
    w = Window.partitionBy(["k", "j"]).orderBy("ts", "seq")
    assert w == WindowSpec(("k", "j"), ("ts", "seq")) == Window.order_by("ts", "seq").partition_by("k", "j")
    assert w.rowsBetween(Window.unboundedPreceding, Window.currentRow).frame == Frame("rows", None, 0)
    assert Window.rows_between(-3, 2).frame == Frame("rows", -3, 2)
    ranges = [
        ("-5 seconds", 0),
        (-5_000_000, 0),
        (timedelta(seconds=-5), 0),
        (Duration(-5_000_000), timedelta(0)),
    ]
    assert {Window.range_between(start, end).frame for start, end in ranges} == {
        Frame("range", -5_000_000, 0)
    }
    assert Window.rangeBetween(Window.unboundedPreceding, "2 seconds").frame == Frame(
        "range", None, 2_000_000
    )


def test_the_operator_of_windows() -> None:
    """semantics 29.10: the default frame, the event time and order, and functions that ignore the frame."""
    made = over_operator(
        {"a": F.sum("v").over(BY_TIME), "b": F.lag("v").over(BY_TIME.rowsBetween(-1, 0))}, null_keys=True
    )
    assert made == OverOperator(
        keys=["k"], event_time="ts", null_keys=True,
        columns=[
            OverColumn(F.sum("v").alias("a"), Frame("range", None, 0)), OverColumn(F.lag("v").alias("b")),
        ],
    )  # fmt: skip
    ordered = over_operator({"a": F.rank().over(Window.orderBy("ts", "x"))}, "ts", order=("y",))
    assert (ordered.event_time, ordered.order) == ("ts", ("x", "y"))
    arriving = {"a": F.lag("v").over(Window.partitionBy("k"))}
    given: list[tuple[str | None, dict[str, Any]]] = [(None, {}), ("ts", {}), ("ts", {"order": ("o",)})]
    orders = [over_operator(arriving, time, **fields).order for time, fields in given]
    assert orders == [(), ("ts",), ("o",)]
    assert over_operator(arriving, "ts", position=Position()).order == ()


def test_an_alias_names_the_column() -> None:
    over = F.row_number().over(BY_TIME).alias("n")
    assert isinstance(over, Over)
    assert over.what == F.row_number().alias("n")


def test_functions_take_what_those_of_pyspark_take() -> None:
    """semantics 29.6, 29.7: arguments have pyspark's names, and offsets may be negative."""
    assert F.lag("v", offset=-2, default=0) == F.lead("v", 2, 0).alias("lag(v, -2, 0)")
    assert F.lead("v", offset=-1).alias("x") == F.lag("v").alias("x")
    assert F.first_value("v", ignoreNulls=True) == F.first("v", ignorenulls=True)
    assert F.last_value("v") == F.last("v")
    assert F.any_value("v", ignoreNulls=True) == F.first("v", True)
    assert F.nth_value("v", offset=2) == F.nth_value("v", 2)
    assert not hasattr(F, "no_such_function")


def test_directions_of_the_order() -> None:
    """semantics 29.13: the functions have pyspark's names, and nulls are where Spark has them."""
    window = Window.partitionBy("k").orderBy(
        "ts", F.desc("a"), F.asc_nulls_last("b"), F.desc_nulls_first("c")
    )
    spec = over_operator({"before": F.lag("v").over(window)})
    assert (spec.event_time, spec.order) == ("ts", ("a", "b", "c"))
    assert (spec.descending, spec.nulls_last) == (("a", "c"), ("a", "b"))
    assert spec == OverOperator(
        columns=spec.columns,
        keys=["k"],
        event_time="ts",
        order=["a", "b", "c"],
        descending=["c", "a"],
        nulls_last=["b", "a"],
    )
    assert from_json(to_json(spec)) == spec
    default = OverOperator(columns=spec.columns, keys=["k"], event_time="ts", order=["a"], descending=["a"])
    assert default.nulls_last == ("a",)
    assert "nulls_last" not in to_json(default)
    assert from_json(to_json(default)) == default


def test_descending_event_time() -> None:
    """semantics 29.13: what is before a row in the order arrives after it."""
    window = Window.orderBy(F.desc("ts"))
    frame = window.rowsBetween(Window.currentRow, Window.unboundedFollowing)
    spec = over_operator({"total": F.sum("v").over(frame), "before": F.lag("v", 2).over(window)})
    assert spec.backwards
    assert (spec.rows_ahead, spec.us_ahead) == (2, 0)
    ranged = over_operator({"total": F.sum("v").over(window.rangeBetween(-5, 3))})
    assert (ranged.rows_ahead, ranged.us_ahead) == (0, 5)
    assert from_json(to_json(spec)) == spec


def test_rows_that_are_left_out() -> None:
    """semantics 29.15"""
    window = Window.orderBy("ts").rowsBetween(-1, 1).excluding("group")
    assert window.frame == Frame("rows", -1, 1, "group")
    assert repr(window.frame) == "Frame(kind='rows', start=-1, end=1, exclude='group')"
    spec = over_operator({"total": F.sum("v").over(window)})
    assert from_json(to_json(spec)) == spec
    assert '"exclude": "group"' in to_json(spec)


def test_names_of_functions_that_ignore_nulls() -> None:
    """semantics 29.14: the names are Spark's, also in a document without names."""
    names = [F.lag("v", 2, 0, True).name, F.nth_value("v", 3, True).name]
    assert names == ["lag(v, 2, 0) ignore nulls", "nth_value(v, 3) ignore nulls"]
    document = {"columns": [{"fn": "lag", "column": "v", "n": 2, "default": 0, "ignorenulls": True}]}
    assert from_dict(document).columns[0].name == names[0]


def test_words_of_directions_values_and_excluded_rows() -> None:
    """semantics 29.13 to 29.15"""
    window = Window.orderBy(F.desc("ts"), "v", F.asc_nulls_last("w"), F.desc("x"))
    columns = {
        "a": F.sum("v").over(window.rowsBetween(0, Window.unboundedFollowing).excluding("ties")),
        "b": F.lag("v", 2, None, True).over(window),
    }
    text = describe(over_operator(columns))
    for words in (
        "a is sum of v over the rows from the row itself to the last row, without the other rows that",
        "b is value 2 of v before it that is not null, null if there is none",
        "in the descending order of ts, those of equal time by v, w with nulls last and x descending, then",
        "then the last to arrive first",
        "the time of the 2 rows after it, and of the 2 rows after it with a value of v",
    ):
        assert words in text
