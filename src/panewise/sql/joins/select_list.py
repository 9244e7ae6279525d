"""The SELECT list of a join: its columns, and those for which `*` stands."""

from collections.abc import Iterator

from panewise.sql.expressions.stars import check_left_out
from panewise.sql.joins.side_columns import JoinInput, SideColumns
from panewise.sql.parsing.syntax import HOWS, Join, Select
from panewise.sql.stage_columns import names_of_outputs
from panewise.sql.stages import Referring
from panewise.sql.windows.window_rows import WindowRows


class JoinSelectList:
    """The SELECT list of a join.

    Args:
        select: the SELECT.
        join: the join in its FROM.
        columns: the columns of the sides.
        windows: the sides of a window join, None for another join.
        panes: whether it is a join of panes, whose sides have times that the query does not have.
    """

    def __init__(
        self,
        select: Select,
        join: Join,
        columns: SideColumns,
        windows: tuple[WindowRows, WindowRows] | None,
        *,
        panes: bool,
    ) -> None:
        self.select, self.join, self.columns = select, join, columns
        self.windows, self.panes = windows, panes

    def items(self) -> tuple[Referring, ...]:
        """Returns the columns.

        Raises:
            SqlError: for a `*` whose columns are not known.
        """
        items = list[Referring]()
        for item in self.select.items:
            whole = self.columns.referring(item.expr, item.alias, self.join.using)
            if not item.is_star or whole.with_tables:
                items.append(whole)
            elif self.panes:
                items += self._columns_of_panes(whole)
            else:
                items += [whole] if self.windows is None else self._columns_of_windows(whole, self.windows)
        return tuple(items)

    def _columns_of_panes(self, whole: Referring) -> list[Referring]:
        """Returns the columns for which `*` stands, without the event times that the query does not have."""
        once = _once(whole)
        named = [
            (side.name, name)
            for _, side in self._sides_of(whole)
            for name in names_of_outputs(side.stage) or ()
        ]
        check_left_out(whole.original, [name for _, name in named])
        columns = [(table, name) for table, name in named if name.lower() not in once]
        return [*_using_of(whole), *(Referring(("", ""), (pair,), pair[1], pair[1]) for pair in columns)]

    def _sides_of(self, whole: Referring) -> Iterator[tuple[int, JoinInput]]:
        """Yields the sides of which a `*` has columns, with their places."""
        one_side, table = HOWS[self.join.kind] in ("semi", "anti"), whole.columns[0][0]
        for place, side in enumerate(self.columns.sides[: 1 if one_side else 2]):
            if table is None or table.lower() == (side.name or "").lower():
                yield place, side

    def _columns_of_windows(
        self, whole: Referring, windows: tuple[WindowRows, WindowRows]
    ) -> Iterator[Referring]:
        """Yields the columns for which `*` stands, with the bounds of the windows in their places."""
        once = _once(whole)
        yield from _using_of(whole)
        for place, side in self._sides_of(whole):
            rows = windows[place]
            named = rows.columns if None not in rows.columns else rows.columns[1:]
            if None in named or (named != rows.columns and not {*named} <= {*rows.ends}):
                rule = "`*` of a window join has columns that the text names, or those of a table"
                raise self.columns.parser.fail(whole.original, rule, "name the columns", self.join.span)
            if named != rows.columns:
                own = once - {*map(str.lower, filter(None, named))}
                yield Referring(("*",), ((side.name, "*"),), None, whole.original, without=own)
            for name in filter(None, named):
                if name.lower() not in once:
                    yield Referring(("", ""), ((side.name, name),), name, name)


def _using_of(whole: Referring) -> list[Referring]:
    """Returns the columns of USING that a `*` has first; `t.*` has none."""
    using = (name for name in whole.parts[1:] if name.lower() not in whole.without)
    return [Referring(("", ""), ((None, name),), name, name) for name in using]


def _once(whole: Referring) -> frozenset[str]:
    """Returns the columns, in lower case, that a `*` does not have from each side."""
    return whole.without | {name.lower() for name in whole.parts[1:]}
