"""SQL in process: the transcripts of SQL, whole and in steps, and what is refused."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from IPython.core.interactiveshell import InteractiveShell

from panewise.errors import InputError, SqlError
from panewise.sql import compile_sql
from panewise.sql.stages import JoinStage, QueryStage, TableStage, walk
from panewise.standalone import SqlOutput, SqlQuery, sql
from panewise.standalone.streaming_sql.streaming_sql import SqlRun
from tests.sql.player import _sorted, documents, events_of, instant, microseconds

# A table here has the event time that its WATERMARK names, and no other.
NAMED = [(file, document) for file, document in documents() if "time" not in document]
DOCUMENTS = [document for _, document in NAMED]
IDS = [f"{file}: {document['name']}" for file, document in NAMED]
EMPTY = {
    "k": pl.Int64,
    "ts": pl.Datetime("us", "UTC"),
    "v": pl.Int64,
    "w": pl.Int64,
}  # of a table without rows


def tables_of(stage: QueryStage) -> dict[str, str]:
    """Returns the names of the tables of a text, each with the name of its rows in a transcript."""
    stage = next((inner for inner in walk(stage) if isinstance(inner, JoinStage)), stage)
    if not isinstance(stage, JoinStage):
        return {one.name or "": "rows" for one in walk(stage) if isinstance(one, TableStage)}
    sides = zip((stage.left, stage.right), stage.names, strict=True)
    return {
        table: name if shown == "rows" else shown
        for side, name in sides
        for table, shown in tables_of(side).items()
    }


def frames_of(
    names: Mapping[str, str], event: Mapping[str, Any], schemas: Any = None
) -> dict[str, pl.DataFrame]:
    schema = schemas or dict.fromkeys(names)
    return {
        table: pl.DataFrame(
            event.get(shown, event.get(table, [])), schema=schema[table], infer_schema_length=None
        )
        for table, shown in names.items()
    }


def wanted(event: Mapping[str, Any]) -> list[str]:
    return _sorted([{name: instant(value) for name, value in row.items()} for row in event.get("expect", [])])


@pytest.mark.parametrize(
    ("condition", "args", "rows"),
    [
        ("v > 3 -:n", {"n": -9}, []),
        ("v = -:n", {"n": -8}, [8]),
        ("v > 1 -?", [-5], [8]),
        ("v > -?", [-1.5], [2, 8]),
        ("v BETWEEN ? AND ?", [-3, 2], [1, 2]),
        ("v > :n", {"n": 2, "unused": 1}, [8]),
    ],
)
def test_parameters_are_values(condition: str, args: Any, rows: list[int]) -> None:
    """semantics 46.50: `--5` would be a comment."""
    text = f"SELECT v FROM t WHERE {condition} AND v < 100"
    assert sql(text, args, t=pl.DataFrame({"v": [1, 2, 8]})).rows["v"].to_list() == rows


@pytest.mark.parametrize(
    ("condition", "args", "error"),
    [
        ("v > ?", None, r"^\? \| each parameter of a text has a value in args"),
        ("v > :n", None, "^:n \\| each parameter of a text has a value in args"),
        ("v > :n", {"m": 1}, "^:n \\| each parameter of a text has a value in args"),
        ("v > ?", [], r"^\? \| each parameter of a text has a value in args"),
        ("v > ?", [1, 2], r"^args=\[1, 2\] for 1 parameters \| a list of args has one value for each"),
        ("v > ?", "12", "^args='12' for 1 parameters"),
        ("v > 1", [3], r"^args=\[3\] for 0 parameters"),
    ],
)
def test_parameters_and_values_are_as_many(condition: str, args: Any, error: str) -> None:
    with pytest.raises(SqlError, match=error):
        sql(f"SELECT v FROM t WHERE {condition}", args, t=pl.DataFrame({"v": [1, 2, 8]}))


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_transcript(document: dict[str, Any]) -> None:
    """semantics 46.50, 46.51"""
    text, events = document["sql"], events_of(document)
    names = tables_of(compile_sql(text).stage)
    if "events" not in document:
        assert _sorted(sql(text, **frames_of(names, events[0])).rows.to_dicts()) == wanted(document)
        return
    keys = {*names, *names.values()}
    together = {key: [row for event in events for row in event.get(key, [])] for key in keys}
    schemas = {name: dict(frame.schema) or EMPTY for name, frame in frames_of(names, together).items()}
    # The watermarks of a transcript move by its events.
    run = SqlRun(text, schemas, document.get("update"), follows=False)
    for event in events:
        assert _sorted(stepped(run, names, event, schemas).rows.to_dicts()) == wanted(event)


def stepped(run: SqlRun, names: Mapping[str, str], event: Mapping[str, Any], schemas: Any) -> SqlOutput:
    watermarks = dict.fromkeys(names, microseconds(event["watermark"])) if "watermark" in event else {}
    clock = microseconds(event["clock"]) if "clock" in event else None
    return run.step(frames_of(names, event, schemas), watermarks, clock, finish="finish" in event)


def at(minute: int, hour: int = 12) -> datetime:
    return datetime(2024, 1, 1, hour, minute, tzinfo=UTC)


ORDERS = pl.DataFrame({"ts": [at(1), at(2), None], "k": ["a", "b", "a"], "v": [1, 2, 4]})
SPELLED = pl.DataFrame({"Ts": [at(1), at(12), at(13)], "K": ["a", "b", "a"], "v": [1, 2, 4]})
MARK = "WATERMARK ts DELAY OF INTERVAL '0' SECONDS"
COUNTS = "SELECT k, count(*) AS n FROM {} GROUP BY k, window(ts, '1 hour')"


def test_late_and_invalid_rows() -> None:
    """semantics 46.50, 46.51"""
    query = SqlQuery(COUNTS.format("t WATERMARK ts DELAY OF INTERVAL '5' MINUTES"), t=dict(ORDERS.schema))
    first = query.add(t=ORDERS)
    assert (first.rows.height, first.late.height, first.invalid["reason"].to_list()) == (
        0,
        0,
        ["event time is null"],
    )
    second = query.add(t=pl.DataFrame({"ts": [at(10, 13)], "k": ["a"], "v": [8]}))
    assert sorted(second.panes.rows()) == [("a", 1), ("b", 1)]
    late = query.add(t=ORDERS[:1]).late
    assert late.unnest("row").select("k", "v", "reason").rows() == [("a", 1, "expired")]
    assert query.finish().rows.rows() == [("a", 1)]
    assert "Windows: each row belongs to one window of 1 hour" in query.explain()
    assert "0 late, 0 invalid" in repr(second)
    assert "0 late rows, 1 invalid rows" in first._repr_html_()


def test_watermarks_have_no_effect_on_a_whole_input() -> None:
    """semantics 46.50"""
    rows = pl.DataFrame({"ts": [at(0, 20), at(1)], "k": ["a", "a"], "v": [1, 2]})
    output = sql(COUNTS.format("t WATERMARK ts DELAY OF INTERVAL '0' SECONDS"), t=rows)
    assert (output.rows.height, output.late.height) == (2, 0)


def test_tables_of_arrow_and_parameters() -> None:
    """semantics 46.50"""
    text = "SELECT sum(v) AS s FROM {t} WHERE k = :key GROUP BY window(ts, '1 hour')"
    table: Any = ORDERS.to_arrow()
    assert sql(text, {"key": "b"}, t=table).rows.rows() == [(2,)]
    assert sql(
        text, {"key": "b"}, t=pa.RecordBatch.from_struct_array(table.to_struct_array().chunk(0))
    ).rows.rows() == [(2,)]


@pytest.mark.parametrize("dtype", [pl.UInt8, pl.UInt16, pl.UInt32, pl.Int8])
def test_unsigned_numbers_are_numbers(dtype: Any) -> None:
    """As those of `pl.len()` (semantics 15.32)."""
    frame = pl.DataFrame({"ts": [datetime(2024, 1, 1, tzinfo=UTC)] * 2, "v": [100, 27]})
    text = "SELECT sum(v) AS s, max(v) AS m FROM TUMBLE(t, ts, INTERVAL '1' HOUR) GROUP BY window_start"
    assert sql(text, t=frame.with_columns(pl.col("v").cast(dtype))).rows.rows() == [(127, 100)]


def test_rows_without_an_operator() -> None:
    """semantics 46.50"""
    assert sql("SELECT v * 2 AS w, k FROM t WHERE v > 1", t=ORDERS).rows.rows() == [(4, "b"), (8, "a")]
    bounds = sql("SELECT v, window_end FROM HOP(t, ts, INTERVAL 30 MINUTES, INTERVAL 1 HOUR)", t=ORDERS).rows
    assert bounds["v"].to_list() == [1, 1, 2, 2]
    assert bounds["window_end"].to_list()[:2] == [at(0, 13), at(30)]
    named = ORDERS.rename({"v": "__at", "k": "__number"})
    steps = sql("SELECT * FROM CUMULATE(t, ts, INTERVAL 1 HOUR, INTERVAL 2 HOURS)", t=named).rows
    assert steps.columns == [*named.columns, "window_start", "window_end", "window_time"]
    assert sql("SELECT __number, 1 AS one FROM t", t=named).rows.rows() == [("a", 1), ("b", 1), ("a", 1)]


def test_all_columns_but_some() -> None:
    """semantics 46.52"""
    assert sql("SELECT * EXCEPT (K, `ts`) FROM t WHERE v > 1", t=ORDERS).rows.rows() == [(2,), (4,)]
    assert sql("SELECT o.* EXCEPT (ts), v AS w FROM t o WHERE v > 2", t=ORDERS).rows.rows() == [("a", 4, 4)]


def test_all_columns_of_a_top_n_of_panes_have_their_order() -> None:
    """semantics 46.19"""
    panes = (
        "SELECT window_end, K, sum(v) AS S, window_start FROM TUMBLE(t, ts, '1 h') GROUP BY k, window_start"
    )
    number = "ROW_NUMBER() OVER (PARTITION BY window_start ORDER BY s)"
    rows = sql(f"SELECT * FROM (SELECT *, {number} AS n FROM ({panes})) WHERE n = 1", t=ORDERS).rows
    assert rows.columns == ["window_end", "K", "S", "window_start", "n"]
    named = f"SELECT s, window_end AS e, {number} AS n, k FROM ({panes})"
    assert sql(f"SELECT * FROM ({named}) WHERE n = 1", t=ORDERS).rows.columns == ["s", "e", "n", "k"]


def test_the_first_panes_may_have_a_column_rows() -> None:
    """semantics 46.19"""
    panes = "SELECT window_end, k, sum(v) AS rows FROM TUMBLE(t, ts, '1 h') GROUP BY k, window_end"
    number = "ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY rows DESC)"
    first = sql(f"SELECT rows FROM (SELECT rows, {number} AS n FROM ({panes})) WHERE n = 1", t=ORDERS).rows
    assert first.rows() == [(2,)]


def test_a_join_of_windows() -> None:
    """semantics 46.111"""
    columns = "k, window_start, window_end, {} AS {}"
    side = f"(SELECT {columns} FROM TUMBLE(t {MARK}, ts, '10 min') GROUP BY k, window_start)"
    first, second = (side.format(*parts) for parts in (("sum(v)", "s"), ("count(*)", "n")))
    on = "a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end"
    text = f"SELECT a.k, a.s, b.n FROM {first} a LEFT JOIN {second} b ON {on}"
    table = pl.DataFrame({"ts": [at(1), at(2), at(12), at(30)], "k": ["a", "a", "b", "c"], "v": [1, 2, 4, 8]})
    query = SqlQuery(text, t=dict(table.schema))
    assert sorted(query.add(t=table).rows.rows()) == [("a", 3, 2), ("b", 4, 1)]
    assert query.finish().rows.rows() == [("c", 8, 1)]
    with pytest.raises(SqlError, match="in process"):
        sql(text.replace("a.k, a.s, b.n", "*"), t=table)  # both have k


@pytest.mark.parametrize("bound", ["window_start", "window_end"])
def test_window_aggregations_are_joined_by_one_bound(bound: str) -> None:
    """semantics 46.122"""
    side = f"(SELECT k, {bound}, {{}} AS n FROM TUMBLE(t {MARK}, ts, '{{}} min') GROUP BY k, {bound})"
    on = f"a.k = b.k AND a.{bound} = b.{bound}"
    text = f"SELECT a.k, a.n AS s, b.n FROM {side.format('sum(v)', 10)} a JOIN {side} b ON {on}"
    table = pl.DataFrame({"ts": [at(1), at(2), at(12), at(18)], "k": ["a", "a", "b", "c"], "v": [1, 2, 4, 8]})
    assert sql(text.format("count(*)", 10), t=table).rows.rows() == [("a", 3, 2), ("b", 4, 1), ("c", 8, 1)]
    other = text.format("count(*)", 20)  # windows of another length
    if bound == "window_end":
        assert sql(other, t=table).rows.rows() == [("b", 4, 1), ("c", 8, 1)]
    else:
        with pytest.raises(SqlError, match="in process"):
            sql(other, t=table)


def test_expressions_in_a_join_of_joined_rows() -> None:
    """semantics 46.117, 46.120"""
    text = f"""SELECT a.v, c.w FROM a {MARK} JOIN b {MARK} WITHIN 1 HOUR ON a.k = upper(b.k)
        LEFT JOIN c {MARK} WITHIN 1 MINUTE ON upper(b.k) = trim(c.k)"""
    left = pl.DataFrame({"ts": [at(1), at(2)], "k": ["A", "B"], "v": [1, 2]})
    inner = pl.DataFrame({"ts": [at(3), at(4)], "k": ["a", "b"]})
    right = pl.DataFrame({"ts": [at(3), at(30)], "k": [" A", "B "], "w": [5, 6]})
    assert sorted(sql(text, a=left, b=inner, c=right).rows.rows()) == [(1, 5), (2, None)]


def test_expressions_that_are_no_keys_are_no_columns() -> None:
    """semantics 46.117"""
    table = pl.DataFrame(
        {"ts": [None, at(1)], "k": ["a", "a"], "v": [1, 2]}, schema_overrides={"ts": EMPTY["ts"]}
    )
    text = f"SELECT a.v FROM a {MARK} JOIN b {MARK} WITHIN 1 HOUR ON a.k = b.k AND a.v % 2 = 0"
    output = sql(text, a=table, b=table)
    assert output.rows.rows() == [(2,)]
    assert [field.name for field in output.invalid.schema["row"].fields] == ["ts", "k", "v"]  # type: ignore[attr-defined]


def test_a_key_is_written_twice() -> None:
    """semantics 46.117"""
    table = pl.DataFrame({"ts": [at(1)], "k": ["a"], "v": [1]})
    equal = "a.v + 1 = b.v + 1"
    text = f"SELECT a.v FROM a {MARK} JOIN b {MARK} WITHIN 1 HOUR ON {equal} AND {equal}"
    assert sql(text, a=table, b=table).rows.rows() == [(1,)]


def test_single_rows_with_emit_changes() -> None:
    """semantics 46.118"""
    text = f"SELECT k, window_end FROM TUMBLE(t {MARK}, ts, '10 min') WHERE v > 1 EMIT CHANGES"
    table = pl.DataFrame({"ts": [at(1), at(12)], "k": ["a", "b"], "v": [1, 2]})
    query = SqlQuery(text, t=dict(table.schema))
    assert query.add(t=table).rows.rows() == [("b", at(20))]


@pytest.mark.parametrize(
    ("sql_text", "message"),
    [
        ("SELECT a.v, b.v FROM a JOIN b OVER (LATEST) ON a.k = b.k", "two columns v"),
        ("SELECT * FROM a JOIN b OVER (LATEST) ON a.k = b.k", "two columns ts"),
        ("SELECT a.v FROM a JOIN b WITHIN 1 HOUR ON a.k = b.k", "or the only"),
        (
            f"SELECT * FROM (SELECT a.v FROM a {MARK} JOIN b {MARK} WITHIN 1 HOUR ON a.k = b.k) EMIT FINAL",
            "event time",
        ),
        (
            f"SELECT a.v FROM a {MARK} JOIN b OVER (LATEST) ON a.k = b.k JOIN c WITHIN 1 HOUR ON a.k = c.k",
            "a join of a and b without event times",
        ),
    ],
)
def test_what_is_wrong_with_the_columns_of_a_join(sql_text: str, message: str) -> None:
    """semantics 46.52, 46.120"""
    table = pl.DataFrame({"ts": [at(1)], "k": ["a"], "v": [1], "other": [at(1)]})
    with pytest.raises(SqlError, match=message):
        SqlQuery(sql_text, **{name: dict(table.schema) for name in "abc"})


def test_rows_far_ahead_move_no_watermark() -> None:
    """semantics 46.112"""
    text = COUNTS.format(f"t WITH (max_future_skew = '1 hour') {MARK}")
    query = SqlQuery(text, t=dict(ORDERS.schema))
    query.advance(clock=at(0))
    times = (at(0, 20), at(1), at(5, 13))
    far, soon, later = (ORDERS.head(1).with_columns(ts=pl.lit(time)) for time in times)
    assert query.add(t=far).invalid["reason"].to_list() == ["event time is too far ahead"]
    assert query.add(t=soon).late.height == 0
    assert query.add(t=later).invalid.height == 1  # it is five minutes more than an hour ahead
    query.advance(clock=at(5))
    assert query.add(t=later).rows.rows() == [("a", 1)]  # it moves the watermark
    assert query.add(t=soon).late.height == 1


def test_a_notebook_shows_a_result_as_html() -> None:
    """semantics 46.50"""
    output = sql(COUNTS.format("t"), t=ORDERS)
    shown, _ = InteractiveShell().display_formatter.format(output)
    assert "<table" in shown["text/html"]


OTHER_CASE = [
    ("SELECT k, sum(V) AS s FROM TUMBLE(t {}, TS, INTERVAL '10' MINUTES) GROUP BY k, window_start", 3),
    ("SELECT k, count(*) AS n FROM TUMBLE(t, SIZE => INTERVAL '1' HOUR) GROUP BY k, window_start", 2),
    ("SELECT sum(V) AS s FROM t [RANGE 1 MINUTE] {}", 4),
    ("SELECT lag(V) OVER (PARTITION BY k ORDER BY ts, V DESC) AS l FROM t {}", 3),
    ("SELECT DISTINCT k, TS FROM t {}", 3),
    ("SELECT k FROM t {} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) = 1", 2),
    ("SELECT a.k, b.V FROM t a JOIN t b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.TS + INTERVAL '1' HOUR", 4),
    ("SELECT k, max(V) AS m FROM t WITH (order = 'V') {} GROUP BY k EMIT CHANGES", 2),
    (
        "SELECT x FROM (SELECT k AS X, ts AS Z FROM t) WATERMARK z DELAY OF '0 s' GROUP BY x, tumble('1 h')",
        2,
    ),
]


@pytest.mark.parametrize(("text", "count"), OTHER_CASE)
def test_case_has_no_effect_in_names_of_columns(text: str, count: int) -> None:
    """semantics 46.66"""
    marked = text.format(MARK)
    assert sql(marked, t=SPELLED).rows.height == count
    query = SqlQuery(marked, t=dict(SPELLED.schema))
    assert query.add(t=SPELLED).rows.height + query.finish().rows.height == count


COMPUTING = [
    f"SELECT sum(v + 1) AS s FROM t {MARK} GROUP BY upper(k), window(ts, '1 hour')",
    f"SELECT sum(v + 1) OVER (PARTITION BY upper(k) ORDER BY ts) AS s FROM t {MARK}",
    (
        f"SELECT k FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY v) AS n "
        f"FROM TUMBLE(t {MARK}, ts, INTERVAL '1' HOUR)) WHERE n <= 2"
    ),
]


@pytest.mark.parametrize("text", COMPUTING)
def test_late_and_invalid_rows_have_no_computed_columns(text: str) -> None:
    """semantics 46.3"""
    query = SqlQuery(text, t=dict(ORDERS.schema))
    invalid = query.add(t=ORDERS).invalid
    query.advance({"t": at(5, 15)})
    late = query.add(t=ORDERS[:1]).late
    assert (invalid.height, late.height) == (1, 1)
    assert invalid.schema["row"] == late.schema["row"] == pl.Struct(dict(ORDERS.schema))


def test_late_and_invalid_rows_have_columns_without_rows() -> None:
    """semantics 46.106"""
    output = sql(COUNTS.format("t"), t=ORDERS[:1])
    assert output.late.schema["row"] == pl.Struct(dict(ORDERS.schema))
    assert output.late.columns == ["row", "reason", "windows", "late_by", "partial"]
    assert output.invalid.columns == ["row", "reason"]
    assert sql("SELECT k FROM t", t=ORDERS).late.columns == []
    joined = "SELECT a.k FROM t a JOIN u b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR"
    both = sql(joined, t=ORDERS, u=ORDERS.rename({"v": "w"})).late
    assert [field.name for field in both.schema["row"].fields] == ["ts", "k", "v", "w"]  # type: ignore[attr-defined]


def test_columns_without_a_name_have_those_of_spark() -> None:
    """semantics 46.105"""
    text = "SELECT k, count(*), sum(v + 1) FROM t GROUP BY k, window(ts, '1 hour')"
    assert sql(text, t=ORDERS).rows.columns == ["k", "count(1)", "sum((v + 1))"]
    outer = f"SELECT `count(1)` AS n FROM ({text}) WHERE `sum((v + 1))` > 2"
    assert sql(outer, t=ORDERS).rows.rows() == [(1,)]
    over = "SELECT v, lag(v) OVER (ORDER BY ts) FROM t"
    frame = "ORDER BY ts ASC NULLS FIRST ROWS BETWEEN -1 FOLLOWING AND -1 FOLLOWING"
    assert sql(over, t=ORDERS).rows.columns == ["v", f"lag(v, 1, NULL) OVER ({frame})"]


REFUSED = [
    ("SELECT a.v FROM t a JOIN t b ON a.k = b.k", "in process there are selections, windows, functions OVER"),
    ("SELECT sha2(k, 256) AS h FROM t", r"sha2\(\.\.\.\) \| in process there are the functions"),
    ("SELECT v[0] AS h FROM t", "v\\[0\\]"),
    ("SELECT w FROM t", "a column w"),
    ("SELECT count(*) FROM w GROUP BY window(ts, '1 hour')", "a table w"),
    ("SELECT k, k FROM t", "two columns with the name k | in process each column has a name of its own"),
    ("SELECT count(*) AS n FROM TUMBLE(u, SIZE => INTERVAL '1' HOUR) GROUP BY window_start", "or the only"),
    ("SELECT sum(v) FROM t [RANGE 1 MINUTE]", "a window of time has an event time"),
    ("SELECT k FROM u WATERMARK at DELAY OF INTERVAL '1' HOUR", "WATERMARK at"),
    ("SELECT k FROM u", "means several"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_only_spark_runs_is_refused_by_name(text: str, message: str) -> None:
    """semantics 46.52"""
    with pytest.raises(SqlError, match=message):
        sql(text, t=ORDERS, u=pl.DataFrame({"k": [1], "K": [1]}))


def test_wrong_arguments() -> None:
    """semantics 46.50, 46.51"""
    with pytest.raises(InputError, match="a table is a Polars DataFrame"):
        sql("SELECT 1 AS a FROM t", t=[1])  # type: ignore[arg-type]
    query = SqlQuery(COUNTS.format("t"), t=dict(ORDERS.schema))
    with pytest.raises(InputError, match="each table has a watermark of its own"):
        query.advance(5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a schema has a type for each column"):
        SqlQuery("SELECT v FROM t", t=pl.DataFrame({"v": [1]}))  # type: ignore[arg-type]
    one, two = pl.DataFrame({"v": [1]}), pl.DataFrame({"v": [1, 2]})
    with pytest.raises(InputError, match=r"^the tables \['t', 'T'\] \| .* not case-sensitive"):
        sql("SELECT v FROM t", t=two, T=one)
    with pytest.raises(InputError, match=r"^the tables \['t', 'T'\] \| .* not case-sensitive"):
        SqlQuery("SELECT v FROM t", t={"v": "bigint"}).add(t=two, T=one)
    with pytest.raises(InputError, match=r"^type Object of 'v' \| .* \| leave the column out"):
        sql("SELECT v FROM t", t=pl.DataFrame({"v": pl.Series([object()], dtype=pl.Object)}))
    with pytest.raises(InputError, match="the tables of this query are"):
        query.add(u=ORDERS)
    with pytest.raises(InputError, match="without 'v'"):
        query.add(t=ORDERS.drop("v"))
    query.finish()
    with pytest.raises(InputError, match=r"ended|finish"):
        query.add(t=ORDERS)


@pytest.mark.parametrize(
    "windows", ["HOP(t, ts, SLIDE => '2 hours', SIZE => '1 hour')", "SESSION(t, SIZE => 3 ROWS)"]
)
def test_rows_have_no_bounds_of_windows_with_gaps_or_of_rows(windows: str) -> None:
    """semantics 46.5, 46.169"""
    with pytest.raises(SqlError, match="of time without gaps"):
        sql(f"SELECT k, window_end FROM {windows}", t=pl.DataFrame(schema=EMPTY))


ENDLESS = [
    ("SELECT k, count(*) AS n FROM t GROUP BY k", r"(?s)add EMIT CHANGES.*line 1, column 41"),
    ("SELECT sum(v) AS s FROM t GROUP BY window(ts, '1 hour') ORDER BY s", "not sorted or limited"),
]


@pytest.mark.parametrize(("text", "message"), ENDLESS)
def test_what_has_no_end_in_steps_is_refused(text: str, message: str) -> None:
    """semantics 46.27, 46.172"""
    with pytest.raises(SqlError, match=message):
        SqlQuery(text, t=EMPTY)


@pytest.mark.parametrize("sum_of", ["v + 1", "v * 3", "-2 - v"])
def test_a_result_beyond_its_type_is_an_error(sum_of: str) -> None:
    """semantics 46.52"""
    table = pl.DataFrame({"v": pl.Series([2**31 - 1], dtype=pl.Int32)})
    with pytest.raises(InputError, match="an overflow"):
        sql(f"SELECT {sum_of} AS x FROM t", t=table)
    assert sql("SELECT CAST(v AS BIGINT) + 1 AS x FROM t", t=table).rows["x"].to_list() == [2**31]


@pytest.mark.parametrize(
    ("sql_text", "shown"),
    [
        ("SELECT k,\n  exp(v) AS e FROM t", ("  exp(v) AS e FROM t", "  ^^^")),
        ("SELECT k, W FROM t", ("SELECT k, W FROM t", "          ^")),
        ("SELECT k, k FROM t", ("SELECT k, k FROM t", "       ^")),
        (
            "SELECT k, CAST(v[0] AS INT) AS i FROM t",
            ("SELECT k, CAST(v[0] AS INT) AS i FROM t", " " * 15 + "^^^^"),
        ),
        (
            "SELECT exp(v) FROM (SELECT k, v FROM t)",
            ("SELECT exp(v) FROM (SELECT k, v FROM t)", " " * 7 + "^^^"),
        ),
    ],
)
def test_what_is_refused_in_process_has_a_place(sql_text: str, shown: tuple[str, str]) -> None:
    """semantics 46.125"""
    with pytest.raises(SqlError) as caught:
        sql(sql_text, t=pl.DataFrame({"k": ["a"], "v": [1]}))
    line, carets = str(caught.value).rsplit("\n", 2)[1:]
    assert (line.removeprefix("  "), carets.removeprefix("  ")) == shown


NUMBERED = pl.DataFrame({"ts": [at(1), at(2), at(3)], "k": ["a", "b", "a"], "v": [1, 2, 4], "id": [1, 2, 3]})
BY_NUMBERS = [
    "SELECT count(*) AS n FROM TUMBLE(t, id, INTERVAL '1' SECOND) GROUP BY window_start",
    "SELECT v, window_start FROM TUMBLE(t, id, INTERVAL '1' SECOND)",
    "SELECT v, window_start FROM TUMBLE(t, k, INTERVAL '1' SECOND)",
    "SELECT count(*) AS n FROM t GROUP BY window(id, '1 second')",
    "SELECT a.v FROM t a JOIN t b ON b.id BETWEEN a.id AND a.id + INTERVAL '1' SECOND",
    "SELECT a.v FROM t a ASOF JOIN t b ON a.id >= b.id",
    "SELECT v FROM t WATERMARK id DELAY OF INTERVAL '0' SECONDS EMIT FINAL",
    "SELECT DISTINCT v FROM t WATERMARK id DELAY OF INTERVAL '0' SECONDS",
]


@pytest.mark.parametrize("text", BY_NUMBERS)
def test_an_event_time_is_an_instant(text: str) -> None:
    """semantics 46.132"""
    with pytest.raises(SqlError, match=r"event time (id|k) \| the event time is a TIMESTAMP"):
        sql(text, t=NUMBERED)


def test_functions_over_a_whole_input_may_follow_numbers() -> None:
    """semantics 46.132, 46.170"""
    text = "SELECT id, sum(v) OVER (ORDER BY id) AS s FROM t"
    assert sorted(sql(text, t=NUMBERED).rows.rows()) == [(1, 1), (2, 3), (3, 7)]
    with pytest.raises(SqlError, match=r"event time id \| the event time is a TIMESTAMP"):
        SqlQuery(text, t=dict(NUMBERED.schema))
    assert SqlQuery(text.replace("BY id", "BY ts"), t=dict(NUMBERED.schema)).add(t=NUMBERED).rows.height == 0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1 AS one FROM TUMBLE(t, ts, INTERVAL '5' MINUTES)",
        "SELECT 1 AS one FROM (SELECT sum(v) AS s FROM t GROUP BY window(ts, '1 minute'))",
        "SELECT 1 AS one FROM t a JOIN t b ON a.v = b.v AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' MINUTE",
    ],
)
def test_constants_alone(text: str) -> None:
    """semantics 46.131"""
    assert sql(text, t=NUMBERED).rows["one"].to_list() == [1, 1, 1]
    assert sql(text, t=NUMBERED[:0]).rows.schema == {"one": pl.Int32()}
    assert sql(f"SELECT count(*) AS n FROM ({text}) EMIT FINAL", t=NUMBERED).rows.rows() == [(3,)]


ADDRESSES = pl.DataFrame(
    {"ts": [at(1), at(2)], "k": ["a", "a"], "v": [1, 2], "s": [{"x": 7, "at": at(1)}, {"x": 8, "at": at(2)}]}
)
REFUSED_STARS = [
    "SELECT s.*, lag(v) OVER (ORDER BY ts) AS l FROM t",
    "SELECT other.*, lag(v) OVER (ORDER BY ts) AS l FROM t",
    "SELECT t.s.*, lag(v) OVER (ORDER BY ts) AS l FROM t",
    "SELECT s.* FROM t WATERMARK ts DELAY OF INTERVAL '0' SECONDS EMIT FINAL",
    "SELECT s.* FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM t) WHERE n = 1",
    "SELECT * FROM (SELECT s.*, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM t) WHERE n = 1",
    "SELECT w.* FROM (SELECT window AS w, count(*) AS n FROM t GROUP BY window(ts, '1 minute'))",
]


@pytest.mark.parametrize("text", REFUSED_STARS)
def test_a_star_of_no_table(text: str) -> None:
    """semantics 46.133"""
    with pytest.raises(SqlError, match=r"\.\* \| `t\.\*` has the columns of a table of the query"):
        sql(text, t=ADDRESSES)


def test_stars_of_tables_and_structs() -> None:
    """semantics 46.133"""
    rows = sql("SELECT x.*, lag(v) OVER (ORDER BY ts) AS l FROM t AS x", t=ADDRESSES).rows
    assert rows.columns == ["ts", "k", "v", "s", "l"]
    rows = sql("SELECT s.* EXCEPT (at), window_start FROM TUMBLE(t, ts, INTERVAL '1' HOUR)", t=ADDRESSES).rows
    assert rows.rows() == [(7, at(0)), (8, at(0))]
    assert sql("SELECT t.* FROM TUMBLE(t, ts, INTERVAL '1' HOUR)", t=ADDRESSES).rows.columns[:4] == [
        *ADDRESSES.columns
    ]


def test_fields_of_structs_over_joins_and_as_watermarks() -> None:
    """semantics 46.134"""
    pairs = "FROM t a JOIN t b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '5' MINUTES"
    text = f"SELECT a.s.x, b.s.x AS y, count(*) AS n {pairs} GROUP BY a.s.x, b.s.x EMIT FINAL"
    assert sorted(sql(text, t=ADDRESSES).rows.rows()) == [(7, 7, 1), (7, 8, 1), (8, 8, 1)]
    text = f"SELECT a.v, row_number() OVER (PARTITION BY a.s.x ORDER BY a.ts, b.ts) AS n {pairs}"
    assert sorted(sql(text, t=ADDRESSES).rows.rows()) == [(1, 1), (1, 2), (2, 1)]
    text = "SELECT v FROM t WATERMARK s.at AS at DELAY OF INTERVAL '0' SECONDS EMIT FINAL"
    query = SqlQuery(text, t=dict(ADDRESSES.schema))
    assert query.add(t=ADDRESSES).rows["v"].to_list() == [1]


CONDITIONS = [
    "SELECT v FROM t WATERMARK ts DELAY OF INTERVAL '0' SECONDS WHERE {} EMIT FINAL",
    "SELECT sum(v) AS s FROM t WHERE {} GROUP BY window(ts, '1 hour')",
    "SELECT sum(v) AS s FROM t GROUP BY window(ts, '1 hour') HAVING {}",
    "SELECT v, count(*) OVER (ORDER BY ts) AS n FROM t QUALIFY {}",
    "SELECT a.v FROM t a JOIN t b ON b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR WHERE {}",
]


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_is_true_or_false(text: str) -> None:
    """semantics 46.135"""
    assert sql(text.format("NULL"), t=NUMBERED).rows.height == 0
    assert sql(text.format("1 = 1"), t=NUMBERED).rows.height > 0
    for value in ("1", "'true'", "2.5D"):
        with pytest.raises(SqlError, match=r"rows are selected by a condition"):
            sql(text.format(value), t=NUMBERED)


def test_a_table_precedes_a_column_of_its_name() -> None:
    """semantics 46.135"""
    rows = NUMBERED.with_columns(b=True)
    text = (
        "SELECT a.v FROM t a JOIN t b ON a.v + 0 = b.v * 1 AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR"
    )
    assert sorted(sql(text, t=rows).rows["v"].to_list()) == [1, 2, 4]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("1 / 0", "a division by zero"),
        ("9223372036854775807 + 1", "an overflow"),
        ("CAST(300 AS TINYINT)", "an overflow"),
    ],
)
def test_constants_without_a_value(value: str, error: str) -> None:
    """semantics 46.52"""
    with pytest.raises(InputError, match=error):
        sql(f"SELECT {value} AS x FROM t WATERMARK ts DELAY OF INTERVAL '0' SECONDS EMIT FINAL", t=NUMBERED)


def test_rejected_rows_of_operators_over_different_columns() -> None:
    """semantics 46.156"""
    groups = "SELECT k, window_start AS s FROM TUMBLE({}, ts, INTERVAL '1' HOUR) GROUP BY k, window_start"
    text = (
        f"SELECT a.k, b.k AS other FROM ({groups.format('a')}) a JOIN ({groups.format('b')}) b ON a.s = b.s"
    )
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    left = pl.DataFrame({"ts": [noon, None], "k": [1, 2], "s": [{"y": 1}, {"y": 2}]})
    right = pl.DataFrame({"ts": [noon, None], "k": ["p", "q"], "s": [noon, noon]})
    assert sql(text, a=left, b=right).rows.rows() == [(1, "p")]
    assert sql(text, a=left, b=right[:1]).invalid["row"].to_list()[0]["s"] == {"y": 2}
    rows = sql(text, a=left, b=right).invalid["row"].to_list()
    assert sorted('"k":"q"' in row for row in rows) == [False, True]


@pytest.mark.parametrize(
    ("values", "message", "place"),
    [
        ({"ts": [datetime(2024, 1, 1)]}, "event time ts", r"dt.replace_time_zone\('UTC'\)"),  # noqa: DTZ001
        ({"ts": ["2024-01-01"]}, "event time ts", r"str.to_datetime\(time_zone='UTC'\)"),
        ({"ts": [1]}, "event time ts", r"timestamp_micros\(id\)"),
        ({"v": ["a"]}, "'total' over v: string", "sum takes numbers"),
        ({"w": [1], "v": None}, "column 'v'", r"use one of the columns \['ts', 'w'\]"),
    ],
)
def test_columns_that_do_not_fit_have_their_place(values: dict[str, Any], message: str, place: str) -> None:
    """semantics 46.13, 46.125"""
    given = {"ts": [datetime(2024, 1, 1, tzinfo=UTC)], "v": [1], **values}
    rows = pl.DataFrame({name: column for name, column in given.items() if column is not None})
    text = "SELECT sum(v) AS total FROM TUMBLE(t, ts, INTERVAL '1' HOUR) GROUP BY window_start"
    with pytest.raises(SqlError, match=place) as raised:
        sql(text, t=rows)
    assert raised.value.given == message
    assert raised.value.line == 1


MINUTES = "TUMBLE(t WATERMARK ts DELAY OF INTERVAL '0' SECONDS, ts, INTERVAL '1' MINUTE)"
SIDE = "{0} WATERMARK ts DELAY OF INTERVAL '0' SECONDS {0}"
WITHIN = "x.k = y.k AND y.ts BETWEEN x.ts AND x.ts + INTERVAL '1' MINUTE"
# A text, and its error in the second step.
FAILING = {
    "SELECT list": f"SELECT k, 10 / (sum(v) - 5) AS n FROM {MINUTES} GROUP BY k, window_start, window_end",
    "HAVING": f"SELECT k FROM {MINUTES} GROUP BY k, window_start, window_end HAVING 10 / (sum(v) - 5) < 99",
    "OVER": "SELECT 10 / (v - 5) AS n, lag(v) OVER (PARTITION BY k ORDER BY ts) AS p "
    "FROM t WATERMARK ts DELAY OF INTERVAL '0' SECONDS",
    "above": "SELECT k, 10 / (s - 5) AS n FROM (SELECT k, sum(v) AS s "
    f"FROM {MINUTES} GROUP BY k, window_start, window_end)",
    "rows": "SELECT 10 / (v - 5) AS n FROM t WATERMARK ts DELAY OF INTERVAL '0' SECONDS",
}


def _at(second: int, v: int) -> pl.DataFrame:
    rows = {"ts": [datetime(2024, 1, 1, 0, second // 60, second % 60, tzinfo=UTC)], "k": ["a"], "v": [v]}
    return pl.DataFrame(rows, schema_overrides={"ts": pl.Datetime("us", "UTC")})


@pytest.mark.parametrize("name", FAILING)
def test_a_step_that_raises_has_changed_nothing(name: str) -> None:
    """semantics 46.51: its rows may be corrected and added again, and no row is lost or added twice."""
    types = {"ts": "timestamp", "k": "string", "v": "bigint"}
    query, other = (SqlQuery(FAILING[name], t=types) for _ in range(2))
    for second, v in ((1, 1), (61, 1), (122, 1), (184, 2)):
        zero = 5 - v if "sum" in FAILING[name] else 5
        bad = pl.concat([_at(second + 1, zero), _at(second + 600, 1)])
        with pytest.raises(InputError, match="a division by zero"):
            query.add(t=pl.concat([_at(second, v), bad]))
        added = [one.add(t=_at(second, v)) for one in (query, other)]
        assert added[0].rows.equals(added[1].rows)
    assert query.finish().rows.equals(other.finish().rows)


def test_a_step_of_a_join_that_raises_has_changed_nothing() -> None:
    """semantics 46.51: neither side, nor its watermark."""
    types = {"ts": "timestamp", "k": "string", "v": "bigint"}
    text = f"SELECT 10 / (x.v - y.v) AS n FROM {SIDE.format('x')} JOIN {SIDE.format('y')} ON {WITHIN}"
    query = SqlQuery(text, x=types, y=types)
    query.add(x=_at(1, 1))
    with pytest.raises(InputError, match="a division by zero"):
        query.add(y=pl.concat([_at(2, 1), _at(3, 6), _at(400, 6)]), x=_at(400, 1))
    assert query.add(y=_at(3, 6)).rows.rows() == [(-2.0,)]
    output = query.finish()
    assert (output.rows.height, output.late.height) == (0, 0)


def test_tables_are_no_parameters() -> None:
    """semantics 46.13"""
    table = pl.DataFrame({"ts": [datetime(2024, 1, 1, tzinfo=UTC)], "v": [1]})
    with pytest.raises(SqlError, match="tables are given by their names"):
        sql("SELECT sum(v) AS s FROM t GROUP BY window(ts, '1 hour')", {"t": table})


_HOURS = "TUMBLE({}, ts, INTERVAL '1' HOUR)"
_SAME_HOURS = (
    f"FROM {_HOURS.format('t')} a JOIN {_HOURS.format('u')} b "
    "ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end"
)


@pytest.mark.parametrize("star", ["a.*", "*"])
@pytest.mark.parametrize(
    "source",
    [
        f"FROM {_HOURS.format('t')} a",
        _SAME_HOURS,
        "FROM t a JOIN u b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR",
        "FROM t a",
        "FROM t a QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) <= 1",
    ],
)
def test_a_column_that_is_left_out_is_there(source: str, star: str) -> None:
    """semantics 46.166: also in a window join, whose `*` has the bounds of the windows."""
    tables = {"t": ORDERS, "u": ORDERS.rename({"v": "w"})}
    with pytest.raises(SqlError, match="leave nope out of EXCEPT"):
        sql(f"SELECT {star} EXCEPT (nope) {source}", **tables)
    assert "v" not in sql(f"SELECT a.* EXCEPT (v) {source}", **tables).rows.columns
