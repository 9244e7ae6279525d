"""Rows that are retracted later: which stages have them, and what may read them (semantics 46.26, 46.102)."""

from dataclasses import replace
from typing import Final

from panewise.families import INPUT
from panewise.spec import Chain, WindowOperator
from panewise.spec.operators.chain import needs_retractions, respecified
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.stage_columns import is_star
from panewise.sql.stages import DeduplicateStage, OurStage, OutputColumn, QueryStage, RowsStage, WindowsStage

_RULE: Final = "the inner query retracts rows later, and this query would count a row and its retraction"
_OF_TOP_N: Final = "number the rows of windows, with window_start and window_end in PARTITION BY"
_OF_WINDOWS: Final = "leave RETRACTING out there"
_OF_ROWS: Final = "add EMIT AFTER WATERMARK there"


def retracting_stage(stage: QueryStage) -> WindowsStage | DeduplicateStage | None:
    """Returns the operator whose retractions are among the rows of a stage; None if there are none."""
    while isinstance(stage, RowsStage):
        stage = stage.input
    if isinstance(stage, WindowsStage) and retracts(stage.spec):
        return stage
    if isinstance(stage, DeduplicateStage) and stage.spec.emit == "retracting":
        return stage
    return None


def retracts(spec: WindowOperator | Chain) -> bool:
    """Returns whether an operator with windows emits retractions."""
    return spec.ports[INPUT].accumulation == "retracting"


def check_retractions(stage: QueryStage, parser: QueryParser, span: TextSpan) -> None:
    """Refuses an operator over rows that are retracted.

    Raises:
        SqlError: at these characters.
    """
    while isinstance(stage, RowsStage):
        stage = stage.input
    if not isinstance(stage, OurStage):
        return
    for before in stage.inputs:
        again = retracting_stage(before)
        if again is not None:
            raise parser.fail("a query over rows that are retracted", _RULE, _remedy(again), span)


def _remedy(stage: WindowsStage | DeduplicateStage) -> str:
    if isinstance(stage, DeduplicateStage):
        return _OF_ROWS
    return _OF_WINDOWS if stage.ranked is None else _OF_TOP_N


def rows_with_op(stage: QueryStage, op: str) -> RowsStage:
    """Returns the rows of a stage with this `op`, without the column."""
    test = f"op = '{op}'"
    if not isinstance(stage, RowsStage) or stage.outputs is None or any(map(is_star, stage.outputs)):
        return RowsStage(stage, None, test, (OutputColumn("* EXCEPT (op)", None, "*"),))
    where = test if stage.where is None else f"({stage.where}) AND {test}"
    return replace(stage, where=where, outputs=_without_op(stage.outputs))


def accumulating(stage: QueryStage) -> QueryStage | None:
    """Returns rows of windows without retractions: each firing has all its rows. None for other rows.

    A chain whose results are only right with retractions keeps them: its insertions are these rows.
    """
    if isinstance(stage, RowsStage):
        inner = accumulating(stage.input)
        return None if inner is None else replace(stage, input=inner, outputs=_without_op(stage.outputs))
    if not isinstance(stage, WindowsStage):
        return None
    if needs_retractions(stage.spec):
        return rows_with_op(stage, "+")
    spec = respecified(stage.spec, accumulation="accumulating")
    if stage.ranked is None:
        return replace(stage, spec=spec, outputs=_without_op(stage.outputs) or ())
    return replace(stage, spec=spec, ranked=replace(stage.ranked, retracts=False))


def _without_op(outputs: tuple[OutputColumn, ...] | None) -> tuple[OutputColumn, ...] | None:
    return None if outputs is None else tuple(output for output in outputs if output.name != "op")
