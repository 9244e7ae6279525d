"""Common operations on frames that are fast for few rows, too.

Polars runs joins, filters, gathers and selections of several expressions in its thread pool. For few rows
the transfer to the pool costs more than the work itself, and a step performs many such operations. So for few
rows columns are processed one by one in the calling thread. For many rows the parallel operations of Polars
are used. The result is the same.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.engine.kernels.mixed_radix import MixedRadix
from panewise.engine.kernels.sorting import WHOLE, Places, codes, order

T = TypeVar("T")
Mask: TypeAlias = npt.NDArray[np.bool_]
_COMPARED = (*WHOLE, pl.String, pl.Boolean)  # types whose values are equal if their Python values are
_FEW = 1 << 14  # rows, up to which the thread pool does not pay off
_VERY_FEW = 4  # rows, up to which they are searched for one after the other
_SMALL = 64  # rows of a frame whose memory a part of it may keep
_AT = "__at"
_ONE = "__one"
_CODE = "__code"


class BuiltOnce:
    """What a plan builds once: expressions that the clocks do not change.

    To build them takes as long as to compute them for few rows.
    """

    def __init__(self) -> None:
        self._built = dict[str, Any]()

    def __call__(self, name: str, build: Callable[[], T]) -> T:
        """Returns what `build` returns, which is called once for each name."""
        if name not in self._built:
            self._built[name] = build()
        value: T = self._built[name]
        return value


def filter_rows(frame: pl.DataFrame, mask: pl.Series) -> pl.DataFrame:
    """Returns the rows for which the mask is true. The mask has no nulls."""
    count = mask.sum()
    if count == frame.height:
        return frame
    if count == 1:
        return take_rows(frame, np.array([mask.arg_max()], dtype=np.intp))
    if frame.height > _FEW or not frame.width:
        return frame.filter(mask)
    return pl.DataFrame([column.filter(mask) for column in frame.get_columns()])


def take_rows(frame: pl.DataFrame, places: Places) -> pl.DataFrame:
    """Returns the rows at the given places."""
    if len(places) == 1 and any(dtype.is_nested() for dtype in frame.dtypes):
        return _one_row(frame, int(places[0]))
    if len(places) == 1 and frame.height <= _SMALL:
        return frame.slice(int(places[0]), 1)
    if not len(places):
        return frame.clear()
    index = pl.Series(places.astype(np.uint32))  # Polars gathers fastest by its own index type
    return frame[index] if len(places) > _FEW or not frame.width else frame.select_seq(pl.all().gather(index))


def _one_row(frame: pl.DataFrame, place: int) -> pl.DataFrame:
    """Returns one row without copying the contents of its nested columns.

    Polars turns a column of one row into a scalar when it gathers or filters. The next operation that needs
    the column rebuilds it from that scalar, and copies all text in its list.
    """
    columns = frame.get_columns()
    return pl.DataFrame(
        [column.slice(place, 1) if column.dtype.is_nested() else column.gather([place]) for column in columns]
    )


def with_values(frame: pl.DataFrame, values: Sequence[pl.Expr]) -> pl.DataFrame:
    """Returns the frame with further columns, or other ones in place of its own."""
    return frame.with_columns(values) if frame.height > _FEW else frame.with_columns_seq(values)


def selected(frame: pl.DataFrame, values: Sequence[pl.Expr]) -> pl.DataFrame:
    """Returns a frame with these columns alone."""
    return frame.select(values) if frame.height > _FEW else frame.select_seq(values)


@lru_cache(maxsize=4096)
def _single(name: str, value: Any, dtype: pl.DataType) -> pl.Series:
    return pl.Series(name, [value], dtype)


def constant_column(name: str, value: Any, dtype: pl.DataType, height: int) -> pl.Series:
    """Returns a column with the same value in all rows.

    >>> constant_column("n", 7, pl.Int64(), 2).to_list()
    [7, 7]
    """
    return _single(name, value, dtype).new_from_index(0, height)


@lru_cache(maxsize=256)
def _no_rows(columns: tuple[tuple[str, pl.DataType], ...]) -> pl.DataFrame:
    return pl.DataFrame(schema=dict(columns))


def no_rows(columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Returns a frame with these columns, and without rows."""
    return _no_rows(tuple(columns.items()))


