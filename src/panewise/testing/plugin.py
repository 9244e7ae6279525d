"""A pytest plugin: the option `--panewise-runtime` and the fixture `panewise_runtime`.

pytest loads it by itself where panewise is installed. So it and `panewise.testing` import neither Polars nor
PySpark.
"""

import pytest

from panewise.testing.runtimes import RUNTIMES
from panewise.testing.stream import DEFAULT


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    parser.getgroup("panewise").addoption(
        "--panewise-runtime",
        choices=RUNTIMES,
        default=None,
        help="what runs the streams that tests play without naming a runtime (default: oracle)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Passes the option to the test streams, until pytest ends."""
    name: str | None = config.getoption("--panewise-runtime")
    if name is not None:
        config.add_cleanup(DEFAULT.replace_with(name))


@pytest.fixture(scope="session")
def panewise_runtime(request: pytest.FixtureRequest) -> str:
    """The runtime of the option `--panewise-runtime`, "oracle" without it."""
    name: str | None = request.config.getoption("--panewise-runtime")
    return "oracle" if name is None else name
