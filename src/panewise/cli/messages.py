"""Messages of the command on standard error, which have the three parts of all errors of panewise."""

import os
from collections.abc import Sequence

import click

from panewise.cli.command import DescribedArgument
from panewise.errors import PanewiseError, SetupError


def say(error: PanewiseError) -> None:
    """Writes an error to standard error."""
    echo(f"{click.style('panewise:', fg='red')} {error}", is_error=True)


def echo(text: str, *, is_error: bool = False) -> None:
    """Writes a line, whose colours are left out if there is no terminal, or NO_COLOR is set."""
    colour = False if os.environ.get("NO_COLOR") else None  # None: if it is a terminal
    click.echo(text, err=is_error, color=colour)


def unknown_command(name: str, known: Sequence[str], close: Sequence[str]) -> SetupError:
    """Returns the error of a command that does not exist, with one that has a similar name."""
    remedy = f"write panewise {close[0]}" if close else "see panewise --help"
    return SetupError(f"command {name}", f"the commands are {', '.join(known)}", remedy)


def usage_error(error: click.ClickException) -> SetupError:
    """Returns an error of click with our three parts: what was given, the rule, what to do."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = "panewise" if context is None else context.command_path
    command, remedy = path.partition(" ")[2] or path, f"see {path} --help"
    if isinstance(error, click.NoSuchOption) and context is not None:
        close = error.possibilities
        rule = f"the options are {', '.join(_options(context))}"
        return SetupError(f"{command} {error.option_name}", rule, f"write {close[0]}" if close else remedy)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        name, text = _described(error.param)
        return SetupError(f"{command} without {name}", f"{name} is needed: {text}", remedy)
    if isinstance(error, click.BadParameter) and error.param is not None:
        name, text = _described(error.param)
        return SetupError(
            f"{name}: {error.message.rstrip('.')}", f"{name} has a value as the help says: {text}", remedy
        )
    usage = "" if context is None else " ".join(context.get_usage().split()).removeprefix("Usage: ")
    rule = f"a command has the arguments of its usage: {usage}"
    return SetupError(f"{command}: {error.format_message().rstrip('.')}", rule, remedy)


def _options(context: click.Context) -> list[str]:
    params = context.command.get_params(context)
    return [_name(param) for param in params if isinstance(param, click.Option)]


def _name(option: click.Option) -> str:
    return max(option.opts, key=len)


def _described(param: click.Parameter) -> tuple[str, str]:
    """Returns the name of an argument or option with its metavar, and its help."""
    if isinstance(param, DescribedArgument):
        return param.human_readable_name, param.description
    assert isinstance(param, click.Option)
    return " ".join(filter(None, (_name(param), param.metavar))), param.help or ""
