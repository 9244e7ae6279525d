"""Compares aggregates with Spark's batch aggregates: values and types (semantics 24.1, 24.8 to 24.26)."""

import random
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spark import windowed
from panewise.testing import assert_panes, run
from tests.nightly import first_here
from tests.spark.conftest import best

NAN = float("nan")
Native = Callable[[], Column]

PAIRS: dict[str, tuple[pw.Aggregate, Native]] = {
    "count_distinct": (F.count_distinct("x"), lambda: SF.count_distinct("x")),
    "count_if": (F.count_if("o"), lambda: SF.count_if("o")),
    "bool_and": (F.bool_and("o"), lambda: SF.bool_and("o")),
    "every": (F.every("o"), lambda: SF.every("o")),
    "bool_or": (F.bool_or("o"), lambda: SF.bool_or("o")),
    "some": (F.some("o"), lambda: SF.some("o")),
    "var_pop": (F.var_pop("x"), lambda: SF.var_pop("x")),
    "stddev_pop": (F.stddev_pop("x"), lambda: SF.stddev_pop("x")),
    "var_samp": (F.var_samp("x"), lambda: SF.var_samp("x")),
    "stddev_samp": (F.stddev_samp("x"), lambda: SF.stddev_samp("x")),
    "std": (F.std("x"), lambda: SF.std("x")),
    "sum_distinct": (F.sum_distinct("x"), lambda: SF.sum_distinct("x")),
    "avg_distinct": (F.avg_distinct("id"), lambda: SF.expr("avg(DISTINCT id)")),
    "product": (F.product("x"), lambda: SF.product("x")),
    "bit_and": (F.bit_and("id"), lambda: SF.bit_and("id")),
    "bit_or": (F.bit_or("id"), lambda: SF.bit_or("id")),
    "bit_xor": (F.bit_xor("id"), lambda: SF.bit_xor("id")),
    "skewness": (F.skewness("x"), lambda: SF.skewness("x")),
    "kurtosis": (F.kurtosis("id"), lambda: SF.kurtosis("id")),
    "mode": (F.mode("x"), lambda: SF.mode("x", True)),
    "max_by": (F.max_by("x", "id"), lambda: SF.max_by("x", "id")),
    "min_by": (F.min_by("x", "id"), lambda: SF.min_by("x", "id")),
    "max_by with NaN": (F.max_by("one", "x"), lambda: SF.max_by("one", "x")),
    "max_by with k": (F.max_by("x", "id", k=3), lambda: best("x", "id", 3)),
    "min_by with k": (F.min_by("x", "id", k=3), lambda: best("x", "id", 3, least=True)),
    "max_by of two": (
        F.max_by("id", ["x", "id"]),
        lambda: SF.expr("max_by(id, struct(x, id)) FILTER (WHERE x IS NOT NULL)"),
    ),
    "min_by of two": (
        F.min_by("id", ["o", "id"]),
        lambda: SF.expr("min_by(id, struct(o, id)) FILTER (WHERE o IS NOT NULL)"),
    ),
    "max_by of two with a filter": (
        F.max_by("id", ["x", "id"]).filter("o"),
        lambda: SF.expr("max_by(id, struct(x, id)) FILTER (WHERE o AND x IS NOT NULL)"),
    ),
    "top_n_by of three": (
        F.top_n_by("id", [F.asc("x"), F.desc("o"), "id"], 9),
        lambda: SF.expr(
            "transform(slice(sort_array(collect_list(struct(x, o IS NULL, NOT o, id IS NULL, -id, id)) "
            "FILTER (WHERE x IS NOT NULL)), 1, 9), one -> one.id)"
        ),
    ),
    "top_n": (F.top_n("x", 4), lambda: SF.slice(SF.sort_array(SF.collect_list("x"), asc=False), 1, 4)),
    "sort_list": (F.sort_list("x"), lambda: SF.sort_array(SF.collect_list("x"))),
    "sort_list falling": (
        F.sort_list("x", ascending=False),
        lambda: SF.sort_array(SF.collect_list("x"), asc=False),
    ),
}


def numbers(spark: SparkSession) -> DataFrame:
    """Returns two large groups, one with nulls alone, and one of a single row.

    `id` differs between the rows of a large group, and is null where it would be a multiple of nine.
    """
    random.seed(3)
    now = datetime(2024, 1, 1, tzinfo=UTC)
    rows: list[Any] = []
    for n in range(120):
        x = random.choice([None, 0.5, 1.0, 1.0, 2.25, -3.0, *([NAN] if n % 3 == 0 else [])])
        rows.append((now, "ab"[n % 2], n if n % 9 else None, 1, x, random.choice([None, True, False])))
    rows += [(now, "nulls", n, 1, None, None) for n in range(3)] + [(now, "one", 1, 1, 4.0, True)]
    return spark.createDataFrame(rows, "ts TIMESTAMP, k STRING, id INT, one INT, x DOUBLE, o BOOLEAN")


