"""Every type of Spark's catalogue as key, value, event time and order: right, or refused by name."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.metadata import version
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF
from pyspark.sql import types as T

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spark import joined, over, policy_windows, windowed
from panewise.spark.columns.column_types import simple_text
from panewise.streamwindow import count

# Types that Spark has only with these settings.
SETTINGS = ("spark.sql.preserveCharVarcharTypeInfo", "spark.sql.timeType.enabled")
POINT = "X'0101000000000000000000F03F0000000000000040'"
# A value of each type, by the name of its class, and of further types that are made of these.
SIMPLE = {
    "BooleanType": "true",
    "ByteType": "1Y",
    "ShortType": "2S",
    "IntegerType": "3",
    "LongType": "4L",
    "FloatType": "1.5f",
    "DoubleType": "2.5d",
    "DecimalType": "1.25BD",
    "StringType": "'a'",
    "BinaryType": "X'01'",
    "DateType": "DATE'2024-01-02'",
    "TimestampType": "TIMESTAMP'2024-01-02 03:04:05.123456'",
    "TimestampNTZType": "TIMESTAMP_NTZ'2024-01-02 03:04:05.123456'",
    "TimeType": "TIME'10:11:12.123456'",
    "DayTimeIntervalType": "INTERVAL '1 02:03:04.5' DAY TO SECOND",
    "days": "INTERVAL '5' DAY",
}
VOID = {"NullType": "NULL"}
NESTED = {
    "ArrayType": "array(1, NULL)",
    "StructType": "named_struct('a', 1, 'b', 'x')",
    "times": "array(TIME'10:00:00')",
    "voids": "named_struct('a', NULL)",
}
SPATIAL = {"GeometryType": f"ST_GeomFromWKB({POINT})", "GeographyType": f"ST_GeogFromWKB({POINT})"}
MAPS = {
    "MapType": "map('a', 1)",
    "intervals": "map('a', INTERVAL '1' DAY)",
    "map of collated": "map('K' COLLATE UTF8_LCASE, 'V' COLLATE UTF8_LCASE)",
}
COLLATED = {
    "collated": "'Abc' COLLATE UTF8_LCASE",
    "trimmed": "'Abc ' COLLATE UTF8_BINARY_RTRIM",
    "array of collated": "array('Abc' COLLATE UTF8_LCASE)",
    "struct of collated": "named_struct('a', 'Abc' COLLATE UTF8_LCASE)",
}
USER_DEFINED = {"UserDefinedType": "CAST(NULL AS INT)"}  # takes the place of this column in the fixture
NEVER = {
    "VariantType": "parse_json('1')",
    "YearMonthIntervalType": "INTERVAL '1-2' YEAR TO MONTH",
    "CalendarIntervalType": "make_interval(1, 2, 3)",
    "CharType": "CAST('a' AS CHAR(3))",
    "VarcharType": "CAST('a' AS VARCHAR(3))",
    "variants": "array(parse_json('1'))",
    "months": "map('a', INTERVAL '1' MONTH)",
    "chars": "named_struct('a', CAST('a' AS CHAR(3)))",
    "empty array": "array()",
    "empty map": "map()",
    "array of empty maps": "array(map())",
}
PASSING = SIMPLE | VOID | NESTED | SPATIAL | MAPS | COLLATED | USER_DEFINED
ALL = PASSING | NEVER

A_SIMPLE_KEY, BYTES = "a key is a simple value", "compared by their bytes"
NO_MAPS, RANKED = "maps cannot be compared", "values that have an order"
Build = Callable[[DataFrame, str], Any]
DAY = pw.Tumbling("1 day")


def _over(df: DataFrame, keys: str, *order: str) -> Any:
    rows = df.select("event_time", *dict.fromkeys((keys, *order)))
    return over(rows).withColumn(
        "n", F.count().over(pw.Window.partitionBy(keys).orderBy("event_time", *order))
    )


def _agg(what: Callable[[str], pw.Aggregate]) -> Build:
    return lambda df, name: windowed(df).window(DAY).agg(what(name).alias("x")).panes


def _joined(df: DataFrame, *keys: str) -> Any:
    return joined(df, df).on(*keys).within(0, 0).prefix("l_", "r_").how("inner")


KEYS: dict[str, Build] = {
    "key": lambda df, name: windowed(df).groupBy(name).window(DAY).agg(F.count()),
    "partition": lambda df, name: _over(df, name),
    "partition_by": lambda df, name: (
        policy_windows(df.select("event_time", name)).partition_by(name).tumbling(count(2)).tuples()
    ),
    "join key": lambda df, name: _joined(df.select("event_time", name), name),
    "stage key": lambda df, name: (
        windowed(df)
        .groupBy("event_time")
        .window(DAY)
        .agg(F.first(name).alias(name))
        .then(keys=[name], aggregates=[F.count()])
    ),
}
ORDERS: dict[str, Build] = {"order": lambda df, name: _over(df, "one", name)}
ARRIVAL: dict[str, Build] = {
    "arrival order": lambda df, name: windowed(df).window(DAY).order_by(name).agg(F.first("one"))
}
RANKS: dict[str, Build] = {
    "min": _agg(F.min),
    "max": _agg(F.max),
    "mode": _agg(F.mode),
    "sort_list": _agg(F.sort_list),
    "top_n": _agg(lambda name: F.top_n(name, 2)),
    "by": _agg(lambda name: F.max_by("one", name)),
}
DISTINCT: dict[str, Build] = {
    "count_distinct": _agg(F.count_distinct),
    "approx_count_distinct": _agg(F.approx_count_distinct),
    "collect_set": _agg(F.collect_set),
    "top_n_by": _agg(lambda name: F.top_n_by(name, "one", 2, distinct=True)),
}
VALUES: dict[str, Build] = {
    "first": _agg(F.first),
    "collect_list": _agg(F.collect_list),
    "OVER row": lambda df, name: (
        over(df.select("event_time", name))
        .withColumn("count", F.count().over(pw.Window.orderBy("event_time")))
        .rows
    ),
    "emitted row": lambda df, name: _joined(df.select("event_time", "one", name), "one").rows,
    "late row": lambda df, name: windowed(df.select("event_time", name)).window(DAY).agg(F.count()).late,
}
ALL_ROLES = {**KEYS, **ORDERS, **ARRIVAL, **RANKS, **DISTINCT, **VALUES}

# What is refused, with a part of the error.
REFUSED = [
    *((name, role, "") for name in NEVER for role in ALL_ROLES),
    *((name, role, A_SIMPLE_KEY) for name in {**NESTED, **SPATIAL, **USER_DEFINED} for role in KEYS),
    *((name, role, "") for name in {**NESTED, **SPATIAL} for role in {**ORDERS, **RANKS}),
    *((name, role, "have an order") for name in SPATIAL for role in ARRIVAL),
    *((name, role, NO_MAPS) for name in MAPS for role in {**ORDERS, **ARRIVAL, **RANKS, **DISTINCT}),
    *((name, role, "") for name in MAPS for role in KEYS),
    *((name, role, "") for name in COLLATED for role in {**KEYS, **ORDERS, **ARRIVAL, **RANKS, **DISTINCT}),
    *((name, role, BYTES) for name in list(COLLATED)[:2] for role in {**KEYS, **ORDERS, **RANKS, **DISTINCT}),
]


def catalogue() -> set[str]:
    """Returns the types of Spark: the classes of its module without subclasses there."""
    kinds = [one for one in vars(T).values() if inspect.isclass(one) and issubclass(one, T.DataType)]
    leaves = [one for one in kinds if not any(one in other.__mro__[1:] for other in kinds)]
    return {one.__name__ for one in leaves} - {"StructField"}


def test_every_type_is_in_a_table() -> None:
    """A new type of Spark fails here until somebody has decided about it (semantics 35.5)."""
    assert catalogue() - set(ALL) == set()


@pytest.fixture(scope="module")
def df(spark: SparkSession) -> Iterator[DataFrame]:
    """Yields two rows with a value in the column of each type, and one with nulls."""
    schema = T.StructType([T.StructField("n", T.LongType()), T.StructField("UserDefinedType", VectorUDT())])
    vector = Vectors.dense([1.0, 2.0])
    for setting in SETTINGS:
        spark.conf.set(setting, "true")
    base = spark.createDataFrame([(0, vector), (1, vector), (2, None)], schema)
    columns = [SF.expr(f"IF(n = 2, NULL, {text})").alias(name) for name, text in known(spark).items()]
    times = SF.expr("TIMESTAMP'2024-01-01' + n * INTERVAL '1' SECOND").alias("event_time")
    yield base.select(times, "n", SF.lit(1).alias("one"), "UserDefinedType", *columns)
    for setting in SETTINGS:
        spark.conf.unset(setting)


def known(spark: SparkSession) -> dict[str, str]:
    """Returns the types that this version of Spark has: the locked one has all of them."""
    given = {name: text for name, text in ALL.items() if name not in USER_DEFINED}
    if version("pyspark").startswith("4.2."):
        return given
    found = {}
    for name, text in given.items():
        with suppress(PySparkException):
            found[name] = text if spark.sql(f"SELECT IF(true, NULL, {text})").schema else ""
    return found


@pytest.mark.parametrize("role", ALL_ROLES)
def test_refused_by_name(df: DataFrame, role: str) -> None:
    """Each refusal names the column, and says what to do (semantics 24.19, 24.21, 35.3, 35.5)."""
    for name, part in [(name, part) for name, of, part in REFUSED if of == role and name in df.columns]:
        with pytest.raises(SpecError) as caught:
            ALL_ROLES[role](df, name)
        assert name in str(caught.value)
        assert part in str(caught.value)


def test_only_a_timestamp_is_an_event_time(df: DataFrame) -> None:
    """It is an error (semantics 1)."""
    for name in set(ALL) - {"TimestampType"} & set(df.columns):
        with pytest.raises(SpecError, match=name):
            windowed(df, event_time=name).window(DAY).agg(F.count())


def present(df: DataFrame, names: Iterable[str]) -> list[str]:
    return [name for name in names if name in df.columns]


def test_values_and_keys_are_right(df: DataFrame) -> None:
    """What is not refused is what Spark has in the column, in Spark's own type (semantics 35.5)."""
    keys, passing = present(df, {**SIMPLE, **VOID}), present(df, PASSING)
    passing = [name for name in passing if name not in NEVER]
    ranked = present(df, SIMPLE)
    aggregates = [
        F.count().alias("rows"),
        *(F.last(name).alias(f"last {name}") for name in passing),
        *(F.collect_list(name).alias(f"list {name}") for name in passing if name not in ranked),
        *(F.min(name).alias(f"min {name}") for name in ranked),
        *(F.count_distinct(name).alias(f"distinct {name}") for name in ranked),
    ]
    windows = windowed(df).groupBy(*keys).window(DAY).order_by(*ranked).options(null_keys=True)
    panes = windows.agg(*aggregates).panes
    for name in passing:
        kind = df.schema[name].dataType
        assert panes.schema[f"last {name}"].dataType.simpleString() == kind.simpleString()
    for name in set(passing) - set(ranked):
        kind = df.schema[name].dataType
        assert panes.schema[f"list {name}"].dataType.elementType.simpleString() == kind.simpleString()
    for name in ranked:
        assert panes.schema[f"min {name}"].dataType == panes.schema[name].dataType == df.schema[name].dataType
    value = df.where("n = 0").select(*passing).first().asDict()
    found = {row["rows"]: row.asDict() for row in panes.collect()}
    assert sorted(found) == [1, 2]
    for name in passing:
        assert found[2][f"last {name}"] == value[name]
        assert found[1][f"last {name}"] is None
    for name in set(passing) - set(ranked):
        assert found[2][f"list {name}"] == ([value[name]] * 2 if value[name] is not None else [])
        assert found[1][f"list {name}"] == []
    for name in ranked:
        assert (found[2][name], found[2][f"min {name}"], found[2][f"distinct {name}"]) == (
            value[name],
            value[name],
            1,
        )


