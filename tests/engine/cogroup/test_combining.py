"""Cogroups whose rows are pre-aggregated where they are read emit the same panes and counts (43.6)."""

import warnings
from typing import Any

import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st

from panewise import AfterCount, AfterWatermark, CogroupOperator, Position, Side, Tumbling
from panewise import functions as F
from panewise.engine.columns import TIME
from panewise.engine.ingest.output import Counts
from panewise.engine.registry import operator_for, plan_for
from panewise.errors import SpecWarning
from panewise.testing.cogroups import cogroup_specs
from panewise.testing.compare import same
from panewise.testing.event import Event
from panewise.testing.events import Script, script
from panewise.testing.ingest import FLAGS, frame, schema
from panewise.testing.join_events import join_events, join_types
from tests.engine.effort import examples

ORDERLESS = {
    "left_aggregates": [F.count().alias("n"), F.sum("n").alias("s"), F.avg("price").alias("a")],
    "right_aggregates": [F.count().alias("m"), F.max("v").alias("x"), F.top_n("s", 2).alias("t")],
    "both_aggregates": [],
    "evaluate": "batch",
    "drop_by": "window",
}


@st.composite
def combinable(draw: st.DrawFn) -> CogroupOperator:
    spec = draw(cogroup_specs(**ORDERLESS))
    assume(spec.left.position is None and spec.right.position is None)
    assume(plan_for(spec, schemas(spec)).ports["left"].can_combine)
    return spec


def schemas(spec: CogroupOperator) -> dict[str, dict[str, pl.DataType]]:
    return {side: schema(types) | FLAGS for side, types in join_types(spec).items()}


@examples(20)
@given(data=st.data())
def test_partials_are_rows(data: st.DataObject) -> None:
    """Each side is read by two readers. What late rows there are is only counted."""
    spec = data.draw(combinable(), label="spec")
    made = script(spec, data.draw(join_events(spec), label="events"), join_types(spec))
    by_rows, by_partials = (operator_for(spec, schemas(spec)) for _ in range(2))
    for event in made.events:
        one, other = played(by_rows, made, event, apart=False), played(by_partials, made, event, apart=True)
        assert same(panes(one), panes(other))
        assert counts(one) == counts(other)
        assert same(by_rows.live().to_dicts(), by_partials.live().to_dicts())


def played(operator: Any, made: Script, event: Event, *, apart: bool) -> list[Any]:
    match event.op:
        case "add":
            ports = made.ports
            rows = {side: frame(ports[side], made.types[side], of) for side, of in event.rows.items()}
            return together(operator, rows, apart=apart)
        case "watermark":
            return [operator.advance(watermark=event.to, source=event.source)]
        case "clock":
            return [operator.advance(processing_time=event.to)]
        case "finish":
            return [operator.finish(event.port)]
    return []


def together(operator: Any, rows: dict[str, pl.DataFrame], *, apart: bool) -> list[Any]:
    """Adds rows of both sides as one batch, as the step of a shard does."""
    valid, latest = {}, {}
    for side, of_side in rows.items():
        port = operator.plan.ports[side]
        taken = port.validate(of_side, operator.state.clocks.processing_time).valid
        if taken.height:
            latest[side] = {"all": taken[TIME].max()}
        half = taken.height // 2
        if apart and taken.height:
            read = [port.combine(part) for part in (taken[:half], taken[half:]) if part.height]
            assert operator.add_combined(port.combine_again(pl.concat(read)), side).counts == Counts()
        elif not apart:
            valid[side] = taken
    driven = {side: of for side, of in latest.items() if operator.plan.ports[side].row_driven_inputs}
    return [*operator.add_together(valid, driven)]


def panes(outputs: list[Any]) -> list[dict[str, Any]]:
    return [pane for output in outputs for pane in output.panes.to_dicts()]


def counts(outputs: list[Any]) -> dict[str, Counts]:
    found: dict[str, Counts] = {}
    for output in outputs:
        if output.counts != Counts():
            found[output.port] = found.get(output.port, Counts()) + output.counts
    return found


def spec_of(**fields: Any) -> CogroupOperator:
    given_fields = {"window": Tumbling(10), "left_aggregates": [F.count()], **fields}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)
        return CogroupOperator(**{"left": Side(keys=["k"]), "right": Side(keys=["k"]), **given_fields})


def test_what_is_combined() -> None:
    """Rows are not, if an aggregate, the trigger or a source position needs them one by one."""
    columns = {"k": pl.Int64(), "event_time": pl.Int64(), "partition": pl.Int64(), "offset": pl.Int64()}

    def combined(**fields: Any) -> bool:
        plan = plan_for(spec_of(**fields), {"left": columns, "right": columns})
        found = {port.can_combine for port in plan.ports.values()}
        assert len(found) == 1  # so the rows of a batch are partials of both sides, or rows of both
        return found.pop()

    assert combined(trigger=AfterWatermark(early=AfterCount(3)))
    assert not combined(right_aggregates=[F.last("k")])
    assert not combined(left=Side(keys=["k"], position=Position()))
    assert not combined(evaluate="record")
