"""Columns whose types a stored state fixes (semantics 47.21)."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise import functions as F
from panewise.errors import StateError
from panewise.spark import deduplicate, joined, over, policy_windows, windowed
from panewise.spark.queries import query_record
from panewise.spark.queries.input_types import check_spelling, check_stored_types, recorded_types
from panewise.spec.codec import to_dict
from panewise.spec.evolution import Continuation
from panewise.streamwindow import count

COUNT, SUM, MOST = F.count().alias("n"), F.sum("v").alias("s"), F.max("v").alias("m")


def frame(spark: SparkSession, **types: str) -> DataFrame:
    kinds = {"ts": "TIMESTAMP", "k": "STRING", "v": "INT", "w": "INT", **types}
    return spark.createDataFrame([], ", ".join(f"{name} {kind}" for name, kind in kinds.items()))


def windows(df: DataFrame, *aggregates: Any) -> Any:
    described = windowed(df, "ts").groupBy("k").window(pw.Tumbling("1 minute"))
    return described.agg(*aggregates).dataflow


def join(left: DataFrame, right: DataFrame) -> Any:
    return (
        joined(left, right, "ts").on("k").within(0, "1 minute").prefix(right="right_").how("inner").dataflow
    )


def check(before: Any, now: Any, *, has_state: bool = True) -> None:
    check_stored_types(recorded_types(before), to_dict(before.spec), now, lambda: has_state)


@pytest.mark.parametrize(
    ("types", "then", "now"),
    [
        ({"k": "INT"}, (COUNT,), (COUNT,)),
        ({"v": "DOUBLE"}, (SUM,), (SUM,)),
        ({"v": "DOUBLE"}, (COUNT, SUM), (SUM, MOST)),
        ({"v": "DECIMAL(9,2)"}, (MOST, SUM), (MOST,)),
    ],
)
def test_a_stored_column_keeps_its_type(
    spark: SparkSession, types: dict[str, str], then: tuple[Any, ...], now: tuple[Any, ...]
) -> None:
    """semantics 47.21"""
    before, after = windows(frame(spark), *then), windows(frame(spark, **types), *now)
    [(name, kind)] = types.items()
    message = (
        rf"columns of other types \({name}: \w+, now {kind.lower()}\b.*\) \| the columns of a state have"
    )
    with pytest.raises(StateError, match=message.replace("(9,2)", r"\(9,2\)").replace(r"\b", "")):
        check(before, after)
    check(before, after, has_state=False)


@pytest.mark.parametrize(
    ("types", "then", "now"),
    [
        ({}, (COUNT, SUM), (SUM,)),
        ({"w": "STRING"}, (SUM,), (SUM,)),  # no operator reads it
        ({"v": "DOUBLE"}, (SUM, COUNT), (COUNT,)),  # removed with its column
        ({"v": "DOUBLE"}, (COUNT,), (COUNT, SUM)),  # the old type is not stored
        ({"v": "STRING"}, (SUM, COUNT), (COUNT, F.max("v").alias("m"))),
    ],
)
def test_other_columns_may_have_other_types(
    spark: SparkSession, types: dict[str, str], then: tuple[Any, ...], now: tuple[Any, ...]
) -> None:
    check(windows(frame(spark), *then), windows(frame(spark, **types), *now))


def test_whole_rows_of_both_sides_keep_their_types(spark: SparkSession) -> None:
    before = join(frame(spark), frame(spark))
    check(before, join(frame(spark), frame(spark)))
    with pytest.raises(StateError, match=r"^columns of other types \(w: int, now string\)"):
        check(before, join(frame(spark), frame(spark, w="STRING")))


WHOLE_ROWS = {
    "over": lambda df: over(df, "ts").ordered("k").dataflow,
    "deduplication": lambda df: deduplicate(df, "ts").on("k").within("1 hour", keep="last").dataflow,
    "join": lambda df: join(df, df),
    "as-of join": lambda df: joined(df, df, "ts").on("k").as_of().prefix(right="r_").how("left").dataflow,
    "window join": lambda df: (
        joined(df, df, "ts").on("k").window(pw.Tumbling(1)).prefix(right="r_").how("full").dataflow
    ),
    "tuples": lambda df: policy_windows(df).partition_by("k").tumbling(count(2)).tuples().dataflow,
}


@pytest.mark.parametrize("family", WHOLE_ROWS)
def test_stored_rows_keep_their_columns(spark: SparkSession, family: str) -> None:
    """semantics 47.12: `write` refuses an input that lacks one, before a micro-batch begins."""
    described = WHOLE_ROWS[family]
    before = described(frame(spark))
    fewer = described(frame(spark).drop("w"))
    with pytest.raises(StateError, match=r"^other columns than those of the state \(missing: w\) \| "):
        check(before, fewer)
    check(before, fewer, has_state=False)
    if family == "tuples":
        with pytest.raises(StateError, match=r"\(new: x\)"):
            check(before, described(frame(spark, x="INT")))
        with pytest.raises(StateError, match=r"\(in another order\)"):
            check(before, described(frame(spark).select("w", "v", "k", "ts")))
    else:
        check(before, described(frame(spark, x="INT")))
        check(before, described(frame(spark).select("w", "v", "k", "ts")))


def test_a_removed_aggregate_may_take_its_column_along(spark: SparkSession) -> None:
    check(windows(frame(spark), COUNT, SUM), windows(frame(spark).drop("v"), COUNT))


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (lambda df: windows(df, SUM), lambda df: windows(df, F.sum("V").alias("s"))),
        (
            lambda df: windowed(df, "ts").groupBy("k").window(pw.Tumbling(1)).agg(COUNT).dataflow,
            lambda df: windowed(df, "ts").groupBy("K").window(pw.Tumbling(1)).agg(COUNT).dataflow,
        ),
        (lambda df: over(df, "ts").ordered("k").dataflow, lambda df: over(df, "TS").ordered("k").dataflow),
        (WHOLE_ROWS["join"], lambda df: WHOLE_ROWS["join"](df.withColumnRenamed("w", "W"))),
    ],
)
def test_a_state_has_one_spelling_of_a_name(spark: SparkSession, then: Any, now: Any) -> None:
    """semantics 47.26: otherwise the sum would be one that was added, and be null."""
    before, after = recorded_types(then(frame(spark))), now(frame(spark))
    with pytest.raises(StateError, match=r"^column '(\w+)', which was '\w+' \| .* \| write '(?!\1)\w+'"):
        check_spelling(before, after, str.lower, lambda: True)
    check_spelling(before, after, str, lambda: True)
    check_spelling(before, after, str.lower, lambda: False)


def test_one_column_does_not_hide_another_one(spark: SparkSession) -> None:
    """semantics 47.21: the sum could not read the old type, and the key is stored."""
    before = windows(frame(spark, v="STRING"), COUNT, F.max("v").alias("m"))
    with pytest.raises(StateError, match=r"^columns of other types \(k: string, now int\)"):
        check(before, windows(frame(spark, k="INT"), COUNT, SUM))


@pytest.mark.parametrize(("committed", "kept"), [(-1, "double"), (0, "integer")])
def test_types_without_a_committed_micro_batch_are_replaced(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, committed: int, kept: str
) -> None:
    """semantics 47.21: else the state would have other types than its record."""
    monkeypatch.setattr(query_record, "reads_of", lambda dataflow: {})
    monkeypatch.setattr(query_record, "last_committed", lambda session, checkpoint: committed)
    checkpoint, first, then = (
        str(tmp_path),
        windows(frame(spark), SUM),
        windows(frame(spark, v="DOUBLE"), SUM),
    )
    query_record.prepare_record(spark, first, checkpoint, at_end=False)
    known = query_record.record_of(spark, checkpoint)
    assert known is not None
    same = Continuation(first.spec, first.spec)
    query_record.continue_record(spark, known, same, then, checkpoint, None)
    newest = query_record.record_of(spark, checkpoint)
    assert newest is not None
    (columns,) = newest.header["columns"].values()
    assert {field["name"]: field["type"] for field in columns["fields"]}["v"] == kept


def test_a_record_of_an_earlier_release_says_nothing(spark: SparkSession) -> None:
    after = windows(frame(spark, v="DOUBLE"), SUM)
    check_stored_types({}, to_dict(after.spec), after, lambda: True)
