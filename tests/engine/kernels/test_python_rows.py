"""Values of frames in Python."""

import polars as pl
import pytest

from panewise.engine.kernels.python_rows import NotInPythonError, check_value, python_rows


@pytest.mark.parametrize("value", [float("nan"), -0.0])
def test_values_that_differ_in_python(value: float) -> None:
    with pytest.raises(NotInPythonError):
        check_value(value)


@pytest.mark.parametrize("value", [0.0, float("inf"), None, 0, "x"])
def test_values_that_do_not_differ(value: object) -> None:
    check_value(value)


def test_instants_that_python_lacks() -> None:
    instants = pl.DataFrame({"t": [0, 2**62]}, schema={"t": pl.Datetime("us", "UTC")})
    assert len(python_rows(instants[:1])) == 1
    with pytest.raises(NotInPythonError):
        python_rows(instants)
