"""Conditions as dicts: what is written is read back, and what is unknown is refused with its path."""

import inspect
import json
import sys
from typing import Any

import pytest
from hypothesis import given

from panewise.errors import SpecError
from panewise.spec.codec.documents import value_of_document, write
from panewise.spec.conditions import Literal, Node, as_condition, left, right, sql_text
from tests.conditions import conditions
from tests.engine.effort import examples


def condition_from(document: Any) -> Any:
    """Returns the condition that a dict describes, as a join reads it."""
    return value_of_document(Node, document, where="condition")


A = {"kind": "column", "side": "left", "name": "a"}
ONE = {"kind": "literal", "type": "bigint", "value": 1}


@examples(300)
@given(condition=conditions())
def test_round_trips(condition: Node) -> None:
    text = json.dumps(write(condition), allow_nan=False)
    again = condition_from(json.loads(text))
    assert again == condition
    assert hash(again) == hash(condition)
    assert sql_text(again) == sql_text(condition)
    assert json.dumps(write(again)) == text


def test_every_kind_of_node() -> None:
    term = (
        (left("a") + 1 <= right("b"))
        & ~(right("c").is_null() | left("d").between(0.5, 2))
        & left("e").isin("x")
    )
    assert write(as_condition(term)) == {
        "kind": "and",
        "parts": [
            {
                "kind": "comparison",
                "op": "<=",
                "first": {"kind": "arithmetic", "op": "+", "first": A, "second": ONE},
                "second": {"kind": "column", "side": "right", "name": "b"},
            },
            {
                "kind": "not",
                "part": {
                    "kind": "or",
                    "parts": [
                        {"kind": "is_null", "value": {"kind": "column", "side": "right", "name": "c"}},
                        {
                            "kind": "between",
                            "value": {"kind": "column", "side": "left", "name": "d"},
                            "low": {"kind": "literal", "type": "double", "value": 0.5},
                            "high": {"kind": "literal", "type": "bigint", "value": 2},
                        },
                    ],
                },
            },
            {
                "kind": "in",
                "value": {"kind": "column", "side": "left", "name": "e"},
                "options": [{"kind": "literal", "type": "string", "value": "x"}],
            },
        ],
    }


def test_a_whole_double_of_other_writers() -> None:
    value = condition_from({"kind": "literal", "type": "double", "value": 1})
    assert value == Literal("double", 1.0)
    assert isinstance(value, Literal)
    assert isinstance(value.value, float)


def nested(depth: int) -> dict[str, Any]:
    return A if depth == 1 else {"kind": "not", "part": nested(depth - 1)}


KINDS = (
    "the known kinds are ['and', 'arithmetic', 'between', 'column', "
    "'comparison', 'in', 'is_null', 'literal', "
    "'not', 'or'] | give {'kind': ...} with one of these"
)
TYPES = "the types are bigint, boolean, date, decimal(p,s), double, string, timestamp"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (7, f"condition=7 | {KINDS}"),
        ({"kind": "xor"}, f"condition.kind='xor' | {KINDS}"),
        ({"kind": "not", "part": {"kind": "udf"}}, f"condition.part.kind='udf' | {KINDS}"),
        ({"kind": "not"}, "condition.part is missing | part has no default | give condition.part"),
        (
            {"kind": "and", "parts": [A, {"kind": "is_null", "value": A, "not": True}]},
            "condition.parts[1].not=True | the known fields are ['kind', 'value'] | leave 'not' out",
        ),
        (
            {"kind": "or", "parts": [A]},
            (
                f"condition.parts=[{A!r}] | condition.parts is a list of 2 or more nodes of a condition | "
                "give a list of 2 or more nodes of a condition"
            ),
        ),
        (
            {"kind": "in", "value": A, "options": []},
            (
                "condition.options=[] | condition.options is a list of 1 or more nodes of a condition | "
                "give a list of 1 or more nodes of a condition"
            ),
        ),
        (
            {"kind": "comparison", "op": "==", "first": A, "second": ONE},
            (
                "condition.op='==' | condition.op is one of =, !=, <, <=, >, >=, <=> | "
                "give one of =, !=, <, <=, >, >=, <=>"
            ),
        ),
        (
            {"kind": "arithmetic", "op": ["+"], "first": A, "second": ONE},
            "condition.op=['+'] | condition.op is one of +, -, * | give one of +, -, *",
        ),
        (
            {"kind": "column", "side": "both", "name": "a"},
            "condition.side='both' | condition.side is one of left, right | give one of left, right",
        ),
        (
            {"kind": "column", "side": "left", "name": ""},
            "condition.name='' | condition.name is the name of a column | give the name of a column",
        ),
        *(
            (
                {"kind": "literal", "type": kind, "value": value},
                (
                    f"condition.value={value!r} | condition.value is a value of type {kind!r}; {TYPES} | "
                    f"give a value of type {kind!r}; {TYPES}"
                ),
            )
            for kind, value in (
                ("bigint", True),
                ("bigint", 2**63),
                ("bigint", 1.0),
                ("timestamp", "2024-01-01"),
                ("boolean", 1),
                ("double", "inf"),
                ("double", False),
                ("string", None),
                ("string", "\udfff"),
                ("date", "2024-02-30"),
                ("date", "20240229"),
                ("decimal(3,2)", "1.5"),
                ("decimal(3,2)", 1.5),
                ("decimal(3,2)", "1_1.50"),
                ("decimal(39,0)", "9" * 39),
                ("int", 1),
                (None, 1),
            )
        ),
        (
            nested(101),
            (
                f"{'condition' + '.part' * 100:.60}... is deeper | a condition is nested up to 100 deep | "
                "compute parts of it as columns before the join"
            ),
        ),
    ],
)
def test_what_is_refused(document: Any, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        condition_from(document)
    assert caught.value.args[0] == message


def test_the_deepest_condition_is_read() -> None:
    assert as_condition(condition_from(nested(100)))


@pytest.mark.parametrize(("kind", "frames"), [("not", 2), ("and", 3)])
def test_a_nested_condition_needs_few_frames_of_the_stack(kind: str, frames: int) -> None:
    document: dict[str, Any] = {"kind": "is_null", "value": A}
    for _ in range(90):
        document = {
            "kind": kind,
            **({"part": document} if kind == "not" else {"parts": [document, document]}),
        }
        if kind == "and":
            document["parts"][0] = {"kind": "is_null", "value": A}
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + frames * 90 + 20)
    try:
        assert condition_from(document)
    finally:
        sys.setrecursionlimit(limit)
