"""Joins for the tests of the oracle, their rows, and what they emit."""

from collections.abc import Mapping
from typing import Any

from panewise.oracle.join.interpreter import JoinInterpreter
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.side import Side

Row = dict[str, Any]
TYPES = {
    "left": {"k": "double", "t": "bigint", "a": "string"},
    "right": {"k": "double", "u": "bigint", "b": "string"},
}
BETWEEN = Interval(-2, 5)
MAX = 2**63 - 1


def join(match: Any = BETWEEN, left: Any = None, right: Any = None, **fields: Any) -> JoinOperator:
    """Returns a join of two sides with the key k; `left` and `right` are changes of the sides."""
    sides = (
        {"keys": ["k"], "event_time": "t"} | (left or {}),
        {"keys": ["k"], "event_time": "u"} | (right or {}),
    )
    return JoinOperator(left=Side(**sides[0]), right=Side(**sides[1]), match=match, **fields)


def oracle(*args: Any, **fields: Any) -> JoinInterpreter:
    return JoinInterpreter(join(*args, **fields), TYPES)


def left(*times: int, k: Any = 1.0, **more: Any) -> list[Row]:
    return [{"k": k, "t": time, **more} for time in times]


def right(*times: int, k: Any = 1.0, **more: Any) -> list[Row]:
    return [{"k": k, "u": time, **more} for time in times]


def shown(output: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Returns op and the event times of both rows of each emitted row."""
    return [(pane["op"], pane["t"], pane.get("u")) for pane in output["panes"]]
