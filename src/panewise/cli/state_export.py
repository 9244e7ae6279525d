"""`panewise state export CHECKPOINT FILE` writes the state of a query to a file (semantics 48.1)."""

import json
from typing import TYPE_CHECKING, Any

import click

from panewise.checkpoints import UnknownFormatError
from panewise.cli.command import argument, new_command
from panewise.cli.progress import progress_bar
from panewise.errors import SetupError

if TYPE_CHECKING:
    from panewise.checkpoints.export import ExportReport


@new_command(
    "state export",
    "Writes the state of a query to a file, from which another query or operator can begin. The query may be "
    "running. It prints how far the sources were read: begin the new query there.",
    "panewise state export /checkpoints/orders orders.state",
)
@argument("checkpoint", "the directory of the query's checkpoint", type=click.Path(file_okay=False))
@argument("file", "the file to write", type=click.Path())
@click.option(
    "--batch",
    type=int,
    metavar="N",
    help="export the state after this micro-batch",
    show_default="the last one that was committed",
)
@click.option("--force", is_flag=True, help="replace the file if it exists")
@click.option("--json", "is_json", is_flag=True, help="print JSON")
def command(*, checkpoint: str, file: str, batch: int | None, force: bool, is_json: bool) -> int:
    """Exports a state, and prints where from; returns the exit status."""
    from panewise.checkpoints.export import export_checkpoint  # noqa: PLC0415 - this loads Polars

    with progress_bar() as progress:
        try:
            exported = export_checkpoint(checkpoint, file, batch, replace=force, progress=progress)
        except UnknownFormatError as unknown:
            rule = "a state is exported from a local checkpoint, without Spark"
            remedy = "copy the checkpoint to this machine"
            raise SetupError(f"{unknown}, which only Spark knows", rule, remedy) from unknown
    click.echo(json.dumps(_json(exported, file)) if is_json else _text(exported, file))
    return 0


def _json(exported: "ExportReport", file: str) -> dict[str, Any]:
    counts = {"operators": exported.operators, "shards": exported.shards, "bytes": exported.bytes}
    more = {"has_begun_next": exported.has_begun_next, "left_out": list(exported.left_out)}
    origin = {name: value for name, value in vars(exported.origin).items() if name != "rows"}
    return {"file": file, **origin, **counts, **more}


def _text(exported: "ExportReport", file: str) -> str:
    origin = exported.origin
    lines = [
        f"{file}: the state after micro-batch {origin.batch}",
        f"  operators: {exported.operators}, shards: {exported.shards}, bytes: {exported.bytes:,}",
        "  sources were read up to, in the order of the plan:",
        *(f"    {number}: {text or 'nothing'}" for number, text in enumerate(origin.sources)),
    ]
    if exported.left_out:
        lines += [f"the states of Spark's own operators are not in it: {', '.join(exported.left_out)}"]
    if exported.has_begun_next and origin.batch is not None:
        lines += [
            f"micro-batch {origin.batch + 1} has begun, and sinks may have its rows:",
            "start the query once more before you export, or delete these rows",
        ]
    return "\n".join(lines)
