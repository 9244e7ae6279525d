"""The SELECT list of the query that numbers the rows of a Top-N: the stored row, and the order of columns.

A row is stored as a struct. The number and the bounds of a table's windows are no part of it, because a pane
has them. So the order of all columns stands beside the struct, with counts of its fields in their places.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from panewise.errors import SqlError
from panewise.spec.conditions.text import in_backticks
from panewise.sql.event_times import JOIN_TIME, TIMESTAMP
from panewise.sql.expressions.column_syntax import star_of
from panewise.sql.expressions.function_calls import column_name, windows_in
from panewise.sql.first_rows.pattern import Pattern, is_row_number, same_text
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import SelectItem
from panewise.sql.stage_columns import names_of_outputs
from panewise.sql.stages import OutputColumn, Place, QueryStage, Ranked, Ties


@dataclass(frozen=True)
class Listed:
    """A part of the SELECT list: fields of the stored row, a bound of the window, or the number.

    Attributes:
        place: "field", "other" for a bound, or "rank".
        name: the name, None for fields that the text does not name one by one.
        text: the expression: of a field over the rows, of a bound over the panes. Empty for fields that
            belong to the `*` before them.
        original: the expression as it is written.
    """

    place: str
    name: str | None
    text: str
    original: str = ""


class RowList:
    """The SELECT list of the inner query.

    Args:
        parser: the parser.
        pattern: the Top-N.
        aliases: the names by which expressions call the rows.
        ends: the texts of the bounds that are no columns of the rows, by the names that the query has for
            them.
        star: the columns that `*` stands for, in their order: bounds, other names, and None for columns
            without a known name.
        panes: the stage whose rows the panes of another operator are, None for other rows.
    """

    def __init__(
        self,
        parser: QueryParser,
        pattern: Pattern,
        aliases: frozenset[str],
        ends: Mapping[str, str],
        star: tuple[str | None, ...],
        panes: QueryStage | None,
    ) -> None:
        self.parser, self.pattern, self.aliases = parser, pattern, aliases
        self.ends, self.star, self.panes = ends, star, panes
        self.listed = tuple(part for item in pattern.inner.items for part in self._parts(item))
        check_distinct((part.name for part in self.listed), pattern, parser)
        if pattern.hidden:
            self.listed += (Listed("rank", pattern.rank, ""),)

    @property
    def fields(self) -> tuple[OutputColumn, ...]:
        """The fields of the stored row. A `*` stands for several."""
        parts = [part for part in self.listed if part.place == "field" and part.text]
        named = (None if star_of(part.text) is not None else part.name for part in parts)
        return tuple(
            OutputColumn(part.text, name, part.original) for part, name in zip(parts, named, strict=True)
        )

    @property
    def bounds(self) -> tuple[tuple[str, str], ...]:
        """The bounds of the window: their names, and their texts over panes."""
        return tuple((part.name or "", part.text) for part in self.listed if part.place == "other")

    @property
    def order(self) -> tuple[Place, ...]:
        """The order of the columns, empty if the fields come first, then the bounds, then the number.

        Raises:
            SqlError: if the number or a bound stands between columns whose number only the tables show.
        """
        order = list[Place]()
        for is_field, run in groupby(self.listed, lambda part: part.place == "field"):
            parts = list(run)
            if is_field:
                order.append(None if any(part.name is None for part in parts) else len(parts))
            else:
                order += [part.place for part in parts]  # type: ignore[misc]
        fields = [place for place in order if not isinstance(place, str)]
        if fields.count(None) > 1:
            rule = "only the tables show how many columns stand before and behind the number of a Top-N"
            span = self.pattern.inner.items[0].span
            raise self.parser.fail("several `*` around it", rule, "name the columns", span)
        usual = [*fields, *("other" for _ in self.bounds), *("rank" for place in order if place == "rank")]
        return () if order == usual and len(fields) == 1 else tuple(order)

    def ranked(self, rows: str, ties: Ties | None, *, retracts: bool) -> Ranked:
        """Returns how a pane, whose column `rows` has the stored rows, becomes rows."""
        order, fields = self.order, self.fields
        return Ranked((rows,), self.pattern.rank, self.bounds, retracts, ties, order, fields, of_structs=True)

    def _parts(self, item: SelectItem) -> Iterator[Listed]:
        node, text = item.expr.node, self.parser.characters(item.expr.span)
        name = column_name(node, self.aliases)
        if windows_in(node):
            rank = number_of(item, self.pattern, self.parser)
            yield from () if rank is None else (Listed("rank", rank, ""),)
        elif item.is_star and self.panes is not None:
            yield from self._all_columns(self.panes, item, text)
        elif item.is_star:
            yield from self._star(text)
        elif (name or "").lower() in self.ends:
            yield Listed("other", item.alias or name, self.ends[(name or "").lower()])
        elif item.alias is None and name is None:
            raise nameless(item, self.parser)
        else:
            yield Listed("field", item.alias or name, text, text)

    def _all_columns(self, panes: QueryStage, item: SelectItem, text: str) -> Iterator[Listed]:
        """Yields the columns of panes, without their event time, which the query does not have."""
        names, star = names_of_outputs(panes), star_of(text)
        if names is None or star is None:
            rule = "a Top-N over selected panes names its columns"
            raise self.parser.fail(self.parser.characters(item.span), rule, "name the columns", item.span)
        for name in names:
            if name not in (TIMESTAMP, JOIN_TIME) and name.lower() not in star.without:
                yield Listed("field", name, in_backticks(name), name)

    def _star(self, text: str) -> Iterator[Listed]:
        """Yields the columns of the rows, in which the bounds have their places."""
        star = star_of(text)
        without = frozenset[str]() if star is None else star.without
        # The rows that are stored do not have the bounds, so a `*` over these rows cannot leave them out.
        field_text = _without(text, without - self.ends.keys()) if without & self.ends.keys() else text
        for name in self.star:
            if name is None or name.lower() not in self.ends:
                if name is None or name.lower() not in without:
                    yield Listed("field", name, field_text, text)
                    field_text = ""  # the others belong to the same `*`
            elif name.lower() not in without:
                yield Listed("other", name, self.ends[name.lower()])


def _without(text: str, names: Iterable[str]) -> str:
    """Returns a `*` without these columns."""
    whole, listed = text[: text.index("*") + 1], ", ".join(map(in_backticks, sorted(names)))
    return f"{whole} EXCEPT ({listed})" if listed else whole


def number_of(item: SelectItem, pattern: Pattern, parser: QueryParser) -> str | None:
    """Returns the name of the number of the rows; None if the result does not have it.

    Raises:
        SqlError: if the column is another function over a window, or the number a second time.
    """
    node, text = item.expr.node, parser.characters(item.expr.span)
    if not (is_row_number(node) and same_text(node, pattern.window, parser)):
        rule = "a Top-N has one function over a window, that which numbers its rows"
        raise parser.fail(text, rule, "compute it in a query in FROM", item.span)
    if item.alias is None:
        raise nameless(item, parser)
    if pattern.rank is not None and item.alias != pattern.rank:
        rule = "a Top-N has the number of a row once"
        raise parser.fail(text, rule, "select it again in a query over it", item.span)
    return pattern.rank


def nameless(item: SelectItem, parser: QueryParser) -> SqlError:
    """Returns an error at a column without a name."""
    rule = "the columns of a Top-N have names"
    return parser.fail(parser.characters(item.expr.span), rule, "add AS and a name", item.span)


def check_distinct(names: Iterable[str | None], pattern: Pattern, parser: QueryParser) -> None:
    """Refuses two columns of one name.

    Raises:
        SqlError: if there are some.
    """
    known = set[str]()
    for name in names:
        if name is not None and name.lower() in known:
            rule = "the columns of a Top-N have names of their own, because its rows are stored under them"
            span = parser.span_of(pattern.window)
            raise parser.fail(f"two columns {name}", rule, "give one of them another name with AS", span)
        known |= set() if name is None else {name.lower()}
