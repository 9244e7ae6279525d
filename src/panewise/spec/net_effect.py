"""The columns of the net effect of emitted rows, for tables that contain results (semantics 49.3)."""

from collections.abc import Collection, Iterable

from panewise.errors import SpecError
from panewise.spec.fields import check_columns, is_name, several
from panewise.spec.operators.panes import BOUNDS


def key_of_panes(columns: list[str]) -> tuple[str, ...]:
    """Returns the key of panes: their columns up to the end of the window.

    >>> key_of_panes(["k", "window_start", "window_end", "total"])
    ('k', 'window_start', 'window_end')
    """
    if BOUNDS[-1] not in columns:
        rule = "a row of a table is found by its key, and only panes have columns that are known to be one"
        raise SpecError(f"current() of rows without {BOUNDS[-1]!r}", rule, "give key=[...]")
    return tuple(columns[: columns.index(BOUNDS[-1]) + 1])


def check_current(
    columns: Collection[str], key: Iterable[str], operation: str, *others: str
) -> tuple[str, ...]:
    """Returns the key, after checking that rows with these columns have it, and a name for the operation."""
    names = several("key", key)
    check_columns(names)
    if not names:
        raise SpecError("key=[]", "a row of a table is found by its key", "name one column or more")
    for name in (*names, *others):
        if name not in columns:
            rule = f"the rows have the columns {list(columns)}"
            remedy = "name one of these" if name in names else "give sequence=, as write(...) has it"
            raise SpecError(f"current() with the column {name!r}", rule, remedy)
    if not is_name(operation) or operation in columns:
        rule = f"the operation is a new column, beside {list(columns)}"
        raise SpecError(f"operation={operation!r}", rule, "give another name")
    return names
