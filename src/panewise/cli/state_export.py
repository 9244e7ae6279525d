"""`panewise state export CHECKPOINT FILE` writes the state of a query to a file (semantics 48.1)."""

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from panewise.checkpoints import UnknownFormatError
from panewise.cli.state import shown_progress
from panewise.errors import SetupError

if TYPE_CHECKING:
    from panewise.checkpoints.export import Exported

_NAME: Final = "state export"


def as_one_word(words: Sequence[str]) -> list[str]:
    """Returns the words of a command line, in which the two words of this command are one.

    >>> as_one_word(["state", "export", "checkpoint", "file"]), as_one_word(["state", "export"])
    (['state export', 'checkpoint', 'file'], ['state', 'export'])
    """
    is_export = list(words[:2]) == _NAME.split() and len(words) > len(_NAME.split())
    return [_NAME, *words[2:]] if is_export else list(words)


def add_command(commands: Any) -> None:
    """Adds the command `panewise state export` to a parser."""
    export = commands.add_parser(_NAME, help="write the state of a query to a file", description=_run.__doc__)
    export.add_argument("checkpoint", metavar="CHECKPOINT", help="the directory of the query's checkpoint")
    export.add_argument("file", metavar="FILE", help="the file to write")
    export.add_argument(
        "--batch",
        type=int,
        metavar="N",
        help="export the state after this micro-batch (default: the last one that was committed)",
    )
    export.add_argument("--force", action="store_true", help="replace the file if it exists")
    export.add_argument("--json", action="store_true", help="print JSON")
    export.set_defaults(run=_run)


def _run(namespace: argparse.Namespace) -> int:
    """Writes the state of a query to a file, from which another query or operator can begin.

    The query may be running. It prints how far the sources were read: begin the new query there.
    """
    from panewise.checkpoints.export import export_checkpoint  # noqa: PLC0415 - this loads Polars

    with shown_progress() as progress:
        try:
            exported = export_checkpoint(
                namespace.checkpoint,
                namespace.file,
                namespace.batch,
                replace=namespace.force,
                progress=progress,
            )
        except UnknownFormatError as unknown:
            rule = "a state is exported from a local checkpoint, without Spark"
            remedy = "copy the checkpoint to this machine"
            raise SetupError(f"{unknown}, which only Spark knows", rule, remedy) from unknown
    print(json.dumps(_json(exported, namespace.file)) if namespace.json else _text(exported, namespace.file))
    return 0


def _json(exported: "Exported", file: str) -> dict[str, Any]:
    counts = {"operators": exported.operators, "shards": exported.shards, "bytes": exported.bytes}
    return {"file": file, **vars(exported.origin), **counts, "has_begun_next": exported.has_begun_next}


def _text(exported: "Exported", file: str) -> str:
    origin = exported.origin
    lines = [
        f"{file}: the state after micro-batch {origin.batch}",
        f"  operators: {exported.operators}, shards: {exported.shards}, bytes: {exported.bytes:,}",
        "  sources were read up to, in the order of the plan:",
        *(f"    {number}: {text or 'nothing'}" for number, text in enumerate(origin.sources)),
    ]
    if exported.has_begun_next and origin.batch is not None:
        lines += [
            f"micro-batch {origin.batch + 1} has begun, and sinks may have its rows:",
            "start the query once more before you export, or delete these rows",
        ]
    return "\n".join(lines)
