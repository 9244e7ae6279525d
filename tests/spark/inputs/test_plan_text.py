"""Tests that Spark's stateful operators are found in the text of a plan (semantics 12.11, 36.9)."""

import pytest

from panewise.spark.inputs.plan_text import delaying, nodes_of, stateful

SOURCE = "~EventTimeWatermark 1, ts#0: timestamp, 1 seconds\n{0}+- ~StreamingRelationV2 rate, [ts#0]"


def over(*nodes: str) -> str:
    """Returns the plan of nodes, one above the other, over a stream."""
    lines = [f"{'   ' * n}{'+- ' if n else ''}{node}" for n, node in enumerate(nodes)]
    indent = "   " * len(nodes)
    return "\n".join([*lines, f"{indent[3:]}+- {SOURCE.format(indent)}"])


def of_two(node: str, right: str) -> str:
    """Returns the plan of a node over a stream and another input."""
    return f"{node}\n:- {SOURCE.format(':  ')}\n+- {right}"


@pytest.mark.parametrize(
    ("plan", "found", "delays"),
    [
        (over("~Aggregate [k#1], [k#1]"), ["Aggregate"], True),
        (over("~Project [k#1]", "~Filter (k#1 > 1)"), [], False),
        (over("~Deduplicate [k#1]"), ["Deduplicate"], False),
        (over("~DeduplicateWithinWatermark [k#1]"), ["DeduplicateWithinWatermark"], False),
        (over("~FlatMapGroupsInPandasWithState f(k#1)"), ["FlatMapGroupsInPandasWithState"], True),
        (
            over("~TransformWithStateInPySpark f(k#1)", "~Project [k#1]"),
            ["TransformWithStateInPySpark"],
            True,
        ),
        (of_two("~Join LeftOuter, (k#1 = k#2)", SOURCE.format("   ")), ["Join"], True),
        (of_two("~Join Inner, (k#1 = k#2)", "Range (0, 10)"), [], False),
        (of_two("~Join Inner, (k#1 = k#2)", "Aggregate [k#2], [k#2]"), [], False),
        ("Aggregate [k#1], [k#1]\n+- Relation [k#1] parquet", [], False),
    ],
)
def test_operators_of_spark(plan: str, found: list[str], delays: bool) -> None:
    assert stateful(plan) == found
    assert bool(delaying(plan)) is delays


@pytest.mark.parametrize("between", [["~Project [k#1]"], ["~Project [k#1]", "~Union false, false"]])
def test_operators_of_panewise_are_no_operators_of_spark(between: list[str]) -> None:
    ours = over(
        "~TransformWithStateInPySpark f(k#1)", *between, "~MapInArrow panewise_of_several_inputs(k#1)"
    )
    assert stateful(ours) == delaying(ours) == []
    theirs = over("~TransformWithStateInPySpark f(k#1)", *between, "~MapInArrow mine(k#1)")
    assert delaying(theirs) == ["TransformWithStateInPySpark"]


def test_depths() -> None:
    plan = of_two("~Join Inner", "~Project [a]\n   +- Range (0, 1)")
    assert [(node.depth, node.name) for node in nodes_of(plan)] == [
        (0, "Join"),
        (1, "EventTimeWatermark"),
        (2, "StreamingRelationV2"),
        (1, "Project"),
        (2, "Range"),
    ]
