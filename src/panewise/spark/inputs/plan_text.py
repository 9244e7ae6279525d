"""Spark's analyzed plan of a DataFrame as text, and the stateful operators of Spark in it.

The text is all that Spark Connect shows of a plan. In it ``~`` marks the nodes that are streams.
"""

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame

PACK = "panewise"  # begins the name of the function of each pack in plans
_PLAN: Final = "_panewise_plan"  # the attribute of a DataFrame that has its plan
_LINE = re.compile(r"(?P<indent>(?:[ :] {2})*(?:[:+]- )?)(?P<stream>~?)(?P<name>\w+)(?P<rest>.*)")
# These emit a row long after the rows that it is made from, so that newer rows may be emitted before it.
_DELAYING = frozenset({"Aggregate", "Join"})
_DELAYING_STARTS = ("TransformWithState", "FlatMapGroupsWithState", "FlatMapGroupsInPandasWithState")
_STATEFUL = _DELAYING | {"Deduplicate", "DeduplicateWithinWatermark"}
_FILES = re.compile(r" FileSource\[(.*?)\], \[")
_TRANSPARENT = frozenset({"Filter", "Project", "Union", "SerializeFromObject", "AppendColumns"})


@dataclass(frozen=True)
class PlanNode:
    """A node of a plan.

    Attributes:
        name: what kind of node it is, such as "Aggregate".
        rest: the text after the name.
    """

    depth: int
    name: str
    rest: str
    streaming: bool


def plan_of(df: DataFrame) -> str:
    """Returns the analyzed plan of a DataFrame as text, which is read once."""
    attributes: dict[str, Any] = df.__dict__
    plan: str | None = attributes.get(_PLAN)
    if plan is None:
        plan = attributes[_PLAN] = _plan_of(df)
    return plan


def _plan_of(df: DataFrame) -> str:
    """Returns the plan as text. With Connect it is a section of what PySpark's `explain` prints."""
    classic = getattr(df, "_jdf", None)
    if classic is not None:
        return str(classic.queryExecution().analyzed().toString())
    with redirect_stdout(io.StringIO()) as text:
        df.explain(mode="extended")
    return (
        text.getvalue()
        .partition("== Analyzed Logical Plan ==")[2]
        .partition("== Optimized Logical Plan ==")[0]
    )


def nodes_of(plan: str) -> list[PlanNode]:
    r"""Returns the nodes of a plan in the order of its text: each before its children.

    >>> [(n.depth, n.name, n.streaming) for n in nodes_of("~Join Inner\n:- ~Project [a]\n+- Range (0, 1)")]
    [(0, 'Join', True), (1, 'Project', True), (1, 'Range', False)]
    """
    matches = (_LINE.fullmatch(line) for line in plan.splitlines())
    return [
        PlanNode(len(match["indent"]) // 3, match["name"], match["rest"], match["stream"] == "~")
        for match in matches
        if match
    ]


def sources(plan: str) -> set[str]:
    r"""Returns the sources of a plan, each once: their text has the numbers of their columns.

    >>> sorted(sources("~Union\n:- ~StreamingRelation a#1\n+- ~StreamingRelation b#2"))
    [' a#1', ' b#2']
    """
    return {node.rest for node in nodes_of(plan) if node.name.startswith("StreamingRelation")}


def file_sources(plan: str) -> list[str]:
    r"""Returns the paths of the sources of files of a plan.

    >>> file_sources("~StreamingRelation FileSource[/data/in], [a#1, b#2], name=<Unassigned>")
    ['/data/in']
    """
    return [match[1] for match in map(_FILES.match, sorted(sources(plan))) if match]


def stateful(plan: str) -> list[str]:
    r"""Returns the names of Spark's own stateful operators in a plan; all of them drop late rows.

    >>> stateful("~Project [a]\n+- ~Deduplicate [a]\n   +- ~StreamingRelationV2 rate")
    ['Deduplicate']
    """
    return [node.name for node in _of_spark(plan) if node.name in _STATEFUL or _transforms(node)]


def delaying(plan: str) -> list[str]:
    r"""Returns the names of those of Spark's stateful operators in a plan that can delay rows.

    A join of a stream with a batch DataFrame has no state. Operators of panewise are not counted.

    >>> delaying("~Join Inner\n:- ~StreamingRelationV2 rate\n+- Range (0, 1)")
    []
    >>> delaying("~Join Inner\n:- ~StreamingRelationV2 rate\n+- ~StreamingRelationV2 rate")
    ['Join']
    >>> delaying("~TransformWithStateInPySpark\n+- ~Filter zip_with(rand(1))\n   +- ~MapInArrow panewise(a)")
    []
    """
    return [node.name for node in _of_spark(plan) if node.name in _DELAYING or _transforms(node)]


def _transforms(node: PlanNode) -> bool:
    return node.name.startswith(_DELAYING_STARTS)


def _of_spark(plan: str) -> Iterator[PlanNode]:
    """Yields the streaming nodes that may be stateful operators of Spark."""
    nodes = nodes_of(plan)
    for place, node in enumerate(nodes):
        below = list(_below(nodes, place))
        children = [node_below for node_below in below if node_below.depth == node.depth + 1]
        one_sided = node.name == "Join" and not all(child.streaming for child in children)
        ours = _transforms(node) and _is_packed(below)
        if node.streaming and not one_sided and not ours:
            yield node


def _below(nodes: list[PlanNode], place: int) -> Iterator[PlanNode]:
    """Yields the nodes of the plan below one of them."""
    for node in nodes[place + 1 :]:
        if node.depth <= nodes[place].depth:
            return
        yield node


def _is_packed(below: list[PlanNode]) -> bool:
    """Returns whether the input of a node comes from the pack of an operator of panewise."""
    first = next((node for node in below if node.name not in _TRANSPARENT), None)
    return first is not None and first.name == "MapInArrow" and first.rest.startswith(f" {PACK}")
