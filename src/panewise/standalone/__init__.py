"""Operators inside the caller's process, without Spark: in a service, a notebook or a test.

What runs texts of SQL is imported when it is first used, as it loads the parser.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from panewise.engine.ingest.output import Counts
from panewise.replaced_names import no_attribute
from panewise.standalone.aio import AsyncOperator
from panewise.standalone.buffer import WaitingMessage
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.emission import Emission, RejectedMessage
from panewise.standalone.life_cycle import LifeCycle
from panewise.standalone.net_effect import current
from panewise.standalone.operator import StandaloneOperator
from panewise.standalone.operator_store import OperatorStore
from panewise.standalone.retained.aggregator import WindowedAggregator
from panewise.standalone.retained.aio import AsyncWindows
from panewise.standalone.retained.join_window import JoinWindowOperator
from panewise.standalone.retained.outputs import RetainedMessage, WindowMetadata, WindowOutput
from panewise.standalone.retained.settings import AggregatorSettings, JoinWindowSettings

if TYPE_CHECKING:
    from panewise.standalone.streaming_sql.streaming_sql import SqlOutput, SqlQuery, sql

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
    "SqlOutput",
    "SqlQuery",
    "StandaloneOperator",
    "WaitingMessage",
    "WindowMetadata",
    "WindowOutput",
    "WindowedAggregator",
    "current",
    "sql",
]


def __getattr__(name: str) -> Any:
    if name not in ("SqlOutput", "SqlQuery", "sql"):
        no_attribute(__name__, name)
    globals()[name] = value = getattr(import_module(f"{__name__}.streaming_sql.streaming_sql"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
