"""The plan of windows over a join: the plans of both operators."""

from typing import Final

import polars as pl

from panewise.engine.aggregate.types import types_of
from panewise.engine.columns import user_columns
from panewise.engine.family_parts import engine_parts
from panewise.engine.join.plan import JoinPlan
from panewise.engine.protocol import Schemas
from panewise.families import INPUT
from panewise.spec import WindowedJoin, parts
from panewise.spec.operators.join.columns import JOIN_TIME, LEFT

HEADER: Final = "then"  # the field of the header that has the header of the windows


class WindowedJoinPlan:
    """The compiled specification.

    Attributes:
        join: the plan of the join.
        rows: the columns of emitted rows, as the windows take them.
        ports: the input ports, which are those of the join.
        pane_schema: the columns of panes.
    """

    def __init__(self, spec: WindowedJoin, schemas: Schemas) -> None:
        self.join = JoinPlan.compile(spec.join, schemas)
        own = {side: user_columns(schemas[side]) for side in spec.join.sides}
        parts(spec).check_types(spec, {side: types_of(schema) for side, schema in own.items()})
        (time,) = spec.join.left.time_columns
        self.rows = self.join.pane_schema | {JOIN_TIME: _time(schemas[LEFT][time])}
        self.ports = self.join.ports
        self.pane_schema = engine_parts(spec.windows).compile(spec.windows, {INPUT: self.rows}).pane_schema


def _time(dtype: pl.DataType) -> pl.DataType:
    """Returns the type of `join_time` for windows: that of event times, so that aggregates have it, too."""
    return dtype if isinstance(dtype, pl.Datetime) else pl.Int64()
