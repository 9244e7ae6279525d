"""Input ports: what an operator reads of the rows of an input, and their validation (semantics 15).

Validation depends on the row alone, and comes before replay and lateness.

Most batches have no invalid row. So cheap statistics of the columns, such as the number of nulls, first
decide which tests are made at all. Then one expression decides whether any row fails. Only if one does,
reasons are computed. The cost is one pass over the columns that are tested.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeAlias

import polars as pl

from panewise.chrono import MIN_INSTANT, saturating_add
from panewise.engine.columns import ONE_KEY, PLACE, REASON, ROW, TIME, key_columns
from panewise.engine.ingest import arrival
from panewise.engine.ingest.late_output import late_schema
from panewise.engine.ingest.output import Output
from panewise.engine.kernels.small_frames import constant_column
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spec import Entry, RowInputs, row_driven

BAD_TIME, OUT_OF_RANGE, BAD_TYPE = "__bad_time", "__out_of_range", "__bad_type"
FAULTS = (BAD_TIME, OUT_OF_RANGE, BAD_TYPE)  # flags of rows whose columns were not typed

Assign: TypeAlias = Callable[[pl.DataFrame], tuple[pl.DataFrame, pl.DataFrame]]


@dataclass(frozen=True)
class ValidationResult:
    """The valid and the invalid rows of a batch.

    `valid` rows have ``__time`` and ``__place``, and ``__slice`` if their windows are fixed. `invalid` rows
    are in arrival order, and have ``__place`` and ``__reason``.
    """

    valid: pl.DataFrame
    invalid: pl.DataFrame


def validate(
    spec: Entry,
    schema: Iterable[str],
    rows: pl.DataFrame,
    processing_time: int,
    assign: Assign | None = None,
    compared: Sequence[str] = (),
) -> ValidationResult:
    """Returns the valid rows of a batch, and the invalid ones with the reason (semantics 15).

    Validation needs no state, so it runs where rows are read.

    Args:
        schema: the columns of the input.
        assign: adds windows to rows. It returns the rows that have a window and, with ``__reason``, the
            unassignable rows.
        compared: the columns of deltas, in which each row has a value (semantics 10.4).
    """
    columns = list(schema)
    faults = [fault for fault in FAULTS if fault in rows.columns and fault not in columns]
    extra = [column for column in (PLACE,) if column in rows.columns]
    rows = rows[[*columns, *faults, *extra]]
    if not spec.keys:
        rows = rows.hstack([constant_column(ONE_KEY, 0, pl.Int8(), rows.height)])
    valid, invalid = _split(spec, rows if extra else arrival.placed(rows), processing_time, compared)
    if assign is not None:
        valid, unassignable = assign(valid)
        invalid = invalid if unassignable.is_empty() else pl.concat([invalid, unassignable], how="diagonal")
    ordered = arrival.in_order(spec, invalid) if invalid.height else invalid
    return ValidationResult(valid.drop(faults) if faults else valid, ordered[[*columns, REASON, PLACE]])


def _split(
    spec: Entry, rows: pl.DataFrame, processing_time: int, compared: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the valid rows and, with the reason, the invalid rows. Both have ``__time``."""
    rows = with_time(spec, rows, processing_time)
    reasons = [*_reasons(spec, rows, processing_time), *delta_tests(rows, compared)]
    if (
        rows.is_empty()
        or not reasons
        or not rows.select(pl.any_horizontal(test for test, _ in reasons).any()).item()
    ):
        return all_valid(rows)
    valid, invalid = split_by_reason(rows.with_columns(first_reason(reasons).alias(REASON)))
    return valid, _with_type_names(invalid)


def with_time(spec: Entry, rows: pl.DataFrame, processing_time: int) -> pl.DataFrame:
    """Returns the rows with their event times as 64-bit integers in ``__time``.

    Without a column of event times, these are the processing time of arrival (semantics 6.7, 8.5).
    """
    if TIME in rows.columns:
        rows = rows.drop(TIME)
    if not spec.time_columns:
        return rows.hstack([constant_column(TIME, processing_time, pl.Int64(), rows.height)])
    (name,) = spec.time_columns
    time = rows.get_column(name)
    if time.dtype != pl.Int64:
        in_microseconds = isinstance(time.dtype, pl.Datetime) and time.dtype.time_unit == "us"
        time = time.cast(pl.Int64) if in_microseconds else time.dt.epoch("us")
    return rows.hstack([time.alias(TIME)])


