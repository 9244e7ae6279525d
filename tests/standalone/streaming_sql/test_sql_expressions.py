"""Expressions in process. That they have Spark's results is tested in tests/spark/test_in_process_sql.py."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from panewise.errors import InputError, SqlError
from panewise.standalone.streaming_sql.sql_expressions import PATTERNS, Scope
from panewise.standalone.streaming_sql.sql_functions import FUNCTIONS

ROWS = pl.DataFrame(
    {
        "i": [7, -7, None],
        "j": [3, 3, 2],
        "f": [2.5, -0.0, float("nan")],
        "s": ["a%b", "Ä c ", None],
        "b": [True, False, None],
        "ts": [
            datetime(2024, 2, 29, 12, 30, tzinfo=UTC),
            datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
            None,
        ],
        "r": [{"x": 1, "Y": {"z": "p"}}, {"x": 2, "Y": {"z": None}}, None],
        "a b": [1, 2, 3],
        "l": [[1, 3, 2, None], [], None],
        "d": [Decimal("-99.99"), Decimal("0.01"), None],
        "e": [Decimal("12345678901234567.8901"), Decimal("0.0005"), None],
        "n": ["2024-02-29 12:30:01.5", "1969-12-31 23:59:59.0", None],
        "c": ["20240229", "99991231", None],
        "t": [["x", None, "y"], [], None],
    },
    schema_overrides={"d": pl.Decimal(4, 2), "e": pl.Decimal(21, 4)},
)

# Spark computes these, too.
EXPRESSIONS = [
    *(
        "i + j",
        "i - 2",
        "i * j",
        "i / j",
        "i % j",
        "mod(i, j)",
        "-i",
        "abs(i)",
        "i + 1.5D",
        "f * 2.5",
        "f > 1.5",
    ),
    *(
        "i = 7",
        "i <> 7",
        "i < 2.5",
        "f = f",
        "f <= 0",
        "f >= 0",
        "f > 100",
        "i <=> NULL",
        "s = 'a%b'",
        "'b' > s",
    ),
    *("b AND i > 0", "b OR i > 0", "NOT b", "b IS NULL", "isnull(s)", "isnotnull(s)", "i IS NOT NULL"),
    *(
        "i IN (1, 7)",
        "i IN (1, NULL)",
        "s NOT IN ('x')",
        "i BETWEEN -7 AND 0",
        "ts < TIMESTAMP '2000-01-01 00:00:00'",
    ),
    *("CASE WHEN i > 0 THEN 'p' WHEN i < 0 THEN 'n' END", "CASE j WHEN 3 THEN 1 ELSE 0 END", "if(b, i, j)"),
    *("7 / 2", "1 + 2 * 3", "-7 % 3", "i + (1 + 2) * 3", "ceil(f)", "floor(f * 1e300)", "-ceil(f * 1e300)"),
    *("CASE WHEN b IS NULL THEN 1 ELSE 2 END", "if(NULL, 1, 2)", "3S", "5L + 2147483647L", "upper('x')"),
    *(
        r"s LIKE 'a\\%b'",
        r"s LIKE 'a\\%'",
        r"s LIKE 'a\\_b'",
        "named_struct('a', i, 'b', s)",
        "struct(1 AS a)",
    ),
    *(
        "b IS TRUE",
        "b IS NOT TRUE",
        "b IS FALSE",
        "b IS UNKNOWN",
        "i IS DISTINCT FROM 7",
        "i IS NOT DISTINCT FROM 7",
    ),
    *("ts > '2000-01-01'", "ts <= '2024-02-29T12:30:00Z'", "ts IN ('2024-02-29 12:30', '2024-03-01')"),
    *(
        "ts >= DATE '2024-02-29'",
        "CAST(ts AS DATE) > '2000-01-01'",
        "date(ts) = '2024-02-29'",
        "date(ts) < ts",
    ),
    *("CAST(ts AS DATE) BETWEEN '1969-12-31' AND '1970-01-01'", "ts <=> '2024-02-29 12:30:00.000000'"),
    *(
        "CAST(b AS INT)",
        "b::string",
        "bigint(b)",
        "boolean(i)",
        "double(i)",
        "timestamp(date(ts))",
        "CAST(b AS DOUBLE)",
    ),
    *(
        "CAST('2024-02-29 12:30' AS TIMESTAMP)",
        "double('NaN')",
        "CAST('-1.50' AS DOUBLE)",
        "date('2024-02-29')",
    ),
    *(
        "i DIV j",
        "i DIV -2",
        "-7 DIV 2",
        "nvl2(i, j, 0)",
        "nvl2(s, 'x', 'y')",
        "s ILIKE 'A%'",
        "s NOT ILIKE '%C '",
    ),
    *("coalesce(i, j, 0)", "nvl(s, '')", "ifnull(i, j)", "nullif(j, 3)", "s || '!' || j", "concat(s, s)"),
    *("upper(s)", "lower(s)", "length(s)", "trim(s)", "ltrim(s)", "rtrim(s)", "char_length(s)", "lcase('X')"),
    *(
        "startswith(s, 'a')",
        "endswith(s, ' ')",
        "contains(s, '%')",
        "s LIKE 'a%'",
        "s LIKE '_\\\\%b'",
        "ucase('x')",
    ),
    *(
        "sqrt(abs(f))",
        "floor(2.5D)",
        "ceil(-2.5D)",
        "CAST(i AS DOUBLE)",
        "CAST(i AS STRING)",
        "CAST(NULL AS INT)",
    ),
    *(
        "year(ts)",
        "quarter(ts)",
        "month(ts)",
        "day(ts)",
        "hour(ts)",
        "minute(ts)",
        "dayofmonth(ts)",
        "dayofyear(ts)",
    ),
    *(
        "weekofyear(ts)",
        "date_part('minute', ts)",
        "ts + INTERVAL '1' HOUR",
        "ts - INTERVAL '0.000001' SECOND",
    ),
    *(
        "ts - ts > INTERVAL '0' SECOND",
        "r.x",
        "t.r.Y.z",
        "`a b` + t.`a b`",
        "I + T.J",
        "(i)",
        "TRUE",
        "2147483648",
    ),
    *(
        "substring(s, 2)",
        "substring(s, j, 1)",
        "substring(s, -2, 2)",
        "substring(s, -9, 8)",
        "substr(s, 0, 2)",
        "SUBSTRING(s FROM 2 FOR 1)",
        "substring(s, 9)",
        "replace(s, '%', '%%')",
        "replace(s, '', 'x')",
        "reverse(s)",
    ),
    *(
        "round(f)",
        "round(f / 3, 2)",
        "round(2.675D, 2)",
        "round(-0.3D)",
        "round(-125.0D, -1)",
        "round(f, NULL)",
    ),
    *("greatest(i, j, 0)", "least(i, NULL, j)", "greatest(s, 'b')", "least(NULL, NULL)"),
    *("sort_array(l)", "sort_array(l, false)", "slice(l, 1, 1)", "slice(l, 2, 5)"),
    *("size(l)", "array_size(l)", "CAST(2.7D AS INT)", "CAST(-2.7D AS BIGINT)", "CAST(i AS SMALLINT)"),
    *(
        "unix_micros(ts)",
        "unix_millis(ts)",
        "unix_seconds(ts)",
        "timestamp_micros(i)",
        "timestamp_millis(i)",
        "timestamp_seconds(i)",
        "second(ts)",
        "date_trunc('HOUR', ts)",
        "date_trunc('day', ts)",
        "date_trunc('week', ts)",
        "date_trunc('quarter', ts)",
        "date_trunc('year', ts)",
    ),
    *(
        "array_join(t, '-')",
        "array_join(t, s)",
        "array_join(l, '')",
        "d + d",
        "d - e",
        "d * d",
        "d * e",
        "d * i",
        "d + i",
        "d * 2",
        "2BD * d",
        "d + 100",
        "d * -0.05",
        "-d",
        "abs(d)",
    ),
    *(
        "1.5 * 2.25",
        "i * 1.10",
        "0.05 + 2",
        "CAST(i AS INT) + d",
        "CAST(i AS INT) * 1.5",
        "d > -1",
        "-2147483648",
    ),
    *(
        "date_format(ts, 'yyyy-MM-dd HH:mm:ss.SSS')",
        "date_format(date(ts), 'EEEE, d. MMMM yy')",
        """date_format(ts, "EEE M/d 'o''clock' h:m:s a % yyyyMMdd''")""",
        "date_format(ts, 'hh H SSSSSS MMM E EE')",
        "to_date(c, 'yyyyMMdd')",
        "to_timestamp(substring(n, 1, 19), 'yyyy-MM-dd HH:mm:ss')",
        "to_timestamp(concat(n, '00'), 'yyyy-MM-dd HH:mm:ss.SSS')",
        "to_date(ts)",
        "to_timestamp(date(ts))",
        "to_timestamp('20240229T1230', \"yyyyMMdd'T'HHmm\")",
        "to_date('2024-02-29')",
    ),
    *(
        r"s RLIKE 'a.b$'",
        r"s RLIKE '^[^\\w ]+'",
        r"s NOT RLIKE '(?:x|%)b|c $'",
        r"regexp_like(n, '^\\d{4}-\\d+-[0-3]\\d\\s')",
        r"s REGEXP '\\W'",
        r"s RLIKE '[\\\\d]'",
        "concat(s, '\n') RLIKE 'b$'",
        "concat(s, '\u2028') RLIKE 'b.'",
        "n RLIKE ''",
    ),
    *("ts = TIMESTAMP '2024-02-29 12:30:00Z'", "DATE '2024-01-01' < DATE '2024-02-01'", "1e3"),
]


def computed(text: str) -> list[Any]:
    scope = Scope(dict(ROWS.schema), "t")
    return ROWS.select(value=scope.typed(text).expr)["value"].to_list()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_has_a_type_and_values(text: str) -> None:
    """semantics 46.52, 46.139, 46.161, 46.162"""
    assert len(computed(text)) in (1, 3)


def test_all_functions_are_in_the_expressions() -> None:
    """semantics 46.52"""
    joined = " ".join(EXPRESSIONS).lower()
    named = [name for name in (*FUNCTIONS, *PATTERNS) if name.isidentifier() and name != "negative"]
    assert [name for name in named if name not in joined] == []


def test_values() -> None:
    """semantics 46.52"""
    assert computed("i % j") == [1, -1, None]
    assert computed("i / j") == [7 / 3, -7 / 3, None]
    assert computed("s LIKE '_\\\\%b'") == [True, False, None]
    assert computed("i IN (1, NULL)") == [None, None, None]
    assert computed("CASE WHEN i > 0 THEN 'p' WHEN i < 0 THEN 'n' END") == ["p", "n", None]
    assert computed("t.r.Y.z") == ["p", None, None]


def test_a_division_by_zero_is_an_error() -> None:
    """semantics 46.52"""
    for text in ("1 / (j - 3)", "i % (j - 3)"):
        with pytest.raises((InputError, pl.exceptions.ComputeError), match="a division by zero"):
            computed(text)


def test_a_cast_out_of_range_is_an_error() -> None:
    """semantics 46.52"""
    for text in ("CAST(f AS INT)", "CAST(i + 3000000000 AS INT)", "CAST(f * 1e19 AS BIGINT)"):
        with pytest.raises((InputError, pl.exceptions.ComputeError), match="an overflow"):
            computed(text)


@pytest.mark.parametrize(
    "text",
    [
        "to_date(n, 'yyyy-MM-dd')",
        "to_date(replace(c, '1231', '0230'), 'yyyyMMdd')",
        "to_timestamp(concat(c, '1261'), 'yyyyMMddHHmm')",
        "to_timestamp(concat(c, ' 24:00'), 'yyyyMMdd HH:mm')",
    ],
)
def test_a_text_that_is_no_time_is_an_error(text: str) -> None:
    """semantics 46.161"""
    with pytest.raises((InputError, pl.exceptions.ComputeError), match="a text that is no time"):
        computed(text)


REFUSED = [
    ("sha2(s, 256)", "sha2"),
    ("exp(f)", "exp"),
    ("round(i)", "floating-point numbers are rounded"),
    ("substring(i, 1)", "it takes a text, a place and a length"),
    ("greatest(f, f)", "whole numbers, texts and instants are compared"),
    ("date_trunc('century', ts)", "a unit is one from second to year"),
    ("date_trunc('day', i)", "it takes a unit and an instant"),
    ("replace(s, i, s)", "it takes three texts"),
    ("size(s)", "it takes a list"),
    ("array_join(s, '-')", "it takes a list of texts or whole numbers, and a text"),
    ("sort_array(s)", "it takes a list, and true or false"),
    ("slice(s, 1, 1)", "it takes a list, a place and a length"),
    ("unix_millis(i)", "it takes an instant"),
    ("timestamp_millis(f)", "it takes a whole number"),
    ("w", "a column w"),
    ("u.i", "a column u.i"),
    ("r.w", "a field w"),
    ("i + s", r"\+ of Int64, String"),
    ("f % 2", "whole numbers have a remainder"),
    ("i = s", "values of one kind are compared"),
    ("r = r", "values of one kind are compared"),
    ("if(b, i, s)", "all results of CASE, IF and COALESCE have one type"),
    ("upper(i)", "it takes texts"),
    ("s || f", "texts and whole numbers are concatenated"),
    ("sqrt(i)", "it takes one number"),
    ("year(i)", "it takes an instant"),
    ("b AND i", "and connects conditions"),
    ("CAST(f AS STRING)", "CAST of Float64 AS string"),
    ("CAST(i AS GEOMETRY)", "CAST AS"),
    ("CAST('seven' AS DOUBLE)", "'seven'"),
    ("CAST(s AS DATE)", "CAST of String AS date"),
    ("ts > 'yesterday'", "'yesterday'"),
    ("ts > '2024-02-30'", "'2024-02-30'"),
    ("date(ts) = '2024-02-29 12:30'", "'2024-02-29 12:30'"),
    ("f DIV 2", "whole numbers have a whole quotient"),
    ("s LIKE s", "a constant pattern"),
    ("date_part('era', ts)", "a field is a year"),
    ("upper(s, s)", "a function has the arguments of Spark's"),
    ("i + j * (SELECT 1)", "SELECT 1"),
    ("s[0]", "columns, constants and known functions"),
    ("INTERVAL '1' MONTH", "INTERVAL '1' MONTH"),
    ("e * e", "the type of this one has 43"),
    ("d + f", "decimals are computed with decimals and whole numbers"),
    ("d / 2", "only numbers are divided"),
    ("date_format(ts, 'YYYY')", "a pattern has yyyy, yy"),
    ("date_format(ts, '[yyyy]')", "a pattern has yyyy, yy"),
    ("date_format(s, 'yyyy')", "it takes an instant or a date, and a pattern"),
    ("date_format(ts, s)", "a value and a constant pattern"),
    ("to_date(n)", "CAST of String AS date"),
    ("to_date(n, 'MM-dd')", "the letters of yyyy MM dd"),
    ("to_date(n, 'yyyy-MM-dd dd')", "the letters of yyyy MM dd"),
    ("to_timestamp(ts, 'yyyy-MM-dd')", "it takes a text and a pattern"),
    ("to_timestamp(n, 'yyyy-MMM-dd')", "a pattern has yyyy, MM, dd"),
    ("s RLIKE '(?i)a'", "which Java and Polars read otherwise"),
    (r"s RLIKE '\\bx'", "which Java and Polars read otherwise"),
    ("s RLIKE '(a$|b)'", r"has no '\$\|b\)'"),
    ("s RLIKE 'a++'", "which Java and Polars read otherwise"),
    ("s RLIKE '(a$'", "a pattern is a regular expression"),
    ("s RLIKE '(a'", "a pattern is a regular expression"),
    ("s RLIKE s", "a value and a constant pattern"),
    ("i RLIKE 'a'", "it takes a text and a constant pattern"),
    ("DATE 'x'", "DATE 'x'"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_refused(text: str, message: str) -> None:
    """semantics 46.52"""
    with pytest.raises(SqlError, match=message):
        computed(text)


def test_structs() -> None:
    """semantics 46.52"""
    [first, *_] = computed("struct(i, j + 1 AS n, j + 2)")
    assert first == {"i": 7, "n": 4, "col3": 5}
    assert list(computed("struct(*, 1 AS one)")[0]) == [*ROWS.columns, "one"]
