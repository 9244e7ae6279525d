"""`sql` on Spark: the rows of a text are those of the fluent API, and on a batch those of Spark's SQL."""

import warnings
from collections.abc import Iterable
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise import functions as F
from panewise.errors import SqlError, UnboundedJoinWarning
from panewise.spark import DeduplicateResult, JoinResult, OverResult, ParquetSink, WindowResult, sql, windowed
from panewise.spark.queries.selection import Selection
from tests.engine.effort import examples
from tests.nightly import first_here
from tests.spark.conftest import Feed
from tests.sql import over_queries

ROWS = [(1, "a", 1), (5, "b", 2), (20, "a", 3), (31, "A", 4), (38, None, 5), (47, "a", None), (48, "b", 9)]

# Spark runs these, too, and has the same rows and names.
SAME = [
    "SELECT k, window, count(*), sum(v) / count(1) AS m FROM {t} GROUP BY k, window(ts, '10 seconds')",
    """SELECT upper(o.k) AS kk, window.start, sum(v) + 1 FROM {t} o WHERE o.v > 1
    GROUP BY kk, window(ts, '20 seconds', '10 seconds') HAVING sum(v) > 2""",
    """SELECT k, session_window.end AS e, max(v), max(v) - min(v) FROM {t}
    GROUP BY k, session_window(ts, '10 seconds')""",
    """SELECT count(DISTINCT v) FILTER (WHERE v > 1) AS d, first(v) AS f, collect_list(v), count(k, v)
    FROM {t} GROUP BY window(ts, '1 minute')""",
    """SELECT *, sum(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s,
    row_number() OVER (ORDER BY ts) - 1 FROM {t}""",
    """SELECT v, lag(v) OVER (ORDER BY ts DESC) AS next, lead(v, 1, 0) IGNORE NULLS OVER (ORDER BY ts),
    sum(v) OVER (PARTITION BY k ORDER BY ts DESC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS s,
    nth_value(v, 2) IGNORE NULLS OVER (ORDER BY ts) AS n, rank() OVER (ORDER BY ts, v DESC NULLS FIRST) + 0 AS
    r FROM {t}""",
    """SELECT /*+ COALESCE(1) */ window(ts, '10 seconds').start, k, grouping(k), grouping_id() FROM {t}
    GROUP BY window(ts, '10 seconds').start, ROLLUP (k)""",
    """WITH a AS (SELECT k, window.start AS st, sum(v) AS s FROM {t} GROUP BY k, window(ts, '10 seconds'))
    SELECT x.k, x.st, y.s FROM a x LEFT JOIN a y ON x.st = y.st AND x.k = y.k""",
    """SELECT st, count(null), lag(count(*)) OVER (ORDER BY st) FROM (
        SELECT k, window.start AS st FROM {t} GROUP BY k, window(ts, '10 seconds')) GROUP BY st""",
    """SELECT kk, n FROM (SELECT k AS kk, count(*) AS n FROM {t} GROUP BY k, window(ts, '30 seconds'))
    WHERE n > 1 ORDER BY kk LIMIT 2""",
]

