"""How a stage processes the panes of one evaluation (semantics 30).

The table of contributions contains the live panes that each window of the stage has received. A window that
receives panes is aggregated anew from all its contributions. Invariant: a retracted pane is not among the
contributions. So its values are in no later result, and no aggregate has to be subtracted. A step costs as
much as the contributions of the windows that receive panes. It does not depend on the number of stored
windows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from panewise.engine.chain.plan import OP, TABLES, StagePlan
from panewise.engine.columns import END, INDEX, LIVE, NONSPECULATIVE, live_column
from panewise.engine.ingest.input_state import InputState, read_clocks
from panewise.engine.progress.clocks import Clocks
from panewise.engine.protocol import EvaluatedPanes, OperatorState
from panewise.engine.tables.stored_table import StoredTable, sealed_if_long
from panewise.engine.windowing.panes import COMPLETE, differs, numbering

LAST, ON_TIME = "__last", "__on_time"
FILLED, EMITTED = "__filled", "__emitted"  # whether a window contains rows, and whether it emits a pane


@dataclass(frozen=True, kw_only=True)
class StageState(InputState):
    """The tables of a stage. Its clocks are those of its last evaluation."""

    TABLES: ClassVar = TABLES

    contributions: StoredTable
    windows: StoredTable


class StageEngine:
    """A stage of a chain. Its clocks are those of the window operator, whose header it reads."""

    changed = False  # a stage changes only in steps in which the windows of the operator do

    def __init__(self, plan: StagePlan) -> None:
        self.plan = plan
        contributions = StoredTable.nothing(plan.contributions)
        self.state = StageState(contributions=contributions, windows=StoredTable.nothing(plan.windows))

    def replace_state(self, state: OperatorState) -> None:
        """Replaces the state by another one of this stage."""
        assert isinstance(state, StageState)
        self.state = state

    def header(self) -> dict[str, Any]:
        """Returns an empty header."""
        return {}

    def with_header(self, header: Mapping[str, Any]) -> StageState:
        """Returns the state with the clocks of the window operator."""
        return replace(self.state, clocks=read_clocks(header, Clocks.initial(self.plan.spec)))

    def horizons(self, clocks: Clocks) -> dict[str, int | None]:
        """Returns the horizon of each table at these clocks."""
        return dict.fromkeys(self.state.tables, clocks.horizon(self.plan.spec))

    def next_due(self) -> int | None:
        """Returns None: nothing is due before the window operator emits panes."""
        return None

    def take(self, evaluation: EvaluatedPanes) -> pl.DataFrame:
        """Processes the panes of an evaluation. Returns the panes that the stage emits.

        The tables expire only after that: panes that windows emit when they expire retract earlier ones.
        """
        plan, state, clocks = self.plan, self.state, evaluation.clocks
        panes, tables = plan.no_panes, state.tables
        if evaluation.panes.height:
            panes, tables = _processed(plan, state, evaluation.panes, clocks)
        horizon = clocks.horizon(plan.spec)
        changes: dict[str, Any] = {n: sealed_if_long(table).expired(horizon) for n, table in tables.items()}
        self.state = replace(state, clocks=clocks, **changes)
        return panes


def _processed(
    plan: StagePlan, state: StageState, panes: pl.DataFrame, clocks: Clocks
) -> tuple[pl.DataFrame, dict[str, StoredTable]]:
    rows = plan.rows(panes)
    affected = _affected(plan, rows)
    contributions, stored = (
        _put(plan, state.contributions, rows, affected)
        if plan.stores_contributions
        else (state.contributions, rows)
    )
    results = _results(plan, stored)
    evaluated = _evaluated(plan, affected, results, state.windows.find(affected[plan.identity]), clocks)
    windows = state.windows.changed(evaluated.select(plan.once("after", lambda: _after(plan))))
    return _emitted_panes(plan, evaluated, clocks.processing_time), {
        "contributions": contributions,
        "windows": windows,
    }


def _affected(plan: StagePlan, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows of the stage that received panes, and whether a `+` pane among these is ON_TIME."""
    on_time = plan.once("on time", lambda: ((pl.col(OP) == "+") & (pl.col("timing") == "ON_TIME")).any())
    return rows.group_by(plan.identity, maintain_order=True).agg(on_time.alias(ON_TIME))


