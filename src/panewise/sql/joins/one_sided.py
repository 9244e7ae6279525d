"""Parts of ON over one side, in an as-of join whose pairs have no other condition (semantics 46.128)."""

from sqlglot import exp

from panewise.errors import SqlError
from panewise.sql.joins.comparisons import Conditions
from panewise.sql.joins.side_columns import SideColumns
from panewise.sql.parsing.syntax import Expr
from panewise.sql.stage_columns import over_rows
from panewise.sql.stages import QueryStage, Referring
from panewise.sql.windows.compiler import all_of


class OneSidedConditions:
    """Takes the parts over one side from the conditions of an as-of join without a tolerance.

    A part over the right side selects rows of it before the join. So rows that cannot be a partner are not
    stored, and the join needs no condition, with which all rows would have to be. A part over the left side
    selects rows of an inner join.

    Args:
        columns: the columns of the sides.
        conditions: the parts of ON, from which those over one side are taken.
        applies: whether the join is such a one. Otherwise nothing is taken.
    """

    def __init__(self, columns: SideColumns, conditions: Conditions, *, applies: bool) -> None:
        self.columns, self.taken = columns, dict[str, list[exp.Expr]](left=[], right=[])
        for node in conditions.rest if applies else ():
            side = columns.side_of_all(node)
            if side is not None:
                self.taken[side].append(node)
        taken = {id(node) for nodes in self.taken.values() for node in nodes}
        conditions.rest[:] = [node for node in conditions.rest if id(node) not in taken]

    def of_right(self, stage: QueryStage) -> QueryStage:
        """Returns the rows of the right side that satisfy the parts over it."""
        parser = self.columns.parser
        texts = [parser.characters(parser.span_of(node)) for node in self.taken["right"]]
        return over_rows(stage, self.columns.sides[1].name, all_of(texts), None) if texts else stage

    def of_left(self, how: str) -> list[Referring]:
        """Returns the parts over the left side, as conditions on the rows of an inner join.

        Raises:
            SqlError: in a join of another type, which keeps or counts the left rows without a partner.
        """
        for node in self.taken["left"] if how != "inner" else ():
            raise self._refused(node)
        parser = self.columns.parser
        return [self.columns.referring(Expr(node, parser.span_of(node)), None) for node in self.taken["left"]]

    def _refused(self, node: exp.Expr) -> SqlError:
        parser, span = self.columns.parser, self.columns.parser.span_of(node)
        rule = "in ON of an ASOF JOIN that keeps rows without a partner, no part selects left rows"
        remedy = (
            "say how far the times may be apart, or compare it in SELECT, as in CASE WHEN ... THEN b.w END"
        )
        return parser.fail(parser.characters(span), rule, remedy, span)
