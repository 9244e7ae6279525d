"""What the statements of a script become, and what is refused before anything runs."""

from pathlib import Path
from random import Random

import pytest

from panewise.errors import SqlError
from panewise.sql.parsing.expressions import tokens_of
from panewise.sql.script.application import compile_script
from panewise.sql.script.steps import InsertStep, SettingStep, SourceStep, Trigger

TEXT = """
SET panewise.checkpoint = '/checkpoints/';
SET panewise.trigger = 'available now';
CREATE TEMPORARY VIEW orders (
  ts TIMESTAMP, id BIGINT, product STRING, price DECIMAL(10, 2), amount INT,
  WATERMARK ts DELAY OF INTERVAL '10' MINUTES
) USING json LOCATION '/orders';
CREATE TEMPORARY VIEW shipments (at TIMESTAMP, id BIGINT) USING kafka
  OPTIONS (kafka.bootstrap.servers 'b', subscribe 's', include 'partition');
CREATE TEMPORARY VIEW products USING parquet LOCATION '/products';
CREATE TEMPORARY VIEW big AS SELECT * FROM orders WHERE amount > 10;
CREATE TABLE late USING json LOCATION '/late';
CREATE TABLE revenue (product STRING, hour TIMESTAMP, r DECIMAL(20, 2)) USING parquet
  OPTIONS (path '/revenue', late 'late');
CREATE TABLE pairs USING console OPTIONS (checkpoint '/pairs', trigger '10 seconds');
CREATE TABLE rest USING memory;
INSERT INTO revenue
  SELECT product, window_start, sum(price * amount) AS r FROM TUMBLE(big, ts, INTERVAL '1' HOUR)
  WHERE amount > 0 GROUP BY product, window_start, window_end HAVING sum(amount) > 1 EMIT CHANGES;
SELECT * FROM revenue ORDER BY r;
INSERT INTO pairs
  SELECT o.product, s.at, s.partition FROM orders o JOIN shipments s WATERMARK at DELAY OF INTERVAL '1' MINUTE
  ON o.id = s.id AND s.at BETWEEN o.ts AND o.ts + INTERVAL '1' HOUR;
INSERT INTO rest SELECT product, sum(amount) OVER (PARTITION BY product ORDER BY ts) AS s FROM orders;
"""


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new)


def test_steps() -> None:
    """semantics 46.41, 46.42, 46.45"""
    application = compile_script(TEXT)
    sources = [step for step in application.steps if isinstance(step, SourceStep)]
    assert [step.streaming for step in sources] == [True, True, False]
    revenue, pairs, rest = (step for step in application.steps if isinstance(step, InsertStep))
    assert (revenue.checkpoint, revenue.trigger) == ("/checkpoints/revenue", Trigger(available_now=True))
    assert revenue.outputs["late"].statement.name == "late"
    assert (pairs.checkpoint, pairs.trigger) == ("/pairs", Trigger(processing_time="10000000 microseconds"))
    assert rest.compiled is not None


@pytest.mark.parametrize("path", ["out/x", "./out/x", "out//y/../x/", f"file:{Path('out/x').resolve()}"])
def test_two_spellings_of_a_path(path: str) -> None:
    """semantics 46.45, 46.115"""
    with pytest.raises(SqlError, match="a path belongs to one query"):
        compile_script(
            f"CREATE TABLE t USING json LOCATION 'out/x'; CREATE TABLE u USING iceberg LOCATION '{path}'"
        )


def test_a_script_limits_the_state() -> None:
    """semantics 46.41"""
    (step,) = compile_script("SET panewise.stateMegabytes = 5").steps
    assert isinstance(step, SettingStep)
    assert (step.own, step.statement.value) == (False, "5")  # it is one of the session


def test_explain() -> None:
    """semantics 46.47"""
    lines = compile_script(TEXT).explain().split("\n")
    assert "  reads a stream from json as orders" in lines
    assert "  the watermark is ts minus 10 minutes" in lines
    assert "  reads a table from parquet as products" in lines
    assert "  its late rows are written to late" in lines
    assert "  Join of o and s: emits each pair of a left and a right row that are partners." in lines
    assert any(line.startswith("  Partners: rows with equal id, if the right ") for line in lines)
    assert any(line.startswith("  Windows: each row belongs to one window of 1 hour") for line in lines)
    assert "  checkpoint /checkpoints/revenue" in lines
    words = compile_script("SET panewise.finish = at_end; SET spark.x = 1; USE db; SELECT 1").explain()
    assert "sets panewise.finish of the statements after it" in words
    assert "is a setting of Spark" in words
    assert "is Spark's alone" in words


