"""Runs of joins: their seconds per micro-batch, and a check that all of them emit as many rows."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from bench import session
from bench.joins import per_key, queries
from bench.joins.data import Sides
from bench.measure import batch_seconds, progress_of, rows_out

Query = Callable[[DataFrame, DataFrame], DataFrame]


@dataclass
class Runs:
    """Runs joins in one session.

    Attributes:
        spark: the session.
        emitted: the number of rows that a join emits, by files and join.
    """

    spark: SparkSession
    emitted: dict[tuple[Sides, queries.AnyJoin], int] = field(default_factory=dict)

    def ours(self, sides: Sides, join: queries.AnyJoin) -> list[float]:
        """Returns the seconds of each micro-batch of panewise."""
        return self._joined("panewise", sides, join)

    def per_key(self, sides: Sides, join: queries.AnyJoin) -> list[float]:
        """Returns the seconds of each micro-batch of one call for each key."""
        return self._joined("per_key", sides, join)

    def aggregates(self, sides: Sides, join: queries.AnyJoin) -> list[float]:
        """Returns the seconds of each micro-batch of two of Spark's aggregations, joined."""
        return self._joined("aggregates", sides, join)

    def native(self, name: str, sides: Sides, join: queries.AnyJoin) -> list[float]:
        """Returns the seconds of each micro-batch of Spark's join, with the settings of that name."""
        with session.settings(self.spark, queries.NATIVE[name]):
            return self._joined(name, sides, join)

    def empty(self, sides: Sides, join: queries.AnyJoin) -> list[float]:
        """Returns the seconds of each micro-batch of two empty stages, whose output is as long as ours.

        Ours must have run before.
        """
        share = self.emitted[sides, join] / sides.rows
        return self._run(sides, lambda left, right: queries.empty(left, right, share))[0]

    def _joined(self, name: str, sides: Sides, join: queries.AnyJoin) -> list[float]:
        known = {"panewise": queries.ours, "per_key": per_key.query, "aggregates": queries.aggregates}
        made: Any = known.get(name, queries.native)
        seconds, rows = self._run(sides, lambda left, right: made(left, right, join))
        wanted = self.emitted.setdefault((sides, join), rows)
        if rows != wanted:
            raise RuntimeError(
                f"{name} emitted {rows:,} rows, the run before {wanted:,} | joins of the same files emit as "
                f"many rows | compare the rows over {sides.folder}"
            )
        return seconds

    def _run(self, sides: Sides, query: Query) -> tuple[list[float], int]:
        """Returns the seconds of each micro-batch but the closing one, and the number of emitted rows."""
        with tempfile.TemporaryDirectory(prefix="bench-") as checkpoint:
            progress = progress_of(query(*sides.read(self.spark)), "append", checkpoint)
        return batch_seconds(progress)[: sides.batches], rows_out(progress)