# Spark runs the second text of a pair.
PAIRS = [
    (
        """ISTREAM(
            SELECT * FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS rn FROM t)
            WHERE rn <= 2)""",
        """SELECT * FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS rn FROM {t})
        WHERE rn <= 2""",
    ),
    (
        "SELECT k, window_end, v FROM TABLE(HOP(TABLE t, ts, INTERVAL 5 SECONDS, INTERVAL 10 SECONDS))",
        "SELECT k, w.end AS window_end, v FROM (SELECT *, window(ts, '10 seconds', '5 seconds') w FROM {t})",
    ),
    (
        """SELECT k, v, sum(v) AS s, grouping_id() AS id FROM TUMBLE(t, ts, INTERVAL '1' MINUTE)
        GROUP BY window_start, window_end, CUBE (k, v)""",
        """SELECT k, v, sum(v) AS s, grouping_id() AS id
        FROM (SELECT *, window(ts, '1 minute') AS w FROM {t})
        GROUP BY GROUPING SETS ((w, k, v), (w, k), (w, v), (w))""",
    ),
    (
        """SELECT x.k AS key, v + 1 AS w, rn FROM (
            SELECT *, row_number() OVER (PARTITION BY window_start, window_end ORDER BY v DESC, ts) AS rn
            FROM TUMBLE(t, ts, INTERVAL '20' SECONDS)) x
        WHERE x.rn <= 2 AND v > 1""",
        """SELECT k AS key, v + 1 AS w, rn FROM (
            SELECT *, row_number() OVER (PARTITION BY window(ts, '20 seconds') ORDER BY v DESC, ts) AS rn
            FROM {t})
        WHERE rn <= 2 AND v > 1""",
    ),
    (
        """SELECT window_start, max(s) AS m FROM (
            SELECT k, window_start, window_end, sum(v) AS s FROM TUMBLE(t, ts, INTERVAL '20' SECONDS)
            GROUP BY k, window_start, window_end)
        GROUP BY window_start, window_end""",
        """SELECT w.start AS window_start, max(s) AS m FROM (
            SELECT k, window(ts, '20 seconds') AS w, sum(v) AS s FROM {t} GROUP BY k, w) GROUP BY w""",
    ),
    (
        """SELECT sum(n) AS n
        FROM (SELECT window, k, count(*) AS n FROM t GROUP BY k, window(ts, '10 seconds'))
        GROUP BY window(window_time(window), '1 minute')""",
        "SELECT count(*) AS n FROM {t}",
    ),
    (
        """SELECT x.v, y.v AS w, x.v + y.v AS s FROM t x LEFT JOIN t y
        ON x.k = y.k AND y.ts > x.ts AND y.ts <= x.ts + INTERVAL 20 SECONDS WHERE x.v > 0""",
        """SELECT x.v, y.v AS w, x.v + y.v AS s FROM {t} x LEFT JOIN {t} y
        ON x.k = y.k AND y.ts > x.ts AND y.ts <= x.ts + INTERVAL 20 SECONDS WHERE x.v > 0""",
    ),
    (
        """SELECT x.ts, y.v FROM t x LEFT ASOF JOIN t y MATCH_CONDITION (x.ts > y.ts) ON x.k = y.k""",
        """SELECT ts, lag(v) OVER (PARTITION BY k ORDER BY ts) AS v FROM {t} WHERE k IS NOT NULL
        UNION ALL SELECT ts, NULL FROM {t} WHERE k IS NULL""",
    ),
    (
        """SELECT sum(n) AS n FROM (
            SELECT x.ts, 1 AS n FROM t x JOIN t y
            ON x.k = y.k AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 1 HOUR)
        GROUP BY window(ts, '10 seconds')""",
        """SELECT count(*) AS n FROM {t} x JOIN {t} y ON x.k = y.k AND y.ts >= x.ts
        GROUP BY window(x.ts, '10 seconds')""",
    ),
    (
        """SELECT v, sum(v) OVER (PARTITION BY upper(k), v % 2, 1::int ORDER BY ts
            ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t""",
        """SELECT v, sum(v) OVER (PARTITION BY upper(k), v % 2, 1::int ORDER BY ts
            ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM {t}""",
    ),
    (
        """SELECT x.v, w FROM t x LEFT JOIN (SELECT k AS j, v AS w, ts AS us FROM t) y
        ON k = j AND y.us > x.ts AND y.us <= x.ts + INTERVAL 20 SECONDS
        AND x.v < w""",
        """SELECT x.v, w FROM {t} x LEFT JOIN (SELECT k AS j, v AS w, ts AS us FROM {t}) y
        ON k = j AND us > ts AND us <= ts + INTERVAL 20 SECONDS AND v < w""",
    ),
    (
        "SELECT k, v FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY v DESC NULLS LAST) = 1",
        """SELECT k, v, '+' AS op
        FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS rn FROM {t})
        WHERE rn = 1""",
    ),
    (
        """SELECT k, window_start, sum(v) AS s FROM TUMBLE(t, ts, INTERVAL '20' SECONDS)
        GROUP BY k, window_start, window_end
        QUALIFY row_number() OVER (PARTITION BY window_start, window_end ORDER BY sum(v) DESC, k) <= 1
        AND max(v) > 2""",
        """SELECT k, window_start, s FROM (
            SELECT *, row_number() OVER (PARTITION BY window_start ORDER BY s DESC, k) AS rn FROM (
                SELECT k, window(ts, '20 seconds').start AS window_start, sum(v) AS s, max(v) AS m FROM {t}
                GROUP BY k, window(ts, '20 seconds')))
        WHERE rn = 1 AND m > 2""",
    ),
    (
        """SELECT k, window_end, s, s - lag(s) OVER (PARTITION BY k ORDER BY window_end) AS d FROM (
            SELECT k, window_end, sum(v) AS s FROM TUMBLE(t, ts, INTERVAL '5' SECONDS)
            GROUP BY k, window_start, window_end)""",
        """SELECT k, w.end AS window_end, sum(v) AS s,
            sum(v) - lag(sum(v)) OVER (PARTITION BY k ORDER BY w.end) AS d
        FROM (SELECT *, window(ts, '5 seconds') AS w FROM {t}) GROUP BY k, w""",
    ),
    (
        """SELECT k, window_end, sum(v) AS s, sum(v) - lag(sum(v)) OVER (PARTITION BY k ORDER BY window_end)
        AS d FROM TUMBLE(t, ts, INTERVAL '5' SECONDS) GROUP BY k, window_start, window_end""",
        """SELECT k, w.end AS window_end, sum(v) AS s,
            sum(v) - lag(sum(v)) OVER (PARTITION BY k ORDER BY w.end) AS d
        FROM (SELECT *, window(ts, '5 seconds') AS w FROM {t}) GROUP BY k, w""",
    ),
    (
        """WITH r AS (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v NULLS LAST) AS rn FROM t)
        SELECT k, v FROM r WHERE rn BETWEEN 1 AND 2""",
        """SELECT k, v, '+' AS op
        FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY v NULLS LAST) AS rn FROM {t})
        WHERE rn <= 2""",
    ),
]


