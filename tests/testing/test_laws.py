"""The laws of outputs hold for all families, in the oracle and in the engine, and faults are found."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    Interval,
    Never,
    Repeatedly,
    SameWindow,
    Side,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.errors import InputError, SpecError
from panewise.spec import Chain
from panewise.spec.operators.join.operator import JoinOperator
from panewise.testing import laws
from panewise.testing.chains import chains
from panewise.testing.cogroups import cogroup_specs
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import join_specs, window_join_specs
from panewise.testing.laws import check_early, check_one_batch, check_retracting
from panewise.testing.strategies import KINDS, events, specs, types_of
from tests.engine.cuts import BY_ORDER, by_side, numbered
from tests.engine.effort import examples

pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
FEW = examples(15)
RUNTIMES = st.sampled_from(["oracle", "engine"])
OUTER = st.sampled_from(["left", "right", "full", "anti"])
# Triggers that close no window, so that no row is late because of one.
OPEN = st.sampled_from([AfterWatermark(), AfterWatermark(early=Always()), Repeatedly(AfterCount(2)), Never()])


def with_panes(data: st.DataObject, family: str, **fields: Any) -> tuple[Any, list[dict[str, Any]], Any]:
    """Draws a specification of a family that emits panes, events, and the types of their columns."""
    if family == "cogroup":
        spec: Any = data.draw(cogroup_specs(**fields))
        return spec, data.draw(join_events(spec)), join_types(spec)
    kind = data.draw(st.sampled_from(KINDS))
    spec = data.draw(chains(kind) if family == "chain" else specs(kind, **fields))
    if family == "chain":
        spec = replace(spec, first=replace(spec.first, **fields))
    first = spec.first if isinstance(spec, Chain) else spec
    return spec, data.draw(events(first)), types_of(first)


PANES = pytest.mark.parametrize("family", ["windows", "chain", "cogroup"])


def early_is_final(data: st.DataObject) -> None:
    made = data.draw(st.sampled_from([join_specs, window_join_specs]))
    spec = data.draw(made(how=data.draw(OUTER)))
    assume(not isinstance(spec.match, SameWindow) or spec.match.accumulation != "accumulating")
    try:
        spec = replace(spec, unmatched="early")
    except SpecError:  # a match whose rows are decided once
        assume(False)
    check_early(spec, data.draw(join_events(spec)), data.draw(RUNTIMES), types=join_types(spec))


@FEW
@given(data=st.data())
def test_early_is_final(data: st.DataObject) -> None:
    """semantics 37.12, 39: the net rows of an early join are those of the final one."""
    early_is_final(data)


def retracting_is_accumulating(data: st.DataObject, family: str) -> None:
    try:
        spec, script, types = with_panes(data, family)
        check_retracting(spec, script, data.draw(RUNTIMES), types=types)
    except SpecError:  # windows that are merged, or keys that are aggregates, in an accumulating chain
        assume(False)


@PANES
@FEW
@given(data=st.data())
def test_retracting_is_accumulating(family: str, data: st.DataObject) -> None:
    """semantics 21.1, 30.2: what is not retracted is the last pane of each window."""
    retracting_is_accumulating(data, family)


def numbered_sides(script: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns a script of two sides with its rows numbered in the column `order`, the left rows first."""
    found, number = [], count()
    for event in script:
        if event["op"] != "add":
            found.append(event)
            continue
        rows = by_side(event)
        found.append(
            {
                "op": "add",
                "rows": {side: [{**row, "order": next(number)} for row in rows[side]] for side in rows},
            }
        )
    return found


def one_batch_is_the_stream(data: st.DataObject, family: str) -> None:
    fields = {"trigger": data.draw(OPEN), "watermark": None, "on_time": "if_pending", "closing": "always"}
    fields |= {
        "accumulation": data.draw(st.sampled_from(["accumulating", "retracting"])),
        "only_updated": False,
    }
    if family == "cogroup":
        sides = {side: Side(keys=["key"], order=["order"]) for side in ("left", "right")}
        fields |= {"watermark": None, "idle_after": None, **sides}
    else:
        fields |= {"time": "event", "max_future_skew": None, **BY_ORDER}
    try:
        spec, script, types = with_panes(data, family, **fields)
    except SpecError:  # fields that do not go with a chain of these windows
        assume(False)
    script = numbered_sides(script) if family == "cogroup" else numbered(script)
    try:
        check_one_batch(spec, script, data.draw(RUNTIMES), types=types)
    except InputError as error:
        assume(not str(error).startswith("late rows"))
        raise


@PANES
@FEW
@given(data=st.data())
def test_one_batch_is_the_stream(family: str, data: st.DataObject) -> None:
    """semantics 3.1, 18: without late rows, the last panes are those of one batch."""
    one_batch_is_the_stream(data, family)


def test_a_law_that_is_broken_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each check compares what two runs return, and shows the rows that differ."""
    outputs = iter([1, 2] * 3)

    def wrong(*_: Any, **__: Any) -> list[dict[str, Any]]:
        pane = {"window_start": 0, "window_end": 10, "n": next(outputs), "op": "+", "missing": None}
        return [{"panes": [pane], "late": [], "invalid": []}]

    monkeypatch.setattr(laws, "run", wrong)
    windows = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("n")])
    join = JoinOperator(left=Side(), right=Side(prefix="r_"), match=Interval(0, 5), how="left")
    for check, spec in ((check_early, join), (check_retracting, windows), (check_one_batch, windows)):
        with pytest.raises(AssertionError, match=r"different rows[^\n]*\n- .*'n': 1.*\n\+ .*'n': 2"):
            check(spec, [])  # type: ignore[operator]
