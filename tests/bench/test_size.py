"""The costs that `python -m bench.size` computes from its runs, and the processes that it looks at."""

import pytest

from bench.processes import core_seconds, most_worker_bytes
from bench.size import PAGE, SHARDS, Measured, _costs, _further_window, _Runs, shown
from panewise.sizing.costs import Costs, OperatorCosts, costs
from panewise.sizing.requirements import requirements
from panewise.sizing.workload import Workload

FIXED, BASE = 0.5, 2e8
COSTS = OperatorCosts(2e-6, 3e-6, 1e-6, entry_bytes=40.0, written=0.5, row_bytes=100.0)


def measured(rows: float, keys: float, slide: float | None = None) -> Measured:
    """Returns a run with these costs, by the arithmetic of `panewise size`."""
    load = Workload("windows", rows / 15, keys, 60, slide, 10, 0, 15)
    need = requirements([load], Costs({}, 1e-9, BASE, {"windows": COSTS}), utilization=1)
    seconds = FIXED + need.busy * need.cores * 15
    memory = BASE + rows / SHARDS * COSTS.row_bytes + need.state_bytes / SHARDS
    return Measured(load, seconds, need.state_bytes, need.checkpoint_bytes, memory)


def test_costs_are_found_again() -> None:
    runs = _Runs(measured(10_000, 1_000), measured(200_000, 100_000), measured(200_000, 1_000))
    assert runs.fixed == pytest.approx(FIXED, rel=1e-4)
    again = OperatorCosts(**_costs(runs, BASE))
    expected = vars(COSTS) | {"window_core_seconds": 0}
    assert vars(again) == pytest.approx(expected, rel=1e-4)
    hopping = measured(200_000, 1_000, slide=10)
    assert _further_window(hopping, runs, FIXED) == pytest.approx(COSTS.window_core_seconds, rel=1e-4)


def test_an_operator_with_an_entry_for_each_row() -> None:
    runs = _Runs(measured(10_000, 1e9), measured(200_000, 1e9))
    assert (runs.per_changed, runs.per_row) == pytest.approx((0, 5e-6), rel=1e-4)


def test_processes() -> None:
    before = core_seconds()
    assert sum(range(3_000_000))
    assert core_seconds() > before > 0
    assert most_worker_bytes() >= 0


def test_the_page_shows_the_costs() -> None:
    """`--write` writes them there."""
    assert f"\n\n{shown(costs())}\n\n" in PAGE.read_text(encoding="utf-8")
