# ruff: noqa: E501 - texts of SQL stand in a line each
"""Each place that raises an error is reached by a text, and the error shows the place in the text."""

import ast
import importlib
import sys
import warnings
from pathlib import Path
from typing import Any, Final

import pytest

from panewise.errors import SpecError, SpecWarning, SqlError
from panewise.sql import compile_sql
from panewise.sql.compile import compile_whole
from tests.sql.test_mutations import mutated

SOURCES: Final = Path(__file__).resolve().parents[2] / "src" / "panewise" / "sql"
HOURS: Final = "FROM TUMBLE(t, ts, INTERVAL '1' HOUR)"
BY: Final = "GROUP BY window_start, window_end"
WINDOW: Final = "FROM t GROUP BY window(ts, '1 hour')"
RANGE: Final = "a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR"
MARK: Final = "WATERMARK ts DELAY OF INTERVAL '0' SECONDS"
FIRST: Final = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY v)"

BEST: Final = "ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY k)"
PANES: Final = (
    f"SELECT k, window_start, window_end, count(*) AS n {HOURS} GROUP BY k, window_start, window_end"
)
AGAIN: Final = "GROUP BY window_start, window_end"
SECOND: Final = f"SELECT window_start, window_end, max(n) AS n FROM ({PANES}) {AGAIN}"

