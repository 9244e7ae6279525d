"""What all operators have in common: ports, output schemas, named tables, and the output watermark."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.engine.family_parts import engine_parts
from panewise.engine.registry import by_port, cached_operator, operator_for, plan_for
from panewise.engine.saved_operator import save
from panewise.families import INPUT
from panewise.spec import Specification
from panewise.streamwindow import count
from panewise.testing.ingest import schema
from tests.drawn import FAMILIES, types_for
from tests.engine.join.micro_batches import inspected

SCHEMA = {"event_time": pl.Int64(), "k": pl.Int64(), "v": pl.Int64()}
TIMES = [7, 3, 12, 1, 25, 14, 30, 8]
WINDOWS = pw.WindowOperator(keys=["k"], window=pw.Tumbling(5), aggregates=[F.sum("v").alias("s")])
SLIDING = pw.WindowOperator(keys=["k"], window=pw.Sliding(5), aggregates=[F.sum("v").alias("s")])
CHAIN = WINDOWS.then(keys=["k"], aggregates=[F.max("s").alias("m")])
AHEAD = pw.Frame("range", -3, 4)
OVER = pw.OverOperator(keys=["k"], columns=[pw.OverColumn(F.sum("v").alias("s"), AHEAD)])
POLICY = pw.StreamWindow.tumbling(count(2), partition_by=["k"])
DEDUPLICATE = pw.DeduplicateOperator(keys=["k"], within=5, event_time="event_time")
SPECS = {"windows": WINDOWS, "sliding": SLIDING, "chain": CHAIN, "over": OVER, "policy": POLICY}
TABLES = {
    "windows": ["windows"],
    "sliding": ["windows", "slices", "blocks"],
    "chain": ["windows", "contributions of stage 1", "windows of stage 1"],
    "over": ["waiting", "recent", "running", "passed", "blocks"],
    "policy": ["partitions"],
}


@pytest.mark.parametrize("name", SPECS)
def test_tables_have_names(name: str) -> None:
    """The order of the tables is that of their numbers on disk, so it stays."""
    operator = operator_for(SPECS[name], SCHEMA)
    assert list(operator.state.tables) == TABLES[name]
    assert list(operator.horizons(operator.state.clocks)) == TABLES[name]
    other = operator_for(SPECS[name], SCHEMA).state.tables
    assert operator.state.with_tables(other).tables == other


@pytest.mark.parametrize("spec", [*SPECS.values(), DEDUPLICATE], ids=[*SPECS, "deduplicate"])
def test_an_inspection_shows_the_keys_of_what_is_live(spec: Specification) -> None:
    operator = operator_for(spec, SCHEMA)
    operator.add(pl.DataFrame([[t, t % 3, t] for t in TIMES], schema=SCHEMA, orient="row"))
    for watermark in (6, 11, 22):
        operator.advance(watermark, watermark)
        keys = inspected(operator).rows["k"].sort().to_list()
        assert keys == operator.live()["k"].sort().to_list() != []


@pytest.mark.parametrize("name", SPECS)
def test_a_plan_is_compiled_without_an_operator(name: str) -> None:
    plan, operator = plan_for(SPECS[name], SCHEMA), operator_for(SPECS[name], SCHEMA)
    assert plan is plan_for(SPECS[name], {INPUT: SCHEMA})
    assert list(plan.ports) == [INPUT]
    assert plan.ports[INPUT].late_schema == operator.plan.ports[INPUT].late_schema
    rows = pl.DataFrame([[t, t % 2, t] for t in TIMES], schema=SCHEMA, orient="row")
    panes = [operator.add(rows).panes, operator.advance(watermark=20).panes, operator.finish().panes]
    assert all(dict(found.schema) == plan.pane_schema for found in panes)
    assert sum(found.height for found in panes)


@pytest.mark.parametrize("name", SPECS)
def test_an_operator_refuses_the_state_of_another_family(name: str) -> None:
    operator, other = operator_for(SPECS[name], SCHEMA), operator_for(DEDUPLICATE, SCHEMA)
    for one, state in ((operator, other.state), (other, operator.state)):
        before = one.state
        with pytest.raises(AssertionError):
            one.replace_state(state)
        assert one.state == before


@pytest.mark.parametrize("name", SPECS)
def test_operators_of_the_cache_share_no_state(name: str) -> None:
    one, other = (cached_operator(SPECS[name], SCHEMA) for _ in range(2))
    before = save(other)
    one.add(pl.DataFrame([[1, 1, 1]], schema=SCHEMA, orient="row"))
    assert save(other) == before
    assert save(one) != before


def time_of(row: dict[str, Any]) -> int:
    """Returns the event time of an emitted row: of a pane the last instant of its window."""
    return int(row["window_end"]) - 1 if "window_end" in row else int(row["event_time"])


@pytest.mark.parametrize("name", ["windows", "sliding", "chain", "over"])
def test_no_row_behind_the_output_watermark_is_emitted(name: str) -> None:
    operator = operator_for(SPECS[name], SCHEMA)
    assert operator.output_watermark() is None
    emitted, reached = [], []
    for step, at in enumerate([4, 9, 9, 20, 31]):
        rows = [[t, t % 2, t] for t in TIMES if t >= at and t % 5 == step]
        operator.add(pl.DataFrame(rows, schema=SCHEMA, orient="row"))
        mark = operator.output_watermark()
        found = operator.advance(watermark=at).panes.to_dicts()
        emitted += found
        assert all(mark is None or time_of(row) >= mark for row in found)
        reached.append(operator.output_watermark())
    assert emitted
    assert reached == ([0, 5, 5, 16, 27] if name == "over" else [4, 9, 9, 20, 31])


def test_rows_that_wait_for_rows_hold_back_the_output_watermark() -> None:
    """The last row of a key waits for the next one, however far the watermark is (semantics 29.8)."""
    lead = pw.OverOperator(keys=["k"], columns=[pw.OverColumn(F.lead("v").alias("next"))])
    operator = operator_for(lead, SCHEMA)
    operator.add(pl.DataFrame([[t, 1, t] for t in (1, 2, 3)], schema=SCHEMA, orient="row"))
    assert operator.advance(watermark=10).panes["event_time"].to_list() == [1, 2]
    assert operator.output_watermark() == 3
    operator.add(pl.DataFrame([[12, 1, 0]], schema=SCHEMA, orient="row"))
    assert operator.advance(watermark=20).panes["event_time"].to_list() == [3]
    assert operator.output_watermark() == 12


def test_policy_windows_have_no_output_watermark() -> None:
    assert operator_for(POLICY, SCHEMA).output_watermark() is None


def test_the_schema_of_one_input_may_be_given_alone() -> None:
    assert by_port(WINDOWS, SCHEMA) == {INPUT: SCHEMA} == by_port(WINDOWS, {INPUT: SCHEMA})


@settings(max_examples=15)
@given(data=st.data())
@pytest.mark.parametrize("name", FAMILIES)
def test_tables_are_read_by_the_names_that_they_have(name: str, data: st.DataObject) -> None:
    """An inspection reads a table by its name. The name stands for the number of the table on disk."""
    spec = data.draw(FAMILIES[name]())
    given_types = types_for(spec)
    schemas = (
        {port: schema(of) for port, of in given_types.items()}
        if isinstance(next(iter(given_types.values())), dict)
        else schema(given_types)
    )
    known = engine_parts(spec).tables(spec)
    stored = list(operator_for(spec, schemas).state.tables)
    assert known[0] == stored[0]
    for name_of_table in set(stored) & set(known):
        assert stored.index(name_of_table) == known.index(name_of_table)
