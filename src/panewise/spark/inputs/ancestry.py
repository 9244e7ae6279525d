"""Finds the operators upstream of an operator, and checks that all of them work in one streaming query.

An operator that waits for the query's watermark cannot feed another operator. The watermark of a Spark query
is the least of its watermarks. That of the second operator's input waits for the panes of the first operator,
and these wait for the watermark of the query: nothing is ever emitted.

An operator with several inputs, such as a join, cannot feed one whose watermark follows event time. Its
inputs progress apart, so an emitted row may lie any length of time behind an earlier one.

An operator over a stream without a watermark cannot feed one that waits for the query's watermark either. Its
constant watermark (:mod:`panewise.spark.inputs.watermarks`) never moves.

Spark's own stateful operators may be upstream of an operator. They drop late rows, so these cannot reach it.
Some of them delay rows. A watermark made from delayed rows would be too high, so a side of a join that reads
them follows the watermark of the query (semantics 36.9).

An operator over the *result* of another one is not concerned: it follows the output watermark of the first
(:mod:`panewise.spark.builders.upstream_inputs`).

The pack of each operator has a label as its name in Spark's plan. So the operator is found upstream of any
select, join or union.
"""

import re
import warnings

from pyspark.sql import DataFrame

from panewise.chrono import Duration
from panewise.errors import DroppedLateRowsWarning, SetupError, UnguardedWatermarkWarning, explain
from panewise.spark.inputs.checks import watermarked
from panewise.spark.inputs.guarded_watermark import GUARDED
from panewise.spark.inputs.plan_text import PACK, PlanNode, delaying, nodes_of, plan_of, stateful
from panewise.spark.inputs.watermarks import makes_own
from panewise.spec import Entry, row_driven

_OF_QUERY = f"{PACK}_waits_for_the_watermark"
_CONSTANT = f"{PACK}_with_a_constant_watermark"
_OWN = PACK
_BATCH = f"{PACK}_batch"  # the static side of a join waits for no watermark
_SEVERAL = "_of_several_inputs"  # ends the label of the first input of an operator with several inputs
_FURTHER = "_further_input"  # ends the labels of its other inputs
_WATERMARK = "EventTimeWatermark"  # the node that `withWatermark` makes
_SELECTIONS = frozenset({"Project", "SubqueryAlias"})  # nodes that keep all rows


def label_of(df: DataFrame, spec: Entry, place: int = 0, inputs: int = 1, *, fed: bool = False) -> str:
    """Returns the label of the pack of an operator.

    Args:
        place: its place among the inputs of the operator. The label of the first one counts the operator.
        fed: whether the input is the result of another operator.
    """
    label = _OWN if fed else _label_of(df, spec)
    if inputs == 1 or not df.isStreaming:
        return label
    return label + (_FURTHER if place else _SEVERAL)


def _label_of(df: DataFrame, spec: Entry) -> str:
    if not df.isStreaming:
        return _BATCH
    if not makes_own(spec):
        return _OF_QUERY
    return _OWN if watermarked(df) else _CONSTANT


def check_ancestry(df: DataFrame, spec: Entry) -> None:
    """Checks that an operator and the operators upstream of it do not wait for each other."""
    plan = plan_of(df)
    if _SEVERAL in plan and (not makes_own(spec) or row_driven(spec.watermark) is not None):
        rule = (
            "the inputs of such an operator progress apart, so with any delay of a watermark rows may be late"
        )
        remedy = "give the result itself, as in windowed(result), or write the rows and read them again"
        raise SetupError("a stream that an operator with several inputs emits", rule, remedy)
    if _OF_QUERY in plan or (_CONSTANT in plan and not makes_own(spec)):
        rule = (
            "an operator waits for the query's watermark, which waits for the output of the "
            "operator before it: neither would ever emit"
        )
        remedy = (
            "add a stage with result.then(...), give the result itself, as in windowed(result), or write the "
            "panes and read them in a second query"
        )
        raise SetupError("a stream that another operator emits", rule, remedy)


def delayed(df: DataFrame) -> bool:
    """Returns whether one of Spark's own operators upstream of a stream delays rows."""
    return df.isStreaming and bool(delaying(plan_of(df)))


def warn_of_late_rows(df: DataFrame, without_effect: str) -> None:
    """Warns if late rows cannot reach an operator, because one of Spark's own operators drops them before.

    `without_effect` is what has no effect then.
    """
    before = stateful(plan_of(df)) if df.isStreaming else []
    if before:
        rule = (
            f"Spark's own {before[0]} before it drops rows that are behind the watermark of the query "
            "(semantics 12.11)"
        )
        remedy = "use an operator of panewise in its place, or this operator before it"
        warnings.warn(explain(without_effect, rule, remedy), DroppedLateRowsWarning, stacklevel=5)


def warn_of_unguarded_watermark(df: DataFrame, skew: Duration) -> None:
    """Warns if rows that are too far ahead move a watermark of a stream."""
    nodes = nodes_of(plan_of(df))
    if any(node.name == _WATERMARK and GUARDED not in node.rest for node in nodes):
        fault = f"max_future_skew={str(skew)!r} behind withWatermark"
        rule = "Spark's watermark is made from all rows, also from invalid ones (semantics 15.3)"
        remedy = "call panewise.spark.with_watermark(df, ..., max_future_skew=...) in place of withWatermark"
        warnings.warn(explain(fault, rule, remedy), UnguardedWatermarkWarning, stacklevel=5)


def needs_watermark_of_query(df: DataFrame) -> bool:
    """Returns whether an operator upstream of a stream waits for the watermark of the query."""
    return _OF_QUERY in plan_of(df)


def operators_upstream(df: DataFrame) -> int:
    """Returns the number of operators upstream of a stream."""
    plan, labels = plan_of(df), (_OF_QUERY, _CONSTANT, _OWN)
    return sum(plan.count(f"{label}{end}(") for label in labels for end in ("", _SEVERAL))


def metrics_upstream(df: DataFrame) -> set[str]:
    """Returns the names of the metrics of the operators upstream of a stream."""
    return set(re.findall(r"CollectMetrics ([^,]+),", plan_of(df)))


def has_watermark_of_rows(df: DataFrame) -> bool:
    """Returns whether a stream has one watermark, made from just these rows: only selections are after it."""
    nodes = nodes_of(plan_of(df))
    last = next((node for node in nodes if node.name not in _SELECTIONS), None)
    return last is not None and last.name == _WATERMARK and len(_watermarks(nodes)) == 1


def of_several_streams(df: DataFrame) -> bool:
    """Returns whether a stream is a union of streams with different watermarks, or one of which has none."""
    nodes = nodes_of(plan_of(df)) if df.isStreaming else []
    return len(_watermarks(nodes)) > 1 or (bool(_watermarks(nodes)) and _reads_without(nodes))


def _reads_without(nodes: list[PlanNode]) -> bool:
    """Returns whether a stream is read in a plan that is below no watermark of it."""
    depth = None  # that of the watermark whose children are the nodes
    for node in nodes:
        if depth is not None and node.depth <= depth:
            depth = None
        if node.name.startswith("StreamingRelation") and depth is None:
            return True
        if node.name == _WATERMARK and depth is None:
            depth = node.depth
    return False


def _watermarks(nodes: list[PlanNode]) -> set[str]:
    """Returns the ids of the watermarks of a plan. A stream that a plan uses twice has one."""
    return {node.rest.partition(",")[0] for node in nodes if node.name == _WATERMARK}
