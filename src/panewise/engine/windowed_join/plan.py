"""The plan of windows over a join: the plans of both operators."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from panewise.engine.aggregate.types import types_of
from panewise.engine.join.plan import JoinPlan, SidePort
from panewise.engine.protocol import Plan, Schema, Schemas, engine_parts
from panewise.families import INPUT
from panewise.spec import WindowedJoin, parts
from panewise.spec.operators.join.columns import JOIN_TIME, LEFT

HEADER: Final = "then"  # the field of the header that has the header of the windows


@dataclass(frozen=True)
class WindowedJoinPlan:
    """The compiled specification.

    Attributes:
        spec: the specification.
        join: the plan of the join.
        rows: the columns of emitted rows, as the windows take them.
        windows: the plan of the windows over them.
    """

    spec: WindowedJoin
    join: JoinPlan
    rows: dict[str, pl.DataType]
    windows: Plan

    @classmethod
    def of(cls, spec: WindowedJoin, schemas: Schemas) -> "WindowedJoinPlan":
        """Compiles windows over a join for the columns of the inputs.

        Raises:
            SpecError: as :meth:`panewise.engine.join.plan.JoinPlan.of` does, and if the windows read a column
                that the join does not emit.
        """
        join = JoinPlan.of(spec.join, schemas)
        own = {side: _own(schemas[side]) for side in spec.join.sides}
        parts(spec).check_types(spec, {side: types_of(schema) for side, schema in own.items()})
        (time,) = spec.join.left.time_columns
        rows = join.pane_schema | {JOIN_TIME: _time(schemas[LEFT][time])}
        return cls(spec, join, rows, engine_parts(spec.windows).compile(spec.windows, {INPUT: rows}))

    @property
    def ports(self) -> Mapping[str, SidePort]:
        """The input ports, which are those of the join."""
        return self.join.ports

    @property
    def pane_schema(self) -> dict[str, pl.DataType]:
        """The columns of panes."""
        return self.windows.pane_schema


def _own(schema: Schema) -> dict[str, pl.DataType]:
    return {name: dtype for name, dtype in schema.items() if not name.startswith("__")}


def _time(dtype: pl.DataType) -> pl.DataType:
    """Returns the type of `join_time` for windows: that of event times, so that aggregates have it, too."""
    return dtype if isinstance(dtype, pl.Datetime) else pl.Int64()
