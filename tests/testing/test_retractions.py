"""The check of retractions finds what it is for, in the outputs of every family that retracts."""

import math
from typing import Any

import pytest

from panewise import AfterWatermark, Interval, SameWindow, Side, Tumbling, WindowOperator
from panewise import functions as F
from panewise.families import FAMILIES, Family, part
from panewise.spec.family_parts import SpecParts
from panewise.spec.operators.join.operator import JoinOperator
from panewise.testing import run, runner
from panewise.testing.retractions import Ledger, check_retractions, hashable

ROW = {"k": "a", "v": [1.5, {"w": math.nan}], "timing": "EARLY"}
PLUS, MINUS = {**ROW, "op": "+", "processing_time": 1}, {**ROW, "op": "-", "processing_time": 7}


def after(*panes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"panes": [pane]} for pane in panes]


def test_a_retraction_repeats_a_row() -> None:
    """semantics 20.5: in all columns but `op` and `processing_time`."""
    check_retractions(after(PLUS, MINUS, PLUS, PLUS, MINUS, MINUS))
    check_retractions(after({"v": 1}))  # a family whose rows do not say whether they are retracted


@pytest.mark.parametrize(
    "panes",
    [
        (MINUS, PLUS),
        (PLUS, MINUS, MINUS),
        (PLUS, MINUS | {"timing": "ON_TIME"}),
        (PLUS, MINUS | {"v": [1.5, {"w": None}]}),
        (PLUS, {name: value for name, value in MINUS.items() if name != "timing"}),
    ],
)
def test_other_retractions_are_found(panes: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(AssertionError, match=r"a retraction repeats no row .*semantics 20\.5"):
        check_retractions(after(*panes))


def test_the_error_shows_the_nearest_row() -> None:
    rows = [PLUS | {"k": "b"}, PLUS, MINUS | {"timing": "LATE"}]
    with pytest.raises(AssertionError) as error:
        check_retractions(after(*rows))
    _, retracted, nearest, _ = str(error.value).splitlines()
    assert retracted == f"- {ROW | {'timing': 'LATE'}}"
    assert nearest == f"+ {ROW}"


def test_what_remains() -> None:
    ledger = Ledger()
    ledger.take([PLUS, PLUS, PLUS | {"k": "b"}, MINUS])
    assert ledger.remaining() == [ROW, ROW | {"k": "b"}]


def test_equal_values() -> None:
    assert hashable(math.nan) == hashable(float("nan")) != hashable(None)
    assert hashable(1) == hashable(1.0) != hashable(True)


WINDOWS = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("n")], accumulation="retracting")
SIDES = {"left": Side(keys=["k"]), "right": Side(keys=["k"], prefix="r_")}


@pytest.mark.parametrize(
    "spec",
    [
        WINDOWS,
        WINDOWS.then(aggregates=[F.sum("n").alias("s")]),
        JoinOperator(**SIDES, match=Interval(0, 5), how="left", unmatched="early"),
        JoinOperator(**SIDES, match=SameWindow(Tumbling(10), trigger=AfterWatermark(early=None))),
    ],
)
def test_every_run_is_checked(spec: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a runtime returns is checked where all runtimes are called."""
    monkeypatch.setattr(runner, "runtime_named", lambda name: lambda script: after(MINUS))
    rows = {"rows": [{"k": "a", "event_time": 1}]}
    event = {"op": "add", **rows} if len(spec.ports) == 1 else {"op": "add", "input": "left", **rows}
    types = {side: {"k": "string", "event_time": "bigint"} for side in spec.ports}
    with pytest.raises(AssertionError, match=r"semantics 20\.5"):
        run(spec, [event], types=types if len(types) > 1 else None)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_retracts_if_its_rows_may_have_op(family: Family) -> None:
    """Retractions in `op` are checked, and a column `op` of the user is not taken for them."""
    states_op = type(part(family.spec)).has_op is not SpecParts.has_op
    assert part(family.testing).retracts == states_op
