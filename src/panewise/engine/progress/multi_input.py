"""The watermarks of several inputs (semantics 12.5, 12.6, 12.9)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import polars as pl

from panewise.chrono import saturating_add
from panewise.engine.columns import TIME
from panewise.spec import RowInputs


@dataclass(frozen=True)
class Told:
    """What an input has told last: its watermark, and the processing time; None before the first reading of the clock."""

    watermark: int | None = None
    heard: int | None = None


@dataclass(frozen=True)
class Inputs:
    """Of each input what it told last, and the first reading of the clock, from which on silence counts."""

    told_last: tuple[tuple[str, Told], ...] = ()
    since: int | None = None

    def told(self, source: str | None, watermark: int | None, now: int) -> "Inputs":
        """An input tells its watermark; one that is not above the last says only that the input is there."""
        if source is None or watermark is None:
            return self
        known = dict(self.told_last)
        before = known.get(source, Told()).watermark
        heard = None if self.since is None else now
        known[source] = Told(watermark if before is None else max(before, watermark), heard)
        return Inputs(tuple(known.items()), self.since)

    def told_by_rows(self, inputs: RowInputs, latest: Mapping[str, int], now: int) -> "Inputs":
        """The inputs of rows tell their watermarks, together; `latest` are the highest event times of their rows."""
        after = self
        for name in inputs.names:
            if name in latest:
                after = after.told(name, saturating_add(latest[name], -inputs.delay_of(name)), now)
        return after

    def read(self, processing_time: int | None) -> "Inputs":
        """The clock is read."""
        return self if self.since is not None or processing_time is None else Inputs(self.told_last, processing_time)

    def least(self, inputs: RowInputs, now: int) -> int | None:
        """The least watermark of the inputs that are not idle; None if one has none, or all are idle."""
        known = dict(self.told_last)
        marks = [told.watermark for told in (known.get(name, Told()) for name in inputs.names) if not self._is_idle(told, inputs, now)]
        return None if not marks or None in marks else min(mark for mark in marks if mark is not None)

    def _is_idle(self, told: Told, inputs: RowInputs, now: int) -> bool:
        if inputs.idle_after is None or self.since is None:
            return False
        return now - (self.since if told.heard is None else told.heard) >= inputs.idle_after.us


def later(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Of each input the later of two event times.

    >>> later({"a": 1, "b": 5}, {"a": 3})
    {'a': 3, 'b': 5}
    """
    return {name: max(latest[name] for latest in (one, other) if name in latest) for name in {**one, **other}}


def latest_of(inputs: RowInputs, valid: pl.DataFrame) -> dict[str, int]:
    """Of each input that has valid rows there the highest of their event times."""
    if inputs.column is None:
        return {name: cast(int, valid[TIME].max()) for name in inputs.names if valid.height}
    seen = valid.group_by(inputs.column).agg(pl.col(TIME).max())
    return dict(seen.rows())
