"""ORDER BY, LIMIT and OFFSET behind a query over whole inputs (semantics 46.172)."""

from dataclasses import replace

from sqlglot import exp

from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.column_syntax import columns_read, plain_column
from panewise.sql.expressions.function_calls import constant
from panewise.sql.expressions.spark_names import spark_name
from panewise.sql.over.frames import order_terms
from panewise.sql.parsing.parser import QueryParser, parse_expression
from panewise.sql.parsing.syntax import Derived, NamedTable, Query, Select, TextSpan
from panewise.sql.sources import last_name
from panewise.sql.stages import Ordering, QueryStage, RowsStage, TailStage
from panewise.sql.text.pieces import normal, one_line


def with_tail(stage: QueryStage, query: Query, parser: QueryParser) -> QueryStage:
    """Returns a query with ORDER BY, LIMIT and OFFSET.

    Raises:
        SqlError: for other clauses, and for numbers that are no constants.
    """
    ordering: tuple[Ordering, ...] = ()
    numbers: dict[str, int | None] = {}
    for word, span in query.tail:
        if word == "ORDER BY":
            ordering = _ordering(query, span, parser)
        elif word in ("LIMIT", "OFFSET"):
            numbers[word] = _number(word, span, parser)
        else:
            rule = "in process rows are sorted by ORDER BY, and counted by LIMIT and OFFSET"
            raise parser.fail(word, rule, "write one of these", span)
    alias = _alias(query)
    below = _below(stage, query, ordering, parser)
    if below is not None:
        assert isinstance(stage, RowsStage), "a SELECT list over rows"
        stage, ordering = replace(stage, input=TailStage(stage.input, alias, below, None, 0)), ()
    return TailStage(stage, alias, ordering, numbers.get("LIMIT"), numbers.get("OFFSET") or 0)


def _alias(query: Query) -> str | None:
    """Returns the name by which expressions call the rows of a query."""
    source = query.body.source if isinstance(query.body, Select) else None
    alias = source.alias if isinstance(source, (NamedTable, Derived)) else None
    return last_name(source.name) if alias is None and isinstance(source, NamedTable) else alias


def _below(
    stage: QueryStage, query: Query, ordering: tuple[Ordering, ...], parser: QueryParser
) -> tuple[Ordering, ...] | None:
    """Returns an order of the rows before the SELECT list, None if it only reads selected columns."""
    body = query.body
    if not (isinstance(stage, RowsStage) and isinstance(body, Select)) or stage.outputs is None:
        return None
    if any(item.is_star for item in body.items):
        return None
    selected = {name.lower() for name in _named_columns(query, parser).values()}
    read = {names[-1].lower() for term in ordering if term.place is None for names in columns_read(term.text)}
    if read <= selected:
        return None
    texts = {(item.name or "").lower(): parser.characters(item.expr.span) for item in body.items}
    listed = [parser.characters(item.expr.span) for item in body.items]
    return tuple(
        replace(term, text=listed[term.place - 1], place=None)
        if term.place is not None and 1 <= term.place <= len(listed)
        else replace(term, text=texts.get(plain_column(term.text), term.text))
        for term in ordering
    )


def _ordering(query: Query, span: TextSpan, parser: QueryParser) -> tuple[Ordering, ...]:
    """Returns the terms of ORDER BY. An expression of the SELECT list is its column."""
    expr, own = parse_expression(f"f() OVER ({parser.characters(span)})")
    names = _named_columns(query, parser)
    terms: list[Ordering] = []
    for term in order_terms(expr.node):
        text = own.characters_of(term.this)
        place = constant(term.this)
        listed = in_backticks(names[normal(text)]) if normal(text) in names else text
        descends = bool(term.args.get("desc"))
        last = not term.args.get("nulls_first", True)
        number = place[0] if place is not None and type(place[0]) is int else None
        terms.append(Ordering(listed, one_line(text), descends, last, number))
    return tuple(terms)


def _named_columns(query: Query, parser: QueryParser) -> dict[str, str]:
    """Returns the names of the columns of the SELECT list by the normal texts of their expressions."""
    names: dict[str, str] = {}
    for item in query.body.items if isinstance(query.body, Select) else ():
        text = parser.characters(item.expr.span)
        if not isinstance(item.expr.node, exp.Star) and not item.is_star:
            names.setdefault(normal(text), item.name or spark_name(text) or one_line(text))
    return names


def _number(word: str, span: TextSpan, parser: QueryParser) -> int | None:
    """Returns the number of rows of LIMIT or OFFSET, None for LIMIT ALL."""
    text = parser.characters(span)
    value = text[len(word) :].strip() if text.upper().startswith(word) else text.strip()
    if value.upper() == "ALL" and word == "LIMIT":
        return None
    if not (value.isascii() and value.isdigit()):
        rule = "in process LIMIT and OFFSET have constant numbers of rows"
        raise parser.fail(text, rule, "write LIMIT 10", span)
    return int(value)