# A text, and a part of the message of its error.
ERRORS: Final = [
    ("SELECT v FROM TABLE(SESION(TABLE t, DESCRIPTOR(ts), '1 hour'))", "write SESSION"),
    (
        f"SELECT a.* EXCEPT (nope) FROM ({PANES}) a JOIN ({PANES}) b USING (k, window_start, window_end)",
        "leave nope out",
    ),
    ("SELECT k, count(*) FROM t GROUP BY k, HoppingWindow(second, 10, 5)", "write HOP"),
    ("SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts PATTERN (A B)) EMIT CHANGES", "LAG"),
    (
        "SELECT k, count(*) FROM t TIMESTAMP BY ts GROUP BY k, TUMBLE(ts, INTERVAL '1' HOUR)",
        "write WATERMARK",
    ),
    ("SELECT o.k FROM o, LATERAL TABLE(rates(o.ts)) r EMIT CHANGES", "LATERAL VIEW"),
    ("SELECT count(*) FROM t GROUP BY k, TUMBEL(ts, INTERVAL '1' HOUR)", "write TUMBLE"),
    (f"SELECT k, {BEST} AS n, {BEST} AS m {HOURS} QUALIFY m <= 1", "the number of a row once"),
    (f"SELECT k, {BEST} AS n, {BEST} AS m FROM ({PANES}) QUALIFY m <= 1", "the number of a row once"),
    (f"SELECT {BEST}, k {HOURS} QUALIFY {BEST} <= 1", "have names"),
    (f"SELECT window_start, k, Window_Start {HOURS} QUALIFY {BEST} <= 1", "names of their own"),
    (f"SELECT k, n, k FROM ({PANES}) QUALIFY {BEST} <= 1", "names of their own"),
    (
        f"SELECT t.*, {FIRST} AS n, u.* FROM t JOIN u ON t.k = u.k QUALIFY n <= 2",
        "before and behind the number",
    ),
    (
        f"SELECT *, {BEST} AS r FROM ({PANES.replace('AS n', '+ 1 AS n, 1 AS m')} EMIT EARLY EVERY UPDATE) QUALIFY r <= 1",
        "keys, aggregates and bounds",
    ),
    (
        f"SELECT * FROM (SELECT *, v + 1 AS w {HOURS}) a JOIN TUMBLE(u, ts, '1 hour') b USING (window_end)",
        "name the columns",
    ),
    (
        f"SELECT sum(n) OVER (ORDER BY window_end) AS s FROM ({PANES.replace('AS n', 'AS n, max(v) AS timestamp')})",
        "event time in a column",
    ),
    (
        f"SELECT count(*) {HOURS} x JOIN TUMBLE(u, ts, INTERVAL '1' HOUR) y ON x.k = y.k {BY}",
        "one window function",
    ),
    (f"SELECT v FROM t WHERE v IN (SELECT v {HOURS})", "are joins, if they compare window_start"),
    (
        "SELECT count(*) AS n FROM (SELECT * FROM CUMULATE(t, ts, '1 hour', '1 day')) GROUP BY window_end",
        "both bounds of the windows of CUMULATE",
    ),
    (
        """SELECT v, count(*) AS n FROM (SELECT * FROM SESSION(TABLE t PARTITION BY k, ts, '1 hour'))
        GROUP BY v, window_start""",
        "given in both clauses",
    ),
    (f"SELECT max(window_time) AS n {HOURS} {BY}", "the same for all its rows"),
    (
        "SELECT t.v FROM t LEFT JOIN u FOR SYSTEM_TIME AS OF t.ts ON t.k = u.k AND u.w > 3",
        "ON compares the keys alone",
    ),
    (
        f"""SELECT x.v FROM (SELECT v, window_end {HOURS} WHERE window_end > '2024-01-01') x
        LEFT JOIN TUMBLE(u, ts, INTERVAL '1' HOUR) y ON x.window_end = y.window_end""",
        "has no condition on bounds of windows",
    ),
    (f"SELECT v FROM t WHERE v = (SELECT max(v) {HOURS} {BY})", "are joins, if they compare window_start"),
    (f"SELECT v FROM t WHERE EXISTS (SELECT 1 FROM u {MARK})", "has no window functions and no WATERMARK"),
    (f"SELECT v->'k' AS n {WINDOW}", "get_json_object"),
    (f"SELECT listagg(k) WITHIN GROUP (ORDER BY v) AS n {WINDOW}", "in the order of its own texts"),
    (f"SELECT v->>'k' AS n {WINDOW}", "get_json_object"),
    (f"SELECT count(DISTINCT v, DISTINCT w) AS n {WINDOW}", "as in Spark's SQL"),
    (f"SELECT max_by(v, DISTINCT w) AS n {WINDOW}", "DISTINCT stands before the first argument"),
    (f"SELECT array_agg(v ORDER BY v) AS n {WINDOW}", "in the order of their arrival"),
    (f"SELECT max(sum(v) OVER (ORDER BY ts)) AS n {WINDOW}", "functions over windows are computed after it"),
    (f"SELECT approx_percentile(v, 0.5) AS n {WINDOW}", "panewise computes percentiles exactly"),
    (f"SELECT corr(v) AS n {WINDOW}", "corr has 2 columns"),
    (f"SELECT stddev(DISTINCT v) AS n {WINDOW}", "the functions that take DISTINCT are"),
    (f"SELECT first(v, 3) AS n {WINDOW}", "first has a Boolean as its second argument"),
    (f"SELECT sum(v) IGNORE NULLS AS n {WINDOW}", "sum skips nulls anyway"),
    (f"SELECT percentile(v) AS n {WINDOW}", "percentile has a percentage"),
    (f"SELECT sum(v, 3) AS n {WINDOW}", "sum has columns only"),
    ("SELECT count(*) AS n FROM t GROUP BY window(ts, '1 hour'), window(ts, '1 day')", "one window"),
    ("SELECT count(*) AS n FROM t GROUP BY GROUPING SETS ((window(ts, '1 hour'), k), (k))", "has the window"),
    (f"SELECT grouping(v) AS n {WINDOW}, CUBE (k)", "the arguments of GROUPING and GROUPING_ID are keys"),
    (f"SELECT count(*) AS n {WINDOW}, CUBE (a, b, c, d, e, f, g, h, i, j, k)", "at most 1,024 times"),
    ("SELECT count(*) AS n FROM t GROUP BY window(ts, '1 hour x')", ""),
    ("SELECT count(*) AS n FROM TUMBLE(t, ts, INTERVAL '') GROUP BY window_start", "an interval"),
    (
        "SELECT count(*) AS n FROM TUMBLE(t, ts, INTERVAL '1:2:3' HOUR TO MINUTE) GROUP BY window_start",
        "first unit",
    ),
    (
        f"SELECT a.v FROM a JOIN (b JOIN c ON b.k = c.k) WITHIN 1 HOUR ON a.k = b.k WHERE {RANGE}",
        "right side of a join",
    ),
    (
        f"SELECT count(*) AS n FROM a ASOF JOIN TUMBLE(b, ts, INTERVAL 1 HOUR) b ON a.ts > b.ts {BY}",
        "columns of its rows",
    ),
    (
        "SELECT a.v FROM a JOIN b WITHIN 1 HOUR GRACE PERIOD 1 HOUR ON a.k = b.k EMIT WITH LATENESS INTERVAL 1 HOUR",
        "the lateness of a join is given once",
    ),
    (
        (
            "SELECT x.v FROM TUMBLE(a, ts, INTERVAL 1 HOUR) x JOIN TUMBLE(b, ts, INTERVAL 2 HOURS) y"
            " ON x.window_start = y.window_start AND x.window_end = y.window_end"
        ),
        "have the same windows",
    ),
    ("SELECT a.v FROM a JOIN b OVER (ROWS 0 PRECEDING) ON a.k = b.k EMIT EVERY INTERVAL 0 SECONDS", ""),
    ("SELECT a.v FROM a JOIN b WITHIN (INTERVAL 1 HOUR, - INTERVAL 2 HOURS) ON a.k = b.k", ""),
    (f"SELECT count(*) AS n FROM t WITH (shards = 'x') {WINDOW[7:]}", "shards is a number"),
    (f"SELECT count(*) AS n FROM t WITH (finish = 'x') {WINDOW[7:]}", "finish is 'never' or 'at_end'"),
    (f"SELECT count(*) AS n FROM t WITH (null_keys = 3) {WINDOW[7:]}", "null_keys is true or false"),
    (f"SELECT count(*) AS n FROM t WITH (position = 'p') {WINDOW[7:]}", "a position has"),
    (f"SELECT count(*) AS n FROM t WITH (order = 'p', x = 3) {WINDOW[7:]}", "options of the operator"),
    ("SELECT v FROM t WITH (order = 'p')", "options of a table"),
    (f"SELECT (SELECT 1) AS n {WINDOW}", "a query in an expression reads other rows than those of FROM"),
    ("SELECT * FROM (" * 70, "nested at most 60 deep"),
    (f"SELECT max({'(' * 120}v) AS m {WINDOW}", "nested at most 100 deep"),
    ("WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r", "a recursive query"),
    ("SELECT sum(v) OVER w AS s FROM t WINDOW w", ""),
    ("SELECT count(*) AS n FROM t GROUP BY k WINDOW SESSION (1 HOUR)", "stands behind FROM"),
    (
        f"SELECT count(*) AS n FROM TUMBLE((a JOIN b ON a.k = b.k), ts, INTERVAL 1 HOUR) {BY}",
        "a table or a query",
    ),
    (
        f"WITH r AS (SELECT v FROM t) SELECT count(*) AS n FROM r WATERMARK v DELAY OF INTERVAL 1 HOUR {WINDOW[7:]}",
        "the watermark of a query of WITH",
    ),
    ("SELECT v, window_start FROM SESSION(t, ts, SLIDE => 5 ROWS)", "SESSION has"),
    ("SELECT v, window_start FROM TUMBLE(t, ts, 5 ROWS)", "without GROUP BY the rows of a table"),
    ("SELECT v FROM t TABLESAMPLE (5 ROWS)", "a sample of a stream"),
    (
        "SELECT v FROM t WATERMARK f(x) DELAY OF INTERVAL 1 HOUR",
        "an expression in WATERMARK becomes a column, which has a name",
    ),
    (f"SELECT 1 AS k QUALIFY {FIRST} <= 1", "a Top-N has a table"),
    (f"SELECT k FROM (SELECT k, {FIRST} AS n {HOURS} WHERE window_start > ts) WHERE n <= 1", ""),
    (f"SELECT k FROM (SELECT k, {FIRST} AS n {HOURS}) WHERE n <= 1", "in PARTITION BY"),
    (f"SELECT k FROM (SELECT k + 1, {FIRST} AS n FROM t) WHERE n <= 2", "have names"),
    ("SELECT k FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v, v) <= 2", "twice"),
    (f"SELECT count(*) AS n FROM TUMBLE(t, 0 ROWS) {BY}", "one row or more"),
    (f"SELECT count(*) AS n FROM TUMBLE(t, ts, INTERVAL 1 MONTH, INTERVAL 1 DAY) {BY}", ""),
    (
        f"SELECT count(*) AS n FROM TUMBLE(t, ts, INTERVAL 1 HOUR, ZONE => 'UTC') {BY}",
        "windows of a calendar",
    ),
    ("SELECT count(*) AS n FROM t GROUP BY window(ts, '1 hour', '2 hours')", ""),
    ("SELECT count(*) AS n FROM TUMBLE(SIZE => INTERVAL 1 HOUR)", ""),
    ("SELECT count(*) AS n FROM TUMBLE(size => INTERVAL 1 HOUR) GROUP BY window_start", "TUMBLE has a table"),
    (
        (
            "SELECT count(*) AS n FROM t WINDOW TUMBLING (SIZE 1 HOUR, GRACE PERIOD 1 HOUR) GROUP BY k"
            " EMIT WITH LATENESS INTERVAL 1 HOUR"
        ),
        "the lateness of a query is given once",
    ),
    ("SELECT count(*) AS n FROM t WINDOW TUMBLING (SIZE 1 HOUR, ADVANCE BY 1 HOUR) GROUP BY k", ""),
    (
        "SELECT count(*) AS n FROM t WINDOW TUMBLING (1 HOUR) GROUP BY k",
        "WINDOW TUMBLING has only its own parts",
    ),
    ("SELECT count(*) AS n FROM t WINDOW TUMBLING SIZE 1 HOUR GROUP BY k", "stand in parentheses"),
    (f"SELECT count(*) AS n FROM TUMBLE(t, ts, INTERVAL 0 HOURS) {BY}", ""),
    ("SELECT count(*) AS n FROM t GROUP BY window(f(ts), '1 hour')", "the event time is a column"),
    (f"SELECT sum(n + 1) AS s FROM ({PANES}) {AGAIN}", "reads their columns as they are"),
    (f"SELECT sum(n) FILTER (WHERE n) AS s FROM ({PANES}) {AGAIN}", ""),
    (f"SELECT window_start FROM ({PANES}) {AGAIN}", "a query over panes aggregates them"),
    (f"SELECT sum(n) AS s FROM ({SECOND}) {AGAIN} EMIT FINAL", "write it once"),
    (f"SELECT sum(n) AS s FROM ({PANES}) {AGAIN} EMIT EVERY 0 ROWS", ""),
    (f"SELECT sum(n) AS s FROM ({PANES}) {AGAIN} EMIT WITH LATENESS - INTERVAL 1 HOUR", ""),
    (
        (
            f"SELECT sum(n) AS s FROM ({PANES.replace('TUMBLE', 'CUMULATE').replace('HOUR)', 'HOUR, INTERVAL 1 DAY)')})"
            " GROUP BY window_start"
        ),
        "windows of CUMULATE",
    ),
    (f"SELECT sum(n) AS s FROM ({PANES} EMIT CHANGES) WHERE n > 1 {AGAIN}", "cannot be selected before"),
    (f"SELECT sum(n) AS s FROM ({PANES} EMIT RETRACTING) GROUP BY k EMIT CHANGES", "leave RETRACTING out"),
    (f"RSTREAM(SELECT k FROM t {MARK} QUALIFY {FIRST.replace('v', 'ts')} = 1)", "stores only the changes"),
    ("SELECT a.v FROM a JOIN b OVER (ROWS 3) ON a.k = b.k", "write PRECEDING"),
    (f"SELECT k, count(*) AS n FROM SESSION(t, ts, INTERVAL 1 HOUR) {BY}, k", "name the same columns"),
    (f"SELECT k, max(v) AS m FROM t GROUP BY k QUALIFY {FIRST} = 1 EMIT CHANGES", "groups without windows"),
    ("SELECT sum(v) OVER (ORDER BY now() RANGE '1 h' PRECEDING) AS s FROM t", "order by the event time"),
    ("SELECT sum(v) OVER (ORDER BY ts GROUPS 2 PRECEDING) AS s FROM t", "does not count groups"),
    (f"SELECT * FROM ({PANES} ORDER BY n)", "cannot be sorted or limited"),
    (f"{PANES} UNION ALL {PANES} EMIT FINAL", ""),
    (f"({PANES} UNION ALL {PANES}) EMIT FINAL", ""),
    ("SELECT count(*) AS n GROUP BY window(ts, '1 hour')", "windows have a table"),
    ("SELECT v FROM t WITH (order = 'ts,ts') WATERMARK ts DELAY OF INTERVAL 1 HOUR EMIT FINAL", ""),
    (f"SELECT count(*) AS n FROM t PIVOT (max(v) FOR k IN (1)) {WINDOW[7:]}", "PIVOT"),
    (
        "SELECT DISTINCT k FROM t WITH (order = 'id', position = 'p, o') WATERMARK ts DELAY OF INTERVAL 1 HOUR",
        "",
    ),
    (
        (
            "SELECT k, sum(v) OVER (ORDER BY ts) AS s, ROW_NUMBER() OVER (PARTITION BY k ORDER BY PROCTIME()) AS n"
            " FROM t QUALIFY n = 1"
        ),
        "",
    ),
    ("SELECT sum(v) AS s FROM t GROUP BY max(k), window(ts, '1 hour')", "a key has a value"),
    (
        "SELECT a.v FROM a JOIN b FOR SYSTEM_TIME AS OF PROCTIME() ON a.v > b.v",
        "at each time a key has one version",
    ),
    (
        "SELECT a.v FROM a ASOF JOIN b ON a.ts >= b.ts + INTERVAL 1 HOUR AND a.ts <= b.ts + INTERVAL 2 HOURS",
        "an ASOF JOIN has one inequality of both times",
    ),
    ("SELECT a.v FROM a WITH (deletes = 'v') JOIN b OVER (ROWS 3 PRECEDING) ON a.k = b.k", "OVER (LATEST)"),
    (f"SELECT count(*) AS n FROM TUMBLE(t WITH (deletes = 'v'), ts, INTERVAL 1 HOUR) {BY}", "OVER (LATEST)"),
    ("SELECT k, topk(v, 2) AS n FROM t GROUP BY k EMIT CHANGES", "write slice(sort_array(collect_list(v)"),
    (
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY v) AS n FROM t GROUP BY k EMIT CHANGES",
        "one of another system",
    ),
    (
        "SELECT b.v, count(*) AS n FROM (SELECT k FROM u WITH (shards = 2)) a JOIN b OVER (LATEST) ON a.k = b.k GROUP BY b.v EMIT CHANGES",
        "here Spark alone does",
    ),
    (
        "SELECT a.s.*, b.w FROM a JOIN b OVER (LATEST) ON a.k = b.k",
        "`t.*` has the columns of a joined table",
    ),
    ("SELECT DISTINCT ON (k) v FROM t", "DISTINCT has all columns"),
    ("SELECT a.v FROM a NATURAL JOIN b WITHIN 1 HOUR", "a join is one of"),
    ("SELECT v FROM a JOIN b OVER (LATEST) ON upper(k) = j", "that is an expression names its table"),
    ("SELECT a.v FROM a JOIN b WITHIN 1 HOUR ON a.k = b.k EMIT EARLY UPDATE", "leave it out, or write EMIT"),
    ("SELECT row_number() OVER (ORDER BY ts)", "write FROM and a table"),
    ("SELECT lag(v) OVER (ORDER BY ts) FROM t WITH (allowed_lateness = '1 hour')", "a longer delay"),
    (
        (
            "SELECT max(v) FROM t WITH (allowed_lateness = '1 hour') GROUP BY window(ts, '1 hour') "
            "EMIT WITH LATENESS INTERVAL '1' HOUR"
        ),
        "given once, in EMIT or as an option",
    ),
    (
        (
            "SELECT a.v FROM a WITH (allowed_lateness = '1 hour') JOIN b WITHIN 1 HOUR ON a.k = b.k "
            "EMIT WITH LATENESS INTERVAL '1' HOUR"
        ),
        "given once, in EMIT or as an option",
    ),
    (
        (
            "SELECT a.v FROM TUMBLE(a WITH (allowed_lateness = '1 hour'), ts, INTERVAL 1 HOUR) a "
            "JOIN TUMBLE(b, ts, INTERVAL 1 HOUR) b ON a.window_start = b.window_start"
        ),
        "so one lateness | write EMIT WITH LATENESS",
    ),
    (
        "SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.k = b.k JOIN c ON c.k = b.k",
        "names its columns with their tables",
    ),
    (
        "SELECT v FROM a JOIN b WITHIN 1 HOUR ON a.k = b.k JOIN c USING (k)",
        "names its columns with their tables",
    ),
    ("SELECT a.v FROM a CROSS JOIN b OVER (ROWS 3 PRECEDING) NATURAL JOIN c", ""),
    (
        (
            "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY k, window_start ORDER BY v) AS n"
            f" {HOURS} WHERE window_end > ts) WHERE n <= 2"
        ),
        "before they have windows",
    ),
    (f"SELECT k FROM t QUALIFY {FIRST} <= 2 EMIT WITH LATENESS INTERVAL 1 HOUR", ""),
    (
        (
            "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n, n) AS r"
            f" FROM ({PANES})) WHERE r <= 2"
        ),
        "twice",
    ),
    (
        (
            "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n) AS r FROM"
            f" ({PANES.replace('t, ts, INTERVAL', 't PARTITION BY k, SIZE => 5 ROWS').replace(chr(39) + '1' + chr(39) + ' HOUR', '')})) WHERE r <= 2"
        ),
        "windows of rows",
    ),
    (
        (
            "SELECT window_end, count(*) AS n FROM (SELECT k window_start, window_end, sum(v) AS total FROM"
            " TUMBLE(t, ts, INTERVAL '1' HOUR) GROUP BY k, window_start, window_end)"
            " GROUP BY window_start, window_end"
        ),
        "aggregates whole columns",
    ),
]

