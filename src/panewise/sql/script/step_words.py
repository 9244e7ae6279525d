"""Describes in words what the statements of a script become (semantics 46.47)."""

from panewise.sql.script.declarations import skew_of
from panewise.sql.script.query_words import query_words
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
    trigger, late = step.trigger, any("late" in output for output in step.outputs)
    ends = "when all that is available has been read, it ends"
    return [
        *query_words(step.compiled, late=late),
        f"checkpoint {step.checkpoint}",
        ""
        if step.initial_state is None
        else f"a new checkpoint begins with the state of {step.initial_state}",
        f"a micro-batch every {trigger.processing_time}" if trigger.processing_time else "",
        ends if trigger.available_now else "runs until stopped",
        "the end of the stream is the end of the input" if step.at_end else "",
    ]
