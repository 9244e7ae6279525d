"""Policy windows, as in IBM Streams: their specification, policies and listeners (semantics 10).

>>> from panewise.streamwindow import StreamWindow, count, delta
>>> StreamWindow.sliding(delta("age", 2), count(5)).evict
DeltaPolicy(column='age', amount=2)
"""

from typing import TYPE_CHECKING, NoReturn

from panewise.replaced_names import no_attribute
from panewise.spec.operators.policy.events import StoredPartition, WindowEvent
from panewise.spec.operators.policy.listener import WindowListener
from panewise.spec.operators.policy.operator import StreamWindow
from panewise.spec.operators.policy.policies import (
    count,
    delta,
    partition_age,
    partition_count,
    punct,
    time,
    tuple_count,
)

__all__ = [
    "StoredPartition",
    "StreamWindow",
    "WindowEvent",
    "WindowListener",
    "count",
    "delta",
    "partition_age",
    "partition_count",
    "punct",
    "time",
    "tuple_count",
]


if not TYPE_CHECKING:  # with it type checkers would accept every name

    def __getattr__(name: str) -> NoReturn:
        no_attribute(__name__, name)
