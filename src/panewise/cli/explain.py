"""`panewise explain`: in words, what a specification or script does, or what the code of an error means."""

import re
from pathlib import Path

import click

from panewise.cli.command import argument, new_command
from panewise.cli.sql import compiled, read_script
from panewise.errors import SetupError


@new_command(
    "explain",
    "Prints when an operator emits what, from its specification in JSON, as to_json writes it and a "
    "checkpoint contains it, or from a script of SQL. Or prints the rule and the remedy of an error's code. "
    "Needs no Spark.",
    "panewise explain orders.json",
    "panewise explain job.sql",
    "panewise explain PW-WINDOW-028",
)
@argument(
    "file",
    "a specification, or a script whose name ends in .sql; - is a specification on standard input; or a code",
    type=click.Path(),
)
def command(file: str) -> int:
    """Prints the words; returns the exit status."""
    if re.fullmatch(r"(?i)PW-[A-Z]+-\d+", file):
        click.echo(_rule(file))
        return 0
    if Path(file).suffix == ".sql":
        with compiled(file) as application:
            click.echo(application.explain())
        return 0
    from panewise.spec.codec import read_document, without_functions  # noqa: PLC0415
    from panewise.spec.describe import describe  # noqa: PLC0415

    text = read_script(file, "a specification is a file of JSON in UTF-8, as to_json returns it")[1]
    click.echo(describe(without_functions(read_document(text))))
    return 0


def _rule(code: str) -> str:
    """Returns what the code of an error means."""
    from panewise.error_codes import explanation  # noqa: PLC0415

    try:
        return explanation(code)
    except KeyError:
        rule = "an error prints its code in brackets behind its text"
        raise SetupError(
            f"code {code}", rule, "copy it from there, or see docs/reference/errors.md"
        ) from None
