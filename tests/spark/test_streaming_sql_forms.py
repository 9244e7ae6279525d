"""Forms of SQL that Spark's grammar lacks: on a batch their rows are those of another text of Spark's."""

import pytest

from panewise.errors import SqlError
from panewise.spark import DeduplicateResult, JoinResult, ParquetSink, WindowResult, sql
from tests.nightly import first_here
from tests.spark.conftest import Feed
from tests.spark.streaming_sql.test_streaming_sql import ROWS, collected, rows_of

MARKED = "t WATERMARK ts DELAY OF INTERVAL 1 SECOND"
NEAR = "y.ts BETWEEN x.ts AND x.ts + INTERVAL 20 SECONDS"
AFTER = "y.k = x.k AND y.v > x.v"
PAIRS = [
    (
        f"""SELECT x.k, sum(x.v) AS s, max(y.v) AS m, count(*) AS n FROM t x JOIN t y ON x.k = y.k AND {NEAR}
        GROUP BY x.k, window(x.ts, '30 seconds')""",
        f"""SELECT x.k, sum(x.v) AS s, max(y.v) AS m, count(*) AS n FROM {{t}} x JOIN {{t}} y
        ON x.k = y.k AND {NEAR} GROUP BY x.k, window(x.ts, '30 seconds')""",
    ),
    (
        f"SELECT v FROM t x WHERE NOT EXISTS (SELECT 1 FROM t y WHERE {AFTER} AND {NEAR})",
        f"SELECT v FROM {{t}} x WHERE NOT EXISTS (SELECT 1 FROM {{t}} y WHERE {AFTER} AND {NEAR})",
    ),
    (
        f"SELECT v FROM t x WHERE k NOT IN (SELECT k FROM t y WHERE y.v > 4 AND {NEAR}) AND v > 0",
        f"SELECT v FROM {{t}} x WHERE k NOT IN (SELECT k FROM {{t}} y WHERE y.v > 4 AND {NEAR}) AND v > 0",
    ),
    (
        """SELECT * EXCEPT (r) FROM (SELECT k, v, rank() OVER (ORDER BY k, v > 2 DESC) AS r FROM t)
        WHERE r <= 3""",
        """SELECT k, v, '+' AS op FROM (SELECT k, v, rank() OVER (ORDER BY k, v > 2 DESC) AS r FROM {t})
        WHERE r <= 3""",
    ),
    (
        """SELECT k, v, r FROM (SELECT k, v, window_start, dense_rank() OVER (
            PARTITION BY window_start, window_end ORDER BY k) AS r FROM TUMBLE(t, ts, INTERVAL '30' SECONDS))
        WHERE r < 3""",
        """SELECT k, v, r FROM (
            SELECT k, v, dense_rank() OVER (PARTITION BY window(ts, '30 seconds') ORDER BY k) r FROM {t})
        WHERE r < 3""",
    ),
    (
        f"SELECT DISTINCT upper(k) AS u FROM {MARKED} WHERE v > 1",
        "SELECT DISTINCT upper(k) AS u FROM {t} WHERE v > 1",
    ),
    (
        f"""SELECT k, v, n FROM (
            SELECT *, row_number() OVER (PARTITION BY upper(k) ORDER BY ts) AS n FROM {MARKED})
        WHERE n = 1""",
        """SELECT k, v, n, '+' AS op FROM (
            SELECT *, row_number() OVER (PARTITION BY upper(k) ORDER BY ts) AS n FROM {t}) WHERE n = 1""",
    ),
    (
        """SELECT window_start, count(*) AS n FROM TUMBLE(t, ts, INTERVAL '1' MONTH)
        GROUP BY window_start, window_end""",
        "SELECT min(date_trunc('month', ts)) AS window_start, count(*) AS n FROM {t}",
    ),
    (
        """SELECT window_start, sum(v) AS s FROM TUMBLE(
            TABLE (SELECT ts, v FROM t UNION ALL SELECT ts, 2 * v FROM t), DESCRIPTOR(ts),
            INTERVAL '10' SECONDS)
        GROUP BY window_start, window_end""",
        """SELECT window(ts, '10 seconds').start AS window_start, sum(3 * v) AS s FROM {t}
        GROUP BY window(ts, '10 seconds')""",
    ),
    (
        f"""SELECT a.k, a.s, b.n FROM (
            SELECT k, window_start, window_end, sum(v) AS s FROM TUMBLE({MARKED}, ts, INTERVAL '30' SECONDS)
            GROUP BY k, window_start, window_end) a
        LEFT JOIN (
            SELECT k, window_start, window_end, count(*) AS n
            FROM TUMBLE({MARKED}, ts, INTERVAL '30' SECONDS) WHERE v > 1
            GROUP BY k, window_start, window_end) b
        ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end""",
        """SELECT a.k, a.s, b.n
        FROM (SELECT k, window(ts, '30 seconds') AS w, sum(v) AS s FROM {t} GROUP BY 1, 2) a
        LEFT JOIN (
            SELECT k, window(ts, '30 seconds') AS w, count(*) AS n FROM {t} WHERE v > 1 GROUP BY 1, 2) b
        ON a.k = b.k AND a.w = b.w""",
    ),
    (
        "SELECT sum(v) AS s FROM t [RANGE 10 SECONDS SLIDE 10 SECONDS ON ts]",
        "SELECT sum(v) AS s FROM {t} GROUP BY window(ts, '10 seconds')",
    ),
    (
        "SELECT x.v, y.v AS w FROM t [NOW ON ts] x JOIN t [RANGE 20 SECONDS ON ts] y ON x.k = y.k",
        """SELECT x.v, y.v AS w FROM {t} x JOIN {t} y
        ON x.k = y.k AND y.ts BETWEEN x.ts - INTERVAL 20 SECONDS AND x.ts""",
    ),
    (
        f"""SELECT x.v, y.v AS w, z.v AS u FROM t x JOIN t y ON x.k = y.k AND {NEAR}
        JOIN t z ON y.k = z.k AND y.v < z.v""",
        f"""SELECT x.v, y.v AS w, z.v AS u FROM {{t}} x JOIN {{t}} y ON x.k = y.k AND {NEAR}
        JOIN {{t}} z ON y.k = z.k AND y.v < z.v""",
    ),
]


