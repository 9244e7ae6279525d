"""The columns of the sides of a join, as the arguments of `select` name them (semantics 40.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from panewise.errors import SpecError
from panewise.spark.builders.upstream_inputs import Source, frame_of
from panewise.spark.inputs.checks import same_name
from panewise.spark.inputs.names import matches
from panewise.spec.column_expressions import Expression, is_column, name_of
from panewise.spec.operators.join.columns import EITHER, LEFT, ONE_SIDED, RIGHT, SIDES, Selected

SelectedLike: TypeAlias = str | tuple[str, str] | tuple[str, str, str] | Selected

_AN_EXAMPLE: Final = "give a name such as 'v', ('right', 'v') or ('right', 'v', 'new name')"


@dataclass(frozen=True)
class SelectableColumns:
    """The columns that a join can emit.

    Attributes:
        inputs: the inputs by side.
        sides: the fields of each side, among them its `keys`.
        how: the type of the join.
    """

    inputs: Mapping[str, Source]
    sides: Mapping[str, Mapping[str, Any]]
    how: str

    def selected(self, wanted: SelectedLike) -> Selected:
        """Returns the column that an argument of `select` names."""
        if isinstance(wanted, Selected):
            return wanted
        if isinstance(wanted, tuple) and len(wanted) in (2, 3) and {*map(type, wanted)} <= {str}:
            side, column, *new = map(name_of, wanted)
            key = None if side == RIGHT else self._key(column, LEFT)
            kind: Any = side
            return Selected(kind, column if key is None else key, new[0] if new else column)
        if not isinstance(wanted, str):
            rule = "a column is selected by its name, or by its side and its name"
            remedy = "select it from the rows" if is_column(wanted) else _AN_EXAMPLE
            raise SpecError(f"select({wanted!r})", rule, remedy)
        return self._named(wanted)

    def _named(self, name: str) -> Selected:
        name = name_of(name)
        keys = self._key(name, LEFT), self._key(name, RIGHT)
        sides = SIDES[:1] if self.how in ONE_SIDED else SIDES
        matching = [
            side
            for side, key in zip(sides, keys, strict=False)
            if key is not None or matches(frame_of(self.inputs[side]), name)
        ]
        if len(matching) == 1:
            kind: Any = matching[0]
            return Selected(kind, keys[SIDES.index(kind)] or name, name)
        if matching and keys[0] is not None and self._place(name, LEFT) == self._place(name, RIGHT):
            return Selected(EITHER, keys[0], name)
        if matching:
            rule = "a name alone is for a column of one side, or a key column of one name on both sides"
            raise SpecError(f"select({name!r}), a column of both sides", rule, _AN_EXAMPLE)
        columns = {side: frame_of(self.inputs[side]).columns for side in sides}
        raise SpecError(f"select({name!r})", f"the columns are {columns}", "name one of these")

    def _key(self, name: str, side: str) -> str | None:
        """Returns the key column of a side that has this name, as the side names it, or None."""
        place = self._place(name, side)
        key: str | None = None if place is None else self.sides[side]["keys"][place]
        return key

    def _place(self, name: str, side: str) -> int | None:
        """Returns the place of a key column of a side, given its name or alias in any case."""
        df, keys = frame_of(self.inputs[side]), self.sides[side].get("keys", ())
        columns = [key.parts[0] if isinstance(key, Expression) else None for key in keys]
        names = [
            key if column is None else df.select(column).columns[0]
            for key, column in zip(keys, columns, strict=True)
        ]
        same = same_name(df)
        return next((place for place, known in enumerate(names) if same(known) == same(name)), None)
