"""Windows with the API of pyspark: in batch those of Spark, on a stream those of panewise."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import pyspark.sql

from panewise import functions, spec
from panewise.errors import SpecError
from panewise.spec.column_expressions import text_of

# Returns the name of the input column for a column, which may be an expression.
Reader: TypeAlias = Callable[[Any], str]

_DIRECTED = re.compile(r"(.*) ((?:ASC|DESC) NULLS (?:FIRST|LAST))$", re.DOTALL)
_DIRECTIONS: Final[dict[str, Callable[[str], Any]]] = {
    "ASC NULLS FIRST": functions.asc,
    "ASC NULLS LAST": functions.asc_nulls_last,
    "DESC NULLS FIRST": functions.desc_nulls_first,
    "DESC NULLS LAST": functions.desc,
}


@dataclass(frozen=True, eq=False)
class WindowSpec:
    """The rows that a function looks at, as pyspark.sql.WindowSpec. Every method returns a new one."""

    keys: tuple[Any, ...] = ()
    order: tuple[Any, ...] = ()
    kind: str | None = None
    bounds: tuple[Any, Any] = (0, 0)

    def partitionBy(self, *cols: Any) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """Sets the keys, as in pyspark."""
        return replace(self, keys=_flat(cols))

    def orderBy(self, *cols: Any) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """Sets the order, as in pyspark.

        On a stream the first column is the event time. If it is descending, the rows before a row are those
        that arrive after it (semantics 29.13).
        """
        return replace(self, order=_flat(cols))

    def rowsBetween(self, start: int, end: int) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """Sets a ROWS frame, as in pyspark."""
        return replace(self, kind="rows", bounds=(start, end))

    def rangeBetween(self, start: Any, end: Any) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """Sets a RANGE frame, as in pyspark.

        On a stream numbers are microseconds. A bound may also be a text such as "-5 minutes", in batch, too.
        """
        return replace(self, kind="range", bounds=(start, end))

    @property
    def only_here(self) -> bool:
        """Whether Spark does not have this window, because a bound is not a number."""
        return not all(isinstance(bound, int) for bound in self.bounds)

    def native(self) -> Any:
        """Returns the window of Spark."""
        window: Any = pyspark.sql.Window.partitionBy(*self.keys)
        window = window.orderBy(*self.order) if self.order else window
        if self.kind is None:
            return window
        return window.rowsBetween(*self.bounds) if self.kind == "rows" else window.rangeBetween(*self.bounds)

    def on_stream(self, read: Reader) -> spec.WindowSpec:
        """Returns the window of panewise, for a stream.

        `read` returns the name of the input column for a column.

        Raises:
            SpecError: if a stream cannot have this window.
        """
        order = [_directed(column) for column in self.order]
        terms = [(read(column), direction) for column, direction in order]
        if terms and terms[0][0] != text_of(order[0][0]):
            rule = "the first order column of a stream is its event time, not an expression"
            raise SpecError(
                f"orderBy({text_of(order[0][0])})",
                rule,
                "order by the TIMESTAMP itself, and give ranges such as '-10 minutes'",
            )
        window = spec.WindowSpec().partitionBy(*map(read, self.keys))
        window = window.orderBy(*(_DIRECTIONS[direction](name) for name, direction in terms))
        if self.kind is None:
            return window
        return window.rowsBetween(*self.bounds) if self.kind == "rows" else window.rangeBetween(*self.bounds)


def _directed(column: Any) -> tuple[Any, str]:
    """Returns a column of `orderBy` without its direction, and the direction."""
    directed = _DIRECTED.fullmatch(text_of(column))
    return (column, "ASC NULLS FIRST") if directed is None else (directed[1], directed[2])


def _flat(cols: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(cols[0]) if len(cols) == 1 and isinstance(cols[0], (list, tuple)) else cols


class Window:
    """Makes windows, as pyspark.sql.Window does."""

    unboundedPreceding: Final = pyspark.sql.Window.unboundedPreceding  # noqa: N815 - PySpark's name
    unboundedFollowing: Final = pyspark.sql.Window.unboundedFollowing  # noqa: N815 - PySpark's name
    currentRow: Final = pyspark.sql.Window.currentRow  # noqa: N815 - PySpark's name

    _all = WindowSpec()
    partitionBy = _all.partitionBy  # noqa: N815 - PySpark's name
    orderBy = _all.orderBy  # noqa: N815 - PySpark's name
    rowsBetween = _all.rowsBetween  # noqa: N815 - PySpark's name
    rangeBetween = _all.rangeBetween  # noqa: N815 - PySpark's name