@pytest.mark.parametrize(("text", "same"), first_here(PAIRS, 5))
def test_a_batch_has_the_rows_of_another_text_of_spark(feed: Feed, text: str, same: str) -> None:
    """semantics 46.5, 46.17 to 46.19, 46.101"""
    feed.put(*ROWS)
    df = feed.batch()
    assert collected(rows_of(sql(text, t=df))) == collected(feed.spark.sql(same, t=df))


def rows_of(made: Any) -> DataFrame:
    if isinstance(made, DataFrame):
        return made
    rows: DataFrame = (
        made.rows if isinstance(made, (OverResult, JoinResult, DeduplicateResult)) else made.panes
    )
    return rows


def collected(df: DataFrame) -> list[str]:
    return sorted(repr(row.asDict(recursive=True)) for row in df.collect())


@pytest.mark.parametrize("text", first_here(SAME, 3))
def test_a_batch_has_the_rows_and_names_of_sparks_sql(feed: Feed, text: str) -> None:
    """semantics 46, 46.3, 46.6"""
    feed.put(*ROWS)
    df = feed.batch()
    assert collected(rows_of(sql(text, t=df))) == collected(feed.spark.sql(text, t=df))


@given(over_queries.rows(), over_queries.columns(exclude=False))
@examples(24)
def test_functions_over_windows_have_the_rows_of_sparks_sql(
    spark: SparkSession, given_rows: list[dict[str, Any]], new: list[tuple[str, bool, str]]
) -> None:
    """semantics 46.80, 46.81, 46.83: Spark 4.1 has no FILTER in functions over windows."""
    assume(spark.version >= "4.2" or not any("FILTER" in function for function, _, _ in new))
    schema = "k string, ts long, v long, w long, id long"
    values = [tuple(row.values()) for row in given_rows]
    df = spark.createDataFrame(values, schema).selectExpr("k", "timestamp_seconds(ts) AS ts", "v", "w", "id")
    text = over_queries.text_of(new, inside=False)
    result = sql(text, t=df)
    assert isinstance(result, OverResult)
    assert collected(result.rows) == collected(spark.sql(text.replace("FROM t", "FROM {t}"), t=df))


HOURLY = """
    SELECT k, window_start, sum(v) * 2 AS twice
    FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECONDS))
    WHERE v > :least
    GROUP BY k, window_start, window_end
    HAVING sum(v) < 9
    EMIT EVERY UPDATE RETRACTING
"""


