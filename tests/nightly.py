"""Parameters of a test of which `make test` takes the first ones, and `make nightly` the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_here(values: Iterable[Any], count: int = 1) -> list[Any]:
    """Returns the parameters. A tuple is several. All but the first `count` are marked as nightly."""
    return [
        one
        if number < count
        else pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.nightly)
        for number, one in enumerate(values)
    ]