@pytest.fixture(scope="module")
def both(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    df = numbers(spark)
    ours = (
        windowed(df, event_time="ts")
        .groupBy("k")
        .window(pw.Tumbling("1 hour"))
        .agg(*(one.alias(n) for n, (one, _) in PAIRS.items()))
    )
    native = df.groupBy("k").agg(*(other().alias(name) for name, (_, other) in PAIRS.items()))
    return ours.panes.select("k", *PAIRS), native


def test_values(both: tuple[DataFrame, DataFrame]) -> None:
    left, right = (pl.DataFrame(one.toArrow()).sort("k") for one in both)
    assert_frame_equal(left, right, rel_tol=1e-12)


def test_types(both: tuple[DataFrame, DataFrame]) -> None:
    assert both[0].schema.simpleString() == both[1].schema.simpleString()


def test_every_type_of_column(spark: SparkSession) -> None:
    ddl = (
        "ts TIMESTAMP, id INT, b BYTE, i INT, f FLOAT, d DECIMAL(10,2), s STRING, t TIMESTAMP, dt "
        "DATE, o BOOLEAN, y BINARY, a ARRAY<INT>"
    )
    now = datetime(2024, 1, 1, tzinfo=UTC)
    low = (now, 1, 1, 2, 0.5, Decimal("1.25"), "x", now, now.date(), False, b"y", [1, 2])
    high = (
        now,
        2,
        3,
        4,
        1.5,
        Decimal("2.25"),
        "z",
        now.replace(day=2),
        now.replace(day=2).date(),
        True,
        b"z",
        [3],
    )
    df = spark.createDataFrame([low, high, low], ddl)
    simple, every = (
        ("b", "i", "f", "d", "s", "t", "dt", "o", "y"),
        ("b", "i", "f", "d", "s", "t", "dt", "o", "y", "a"),
    )
    asked: dict[str, tuple[pw.Aggregate, Column]] = {}
    for c in simple:
        asked |= {
            f"mode_{c}": (F.mode(c), SF.mode(c, True)),
            f"by_{c}": (F.max_by("id", c), SF.max_by("id", c)),
        }
        asked |= {f"least_by_{c}": (F.min_by("a", c, 1), best("a", c, 1, least=True))}
        asked |= {f"sorted_{c}": (F.sort_list(c), SF.sort_array(SF.collect_list(c)))}
        asked |= {f"top_{c}": (F.top_n(c, 2), SF.slice(SF.sort_array(SF.collect_list(c), asc=False), 1, 2))}
    for c in every:
        asked |= {
            f"max_{c}": (F.max_by(c, "id"), SF.max_by(c, "id")),
            f"two_{c}": (F.max_by(c, "id", 1), best(c, "id", 1)),
        }
        asked |= {f"distinct_{c}": (F.count_distinct(c), SF.count_distinct(c))}
    for c in ("b", "i", "f", "d"):
        asked |= {f"var_{c}": (F.var_pop(c), SF.var_pop(c)), f"dev_{c}": (F.stddev_pop(c), SF.stddev_pop(c))}
    ours = (
        windowed(df, event_time="ts")
        .window(pw.Global())
        .agg(*(one.alias(name) for name, (one, _) in asked.items()))
    )
    native = df.agg(*(other.alias(name) for name, (_, other) in asked.items()))
    mine = ours.panes.select(native.columns)
    assert mine.schema.simpleString() == native.schema.simpleString()
    left, right = (pl.DataFrame(one.toArrow()) for one in (mine, native))
    assert_frame_equal(left, right, rel_tol=1e-12)


def test_order_columns_of_pyspark(spark: SparkSession) -> None:
    """semantics 24.26: PySpark's asc and desc have the nulls where panewise has them; others are refused."""
    assert F.max_by("v", [SF.desc("a"), SF.col("b").asc()]) == F.max_by("v", ["a", F.asc("b")])
    assert F.top_n_by("v", SF.asc("a"), 2) == F.top_n_by("v", "a", 2, ascending=True)
    with pytest.raises(SpecError) as error:
        F.min_by("v", ["a", SF.desc_nulls_first("b")])
    assert error.value.args[0] == (
        "by='b DESC NULLS FIRST' | nulls come first in ascending and last in descending order, of a column | "
        "give asc(...) or desc(...) of panewise.functions"
    )
    with pytest.raises(SpecError, match=r"^b DESC NULLS LAST in asc or desc \| a column has one direction"):
        F.asc(SF.desc("b"))
    with pytest.raises(SpecError, match=r"ascending is the direction of columns without one"):
        F.top_n_by("v", [SF.asc("a"), F.desc("b")], 2, ascending=True)


def test_rankings_by_expressions(spark: SparkSession) -> None:
    """semantics 24.26: each column may be an expression, which Spark evaluates before the operator."""
    low = F.min_by("id", [SF.col("x") * 2, F.desc(SF.col("id") % 200)]).alias("low")
    ours = windowed(numbers(spark), event_time="ts").window(pw.Global()).agg(low)
    native = numbers(spark).agg(
        SF.expr("min_by(id, struct(x * 2, -(id % 200))) FILTER (WHERE x IS NOT NULL AND id IS NOT NULL)")
    )
    assert ours.panes.select("low").collect() == native.collect()


STATISTICS = pw.UserAggregate(
    "statistics",
    init=list,
    accumulate=lambda state, v, d: [*state, [v, None if d is None else str(d)]],
    merge=lambda one, other: [*one, *other],
    finish=lambda rows: {
        "sum": sum((Decimal(d) for _, d in rows if d is not None), Decimal("0.00")),
        "by": {str(v): [Decimal(d)] for v, d in rows if d is not None},
        "rows": len(rows),
    },
    result="struct<sum:decimal(20,2),by:map<string,array<decimal(10,2)>>,rows:bigint>",
)
COUNTS = pw.UserAggregate.fold(
    "counts",
    {},
    lambda state, v: {**state, str(v): state.get(str(v), 0) + 1},
    combine=lambda one, other: {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}},
    result="map<string,bigint>",
)