def test_a_stream_is_written_with_the_columns_of_the_text(feed: Feed) -> None:
    """semantics 46, 46.3, 46.8"""
    feed.put((1, "a", 1), (2, "b", 4))
    feed.put((3, "a", 3), (4, "b", 6), (21, "c", 1))
    result = sql(HOURLY, {"least": 0}, t=feed.stream().withWatermark("ts", "1 second"))
    assert isinstance(result, WindowResult)
    assert "`sum(v)` < 9" in result.explain()
    sinks = {"panes": ParquetSink(feed.sink("panes")), "late": ParquetSink(feed.sink("late"))}
    query = result.write(sinks, checkpoint=feed.sink("checkpoint"), available_now=True)
    query.awaitTermination()
    panes = feed.read("panes")
    assert panes.columns[:4] == ["k", "window_start", "twice", "op"]
    rows = sorted(panes.select("k", "twice", "op").rows())
    assert rows[:3] == [("a", 2, "+"), ("a", 2, "-"), ("a", 8, "+")]
    assert ("b", 8, "-") in rows
    assert ("b", 20, "+") not in rows  # the sum is 10, and HAVING wants less than 9
    assert feed.read("late").columns[0] == "row"


STREAMS = [
    """SELECT k, window_start, sum(v) AS s FROM TUMBLE(t, ts, INTERVAL '10' SECONDS)
    GROUP BY k, window_start, window_end HAVING count(*) > 1
    QUALIFY row_number() OVER (PARTITION BY window_start, window_end ORDER BY sum(v) DESC, k) <= 1""",
    """SELECT window_end, sum(v) AS s FROM (
        SELECT *, row_number() OVER (PARTITION BY window_start, window_end ORDER BY v DESC) AS rn
        FROM TUMBLE(t, ts, INTERVAL '10' SECONDS))
    WHERE rn <= 2 GROUP BY window_start, window_end""",
    """SELECT window_end, count(*) AS n, sum(m) AS s FROM (
        SELECT k, window_start, window_end, max(v) AS m FROM TUMBLE(t, ts, INTERVAL '5' SECONDS)
        GROUP BY k, window_start, window_end HAVING max(v) > 1)
    GROUP BY window_start, window_end""",
    """SELECT window_start, sum(n) AS n FROM TABLE(TUMBLE(TABLE (
            SELECT window_time AS rt, k, count(*) AS n FROM TUMBLE(t, ts, INTERVAL '5' SECONDS)
            GROUP BY k, window_start, window_end),
        DESCRIPTOR(rt), INTERVAL '10' SECONDS))
    GROUP BY window_start, window_end""",
    """SELECT k, v, sum(v) OVER (PARTITION BY k ORDER BY ts) AS s, count(*) OVER (ORDER BY ts) + 1 AS n FROM t
    WHERE v > 0""",
    """SELECT k, v, lag(v) IGNORE NULLS OVER (PARTITION BY k ORDER BY ts, v DESC) AS b,
    lag(v) OVER (ORDER BY ts DESC) AS n,
    sum(v) OVER (ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW EXCLUDE GROUP) AS s FROM t""",
    """SELECT x.k, x.v, y.v AS w FROM t x JOIN t y
    ON x.k = y.k AND y.ts BETWEEN x.ts AND x.ts + INTERVAL 10 SECONDS""",
    """SELECT window_end, k, v FROM (
        SELECT *, row_number() OVER (PARTITION BY window_start, window_end ORDER BY v DESC) AS rn
        FROM TUMBLE(t, ts, INTERVAL '10' SECONDS))
    WHERE rn = 1""",
    """SELECT k, window_start, sum(v) AS s FROM TUMBLE(t, ts, INTERVAL '5' SECONDS)
    GROUP BY k, window_start, window_end
    QUALIFY row_number() OVER (PARTITION BY window_start, window_end ORDER BY sum(v) DESC, k) <= 1
    AND max(v) > 1""",
    """SELECT k, window_end, sum(v) AS s, lag(sum(v)) OVER (PARTITION BY k ORDER BY window_end) AS b
    FROM TUMBLE(t, ts, INTERVAL '5' SECONDS) GROUP BY k, window_start, window_end""",
    """SELECT x.k, x.v, y.v AS w, z.v AS u FROM t x ASOF JOIN t y ON x.k = y.k AND x.ts > y.ts
    ASOF LEFT JOIN t z ON x.k = z.k AND x.ts < z.ts AND z.ts <= x.ts + INTERVAL 6 SECONDS""",
]


