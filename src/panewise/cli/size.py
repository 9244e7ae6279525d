"""`panewise size` computes the cores, the memory and the checkpoint that a query needs."""

import json
from dataclasses import asdict
from typing import Any

import click

from panewise.chrono import Duration
from panewise.cli.command import Decorator, new_command
from panewise.cli.table import aligned
from panewise.sizing.costs import Costs, costs
from panewise.sizing.requirements import Requirements, requirements
from panewise.sizing.workload import OPERATORS, Workload

_MICROSECONDS = 1_000_000


def _number(name: str, text: str, **attributes: Any) -> Decorator:
    return click.option(f"--{name}", type=float, metavar="N", help=text, **attributes)


def _duration(
    name: str, text: str, default: str | None = None, *, field: str | None = None, **attributes: Any
) -> Decorator:
    """Returns a decorator that adds a duration, which the command gets in seconds."""

    def seconds(context: click.Context, param: click.Parameter, duration: str | None) -> float | None:
        return None if duration is None else Duration.of(duration, name).us / _MICROSECONDS

    option = {"show_default": default is not None, "callback": seconds, **attributes}
    return click.option(f"--{name}", field or name, metavar="DURATION", default=default, help=text, **option)


def _operators(context: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in OPERATORS if name.startswith(incomplete)]


@new_command(
    "size",
    "Computes what a query needs from costs that were measured (docs/operations/sizing.md). Durations are "
    "texts such as '10 minutes'.",
    "panewise size --operator windows --rows-per-second 50000 --keys 1e6 --window '1 hour'",
)
@click.option(
    "--operator",
    "operators",
    multiple=True,
    required=True,
    metavar="NAME",
    shell_complete=_operators,
    help=f"{', '.join(OPERATORS)}; may be repeated for several operators of one query",
)
@_number("rows-per-second", "rows in the busiest minutes", required=True)
@_number("keys", "keys that occur within a window", required=True)
@_duration("window", "size of windows, gap of sessions, range of a join")
@_duration("slide", "time between two windows", show_default="the window")
@_duration("delay", "the watermark delay: how far out of order rows may be", "10 seconds")
@_duration("lateness", "the allowed lateness", "0 seconds")
@_duration("micro-batch", "the time between the starts of two micro-batches", "10 seconds", field="batch")
@click.option(
    "--utilization", type=float, default=0.6, show_default=True, metavar="SHARE", help="how busy cores may be"
)
@_number("cache-mb", "as in configure", default=1024, show_default=True)
@click.option("--json", "is_json", is_flag=True, help="print JSON; bytes, seconds and numbers")
def command(
    *, operators: tuple[str, ...], utilization: float, cache_mb: float, is_json: bool, **load: Any
) -> int:
    """Prints what a query needs; returns the exit status."""
    fields = {name: value for name, value in load.items() if value is not None}
    known, workloads = costs(), [Workload(operator=name, **fields) for name in operators]
    need = requirements(workloads, known, utilization=utilization, cache_mb=cache_mb)
    click.echo(json.dumps(as_json(need, workloads, known)) if is_json else as_text(need, known))
    return 0


def as_json(need: Requirements, workloads: list[Workload], known: Costs) -> dict[str, Any]:
    """Returns the requirements, the workloads and the measured costs as JSON values."""
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
    measured = known.measured
    source = f"costs of {measured['date']}, {measured['processor']}, PySpark {measured['pyspark']}"
    return "\n".join([*aligned(rows, {1}), source])


def _bytes(count: float) -> str:
    """Returns a number of bytes in the unit in which it has at most four digits before the point.

    >>> _bytes(12), _bytes(123_456_789), _bytes(5.2e12)
    ('12.0 B', '123.5 MB', '5.2 TB')
    """
    units = ("B", "kB", "MB", "GB", "TB")
    power = next((n for n in range(len(units) - 1) if count < 1000 ** (n + 1)), len(units) - 1)
    return f"{count / 1000**power:,.1f} {units[power]}"