def test_structs_maps_and_decimals_of_users_with_filters(spark: SparkSession) -> None:
    """semantics 24.20, 24.29, 24.30, 35.3: panes have Spark's own types."""
    now = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [
        (now, 1, Decimal("1.50")),
        (now, 2, None),
        (now, None, Decimal("4.00")),
        (now, 3, Decimal("0.25")),
    ]
    df = spark.createDataFrame(rows, "ts TIMESTAMP, v INT, d DECIMAL(10,2)")
    panes = (
        windowed(df, event_time="ts")
        .window(pw.Tumbling("1 hour"))
        .agg(
            STATISTICS("v", SF.col("d") * 1).filter(SF.col("v") < 3).alias("few"),
            COUNTS("v").alias("counts"),
            F.first_n("d", 2).filter(SF.col("v") >= 2).alias("two"),
            F.last("d").filter(SF.col("v") == 2).alias("last"),
            F.collect_list("v", nulls="include").alias("all"),
        )
        .panes.select("few", "counts", "two", "last", "all")
    )
    assert panes.schema.simpleString() == (
        "struct<few:struct<sum:decimal(20,2),by:map<string,array<decimal(10,2)>>,rows:bigint>,"
        "counts:map<string,bigint>,two:array<decimal(10,2)>,last:decimal(10,2),all:array<int>>"
    )
    [row] = panes.collect()
    assert row["few"].asDict() == {"sum": Decimal("1.50"), "by": {"1": [Decimal("1.50")]}, "rows": 2}
    assert row["counts"] == {"1": 1, "2": 1, "None": 1, "3": 1}
    assert (row["two"], row["last"], row["all"]) == ([None, Decimal("0.25")], None, [1, 2, None, 3])


@pytest.mark.parametrize("runtime", first_here(["standalone", "spark"]))
def test_results_of_users_over_micro_batches(spark: SparkSession, runtime: str) -> None:
    """semantics 24.20, 24.29: states of micro-batches merge, and the results are those of the oracle."""
    aggregates = [STATISTICS("v", "d").filter("ok").alias("a"), COUNTS("v").alias("b")]
    spec = pw.WindowOperator(window=pw.Session(5), aggregates=aggregates)
    rows = [{"event_time": n, "v": n % 3, "d": Decimal(n), "ok": n % 2 == 0} for n in range(6)]
    events: list[dict[str, Any]] = [{"op": "add", "rows": rows[::2]}, {"op": "add", "rows": rows[1::2]}]
    types = {"d": "decimal(10,2)", "v": "bigint"}
    [pane] = run(spec, [*events, {"op": "finish"}], "oracle", types=types)[-1]["panes"]
    assert_panes(
        run(spec, [*events, {"op": "finish"}], runtime, types=types)[-1], [{"a": pane["a"], "b": pane["b"]}]
    )
