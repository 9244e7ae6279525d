"""Validation of rows by the rules that only policy windows have (semantics 10.4, 10.5, 10.19)."""

from datetime import UTC, date, datetime, timedelta

import polars as pl

from panewise.engine.columns import REASON
from panewise.engine.ingest.validate import all_valid, delta_tests, first_reason, split_by_reason
from panewise.engine.policy.plan import PolicyPlan
from panewise.spec.operators.policy.policies import DeltaPolicy, PunctPolicy, policy_columns
from panewise.state.arrow_streams import as_instance

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)  # no local time is further from UTC
# Timestamps in nanoseconds need no test: in 64 bits they all lie within the years 1 to 9999.
_UNITS = {"us": timedelta(microseconds=1), "ms": timedelta(milliseconds=1)}


def is_marker(plan: PolicyPlan) -> pl.Expr:
    """Returns whether a row is a marker. Null is not true."""
    evict = plan.spec.evict
    return pl.col(evict.column).fill_null(False) if isinstance(evict, PunctPolicy) else pl.lit(False)


def split(plan: PolicyPlan, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the markers and valid tuples, and the invalid rows with their reason in ``__reason``."""
    tests = [] if rows.is_empty() else _reasons(plan, rows)
    if not tests:
        return all_valid(rows)
    return split_by_reason(
        rows.with_columns(pl.when(~is_marker(plan)).then(first_reason(tests)).alias(REASON))
    )


def _reasons(plan: PolicyPlan, rows: pl.DataFrame) -> list[tuple[pl.Expr, str]]:
    """Returns the tests with their reasons, in the order in which they apply."""
    spec, tests = plan.spec, list[tuple[pl.Expr, str]]()
    if not spec.null_keys:
        floats = [key for key in spec.partition_by if plan.schema[key].is_float()]
        tests += [
            (pl.col(key).is_null(), f"key {key} is null (null_keys=False)") for key in spec.partition_by
        ]
        tests += [
            (pl.col(key).is_nan().fill_null(False), f"key {key} is NaN (null_keys=False)") for key in floats
        ]
    deltas = [policy for policy in (spec.evict, spec.trigger) if isinstance(policy, DeltaPolicy)]
    tests += delta_tests(rows, policy_columns(*deltas))
    if spec.listener is not None:
        for name in dict.fromkeys((*spec.partition_by, *plan.output_columns)):
            beyond = _beyond(pl.col(name), plan.schema[name])
            tests += [] if beyond is None else [(beyond, f"{name} is outside the years 1 to 9999")]
    return tests


def _beyond(values: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
    """Returns whether a value contains an instant that Python cannot represent.

    The value may be a list or struct. Returns None if Python can represent all values of the type.
    """
    match dtype:
        case pl.Date():
            return ~values.is_between(date.min, date.max)
        case pl.Datetime(time_unit=unit, time_zone=zone) if unit in _UNITS:
            margin = timedelta(0) if zone in (None, "UTC") else _DAY
            first, last = ((at - _EPOCH) // _UNITS[unit] for at in (_FIRST + margin, _LAST - margin))
            return ~values.to_physical().is_between(first, last)
        case pl.List(inner=inner) | pl.Array(inner=inner):
            test = _beyond(pl.element(), as_instance(inner))
            lists = values.arr.to_list() if isinstance(dtype, pl.Array) else values
            return None if test is None else lists.list.eval(test).list.any()
        case pl.Struct(fields=fields):
            tests = [_beyond(values.struct.field(field.name), as_instance(field.dtype)) for field in fields]
            known = [test for test in tests if test is not None]
            return pl.any_horizontal(known) if known else None
    return None
