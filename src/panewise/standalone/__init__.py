"""Operators inside the caller's process, without Spark: in a service, a notebook or a test."""

from panewise.engine.ingest.output import Counts
from panewise.standalone.aio import AsyncOperator
from panewise.standalone.buffer import WaitingMessage
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.emission import Emission, RejectedMessage
from panewise.standalone.life_cycle import LifeCycle
from panewise.standalone.operator import StandaloneOperator
from panewise.standalone.operator_store import OperatorStore
from panewise.standalone.retained.aggregator import WindowedAggregator
from panewise.standalone.retained.aio import AsyncWindows
from panewise.standalone.retained.join_window import JoinWindowOperator
from panewise.standalone.retained.outputs import RetainedMessage, WindowMetadata, WindowOutput
from panewise.standalone.retained.settings import AggregatorSettings, JoinWindowSettings

__all__ = [
    "AggregatorSettings",
    "AsyncOperator",
    "AsyncWindows",
    "Callbacks",
    "Counts",
    "Emission",
    "JoinWindowOperator",
    "JoinWindowSettings",
    "LifeCycle",
    "OperatorStore",
    "RejectedMessage",
    "RetainedMessage",
    "StandaloneOperator",
    "WaitingMessage",
    "WindowMetadata",
    "WindowOutput",
    "WindowedAggregator",
]
