"""Describes in words what a query becomes: what each stage selects, emits and stores (semantics 46.47)."""

from collections.abc import Iterable, Iterator

from panewise.spec.conditions import as_condition, sql_text
from panewise.spec.describe import describe
from panewise.spec.describe.join import EMITTED
from panewise.spec.operators.chain import last_stage
from panewise.spec.operators.join.match_parts import match_parts
from panewise.sql.stages import (
    AssignedStage,
    CompiledQuery,
    JoinStage,
    OutputColumn,
    OverStage,
    QueryStage,
    Ranked,
    Referring,
    RowsStage,
    SingleInputStage,
    TableStage,
    WindowsStage,
    walk,
)
from panewise.sql.text.pieces import one_line

_LATE = "emitted to the late output"
_UNWRITTEN = "counted, and not written, as the table of the query has no option `late`"
_NO_TIME = "event time"  # of a side whose time the text does not name


def query_words(compiled: CompiledQuery | None, *, late: bool = True) -> list[str]:
    """Returns a description of each stage of a query, the first one first.

    Args:
        compiled: the query, None for one that Spark alone runs.
        late: whether late rows are written.
    """
    if compiled is None:
        return ["is a query of Spark's alone"]
    stages = [stage for stage in reversed([*walk(compiled.stage)]) if not isinstance(stage, TableStage)]
    lines = (line for stage in stages for text in _stage_words(stage) for line in text.split("\n"))
    return [line if late else line.replace(_LATE, _UNWRITTEN) for line in lines]


def _stage_words(stage: QueryStage) -> Iterator[str]:
    match stage:
        case JoinStage():
            yield from _join_words(stage)
        case RowsStage():
            where = "" if stage.where is None else f" where {one_line(stage.where)}"
            yield f"a selection of {_columns(stage.outputs)}{where}"
        case AssignedStage():
            yield "the bounds of the windows of each row"
        case SingleInputStage():
            yield from _operator_words(stage)
        case _:
            yield "a query of Spark's"


def _columns(outputs: Iterable[OutputColumn | Referring] | None) -> str:
    """Returns the columns of a SELECT list."""
    if outputs is None:
        return "all columns"
    texts = ((output, one_line(output.original)) for output in outputs)
    return ", ".join(
        text
        if output.name is None or text.rpartition(".")[2].strip("`") == output.name
        else f"{text} AS {output.name}"
        for output, text in texts
    )


def _operator_words(stage: SingleInputStage) -> Iterator[str]:
    """Yields what an operator does, with the conditions before and after it, and its columns."""
    if stage.where is not None:
        yield f"WHERE: the operator takes the rows with {one_line(stage.where)}."
    yield describe(stage.spec)
    if stage.having is not None:
        word = "QUALIFY" if isinstance(stage, OverStage) else "HAVING"
        yield f"{word}: emitted are the rows with {one_line(stage.having)}."
    if isinstance(stage, WindowsStage) and stage.ranked is not None:
        yield from _ranked_words(stage, stage.ranked)
    elif stage.outputs is not None:
        yield f"Columns: {_columns(stage.outputs)}."


def _ranked_words(stage: WindowsStage, ranked: Ranked) -> Iterator[str]:
    """Yields the rows that a Top-N has of each pane, and their columns."""
    first = last_stage(stage.spec).aggregates[0]
    order = (column for column in first.ranking if column.column != "all rows")
    shown = ", ".join(f"{column.column}{'' if column.ascending else ' DESC'}" for column in order)
    count = (
        f"the first {first.n}"
        if ranked.ties is None
        else f"those up to {ranked.ties.function} {ranked.ties.n}"
    )
    yield f"Top-N: of the rows of each pane, {count} in the order of {shown}, each as a row of its own."
    fields: list[str] = [_columns([field]) for field in ranked.fields] or list(ranked.lists)
    others, rank = [name for name, _ in ranked.others], [] if ranked.rank is None else [ranked.rank]
    columns = ranked.in_order(fields, others, rank)
    yield f"Columns: {', '.join([*columns, *(['op'] if ranked.retracts else [])])}."


def _join_words(stage: JoinStage) -> Iterator[str]:
    parts, (left, right) = match_parts(stage.match), stage.names
    yield f"Join of {left} and {right}: emits {EMITTED[stage.how]}."
    names = (key[0] if key[0] == key[1] else f"{left}.{key[0]} and {right}.{key[1]}" for key in stage.keys)
    keys = f"rows with equal {' and '.join(names)}" if stage.keys else "all rows"
    match = parts.partners(stage.match, stage.times[0] or _NO_TIME, stage.times[1] or _NO_TIME)
    condition = "" if stage.condition is None else f", and {sql_text(as_condition(stage.condition))}"
    yield f"Partners: {keys}, if {match}{condition}."
    if not parts.by_arrival(stage.match):
        yield f"Late rows: a row behind the watermark of its side when its batch begins. It is {_LATE}."
    if stage.where:
        selected = " and ".join(one_line(condition.original) for condition in stage.where)
        yield f"WHERE: emitted are the rows with {selected}."
    yield f"Columns: {_columns(stage.items)}."
