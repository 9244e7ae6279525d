"""The command of the demo of joins, with outputs that a simulation made instead of Spark."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from panewise.demo.join import __main__ as command
from panewise.demo.join import inputs
from panewise.demo.join.check import JoinOutputs
from tests.demo.join.simulated import Pair


@pytest.fixture
def ended(ending: Callable[..., Any], days: Pair) -> Callable[[JoinOutputs], tuple[int, str]]:
    """Returns a function from the outputs of the join to the exit status and the printed text."""
    return ending(command, inputs, days)


def test_right_outputs(
    ended: Callable[[JoinOutputs], tuple[int, str]], days: Pair, outputs: JoinOutputs, tmp_path: Path
) -> None:
    status, text = ended(outputs)
    flights, weather = days
    assert status == 0
    assert text.startswith(f"{flights.height:,} flights and {weather.height:,} observations of the weather, ")
    assert "BROKEN" not in text
    assert (tmp_path / "index.html").exists()
    assert (tmp_path / "delays.png").exists()
    files = [len(list((tmp_path / name).glob("*.parquet"))) for name in (inputs.FLIGHTS, inputs.WEATHER)]
    assert files == [flights["arrival"].n_unique()] * 2


def test_wrong_outputs(ended: Callable[[JoinOutputs], tuple[int, str]], outputs: JoinOutputs) -> None:
    status, text = ended(replace(outputs, joined=outputs.joined.slice(1)))
    assert status == 1
    assert "BROKEN" in text
