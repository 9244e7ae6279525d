"""Joins, as :class:`panewise.engine.family_parts.EngineParts`.

Operators are imported when they are used: where rows are only packed, a plan is enough.

Stored tables. The page docs/reference/state-tables.md is made from what follows.

The field `match` distinguishes the specification. With a field `then` it is that of windows over a join
(42). Tables after 0, left, and 1, right:

- `Interval`: left and right *matches*, then left and right *queues*, then left and right *counts*, as far
  as they exist
- `AsOf`: none; "forward" and "nearest" without a tolerance: 2, left overdue, 3, left checks, 4, right
  passing
- `LastRows` by event time: none
- `LastRows` by arrival: `left`, `semi` and `anti`: 2, left matches, unless `left` is 0
- `Latest`: matches of the sides whose rows are emitted without a partner
- `WindowedStreams`: 2, left waiting, and 3, right waiting
- `SameWindow`: 2, windows; then *merged* and *emitted*, as far as they exist

**The rows of the sides** have the keys, the columns that are emitted or that the condition reads,
`__time` (0 without event times), `__join_number`, which identifies them, and `__end`. No run hides rows
of another run. Rows with a null key are stored only with `SameWindow`. `__end` is

- with an `Interval` the last instant that matches the row, saturating; of a retained side (37.1)
  `__time` + `retain_for`, saturating, or 2^63 - 1;
- with `AsOf` the instant that the right horizon passes when the left row is decided, and the last instant
  of a left row that a right row matches, saturating; without a tolerance the time of the row, of a right
  row with "nearest" 2^63 - 1;
- with `LastRows` by arrival and `Latest` the last processing time at which the row is in its window
  (`time(d)`) or not too old (`ttl`), else 2^63 - 1;
- with `WindowedStreams` the event time;
- with `SameWindow` the end of the row's last window, or 2^63 - 1 for sessions and Global. With custom
  windows there is a row for each window, identified by `__start` and `__join_number`; if they merge,
  `__end` is 2^63 - 1.

A row expires once the horizon of its table, which follows from H of the other side (36.3), is above
`__end`. Merges of runs remove rows that are no longer needed: those that `retain_rows` or a window by
arrival has evicted (by `count(n)` with n later rows of their key, by `delta` before the `__since` of the
key's last row), right rows of `AsOf` with a later row of their key that no left row precedes any more,
rows in no live session, and deleting rows of `Latest` (`__deletes`) if no older run may have rows of
their key.

- **Matches** have `__join_number` and `__end` of a stored row that got a partner after its arrival
  (`LastRows` by arrival: of every row that got one), because stored rows never change. Left matches exist
  for `left`, `full`, `semi` and `anti`, right ones for `right` and `full`. With `semi` and `anti` a left
  row that has a partner when it arrives is not stored. With `retain_rows` a match is deleted when its row
  is evicted.
- **Queues** exist with "final", for the sides whose rows are emitted without a partner: the columns to be
  emitted, in the order of `__end`, then of `__join_number`. When `__end` is due the row is emitted,
  unless it has a match, or its `__ordinal` is lower than the count of its key by more than `retain_rows`.
- **Counts** exist with `retain_rows`: the keys, `__count` and the last `__join_number`, the highest of
  which counts.
- **Left overdue** are left rows that the right horizon has passed and that are not decided (37.23).
  `__end` is the instant that the horizon passes when the row is decided if no nearer right row comes,
  2^63 - 1 without a right row. **Left checks**, with "nearest", have the keys, `__join_number` and
  `__end` of those below 2^63 - 1, **right passing** those of the right rows that the horizon has not
  passed.
- **Waiting** rows have `__release` and `__complete`. They are deleted when they are released. The
  `__join_number` of released rows is their place among all released rows.
- **Windows** are table 0 of a window operator (37.11), empty if every window fires once, when it expires.
  The keys are `row:key:0` and so on, here and in the next two tables. The aggregate is the highest
  `__join_number` of a window, and `__live:newest` that of its live pane.
- **Merged** exists if windows merge and are not "retracting": keys, `__start`, `__until` and `newest`
  (the highest `__join_number`) of the last pane of a session that has merged into one that has not fired
  yet.
- **Emitted** exists if rows can be retracted or the accumulation is "accumulating", unless every window
  fires once: keys, `__start` and `__until` of bounds that have fired, and what retractions repeat (37.20,
  37.21). With "retracting" `timing`; with "accumulating" `panes` and `nonspeculative`; with "discarding"
  `early`, `in_time` and `newest`, the highest `__join_number` in its last EARLY pane, in its last pane
  that is not LATE, and in its last pane, the first two -1 if there is none. Older states lack the table.

Horizons of tables 0 and 1:

- `LastRows` by arrival, `Latest`: the processing time minus 1 with `time` and with a `ttl`, else none;
  2^63 - 1 if H of the other side is plus infinity
- `WindowedStreams`: the higher of two instants, less 1: the lower one of H of the other side and the
  event times of its rows that wait, less the size; and the watermark of the own side less its `retention`
- `SameWindow`: also of "windows", and of "emitted" unless windows merge: the watermark of the windows
  less `allowed_lateness`; none with Global and unlimited lateness
- all others: H of the other side
"""

from typing import TYPE_CHECKING, Final

from panewise.engine.family_parts import EngineParts, on_call
from panewise.engine.join.plan import JoinPlan
from panewise.families import part
from panewise.spec import JoinOperator

if TYPE_CHECKING:
    from panewise.engine.join.match_engine import MatchEngine


def _match_engine(spec: JoinOperator) -> "MatchEngine":
    engine: MatchEngine = part("panewise.engine.join.match_engine:match_engine")(spec.match)
    return engine


PARTS: Final = EngineParts(
    compile=JoinPlan.compile,
    operator=lambda spec, schemas: _match_engine(spec).operator(spec, schemas),
    tables=lambda spec: _match_engine(spec).tables(spec),
    inspect=lambda spec, header, read: _match_engine(spec).inspect(spec, header, read),
    take_over=on_call("panewise.engine.join.evolution:take_over"),
    record_rows=lambda plan: _match_engine(plan.spec).record_rows(plan),
    division=on_call("panewise.engine.join.division:division"),
    header_rules=lambda spec: _match_engine(spec).header_rules,
    settled=on_call("panewise.engine.join.division:settled"),
)
