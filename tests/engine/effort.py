"""The number of examples of Hypothesis: few in `make test`, more in `make nightly`, many in `make soak`."""

import os
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

_PHASES = [
    Phase.explicit,
    Phase.reuse,
    Phase.generate,
    Phase.shrink,
]  # Phase.explain is slow and helps little
_SLOW_IS_FINE = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
    HealthCheck.filter_too_much,
]


FULL: Final = os.environ.get("PANEWISE_EXAMPLES") == "full"  # `make nightly` sets it
_PART: Final = 10  # `make test` draws a tenth of the examples, and at least _LEAST
_LEAST: Final = 3


def drawn(count: int) -> int:
    """Returns how many examples a test draws that has this number in `make nightly`."""
    return count if FULL else min(count, max(_LEAST, count // _PART))


def runs(count: int, steps: int) -> settings:
    """Returns settings of a state machine: so many runs in `make nightly`, a third of them in `make test`."""
    return settings(max_examples=count if FULL else count // 3, stateful_step_count=steps)


def examples(count: int) -> settings:
    """Returns settings with this number of examples, which are the same in every run.

    `make test` draws fewer. These may be other examples than those that `make nightly` draws.
    """
    return settings(
        phases=_PHASES,
        max_examples=drawn(count),
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=_SLOW_IS_FINE,
    )


def soak(count: int) -> settings:
    """Returns settings with this number of examples, which differ from run to run."""
    return settings(
        phases=_PHASES,
        max_examples=count,
        deadline=None,
        suppress_health_check=_SLOW_IS_FINE,
        print_blob=True,
    )


def at_length(check: Callable[..., None], count: int, **strategies: SearchStrategy[Any]) -> Any:
    """Returns the test of `make soak` that makes a check with so many examples."""
    return pytest.mark.soak(soak(count)(given(**strategies)(check)))


DEFAULT = examples(50)
FEW = examples(20)
SOAK = soak(5_000)