WORDS = [
    (
        """SELECT k, sum(v) AS s FROM TUMBLE(t, ts, INTERVAL '1' HOUR) WHERE v > 0
        GROUP BY k, window_start, window_end HAVING count(*) > 1""",
        [
            "WHERE: the operator takes the rows with v > 0.",
            "HAVING: emitted are the rows with `count(*)` > 1.",
            "Columns: k, sum(v) AS s.",
        ],
    ),
    (
        """SELECT window_start, k, v FROM TUMBLE(t, ts, INTERVAL '1' HOUR)
        QUALIFY ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v DESC) <= 2""",
        [
            "Top-N: of the rows of each pane, the first 2 in the order of v DESC, each as a row of its own.",
            "Columns: window_start, k, v.",
        ],
    ),
    (
        "SELECT k, sum(v) OVER (ORDER BY ts) AS s FROM t QUALIFY s > 3",
        ["QUALIFY: emitted are the rows with (`s`) > 3.", "Columns: k, sum(v) OVER (ORDER BY ts) AS s."],
    ),
    (
        """SELECT t.k, u.v AS w FROM t LEFT JOIN t u ON t.k = u.k
        AND u.ts BETWEEN t.ts AND t.ts + INTERVAL '5' DAYS""",
        [
            "Join of t and u: emits each pair of partners, and each left row without a partner.",
            "Partners: rows with equal k, if the right ts is from the same as to 5 days after the left ts.",
            "Columns: t.k, u.v AS w.",
        ],
    ),
]


@pytest.mark.parametrize(("query", "words"), WORDS)
def test_what_a_query_becomes_in_words(query: str, words: list[str]) -> None:
    """semantics 46.47"""
    declared = """SET panewise.checkpoint = 'c';
        CREATE TEMPORARY VIEW t (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK ts DELAY OF INTERVAL '1' HOUR)
        USING json LOCATION 'in'; CREATE TABLE late USING json LOCATION 'late';
        CREATE TABLE o USING json OPTIONS (path 'o'); INSERT INTO o """
    explained = compile_script(declared + query).explain()
    lines = [line.strip() for line in explained.split("\n")]
    assert [line for line in words if line not in lines] == []
    assert "emitted to the late output" not in explained
    assert "no option `late`" in explained
    output = "left_late" if "JOIN" in query else "late"
    explained = compile_script(declared.replace("'o')", f"'o', {output} 'late')") + query).explain()
    assert "emitted to the late output" in explained


WRONG = [
    ("amount > 0 GROUP", "amuont > 0 GROUP", 20, "a column amuont | the columns are"),
    ("price * amount", "price * amuont", 19, "a column amuont"),
    ("ts TIMESTAMP, id", "ts STRING, id", 6, "WATERMARK ts, of the type STRING"),
    (",\n  WATERMARK ts DELAY OF INTERVAL '10' MINUTES", "", 18, "a stream without a watermark of ts"),
    ("o.product, s.at", "o.product, s.att", 22, "att"),
    ("s.id AND", "s.idd AND", 23, "idd"),
    ("sum(amount) OVER", "sum(product) OVER", 24, "sum takes numbers"),
    ("late 'late'", "late 'lost'", 13, "the table of late rows is created before"),
    ("late USING json", "late USING csv", 13, "late rows have a struct `row`, which csv cannot contain"),
    ("INTO pairs", "INTO revenue", 21, "a table belongs to one query"),
    ("INTO pairs", "INTO nowhere", 21, "rows are added to a table of the script"),
    ("checkpoint '/pairs'", "checkpoint '/checkpoints/revenue'", 21, "a checkpoint belongs to one query"),
    ("SET panewise.checkpoint = '/checkpoints/';", "", 16, "a query over a stream has a checkpoint"),
    ("'available now'", "'10 seconds'", 20, "a table is read once all queries"),
    ("'available now'", "'sometimes'", 3, "a trigger is 'available now'"),
    ("panewise.trigger", "panewise.triger", 3, "the settings of panewise are"),
    ("EMIT CHANGES", "EMIT CHANGE", 19, "EMIT says when"),
    ("TUMBLE(big", "TUMBLE(bog", 18, "a table bog"),
    ("SELECT product, window_start,", "SELECT product,", 16, "the columns of a query are those of its table"),
    ("EMIT CHANGES", "ORDER BY r", 19, "cannot be sorted"),
    ("SELECT * FROM revenue ORDER BY r", "SELECT * FROM orders", 20, "written to a table"),
    ("include 'partition'", "include 'part'", 9, "a message has"),
    ("include 'partition'", "value.format 'avro'", 9, "the values of Kafka are decoded"),
    ("USING memory", "USING memory OPTIONS (finish 'soon')", 15, "finish is at_end or never"),
    ("USING memory", "USING delta", 15, "a table of files has a path"),
    ("'/late'", "'/revenue'", 14, "a path belongs to one query"),
    ("TABLE rest", "TABLE late", 15, "each table and view of a script has a name"),
    ("products USING parquet", "products USING parquet OPTIONS (streaming 'maybe')", 10, "true or false"),
    (
        "products USING parquet",
        "products USING parquet OPTIONS (streaming 'true')",
        10,
        "has columns with types",
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), WRONG)
def test_what_is_refused_before_anything_runs(old: str, new: str, line: int, message: str) -> None:
    """semantics 46.41 to 46.46"""
    with pytest.raises(SqlError) as raised:
        compile_script(changed(old, new))
    assert message in str(raised.value)
    shift = 0 if "WATERMARK ts" not in old else 1
    shown = str(raised.value).split("\n")[-2]
    assert shown.strip() in changed(old, new)
    assert raised.value.line is not None
    assert abs(raised.value.line - line) <= shift + 1