def emptied(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns a frame with the same columns, without rows.

    Unlike `frame.clear()` it keeps no memory of the frame. A cleared column of one row keeps its value, which
    may be long.
    """
    return no_rows(frame.schema)


def typed(frame: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Returns the columns of a schema, in its order and with its types."""
    columns = (frame.get_column(name) for name in schema)
    return pl.DataFrame(
        [
            column if column.dtype == dtype else column.cast(dtype)
            for column, dtype in zip(columns, schema.values(), strict=True)
        ]
    )


def ordered(frame: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Returns the rows sorted by the given columns, nulls first. The sort is stable.

    For many rows, one stable sort for each column, from the last to the first, takes a quarter of the time of
    one sort by all columns. Columns of whole numbers without nulls are sorted by the faster
    :func:`panewise.engine.kernels.sorting.order`.
    """
    if frame.height <= _FEW:
        return frame.sort(by, nulls_last=False, maintain_order=True)
    columns = [frame[name].to_physical() for name in by]
    if all(column.dtype in WHOLE and not column.null_count() for column in columns):
        return take_rows(frame, order([column.to_numpy() for column in columns]))
    places = frame.select(by).with_row_index(_AT)
    for name in reversed(by):
        places = places.sort(name, nulls_last=False, maintain_order=True)
    return frame[places[_AT]]


def distinct(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns each distinct key of the rows once, in no particular order."""
    if rows.height <= 1:
        return rows[keys]
    if rows.height <= _FEW:
        return rows.select(keys).unique(maintain_order=True)
    code = codes(rows, keys)
    places = np.full(int(code.max()) + 1, -1, dtype=np.intp)
    places[code] = np.arange(rows.height)  # one row of each key: of several, the last assignment stays
    return take_rows(rows.select(keys), places[places >= 0])


def sorted_distinct(values: pl.Series) -> npt.NDArray[np.int64]:
    """Returns each of some whole numbers once, in ascending order."""
    if len(values) > _FEW:
        return values.unique().sort().to_numpy()
    in_order: npt.NDArray[np.int64] = np.sort(values.to_numpy())
    distinct_values: npt.NDArray[np.int64] = in_order[
        np.append(True, in_order[1:] != in_order[:-1])[: len(in_order)]
    ]
    return distinct_values


def group_places(rows: pl.DataFrame, keys: list[str]) -> tuple[pl.DataFrame, Places, Places]:
    """Groups the rows by key.

    Returns:
        The distinct keys; the places of the rows, key by key and in their order within each key; and the
        number of rows of each key.
    """
    if rows.height <= _VERY_FEW and all(rows.schema[key] in _COMPARED for key in keys):
        groups_by_key = dict[Any, list[int]]()
        for place, key in enumerate(rows[keys].iter_rows()):
            groups_by_key.setdefault(key, []).append(place)
        members = list(groups_by_key.values())
        firsts = np.array([group[0] for group in members], dtype=np.intp)
        in_order = np.array([place for group in members for place in group], dtype=np.intp)
        return take_rows(rows[keys], firsts), in_order, np.array([*map(len, members)], dtype=np.intp)
    if rows.height <= _FEW:
        groups = rows.select(keys).with_row_index(_AT).group_by(keys, maintain_order=True).agg(_AT)
        at, lengths = groups[_AT].explode(empty_as_null=False), groups[_AT].list.len()
        return groups.drop(_AT), at.to_numpy().astype(np.intp), lengths.to_numpy().astype(np.intp)
    code = codes(rows, keys)
    places, counts = order([code]), np.bincount(code)
    counts = counts[counts > 0]
    return take_rows(rows.select(keys), places[np.cumsum(counts) - counts]), places, counts


def expand_ranges(starts: Places, lengths: Places) -> Places:
    """Returns the places in several ranges, given by start and length, one range after the other."""
    ends = np.cumsum(lengths)
    places: Places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - lengths), lengths)
    return places


