"""Markers, and rows that are invalid as tuples, of policy windows (semantics 10.1, 10.4, 10.5)."""

from panewise.oracle.columns import is_nan
from panewise.oracle.rows import Row
from panewise.spec import StreamWindow
from panewise.spec.operators.policy.policies import DeltaPolicy, PunctPolicy


def is_marker(spec: StreamWindow, row: Row) -> bool:
    """Returns whether the row is a marker; null is not true (semantics 10.5)."""
    return isinstance(spec.evict, PunctPolicy) and row.values[spec.evict.column] is True


def invalid_tuple_reason(spec: StreamWindow, row: Row) -> str | None:
    """Returns the reason why a row that passed all other tests is invalid as a tuple.

    Tests the keys and the values of `delta` columns (semantics 10.1, 10.4). Returns None for a marker and
    for a valid row.
    """
    if is_marker(spec, row):
        return None
    for name in () if spec.null_keys else spec.partition_by:
        if row.values[name] is None:
            return f"key {name} is null (null_keys=False)"
    for name in () if spec.null_keys else spec.partition_by:
        if is_nan(row.values[name]):
            return f"key {name} is NaN (null_keys=False)"
    for policy in (spec.evict, spec.trigger):
        if isinstance(policy, DeltaPolicy) and row.values[policy.column] is None:
            return f"delta {policy.column} is null"
        if isinstance(policy, DeltaPolicy) and is_nan(row.values[policy.column]):
            return f"delta {policy.column} is NaN"
    return None