LATE = """
CREATE TABLE l USING memory; CREATE TABLE t USING console OPTIONS (late 'l'); INSERT INTO t SELECT 1
"""
AT_END = """
CREATE TEMPORARY VIEW r USING rate; CREATE TABLE t USING console OPTIONS (checkpoint '/c', finish 'at_end');
INSERT INTO t SELECT value FROM r
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LATE, "only a query that panewise runs has late"),
        (AT_END, "only a run that ends can end its input"),
        (
            "CREATE TEMPORARY VIEW v (a INT) USING json OPTIONS (include 'key')",
            "include says how messages of Kafka",
        ),
        ("CREATE TEMPORARY VIEW v (a INT, WATERMARK b DELAY OF '1 hour') USING json", "a column b"),
    ],
)
def test_more_that_is_refused(text: str, message: str) -> None:
    """semantics 46.41, 46.42, 46.45"""
    with pytest.raises(SqlError, match=message):
        compile_script(text)


EXPRESSIONS = """
CREATE TEMPORARY VIEW t (ts TIMESTAMP, v ARRAY<INT>, s STRUCT<a: INT>) USING json
  OPTIONS (path 'p', streaming 'false');
SELECT transform(t.v, x -> x + 1), s.a, t.s.a, current_date, timestampdiff(MINUTE, ts, ts) FROM t
"""
BATCH = """
CREATE TEMPORARY VIEW t USING json LOCATION '/p'; SELECT ntile(2) OVER (ORDER BY v DESC) AS h FROM t
"""
VIEW = """
CREATE TEMPORARY VIEW t (k INT) USING json LOCATION 'p';
CREATE TEMPORARY VIEW v AS SELECT k, count(*) AS n FROM t GROUP BY k EMIT CHANGES;
CREATE TABLE s USING console OPTIONS (checkpoint 'c');
INSERT INTO s SELECT n + 1 FROM v WHERE n > 1
"""
JOIN = """
CREATE TEMPORARY VIEW t (ts TIMESTAMP, k INT) USING json LOCATION 'p';
CREATE TABLE s USING console OPTIONS (checkpoint 'c');
INSERT INTO s SELECT a.k, b.n
FROM (SELECT upper(k) AS k, CAST(ts AS TIMESTAMP) AS at FROM t) WATERMARK at DELAY OF INTERVAL '1' SECOND a
JOIN (
  SELECT k, window_time AS at, count(*) AS n
  FROM TUMBLE(t WATERMARK ts DELAY OF INTERVAL '1' HOUR, ts, INTERVAL '1' HOUR)
  GROUP BY k, window_start, window_end) b
