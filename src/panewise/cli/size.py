"""`panewise size` computes the cores, the memory and the checkpoint that a query needs."""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from panewise.chrono import Duration
from panewise.sizing.costs import Costs, costs
from panewise.sizing.requirements import Requirements, requirements
from panewise.sizing.workload import OPERATORS, Workload

_MICROSECONDS = 1_000_000


def add_command(commands: Any) -> None:
    """Adds the command `panewise size` to a parser."""
    size = commands.add_parser(
        "size",
        help="compute the cores, shards, state and memory that a query needs",
        description=(
            "Computes what a query needs from costs that were measured (docs/operations/sizing.md). "
            "Durations are texts such as '10 minutes'."
        ),
    )
    size.add_argument(
        "--operator",
        action="append",
        required=True,
        metavar="NAME",
        help=f"{', '.join(OPERATORS)}; may be repeated for several operators of one query",
    )
    size.add_argument(
        "--rows-per-second", type=float, required=True, metavar="N", help="rows in the busiest minutes"
    )
    size.add_argument(
        "--keys", type=float, required=True, metavar="N", help="keys that occur within a window"
    )
    size.add_argument(
        "--window", metavar="DURATION", help="size of windows, gap of sessions, range of a join"
    )
    size.add_argument("--slide", metavar="DURATION", help="time between two windows; default: the window")
    _add_durations(size)
    size.add_argument(
        "--utilization",
        type=float,
        default=0.6,
        metavar="SHARE",
        help="how busy cores may be; default: %(default)s",
    )
    size.add_argument(
        "--cache-mb", type=float, default=1024, metavar="N", help="as in configure; default: %(default)s"
    )
    size.add_argument("--json", action="store_true", help="print JSON; bytes, seconds and numbers")
    size.set_defaults(run=_run)


def _add_durations(size: argparse.ArgumentParser) -> None:
    for name, default, words in (
        ("delay", "10 seconds", "the watermark delay: how far out of order rows may be"),
        ("lateness", "0 seconds", "the allowed lateness"),
        ("micro-batch", "10 seconds", "the time between the starts of two micro-batches"),
    ):
        size.add_argument(
            f"--{name}", default=default, metavar="DURATION", help=f"{words}; default: %(default)s"
        )


def _run(namespace: argparse.Namespace) -> int:
    """Prints what a query needs; returns the exit status."""
    known, workloads = costs(), [_workload(namespace, name) for name in namespace.operator]
    need = requirements(workloads, known, utilization=namespace.utilization, cache_mb=namespace.cache_mb)
    print(json.dumps(as_json(need, workloads, known)) if namespace.json else as_text(need, known))
    return 0


def _workload(namespace: argparse.Namespace, operator: str) -> Workload:
    return Workload(
        operator=operator,
        rows_per_second=namespace.rows_per_second,
        keys=namespace.keys,
        window=0.0 if namespace.window is None else _seconds(namespace.window, "window"),
        slide=None if namespace.slide is None else _seconds(namespace.slide, "slide"),
        delay=_seconds(namespace.delay, "delay"),
        lateness=_seconds(namespace.lateness, "lateness"),
        batch=_seconds(namespace.micro_batch, "micro-batch"),
    )


def _seconds(text: str, name: str) -> float:
    return Duration.of(text, name).us / _MICROSECONDS


def as_json(need: Requirements, workloads: list[Workload], known: Costs) -> dict[str, Any]:
    """Returns what is needed, what for, and which costs it was computed with."""
    return {
        **asdict(need),
        "workloads": [asdict(workload) for workload in workloads],
        "measured": dict(known.measured),
    }


def as_text(need: Requirements, known: Costs) -> str:
    """Returns what is needed as a table."""
    rows = [
        ("cores", f"{need.cores:,}", f"of all executors; {need.busy:.0%} busy"),
        ("shards", f"{need.shards:,}", "configure(spark, shuffle_partitions=...)"),
        ("stored entries", f"{need.entries:,.0f}", "windows, sessions, rows or keys"),
        ("state", _bytes(need.state_bytes), "of all shards"),
        ("to the checkpoint", _bytes(need.checkpoint_bytes), "in each micro-batch"),
        ("Python worker", _bytes(need.worker_bytes), "memory for each core"),
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    align: tuple[Callable[[str, int], str], ...] = (str.ljust, str.rjust)
    lines = [
        "  ".join([*(do(cell, width) for do, cell, width in zip(align, row, widths, strict=False)), row[2]])
        for row in rows
    ]
    of = known.measured
    return "\n".join([*lines, f"costs of {of['date']}, {of['processor']}, PySpark {of['pyspark']}"])


def _bytes(count: float) -> str:
    """Returns a number of bytes in the unit in which it has at most four digits before the point.

    >>> _bytes(12), _bytes(123_456_789), _bytes(5.2e12)
    ('12.0 B', '123.5 MB', '5.2 TB')
    """
    units = ("B", "kB", "MB", "GB", "TB")
    power = next((n for n in range(len(units) - 1) if count < 1000 ** (n + 1)), len(units) - 1)
    return f"{count / 1000**power:,.1f} {units[power]}"
