"""Specifications: frozen, comparable, printable, JSON-able values. They carry no behaviour."""

from panewise.spec.aggregates import Aggregate, UserAggregate
from panewise.spec.custom import Custom
from panewise.spec.operator import PANE_COLUMNS, UNLIMITED, Position, WindowOperator
from panewise.spec.triggers import DEFAULT_TRIGGER, AfterCount, AfterWatermark, Always, Every, Never, Trigger
from panewise.spec.windows import (
    Calendar,
    Cumulating,
    Global,
    Hopping,
    Session,
    Tumbling,
    Window,
    columns_of,
    gap_columns,
    merging,
    merging_at_touch,
)

__all__ = [
    "DEFAULT_TRIGGER",
    "PANE_COLUMNS",
    "UNLIMITED",
    "AfterCount",
    "AfterWatermark",
    "Aggregate",
    "Always",
    "Calendar",
    "Cumulating",
    "Custom",
    "Every",
    "Global",
    "Hopping",
    "Never",
    "Position",
    "Session",
    "Trigger",
    "Tumbling",
    "UserAggregate",
    "Window",
    "WindowOperator",
    "columns_of",
    "gap_columns",
    "merging",
    "merging_at_touch",
]
