"""The command `panewise`.

``panewise demo`` runs a year of flights through windows on Spark.
``panewise check`` checks the environment: Python, Java, Spark, its workers, connectors.
``panewise explain FILE`` says in words what a specification or a script does.
``panewise sql SCRIPT`` runs a script of SQL on Spark.
``panewise state CHECKPOINT`` shows the state that the operators of a query have stored.
``panewise state export CHECKPOINT FILE`` writes it to a file, from which another query can begin.
``panewise size`` computes what a query needs.
``panewise watch JOURNAL`` shows running queries on a page that updates itself.
``panewise completion SHELL`` prints what makes a shell complete all of these.
"""

import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import shell_complete

from panewise.cli.command import INTERRUPTED, REFUSED
from panewise.cli.messages import say, usage_error
from panewise.cli.program import COMPLETE, NAME, program
from panewise.errors import PanewiseError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status.

    It is 0, or 1 if something that ran has failed, 2 with a message on standard error if the command was
    refused, and 130 after Ctrl-C. Without `arguments` it reads those of the process.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if instruction := os.environ.get(COMPLETE):
        return shell_complete(program, {}, NAME, COMPLETE, instruction)
    try:
        with program.make_context(NAME, words) as context:
            status: int = program.invoke(context)
    except click.exceptions.Exit as end:  # as after --help
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as help_text:
        click.echo(help_text.format_message(), err=True)
        return REFUSED
    except click.ClickException as error:
        say(usage_error(error))
        return REFUSED
    except PanewiseError as error:
        say(error)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status
