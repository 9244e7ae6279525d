"""Rows of SESSION without GROUP BY: each with the bounds of its session, when this fires (semantics 46.169).

The rows alone do not show their sessions. So an operator stores the rows of each session, and its pane
becomes rows again, as that of a Top-N does.
"""

from dataclasses import replace
from typing import Final

from panewise import functions as F
from panewise.spec import Session, WindowOperator
from panewise.sql.first_rows.order import ALL_ROWS
from panewise.sql.stages import (
    AssignedStage,
    Computed,
    FollowingStage,
    OutputColumn,
    PairStage,
    QueryStage,
    Ranked,
    SparkStage,
    WindowsStage,
)
from panewise.sql.windows.panes import BOUND_TEXTS

_ROW: Final = "row"
_ROWS: Final = "rows"
_FIRST: Final = "all rows"


def with_session_rows(stage: QueryStage, known: dict[int, QueryStage] | None = None) -> QueryStage:
    """Returns stages in which the rows of sessions are those of an operator. A stage that has none stays."""
    known = {} if known is None else known
    if id(stage) not in known:
        known[id(stage)] = _rewritten(stage, known)
    return known[id(stage)]


def _rewritten(stage: QueryStage, known: dict[int, QueryStage]) -> QueryStage:
    before = [with_session_rows(part, known) for part in stage.inputs]
    plain = stage.plain if isinstance(stage, SparkStage) else None
    new_plain = None if plain is None else with_session_rows(plain, known)
    same = all(new is old for new, old in zip(before, stage.inputs, strict=True))
    if not (same and new_plain is plain):
        stage = _with_inputs(stage, before, new_plain)
    if isinstance(stage, AssignedStage) and isinstance(stage.window, Session):
        return _rows_of_sessions(stage, stage.window)
    return stage


def _with_inputs(stage: QueryStage, before: list[QueryStage], plain: QueryStage | None) -> QueryStage:
    """Returns a stage with other stages before it."""
    if isinstance(stage, FollowingStage):
        return replace(stage, input=before[0])
    if isinstance(stage, PairStage):
        return replace(stage, left=before[0], right=before[1])
    assert isinstance(stage, SparkStage), "a table has no stage before it"
    tables = zip(before, (name for _, name in stage.tables), strict=True)
    return replace(stage, tables=tuple(tables), plain=plain)


def _rows_of_sessions(stage: AssignedStage, window: Session) -> WindowsStage:
    """Returns the rows of each session, in the order of their event times."""
    by = [F.asc(_FIRST), F.asc(stage.time)]  # which is never null, so that no row is skipped
    spec = WindowOperator(
        window=window,
        keys=sorted(stage.partition),
        event_time=stage.time,
        aggregates=[F.top_n_by(_ROW, by, ALL_ROWS).alias(_ROWS)],
    )
    every = OutputColumn("*", None, "*")
    ranked = Ranked(
        (_ROWS,), None, tuple(BOUND_TEXTS.items()), retracts=False, fields=(every,), of_structs=True
    )
    computed = (Computed(_ROW, "struct(*)"), Computed(_FIRST, "0"))
    return WindowsStage(stage.input, None, None, computed, spec, (), ranked=ranked)
