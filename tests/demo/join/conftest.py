"""Some days of the flights and the weather, and the outputs that the join should write for them."""

from datetime import UTC, datetime

import polars as pl
import pytest

from panewise.demo.join import inputs
from panewise.demo.join.check import JoinOutputs
from tests.demo.join.simulated import DAY, Pair, simulate


@pytest.fixture(scope="session")
def loaded() -> Pair:
    return inputs.load()


@pytest.fixture(scope="session")
def days(loaded: Pair) -> Pair:
    """Returns three days in October, in batches of a day. For some hours EWR has no weather."""
    part = pl.col("known").is_between(
        datetime(2013, 10, 22, tzinfo=UTC), datetime(2013, 10, 25, tzinfo=UTC), closed="left"
    )
    flights, weather = (inputs.in_batches(rows.filter(part), DAY) for rows in loaded)
    return flights, weather


@pytest.fixture(scope="session")
def outputs(days: Pair) -> JoinOutputs:
    return simulate(*days)
