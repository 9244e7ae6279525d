"""The input of these tests contains every case that they are about."""

import pytest

from tests.faults.conftest import Expected
from tests.faults.specs import SPECS

FILES = 6


def test_every_window_and_every_accumulation_is_there() -> None:
    assert {(spec.window.kind, spec.accumulation) for spec in SPECS.values()} >= {
        (window, mode)
        for window in ("tumbling", "hopping", "cumulating", "session", "global")
        for mode in ("discarding", "accumulating", "retracting")
    }


@pytest.mark.nightly
@pytest.mark.spark
def test_panes_of_all_kinds_late_and_invalid_rows(undisturbed: Expected) -> None:
    _, sinks = undisturbed("session-retracting", FILES)
    panes = " ".join(sinks["panes"])
    assert all(f"'timing': '{timing}'" in panes for timing in ("EARLY", "ON_TIME", "LATE"))
    assert "'op': '-'" in panes
    assert "batch end" in panes
    assert sinks["late"].total() > 5
    assert {"key k is null (null_keys=False)", "event time is null"} == {
        row.rpartition("'reason': ")[2].strip("'}") for row in sinks["invalid"]
    }
