"""The page of the reference with the commands of `panewise`: their arguments and examples."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from panewise.cli.command import Command
from panewise.cli.program import COMMANDS, NAME, program
from tools.reference_pages import MARK

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"


def page() -> str:
    """Returns the text of the page: its hand-written beginning, and a section for each command."""
    beginning = PAGE.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    sections = "\n\n".join("\n".join(_section(name, command)) for name, command in commands())
    return f"{beginning}\n\n{MARK}\n\n{sections}\n"


def commands() -> Iterator[tuple[str, Command]]:
    """Yields each command with its name below `panewise`."""
    context = click.Context(program, info_name=NAME)
    for name in COMMANDS:
        command = program.get_command(context, name)
        assert isinstance(command, Command)
        yield name, command


def _section(name: str, command: Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"{NAME} {name}")
    yield f"## {NAME} {name}\n\n{' '.join((command.help or '').split())}\n"
    yield from (f"    {example}" for example in command.examples)
    yield "\n| Argument | What it does |\n|---|---|"
    options = [param for param in command.params if isinstance(param, click.Option)]
    rows = [*command.arguments(context), *((_shown(option, context), _text(option)) for option in options)]
    yield from (f"| `{argument}` | {text} |" for argument, text in rows)
    if command.epilog:
        yield f"\n{command.epilog}"


def _shown(option: click.Option, context: click.Context) -> str:
    metavar = "" if option.is_flag else option.make_metavar(context)
    return " ".join(filter(None, (*option.opts, metavar))).replace("|", r"\|")


def _text(option: click.Option) -> str:
    default = option.default if option.show_default is True else option.show_default
    return "; ".join(
        filter(None, (option.help, option.required and "required", default and f"default: {default}"))
    )
