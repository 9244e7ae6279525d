"""The command `panewise`.

``panewise demo`` runs a year of flights through windows on Spark.
``panewise check`` checks the environment: Python, Java, Spark, its workers, connectors.
``panewise explain FILE`` says in words what a specification or a script does.
``panewise state CHECKPOINT`` shows the state that the operators of a query have stored.
``panewise state export CHECKPOINT FILE`` writes it to a file, from which another query can begin.
``panewise sql SCRIPT`` runs a script of SQL on Spark.
``panewise size`` computes what a query needs.
``panewise watch JOURNAL`` shows running queries on a page that updates itself.
"""

import argparse
import sys
from collections.abc import Sequence

from panewise.cli import check, demo, explain, size, sql, state, state_export, watch
from panewise.cli.state import as_json, as_text
from panewise.errors import PanewiseError

__all__ = ["as_json", "as_text", "main", "parser"]


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command's arguments."""
    panewise = argparse.ArgumentParser(
        prog="panewise", description="Window operators for streams on PySpark."
    )
    commands = panewise.add_subparsers(metavar="COMMAND", required=True)
    for command in (demo, check, explain, sql, state, state_export, size, watch):
        command.add_command(commands)
    return panewise


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status: 0, or 2 with a message on standard error.

    `panewise sql` returns 1 if a query fails while it runs. Without `arguments` it reads those of the
    process. Wrong arguments and `--help` raise SystemExit.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    namespace = parser().parse_args(state_export.as_one_word(words))
    try:
        status: int = namespace.run(namespace)
    except PanewiseError as error:
        print(f"panewise: {error}", file=sys.stderr)
        return 2
    return status
