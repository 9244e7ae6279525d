"""What a query needs: its rows, entries and micro-batches, times their measured costs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from panewise.errors import SetupError
from panewise.sizing.costs import Costs
from panewise.sizing.workload import Workload

SHARD_BYTES: Final = 1e9  # of state, at most: a worker keeps about as much in memory (`cache_mb`)
MEGABYTE: Final = 1 << 20


@dataclass(frozen=True)
class Requirements:
    """What a query needs.

    Attributes:
        cores: cores of all executors together.
        shards: the number of shards, and of shuffle partitions.
        entries: stored windows, sessions, rows or keys.
        state_bytes: stored bytes of all shards.
        checkpoint_bytes: bytes that a micro-batch writes to the checkpoint.
        worker_bytes: memory of a Python worker, of which an executor has one for each core and operator.
        busy: the share of the cores' time that the query takes, at most `utilization`.
    """

    cores: int
    shards: int
    entries: float
    state_bytes: float
    checkpoint_bytes: float
    worker_bytes: float
    busy: float


def requirements(
    workloads: Sequence[Workload], costs: Costs, *, utilization: float = 0.6, cache_mb: float = 1024
) -> Requirements:
    """Returns what a query with these operators needs. All of them have the micro-batches of the first.

    The shards share the rows of a micro-batch, and each of them adds a fixed time. There is a shard for
    each core, and there are more of them if the state is large.

    Args:
        workloads: the operators of the query, at least one.
        costs: what they cost.
        utilization: the share of their time that cores may be busy, above 0 and at most 1.
        cache_mb: as in `configure`: the megabytes of state that a worker keeps in memory.

    Raises:
        SetupError: if micro-batches are so short that their fixed time leaves none for rows, or for another
            `utilization` or `cache_mb`.
    """
    _check_options(utilization, cache_mb)
    available = workloads[0].batch * utilization  # seconds of a core in a micro-batch
    fixed = len(workloads) * costs.shard_core_seconds
    if fixed >= available:
        least = fixed / utilization
        raise SetupError(
            f"micro-batches of {workloads[0].batch:g} s, utilization={utilization:g}",
            f"each shard takes {fixed:.2f} s of a core for a micro-batch, however few rows it has",
            f"give micro-batches of more than {least:.2f} s",
        )
    busy = sum(_core_seconds(workload, costs) for workload in workloads)
    state = sum(workload.entries * costs.operators[workload.operator].entry_bytes for workload in workloads)
    shards = max(1, math.ceil(busy / (available - fixed)), math.ceil(state / SHARD_BYTES))
    total = busy + shards * fixed
    cores = max(1, math.ceil(total / available))
    cached = min(cache_mb * MEGABYTE, state / cores)
    return Requirements(
        cores=cores,
        shards=shards,
        entries=sum(workload.entries for workload in workloads),
        state_bytes=state,
        checkpoint_bytes=sum(_written(workload, costs) for workload in workloads),
        worker_bytes=costs.worker_bytes + cached + max(_row_bytes(w, costs) for w in workloads) / shards,
        busy=total / (cores * workloads[0].batch),
    )


def _check_options(utilization: float, cache_mb: float) -> None:
    if not 0 < utilization <= 1:
        rule = "cores are busy for a share of their time, above 0 and at most 1"
        raise SetupError(f"utilization={utilization:g}", rule, "give such as 0.6")
    if not 1 <= cache_mb < math.inf:
        rule = "the cache of a worker has a megabyte or more"
        raise SetupError(f"cache_mb={cache_mb:g}", rule, "give a number such as 1024")


def _core_seconds(workload: Workload, costs: Costs) -> float:
    """Returns the processor time of a micro-batch, without the fixed time of its shards."""
    cost = costs.operators[workload.operator]
    row = cost.row_core_seconds + (workload.windows_of_a_row - 1) * cost.window_core_seconds
    return workload.rows * row + workload.changed * cost.changed_core_seconds


def _written(workload: Workload, costs: Costs) -> float:
    cost = costs.operators[workload.operator]
    return workload.changed * cost.entry_bytes * cost.written


def _row_bytes(workload: Workload, costs: Costs) -> float:
    return workload.rows * costs.operators[workload.operator].row_bytes
