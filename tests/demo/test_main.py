"""The command of the demo, with outputs that a simulation made instead of Spark."""

import io
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from panewise.demo import __main__ as command
from panewise.demo import check, flights, job
from panewise.demo.check import PaneOutputs
from panewise.demo.show import Terminal


@pytest.fixture
def ended(
    arrived: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[PaneOutputs], tuple[int, str]]:
    """Returns a function from the outputs of the query to the exit status and the printed text."""
    monkeypatch.setattr(flights, "load", lambda: arrived)
    monkeypatch.setattr(flights, "in_batches", lambda frame: frame)
    monkeypatch.setattr(job, "starting", lambda _: nullcontext())
    monkeypatch.setattr(command, "_stream", lambda *_: None)

    def run(outputs: PaneOutputs) -> tuple[int, str]:
        monkeypatch.setattr(check, "read", lambda _: outputs)
        printed = io.StringIO()
        return command.main(tmp_path, Terminal(printed)), printed.getvalue()

    return run


def test_right_outputs(
    ended: Callable[[PaneOutputs], tuple[int, str]],
    arrived: pl.DataFrame,
    outputs: PaneOutputs,
    tmp_path: Path,
) -> None:
    status, text = ended(outputs)
    assert status == 0
    assert text.startswith(f"{arrived.height:,} flights in ")
    assert (tmp_path / "index.html").exists()
    assert (tmp_path / "panes.png").exists()
    assert len(list((tmp_path / "flights").glob("*.parquet"))) == arrived["batch"].n_unique()


def test_wrong_outputs(ended: Callable[[PaneOutputs], tuple[int, str]], outputs: PaneOutputs) -> None:
    status, _ = ended(replace(outputs, late=outputs.late.slice(1)))
    assert status == 1
