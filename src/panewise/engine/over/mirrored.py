"""Descending event time, as the same operator in ascending order (semantics 29.13).

Rows pass in ascending event time, whatever the order of the windows is. So the engine computes every operator
in that order. What is before a row in descending order is after it in ascending order: bounds of frames
exchange their places and signs, and lag and lead each other. Only aggregates and `nth_value` then still read
their frame from its end (:attr:`panewise.engine.over.plan.OverPlan.from_end`).
"""

from dataclasses import replace

from panewise.spec import OverColumn, OverOperator, RowFunction


def in_ascending_order(spec: OverOperator) -> OverOperator:
    """Returns the operator with ascending event time whose sequences are those of `spec`, reversed."""
    if not spec.backwards:
        return spec
    return replace(
        spec,
        columns=tuple(map(_column, spec.columns)),
        descending=tuple(name for name in spec.order if name not in spec.descending),
        nulls_last=tuple(name for name in spec.order if name not in spec.nulls_last),
    )


def _column(column: OverColumn) -> OverColumn:
    what, frame = column.what, column.frame
    if frame is not None:
        return OverColumn(what, replace(frame, start=_opposite(frame.end), end=_opposite(frame.start)))
    assert isinstance(what, RowFunction)
    return OverColumn(replace(what, fn="lead" if what.fn == "lag" else "lag"))


def _opposite(bound: int | None) -> int | None:
    return None if bound is None else -bound
