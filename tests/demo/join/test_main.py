"""The command of the demo of joins, with outputs that a simulation made instead of Spark."""

import io
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from panewise.demo import job
from panewise.demo.join import __main__ as command
from panewise.demo.join import check, inputs
from panewise.demo.join.check import JoinOutputs
from panewise.demo.show import Terminal
from tests.demo.join.simulated import Pair


@pytest.fixture
def ended(
    days: Pair, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[JoinOutputs], tuple[int, str]]:
    """Returns a function from the outputs of the join to the exit status and the printed text."""
    monkeypatch.setattr(inputs, "load", lambda: days)
    monkeypatch.setattr(inputs, "in_batches", lambda frame: frame)
    monkeypatch.setattr(job, "starting", lambda _: nullcontext())
    monkeypatch.setattr(command, "_stream", lambda *_: None)

    def run(outputs: JoinOutputs) -> tuple[int, str]:
        monkeypatch.setattr(check, "read", lambda _: outputs)
        printed = io.StringIO()
        return command.main(tmp_path, Terminal(printed)), printed.getvalue()

    return run


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
