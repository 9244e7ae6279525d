"""A week of the demo's flights, and the outputs that its query should write for them."""

import io
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from panewise.demo import flights, job
from panewise.demo.check import PaneOutputs
from panewise.demo.show import Terminal
from tests.demo.simulated import simulate


@pytest.fixture(scope="session")
def year() -> pl.DataFrame:
    return flights.load()


@pytest.fixture(scope="session")
def arrived(year: pl.DataFrame) -> pl.DataFrame:
    """Returns the flights of the week of the storm, in batches."""
    week = pl.col("known").is_between(datetime(2013, 3, 5, 22, tzinfo=UTC), datetime(2013, 3, 12, tzinfo=UTC))
    return flights.in_batches(year.filter(week))


@pytest.fixture(scope="session")
def outputs(arrived: pl.DataFrame) -> PaneOutputs:
    return simulate(arrived)


@pytest.fixture
def ending(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Callable[[Any], tuple[int, str]]]:
    """Returns a function of a command, its inputs and their rows: it ends the command without Spark.

    What it returns is a function from the outputs of the query to the exit status and the printed text.
    """

    def of_command(command: Any, inputs: Any, rows: Any) -> Callable[[Any], tuple[int, str]]:
        monkeypatch.setattr(inputs, "load", lambda: rows)
        monkeypatch.setattr(inputs, "in_batches", lambda frame: frame)
        monkeypatch.setattr(job, "starting", lambda _: nullcontext())
        monkeypatch.setattr(command, "_stream", lambda *_: None)

        def run(outputs: Any) -> tuple[int, str]:
            monkeypatch.setattr(command.check, "read", lambda _: outputs)
            printed = io.StringIO()
            return command.main(tmp_path, Terminal(printed)), printed.getvalue()

        return run

    return of_command
