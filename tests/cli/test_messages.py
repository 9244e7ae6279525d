"""Errors in arguments have the three parts of all errors."""

import os
import pty
import re
import sys

import pytest

from panewise.cli import main
from panewise.cli.messages import say
from panewise.errors import SetupError

USAGE = "a command has the arguments of its usage"
STATE = f"{USAGE}: panewise state [OPTIONS] CHECKPOINT | see panewise state --help"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("stat x", "command stat | the commands are demo, check, *, completion | write panewise state"),
        ("no", "command no | the commands are * | see panewise --help"),
        ("state x --jsn", "state --jsn | the options are --batch, --json, --windows, --help | write --json"),
        ("state x --no-such", "state --no-such | the options are * | see panewise state --help"),
        ("--none", "panewise --none | the options are --version, --help | see panewise --help"),
        (
            "state",
            "state without CHECKPOINT | CHECKPOINT is needed: the query's * | see panewise state --help",
        ),
        (
            "state export x --force f g",
            "state export: Got unexpected extra argument (g) | a command * usage: panewise *",
        ),
        ("size --keys 1", "size without --operator NAME | --operator NAME is needed: windows, * | see *"),
        (
            "state x --batch y",
            "--batch N: 'y' is not a valid integer | --batch N has * says: show the state *",
        ),
        (
            "state x y",
            f"state: Got unexpected extra argument (y) | {STATE}",
        ),
        (
            "state x --batch",
            f"state: Option '--batch' requires an argument | {STATE}",
        ),
        (
            "check --connector x",
            "--connector: 'x' is not one of 'kafka', 'delta' | --connector has * says: also * | see *",
        ),
    ],
)
def test_wrong_arguments(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count(" | ") == 2
    assert shown.err.count("\n") == 1
    rest = re.sub(r" \[PW-TOOL-\d+\]$", "", shown.err.removeprefix("panewise: ").strip())
    first, *parts = message.split("*")
    assert rest.startswith(first)
    for part in parts:
        assert part.strip() in rest
    assert rest.endswith(parts[-1] if parts else first)


@pytest.mark.parametrize(
    ("no_color", "prefix"), [("", "\x1b[31mpanewise:\x1b[0m a | b | c"), ("1", "panewise: a |")]
)
def test_a_terminal_shows_colours(no_color: str, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        say(SetupError("a", "b", "c"))
        assert os.read(ours, 1 << 10).decode().startswith(prefix)
    os.close(ours)