ON a.k = b.k AND b.at BETWEEN a.at AND a.at + INTERVAL 1 HOUR
"""


@pytest.mark.parametrize(
    "text", ["USE db; SELECT * FROM t", "SELECT * FROM db.t", EXPRESSIONS, BATCH, VIEW, JOIN]
)
def test_what_is_not_known_is_not_refused(text: str) -> None:
    """semantics 46.43"""
    assert compile_script(text).steps


JOINED = """SET panewise.checkpoint = 'c';
CREATE TEMPORARY VIEW s (ts TIMESTAMP, k STRING, WATERMARK ts DELAY OF '1 minute') USING json LOCATION 'in';
CREATE TEMPORARY VIEW u (k STRING) USING json OPTIONS (path 'u', streaming 'false');
CREATE TABLE t USING parquet LOCATION 'o';
INSERT INTO t SELECT a.k FROM s a JOIN {}"""


@pytest.mark.parametrize(
    ("right", "warned"),
    [
        ("s b ON a.k = b.k", True),
        ("s b ON a.k = b.k AND a.ts >= b.ts", True),
        ("s b WITHIN 1 HOUR ON a.k = b.k", False),
        ("u b ON a.k = b.k", False),
    ],
)
def test_a_join_without_a_range_of_time_has_a_warning(right: str, warned: bool) -> None:
    """semantics 46.159"""
    application = compile_script(JOINED.format(right))
    assert [(warning.line, warning.column) for warning in application.warnings] == [(5, 31)] * warned


@pytest.mark.parametrize("name", ["jsonl", "deltaSharing", "org.example.Jsn", "hudi", "iceberg", "rest"])
def test_a_format_of_others_is_not_refused(name: str) -> None:
    """semantics 46.43"""
    assert compile_script(f"CREATE TABLE t USING {name} LOCATION 'o'")


@pytest.mark.parametrize(
    "type_", ["interval day to second", "MAP<STRING, INT>", "VarChar(3)", "string collate C"]
)
def test_a_type_of_spark_is_not_refused(type_: str) -> None:
    """semantics 46.43"""
    assert compile_script(f"CREATE TABLE t (a {type_} COMMENT 'x', b ARRAY<STRUCT<a: LONG>>) USING memory")


def test_a_call_that_is_no_window_is_not_refused() -> None:
    """semantics 46.43"""
    assert compile_script(
        "SELECT * FROM sessions('a'); SELECT * FROM range(3); SELECT hops(INTERVAL '1' DAY) AS a"
    )


def mutated(text: str, seed: int) -> str:
    """Returns a text in which some tokens are left out, repeated or exchanged."""
    random, tokens, parts, at = Random(seed), tokens_of(text), list[str](), 0
    hits = {random.randrange(len(tokens)) for _ in range(random.choice([1, 1, 2, 3]))}
    for number, token in enumerate(tokens):
        word, other = text[token.start : token.end + 1], random.choice(tokens)
        if number in hits:
            another = text[other.start : other.end + 1]
            word = random.choice(["", f"{word} {word}", another, f"{word} {another}", ";", ")", "'", "NULL"])
        parts += [text[at : token.start], word]
        at = token.end + 1
    return "".join(parts) + text[at:]


def test_a_mutated_script_has_steps_or_an_error_with_a_place() -> None:
    """semantics 46.43"""
    lines = [line_of_error(mutated(TEXT, seed)) for seed in range(100)]
    assert lines.count("steps") > 5
    assert None not in lines


def line_of_error(text: str) -> int | str | None:
    try:
        assert compile_script(text).explain()
    except SqlError as error:
        return error.line
    return "steps"


HEAD = "CREATE TEMPORARY VIEW s (ts TIMESTAMP, k STRING, v INT) USING json OPTIONS (path 'in');\n"


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("CREATE TABLE m USING memory OPTIONS (lates 'l');", "lates |"),
        ("CREATE TABLE m USING console OPTIONS (rows 5);", "rows |"),
        (
            "CREATE TABLE a USING json LOCATION 'out/x'; CREATE TABLE b USING json LOCATION './out/x';",
            "a path belongs to one query",
        ),
        (
            HEAD + "CREATE TEMPORARY VIEW s AS SELECT 1 AS one;",
            "each table and view of a script has a name of its own",
        ),
    ],
)
def test_what_would_lose_rows_is_refused(script: str, message: str) -> None:
    """semantics 46.40, 46.44"""
    with pytest.raises(SqlError) as error:
        compile_script(script)
    assert message in str(error.value)


def test_a_word_that_is_no_table_reads_none() -> None:
    """semantics 46.46"""
    script = HEAD + (
        "CREATE TABLE late USING memory; SET panewise.checkpoint = 'c';"
        "INSERT INTO late SELECT v FROM s; "
        "CREATE TEMPORARY VIEW w AS SELECT k AS late FROM s WHERE k = 'late';"
    )
    assert len(compile_script(script).steps) == 5


def test_a_query_begins_with_the_state_of_a_file(tmp_path: Path) -> None:
    """semantics 46.164"""
    text = f"""CREATE TEMPORARY VIEW s (ts TIMESTAMP, k STRING, WATERMARK ts DELAY OF INTERVAL '1' SECOND)
      USING json LOCATION 'in';
    CREATE TABLE t USING memory OPTIONS (checkpoint 'c',
      initial_state '{tmp_path}/state');
    INSERT INTO t SELECT k, count(*) AS n FROM s GROUP BY k, window(ts, '1 hour')"""
    application = compile_script(text)
    step = application.steps[-1]
    assert isinstance(step, InsertStep)
    assert step.initial_state == f"{tmp_path}/state"
    assert f"a new checkpoint begins with the state of {tmp_path}/state" in application.explain()
    [warning] = application.warnings
    assert (warning.line, warning.column) == (4, 7)
    assert "there is none of this name here" in str(warning)
    (tmp_path / "state").touch()
    assert compile_script(text).warnings == ()
