"""The README is short, its first query prints what it shows, and its picture shows the same panes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import ROOT
from tools.panes_picture import outputs

README = (ROOT / "README.md").read_text(encoding="utf-8")
CODE, SHOWN = re.findall(r"```python\n(.*?)```.*?```\n(.*?)```", README, re.DOTALL)[0]


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120


def test_the_picture_has_the_panes_of_the_first_query() -> None:
    drawn = [(what, minute, cups) for emitted in outputs() for what, minute, cups in emitted]
    panes = re.findall(r"\|\d{4}-\d\d-\d\d 12:(\d\d):00\| +(\d+)\| *(\w+)\|", SHOWN)
    assert [pane for pane in drawn if pane[0] != "late row"] == [
        (timing, int(minute), int(cups)) for minute, cups, timing in panes
    ]
    late = re.findall(r"\{\d{4}-\d\d-\d\d 12:(\d\d):00, (\d+)\}", SHOWN)
    assert [pane for pane in drawn if pane[0] == "late row"] == [
        ("late row", int(minute), int(cups)) for minute, cups in late
    ]


@pytest.mark.nightly
@pytest.mark.spark
def test_the_first_query_prints_what_is_shown(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", CODE], cwd=tmp_path, env=os.environ, check=True, capture_output=True, text=True
    )
    assert run.stdout.split() == SHOWN.split()
