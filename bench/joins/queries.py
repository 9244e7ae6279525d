"""A join in panewise, in Spark, and the two Python stages of panewise with next to nothing in them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, TypeAlias

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming.stateful_processor import TimerValues

from bench.empty import Empty, first_stage
from bench.shapes import WATERMARK_DELAY
from panewise import AsOf, Interval, JoinOperator, SameWindow, Side, Tumbling
from panewise import functions as F
from panewise.spark import apply, cogrouped
from panewise.spark.session.settings import PROVIDER
from panewise.spec.operators.join.match import Match

_FORMAT = "spark.sql.streaming.join.stateFormatVersion"
_HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

# Version 4 is part of Spark 4.2, which refuses it without this setting. Spark 4.3 does not have the setting.
_V4 = {_FORMAT: "4", "spark.sql.streaming.join.stateFormatV4.enabled": "true"}
_HAS_V4 = tuple(map(int, version("pyspark").split(".")[:2])) >= (4, 2)

# Spark's join, by state store and version of the state format. Version 2 is Spark's default. Spark
# 4.2 starts no query with version 1. Versions 3 and 4 need column families, which only RocksDB has.
NATIVE: Mapping[str, Mapping[str, str]] = {
    "rocksdb_v2": {_FORMAT: "2"},
    "rocksdb_v3": {_FORMAT: "3"},
    **({"rocksdb_v4": _V4} if _HAS_V4 else {}),
    "hdfs_v2": {_FORMAT: "2", PROVIDER: _HDFS},
}


@dataclass(frozen=True, slots=True)
class Join:
    """A join of rows with equal k: ts of the right row less that of the left one is in [lower, upper].

    The bounds are microseconds.
    """

    how: Literal["inner", "left"]
    lower_us: int
    upper_us: int
    delay: str = WATERMARK_DELAY

    @property
    def match(self) -> Match:
        """The match of panewise."""
        return Interval(self.lower_us, self.upper_us)

    def condition(self) -> Column:
        """Returns Spark's condition. Columns of the right side have the prefix r_."""
        bounds = (f"ts + INTERVAL '{us / 1_000_000:.6f}' SECOND" for us in (self.lower_us, self.upper_us))
        return sf.expr("k = r_k AND r_ts BETWEEN {} AND {}".format(*bounds))


@dataclass(frozen=True, slots=True)
class InWindows:
    """An inner join of rows with equal k in the same tumbling window of a length in microseconds."""

    size_us: int
    how: Literal["inner"] = "inner"
    delay: str = WATERMARK_DELAY

    @property
    def match(self) -> Match:
        """The match of panewise."""
        return SameWindow(Tumbling(self.size_us))

    def condition(self) -> Column:
        """Returns Spark's condition. Without the range of time it would keep all rows for good."""
        windows = (f"unix_micros({time}) DIV {self.size_us}" for time in ("ts", "r_ts"))
        size = f"INTERVAL '{self.size_us / 1_000_000:.6f}' SECOND"
        same = "k = r_k AND {} = {}".format(*windows)
        return sf.expr(f"{same} AND r_ts BETWEEN ts - {size} AND ts + {size}")


@dataclass(frozen=True, slots=True)
class LatestBefore:
    """Each left row with the latest right row of its key that is not after it, or without one."""

    how: Literal["left"] = "left"
    delay: str = WATERMARK_DELAY

    @property
    def match(self) -> Match:
        """The match of panewise."""
        return AsOf()


@dataclass(frozen=True, slots=True)
class Cogroup:
    """The sums of v of each side for each k and tumbling window of a length in microseconds."""

    size_us: int
    how: Literal["full"] = "full"
    delay: str = WATERMARK_DELAY


AnyJoin: TypeAlias = Join | InWindows | LatestBefore | Cogroup


