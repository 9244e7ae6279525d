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
    Chain,
    Cumulating,
    Custom,
    Every,
    Global,
    Hopping,
    Never,
    OnDelta,
    OnPunctuation,
    OrFinally,
    Position,
    Repeatedly,
    Session,
    Stage,
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
    "Chain",
    "Cumulating",
    "Custom",
    "DataLossWarning",
    "Duration",
    "Every",
    "Global",
    "Hopping",
    "IdleTriggerWarning",
    "Never",
    "OnDelta",
    "OnPunctuation",
    "OrFinally",
    "PanewiseError",
    "Position",
    "Repeatedly",
    "Session",
    "SpecError",
    "Stage",
    "Tumbling",
    "UserAggregate",
    "WindowOperator",
    "policies",
]
