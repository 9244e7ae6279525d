"""Tables with WATERMARK and window functions in the queries of expressions (semantics 46.29)."""

from panewise.sql.parsing.parser import QueryParser


def check_embedded(parser: QueryParser) -> None:
    """Refuses tables of ours in expressions that no join reads.

    Raises:
        SqlError: at the first such table.
    """
    for table in parser.embedded.values():
        rule = (
            "a query in an expression is Spark's, which has no window functions and no WATERMARK; only EXISTS"
        )
        rule += " and IN in WHERE are joins, if they compare window_start and window_end, or event times"
        remedy = "compare these, or write a join in FROM"
        raise parser.fail(parser.characters(table.span), rule, remedy, table.span)