def test_rows_are_right(df: DataFrame) -> None:
    """Rows of joins and OVER, and invalid rows, have each value in its own type (semantics 35.5)."""
    passing = [name for name in present(df, PASSING) if name not in NEVER]
    given = df.select("event_time", "n", "one", *passing)
    before = {row["n"]: row for row in given.collect()}
    pairs = _joined(given, *present(df, SIMPLE)).rows
    assert sorted(row["l_n"] for row in pairs.collect()) == [0, 1]
    for row in pairs.collect():
        for name in present(df, {**VOID, **NESTED, **SPATIAL, **MAPS, **COLLATED, **USER_DEFINED}):
            assert row[f"l_{name}"] == row[f"r_{name}"] == before[row["l_n"]][name]
    window = pw.Window.partitionBy(*present(df, SIMPLE)).orderBy("event_time", *present(df, SIMPLE))
    rows = over(given).withColumn("number", F.row_number().over(window)).rows
    assert rows.drop("number").schema.simpleString() == given.schema.simpleString()
    assert {row["n"]: (row["number"], row[:-1]) for row in rows.collect()} == {
        0: (1, before[0][:]),
        1: (2, before[1][:]),
        2: (1, before[2][:]),
    }
    given = given.withColumn("event_time", SF.expr("IF(n = 2, NULL, event_time)"))
    invalid = windowed(given).groupBy(*present(df, SIMPLE)).window(DAY).agg(F.count()).invalid
    assert [row["row"] for row in invalid.collect()] == [given.where("n = 2").first()]


