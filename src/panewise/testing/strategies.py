"""Hypothesis strategies of specifications of all families, and of streams for them.

A strategy of events draws what :func:`panewise.testing.run` and :class:`panewise.testing.TestStream` take. It
does so for any specification of its family: also for yours. A strategy of specifications draws any
specification of its family, over the columns of samples. Edge cases are common: null, NaN, values of wrong
types, and times at the ends of windows.

| Family | Specifications | Events | Types of the columns |
|---|---|---|---|
| window operators | `specs()` | `events(spec)` | `types_of(spec)` |
| chains | `chains()` | `events(chain.first)` | `types_of(chain.first)` |
| OVER | `frame_specs()` | `frame_events(spec)` | `types_of(spec)` |
| deduplication | `deduplicate_specs()` | `deduplicate_events(spec)` | `types_of(spec)` |
| policy windows | `stream_windows()` | `stream_events(spec)` | `stream_types(spec)` |
| joins | `join_specs()` | `join_events(spec)` | `join_types(spec)` |
| window joins | `window_join_specs()` | `join_events(spec)` | `join_types(spec)` |
| windowed stream joins | `windowed_streams()`: a `match` for `join_specs` | as above | as above |
| windows over joins | `windowed_join_specs()` | `join_events(spec.join)` | `join_types(spec.join)` |
| cogroups | `cogroup_specs()` | `join_events(spec)` | `join_types(spec)` |

Columns that the samples do not have are bigint. Give the types of others to the events, and to `run`:

>>> from hypothesis import given, settings
>>> from hypothesis import strategies as st
>>> from panewise import Tumbling, WindowOperator
>>> from panewise import functions as F
>>> from panewise.testing import run
>>> mine = WindowOperator(keys=["airport"], window=Tumbling(10), aggregates=[F.max("day").alias("last")])
>>> types = types_of(mine) | {"airport": "string", "day": "date"}
>>> @settings(deadline=None, max_examples=5, database=None)
... @given(events(mine, types=types))
... def both_agree(stream):
...     assert run(mine, stream, types=types) == run(mine, stream, "engine", types=types)
>>> both_agree()
"""

from panewise.extras import from_extra

with from_extra("testing", "strategies are those of Hypothesis"):
    from panewise.testing.aggregates import aggregates
    from panewise.testing.chains import chains
    from panewise.testing.cogroups import cogroup_specs
    from panewise.testing.deduplicates import deduplicate_events, deduplicate_specs
    from panewise.testing.drawn_types import column_types, values_of
    from panewise.testing.event_strategies import events
    from panewise.testing.join_events import join_events, join_types
    from panewise.testing.joins import join_specs, window_join_specs
    from panewise.testing.matches.streams import windowed_streams
    from panewise.testing.over_specs import frame_events, frame_specs
    from panewise.testing.policy_events import stream_events, stream_types
    from panewise.testing.policy_specs import stream_windows
    from panewise.testing.samples import types_of
    from panewise.testing.triggers import composites, leaves, triggers
    from panewise.testing.window_specs import ALL_KINDS, COUNTED_KINDS, KINDS, evictors, specs, windows
    from panewise.testing.windowed_joins import windowed_join_specs

__all__ = [
    "ALL_KINDS",
    "COUNTED_KINDS",
    "KINDS",
    "aggregates",
    "chains",
    "cogroup_specs",
    "column_types",
    "composites",
    "deduplicate_events",
    "deduplicate_specs",
    "events",
    "evictors",
    "frame_events",
    "frame_specs",
    "join_events",
    "join_specs",
    "join_types",
    "leaves",
    "specs",
    "stream_events",
    "stream_types",
    "stream_windows",
    "triggers",
    "types_of",
    "values_of",
    "window_join_specs",
    "windowed_join_specs",
    "windowed_streams",
    "windows",
]
