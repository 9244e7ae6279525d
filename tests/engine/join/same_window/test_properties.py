"""Window joins: cuts, output watermarks and modes of accumulation (semantics 36.7, 37.13, 40.4)."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import AfterWatermark, SpecError, Tumbling
from panewise.oracle import interpreter
from panewise.spec.operators.join.columns import OF_PANES
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.join_events import join_events, join_types
from panewise.testing.joins import window_join_specs
from tests.engine.effort import FEW, examples
from tests.oracle.join.test_invariances import cut, played, together

FEWER = examples(20)
pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")


@FEWER
@given(data=st.data())
def test_a_batch_is_its_rows_one_by_one(data: st.DataObject) -> None:
    """semantics 36.7: with evaluate="record" cuts change no output, if the arrival order is the same."""
    spec = data.draw(window_join_specs(evaluate="record"))
    script = data.draw(join_events(spec))
    whole, single = (play(spec, events) for events in (script, list(cut(spec, script)) or script))
    assert same(whole, single)


def play(spec: JoinOperator, script: list[dict[str, Any]]) -> dict[str, Any]:
    return together(run(spec, script, "engine", types=join_types(spec), windows=True))


@FEW
@given(data=st.data())
def test_no_row_is_behind_the_output_watermark(data: st.DataObject) -> None:
    """semantics 40.4: no row that is emitted later has an earlier event time."""
    spec = data.draw(window_join_specs())
    oracle: Any = interpreter(spec, join_types(spec))
    for event in data.draw(join_events(spec)):
        mark = oracle.output_watermark()
        assert all(mark is None or pane["join_time"] >= mark for pane in played(oracle, event))
        after = oracle.output_watermark()
        assert mark is None or (after is not None and after >= mark)


@FEWER
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
