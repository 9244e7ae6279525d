"""User-defined windows: a function assigns windows to rows (semantics 6.6, 9.4)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from panewise.choices import is_choice
from panewise.errors import SpecError
from panewise.spec.fields import is_name, set_fields


@dataclass(frozen=True)
class EachRow:
    """Applies a function of one row to each row of a Polars frame."""

    function: Callable[[dict[str, Any]], Any]

    def __call__(self, frame: Any) -> list[Any]:
        """Returns the result of the function for each row of a Polars frame, in order."""
        return [self.function(row) for row in frame.iter_rows(named=True)]


@dataclass(frozen=True, init=False)
class Custom:
    """Windows that a function returns for each row, from its event time and some of its columns.

    A window is [start, end) in microseconds since 1970-01-01 UTC, with start below end. It need not contain
    the row's event time. The function must always return the same windows for the same values.

    Args:
        function: takes a `polars.DataFrame` with the column `event_time` (Int64, microseconds since
            1970-01-01 UTC) and the columns named below. It returns for each row, in order, a list of its
            windows: a Series of List(Struct) with the fields `start` and `end`. :meth:`each` takes a function
            of a single row instead.
        name: the name by which JSON and checkpoints identify the function. A different function under the
            same name is not detected.
        columns: the columns that the function reads, besides `event_time`.
        merge: whether windows of a key are merged as sessions are. True merges windows that overlap,
            "touching" also windows of which one ends where the other starts. With merging a row has exactly
            one window.

    Raises:
        SpecError: if a value breaks a rule; the message says which.

    >>> shift = Custom.each(lambda row: [(row["event_time"] // 8 * 8, row["event_time"] // 8 * 8 + 8)],
    ...     name="shift")
    >>> shift
    Custom(name='shift', columns=(), merge=False)

    >>> from panewise import WindowOperator, functions as F
    >>> from panewise.testing import run
    >>> spec = WindowOperator(window=shift, aggregates=[F.count().alias("rows")])
    >>> run(spec, [{"op": "add", "rows": [{"event_time": 9}]}], windows=True)[0]["windows"]
    [{'window_start': 8, 'window_end': 16, 'pending': 1, 'closed': False}]

    Source: semantics 6.6, 9.4; S4 WindowOption, Beam WindowFn.
    """

    kind: ClassVar[str] = "custom"
    function: Callable[[Any], Any] = field(compare=False, repr=False)
    name: str
    columns: tuple[str, ...]
    merge: bool | Literal["touching"]

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        name: str,
        columns: Iterable[str] = (),
        merge: bool | Literal["touching"] = False,
    ) -> None:
        _check_function(function, "a polars.DataFrame")
        if not is_name(name):
            raise SpecError(f"name={name!r}", "a custom window has a name", "give a non-empty string")
        if not is_choice(merge, (True, False, "touching")):
            rule = "windows are not merged, merged if they overlap, or also merged if they touch"
            raise SpecError(f"merge={merge!r}", rule, "give False, True or 'touching'")
        set_fields(self, function=function, name=name, columns=_columns(columns), merge=merge)

    @classmethod
    def each(
        cls,
        function: Callable[[dict[str, Any]], Any],
        *,
        name: str,
        columns: Iterable[str] = (),
        merge: bool | Literal["touching"] = False,
    ) -> "Custom":
        """Returns windows that are defined by a function of one row.

        The function takes a dict of `event_time` and the columns, and returns a list of (start, end), all in
        microseconds. The other arguments are those of the class.
        """
        _check_function(function, "a dict")
        return cls(EachRow(function), name=name, columns=columns, merge=merge)


def _check_function(function: Any, argument: str) -> None:
    if not callable(function):
        rule = "a custom window is given by a function"
        raise SpecError(f"function={function!r}", rule, f"give a function of {argument}")


def _columns(columns: Any) -> tuple[str, ...]:
    rule = (
        "the columns of a window function have different names; the event time is always "
        "passed, as event_time"
    )
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise SpecError(f"columns={columns!r}", rule, "give a list: columns=[...]")
    names = tuple(columns)
    if not all(map(is_name, names)) or "event_time" in names or len(set(names)) < len(names):
        raise SpecError(f"columns={list(names)!r}", rule, "give other columns' names, each once")
    return names
