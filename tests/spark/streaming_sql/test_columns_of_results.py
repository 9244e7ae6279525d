"""The columns of a result on Spark: their names, their order and their values are those of Spark's batch."""

import pytest

from panewise.spark import ParquetSink, sql
from tests.spark.conftest import Feed
from tests.spark.streaming_sql.test_streaming_sql import ROWS, rows_of

OURS = "TUMBLE(t, ts, INTERVAL '30' SECONDS)"
SPARKS = """(SELECT * EXCEPT (w), w.start AS window_start, w.end AS window_end,
    w.end - INTERVAL '0.000001' SECOND AS window_time
    FROM (SELECT *, window(ts, '30 seconds') AS w FROM {t}))"""
BEST = "ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v DESC, k)"
EQUAL = "RANK() OVER (PARTITION BY window_start, window_end ORDER BY v DESC)"
PANES = "SELECT k, window_start, sum(v) AS v, window_end, max(ts) AS m FROM SOURCE GROUP BY ALL"
TIMED = """SELECT k, window_end, sum(v) AS v, window_time FROM SOURCE
    GROUP BY k, window_start, window_end, window_time"""
NAMED = "SELECT v, window_end, k, ts, window_start FROM SOURCE"
MARKED = OURS.replace("(t,", "(t WATERMARK ts DELAY OF INTERVAL 1 SECOND,")
BOTH = "a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end"

TEXTS = [
    f"SELECT window_start, k, v FROM SOURCE QUALIFY {BEST} <= 2",
    f"SELECT * FROM (SELECT window_start, {BEST} AS n, k, v + 1 AS w, window_end FROM SOURCE) WHERE n <= 2",
    f"SELECT * FROM (SELECT {EQUAL} AS n, * FROM SOURCE) WHERE n <= 2",
    f"SELECT * EXCEPT (n) FROM (SELECT * EXCEPT (window_time, k), {BEST} AS n, k AS m FROM SOURCE) WHERE n<3",
    f"SELECT q.*, v AS w FROM (SELECT {BEST} AS n, s.* FROM SOURCE s) q WHERE n <= 2",
    f"SELECT * FROM (SELECT {BEST} AS n, * FROM ({NAMED})) WHERE n < 3",
    f"SELECT * FROM (SELECT window_end, {EQUAL} AS n, * EXCEPT (window_end, m) FROM ({PANES})) WHERE n <= 2",
    f"SELECT * FROM (SELECT m, {BEST} AS n, window_start, v, k FROM ({PANES} HAVING sum(v) > 0)) WHERE n < 3",
    f"SELECT * FROM (SELECT {BEST} AS n, * FROM (SELECT *, 1 AS one FROM ({PANES}))) WHERE n <= 2",
    f"SELECT sum(v) OVER (PARTITION BY k ORDER BY window_time) AS s, * FROM ({TIMED})",
    f"SELECT b.v AS w, a.* FROM SOURCE a JOIN SOURCE b ON {BOTH}",
    f"""SELECT x.*, t.v AS w FROM ({TIMED}) x JOIN t ON x.k = t.k
    AND t.ts BETWEEN x.window_time - INTERVAL 30 SECONDS AND x.window_time""",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_batch_has_the_columns_of_sparks(feed: Feed, text: str) -> None:
    """semantics 46.157, 46.44: Spark 4.1 has no QUALIFY."""
    if "QUALIFY" in text and feed.spark.version < "4.2":
        return
    feed.put(*((second, key, value) for second, key, value in ROWS if key is not None and value is not None))
    df = feed.batch()
    ours = rows_of(sql(text.replace("SOURCE", OURS), t=df))
    sparks = feed.spark.sql(text.replace("SOURCE", SPARKS).replace("JOIN t ON", "JOIN {t} t ON"), t=df)
    assert ours.columns == sparks.columns
    assert sorted(map(tuple, ours.collect())) == sorted(map(tuple, sparks.collect()))


def test_a_stream_has_the_columns_in_their_order(feed: Feed) -> None:
    """semantics 46.157, 46.44"""
    feed.put(*ROWS[:2])
    feed.put(*ROWS[2:4])
    text = f"SELECT window_start, {BEST} AS n, k, v FROM {MARKED} QUALIFY n <= 1"
    result = sql(text, t=feed.stream())
    sinks = {"panes": ParquetSink(feed.sink("panes"))}
    result.write(sinks, checkpoint=feed.sink("checkpoint"), available_now=True).awaitTermination()
    rows = feed.read("panes").drop("batch_id")
    assert rows.columns == ["window_start", "n", "k", "v"]
    assert [row[1:] for row in rows.rows()] == [(1, "a", 3)]
