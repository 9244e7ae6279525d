"""The figures of the state of a shard that its manifest shows without a read of a run."""

from collections.abc import Mapping
from typing import Final

from panewise.engine.checkpoint import StoredOperator, runs_of

LENGTHS: Final = "lengths"  # the field of the header that has the stored length of each run, by name


def figures_of(stored: StoredOperator, lengths: Mapping[str, int]) -> dict[str, int | None]:
    """Returns the figures of a shard after a step, for :func:`panewise.spark.metrics.metrics_of`.

    - `live` is the number of rows in runs that have not expired as a whole. A window that several runs have
      counts once for each of them until they are merged. So does a row of each table.
    - `state_bytes` is the stored length of these runs.
    - `oldest_end` is a lower bound of the ends in the first table, None without rows or
      without a watermark that is an instant.
    - `watermark` is an instant or None, and `watermark_delay` how far it is behind the processing time.
    """
    operator, state = stored.operator, stored.operator.state
    horizons, clocks = operator.horizons(state.clocks), state.clocks
    rows, size, ends = 0, 0, list[int]()
    for number, name in enumerate(state.tables):
        horizon = horizons[name]
        runs = [
            run
            for run in runs_of(stored.manifest.runs, number)
            if not clocks.finished and (horizon is None or run.high > horizon)
        ]
        rows += sum(run.rows for run in runs)
        size += sum(lengths.get(run.name, 0) for run in runs)
        if not number and clocks.instant_watermark is not None:
            ends = [run.low if horizon is None else max(run.low, horizon + 1) for run in runs]
    watermark = clocks.instant_watermark
    return {
        "live": rows,
        "state_bytes": size,
        "oldest_end": min(ends, default=None),
        "watermark": watermark,
        "watermark_delay": None if watermark is None else clocks.processing_time - watermark,
    }
