"""The program `panewise`: its help, its version, what it loads, and the names of its commands."""

import json
import shlex
import subprocess
import sys

import click
import pytest

from panewise import __version__
from panewise.cli import main
from panewise.cli.command import Command
from panewise.cli.program import COMMANDS, NAME, program
from tests.house.sources import check_each
from tests.house.test_laziness import HEAVY
from tools import command_line

CONTEXT = click.Context(program, info_name=NAME)


@pytest.mark.parametrize("line", [["--help"], ["--version"], ["state", "--help"], ["sql", "--help"]])
def test_help_and_version_load_nothing_heavy(line: list[str]) -> None:
    """They load no command but that of the line, and neither PySpark nor Polars."""
    code = (
        "import json, sys; from panewise.cli import main; status = main(sys.argv[1:]); "
        "print('\\n' + json.dumps([status, *sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *line], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    status, *modules = json.loads(done.stdout.splitlines()[-1])
    assert (status, done.stderr) == (0, "")
    assert {name.partition(".")[0] for name in modules}.isdisjoint(HEAVY)
    commands = {f"panewise.cli.{entry.module}" for entry in COMMANDS.values()}
    assert len(commands.intersection(modules)) == len(line) - 1


def test_the_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-h"]) == 0
    shown = capsys.readouterr().out
    assert [name for name in COMMANDS if f"\n  {name}  " not in shown] == []
    assert "\nExit status:\n  0    it is done\n" in shown
    assert main([]) == 2
    nothing = capsys.readouterr()
    assert (nothing.out, nothing.err) == ("", shown)
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"panewise {__version__}\n"


def test_each_command_has_help_and_examples_that_it_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example is of its command, and each argument and option has words."""
    ran: list[str] = []

    def run(command: Command, context: click.Context) -> int:
        ran.append(context.command_path)
        return 0

    monkeypatch.setattr(Command, "invoke", run)

    def faults(of: tuple[str, Command]) -> list[str]:
        name, command = of
        words = [param.help for param in command.params if isinstance(param, click.Option)]
        words += [text for _, text in command.arguments(click.Context(command))]
        lines = [line.partition("#")[0].partition(" |")[0] for line in command.examples]
        for line in lines:
            main(_words(line))
        wrong = [line for line in lines if ran.pop(0) != f"panewise {name}"]
        return [*wrong, *(["words are missing"] if not all((command.help, command.examples, *words)) else [])]

    check_each([*command_line.commands()], faults)


def _words(line: str) -> list[str]:
    inner = line.partition("$(")[2].partition(")")[0] or line
    program_name, *words = shlex.split(inner)
    assert program_name == NAME
    return words


def test_a_name_of_two_words_has_arguments() -> None:
    """semantics 48.1: a checkpoint may be called as the command."""

    def resolved(line: str) -> tuple[str | None, list[str]]:
        name, _, rest = program.resolve_command(CONTEXT, line.split())
        return name, rest

    assert resolved("state export c f") == ("state export", ["c", "f"])
    assert resolved("state export") == ("state", ["export"])
    assert resolved("sql export c") == ("sql", ["export", "c"])


def test_ctrl_c_is_an_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(command: Command, context: click.Context) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(Command, "invoke", interrupted)
    assert main(["explain", "x"]) == 130
