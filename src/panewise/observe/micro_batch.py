"""What one micro-batch of a query reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from panewise.observe.activity import Activity

TIMINGS = ("EARLY", "ON_TIME", "LATE")


@dataclass(frozen=True)
class BatchFigures:
    """The figures of one operator in one micro-batch (semantics 15.5 to 15.7).

    Attributes:
        counts: `rows_in`, `applied`, `replays`, `late`, `invalid` and `panes`.
        timings: the numbers of panes by timing. Rows that are not panes have none.
        late: the late rows by reason.
        invalid: the invalid rows by reason.
        state: `shards`, `live`, `state_bytes`, and `oldest_end`, `watermark` and `watermark_delay` in
            microseconds, None where there is none.
        activity: what happened to windows, shards and keys; None if the query reports none.
    """

    counts: Mapping[str, int]
    timings: Mapping[str, int] = field(default_factory=dict)
    late: Mapping[str, int] = field(default_factory=dict)
    invalid: Mapping[str, int] = field(default_factory=dict)
    state: Mapping[str, int | None] = field(default_factory=dict)
    activity: Activity | None = None


@dataclass(frozen=True)
class MicroBatch:
    """The report of one micro-batch.

    Attributes:
        query: the name of the query, else its id.
        batch: the number of the micro-batch.
        rows: the rows that Spark has read from the sources.
        seconds: the duration of the micro-batch.
        operators: the figures of each operator, by the name under which it is observed.
        began: when it began, in microseconds; None if that is not known.
    """

    query: str
    batch: int
    rows: int
    seconds: float
    operators: Mapping[str, BatchFigures]
    began: int | None = None
