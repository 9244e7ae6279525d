"""An as-of join with transformWithStateInPandas, as its documentation shows it: one call for each key.

State is one value for each key: the left rows that wait, and the right rows that later left rows may need. A
timer is set for the first left row that waits.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from bench.joins.queries import LatestBefore

_STATE = "times ARRAY<BIGINT>, values ARRAY<BIGINT>, r_times ARRAY<BIGINT>, r_values ARRAY<BIGINT>"
_COLUMNS = ["k", "ts", "v", "r_ts", "r_v"]
_OUT = ", ".join(f"{name} BIGINT" for name in _COLUMNS)

Row = tuple[int, int]  # ts in microseconds, v


def query(left: DataFrame, right: DataFrame, join: LatestBefore) -> DataFrame:
    """Returns the as-of join: k, then ts and v of both sides."""
    sides = (
        df.withWatermark("ts", join.delay).withColumn("side", sf.lit(side))
        for side, df in (("left", left), ("right", right))
    )
    both = next(sides).union(next(sides))
    rows = both.groupBy("k").transformWithStateInPandas(AsOfProcessor(), _OUT, "Append", "EventTime")
    return rows.withColumns({name: sf.timestamp_micros(name) for name in ("ts", "r_ts")})


class AsOfProcessor(StatefulProcessor):
    """Emits a left row when the watermark has passed it."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self.handle = handle
        self.held = handle.getValueState("held", _STATE)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Adds the rows, and emits the left rows that wait for nothing."""
        new: dict[str, list[Row]] = {"left": [], "right": []}
        for frame in rows:
            micros = frame["ts"].to_numpy().astype("datetime64[us]").astype("int64")
            for side, t, v in zip(frame["side"].tolist(), micros.tolist(), frame["v"].tolist(), strict=True):
                new[side].append((t, v))
        return self._emitted(key, new, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """Emits the left rows that wait for nothing."""
        return self._emitted(key, {"left": [], "right": []}, timerValues)

    def _emitted(self, key: Any, new: dict[str, list[Row]], timers: TimerValues) -> Iterator[pd.DataFrame]:
        times, values, r_times, r_values = self.held.get() or ([], [], [], [])
        lefts = sorted([*zip(times, values, strict=True), *new["left"]])
        rights = sorted([*zip(r_times, r_values, strict=True), *new["right"]])
        watermark = timers.getCurrentWatermarkInMs() * 1000
        due = bisect_right(lefts, (watermark,))
        emitted = []
        for t, v in lefts[:due]:
            at = bisect_right(rights, (t, _LARGEST)) - 1
            emitted.append((*key, t, v, *(rights[at] if at >= 0 else (None, None))))
        needed = max(0, bisect_right(rights, (watermark,)) - 1)
        lefts, rights = lefts[due:], rights[needed:]
        self.held.update(([t for t, _ in lefts], [v for _, v in lefts], *map(list, _columns(rights))))
        if lefts:
            self.handle.registerTimer(lefts[0][0] // 1000 + 1)
        if emitted:
            yield pd.DataFrame(emitted, columns=_COLUMNS).astype("Int64")


_LARGEST = 2**63 - 1


def _columns(rows: list[Row]) -> tuple[list[int], list[int]]:
    return [t for t, _ in rows], [v for _, v in rows]
