"""The aggregates of an OVER operator, grouped by frame and compiled."""

from dataclasses import dataclass

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.holistic import range_aggregation
from panewise.engine.kernels.column_types import Dtypes
from panewise.spec import Aggregate, Frame, OverOperator


@dataclass(frozen=True)
class Job:
    """The aggregates over one frame, compiled.

    Attributes:
        frame: the frame.
        aggregation: the aggregates with partials that can be merged, as tables store them.
        whole: the same aggregates over whole frames, where holistic aggregates are computed directly. With
            EXCLUDE a frame is several ranges, so it is merged from partials, too.
        prefix: begins the names of the stored partials, so that those of two jobs differ.
    """

    frame: Frame
    aggregation: Aggregation
    whole: Aggregation
    prefix: str

    def stored(self, name: str) -> str:
        """Returns the column in which the tables store a partial column."""
        return f"{self.prefix}{name}"


def jobs_of(spec: OverOperator, schema: Dtypes) -> list[Job]:
    """Returns the aggregates of the specification, grouped by frame and compiled."""
    frames: dict[Frame, list[Aggregate]] = {}
    for column in spec.columns:
        if isinstance(column.what, Aggregate):
            assert column.frame is not None
            frames.setdefault(column.frame, []).append(column.what)
    compiled = [(frame, Aggregation(tuple(aggregates), schema)) for frame, aggregates in frames.items()]
    return [
        Job(frame, own, range_aggregation(own) if frame.exclude == "no others" else own, f"__{n}")
        for n, (frame, own) in enumerate(compiled)
    ]


def ranges_of_partials(spec: OverOperator, jobs: list[Job]) -> list[Job]:
    """Returns the jobs of ranges that look back, if partials are enough for all of them; otherwise none.

    Partials are enough if no row waits for rows after it, and every column with such a range is an aggregate
    whose range does not end before its row.
    """
    back = [
        column
        for column in spec.columns
        if column.frame is not None and column.frame.kind == "range" and (column.frame.start or 0) < 0
    ]
    partial = all(
        isinstance(column.what, Aggregate) and column.frame is not None and end_of(column.frame) >= 0
        for column in back
    )
    if spec.rows_ahead or not partial:
        return []
    return [job for job in jobs if job.frame.kind == "range" and (job.frame.start or 0) < 0]


def end_of(frame: Frame) -> int:
    """Returns the end of a frame in ascending order, which always has one."""
    assert frame.end is not None
    return frame.end
