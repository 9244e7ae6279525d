"""The command of the demo, with outputs that a simulation made instead of Spark."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from panewise.demo import __main__ as command
from panewise.demo import flights
from panewise.demo.check import PaneOutputs


@pytest.fixture
def ended(ending: Callable[..., Any], arrived: pl.DataFrame) -> Callable[[PaneOutputs], tuple[int, str]]:
    """Returns a function from the outputs of the query to the exit status and the printed text."""
    return ending(command, flights, arrived)


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
