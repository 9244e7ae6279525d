"""A week of the demo's flights, and the outputs that its query should write for them."""

from datetime import UTC, datetime

import polars as pl
import pytest

from panewise.demo import flights
from panewise.demo.check import PaneOutputs
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
