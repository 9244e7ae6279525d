"""The plan of policy windows: their specification, compiled for the types of the input columns.

Invariant: the columns of the table follow from the specification and these types alone. So a stored state
fits the plan of a later start. Cost: a plan is compiled once for an operator.
"""

import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.types import types_of
from panewise.engine.columns import (
    ACTED,
    ARRIVED,
    CHANGED,
    END,
    FED,
    FULL,
    LISTENER,
    REFERENCE,
    START,
    TUPLES,
    UNTRIGGERED,
    USED,
    user_columns,
)
from panewise.engine.ingest.validate import InputPort, UncombinedPort, check_units
from panewise.engine.kernels.column_types import NAMED, Dtypes
from panewise.engine.kernels.small_frames import output_key
from panewise.engine.tables.run import Shape
from panewise.errors import InputError
from panewise.spec import StreamWindow
from panewise.spec.operators.policy.events import name_of
from panewise.spec.operators.policy.policies import DeltaPolicy, TimePolicy
from panewise.spec.type_checks import check_types


class PolicyPlan(UncombinedPort, InputPort):
    """The compiled policies.

    Attributes:
        output_keys: the expressions of the keys, as outputs show them.

    The table has one row for each partition. The end of the row is the first processing time at which
    something is due in the partition. So the table finds the partitions that a reading of the clock concerns
    without looking at the others. The rules of tuples are applied after validation, because markers need not
    follow them (semantics 10.5).
    """

    def __init__(self, spec: StreamWindow, schema: Mapping[str, pl.DataType]) -> None:
        super().__init__(spec.tuples, schema)
        self.spec = spec
        # As a key -0.0 is 0.0 (semantics 15.2).
        self.output_keys = [
            output_key(key, self.schema[key]) if key in self.schema else pl.col(key) for key in self.keys
        ]
        check_types(spec, types_of(self.schema))
        deltas = [policy for policy in (spec.evict, spec.trigger) if isinstance(policy, DeltaPolicy)]
        check_units([policy.column for policy in deltas], self.schema)
        self.output_columns = self._output_columns()
        self.aggregation = Aggregation(spec.aggregates, self.schema) if spec.aggregates else None
        self.stored_columns = self._stored_columns()
        self.contents = self._contents()
        self.pane_schema: Dtypes = {
            **{key: self.schema[key] for key in spec.partition_by},
            "event": pl.String(),
            **self.contents,
            "processing_time": pl.Int64(),
        }
        self.table_schema = {**self.key_types, START: pl.Int64(), END: pl.Int64(), **self._bookkeeping()}
        self.shape = Shape(self.table_schema, self.keys, self.keys)

    def named(self, partition: Mapping[str, Any]) -> pl.DataFrame:
        """Returns the key of the partition with these values of the `partition_by` columns, as one row.

        Raises:
            InputError: if the columns or the types of the values are others, or there is no `partition_by`.
        """
        call = f"an evict of {partition!r}"
        values = name_of(partition, self.spec.partition_by, call)
        for name, value in zip(self.keys, values, strict=True):
            if not _is_of(value, self.schema[name]):
                raise InputError(
                    call, f"{name} is of the type {self.schema[name]}", "give a value of this type"
                )
        columns = [
            pl.Series(name, [value], dtype=self.schema[name])
            for name, value in zip(self.keys, values, strict=True)
        ]
        return pl.DataFrame(columns).select(self.output_keys)

    @property
    def times_tuples(self) -> bool:
        """Whether the processing time at which each tuple arrived is stored."""
        return self.spec.kind == "sliding" and isinstance(self.spec.evict, TimePolicy)

    def _output_columns(self) -> Dtypes:
        """Returns the columns of tuples that panes or listeners show; none with aggregates."""
        if self.spec.aggregates:
            return {}
        return {name: self.schema[name] for name in self.spec.columns or user_columns(self.schema)}

    def _stored_columns(self) -> Dtypes:
        """Returns the columns of tuples that are stored.

        There is at least one, as the number of rows without columns would be lost.
        """
        read = [column for aggregate in self.spec.aggregates for column in aggregate.columns]
        compared = [self.spec.evict.column] if isinstance(self.spec.evict, DeltaPolicy) else []
        names = (
            dict.fromkeys((*self.output_columns, *read, *compared))
            or (*self.spec.columns_read, *self.schema)[:1]
        )
        return {name: self.schema[name] for name in names}

    def _contents(self) -> Dtypes:
        """Returns the columns of a pane between `event` and `processing_time`."""
        if self.aggregation is not None:
            return dict(self.aggregation.result_types)
        if self.spec.listener is not None:
            return {name: NAMED[kind] for name, kind in self.spec.listener.outputs}
        return {"tuples": pl.List(pl.Struct(self.output_columns))}

    def _bookkeeping(self) -> Dtypes:
        columns: Dtypes = dict.fromkeys((USED, FED, ACTED, UNTRIGGERED), pl.Int64()) | dict.fromkeys(
            (FULL, CHANGED), pl.Boolean()
        )
        columns[TUPLES] = pl.List(pl.Struct(self.stored_columns))
        if self.times_tuples:
            columns[ARRIVED] = pl.List(pl.Int64())
        if isinstance(self.spec.trigger, DeltaPolicy):
            columns[REFERENCE] = comparable_type(self.schema[self.spec.trigger.column])
        if self.spec.listener is not None:
            columns[LISTENER] = pl.String()
        return columns


def comparable_type(dtype: pl.DataType) -> pl.DataType:
    """Returns the type in which values of a column are compared: Int64 microseconds for timestamps."""
    return pl.Int64() if isinstance(dtype, pl.Datetime) else dtype


def _is_of(value: Any, dtype: pl.DataType) -> bool:
    """Returns whether a column of the type can contain a value unchanged; it can always contain None.

    A column of doubles can contain a whole number. No column of numbers can contain True.
    """
    if isinstance(value, bool) != (dtype == pl.Boolean()):
        return value is None
    if isinstance(value, float) and math.isnan(value):  # the comparison below would be false
        return dtype.is_float()
    try:
        return bool(pl.Series([value], dtype=dtype).to_list() == [value])
    except (TypeError, OverflowError):
        return False
