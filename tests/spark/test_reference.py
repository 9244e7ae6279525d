"""The examples of the page of the reference on Spark run; they begin with a DataFrame and a session."""

import doctest

from pyspark.sql import SparkSession

from tests.house.sources import ROOT


def test_examples(spark: SparkSession) -> None:
    df = spark.createDataFrame([], "ts TIMESTAMP, k STRING, v BIGINT")
    failed, tried = doctest.testfile(
        str(ROOT / "docs" / "reference" / "api" / "spark.md"),
        module_relative=False,
        optionflags=doctest.NORMALIZE_WHITESPACE,
        globs={"spark": spark, "df": df},
    )
    assert tried > 20
    assert failed == 0
