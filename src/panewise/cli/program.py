"""The program `panewise` and the table of its commands, each of which is imported when it is used.

So its help, its version and completion load neither PySpark nor Polars.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from panewise import __version__
from panewise.cli.command import INTERRUPTED, REFUSED, write_examples, write_section
from panewise.cli.messages import unknown_command

NAME: Final = "panewise"
COMPLETE: Final = "_PANEWISE_COMPLETE"  # the variable by which a shell requests completions

_EXAMPLES: Final = ("panewise check", "panewise sql --check job.sql", "panewise state /checkpoints/orders")
_STATUSES: Final = (
    ("0", "it is done"),
    ("1", "something that ran has failed: a query, or a check"),
    (f"{REFUSED}", "refused: an argument, a script, a state or the environment is not right"),
    (f"{INTERRUPTED}", "stopped by Ctrl-C"),
)


@dataclass(frozen=True)
class CommandEntry:
    """What is known of a command without importing it.

    Attributes:
        module: the module of `panewise.cli` that has it as `command`.
        words: what it does, in a line.
    """

    module: str
    words: str


COMMANDS: Final = {
    "demo": CommandEntry("demo", "Run a year of New York flights through hourly windows on Spark."),
    "check": CommandEntry("check", "Check the environment: Python, Java, Spark, its workers, connectors."),
    "explain": CommandEntry("explain", "Say in words what a specification or a script of SQL does."),
    "sql": CommandEntry("sql", "Run a script of SQL on Spark."),
    "state": CommandEntry("state", "Show the state in a query's checkpoint, or in an exported file."),
    "state export": CommandEntry("state_export", "Write the state of a query to a file."),
    "size": CommandEntry("size", "Compute the cores, shards, state and memory that a query needs."),
    "watch": CommandEntry("watch", "Show running queries on a page that updates itself."),
    "completion": CommandEntry("completion", "Print what makes a shell complete these commands."),
}


class Program(click.Group):
    """A group whose commands come from the table, also those of two words."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names in the order of the table."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports a command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"panewise.cli.{COMMANDS[cmd_name].module}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command of a line, its name, and its arguments.

        A name of two words has an argument after it: `panewise state export` shows the checkpoint `export`.
        """
        two = " ".join(args[:2])
        if len(args) > 2 and two in COMMANDS:
            return two, self.get_command(ctx, two), args[2:]
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise unknown_command(args[0], [*COMMANDS], get_close_matches(args[0], COMMANDS))
        return args[0], self.get_command(ctx, args[0]), args[1:]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the help, without importing the commands."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        write_section(formatter, "Commands", [(name, entry.words) for name, entry in COMMANDS.items()])
        click.Command.format_options(self, ctx, formatter)
        write_examples(formatter, _EXAMPLES)
        write_section(formatter, "Exit status", _STATUSES)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem[Any]]":
        """Returns the names that begin so, and the options. A second word is completed by `state`."""
        names = [name for name in COMMANDS if name.startswith(incomplete) and " " not in name]
        items: list[CompletionItem[Any]] = [CompletionItem(name, help=COMMANDS[name].words) for name in names]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]


program: Final = Program(
    NAME,
    help="Window operators for streams on PySpark.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, "--version", prog_name=NAME, message="%(prog)s %(version)s")(program)
