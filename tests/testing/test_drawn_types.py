"""Lists, structs, maps, dates, timestamps and bytes in rows, in every runtime (semantics 31.20 to 31.23)."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import OverOperator, Session, StreamWindow, Tumbling, WindowOperator
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec import Frame, Interval, JoinOperator, OverColumn, Side, Specification
from panewise.streamwindow import count
from panewise.testing import TestStream, run, transcripts
from panewise.testing.compare import assert_entries
from panewise.testing.drawn_types import column_types, values_of
from tests.engine.effort import examples
from tests.nightly import every

RUNTIMES = ("engine", "standalone")


def same_everywhere(
    spec: Specification, events: list[dict[str, Any]], types: Any, **options: Any
) -> list[dict[str, Any]]:
    """Checks that all runtimes in this process emit the same; returns the outputs of the oracle."""
    expected = run(spec, events, types=types, **options)
    for name, chosen in (("engine", {}), ("engine", {"stored": True}), ("standalone", {"messages": True})):
        for got, wanted in zip(
            run(spec, events, name, types=types, **options, **chosen), expected, strict=True
        ):
            for kind in ("panes", "late", "invalid"):
                assert len(got[kind]) == len(wanted[kind])
                assert_entries(got[kind], wanted[kind], f"{name}: {kind}")
            assert got["counts"] == wanted["counts"]
    return expected


@st.composite
def rows_of_a_type(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    """Draws a type, and rows with a column `c` of it."""
    kind = draw(column_types())
    values = draw(st.lists(values_of(kind), min_size=1, max_size=6))
    made = [
        {"key": draw(st.sampled_from("ab")), "event_time": draw(st.integers(0, 25)), "c": value}
        for value in values
    ]
    return kind, made


def events_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    half = len(rows) // 2
    return [
        {"op": "add", "rows": rows[:half]},
        {"op": "watermark", "to": 12},
        {"op": "restart"},
        {"op": "add", "rows": rows[half:]},
        {"op": "finish"},
    ]


AGGREGATES = [
    F.first("c").alias("first"),
    F.last("c").alias("last"),
    F.first("c", ignorenulls=True).alias("known"),
    F.collect_list("c").alias("all"),
    F.count("c").alias("n"),
    F.collect_set("c").alias("set"),
    F.count_distinct("c").alias("distinct"),
    F.approx_count_distinct("c").alias("about"),
]


@examples(40)
@given(rows_of_a_type(), st.sampled_from([Tumbling(10), Session(3)]))
def test_windows(made: tuple[str, list[dict[str, Any]]], window: Any) -> None:
    """Every value keeps its nulls and empty lists (semantics 31.20, 31.22)."""
    kind, rows = made
    spec = WindowOperator(window=window, keys=["key"], aggregates=AGGREGATES)
    same_everywhere(spec, events_of(rows), {"c": kind, "key": "string"})


@given(rows_of_a_type())
def test_over(made: tuple[str, list[dict[str, Any]]]) -> None:
    kind, rows = made
    columns = [
        OverColumn(F.collect_list("c").alias("two"), Frame("rows", -1, 0)),
        OverColumn(F.lag("c", 1).alias("before")),
        OverColumn(F.first("c").alias("first"), Frame("rows", None, 0)),
    ]
    spec = OverOperator(keys=["key"], columns=columns)
    same_everywhere(spec, events_of(rows), {"c": kind, "key": "string"})


@examples(40)
@given(rows_of_a_type())
def test_policies(made: tuple[str, list[dict[str, Any]]]) -> None:
    kind, rows = made
    spec = StreamWindow.sliding(count(2), count(1), partition_by=["key"], aggregates=AGGREGATES[:5])
    events = [event for event in events_of(rows) if event["op"] != "watermark"]
    same_everywhere(spec, events, {"c": kind, "key": "string"})


@examples(40)
@given(rows_of_a_type(), rows_of_a_type())
def test_join(left: tuple[str, list[dict[str, Any]]], right: tuple[str, list[dict[str, Any]]]) -> None:
    (kind, lefts), (other, rights) = left, right
    spec = JoinOperator(
        left=Side(keys=["key"]), right=Side(keys=["key"], prefix="r_"), match=Interval(-9, 9), how="full"
    )
    types = {"left": {"c": kind, "key": "string"}, "right": {"c": other, "key": "string"}}
    events = [{"op": "add", "rows": {"left": lefts, "right": rights}}, {"op": "restart"}, {"op": "finish"}]
    same_everywhere(spec, events, types)


SHOWN = {
    "l": [[1, None], [], None],
    "s": [{"a": 1, "b": ["x", None]}, {}, None],
    "m": [{"x": 1, "y": None}, {}, None],
    "d": [date(2026, 1, 1), date(1, 1, 1), None],
    "t": [datetime(2026, 1, 1, tzinfo=UTC), -1, None],
    "b": [b"\x00\xff", b"", None],
    "n": [{1: [{"a": date(2026, 1, 1)}, None]}, {2: None}, None],
    "w": [datetime(2026, 1, 1), -1, None],  # noqa: DTZ001 - it has no zone
    "i": [2**31 - 1, -(2**31), None],
    "h": [2**15 - 1, -(2**15), None],
    "y": [127, -128, None],
    "f": [0.5, -0.0, None],
    "z": [{"i": [1, None], "y": -1, "f": 1.5, "w": 5}, {}, None],
}
TYPES = {
    "l": "array<bigint>",
    "s": "struct<a:bigint,b:array<string>>",
    "m": "map<string,bigint>",
    "d": "date",
    "t": "timestamp",
    "b": "binary",
    "n": "map<bigint,array<struct<a:date>>>",
    "w": "timestamp_ntz",
    "i": "int",
    "h": "smallint",
    "y": "tinyint",
    "f": "float",
    "z": "struct<i:array<int>,y:tinyint,f:float,w:timestamp_ntz>",
}


def entries(value: Any) -> Any:
    """Returns a map as the list of its entries, and an instant as microseconds."""
    if isinstance(value, datetime):
        return int(value.replace(tzinfo=UTC).timestamp()) * 1_000_000
    return [{"key": key, "value": one} for key, one in value.items()] if isinstance(value, dict) else value


@pytest.mark.parametrize(
    "runtime", ["oracle", "engine", "standalone", pytest.param("spark", marks=pytest.mark.spark)]
)
def test_rows_pass_through_every_runtime(runtime: str) -> None:
    """A map is a list of entries, an instant a number (semantics 31.20, 31.22). On Spark a map is a map."""
    rows = [{"event_time": n, **{name: SHOWN[name][n] for name in SHOWN}} for n in range(3)]
    made = [F.first(name).alias(f"{name}0") for name in SHOWN]
    made += [F.collect_list(name).alias(f"{name}s") for name in SHOWN]
    spec = WindowOperator(window=Tumbling(10), aggregates=made)
    played = TestStream(spec).rows(*rows[:1]).restart().rows(*rows[1:]).end().play(runtime, types=TYPES)
    wanted = {name: [entries(value) for value in values[:2]] for name, values in SHOWN.items()}
    wanted["z"] = [SHOWN["z"][0], {"i": None, "y": None, "f": None, "w": None}]
    wanted["s"] = [{"a": 1, "b": ["x", None]}, {"a": None, "b": None}]
    [pane] = played.panes
    for name, values in wanted.items():
        assert (pane[f"{name}0"], pane[f"{name}s"]) == (values[0], values)


@pytest.mark.parametrize("runtime", ["oracle", *RUNTIMES])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("array<bigint>", [1, "x"]),
        ("array<bigint>", [True]),
        ("array<bigint>", "ab"),
        ("array<double>", [1.5, Decimal(1)]),
        ("array<array<bigint>>", [[1], [2.5]]),
        ("struct<a:bigint>", {"a": 1, "b": 2}),
        ("struct<a:bigint>", {"a": "1"}),
        ("struct<a:bigint>", [1]),
        ("map<string,bigint>", {None: 1}),
        ("map<string,bigint>", {1: 1}),
        ("map<string,bigint>", ["x"]),
        ("array<bigint>", {1: 1}),
        ("date", datetime(2026, 1, 1, tzinfo=UTC)),
        ("array<date>", ["2026-01-01"]),
        ("timestamp", datetime(2026, 1, 1)),  # noqa: DTZ001 - that it has no zone is the point
        ("array<timestamp>", [2**63]),
        ("binary", "a"),
        ("tinyint", 128),
        ("array<smallint>", [True]),
        ("int", -(2**31) - 1),
        ("struct<a:float>", {"a": 1e39}),
        ("float", Decimal(1)),
        ("timestamp_ntz", datetime(2026, 1, 1, tzinfo=UTC)),
        ("decimal(3,1)", Decimal("1.25")),
        ("array<decimal(3,1)>", [Decimal("1.25")]),
    ],
)
def test_misfits_in_nested_values(runtime: str, kind: str, value: Any) -> None:
    """The whole value does not fit (semantics 31.21)."""
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.last("c").alias("last")])
    rows = [{"event_time": 1, "c": None}, {"event_time": 2, "c": value}]
    played = TestStream(spec).rows(*rows).end().play(runtime, types={"c": kind})
    played.assert_invalid([{"row": rows[1], "reason": "c has the wrong type"}])
    played.assert_panes([{"last": None}])


@pytest.mark.parametrize("runtime", ["oracle", *RUNTIMES])
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("date", [date(2026, 1, 1), date(1, 1, 1)]),
        ("timestamp", [5, -1]),
        ("timestamp_ntz", [5, -1]),
        ("int", [5, -1]),
        ("smallint", [5, -1]),
        ("tinyint", [5, -1]),
        ("float", [1.5, -0.5]),
        ("binary", [b"a", b""]),
        ("decimal(4,1)", [Decimal("1.5"), Decimal("-1.5")]),
    ],
)
def test_keys_and_order(runtime: str, kind: str, values: list[Any]) -> None:
    first, second = values
    rows = [{"event_time": n, "c": value} for n, value in enumerate([first, second, first, "misfit"])]
    spec = WindowOperator(
        window=Tumbling(10), keys=["c"], aggregates=[F.count().alias("n"), F.max("c").alias("m")]
    )
    played = TestStream(spec).rows(*rows).restart().end().play(runtime, types={"c": kind})
    played.assert_invalid([{"reason": "c has the wrong type"}])
    played.assert_panes([{"c": second, "m": second, "n": 1}, {"c": first, "m": first, "n": 2}])


@pytest.mark.parametrize("runtime", ["oracle", *RUNTIMES])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (WindowOperator(window=Tumbling(10), keys=["c"], aggregates=[F.count()]), r"key c: .* \| a key is a"),
        (WindowOperator(window=Tumbling(10), aggregates=[F.max("c")]), "max takes values that have an order"),
        (
            OverOperator(keys=[], order=["c"], columns=[OverColumn(F.row_number().alias("n"))]),
            r"order c: .* \| rows are ordered by simple values \| use its fields, before the operator",
        ),
    ],
)
@pytest.mark.parametrize("value", [[1], {"a": 1}])
def test_what_has_no_order_is_refused(spec: Specification, message: str, value: Any, runtime: str) -> None:
    """The types are inferred (semantics 24.19, 31.23)."""
    with pytest.raises(SpecError, match=message):
        TestStream(spec).rows({"event_time": 1, "c": value}).play(runtime)


def test_a_difference_is_shown_in_full() -> None:
    spec = WindowOperator(window=Tumbling(10), aggregates=[F.last("c").alias("c")])
    played = TestStream(spec).rows({"event_time": 1, "c": [{"a": 1, "b": [None]}]}).end().play()
    played.assert_panes([{"c": [{"a": 1.0, "b": [None]}]}])
    with pytest.raises(AssertionError) as caught:
        played.assert_panes([{"c": [{"a": 1, "b": []}]}])
    lines = str(caught.value).splitlines()
    assert lines[:2] == ["panes: expected 1 (-), got 1 (+)", "- c=[{'a': 1, 'b': []}]"]
    assert "+ c=[{'a': 1, 'b': [None]}]" in lines


SMALLER = ("tinyint", "smallint", "int", "float")


@pytest.mark.parametrize(
    ("runtime", "kind"),
    [
        pytest.param(runtime, kind, marks=[pytest.mark.spark, *every(4, n)] if runtime == "spark" else [])
        for runtime in ("oracle", *RUNTIMES, "spark")
        for n, kind in enumerate(SMALLER)
    ],
)
def test_sums_of_smaller_numbers_are_wide(runtime: str, kind: str) -> None:
    """semantics 31.20"""
    spec = WindowOperator(
        window=Tumbling(10),
        aggregates=[
            F.sum("c").alias("s"),
            F.avg("c").alias("a"),
            F.min("c").alias("m"),
            F.max("c").alias("x"),
        ],
    )
    rows = [{"event_time": n, "c": 100} for n in range(4)]
    played = TestStream(spec).rows(*rows).end().play(runtime, types={"c": kind})
    [pane] = played.panes
    assert (pane["s"], pane["a"], pane["m"], pane["x"]) == (400, 100.0, 100, 100)
    assert type(pane["s"]) is (float if kind == "float" else int)


@pytest.mark.parametrize("runtime", ["oracle", *RUNTIMES])
@pytest.mark.parametrize("kind", ["date", "timestamp", "binary"])
def test_the_first_misfit_is_the_reason(runtime: str, kind: str) -> None:
    """A misfit in a later key is no null key (semantics 15)."""
    spec = WindowOperator(
        window=Tumbling(10), keys=["a", "c"], null_keys=False, aggregates=[F.count().alias("n")]
    )
    played = TestStream(spec).rows({"event_time": 1, "a": "x", "c": "misfit"})
    played.play(runtime, types={"a": "bigint", "c": kind}).assert_invalid(
        [{"reason": "a has the wrong type"}]
    )


TRANSCRIPT = """
- name: nested columns
  cites: ["31.22"]
  spec: {window: {kind: tumbling, size: 10}, aggregates: [{fn: collect_list, column: c, name: all}]}
  types: {c: "map<string,array<date>>"}
  events:
  - {op: add,
     rows: [{event_time: 1, c: {a: [2026-01-01, null]}}, {event_time: 2, c: {}}, {event_time: 3, c: 5}],
     expect: {invalid: [{reason: c has the wrong type}]}}
  - {op: finish, expect: {panes: [{all: [[{key: a, value: [2026-01-01, null]}], []]}]}}
"""


@pytest.mark.parametrize("runtime", ["oracle", *RUNTIMES])
def test_transcripts(runtime: str, tmp_path: Path) -> None:
    (tmp_path / "nested.yaml").write_text(TRANSCRIPT, encoding="utf-8")
    [document] = transcripts.load(tmp_path / "nested.yaml")
    transcripts.check(document, runtime)
    document["events"][1]["expect"]["panes"][0]["all"][0][0]["value"] = []
    with pytest.raises(AssertionError, match="panes: expected 1"):
        transcripts.check(document, runtime)
