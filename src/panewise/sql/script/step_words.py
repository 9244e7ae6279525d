"""Describes in words what the statements of a script become (semantics 46.47)."""

from panewise.spec.describe import describe
from panewise.sql.script.declarations import skew_of
from panewise.sql.script.statements import QueryView, SourceView
from panewise.sql.script.steps import (
    InsertStep,
    QueryStep,
    SettingStep,
    SinkStep,
    SourceStep,
    SparkStep,
    Step,
)
from panewise.sql.stages import (
    OURS,
    AssignedStage,
    CompiledQuery,
    JoinStage,
    RowsStage,
    Stage,
    TableStage,
    walk,
)
from panewise.sql.texts import one_line


def step_words(step: Step) -> list[str]:
    """Returns what a statement becomes, with empty texts for what does not apply."""
    match step:
        case SettingStep(statement, own, replaced):
            kind = (
                f"sets {statement.key.lower()} of the statements after it" if own else "is a setting of Spark"
            )
            return [kind, "the command makes it, so that this has no effect" if replaced else ""]
        case SourceStep(statement, streaming):
            return _source_words(statement, streaming=streaming)
        case SinkStep(statement):
            return _sink_words(step)
        case QueryStep(QueryView(name), compiled):
            return [f"names a query {name}", *query_words(compiled)]
        case InsertStep():
            return _insert_words(step)
        case QueryStep(_, compiled):
            return ["prints the rows of a query", *query_words(compiled)]
        case SparkStep():
            return ["is Spark's alone"]


def _source_words(statement: SourceView, *, streaming: bool) -> list[str]:
    kind = "a stream" if streaming else "a table"
    watermark = statement.watermark
    skew = skew_of(statement)
    bound = "" if skew is None else f", but for event times more than {skew} ahead"
    words = [] if watermark is None else [f"the watermark is {watermark[0]} minus {watermark[1]}{bound}"]
    return [f"reads {kind} from {statement.format} as {statement.name}", *words]


def _sink_words(step: SinkStep) -> list[str]:
    statement = step.statement
    where = statement.options.get("path")
    others = [f"its {output} rows are written to {table}" for output, table in step.outputs.items()]
    return [f"is a sink of {statement.format}{'' if where is None else f' at {where}'}", *others]


def _insert_words(step: InsertStep) -> list[str]:
    if not step.streaming:
        return [*query_words(step.compiled), "writes its rows, and ends"]
    trigger = step.trigger
    ends = "when all that is available has been read, it ends"
    return [
        *query_words(step.compiled),
        f"checkpoint {step.checkpoint}",
        f"a micro-batch every {trigger.processing_time}" if trigger.processing_time else "",
        ends if trigger.available_now else "runs until stopped",
        "the end of the stream is the end of the input" if step.at_end else "",
    ]


def query_words(compiled: CompiledQuery | None) -> list[str]:
    """Returns a description of each stage of a query, the first one first."""
    if compiled is None:
        return ["is a query of Spark's alone"]
    stages = [stage for stage in reversed([*walk(compiled.stage)]) if not isinstance(stage, TableStage)]
    return [line for stage in stages for line in _stage_words(stage).split("\n")]


def _stage_words(stage: Stage) -> str:
    match stage:
        case JoinStage():
            pairs = " and ".join(f"{left} = {right}" for left, right in stage.keys)
            names = " and ".join(stage.names)
            return f"a {stage.how} join of {names} on {pairs or 'no key'}: {stage.match}"
        case RowsStage():
            columns = "all columns" if stage.outputs is None else f"{len(stage.outputs)} columns"
            return f"a selection of {columns}" + (
                "" if stage.where is None else f" where {one_line(stage.where)}"
            )
        case AssignedStage():
            return "the bounds of the windows of each row"
        case _ if isinstance(stage, OURS):
            return describe(stage.spec)
        case _:
            return "a query of Spark's"
