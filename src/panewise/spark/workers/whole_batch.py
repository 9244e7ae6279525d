"""Runs a shard of an operator over a batch DataFrame."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa

from panewise.engine.registry import operator_for
from panewise.errors import PanewiseError
from panewise.spark.workers.step import OutputBuffer, ShardBatch, encoded, step
from panewise.spark.workers.worker import hide_traceback
from panewise.spec import Specification


def whole_batch(
    spec: Specification, schemas: dict[str, dict[str, pl.DataType]], now: int
) -> Callable[[Any, pa.Table], pa.Table]:
    """Returns the function that runs a shard of a batch DataFrame.

    All rows arrive in one batch at the processing time `now`, and then the input ends.
    """

    def emitted_by(shard: int, shard_batch: ShardBatch) -> pa.Table:
        shard_batch.control["finish"] = 1
        outputs, emitted = OutputBuffer(), list[tuple[str, bytes]]()
        for panes in outputs.many_panes(step(operator_for(spec, schemas), shard_batch, now, None)):
            emitted += encoded([("panes", panes)])
        emitted += encoded(outputs.rest().tables(shard, now, None))
        kinds, payloads = zip(*emitted, strict=True) if emitted else ((), ())
        return pa.table({"kind": pa.array(kinds, pa.string()), "payload": pa.array(payloads, pa.binary())})

    return of_shard(emitted_by)


def of_shard(work: Callable[[int, ShardBatch], pa.Table]) -> Callable[[Any, pa.Table], pa.Table]:
    """Returns the function that Spark calls with a shard and its envelopes.

    `work` makes the result from the number of the shard and the opened envelopes.
    """

    def run(key: Any, table: pa.Table) -> pa.Table:
        envelopes = zip(table.column("kind").to_pylist(), table.column("payload").to_pylist(), strict=True)
        try:
            return work(int(key[0].as_py()), ShardBatch.read(envelopes))
        except PanewiseError:
            hide_traceback()
            raise

    return run
