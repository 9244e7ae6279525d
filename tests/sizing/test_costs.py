"""The costs that the package contains, and the page that shows them."""

import json
import shlex
import textwrap
from datetime import date

import pytest

from panewise.cli import main
from panewise.sizing.costs import FILE, costs
from tests.house.sources import ROOT

PAGE = (ROOT / "docs" / "operations" / "sizing.md").read_text(encoding="utf-8")


def test_the_file_says_where_it_was_measured() -> None:
    measured = costs().measured
    assert date.fromisoformat(measured["date"]) >= date(2026, 11, 1)
    assert {"cores", "machine", "processor", "load", "python", "pyspark", "panewise"} <= set(measured)


def test_no_value_is_left_out() -> None:
    data = json.loads(FILE.read_text(encoding="utf-8"))
    assert costs().shard_core_seconds == data["shard_core_seconds"] > 0
    assert costs().worker_bytes == data["worker_bytes"] > 1e7
    assert {name: vars(cost) for name, cost in costs().operators.items()} == data["operators"]


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    lines = PAGE.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("    $ panewise size"))
    block = textwrap.dedent("\n".join(lines[first : lines.index("", first)])).splitlines()
    assert main(shlex.split(block[0])[2:]) == 0
    assert capsys.readouterr().out.splitlines() == block[1:]
