"""Conditions over pairs of rows, one row of each side of a join (semantics 38).

>>> from panewise.spec.conditions import left, right, sql_text, as_condition
>>> sql_text(as_condition((left("amount") > right("limit")) & ~right("c").is_null()))
'left.amount > right.limit AND right.c IS NOT NULL'
"""

from panewise.spec.conditions.literals import Literal
from panewise.spec.conditions.nodes import (
    SIDES,
    And,
    Arithmetic,
    Between,
    Column,
    Comparison,
    In,
    IsNull,
    Node,
    Not,
    Or,
    SideName,
    columns_of_side,
)
from panewise.spec.conditions.operand_types import check_condition
from panewise.spec.conditions.terms import Term, as_condition, left, right
from panewise.spec.conditions.text import sql_text
