"""ORDER BY of a Top-N as the order of a ranking."""

from typing import Final

from sqlglot import exp

from panewise import functions as F
from panewise.spec.aggregates.order_columns import OrderColumn
from panewise.sql.input_columns import InputColumns
from panewise.sql.parsing.syntax import Expr

ALL_ROWS: Final = 2**31 - 1  # the longest list that Spark has


def order_of(described: exp.Expr, columns: InputColumns, window: exp.Expr) -> list[OrderColumn]:
    """Returns the columns of an order, with nulls where the query has them.

    Args:
        described: what has ORDER BY: the call, or the window that it names.
        columns: the columns that the operator reads, to which those of the order are added.
        window: the call, for errors.

    Raises:
        SqlError: if there is no order.
    """
    order, parser = described.args.get("order"), columns.parser
    if order is None:
        rule = "ROW_NUMBER numbers rows in an order"
        raise parser.fail("ROW_NUMBER", rule, "add ORDER BY", parser.span_of(window))
    by: list[OrderColumn] = []
    for ordered in order.expressions:
        span, descends = parser.span_of(ordered.this), bool(ordered.args.get("desc"))
        if bool(ordered.args.get("nulls_first")) == descends:  # not where Spark has nulls by default
            null = columns.add(f"CASE WHEN ({parser.characters(span)}) IS NULL THEN 1 ELSE 0 END")
            by.append(F.desc(null) if descends else F.asc(null))
        name = columns.name_of(Expr(ordered.this, span))
        if name in {known.column for known in by}:
            rule = "a column orders rows once; a second time it has no effect"
            raise parser.fail(f"ORDER BY {name} twice", rule, "leave it out the second time", span)
        by.append(F.desc(name) if descends else F.asc(name))
    return by
