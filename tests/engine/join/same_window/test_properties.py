"""Window joins: modes of accumulation (semantics 37.13)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import AfterWatermark, SpecError, Tumbling
from panewise.spec.operators.join.columns import OF_PANES
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import window_join_specs
from tests.engine.cuts import together
from tests.engine.effort import FEW

pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")


def play(spec: JoinOperator, script: list[dict[str, Any]]) -> dict[str, Any]:
    return together(run(spec, script, "engine", types=join_types(spec), windows=True))


@FEW
@given(data=st.data())
def test_what_discarding_emits_adds_up_to_what_accumulating_emits(data: st.DataObject) -> None:
    """semantics 37.13: with the default trigger both have emitted the same rows of each window in the end."""
    match = SameWindow(Tumbling(data.draw(st.integers(1, 8))), trigger=AfterWatermark(), allowed_lateness=0)
    spec = data.draw(window_join_specs().filter(lambda spec: spec.unmatched != "early"))
    try:
        made = [
            replace(spec, match=replace(match, accumulation=how)) for how in ("discarding", "accumulating")
        ]
    except SpecError:  # the time of the window for a join of global windows
        return
    script = [*data.draw(join_events(made[0])), {"op": "finish"}]
    one, other = (play(each, script) for each in made)
    other["panes"] = [{name: row[name] for name in row if name not in OF_PANES} for row in other["panes"]]
    assert same(one, other)
