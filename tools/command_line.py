"""The page of the reference with the commands of `panewise` and their arguments, from the parser of these."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from panewise.cli import parser
from tools.reference_pages import MARK

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "reference" / "cli.md"


def page() -> str:
    """Returns the text of the page: its hand-written beginning, and a section for each command."""
    beginning = PAGE.read_text(encoding="utf-8").partition(MARK)[0].rstrip()
    return f"{beginning}\n\n{MARK}\n\n" + "\n".join(_sections(parser()))


def commands(of: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yields the parsers of the commands."""
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from dict.fromkeys(action.choices.values())


def _sections(of: argparse.ArgumentParser) -> Iterator[str]:
    for command in commands(of):
        description = " ".join((command.description or "").split())
        yield f"## {command.prog}\n\n{description}\n\n| Argument | What it does |\n|---|---|"
        for action in command._actions:
            if not isinstance(action, argparse._HelpAction):
                yield f"| `{_shown(action)}` | {action.help} |"
        yield f"\n{command.epilog}\n" if command.epilog else ""


def _shown(action: argparse.Action) -> str:
    words = [
        ", ".join(action.option_strings),
        "" if action.nargs == 0 else str(action.metavar or action.dest),
    ]
    return " ".join(filter(None, words))
