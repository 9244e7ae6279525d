"""`panewise explain FILE` says in words what a specification or a script of SQL does."""

import argparse
from pathlib import Path
from typing import Any

from panewise.cli import sql


def add_command(commands: Any) -> None:
    """Adds the command `panewise explain` to a parser."""
    explain = commands.add_parser(
        "explain",
        help="say in words what a specification or a script of SQL does",
        description=(
            "Prints when an operator emits what, from its specification in JSON, as to_json writes it and a "
            "checkpoint contains it, or from a script of SQL. Needs no Spark."
        ),
    )
    explain.add_argument(
        "file", metavar="FILE", help="SPEC.json or JOB.sql; - is a specification on standard input"
    )
    explain.set_defaults(run=_run)


def _run(namespace: argparse.Namespace) -> int:
    """Prints the words; returns the exit status."""
    if Path(namespace.file).suffix == ".sql":
        return sql.run(argparse.Namespace(script=namespace.file, conf=[], check=False, explain=True))
    from panewise.spec.codec import read_document, without_functions  # noqa: PLC0415
    from panewise.spec.describe import describe  # noqa: PLC0415

    print(describe(without_functions(read_document(sql.read(namespace.file)[1]))))
    return 0