# Sites that another layer checks before, or that have a test of their own.
UNREACHED: Final = 16
OTHERS: Final = (
    *(
        "writing/",
        "to_sql.py",
        "text/parameters.py",
        "joins/resolve.py",
        "over/compiler.py",
        "over/frames.py",
        "over/selects_over_groups.py",
    ),
    *("own_columns.py", "script/", "expressions/expression_tree.py", "expressions/values.py"),
)


@pytest.mark.parametrize(("sql", "message"), ERRORS)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_an_error_shows_its_place_its_rule_and_a_remedy(sql: str, message: str) -> None:
    """semantics 46.13, 46.124"""
    with pytest.raises(SqlError) as caught:
        compile_sql(sql)
    error = caught.value
    assert all((error.given, error.rule, error.remedy))
    assert message in str(error)
    assert error.line is not None
    shown, caret = str(error).rsplit("\n", 2)[1:]
    assert shown.strip() == sql.split("\n")[error.line - 1].strip()
    assert caret.strip(" ").startswith("^")


def sites() -> set[tuple[str, int, int]]:
    """Returns where errors are raised: the file, and the first and the last line."""
    found = set()
    for path in SOURCES.rglob("*.py"):
        name = path.relative_to(SOURCES).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            raises = isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
            if raises and not name.startswith(OTHERS) and "AssertionError" not in ast.unparse(node):
                found.add((name, node.lineno, node.end_lineno or node.lineno))
    return found