def all_valid(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows as valid ones, and no invalid ones."""
    return rows, rows.clear().hstack([pl.Series(REASON, [], pl.String())])


def first_reason(tests: Iterable[tuple[pl.Expr, str]]) -> pl.Expr:
    """Returns the reason of the first test that says that a row is invalid; null if none does."""
    return pl.coalesce(pl.when(test).then(pl.lit(reason)) for test, reason in tests)


def split_by_reason(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows without a reason as valid ones, and the others."""
    invalid = pl.col(REASON).is_not_null()
    return rows.filter(~invalid).drop(REASON), rows.filter(invalid)


def _time_reasons(rows: pl.DataFrame) -> list[tuple[pl.Expr, str]]:
    columns, time, tests = set(rows.columns), rows[TIME], list[tuple[pl.Expr, str]]()
    bad_time = pl.col(BAD_TIME) if BAD_TIME in columns else pl.lit(False)
    wide = pl.col(OUT_OF_RANGE) if OUT_OF_RANGE in columns else pl.lit(False)
    if time.null_count():
        tests.append((pl.col(TIME).is_null() & ~bad_time & ~wide, "event time is null"))
    if BAD_TIME in columns:
        tests.append((bad_time, "event time is not a timestamp"))
    if OUT_OF_RANGE in columns or time.min() == MIN_INSTANT:
        tests.append((wide | (pl.col(TIME) == MIN_INSTANT), "event time out of range"))
    return tests


def _reasons(spec: Entry, rows: pl.DataFrame, processing_time: int) -> list[tuple[pl.Expr, str]]:
    """Returns pairs of a test and its reason, in the order of semantics 15.

    A test is left out if statistics of its column show that no row can fail it.
    """
    tests = _time_reasons(rows)
    bad_type = pl.col(BAD_TYPE) if BAD_TYPE in rows.columns else pl.lit(None, dtype=pl.String)

    def refuse_nulls(column: str, reason: str) -> None:
        if rows[column].null_count():
            tests.append((pl.col(column).is_null() & (bad_type.is_null() | (bad_type != column)), reason))

    keys = () if spec.null_keys else spec.keys
    for key in keys:
        refuse_nulls(key, f"key {key} is null (null_keys=False)")
    floats = [key for key in keys if rows.schema[key].is_float()]
    tests += [
        (pl.col(key).is_nan().fill_null(False), f"key {key} is NaN (null_keys=False)") for key in floats
    ]
    for column in (spec.position.partition, spec.position.offset) if spec.position else ():
        refuse_nulls(column, "position is null")
    if BAD_TYPE in rows.columns:
        tests.append((bad_type.is_not_null(), BAD_TYPE))
    if spec.max_future_skew is not None:
        latest = saturating_add(processing_time, spec.max_future_skew.us)
        tests.append(((pl.col(TIME) > latest).fill_null(False), "event time is too far ahead"))
    inputs = None if spec.watermark is None else row_driven(spec.watermark)
    if inputs is not None and inputs.column is not None:
        refuse_nulls(inputs.column, f"input {inputs.column} is null")
        tests.append(
            (~pl.col(inputs.column).is_in(inputs.names).fill_null(True), f"input {inputs.column} is unknown")
        )
    return tests


def delta_tests(rows: pl.DataFrame, compared: Iterable[str]) -> Iterator[tuple[pl.Expr, str]]:
    """Yields the tests of columns in which each row has a value (semantics 10.4), with their reasons."""
    for name in compared:
        if rows[name].null_count():
            yield pl.col(name).is_null(), f"delta {name} is null"
        if rows.schema[name].is_float():
            yield pl.col(name).is_nan().fill_null(False), f"delta {name} is NaN"


def check_units(compared: Iterable[str], schema: Mapping[str, pl.DataType]) -> None:
    """Refuses a delta over timestamps in another unit than microseconds, which is the unit of amounts.

    Spark has no other timestamps.
    """
    for name in compared:
        dtype = schema[name]
        if isinstance(dtype, pl.Datetime) and dtype.time_unit != "us":
            rule = "a delta is of whole numbers, doubles, decimals or timestamps (semantics 10.4)"
            raise SpecError(f"delta over {name}: {dtype}", rule, "cast it to microseconds")


def _with_type_names(invalid: pl.DataFrame) -> pl.DataFrame:
    """Returns the invalid rows. For wrong types, the reason names the column."""
    if BAD_TYPE not in invalid.columns:
        return invalid
    named = (
        pl.when(pl.col(REASON) == BAD_TYPE)
        .then(pl.col(BAD_TYPE) + " has the wrong type")
        .otherwise(pl.col(REASON))
    )
    return invalid.with_columns(named.alias(REASON))


def check_columns(spec: Entry, schema: Mapping[str, pl.DataType]) -> None:
    """Refuses columns that an operator reads and that are missing, and reserved names."""
    for name in spec.columns_read:
        if name not in schema:
            remedy = f"use one of the columns {sorted(schema)}"
            raise SpecError(f"column {name!r}", "the columns that an operator reads are in its input", remedy)
    own = [name for name in schema if name.startswith("__") and name not in (ROW, *FAULTS)]
    if own:
        raise SpecError(
            f"column {own[0]!r}", "names that start with '__' are the operator's own", "rename the column"
        )


class Port(Protocol):
    """A compiled input port: validates and pre-aggregates rows where they are read. It has no state."""

    @property
    def entry(self) -> Entry:
        """The specification of the port."""

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns of the input."""

    @property
    def keys(self) -> list[str]:
        """The columns of the key; without keys a constant column."""

    @property
    def late_schema(self) -> dict[str, pl.DataType]:
        """The columns of late rows."""

    @property
    def invalid_schema(self) -> dict[str, pl.DataType]:
        """The columns of invalid rows."""

    @property
    def row_driven_inputs(self) -> RowInputs | None:
        """The inputs of `Inputs` or `StreamTime`, if rows drive their watermarks; else None."""

    @property
    def ties_matter(self) -> bool:
        """Whether rows of equal event time must keep their order even if the late output is not used."""

    @property
    def can_combine(self) -> bool:
        """Whether rows may be pre-aggregated before they reach the state, if the late output is not used."""

    @property
    def needs_clock(self) -> bool:
        """Whether the operator validates rows again, because their windows depend on its clock."""

    def validate(self, rows: pl.DataFrame, processing_time: int, *, windows: bool = True) -> ValidationResult:
        """Returns the valid and the invalid rows of a batch.

        Without `windows`, rows are not assigned to windows yet.
        """

    def combine(self, valid: pl.DataFrame, /) -> pl.DataFrame:
        """Returns the partials of valid rows; only if :attr:`can_combine`."""

    def combine_again(self, partials: pl.DataFrame, /) -> pl.DataFrame:
        """Merges the partials of several readers."""


class CombinedInput(Protocol):
    """What only operators can do whose ports combine rows before they reach the state."""

    def add_combined(self, partials: pl.DataFrame, port: str = INPUT) -> Output:
        """Adds partials that :meth:`Port.combine` returned.

        An operator with several ports may evaluate them in the next `add_together`, together with those of
        the other ports. This call then must come before the state is stored.
        """


class UncombinedPort:
    """A port that combines no rows, as the operator needs each of them, in their order."""

    can_combine = False
    ties_matter = True
    needs_clock = False

    def combine(self, valid: pl.DataFrame) -> pl.DataFrame:
        """Raises AssertionError. It is never called, because `can_combine` is False."""
        raise AssertionError("rows of this operator are never pre-aggregated")

    combine_again = combine


class EntryPort:
    """An input port that validates rows by the specification of the input.

    Attributes:
        assign: assigns valid rows to their windows; None if rows have none.
        compared: the columns of deltas, in which each row has a value (semantics 10.4).
        key_types: the types of the columns `keys`.

    Raises:
        SpecError: if a column is missing.
    """

    assign: Assign | None = None
    compared: Sequence[str] = ()

    def __init__(self, entry: Entry, schema: Mapping[str, pl.DataType]) -> None:
        check_columns(entry, schema)
        self.entry, self.schema, self.keys = entry, dict(schema), key_columns(entry.keys)
        self.key_types = {key: self.schema.get(key, pl.Int8()) for key in self.keys}
        self.row_driven_inputs = row_driven(entry.watermark)
        self.late_schema, self.invalid_schema = late_schema(self.schema), {**self.schema, REASON: pl.String()}

    def validate(self, rows: pl.DataFrame, processing_time: int, *, windows: bool = True) -> ValidationResult:
        """Returns the valid and the invalid rows of a batch.

        Without `windows`, rows are not assigned to windows yet. If windows depend on processing time,
        `processing_time` must be that of the operator.
        """
        assign = self.assign if windows else None
        return validate(self.entry, self.schema, rows, processing_time, assign, self.compared)


class InputPort(EntryPort):
    """The only input port of an operator, which is also the plan of the operator."""

    pane_schema: dict[str, pl.DataType]

    @property
    def ports(self) -> dict[str, Self]:
        """The input port."""
        return {INPUT: self}
