"""Policy windows, as in IBM Streams: their specification, policies and listeners (semantics 10).

>>> from panewise.streamwindow import StreamWindow, count, delta
>>> StreamWindow.sliding(delta("age", 2), count(5)).evict
DeltaPolicy(column='age', amount=2)
"""

from panewise.spec.streamevent import HeldPartition, WindowEvent
from panewise.spec.streamlistener import WindowListener
from panewise.spec.streampolicies import count, delta, partition_age, partition_count, punct, time, tuple_count
from panewise.spec.streamwindow import StreamWindow

__all__ = [
    "HeldPartition",
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
