"""The strategies of conditions generate every class of edge cases, counted over a fixed sample."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from panewise.errors import InputError
from panewise.oracle.conditions import matches
from panewise.spec.conditions import Column, Comparison, In, Literal, Node, Not
from panewise.spec.conditions.nodes import ARITHMETIC, COMPARISONS, walk
from tests.conditions import COLUMNS, conditions, pairs

Row = dict[str, Any]


def classes(condition: Node, left: Row, right: Row) -> set[str]:
    """Returns the classes of edge cases that a condition and a pair of rows reach."""
    found = {type(node).__name__ for node in walk(condition)}
    found |= {f"op {node.op}" for node in walk(condition) if hasattr(node, "op")}
    found |= {f"side {one.side}" for one in columns(condition)}
    found |= {f"literal {one.type.split('(')[0]}" for one in walk(condition) if isinstance(one, Literal)}
    found |= {f"column {COLUMNS[one.name]}" for one in columns(condition)}
    found |= {
        f"value {edge}"
        for edge in edges((left if one.side == "left" else right)[one.name] for one in columns(condition))
    }
    return found | outcome(condition, left, right) | mixtures(condition)


def columns(condition: Node) -> list[Column]:
    return [node for node in walk(condition) if isinstance(node, Column)]


def edges(values: Iterable[Any]) -> set[str]:
    found = set()
    for value in values:
        found |= {"null"} if value is None else set()
        if isinstance(value, float):
            found |= {"NaN"} if math.isnan(value) else {"infinity"} if math.isinf(value) else set()
            found |= {"negative zero"} if value == 0 and math.copysign(1, value) < 0 else set()
        found |= {"end of 64 bits"} if type(value) is int and value in (2**63 - 1, -(2**63)) else set()
    return found


def outcome(condition: Node, left: Row, right: Row) -> set[str]:
    try:
        if matches(condition, left, right):
            return {"true"}
        return {"false"} if matches(Not(condition), left, right) else {"null"}
    except InputError:
        return {"overflow"}


def mixtures(condition: Node) -> set[str]:
    """Returns which types of columns are compared directly, and whether a list has only literals."""
    found = set()
    for node in walk(condition):
        if (
            isinstance(node, Comparison)
            and isinstance(node.first, Column)
            and isinstance(node.second, Column)
        ):
            found.add(" and ".join(sorted(COLUMNS[one.name] for one in (node.first, node.second))))
        if isinstance(node, In):
            found.add("in literals" if all(isinstance(one, Literal) for one in node.options) else "in values")
    return found


FLOORS = {
    **dict.fromkeys(("And", "Or", "Not", "IsNull", "Between", "In", "Comparison", "Arithmetic"), 100),
    **{f"op {op}": 40 for op in (*COMPARISONS, *ARITHMETIC)},
    **dict.fromkeys(("side left", "side right", "true", "false"), 100),
    **dict.fromkeys(("null", "overflow"), 25),
    **{f"literal {kind.split('(')[0]}": 30 for kind in set(COLUMNS.values()) - {"int"}},
    **{f"column {kind}": 50 for kind in COLUMNS.values()},
    **{f"value {edge}": 3 for edge in ("null", "NaN", "infinity", "negative zero", "end of 64 bits")},
    **dict.fromkeys(("in literals", "in values"), 50),
    **dict.fromkeys(
        (
            "bigint and double",
            "bigint and decimal(38,37)",
            "bigint and decimal(10,2)",
            "decimal(38,0) and decimal(38,37)",
            "decimal(10,2) and decimal(38,37)",
            "decimal(10,2) and double",
            "double and double",
            "timestamp and timestamp",
            "string and string",
            "boolean and boolean",
            "date and date",
        ),
        3,
    ),
}


@pytest.mark.nightly
def test_every_class_is_reached() -> None:
    counts: Counter[str] = Counter()

    @seed(1)
    @settings(max_examples=1500, database=None, deadline=None)
    @given(data=st.data())
    def draw(data: st.DataObject) -> None:
        condition = data.draw(conditions())
        counts.update(classes(condition, *data.draw(pairs(condition))))

    draw()
    assert {name: counts[name] for name, floor in FLOORS.items() if counts[name] < floor} == {}