def ours(left: DataFrame, right: DataFrame, join: AnyJoin) -> DataFrame:
    """Returns the join in panewise: k, then ts and v of both sides, and three columns that the join adds.

    Of a cogroup these are the start of the window and the sums, without further columns.
    """
    if isinstance(join, Cogroup):
        sums = F.sum("v").alias("v"), F.sum("v").alias("r_v")
        watched = (side.withWatermark("ts", join.delay) for side in (left, right))
        made = cogrouped(*watched).on("k").window(Tumbling(join.size_us)).agg(left=sums[:1], right=sums[1:])
        return made.panes.selectExpr(*_OF_WINDOWS)
    spec = JoinOperator(
        left=Side(keys=["k"], event_time="ts"),
        right=Side(keys=["k"], event_time="ts", prefix="r_"),
        match=join.match,
        how=join.how,
    )
    dfs = {"left": left.withWatermark("ts", join.delay), "right": right.withWatermark("ts", join.delay)}
    rows: DataFrame = apply(dfs, spec).rows
    return rows


# The columns of the panes of a cogroup, with the names that the columns of a join have.
_OF_WINDOWS = ("k", "window_start AS ts", "v", "window_start AS r_ts", "r_v")


def aggregates(left: DataFrame, right: DataFrame, join: Cogroup) -> DataFrame:
    """Returns what a cogroup emits, as a join of two aggregations in Spark."""

    def sums(side: DataFrame, name: str) -> DataFrame:
        windows = sf.window("ts", f"{join.size_us} microseconds").alias("window")
        return side.withWatermark("ts", join.delay).groupBy("k", windows).agg(sf.sum("v").alias(name))

    both = sums(left, "v").join(sums(right, "r_v"), ["k", "window"], join.how)
    return both.withColumn("window_start", sf.col("window.start")).selectExpr(*_OF_WINDOWS)


def native(left: DataFrame, right: DataFrame, join: Join | InWindows) -> DataFrame:
    """Returns Spark's join: k, then ts and v of both sides."""
    renamed = right.select(*(sf.col(name).alias(f"r_{name}") for name in right.columns))
    watched, others = left.withWatermark("ts", join.delay), renamed.withWatermark("r_ts", join.delay)
    return watched.join(others, join.condition(), join.how).drop("r_k")


_OF_SIDES = "k BIGINT, ts TIMESTAMP, v BIGINT, r_ts TIMESTAMP, r_v BIGINT"
_OUT = f"{_OF_SIDES}, op STRING, missing STRING, join_time TIMESTAMP"


def empty(left: DataFrame, right: DataFrame, rows_out: float) -> DataFrame:
    """Returns as many bytes as the join emits, out of two stages that only count the rows of both sides.

    `rows_out` is the number of rows that the join emits for each row that it reads.
    """
    counted = first_stage(left.union(right)).groupBy("shard")
    shards = int(left.sparkSession.conf.get("spark.sql.shuffle.partitions", "2"))
    return counted.transformWithStateInPandas(Constant(rows_out / shards), _OUT, "Append", "EventTime")


class Constant(Empty):
    """Counts the rows in state, and emits the same row again and again."""

    ROWS = 1 << 16  # of a frame: about as many bytes as panewise puts into one

    def __init__(self, rows_out: float) -> None:
        self.rows_out = rows_out

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Adds the rows to the count in state, and emits as many rows as the join."""
        came, _ = self.count(rows)
        left = round(came * self.rows_out)
        while left > 0:
            yield _constant(min(left, self.ROWS))
            left -= self.ROWS


def _constant(rows: int) -> pd.DataFrame:
    number, instant = pa.repeat(pa.scalar(1, pa.int64()), rows), pa.timestamp("us", "UTC")
    columns = {
        "k": number,
        "ts": number.cast(instant),
        "v": number,
        "r_ts": number.cast(instant),
        "r_v": number,
        "op": pa.repeat("+", rows),
        "missing": pa.nulls(rows, pa.string()),
        "join_time": number.cast(instant),
    }
    frame: pd.DataFrame = pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype, use_threads=False)
    return frame
