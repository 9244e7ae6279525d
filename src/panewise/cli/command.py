"""What all commands of `panewise` have: arguments that are described, and examples."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import click

REFUSED, INTERRUPTED = 2, 130  # exit statuses: of what is not right, and after Ctrl-C
Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


class DescribedArgument(click.Argument):
    """An argument with a description, for the help of its command."""

    def __init__(self, *names: Any, description: str, **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.description = description


class Command(click.Command):
    """A command whose help describes its arguments, and has examples."""

    def __init__(self, *names: Any, examples: Sequence[str], **attributes: Any) -> None:
        super().__init__(*names, **attributes)
        self.examples = tuple(examples)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the help: usage, text, arguments, options, examples."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        write_section(formatter, "Arguments", self.arguments(ctx))
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)
        write_examples(formatter, self.examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments. Each error names the command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def arguments(self, ctx: click.Context) -> list[tuple[str, str]]:
        """Returns the name and the description of each argument."""
        return [
            (param.human_readable_name, param.description)
            for param in self.get_params(ctx)
            if isinstance(param, DescribedArgument)
        ]


def new_command(name: str, text: str, *examples: str, note: str | None = None) -> Callable[..., Command]:
    """Returns a decorator that makes a command of a function, which returns the exit status.

    Args:
        name: the name below `panewise`.
        text: what it does.
        examples: lines of a shell.
        note: a paragraph after the options.
    """
    return click.command(name, cls=Command, help=text, examples=examples, epilog=note)


def argument(name: str, description: str, **attributes: Any) -> Decorator:
    """Returns a decorator that adds an argument to a command."""
    return click.argument(
        name, cls=DescribedArgument, description=description, metavar=name.upper(), **attributes
    )


def write_section(formatter: click.HelpFormatter, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """Writes a section of a help text with two columns, if there are rows."""
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Writes the examples, each in a line of its own, which is not wrapped."""
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
