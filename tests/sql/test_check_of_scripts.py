"""The check of a script refuses nothing that runs: each query that a test runs passes it as a script."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.errors import SqlError
from panewise.sql import compile_sql
from panewise.sql.script.application import compile_script
from panewise.sql.stages import WATERMARKED, JoinStage, OurStage, TableStage, walk
from tests.house.sources import ROOT
from tests.spark.streaming_sql.test_script_run import SCRIPT
from tests.sql import test_application, test_script
from tests.sql.drawn_queries import grouped_queries, over_queries
from tests.sql.player import NOON, documents, events_of

TYPES = ((bool, "BOOLEAN"), (int, "BIGINT"), (float, "DOUBLE"), (datetime, "TIMESTAMP"), (str, "STRING"))
END = "CREATE TABLE z USING console OPTIONS (checkpoint 'c');\nINSERT INTO z"


def ddl(value: Any) -> str:
    """Returns the type of a value."""
    if isinstance(value, list):
        return f"ARRAY<{ddl(value[0])}>" if value else "ARRAY<STRING>"
    if isinstance(value, dict):
        return f"STRUCT<{', '.join(f'`{name}`: {ddl(inner)}' for name, inner in value.items())}>"
    return next((name for kind, name in TYPES if isinstance(value, kind)), "STRING")


def times_of(stage: Any) -> Iterator[str]:
    """Yields the columns that operators take for event times, in lower case."""
    for inner in walk(stage):
        if isinstance(inner, JoinStage):
            yield from (time.lower() for time in inner.times if time is not None)
        elif isinstance(inner, OurStage):
            yield from (name.lower() for name in inner.spec.ports["input"].time_columns)


def view(table: str, rows: list[dict[str, Any]], times: set[str]) -> str:
    """Returns the declaration of a source with columns of these rows, and a watermark of an event time."""
    types: dict[str, str] = {}
    for row in rows:
        for name, value in row.items():
            if value is not None or name not in types:
                types[name] = ddl(value)
    marked = [name for name in types if name.lower() in times]
    marked = marked or [name for name, type_ in types.items() if type_ == "TIMESTAMP"]
    mark = f", WATERMARK `{marked[0]}` DELAY OF INTERVAL '1' HOUR" if marked else ""
    columns = ", ".join(f"`{name}` {type_}" for name, type_ in types.items())
    return f"CREATE TEMPORARY VIEW {table} ({columns}{mark}) USING json LOCATION 'in/{table}';\n"


def script_of(document: dict[str, Any]) -> str | None:
    """Returns a transcript as a script; None if its tables have no names, or its rows no columns."""
    compiled = compile_sql(document["sql"], update=document.get("update"))
    times = {document.get("time", "ts"), *times_of(compiled.stage)} - {WATERMARKED}
    marked = any(isinstance(stage, TableStage) and stage.watermark for stage in walk(compiled.stage))
    rows: dict[str, list[dict[str, Any]]] = {}
    for stage in walk(compiled.stage):
        if isinstance(stage, TableStage) and stage.text:
            if stage.name is None or stage.text.startswith("{"):
                return None
            for event in events_of(document):
                name = next((name for name in (stage.alias, stage.name, "rows") if name in event), None)
                rows.setdefault(stage.name.lower(), []).extend(event[name] if name is not None else [])
            if stage.watermark is not None and stage.watermark.computed is None:
                rows[stage.name.lower()].append({stage.watermark.name: NOON})
    if not all(rows.values()):
        return None
    views = [view(table, values, times) for table, values in rows.items()]
    views = [re.sub(", WATERMARK.*HOUR", "", text) for text in views] if marked else views
    return "".join(views) + f"{END} {document['sql']}"


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_transcripts_pass_as_scripts() -> None:
    """semantics 46.43: nearly all of them are scripts."""
    scripts = {f"{file}: {document['name']}": script_of(document) for file, document in documents()}
    scripts = {name: text for name, text in scripts.items() if text is not None}
    assert [refusal for name, text in scripts.items() for refusal in refusals(name, text)] == []
    assert len(scripts) > 0.9 * len(documents())


def refusals(name: str, text: str) -> list[str]:
    """Returns why the check refuses a script."""
    try:
        return [] if compile_script(text).explain() else [f"{name}: it explains nothing"]
    except SqlError as error:
        return [f"{name}: {error}"]


SOURCE = (
    "CREATE TEMPORARY VIEW t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK ts DELAY OF '1 hour') "
    "USING json LOCATION 'in';\n"
)


@given(st.one_of(grouped_queries(), over_queries()))
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_a_drawn_query_passes_as_a_script(sql: str) -> None:
    """semantics 46.43"""
    assert compile_script(f"{SOURCE}{END} {sql.replace('{t}', 't')}").steps


@pytest.mark.parametrize(
    "text",
    [
        test_application.TEXT,
        *(
            text.replace("SELECT ';' FROM o; USE db", "SELECT v FROM o; USE db")
            for text in [test_script.TEXT]
        ),
        SCRIPT,
        *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").rglob("*.sql"))),
    ],
    ids=lambda text: text.strip().splitlines()[0][:40],
)
def test_a_script_of_the_tests_passes(text: str) -> None:
    """semantics 46.43"""
    assert compile_script(text).explain()


ROWS = (
    "CREATE TEMPORARY VIEW t (ts TIMESTAMP, k STRING, v BIGINT, w INT, a ARRAY<INT>, m MAP<STRING, INT>, "
    "s STRUCT<b: INT, c: INT>, WATERMARK ts DELAY OF INTERVAL '1' HOUR) USING json LOCATION 'in';\n"
)
HOURLY = "SELECT k, window_start, count(*) AS n FROM TUMBLE(x, {}, INTERVAL '1' HOUR) GROUP BY ALL"


# A test runs them on Spark, too: tests/spark/test_scripts_that_run.py.
VIEWS = [
    ("SELECT * EXCEPT (v) FROM t", "SELECT w, ts FROM x"),
    (
        "SELECT t.* EXCEPT (V, a) FROM t",
        "SELECT window_end, sum(w) AS n FROM TUMBLE(x, ts, INTERVAL '1' HOUR) GROUP BY ALL",
    ),
    ("SELECT ts AS at, k FROM t", HOURLY.format("at")),
    ("SELECT (q.ts) AS `the time`, q.k FROM t AS q", HOURLY.format("`the time`")),
    ("SELECT at, k FROM (SELECT ts AS at, * FROM t)", HOURLY.format("at")),
    ("SELECT ts, k, v AS p, p + 1 AS q, q * 2 AS r FROM t", "SELECT r, q FROM x"),
    ("SELECT t.v, s.b FROM t", "SELECT v + b AS n FROM x"),
    ("SELECT s.*, k FROM t", "SELECT b, c, k FROM x"),
    ("SELECT v + 1, k FROM t", "SELECT `(v + 1)`, k FROM x"),
    ("SELECT v, v FROM t", "SELECT * FROM x"),
    ("SELECT explode(m), k FROM t", "SELECT key, value, k FROM x"),
    ("SELECT explode(a) FROM t", "SELECT col FROM x"),
    ("SELECT k, ts FROM t", "SELECT k, count(*) AS n FROM x GROUP BY k, tumble(INTERVAL '1' HOUR)"),
    ("SELECT K, TS FROM T", HOURLY.format("ts")),
    ("SELECT date_add(DAY, 1, ts) AS d, mask(k, upperChar => 'Q') AS k FROM t", "SELECT d, k FROM x"),
    ("SELECT ts, k, 1 AS v FROM t UNION ALL SELECT ts, k, v FROM t", "SELECT v FROM x"),
    ("SELECT k, count(*) FROM t GROUP BY k EMIT CHANGES", "SELECT `count(1)` AS n FROM x"),
]


@pytest.mark.parametrize(("view_query", "query"), VIEWS)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_what_a_view_selects_is_known(view_query: str, query: str) -> None:
    """semantics 46.43"""
    assert compile_script(f"{ROWS}CREATE TEMPORARY VIEW x AS {view_query};\n{END} {query};").steps


@pytest.mark.parametrize(
    ("view_query", "query", "message"),
    [
        ("SELECT * EXCEPT (v) FROM t", "SELECT v FROM x", "a column v"),
        (
            "SELECT CAST(ts AS TIMESTAMP) AS at, k FROM t",
            HOURLY.format("at"),
            "a stream without a watermark of at",
        ),
        (
            "SELECT k, v FROM t",
            "SELECT count(*) AS n FROM x GROUP BY tumble(INTERVAL '1' HOUR)",
            "without a watermark",
        ),
        ("SELECT v AS p FROM t", "SELECT v FROM x", "a column v"),
        ("SELECT t.v FROM t", "SELECT v, w FROM x", "a column w"),
    ],
)
def test_what_a_view_leaves_out_is_refused(view_query: str, query: str, message: str) -> None:
    """semantics 46.43"""
    with pytest.raises(SqlError, match=message):
        compile_script(f"{ROWS}CREATE TEMPORARY VIEW x AS {view_query};\n{END} {query};")
