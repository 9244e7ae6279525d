"""A join whose columns are known: the specification, and its SELECT list over the emitted rows."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from panewise.errors import SqlError
from panewise.spec import JoinOperator, Selected, Side
from panewise.spec.conditions import as_condition
from panewise.spec.conditions.nodes import columns_of_side
from panewise.spec.conditions.text import in_backticks
from panewise.spec.operators.join.columns import SIDES
from panewise.spec.operators.join.match import Match
from panewise.spec.operators.join.match_parts import match_parts
from panewise.spec.operators.panes import BOUNDS
from panewise.spec.renaming import renamed_value
from panewise.sql.expressions.stars import check_left_out, names_before_star
from panewise.sql.joins.open_conditions import spelled, with_sides
from panewise.sql.stages import JoinStage, OutputColumn, Referring
from panewise.sql.windows.panes import BOUND_TEXTS

# Columns that a join adds to its rows.
_OF_JOIN: Final = (*BOUNDS, "timing", "join_time", "missing", "op")


@dataclass(frozen=True)
class ResolvedJoin:
    """A join whose columns are known: the specification, the conditions on its rows, and the SELECT list."""

    spec: JoinOperator
    where: tuple[str, ...]
    outputs: tuple[OutputColumn, ...]


def resolved(
    stage: JoinStage, columns: Mapping[str, Sequence[str]], times: tuple[str | None, str | None]
) -> ResolvedJoin:
    """Returns the specification of a join.

    Args:
        stage: the join.
        columns: the columns of "left" and "right".
        times: the columns of the event times, None where rows have none.

    Raises:
        SqlError: if a column is of neither side, or of both.
    """
    return _Resolver(with_sides(stage, columns), columns).resolved(times)


class _Resolver:
    def __init__(self, stage: JoinStage, columns: Mapping[str, Sequence[str]]) -> None:
        self.stage, self.columns = stage, columns
        self.selected: dict[tuple[str, str], Selected] = {}
        self.aliases = self._aliases()
        self.whole = self._is_whole()

    def _aliases(self) -> dict[tuple[str, str], str]:
        """Returns the names of plain columns of the SELECT list, by the sides and names of the columns."""
        aliases: dict[tuple[str, str], str] = {}
        for item in self.stage.items:
            name = item.name or ""
            if item.parts != ("", "") or not name or "." in name or name.startswith("__"):
                continue
            table, column = item.columns[0]
            side = self._side_of(table, column)
            taken = (*map(str.lower, aliases.values()), *_OF_JOIN)
            if side is None or name.lower() in taken or self._bound(side, column) is not None:
                continue
            aliases.setdefault((side, column.lower()), name)
        return aliases

    def _side_of(self, table: str | None, column: str) -> str | None:
        """Returns the side that a reference means: "left", "right" or "either"; None if it means none."""
        if table is not None:
            return SIDES[[name.lower() for name in self.stage.names].index(table.lower())]
        sides = [side for side in SIDES if self._has(side, column)]
        if self.stage.how in ("semi", "anti"):
            sides = sides[:1]
        if len(sides) == 2 and self._is_key(column):
            return "either" if self.stage.how != "inner" else "left"
        return sides[0] if len(sides) == 1 else None

    def _has(self, side: str, column: str) -> bool:
        """Returns whether a side has a column of this name, in a join of joins with or without its table."""
        return self._spelled(side, column) in self.columns.get(side, ())

    def _is_key(self, column: str) -> bool:
        """Returns whether both sides have a key of this name, and these are compared."""
        return (column.lower(),) * 2 in {(left.lower(), right.lower()) for left, right in self.stage.keys}

    def _is_whole(self) -> bool:
        """Returns whether the rows have all columns of both sides, under their own names."""
        if self.stage.hidden or self.stage.members or any(self.stage.added_times):
            return False
        stars = [
            item.columns == ((None, "*"),) and len(item.parts) == 1 and not item.without
            for item in self.stage.items
        ]
        names = [name.lower() for side in self._emitted() for name in self.columns.get(side, ())]
        return stars == [True] and len({*names, *_OF_JOIN}) == len(names) + len(_OF_JOIN)

    def _emitted(self) -> tuple[str, ...]:
        return SIDES[:1] if self.stage.how in ("semi", "anti") else SIDES

    def resolved(self, times: tuple[str | None, str | None]) -> ResolvedJoin:
        stage = self.stage
        where = tuple(map(self._text, stage.where))
        outputs = tuple(output for item in stage.items for output in self._outputs(item))
        if not self.selected and not self.whole:
            self._name("left", self.columns["left"][0])
        times = self._times(times)
        self._check_times(times)
        sides = [self._side(side, times) for side in SIDES]
        how: Any = stage.how
        spec = JoinOperator(
            left=sides[0],
            right=sides[1],
            match=self._match(),
            how=how,
            condition=self._condition(),
            select=None if self.whole else self.selected.values(),
            timestamp=stage.timestamp,
        )
        return ResolvedJoin(spec, where, outputs)

    def _times(self, times: tuple[str | None, str | None]) -> tuple[str | None, str | None]:
        """Returns the event times; none, if rows match by arrival, and a side does not have its column."""
        if not match_parts(self.stage.match).by_arrival(self.stage.match):
            return times
        known = [
            time is not None and self._spelled(side, time) in self.columns.get(side, ())
            for side, time in zip(SIDES, times, strict=True)
        ]
        return times if all(known) else (None, None)

    def _match(self) -> Match:
        match: Any = self.stage.match
        both = zip(SIDES, self.stage.deletes, strict=True)
        deletes = tuple(None if name is None else self._spelled(side, name) for side, name in both)
        # Only a match that deletes rows has this field, and only tables of its joins have the option.
        changed: Match = match if deletes == (None, None) else replace(match, deletes=deletes)
        return changed

    def _check_times(self, times: tuple[str | None, str | None]) -> None:
        """Refuses a join by time, or one before such a join, whose rows have no event time."""
        by_arrival = match_parts(self.stage.match).by_arrival(self.stage.match)
        read = any(item.parts == ("join_time",) for item in self.stage.items)
        if None in times and (read or not by_arrival):
            join = f"a join of {' and '.join(self.stage.names)} without event times"
            rule = (
                "a join by time needs event times on both sides, and so does an earlier join "
                "whose rows it reads"
            )
            remedy = "write WATERMARK ts DELAY OF INTERVAL ... behind both tables, or compare times in ON"
            raise SqlError(join, rule, remedy)

    def _side(self, side: str, times: tuple[str | None, str | None]) -> Side:
        place = SIDES.index(side)
        time = times[place]
        keys = [self._spelled(side, pair[place]) for pair in self.stage.keys]
        options = dict(self.stage.options[place])
        if self.stage.lateness is not None:
            options["allowed_lateness"] = self.stage.lateness
        if "order" in options:
            options["order"] = [self._spelled(side, name) for name in options["order"]]
        return Side(keys=keys, event_time=None if time is None else self._spelled(side, time), **options)

    def _spelled(self, side: str, name: str) -> str:
        """Returns a column as its table spells it. Case has no effect, as in Spark."""
        return spelled(
            name, self.columns.get(side, ()), self.stage.members if side == "left" else frozenset()
        )

    def _condition(self) -> Any:
        if self.stage.condition is None:
            return None
        condition = as_condition(self.stage.condition)
        for side in SIDES:
            names = {name: self._spelled(side, name) for name in columns_of_side(condition, side)}
            condition = renamed_value(condition, side, names)
        return condition

    def _outputs(self, item: Referring) -> Iterable[OutputColumn]:
        if item.with_tables:
            return self._star_with_tables()
        if item.columns and item.columns[0][1] == "*":
            using = [name for name in item.parts[1:] if name.lower() not in item.without]
            first = [OutputColumn(self._reference(None, name), self._own(name), name) for name in using]
            star, once = [*self._star(item.columns[0][0])], {name.lower() for name in item.parts[1:]}
            # In a window join a `*` of the query is one of each side, which leave out the same columns.
            table = next(iter(names_before_star(item.original)), None)
            _check_without(item, [output.original for output in self._star(table)], once, self._ends())
            return [*first, *(output for output in star if output.original not in once | item.without)]
        return [OutputColumn(self._text(item), item.name, item.original)]

    def _star(self, table: str | None) -> Iterator[OutputColumn]:
        """Yields the columns of all tables, or of one."""
        for side, name, column in self._columns():
            of_table, _, plain = column.partition(".") if self._is_join(side) else (name, "", column)
            if table is None or table.lower() == of_table.lower():
                yield OutputColumn(in_backticks(self._name(side, column)), plain, plain.lower())

    def _star_with_tables(self) -> Iterator[OutputColumn]:
        """Yields the columns of all tables, with the names of these before their own."""
        for side, name, column in self._columns():
            shown = column if self._is_join(side) else f"{name.lower()}.{column}"
            yield OutputColumn(in_backticks(self._name(side, column)), shown, shown.lower())

    def _columns(self) -> Iterator[tuple[str, str, str]]:
        """Yields the columns of the sides that are emitted: the side, its name, and the column."""
        for side, name, added in zip(SIDES, self.stage.names, self.stage.added_times, strict=True):
            hidden = {*self.stage.hidden, added}
            for column in self.columns[side] if side in self._emitted() else ():
                table = column.partition(".")[0].lower()
                if column not in hidden and (not self._is_join(side) or table in self.stage.members):
                    yield side, name, column

    def _is_join(self, side: str) -> bool:
        """Returns whether a side is a join, whose columns have the names of their tables."""
        return side == "left" and bool(self.stage.members)

    def _own(self, column: str) -> str:
        """Returns the name of a key as the left side writes it."""
        return next((name for name in self.columns["left"] if name.lower() == column.lower()), column)

    def _text(self, item: Referring) -> str:
        text = item.parts[0]
        for reference, part in zip(item.columns, item.parts[1:], strict=True):
            text += self._reference(*reference) + part
        return text

    def _reference(self, table: str | None, column: str) -> str:
        """Returns the name of a column in the rows of the join, in backticks."""
        side = self._side_of(table, column)
        if side is not None:
            bound = None if table is None else self._bound(side, column)
            return in_backticks(self._name(side, column)) if bound is None else bound
        if column.lower() in _OF_JOIN:
            return in_backticks(column)
        end = self._end("left", column) or self._end("right", column)
        if end is not None:
            return end
        rule = f"a column is of one table: {dict(self.columns)}"
        raise SqlError(column, rule, "write the name of its table before it")

    def _bound(self, side: str, column: str) -> str | None:
        """Returns a bound of a window join as a column of a side, which is null if the side has no row."""
        text = self._end(side, column)
        if text is None or column.lower() in map(str.lower, self.columns.get(side, ())):
            return None
        if self.stage.how in ("inner", "semi", "anti"):
            return text
        return f"CASE WHEN `missing` = '{side}' THEN NULL ELSE {text} END"

    def _ends(self) -> Collection[str]:
        """Returns the names of the bounds of a window join, in lower case; none of other joins."""
        if not match_parts(self.stage.match).windows_end(self.stage.match):
            return ()
        return [name.lower() for ends in self.stage.ends for name in ends or BOUND_TEXTS]

    def _end(self, side: str, column: str) -> str | None:
        """Returns the text of a bound of a window join that a side has under this name, None for all else."""
        if not match_parts(self.stage.match).windows_end(self.stage.match):
            return None
        ends = self.stage.ends[SIDES.index(side)] or BOUND_TEXTS
        text = ends.get(column.lower())
        return in_backticks(text) if text in BOUNDS else text

    def _name(self, side: str, column: str) -> str:
        """Returns the name that a column has in the rows of the join."""
        kind: Any = side
        if self.whole:
            return self._spelled("left" if side == "either" else side, column)
        left, right = self.stage.names
        shown = {"left": f"{left}.{column}", "right": f"{right}.{column}", "either": column}[side]
        known = self.selected.get((side, column.lower()))
        if known is None:
            own = self._spelled("left" if side == "either" else side, column)
            selected = Selected(kind, own, self.aliases.get((side, column.lower()), shown))
            known = self.selected[side, column.lower()] = selected
        return known.name


def _check_without(
    item: Referring, names: Sequence[str], once: Collection[str], ends: Collection[str]
) -> None:
    """Refuses to leave columns out of `*` that it does not have, or has of two tables, as Spark does.

    The names of columns are in lower case. `once` are those of USING, `ends` are bounds of windows.
    """
    if item.original.endswith("*"):
        return  # the columns that are left out are those of USING, or bounds of windows
    check_left_out(item.original, [*names, *ends])
    for name in sorted(item.without):
        if name not in once and names.count(name) > 1:
            rule = f"both tables have a column {name}"
            raise SqlError(item.original, rule, f"write a.* EXCEPT ({name}) for each table a")
