"""The functions of the OVER operator that are no aggregates (semantics 29.6, 29.7). Values only."""

from dataclasses import dataclass, replace
from typing import Any, Final

from panewise.choices import check_flag
from panewise.chrono import MAX_INSTANT
from panewise.errors import SpecError
from panewise.spec.fields import check_alias, is_count
from panewise.spec.window_spec import Over, WindowSpec

NUMBERINGS: Final = ("row_number", "rank", "dense_rank")
SHIFTS: Final = ("lag", "lead")
SKIPPING: Final = ("lag", "lead", "nth_value")  # the functions that may ignore nulls
ROW_FUNCTIONS: Final = (*NUMBERINGS, *SHIFTS, "nth_value")


@dataclass(frozen=True)
class RowFunction:
    """A function for OVER that is not an aggregate: lag, lead, row_number, rank, dense_rank or nth_value.

    The functions of these names in :mod:`panewise.functions` create it.

    Args:
        fn: the name of the function.
        column: the column that it reads; None for row_number, rank and dense_rank.
        name: the name of the resulting column.
        n: for lag and lead the distance in rows, 0 or more; for nth_value the number of the row, from 1.
        default: for lag and lead the value where there is no such row.
        ignorenulls: whether lag, lead and nth_value count only rows whose value is not null.

    Raises:
        SpecError: if the function is unknown, or does not take the arguments that are given.
    """

    fn: str
    column: str | None
    name: str
    n: int | None = None
    default: bool | int | float | str | None = None
    ignorenulls: bool = False

    def __post_init__(self) -> None:
        if self.fn not in ROW_FUNCTIONS:
            rule = f"a row function is one of {sorted(ROW_FUNCTIONS)}"
            raise SpecError(f"fn={self.fn!r}", rule, "use a function of panewise.functions")
        check_flag("ignorenulls", self.ignorenulls)
        if self.ignorenulls and self.fn not in SKIPPING:
            rule = f"{', '.join(SKIPPING)} ignore nulls, and {self.fn} reads no values"
            raise SpecError(f"{self.fn}(ignorenulls=True)", rule, "leave it out")
        self._check_column()
        self._check_number()
        self._check_default()

    def _check_column(self) -> None:
        reads, named = self.fn not in NUMBERINGS, isinstance(self.column, str) and bool(self.column)
        if reads != named or (not reads and self.column is not None):
            rule = f"{self.fn} takes {'the name of a column' if reads else 'no column'}"
            remedy = "give its name" if reads else "leave it out"
            raise SpecError(f"{self.fn}(column={self.column!r})", rule, remedy)

    def _check_number(self) -> None:
        reads, least = self.fn not in NUMBERINGS, 1 if self.fn == "nth_value" else 0
        counts = is_count(self.n, least) and self.n < MAX_INSTANT
        if counts == reads and (reads or self.n is None):
            return
        rule = f"{self.fn} takes a number of rows, {least} or more" if reads else f"{self.fn} takes no number"
        remedies = {"lag": "use lead to look ahead", "lead": "use lag to look back"}
        remedy = remedies.get(self.fn, "give such a number" if reads else "leave it out")
        raise SpecError(f"{self.fn}(n={self.n!r})", rule, remedy)

    def _check_default(self) -> None:
        default: Any = self.default
        if default is not None and (
            self.fn not in SHIFTS or not isinstance(default, (bool, int, float, str))
        ):
            rule = "only lag and lead have a default, which is a number, a string or a Boolean"
            remedy = "leave it out, and replace nulls after the operator"
            raise SpecError(f"{self.fn}(default={default!r})", rule, remedy)

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that the function reads."""
        return () if self.column is None else (self.column,)

    @property
    def skips(self) -> bool:
        """Whether rows with a null are not counted. The row itself is 0 rows away, even with a null."""
        return self.ignorenulls and self.n != 0

    def alias(self, name: str) -> "RowFunction":
        """Returns the same function under another name.

        Raises:
            SpecError: if the name is not a string, or empty.
        """
        check_alias(name)
        return replace(self, name=name)

    def over(self, window: WindowSpec) -> Over:
        """Returns the function over a window of the OVER operator, as in pyspark.

        For instance `F.lag("v").over(Window.partitionBy("k").orderBy("ts"))`.
        """
        return Over(self, window)
