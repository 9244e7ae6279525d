"""Completion, asked for as the shells ask."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from panewise.cli import main
from panewise.cli.program import COMPLETE


def completed(
    shell: str, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> str:
    """Returns the answer to a shell about a line, whose last word is completed."""
    monkeypatch.setenv(COMPLETE, f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    last = line.rpartition(" ")[2]
    monkeypatch.setenv("COMP_CWORD", last if shell == "fish" else str(len(line.split(" ")) - 1))
    assert main([]) == 0
    return capsys.readouterr().out.rstrip("\n")


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("panewise st", ["plain,state"]),
        ("panewise s", ["plain,sql", "plain,state", "plain,size"]),
        ("panewise --v", ["plain,--version"]),
        ("panewise state ex", ["plain,export"]),
        ("panewise state /tm", ["file,/tm"]),
        ("panewise state checkpoint --w", ["plain,--windows"]),
        ("panewise state export checkpoint --f", ["plain,--force"]),
        ("panewise state export checkpoint fil", ["file,fil"]),
        ("panewise watch jour", ["dir,jour"]),
        ("panewise check --connector ", ["plain,kafka", "plain,delta"]),
        ("panewise size --operator s", ["plain,sessions"]),
        ("panewise completion ", ["plain,bash", "plain,zsh", "plain,fish"]),
        ("panewise none x", []),
    ],
)
def test_bash(
    line: str, answers: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed("bash", line, monkeypatch, capsys).splitlines() == answers


def test_zsh_and_fish_show_what_a_command_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert completed("zsh", "panewise st", monkeypatch, capsys).splitlines()[:2] == ["plain", "state"]
    fish = completed("fish", "panewise st", monkeypatch, capsys)
    assert "state" in fish
    assert "Show the state in a query's checkpoint" in fish


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("bash", "complete -o nosort -F _panewise_completion panewise"),
        ("zsh", "compdef _panewise_completion panewise"),
        ("fish", "complete --no-files --command panewise"),
    ],
)
def test_the_script_of_a_shell(shell: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert line in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no Bash")
def test_bash_completes_with_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "panewise"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m panewise "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    assert main(["completion", "bash"]) == 0
    script = (
        f"{capsys.readouterr().out}\nCOMP_WORDS=(panewise state exp); COMP_CWORD=2; "
        '_panewise_completion panewise; echo "${COMPREPLY[@]}"'
    )
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}
    )
    assert done.stdout == "export\n"
