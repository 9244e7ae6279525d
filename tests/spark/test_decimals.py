"""Compares decimals with Spark's batch aggregates in ANSI mode: values, types, overflow (semantics 24.16)."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.spark import windowed
from tests.engine.decimals import CASES, Case

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def frame(spark: SparkSession, case: Case) -> DataFrame:
    return spark.createDataFrame(
        [(NOON, Decimal(value)) for value in case.values], f"ts TIMESTAMP, v {case.kind}"
    )


def native(df: DataFrame, what: Column) -> Decimal | None:
    """Returns Spark's result, or None where Spark raises that the result does not fit."""
    try:
        value: Decimal = df.agg(what.alias("a")).collect()[0]["a"]
    except PySparkException as error:
        if error.getCondition() in ("ARITHMETIC_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"):
            return None
        raise
    return value


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_table_is_that_of_spark(spark: SparkSession, case: Case) -> None:
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    df = frame(spark, case)
    total, mean = (None if value is None else Decimal(value) for value in (case.total, case.mean))
    assert native(df, SF.sum("v")) == total
    if total is not None:  # whether Spark notices the overflow of a mean's sum depends on its partitions
        assert native(df, SF.avg("v")) == mean


def test_types_are_those_of_spark(spark: SparkSession) -> None:
    names = ("sum", "avg", "min", "first", "mode", "median", "stddev", "collect_list")
    for kind in dict.fromkeys(case.kind for case in CASES):
        df = spark.createDataFrame([], f"ts TIMESTAMP, v {kind}")
        ours = (
            windowed(df, event_time="ts")
            .window(pw.Tumbling("1 hour"))
            .agg(*(getattr(F, name)("v").alias(name) for name in names))
        )
        wanted = df.agg(*(getattr(SF, name)("v").alias(name) for name in names)).schema
        assert ours.panes.select(*names).schema.simpleString() == wanted.simpleString()


def test_a_batch_on_spark(spark: SparkSession) -> None:
    """A sum and a mean of 38 digits pass through the operator, and a sum that does not fit is an error."""
    fits, beyond = (
        next(one for one in CASES if one.kind == kind) for kind in ("decimal(35,35)", "decimal(38,37)")
    )
    made = [F.sum("v").alias("total"), F.avg("v").alias("mean")]
    results = [
        windowed(frame(spark, case), event_time="ts").window(pw.Tumbling("1 hour")).agg(*made)
        for case in (fits, beyond)
    ]
    assert fits.total is not None
    assert fits.mean is not None
    assert results[0].panes.select("total", "mean").collect() == [(Decimal(fits.total), Decimal(fits.mean))]
    with pytest.raises(
        PySparkException,
        match=r"AggregateOverflowError: sum\(v\) beyond decimal\(38,37\) \| a sum or a mean of decimals",
    ):
        results[1].panes.collect()