@pytest.mark.parametrize("text", first_here(STREAMS))
def test_a_stream_has_the_rows_of_a_batch(feed: Feed, text: str) -> None:
    """semantics 46, 46.14, 46.18 to 46.20, 46.38, 46.100"""
    feed.put((1, "a", 1), (2, "b", 4), (7, "a", 2))
    feed.put((12, "a", 3), (14, "b", 6), (13, "a", 7))
    feed.put((90, "c", 1))
    result = sql(text, t=feed.stream().withWatermark("ts", "1 second"))
    name = "rows" if hasattr(result, "rows") else "panes"
    sinks = {name: ParquetSink(feed.sink("rows"))}
    result.write(sinks, checkpoint=feed.sink("checkpoint"), available_now=True).awaitTermination()
    found = [repr(row) for row in feed.read("rows").drop("batch_id").rows()]
    batch = rows_of(sql(text, t=feed.batch())).toArrow()
    wanted = [repr(row) for row in pl.DataFrame(batch).rows()]
    assert set(found) <= set(wanted)
    assert len(wanted) - len(found) in (0, 1, 2)  # what waits for the watermark is missing


def test_what_is_wrong_on_spark(feed: Feed, spark: SparkSession) -> None:
    """semantics 46.13, 46.16, 46.27"""
    feed.put(*ROWS)
    stream = feed.stream().withWatermark("ts", "1 second")
    cases: Iterable[tuple[str, str]] = [
        ("SELECT sum(w) FROM t GROUP BY window(ts, '1 hour')", "column 'w'.*\n.*line 1, column 12"),
        ("SELECT sum(f(v)) FROM t GROUP BY window(ts, '1 hour')", "UNRESOLVED_ROUTINE.*line 1, column 12"),
        ("SELECT f(sum(v)) AS x FROM t GROUP BY window(ts, '1 hour')", "UNRESOLVED_ROUTINE"),
        ("SELECT count(*) FROM nowhere GROUP BY window(ts, '1 hour')", "TABLE_OR_VIEW_NOT_FOUND"),
        (
            "SELECT count(*) AS n FROM t GROUP BY window(ts, '1 hour') ORDER BY n",
            "no end, so they cannot be sorted",
        ),
        ("SELECT count(*) FROM {u} GROUP BY window(ts, '1 hour')", "a name in braces is that of a table"),
        ("SELECT k, count(*) AS n FROM t GROUP BY k", "add EMIT CHANGES.*line 1, column 41"),
        ("SELECT max(v) AS m FROM t", "add EMIT CHANGES.*line 1, column 1"),
        ("SELECT k FROM t ORDER BY k", "cannot be sorted.*line 1, column 17"),
    ]
    for text, message in cases:
        with pytest.raises(SqlError, match=f"(?s){message}"):
            sql(text, t=stream)


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        ("SELECT a.k FROM t a JOIN u b ON a.k = b.k", True),
        (
            "SELECT count(*) FROM t JOIN (SELECT k AS uk FROM u) b ON k = uk GROUP BY window(ts, '1 hour')",
            True,
        ),
        ("SELECT a.k FROM t a JOIN v b ON a.k = b.k", False),
        ("SELECT a.k FROM t a JOIN u b WITHIN 1 HOUR ON a.k = b.k", False),
    ],
)
def test_a_join_of_streams_without_a_range_of_time_warns_once(feed: Feed, text: str, *, warned: bool) -> None:
    """semantics 46.159"""
    feed.put(*ROWS)
    t, u = (feed.stream().withWatermark("ts", "1 second") for _ in range(2))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sql(text, t=t, u=u, v=feed.batch())
    found = [each for each in said if each.category is UnboundedJoinWarning]
    assert [(each.filename, "line 1, column" in str(each.message)) for each in found] == [
        (__file__, True)
    ] * warned


