"""`panewise explain FILE` says in words what a specification or a script of SQL does."""

from pathlib import Path

import click

from panewise.cli.command import argument
from panewise.cli.command import command as new_command
from panewise.cli.sql import compiled, read


@new_command(
    "explain",
    "Prints when an operator emits what, from its specification in JSON, as to_json writes it and a "
    "checkpoint contains it, or from a script of SQL. Needs no Spark.",
    "panewise explain orders.json",
    "panewise explain job.sql",
)
@argument(
    "file",
    "a specification, or a script whose name ends in .sql; - is a specification on standard input",
    type=click.Path(),
)
def command(file: str) -> int:
    """Prints the words; returns the exit status."""
    if Path(file).suffix == ".sql":
        with compiled(file) as application:
            click.echo(application.explain())
        return 0
    from panewise.spec.codec import read_document, without_functions  # noqa: PLC0415
    from panewise.spec.describe import describe  # noqa: PLC0415

    click.echo(describe(without_functions(read_document(read(file)[1]))))
    return 0
