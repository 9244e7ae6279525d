"""Makes typed DataFrames from messages, with flags for values that do not fit their column (semantics 15).

A column whose values all have its plain Python type is built at once. The other columns are fitted value by
value, and only they can have misfits. So a batch without misfits needs no flags.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any, Final, TypeAlias

import polars as pl

from panewise.chrono import instant_us
from panewise.engine.columns import PLACE
from panewise.engine.ingest.validate import BAD_TIME, BAD_TYPE, OUT_OF_RANGE
from panewise.engine.kernels.column_types import whole_instants, with_leaves
from panewise.engine.protocol import Schema
from panewise.errors import InputError, SpecError
from panewise.spec import Entry
from panewise.spec.column_values import MISFIT, is_text, of_python
from panewise.spec.fields import is_whole
from panewise.standalone.value_types import column_type_of, in_microseconds

Message: TypeAlias = Mapping[str, Any]

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
# The Python type of the values that need no conversion.
PLAIN: Final[Mapping[pl.DataType, type]] = {
    pl.Int64(): int,
    pl.Float64(): float,
    pl.String(): str,
    pl.Boolean(): bool,
    pl.Binary(): bytes,
}
# What a value of a plain type has to be besides.
LIMITS: Final[Mapping[type | None, Callable[[Any], bool]]] = {
    int: lambda value: _LOWEST <= value <= _HIGHEST,
    str: is_text,
}
# Values that replace misfits in keys and positions, except the first misfit of a row. A null there would be
# another reason why the row is invalid, and one that is tested earlier.
_REPLACEMENTS: Final[Mapping[type[pl.DataType], Any]] = {
    pl.Int64: 0,
    pl.Float64: 0.0,
    pl.String: "",
    pl.Boolean: False,
    pl.Decimal: 0,
    pl.Date: date(1970, 1, 1),
    pl.Datetime: 0,
    pl.Binary: b"",
}


@dataclass(frozen=True)
class FittedMessages:
    """Messages as a DataFrame.

    Attributes:
        frame: a row for each message, with the columns of the schema, ``__place`` and, if there are misfits,
            the flags.
        misfits: the messages with a value that does not fit its column, as they were given.
    """

    frame: pl.DataFrame
    misfits: tuple[Message, ...] = ()


def no_mapping(message: object) -> InputError:
    """Returns the error of a message that is no mapping."""
    fault = f"a message of the type {type(message).__name__}"
    return InputError(fault, "a message has a value for each column", "give a dict")


def check_columns(message: Message, known: Collection[str]) -> None:
    """Refuses a message with a column that the schema does not have: a likely typing error."""
    unknown = [name for name in message if name not in known]
    if unknown:
        near = get_close_matches(str(unknown[0]), sorted(known), 1)
        remedy = f"say {near[0]!r}" if near else "leave it out, or add it to the schema"
        rule = f"the columns of a message are those of the schema: {sorted(known)}"
        raise InputError(f"a message with a column {unknown[0]!r}", rule, remedy)


def fitted(entry: Entry, schema: Schema, messages: Sequence[Message]) -> FittedMessages:
    """Returns messages as a DataFrame. A message without a column has null there."""
    columns = dict[str, pl.Series]()
    lists, misfits = dict[str, list[Any]](), dict[int, dict[str, Any]]()
    for name, dtype in schema.items():
        values = [message.get(name) for message in messages]
        plain = _plain(name, values, dtype)
        if plain is None:
            lists[name] = _fit(name, values, dtype, name in entry.time_columns, misfits)
        columns[name] = pl.Series(name, [], dtype) if plain is None else plain
    firsts = {row: _first(entry, bad) for row, bad in misfits.items()}
    for name, values in lists.items():
        columns[name] = _series(name, _without_misfits(entry, name, values, schema, firsts), schema[name])
    numbers = pl.Series(PLACE, range(len(messages)), pl.UInt32())
    frame = pl.DataFrame([*columns.values(), numbers])  # without any column, the number of rows is known, too
    if not misfits:
        return FittedMessages(frame)
    flags = _flags(entry, len(messages), misfits, firsts)
    return FittedMessages(frame.with_columns(flags), tuple(messages[row] for row in sorted(misfits)))


def _plain(name: str, values: list[Any], dtype: pl.DataType) -> pl.Series | None:
    """Returns the column if all its values have its plain type, else None."""
    if dtype not in PLAIN or not {*map(type, values)} <= {PLAIN[dtype], type(None)}:
        return None
    try:
        return pl.Series(name, values, dtype, strict=True)
    except (OverflowError, TypeError, UnicodeEncodeError):
        return None


def _fit(
    name: str, values: list[Any], dtype: pl.DataType, is_time: bool, misfits: dict[int, dict[str, Any]]
) -> list[Any]:
    """Returns the values that fit the column, with MISFIT for the others, which are added to `misfits`."""
    fits = []
    for row, value in enumerate(map(of_python, values)):
        fit = column_type_of(dtype).fit(_instant(value) if is_time else value)
        if fit is MISFIT:
            misfits.setdefault(row, {})[name] = values[row]
        fits.append(fit)
    return fits


def _instant(value: Any) -> Any:
    """Returns an aware datetime as microseconds, any other value as it is."""
    if not isinstance(value, datetime):
        return value
    try:
        return instant_us(value)
    except SpecError:
        return value


def _series(name: str, values: list[Any], dtype: pl.DataType) -> pl.Series:
    """Returns the column. Instants are whole numbers at first: Python's range of datetimes is smaller."""
    whole = pl.Series(name, values, whole_instants(dtype), strict=True)
    in_unit = with_leaves(
        dtype, lambda leaf: in_microseconds(leaf) if isinstance(leaf, pl.Datetime) else leaf
    )
    return whole.cast(in_unit).cast(dtype)


def _first(entry: Entry, misfits: Mapping[str, Any]) -> str | None:
    """Returns the column of the first misfit that the operator reads, event times aside."""
    read = (name for name in entry.columns_read if name not in entry.time_columns)
    return next((name for name in read if name in misfits), None)


def _without_misfits(
    entry: Entry, name: str, values: list[Any], schema: Schema, firsts: Mapping[int, str | None]
) -> list[Any]:
    """Returns the values of a column with nulls or replacements in place of misfits."""
    identifies = {*entry.keys, *(entry.position.columns if entry.position else ())} - {*entry.time_columns}
    replacement = _REPLACEMENTS.get(type(schema[name])) if name in identifies else None
    return [
        value if value is not MISFIT else None if firsts[row] == name else replacement
        for row, value in enumerate(values)
    ]


def _flags(
    entry: Entry, height: int, misfits: Mapping[int, Mapping[str, Any]], firsts: Mapping[int, str | None]
) -> list[pl.Series]:
    times = {
        row: is_whole(_instant(bad[name]))
        for row, bad in misfits.items()
        for name in entry.time_columns
        if name in bad
    }
    rows = range(height)
    return [
        pl.Series(BAD_TIME, [times.get(row) is False for row in rows], pl.Boolean()),
        pl.Series(OUT_OF_RANGE, [times.get(row) is True for row in rows], pl.Boolean()),
        pl.Series(BAD_TYPE, [firsts.get(row) for row in rows], pl.String()),
    ]