def test_the_way_out_of_a_collation(df: DataFrame) -> None:
    """What the error of a collated key says works: Spark's groups, by a key of plain strings."""
    words = df.sparkSession.sql(
        "SELECT TIMESTAMP'2024-01-01' event_time, c COLLATE UTF8_LCASE AS c "
        "FROM VALUES ('abc'), ('ABC'), ('b') AS t(c)"
    )
    panes = (
        windowed(words)
        .groupBy(SF.lower("c").cast("string").alias("text"))
        .window(DAY)
        .agg(F.count().alias("n"))
    )
    assert sorted((row["text"], row["n"]) for row in panes.panes.collect()) == [("abc", 2), ("b", 1)]
    assert sorted(row["count"] for row in words.groupBy("c").count().collect()) == [1, 2]


def test_names_that_are_there_twice(spark: SparkSession) -> None:
    """Two columns, or two fields of a struct, of one name are refused if they are read (semantics 35.6)."""
    twice = spark.sql("SELECT TIMESTAMP'2024-01-01' event_time, 1 AS c, 2 AS c, 3 AS d")
    with pytest.raises(SpecError, match=r"column 'c' 2 times \| .* have different names"):
        windowed(twice).window(DAY).agg(F.count()).late  # noqa: B018 - is built
    with pytest.raises(SpecError, match="column 'c'"):
        windowed(twice).window(DAY).agg(F.sum("c"))
    with pytest.raises(SpecError, match="column 'c'"):
        over(twice).withColumn("n", F.count().over(pw.Window.partitionBy("d").orderBy("event_time")))
    assert [row["n"] for row in windowed(twice).window(DAY).agg(F.count().alias("n")).panes.collect()] == [1]
    inside = spark.sql("SELECT TIMESTAMP'2024-01-01' event_time, named_struct('a', 1, 'a', 2) AS s")
    with pytest.raises(SpecError, match=r"field 'a' 2 times"):
        windowed(inside).window(DAY).agg(F.first("s"))


@pytest.mark.parametrize("text", ["TRUE", " True ", "true"])
def test_names_are_case_sensitive_in_every_spelling_of_the_setting(spark: SparkSession, text: str) -> None:
    """Spark reads the setting in any case (semantics 35.2)."""
    spark.conf.set("spark.sql.caseSensitive", text)
    try:
        df = spark.sql("SELECT TIMESTAMP'2024-01-01' event_time, 1 AS c, 2 AS C")
        panes = windowed(df).window(DAY).agg(F.sum("c").alias("x"), F.sum("C").alias("X")).panes
        assert panes.columns[2:4] == ["x", "X"]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_the_text_of_a_user_defined_type_is_that_of_its_values() -> None:
    assert simple_text(VectorUDT()).startswith("struct<type:tinyint")
    assert simple_text(T.LongType()) == "bigint"