def texts() -> list[str]:
    """Returns texts with errors: those of this file, of other tests, and mutated ones."""
    listed = [sql for sql, _ in ERRORS]
    for name in ("test_compile", "joins.test_joins", "first_rows.test_top_n", "test_forms", "test_dialects"):
        for value in vars(importlib.import_module(f"tests.sql.{name}")).values():
            marks = [mark for mark in getattr(value, "pytestmark", ()) if mark.name == "parametrize"]
            rows = [row for mark in marks for row in mark.args[1]] + (
                value if isinstance(value, list) else []
            )
            for row in rows:
                cells = row if isinstance(row, tuple) else (row,)
                listed += [cell for cell in cells if isinstance(cell, str) and "SELECT" in cell]
    return [*listed, *map(mutated, range(1_500))]


WHOLE: Final = (  # which whole inputs refuse, too
    "SELECT sum(v) OVER (ORDER BY a, b RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t",
    "SELECT sum(v) OVER (ORDER BY a RANGE BETWEEN 0.5 PRECEDING AND CURRENT ROW) AS s FROM t",
    "SELECT ntile(0) OVER (ORDER BY v) AS n FROM t",
    "SELECT v FROM t SORT BY v",
    "SELECT v FROM t LIMIT 1 + 1",
)


def test_each_error_site_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 46.13"""
    reached: set[tuple[str, int]] = set()
    make = SpecError.__init__

    def noted(self: SpecError, *values: Any, **named: Any) -> None:
        frame = sys._getframe(1)
        for _ in range(6):
            if "panewise/sql/" in frame.f_code.co_filename:
                reached.add((frame.f_code.co_filename.rsplit("panewise/sql/", 1)[1], frame.f_lineno))
            if frame.f_back is None:
                break
            frame = frame.f_back
        make(self, *values, **named)

    monkeypatch.setattr(SpecError, "__init__", noted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        for sql in texts():
            try:
                compile_sql(sql)
            except SqlError:
                continue
        for sql in WHOLE:
            with pytest.raises(SqlError):
                compile_whole(sql)
    missed = [
        site
        for site in sorted(sites())
        if not any(name == site[0] and site[1] <= line <= site[2] for name, line in reached)
    ]
    assert len(missed) <= UNREACHED, "\n".join(map(str, missed))
