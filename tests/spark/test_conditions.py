"""Compares the truth values of conditions with those of Spark SQL in ANSI mode."""

from datetime import timedelta
from functools import reduce
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF

from panewise.spec.conditions import (
    And,
    Arithmetic,
    Between,
    Column,
    Comparison,
    In,
    IsNull,
    Literal,
    Node,
    Not,
    Or,
)
from panewise.spec.conditions.nodes import ARITHMETIC
from panewise.spec.conditions.operand_types import digits_of, digits_of_result
from tests.conditions import COLUMNS, TYPES
from tests.engine.condition_cases import CASES, EPOCH, OVERFLOW, Case

OPERATORS: dict[str, Any] = {
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<=>": lambda a, b: a.eqNullSafe(b),
    "And": lambda a, b: a & b,
    "Or": lambda a, b: a | b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}


# A name for each side's columns. "left" and "right" are words of SQL.
NAMES = {"left": "l_", "right": "r_"}


def native(node: Node) -> SparkColumn:
    """Returns a condition as a Column of Spark."""
    match node:
        case Column(side=side, name=name):
            return SF.col(NAMES[side] + name)
        case Literal(type="timestamp"):
            return SF.timestamp_micros(SF.lit(node.python))
        case Literal():
            return SF.lit(node.python).cast(node.type)
        case And(parts=parts) | Or(parts=parts):
            return reduce(OPERATORS[type(node).__name__], map(native, parts))
        case Not(part=part):
            return ~native(part)
    return native_truth(node)


def native_truth(node: Node) -> SparkColumn:
    match node:
        case IsNull(value=value):
            return native(value).isNull()
        case Between(value=value, low=low, high=high):
            return native(value).between(native(low), native(high))
        case In(value=value, options=options):
            return native(value).isin(*map(native, options))
    assert isinstance(node, Comparison | Arithmetic)
    made: SparkColumn = OPERATORS[node.op](native(node.first), native(node.second))
    return made


def values(case: Case) -> list[Any]:
    """Returns the values of both rows, with timestamps as Spark takes them."""
    found = [(COLUMNS[name], value) for side in NAMES for name, value in case.row(side).items()]
    return [
        EPOCH + timedelta(microseconds=value) if kind == "timestamp" and value is not None else value
        for kind, value in found
    ]


def frame(spark: SparkSession, cases: list[Case]) -> DataFrame:
    columns = [f"{start}{name} {kind}" for start in NAMES.values() for name, kind in COLUMNS.items()]
    rows = [(n, *values(case)) for n, case in enumerate(cases)]
    return spark.createDataFrame(rows, ", ".join(["case INT", *columns]))


def test_the_table_is_that_of_spark(spark: SparkSession) -> None:
    """One query: each row has the values of a case, and is tested by the condition of this case alone."""
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    cases = [case for case in CASES if case.truth != OVERFLOW]
    truth = SF.when(SF.lit(False), SF.lit(None).cast("boolean"))
    for n, case in enumerate(cases):
        truth = truth.when(SF.col("case") == n, native(case.condition))
    found = frame(spark, cases).select("case", truth.alias("truth")).orderBy("case").collect()
    assert {str(case): row["truth"] for case, row in zip(cases, found, strict=True)} == {
        str(case): case.truth for case in cases
    }


@pytest.mark.parametrize("op", ARITHMETIC)
def test_types_of_decimals_are_those_of_spark(spark: SparkSession, op: str) -> None:
    pairs = [(one, other) for one in ("d", "n", "i") for other in ("d", "n", "i") if "d" in (one, other)]
    columns = [(Column("left", one), Column("right", other)) for one, other in pairs]
    digits = [digits_of_result(op, *(digits_of(one, TYPES[one.name]) for one in both)) for both in columns]
    nodes = [Arithmetic(op, *both) for both in columns]
    found = frame(spark, []).select(*(native(node).alias(str(n)) for n, node in enumerate(nodes))).schema
    assert [one.dataType.simpleString() for one in found] == [f"decimal({p},{s})" for p, s in digits]


@pytest.mark.parametrize("case", [case for case in CASES if case.truth == OVERFLOW], ids=str)
def test_spark_raises_where_a_number_overflows(spark: SparkSession, case: Case) -> None:
    with pytest.raises(PySparkException) as caught:
        frame(spark, [case]).select(native(case.condition)).collect()
    assert caught.value.getCondition().startswith("ARITHMETIC_OVERFLOW")