def _put(
    plan: StagePlan, table: StoredTable, rows: pl.DataFrame, affected: pl.DataFrame
) -> tuple[StoredTable, pl.DataFrame]:
    """Adds `+` panes to the contributions, and removes those that `-` panes retract.

    Returns the table, and the contributions of the affected windows.
    """
    columns = list(plan.contributions.schema)
    plus, minus = (rows.filter(pl.col(OP) == op)[columns] for op in ("+", "-"))
    # A cell may contain several windows of the stage. Only the contributions of the affected ones are
    # returned.
    before = table.of_keys(rows.select(plan.cell).unique(maintain_order=True), plan.cell)
    others = before.join(rows, on=plan.origin, how="anti", nulls_equal=True)
    now = pl.concat([others, plus]).join(affected, on=plan.identity, how="semi", nulls_equal=True)
    return table.changed(plus, minus), now


def _results(plan: StagePlan, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the aggregates of each window. Rows are in the order of the keys of the stage before (30.2)."""
    ordered = rows.sort(plan.before, nulls_last=False) if plan.before else rows
    partials = plan.aggregation.lift(ordered, plan.identity)
    return partials.with_columns(plan.aggregation.results).select(
        *plan.identity, *plan.aggregation.result_types, pl.lit(True).alias(FILLED)
    )


def _evaluated(
    plan: StagePlan, affected: pl.DataFrame, results: pl.DataFrame, known: pl.DataFrame, clocks: Clocks
) -> pl.DataFrame:
    """Returns the affected windows, with their results, their stored rows, and whether they emit a pane."""
    windows = affected
    for more in (results, known):
        windows = windows.join(more, on=plan.identity, how="left", nulls_equal=True, maintain_order="left")
    complete, last = clocks.complete(plan.spec, pl.col(END)), clocks.expired(plan.spec, pl.col(END))
    filled = plan.once("filled", lambda: _filled(plan))
    windows = windows.with_columns(*filled, complete.alias(COMPLETE), last.alias(LAST))
    return windows.with_columns(plan.once("emits", lambda: _emits(plan)))


def _filled(plan: StagePlan) -> list[pl.Expr]:
    """Returns the columns that are null if a window has no rows or is not stored, with their values then."""
    # Only the first pane of a window that is not EARLY can be ON_TIME (semantics 30.3).
    first = pl.col(NONSPECULATIVE).fill_null(0) == 0
    columns = [pl.col(FILLED).fill_null(False), pl.col(ON_TIME) & first]
    columns += [pl.col(name).fill_null(0) for name in (INDEX, NONSPECULATIVE)]
    return [*columns, pl.col(LIVE).fill_null(False)] if plan.compares else columns


def _emits(plan: StagePlan) -> pl.Expr:
    """Returns whether a window emits a pane."""
    filled = pl.col(FILLED)
    if plan.compares:
        filled = filled & (differs(plan.aggregation.result_types) | _requested(plan))
    return filled.alias(EMITTED)


def _requested(plan: StagePlan) -> pl.Expr:
    requested = pl.lit(False)
    if plan.spec.on_time == "always":
        requested = requested | (pl.col(COMPLETE) & pl.col(ON_TIME))
    if plan.spec.closing == "always":
        requested = requested | pl.col(LAST)
    return requested


def _after(plan: StagePlan) -> list[pl.Expr]:
    """Returns the columns that the table stores of windows after their panes have been emitted."""
    updates = {
        INDEX: pl.col(INDEX) + pl.col(EMITTED),
        NONSPECULATIVE: pl.col(NONSPECULATIVE) + (pl.col(EMITTED) & pl.col(COMPLETE)),
    }
    if plan.compares:
        values = {name: pl.col(name) for name in plan.aggregation.result_types} | _numbering()
        updates[LIVE] = (pl.col(LIVE) | pl.col(EMITTED)) & pl.col(FILLED)
        updates |= {
            live_column(name): pl.when(EMITTED).then(value).otherwise(pl.col(live_column(name)))
            for name, value in values.items()
        }
    columns = plan.windows.schema.items()
    return [updates.get(name, pl.col(name)).cast(dtype).alias(name) for name, dtype in columns]


def _numbering() -> dict[str, pl.Expr]:
    """Returns the timing and numbers of a `+` pane, by column (semantics 30.3)."""
    return numbering(pl.col(ON_TIME), pl.col(LAST))


def _emitted_panes(plan: StagePlan, evaluated: pl.DataFrame, processing_time: int) -> pl.DataFrame:
    """Returns the panes that the windows emit, in order (semantics 30.7).

    In retracting mode each pane follows the retraction of the live one. A window without rows emits only the
    retraction.
    """
    numbers = plan.once("numbering", lambda: [value.alias(name) for name, value in _numbering().items()])
    emitted = evaluated.filter(EMITTED).with_columns(numbers)
    replaced = evaluated.filter(pl.col(EMITTED) | ~pl.col(FILLED))
    return plan.panes.emitted(emitted, processing_time, replaced)