def test_a_text_without_windows_gives_what_spark_gives(feed: Feed) -> None:
    """semantics 46.1"""
    feed.put(*ROWS)
    text = "SELECT k, max(v) AS m FROM t WHERE v > 1 GROUP BY k"
    made = sql(text, t=feed.batch())
    assert isinstance(made, DataFrame)
    assert collected(made) == collected(feed.spark.sql(text.replace("t WHERE", "{t} WHERE"), t=feed.batch()))
    tables = {"t": feed.batch(), "u": feed.batch()}
    joined = "SELECT t.k FROM t JOIN u ON t.k = u.k |> WHERE k = 'b' |> SELECT k"
    assert [row.k for row in sql(joined, **tables).collect()] == ["b"] * 4
    both = "SELECT k FROM t WHERE v IN (SELECT max(v) FROM u) UNION ALL (SELECT u.k FROM u WHERE u.v = 1)"
    assert sorted(row.k for row in sql(both, **tables).collect()) == ["a", "b"]
    assert sql("SHOW TABLES").columns[0] == "namespace"
    assert not [table.name for table in feed.spark.catalog.listTables() if "panewise" in table.name]


def test_a_batch_that_only_spark_has_is_sparks(feed: Feed) -> None:
    """semantics 46.1, 46.155"""
    feed.put(*ROWS)
    text = "SELECT v, ntile(2) OVER (ORDER BY v DESC) AS half, sum(v) OVER (PARTITION BY k) AS s FROM {t}"
    assert collected(sql(text, t=feed.batch())) == collected(feed.spark.sql(text, t=feed.batch()))
    with pytest.raises(SqlError, match="ntile"):
        sql(text, t=feed.stream())
    sampled = "SELECT k, sum(v) FROM t TABLESAMPLE (100 PERCENT) GROUP BY k, window(ts, '10 seconds')"
    whole = "SELECT k, sum(v) FROM {t} GROUP BY k, window(ts, '10 seconds')"
    assert collected(sql(sampled, t=feed.batch())) == collected(feed.spark.sql(whole, t=feed.batch()))
    generated = "SELECT explode(array(v, v + 1)) AS x, count(*) OVER (ORDER BY ts) AS n FROM {t}"
    assert collected(sql(generated, t=feed.batch())) == collected(feed.spark.sql(generated, t=feed.batch()))
    with pytest.raises(SqlError, match="the rows of a generator"):
        sql(generated, t=feed.stream())
    within = (
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v), percentile(v, array(0.2)) FROM {t} GROUP BY "
    )
    within += "window(ts, '10 seconds')"
    assert collected(sql(within, t=feed.batch())) == collected(feed.spark.sql(within, t=feed.batch()))
    piped = "TABLE t |> EXTEND sum(v) OVER (ORDER BY ts) AS s |> WHERE t.v > 4 |> SELECT s"
    assert [row.s for row in rows_of(sql(piped, t=feed.batch())).collect()] == [15, 24]
    with_set = "FROM t |> SET v = v + 1 |> AGGREGATE max(v) AS m GROUP BY window(ts, '1 minute')"
    assert [row.m for row in sql(with_set, t=feed.batch()).collect()] == [10]


def test_a_result_is_a_table(feed: Feed) -> None:
    """semantics 46"""
    feed.put(*ROWS)
    hours = windowed(feed.batch(), "ts").window(pw.Tumbling("10 seconds")).options(timestamp="window_time")
    result = hours.agg(F.count().alias("n"))
    text = (
        "SELECT sum(n) AS n FROM TUMBLE(r, timestamp, INTERVAL '1' MINUTE) GROUP BY window_start, window_end"
    )
    assert [row.n for row in rows_of(sql(text, r=result)).collect()] == [7]


@pytest.mark.parametrize(
    ("text", "explicit", "only_reads"),
    [
        ("n", True, True),
        ("`n`", True, True),
        ("`sum(v)`", True, True),
        ("N", True, False),  # that depends on a setting
        ("sum(v)", True, False),
        ("n + 1", True, False),
        ("n.x", True, False),
        ("struct(*)", False, False),
    ],
)
def test_what_a_selection_reads(text: str, explicit: bool, only_reads: bool) -> None:
    selection = Selection(((text, "c"),))
    assert (selection.explicit, selection.only_reads(["n", "sum(v)"])) == (explicit, only_reads)
