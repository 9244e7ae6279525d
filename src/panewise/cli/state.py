"""`panewise state CHECKPOINT` shows the state that the operators of a query have stored."""

import json
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from panewise.checkpoints import UnknownFormatError
from panewise.cli.command import argument, new_command
from panewise.cli.progress import progress_bar
from panewise.cli.table import aligned
from panewise.errors import SetupError
from panewise.extras import from_extra
from panewise.spec.codec import to_dict
from panewise.spec.describe import describe

if TYPE_CHECKING:
    from panewise.checkpoints.figures import CheckpointFigures, OperatorFigures, ShardFigures, ShowProgress

_HEADER = (
    "shard",
    "windows",
    "keys",
    "runs",
    "bytes",
    "watermark",
    "processing time",
    "input",
    "oldest end",
    "newest end",
)
_NUMBERS = range(1, 5)


def _paths(context: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem[Any]]":
    """Completes paths and, as long as it is typed, the second word of `panewise state export`."""
    if incomplete and "export".startswith(incomplete):
        return [CompletionItem("export", help="Write the state of a query to a file.")]
    return [CompletionItem(incomplete, type="file")]


@new_command(
    "state",
    "Shows the state that the window operators of a query have stored, shard by shard. It also describes in "
    "words what each operator does. It changes nothing.",
    "panewise state /checkpoints/orders",
    "panewise state /checkpoints/orders --windows | head",
    note="panewise state export CHECKPOINT FILE writes the state to a file.",
)
@argument(
    "checkpoint",
    "the query's checkpoint (a directory, or a path that Spark can read), or an exported file",
    shell_complete=_paths,
)
@click.option(
    "--batch",
    type=int,
    metavar="N",
    help="show the state after this micro-batch",
    show_default="the last one that was committed",
)
@click.option(
    "--json", "is_json", is_flag=True, help="print JSON; instants are microseconds since 1970-01-01 UTC"
)
@click.option("--windows", is_flag=True, help="print the live windows instead, one JSON object in each line")
def command(*, checkpoint: str, batch: int | None, is_json: bool, windows: bool) -> int:
    """Shows a state; returns the exit status."""
    if windows:
        return _list_windows(checkpoint, batch)
    state = _read(checkpoint, batch)
    click.echo(json.dumps(as_json(state), indent=2) if is_json else as_text(state))
    return 0


def _list_windows(checkpoint: str, batch: int | None) -> int:
    """Prints the live windows in a local checkpoint, as they are read."""
    from panewise.checkpoints.reader import live_in_files  # noqa: PLC0415 - this loads Polars

    with progress_bar() as progress, suppress(BrokenPipeError):  # as with `| head`
        try:
            for windows in live_in_files(checkpoint, batch, progress):
                sys.stdout.write(windows.write_ndjson())
            sys.stdout.flush()
            return 0
        except UnknownFormatError as unknown:
            rule = "windows are listed from a local checkpoint, without Spark"
            problem = f"--windows with {unknown}, which only Spark knows"
            remedy = "leave it out, or copy the checkpoint to this machine"
            raise SetupError(problem, rule, remedy) from unknown
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more
    return 0


def _read(checkpoint: str, batch: int | None) -> "CheckpointFigures":
    """Reads the state without Spark, or with it if only Spark can."""
    from panewise.checkpoints.reader import read_files  # noqa: PLC0415 - this loads Polars

    with progress_bar() as progress:
        try:
            return read_files(checkpoint, batch, progress)
        except UnknownFormatError as unknown:
            click.echo(f"panewise: Spark reads the state, as only Spark knows {unknown}", err=True)
            return _read_with_spark(checkpoint, batch, progress)


def _read_with_spark(checkpoint: str, batch: int | None, progress: "ShowProgress") -> "CheckpointFigures":
    with from_extra("spark", "this state is read with PySpark"):
        from panewise.spark.checkpoint_reader import read_state, session  # noqa: PLC0415 - Spark is needed here
        from panewise.spark.session.standard_error import log_to  # noqa: PLC0415
    with log_to(Path(os.devnull)), session() as spark:  # discards what Spark logs
        return read_state(spark, checkpoint, batch, progress)


def as_json(state: "CheckpointFigures") -> dict[str, Any]:
    """Returns the state as dicts, lists, numbers and texts that can be written as JSON."""
    return {
        "checkpoint": state.checkpoint,
        "batch": state.batch,
        "operators": [_operator_json(operator) for operator in state.operators],
    }


def _operator_json(state: "OperatorFigures") -> dict[str, Any]:
    total = asdict(state.total)
    del total["shard"]
    spec = None if state.spec is None else to_dict(state.spec)
    shards = [asdict(shard) for shard in state.shards]
    return {
        "operator": state.operator,
        "spec": spec,
        "shard_count": state.shard_count,
        "shards": shards,
        "total": total,
    }


def as_text(state: "CheckpointFigures") -> str:
    """Returns the state as text for people: for each operator a description and a table of its shards."""
    return "\n\n".join(_operator_text(operator, state.batch) for operator in state.operators)


def _operator_text(state: "OperatorFigures", batch: int) -> str:
    words = (
        "The checkpoint does not contain the specification." if state.spec is None else describe(state.spec)
    )
    caption = (
        f"Operator {state.operator} after micro-batch {batch}: {len(state.shards)} of "
        f"{state.shard_count} shards contain state"
    )
    rows = [_line(str(shard.shard), shard) for shard in state.shards]
    lines = aligned([_HEADER, *rows, _line("total", state.total)], _NUMBERS)
    return "\n".join([words, "", caption, *(f"  {line}" for line in lines)])


def _line(name: str, state: "ShardFigures") -> tuple[str, ...]:
    counts = (f"{count:,}" for count in (state.windows, state.keys, state.runs, state.bytes))
    clocks = (
        _instant(state.watermark),
        _instant(state.processing_time),
        "finished" if state.finished else "open",
    )
    return (name, *counts, *clocks, _instant(state.oldest_end), _instant(state.newest_end))


def _instant(us: int | None) -> str:
    if us is None:
        return "-"
    try:
        instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
        return f"{instant:%Y-%m-%d %H:%M:%S.%f}".removesuffix(".000000") + "Z"
    except OverflowError:
        return f"{us} us"
