"""Scripts: how a text becomes statements."""

import pytest

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.sql.script.script_parser import parse_script
from panewise.sql.script.statements import (
    Insert,
    QueryView,
    Setting,
    Show,
    SinkTable,
    SourceView,
    SparkStatement,
)

TEXT = """-- a comment; with a semicolon
SET spark.sql.shuffle.partitions = 2; /* ; */ SET panewise.trigger = 'available now';
CREATE TEMPORARY VIEW o (
  ts TIMESTAMP, v DECIMAL(10, 2) NOT NULL COMMENT 'a, b', `a b` STRUCT<a: INT, b: ARRAY<ARRAY<STRING>>>,
  WATERMARK FOR ts AS ts - INTERVAL '10' SECONDS
) USING json OPTIONS (path '/a', 'b.c' = -3, kafka.bootstrap.servers "x:1", header true);
CREATE TABLE IF NOT EXISTS s USING org.example.fmt LOCATION '/b';
CREATE OR REPLACE TEMP VIEW q AS SELECT ';' FROM o; USE db; CREATE FUNCTION f AS 'x'; SET TIME ZONE 'UTC';
INSERT INTO TABLE `s` SELECT 1;;
WITH a AS (SELECT 1) SELECT * FROM a
"""


def test_statements() -> None:
    """semantics 46.40 to 46.42"""
    script = parse_script(TEXT)
    partitions, trigger, view, table, query, *passed, insert, show = script.statements
    assert isinstance(partitions, Setting)
    assert (partitions.key, partitions.value) == ("spark.sql.shuffle.partitions", "2")
    assert isinstance(trigger, Setting)
    assert trigger.value == "available now"
    assert isinstance(view, SourceView)
    assert view.columns is not None
    assert [(one.name, one.type) for one in view.columns] == [
        ("ts", "TIMESTAMP"),
        ("v", "DECIMAL(10, 2)"),
        ("a b", "STRUCT<a: INT, b: ARRAY<ARRAY<STRING>>>"),
    ]
    assert view.watermark == ("ts", Duration(10_000_000))
    assert view.options == {"path": "/a", "b.c": "-3", "kafka.bootstrap.servers": "x:1", "header": "true"}
    assert isinstance(table, SinkTable)
    assert (table.name, table.format, table.options) == ("s", "org.example.fmt", {"path": "/b"})
    assert isinstance(query, QueryView)
    assert script.characters(query.query) == "SELECT ';' FROM o"
    assert [type(one) for one in passed] == [SparkStatement] * 3
    assert script.characters(passed[1].span) == "CREATE FUNCTION f AS 'x'"
    assert isinstance(insert, Insert)
    assert (insert.table, script.characters(insert.query)) == ("s", "SELECT 1")
    assert isinstance(show, Show)
    assert script.characters(show.query).startswith("WITH")


def test_a_query_has_its_place_in_the_script() -> None:
    """semantics 46.43"""
    script = parse_script("SET a = 1;\n INSERT INTO t SELECT 1")
    insert = script.statements[1]
    assert isinstance(insert, Insert)
    assert script.query(insert.query) == " " * 10 + "\n" + " " * 15 + "SELECT 1"


WRONG = [
    ("INSERT INTO s SELCT 1", 15, "'SELCT' | rows are added to a table"),
    ("INSERT OVERWRITE s SELECT 1", 8, "rows are added to a table"),
    ("FOO", 1, "a statement is SET, CREATE"),
    ("SET a", 6, "SET has a key and a value"),
    ("SET = 3", 5, "SET has a key and a value"),
    ("SET a =", 8, "SET has a key and a value"),
    ("CREATE TABLE t (a INT)", 23, "a table or view has a format"),
    ("CREATE TABLE t USING parquet PARTITIONED BY (a)", 30, "behind the format stand OPTIONS"),
    ("CREATE TABLE t USING parquet OPTIONS (a 'b', a 'c')", 46, "an option is given once"),
    ("CREATE TABLE t USING parquet OPTIONS (a b)", 41, "an option has a value"),
    ("CREATE TABLE t USING parquet OPTIONS (* 'b')", 39, "an option has a name"),
    (
        "CREATE TABLE t (a INT, WATERMARK a DELAY OF INTERVAL '1' HOUR) USING json",
        14,
        "a sink has no watermark",
    ),
    ("CREATE TEMPORARY VIEW v (a) USING json", 27, "the column a has a type"),
    ("CREATE TEMPORARY VIEW v (a INT", 31, "the columns of a table"),
    ("CREATE TEMPORARY VIEW v (a INT) AS SELECT 1", 23, "the columns of a view over a query"),
    ("CREATE TEMPORARY VIEW v AS", 27, "a query follows AS"),
    ("CREATE TEMPORARY VIEW v (t TIMESTAMP, WATERMARK t) USING json", 50, "the watermark of a view"),
    ("CREATE TEMPORARY VIEW v (t TIMESTAMP, WATERMARK t DELAY OF INTERVAL 'x' HOUR) USING json", 60, ""),
    ("CREATE TEMPORARY VIEW v (t TIMESTAMP, WATERMARK t DELAY OF INTERVAL) USING json", None, ""),
    ("SELECT 'a", 1, "strings, quoted names and comments end"),
]


@pytest.mark.parametrize(("text", "column", "message"), WRONG)
def test_an_error_names_the_place(text: str, column: int | None, message: str) -> None:
    """semantics 46.40, 46.43"""
    with pytest.raises(SqlError) as raised:
        parse_script(f"SET x = 1;\n{text}")
    assert message in str(raised.value)
    if column is not None and "end with the character" not in str(raised.value):
        assert (raised.value.line, raised.value.column) == (2, column)
