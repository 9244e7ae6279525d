"""The columns of a result are those of its SELECT list: their names, their order and their number."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any, Final

import polars as pl
import pytest

from panewise.sql import compile_sql
from panewise.sql.script.column_check import ColumnCheck
from panewise.sql.script.known_tables import KnownColumn, KnownTable
from panewise.standalone import sql
from panewise.standalone.streaming_sql.streaming_sql import SqlRun
from tests.sql.player import documents, events_of
from tests.sql.select_lists import Columns, UnknownColumnsError, listed
from tests.standalone.streaming_sql.test_streaming_sql import EMPTY, frames_of, tables_of

NOON: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
T: Final = pl.DataFrame(
    {
        "ts": [NOON + timedelta(minutes=minute) for minute in (1, 2, 3, 61, 62)],
        "k": ["a", "b", "a", "b", "a"],
        "v": [3, 5, 4, 1, 2],
    }
)
U: Final = T.rename({"ts": "us", "v": "w"})
TABLES: Final = {"t": T, "u": U}
HOURS: Final = "TUMBLE(t, ts, INTERVAL '1' HOUR)"
BY_WINDOW: Final = "(PARTITION BY window_start, window_end ORDER BY v DESC, k)"
BY_KEY: Final = "(PARTITION BY k ORDER BY v DESC)"
PANES: Final = (
    f"SELECT k, window_start, window_end, sum(v) AS v FROM {HOURS} GROUP BY k, window_start, window_end"
)
RANKED: Final = ("k", "window_start", "v", f"ROW_NUMBER() OVER {BY_WINDOW} AS n")
EQUAL: Final = ("k", "window_start", "v", f"DENSE_RANK() OVER {BY_WINDOW} AS n")
OF_KEYS: Final = ("k", "ts", "v + 1 AS w", f"ROW_NUMBER() OVER {BY_KEY} AS n")
GROUPED: Final = ("k", "window_start", "sum(v) AS s", "window_end")
PANES_TIMED: Final = PANES.replace("sum(v) AS v", "sum(v) AS v, window_time")
NAMED: Final = f"(SELECT v, window_end, k, window_start FROM {HOURS})"
DAYS: Final = f"""TUMBLE(
    (SELECT k, sum(v) AS v, window_time AS at FROM {HOURS} GROUP BY k, window_start, window_time) p,
    at, INTERVAL '1' DAY)"""
NEAR: Final = "t.k = u.k AND u.us BETWEEN t.ts AND t.ts + INTERVAL '1' HOUR"
MARKED: Final = "t WATERMARK ts DELAY OF INTERVAL '0' SECONDS"
BOTH: Final = "a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end"

SOURCES: Final = {
    "tumbling windows": HOURS,
    "hopping windows": "HOP(t, ts, INTERVAL '30' MINUTES, INTERVAL '1' HOUR)",
    "sessions": "SESSION(t, ts, INTERVAL '10' MINUTES)",
    "rows of windows": f"(SELECT v, window_end, k, ts, window_start FROM {HOURS})",
    "selected rows of windows": f"(SELECT * FROM {HOURS} WHERE v > 1)",
    "panes": f"({PANES})",
    "selected panes": f"({PANES} HAVING sum(v) > 1)",
    "panes with an expression": f"(SELECT *, 1 AS one FROM ({PANES}))",
}
# A SELECT list, and a query with a place for it.
FORMS: Final[dict[str, tuple[Sequence[str], str]]] = {
    "GROUP BY": (GROUPED, f"SELECT {{}} FROM {HOURS} GROUP BY k, window_start, window_end"),
    "GROUP BY retracting": (
        GROUPED,
        f"SELECT {{}} FROM {HOURS} GROUP BY k, window_start, window_end EMIT EARLY EVERY UPDATE, RETRACTING",
    ),
    "GROUP BY a struct": (
        ("k", "window", "sum(v) AS s", "window.end AS e"),
        "SELECT {} FROM t GROUP BY k, window(ts, '1 hour')",
    ),
    "GROUPING SETS": (
        ("k", "grouping(k) AS g", "sum(v) AS s", "window_end"),
        f"SELECT {{}} FROM {HOURS} GROUP BY window_start, window_end, GROUPING SETS ((k), ())",
    ),
    "a chain": (
        ("max(v) AS m", "window_start", "count(*) AS n", "window_end"),
        f"SELECT {{}} FROM ({PANES}) GROUP BY window_start, window_end",
    ),
    "OVER": (
        ("k", "sum(v) OVER (PARTITION BY k ORDER BY ts) AS s", "ts", "lag(v) OVER (ORDER BY ts) AS b"),
        "SELECT {} FROM t",
    ),
    "OVER of groups": (
        ("k", "window_start", "sum(v) AS s", "sum(sum(v)) OVER (PARTITION BY k ORDER BY window_time) AS r"),
        f"SELECT {{}} FROM {HOURS} GROUP BY k, window_start, window_end, window_time",
    ),
    "a deduplication": (
        ("k", "v", "ts", "ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS n"),
        f"SELECT {{}} FROM {MARKED} QUALIFY n = 1",
    ),
    "DISTINCT": (("k", "v", "ts"), f"SELECT DISTINCT {{}} FROM {MARKED}"),
    "rows of windows": (("k", "window_end", "v", "window_start"), f"SELECT {{}} FROM {HOURS}"),
    "a join": (("t.k", "u.w", "t.ts", "t.v + u.w AS s"), f"SELECT {{}} FROM t JOIN u ON {NEAR}"),
    "a left join": (("t.k", "us", "u.w", "t.v"), f"SELECT {{}} FROM t LEFT JOIN u ON {NEAR}"),
    "a semi join": (("k", "v", "ts"), f"SELECT {{}} FROM t LEFT SEMI JOIN u ON {NEAR}"),
    "an anti join": (("k", "v", "ts"), f"SELECT {{}} FROM t LEFT ANTI JOIN u ON {NEAR} AND u.w > 9"),
    "a version": (
        ("t.k", "u.w", "t.ts", "t.v"),
        "SELECT {} FROM t LEFT JOIN u FOR SYSTEM_TIME AS OF t.ts ON t.k = u.k",
    ),
    "as of": (
        ("t.k", "u.w", "t.ts", "t.v"),
        "SELECT {} FROM t ASOF JOIN u MATCH_CONDITION (t.ts >= u.us) ON t.k = u.k",
    ),
    "latest": (("t.k", "u.w", "t.ts", "t.v"), "SELECT {} FROM t JOIN u OVER (LATEST) ON t.k = u.k"),
    "a window join": (
        ("a.k", "b.v AS w", "a.window_start", "a.v"),
        f"SELECT {{}} FROM {HOURS} a JOIN {HOURS} b ON {BOTH}",
    ),
    "groups of a join": (
        ("t.k", "sum(u.w) AS s", "count(*) AS n", "max(t.v) AS m"),
        f"SELECT {{}} FROM t JOIN u ON {NEAR} GROUP BY t.k, window(t.ts, '1 hour')",
    ),
    "WITH": (("k", "v", "ts"), "WITH q AS (SELECT * FROM t WHERE v > 1) SELECT {} FROM q"),
    "pipes": (
        ("k", "v", "s"),
        "FROM t |> EXTEND sum(v) OVER (PARTITION BY k ORDER BY ts) AS s |> WHERE s > 1 |> SELECT {}",
    ),
    "a stream of insertions": (
        ("k", "v", f"ROW_NUMBER() OVER {BY_KEY} AS n"),
        "ISTREAM(SELECT {} FROM t QUALIFY n <= 1)",
    ),
    "the first rows of keys": (OF_KEYS, "SELECT * FROM (SELECT {} FROM t) WHERE n <= 2"),
    "the first rows of keys, accumulating": (
        OF_KEYS,
        "SELECT {} FROM t QUALIFY n <= 2 EMIT CHANGES, ACCUMULATING",
    ),
    "the second rows of keys": (OF_KEYS, "SELECT {} FROM t QUALIFY n = 2"),
    "the first rows of first rows": (
        RANKED,
        f"""SELECT {{}} FROM (
            SELECT * FROM (SELECT *, RANK() OVER {BY_WINDOW} AS r FROM {HOURS}) WHERE r <= 2)
        QUALIFY n <= 1""",
    ),
} | {
    f"{name} {source}": (items, query.replace("SOURCE", table))
    for source, table in SOURCES.items()
    for name, items, query in (
        ("the first of", RANKED, "SELECT {} FROM SOURCE QUALIFY n <= 2"),
        ("all columns of the first of", RANKED, "SELECT * FROM (SELECT {} FROM SOURCE) WHERE n <= 2"),
        ("all but the rank of", EQUAL, "SELECT * EXCEPT (n) FROM (SELECT {} FROM SOURCE) WHERE n <= 2"),
        ("the first by rank of", EQUAL, "SELECT {} FROM SOURCE QUALIFY n <= 2 AND v > 0"),
        (
            "without the rank the first of",
            RANKED[:3],
            f"SELECT {{}} FROM SOURCE QUALIFY ROW_NUMBER() OVER {BY_WINDOW} <= 2",
        ),
    )
}


STARS: Final = (
    f"SELECT * FROM (SELECT ROW_NUMBER() OVER {BY_WINDOW} AS n, * FROM SOURCE) WHERE n <= 2",
    f"SELECT *, ROW_NUMBER() OVER {BY_WINDOW} AS n FROM SOURCE QUALIFY n <= 2",
    f"SELECT v AS u, ROW_NUMBER() OVER {BY_WINDOW} AS n, *, k AS m FROM SOURCE QUALIFY n < 3",
    f"SELECT RANK() OVER {BY_WINDOW} AS n, * EXCEPT (k, window_end) FROM SOURCE QUALIFY n < 3",
    f"SELECT DENSE_RANK() OVER {BY_WINDOW} AS n, q.* FROM SOURCE q QUALIFY n <= 2",
)
WHOLE: Final = [
    *(query.replace("SOURCE", source) for query in STARS for source in SOURCES.values()),
    f"SELECT ROW_NUMBER() OVER {BY_KEY} AS n, * FROM t QUALIFY n <= 2",
    f"SELECT t.*, ROW_NUMBER() OVER {BY_KEY} AS n, v AS w FROM t QUALIFY n <= 2",
    f"SELECT * EXCEPT (ts) FROM (SELECT v AS w, ROW_NUMBER() OVER {BY_KEY} AS n, * FROM t) WHERE n <= 2",
    f"SELECT q.*, v AS w FROM (SELECT ROW_NUMBER() OVER {BY_WINDOW} AS n, * FROM {HOURS}) q WHERE n <= 2",
    f"SELECT * FROM {HOURS}",
    f"SELECT v AS w, *, k AS m FROM {HOURS} WHERE v > 1",
    f"SELECT * FROM (SELECT v, window_end, k FROM {HOURS})",
    f"SELECT *, sum(v) OVER (PARTITION BY k ORDER BY window_time) AS s FROM ({PANES_TIMED})",
    f"SELECT sum(v) OVER (PARTITION BY k ORDER BY window_end) AS s, * FROM ({PANES})",
    f"SELECT q.*, lag(v) OVER (ORDER BY window_end, k) AS s FROM ({PANES}) q",
    "SELECT sum(v) OVER (ORDER BY ts) AS s, *, lag(v) OVER (PARTITION BY k ORDER BY ts) AS b FROM t",
    f"SELECT ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) AS n, * FROM {MARKED} QUALIFY n = 1",
    f"""SELECT * EXCEPT (n) FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY upper(k) ORDER BY ts) AS n FROM {MARKED}) WHERE n = 1""",
    f"SELECT t.*, us, w FROM t JOIN u ON {NEAR}",
    f"SELECT u.w AS x, t.*, us FROM t LEFT JOIN u ON {NEAR}",
    f"SELECT *, k AS m FROM t LEFT SEMI JOIN u ON {NEAR}",
    f"SELECT b.v AS w, a.* FROM {HOURS} a JOIN {HOURS} b ON {BOTH}",
    f"SELECT * FROM {NAMED} a LEFT SEMI JOIN {HOURS} b ON {BOTH}",
    f"SELECT a.*, b.v AS w FROM {NAMED} a JOIN {HOURS} b ON {BOTH}",
    f"SELECT b.v AS w, a.* FROM ({PANES}) a JOIN ({PANES}) b ON {BOTH}",
    f"""SELECT a.*, w FROM ({PANES_TIMED}) a JOIN u ON a.k = u.k
        AND u.us BETWEEN a.window_time - INTERVAL '1' HOUR AND a.window_time""",
    f"SELECT *, ROW_NUMBER() OVER {BY_WINDOW} AS n FROM {DAYS} QUALIFY n < 3",
    f"SELECT * FROM (SELECT t.k, t.ts, u.w FROM t JOIN u ON {NEAR})",
    f"SELECT count(*) OVER (ORDER BY ts) AS n, * FROM (SELECT t.k, t.ts, u.w FROM t JOIN u ON {NEAR})",
    f"WITH q AS ({PANES}) SELECT v AS w, * FROM q WHERE v > 1",
    f"WITH p AS ({PANES}), q AS (SELECT k AS m, * FROM p) SELECT * FROM q",
    f"SELECT * FROM (SELECT max(v) AS m, window_end FROM ({PANES}) GROUP BY window_start, window_end)",
]


def differs(actual: Iterable[str | None], wanted: Columns) -> bool:
    """Returns whether columns are others than those of a list. Retractions have `op` behind them, too."""
    names = list(actual)
    if names[-1:] == ["op"] and len(names) == len(wanted) + 1:
        names.pop()
    pairs = zip(names, wanted, strict=False)
    return len(names) != len(wanted) or any(one != name for one, name in pairs if name and one)


def checked_columns(text: str, schemas: Any, update: Any = None) -> list[str | None] | None:
    """Returns the columns that the check of scripts takes a query to have, None if it knows none."""
    tables = {
        name.lower(): KnownTable(tuple(map(KnownColumn, schema)), True, frozenset({"ts", "us"} & {*schema}))
        for name, schema in schemas.items()
    }
    columns = ColumnCheck(text, tables).known_table(compile_sql(text, update=update).stage).columns
    return None if columns is None else [column.name for column in columns]


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_transcripts_have_the_columns_of_their_lists() -> None:
    """semantics 46.157"""
    found, unknown = [], 0
    for file, document in documents():
        text, update = document["sql"], document.get("update")
        if "time" in document:  # its tables have an event time that the text does not name
            continue
        names, events = tables_of(compile_sql(text, update=update).stage), events_of(document)
        rows = {
            key: [row for event in events for row in event.get(key, [])] for key in {*names, *names.values()}
        }
        schemas = {name: dict(frame.schema) or EMPTY for name, frame in frames_of(names, rows).items()}
        actual = list(SqlRun(text, schemas, update, follows=False).node.schema)
        checked = checked_columns(text, schemas, update)
        try:
            wanted = listed(text, {name: list(schema) for name, schema in schemas.items()})
        except UnknownColumnsError:
            unknown, wanted = unknown + 1, list[str | None](actual)
        if differs(actual, wanted) or (checked is not None and differs(checked, list(actual))):
            found.append((f"{file}: {document['name']}", wanted, actual, checked))
    assert found == []
    assert unknown < 0.05 * len(documents())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_the_columns_are_in_the_order_of_the_list(form: str) -> None:
    """semantics 46.157, 46.44, 46.93"""
    items, query = FORMS[form]
    orders = list(permutations(items))
    rows = []
    for order in orders[:: 1 if len(orders) < 7 else 4]:
        text = query.format(", ".join(order))
        result = sql(text, **TABLES).rows
        names = [item.rpartition(" AS ")[2].rpartition(".")[2] for item in order]
        wanted = [name for name in names if name != "n" or "EXCEPT (n)" not in query]
        assert not differs(result.columns, wanted), (text, result.columns)
        checked = checked_columns(text, {name: table.columns for name, table in TABLES.items()})
        assert checked is None or not differs(checked, wanted), (text, checked)
        rows.append(sorted(repr(sorted(row.items())) for row in result.to_dicts()))
    assert rows[0]
    assert all(other == rows[0] for other in rows)


@pytest.mark.parametrize("text", WHOLE)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_a_star_has_its_columns_in_its_place(text: str) -> None:
    """semantics 46.157"""
    columns = {name: table.columns for name, table in TABLES.items()}
    wanted, rows = listed(text, columns), sql(text, **TABLES).rows
    assert rows.height
    assert not differs(rows.columns, wanted), (rows.columns, wanted)
    checked = checked_columns(text, columns)
    assert checked is None or not differs(checked, rows.columns), (checked, rows.columns)
