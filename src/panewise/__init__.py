"""Window operators for streams: on PySpark, and in tests in this process.

A :class:`WindowOperator` says which windows rows go to, when panes of them are sent, and what they hold.
``panewise.spark`` runs it over a DataFrame, ``panewise.testing`` over a list of events.
"""

from panewise.chrono import Duration
from panewise.errors import DataLossWarning, IdleTriggerWarning, PanewiseError, SpecError
from panewise.spec import (
    UNLIMITED,
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterEventTime,
    AfterProcessingTime,
    AfterWatermark,
    Aggregate,
    Always,
    Calendar,
    Cumulating,
    Custom,
    Every,
    FixedLag,
    Global,
    Hopping,
    Inputs,
    Never,
    OnDelta,
    OnPunctuation,
    OrFinally,
    Position,
    Repeatedly,
    Session,
    Tumbling,
    UserAggregate,
    WindowOperator,
    policies,
)

__version__ = "0.1.0"

__all__ = [
    "UNLIMITED",
    "AfterAll",
    "AfterAny",
    "AfterCount",
    "AfterEach",
    "AfterEventTime",
    "AfterProcessingTime",
    "AfterWatermark",
    "Aggregate",
    "Always",
    "Calendar",
    "Cumulating",
    "Custom",
    "DataLossWarning",
    "Duration",
    "Every",
    "FixedLag",
    "Global",
    "Hopping",
    "IdleTriggerWarning",
    "Inputs",
    "Never",
    "OnDelta",
    "OnPunctuation",
    "OrFinally",
    "PanewiseError",
    "Position",
    "Repeatedly",
    "Session",
    "SpecError",
    "Tumbling",
    "UserAggregate",
    "WindowOperator",
    "policies",
]