@pytest.mark.parametrize(("text", "same"), first_here(PAIRS, 4))
def test_a_batch_has_the_rows_of_another_text_of_spark(feed: Feed, text: str, same: str) -> None:
    """semantics 46.23, 46.24, 46.28, 46.29, 46.33, 46.34, 46.36, 46.111"""
    feed.put(*ROWS)
    df = feed.batch()
    assert collected(rows_of(sql(text, t=df))) == collected(feed.spark.sql(same, t=df))


def test_a_stream_without_duplicates(feed: Feed) -> None:
    """semantics 46.33, 46.35"""
    feed.put((1, "a", 1), (2, "b", 4))
    feed.put((3, "a", 3), (1, "b", 6))
    text = """SELECT k, v FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY ts) AS n
        FROM t WITH (shards = 2) WATERMARK ts DELAY OF INTERVAL 5 SECONDS) WHERE n = 1"""
    result = sql(text, t=feed.stream())
    assert isinstance(result, DeduplicateResult)
    sinks = {"rows": ParquetSink(feed.sink("rows"))}
    result.write(sinks, checkpoint=feed.sink("checkpoint"), available_now=True).awaitTermination()
    rows = feed.read("rows").select("k", "v", "op").rows()
    assert sorted(rows) == [("a", 1, "+"), ("b", 4, "+"), ("b", 4, "-"), ("b", 6, "+")]


@pytest.mark.nightly
def test_a_stream_of_the_rows_that_arrived_last(feed: Feed) -> None:
    """semantics 46.33, 46.116"""
    feed.put((3, "a", 1), (2, "b", 4))
    feed.put((1, "a", 3))
    text = """SELECT k, v FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY PROCTIME() DESC) AS n FROM t) WHERE n = 1"""
    result = sql(text, t=feed.stream())
    assert isinstance(result, DeduplicateResult)
    sinks = {"rows": ParquetSink(feed.sink("rows"))}
    result.write(sinks, checkpoint=feed.sink("checkpoint"), available_now=True).awaitTermination()
    rows = feed.read("rows").select("k", "v", "op").rows()
    assert sorted(rows) == [("a", 1, "+"), ("a", 1, "-"), ("a", 3, "+"), ("b", 4, "+")]


def test_streams_of_cql(feed: Feed) -> None:
    """semantics 46.23, 46.25, 46.26"""
    feed.put((1, "a", 1), (2, "b", 4))
    feed.put((3, "a", 3))
    result = sql("DSTREAM(SELECT k, sum(v) AS s FROM t GROUP BY k)", t=feed.stream())
    assert isinstance(result, WindowResult)
    sinks = {"panes": ParquetSink(feed.sink("panes"))}
    result.write(sinks, checkpoint=feed.sink("checkpoint"), available_now=True).awaitTermination()
    assert feed.read("panes").drop("batch_id").rows() == [("a", 1)]
    stream = feed.stream().withWatermark("ts", "1 second")
    ranged = sql("SELECT sum(v) AS s FROM t [RANGE 10 SECONDS]", t=stream)
    assert isinstance(ranged, WindowResult)
    assert ranged.spec.ports["input"].event_time == "ts"
    with pytest.raises(SqlError, match="a window of time has an event time"):
        sql("SELECT sum(v) AS s FROM t [NOW]", t=feed.batch())
    join = "SELECT a.v, b.v AS w FROM a JOIN b OVER (ROWS 2 PRECEDING) ON a.k = b.k"
    updated = sql(join, a=stream, b=stream, update="1 minute")
    assert isinstance(updated, JoinResult)
    assert "at the next multiple of 1 minute of processing time" in updated.explain()
    with pytest.raises(SqlError, match="update='soon'"):
        sql(join, a=stream, b=stream, update="soon")