def vstack_frames(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Returns the rows of all frames, one frame after the other. The frames have the same columns."""
    filled = [frame for frame in frames if frame.height] or frames[:1]
    return reduce(pl.DataFrame.vstack, filled)


def grouped(frame: pl.DataFrame, by: list[str], aggregations: list[pl.Expr]) -> pl.DataFrame:
    """Aggregates groups of rows. The groups come in the order of their first rows.

    The same rows always give the same bits. The streaming engine of Polars is a third faster, but it adds the
    floats of a group in an order that changes from call to call.
    """
    if frame.height <= _FEW:  # the optimizer would take longer than the work
        return frame.group_by(by, maintain_order=True).agg(aggregations)
    numbers = MixedRadix.fitting(frame, by)
    if numbers is not None:
        coded = frame.lazy().group_by(numbers.code.alias(_CODE), maintain_order=True).agg(aggregations)
        groups = coded.collect(engine="in-memory")
        return groups.select(*numbers.digits(pl.col(_CODE)), pl.exclude(_CODE))
    return frame.lazy().group_by(by, maintain_order=True).agg(aggregations).collect(engine="in-memory")


def join_frames(
    rows: pl.DataFrame,
    others: pl.DataFrame,
    by: Sequence[str],
    how: Literal["inner", "left", "semi"] = "inner",
) -> pl.DataFrame:
    """Returns the rows with the columns of the others that have the same keys, in the order of the rows.

    With "semi" the columns of the others are left out.

    Null equals null, and NaN equals NaN. Polars 2.1 does not match NaN when it joins by a single column of
    floats that is sorted on both sides. When it joins by two columns, it does. So a constant column is added.
    """
    if len(by) > 1 or not rows.schema[by[0]].is_float():
        return rows.join(others, on=by, how=how, nulls_equal=True, maintain_order="left")
    constant = pl.lit(0, dtype=pl.Int8).alias(_ONE)
    both = rows.with_columns(constant).join(
        others.with_columns(constant), on=[*by, _ONE], how=how, nulls_equal=True, maintain_order="left"
    )
    return both.drop(_ONE)


def without(rows: pl.DataFrame, others: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Returns the rows whose keys none of the others has, in their order.

    Null equals null. Only the keys are joined, not whole rows.
    """
    if rows.is_empty() or others.is_empty():
        return rows
    pairs = few_pairs(rows, others, by)
    if pairs is not None:
        others_left = np.ones(rows.height, dtype=np.bool_)
        others_left[pairs[0]] = False
        return rows if not len(pairs[0]) else take_rows(rows, np.flatnonzero(others_left))
    places = rows.select(by).with_row_index(_AT)
    left = places.join(others, on=by, how="anti", nulls_equal=True, maintain_order="left")[_AT]
    return rows if len(left) == rows.height else take_rows(rows, left.to_numpy().astype(np.intp))


def semi_join(rows: pl.DataFrame, others: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Returns the rows whose keys are in `others`, in their order. There each key occurs once."""
    pairs = few_pairs(rows, others, by)
    return join_frames(rows, others, by, how="semi") if pairs is None else take_rows(rows, pairs[0])


def few_pairs(rows: pl.DataFrame, others: pl.DataFrame, by: Sequence[str]) -> tuple[Places, Places] | None:
    """Returns the places of rows and others that have the same keys, in the order of the rows.

    None if the others are many, or if their values cannot be compared one by one. A join of few rows takes
    several times as long as these comparisons.
    """
    if others.height > _VERY_FEW or not others.height or not rows.height:
        return None
    mine, keys = [rows.get_column(name) for name in by], [others.get_column(name) for name in by]
    if not all(column.dtype in _COMPARED and not column.has_nulls() for column in (*mine, *keys)):
        return None
    sides = [*zip(mine, keys, strict=True)]
    masks = [
        np.logical_and.reduce([(column == key[place]).to_numpy() for column, key in sides])
        for place in range(others.height)
    ]
    places = [np.flatnonzero(mask) for mask in masks]
    which = np.repeat(np.arange(len(places)), [len(at) for at in places])
    at = np.concatenate(places)
    in_order = np.argsort(at, kind="stable")
    return at[in_order], which[in_order]


def equal(rows: pl.DataFrame, at: Places, others: pl.DataFrame, which: Places, names: Sequence[str]) -> Mask:
    """Returns whether the rows at each pair of places in two frames are equal in the given columns.

    Null equals null.
    """
    return equal_columns(rows, at, names, others, which, names)


def equal_columns(
    rows: pl.DataFrame,
    at: Places,
    names: Sequence[str],
    others: pl.DataFrame,
    which: Places,
    other_names: Sequence[str],
) -> Mask:
    """Returns whether the rows at each pair of places are equal in pairs of columns, given by their names.

    Null equals null.
    """
    same = np.ones(len(at), dtype=np.bool_)
    for mine, other in zip(names, other_names, strict=True):
        same &= equal_values(rows[mine], at, others[other], which)
    return same


def equal_values(mine: pl.Series, at: Places, other: pl.Series, which: Places) -> Mask:
    """Returns whether the values at each pair of places in two columns are equal. Null equals null."""
    if (
        mine.dtype.is_integer()
        and other.dtype.is_integer()
        and not mine.null_count()
        and not other.null_count()
    ):
        plain: Mask = mine.to_numpy()[at] == other.to_numpy()[which]
        return plain
    return mine.gather(at).eq_missing(other.gather(which)).to_numpy()


def output_key(name: str, dtype: pl.DataType) -> pl.Expr:
    """Returns a key column as outputs show it: -0.0 is 0.0 (semantics 15.2)."""
    value = pl.col(name)
    return pl.when(value == 0).then(0.0).otherwise(value).alias(name) if dtype.is_float() else value


def greatest(values: pl.Series) -> int:
    """Returns the largest absolute value of whole numbers or unscaled decimals, 0 if there are none."""
    whole = values if values.dtype.is_integer() else values.to_physical()
    low, high = whole.min(), whole.max()
    return max(abs(low), abs(high)) if isinstance(low, int) and isinstance(high, int) else 0
