"""A frame operator over columns of known types: everything about it that does not change (semantics 29)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.holistic import told
from panewise.engine.columns import (
    BLOCK_START,
    DENSE_RANK,
    END,
    ONE_KEY,
    RANK,
    REASON,
    ROW_COUNT,
    ROW_NUMBER,
    SLOT,
    STORED_TIME,
    TIME_COUNT,
)
from panewise.engine.ingest.schema import check_columns
from panewise.engine.ingest.validate import ValidationResult, validate
from panewise.engine.store.run import Shape
from panewise.engine.windowing.lateness import late_schema
from panewise.errors import SpecError
from panewise.spec import Aggregate, Frame, FrameOperator, RowFunction, told_by_rows

TIME = END  # of a row in a table: its time, with which it goes; of a kept row that stays until others have come: the last instant

_MOST = 1 << 61  # rows: more than there can be, and sums of two stay inside 64 bits

Schema = dict[str, pl.DataType]


@dataclass(frozen=True)
class Job:
    """Aggregates over one frame, compiled: of what is kept, and of whole frames.

    `prefix` tells the columns of their running partials from those of others.
    """

    frame: Frame
    aggregation: Aggregation
    whole: Aggregation
    prefix: str

    def stored(self, name: str) -> str:
        """Where the running partials keep a part."""
        return f"{self.prefix}{name}"


class FramePlan:
    """The compiled operator.

    It has three tables: `waiting`, rows that have not passed (in the order of time); `kept`, rows that have passed and that rows to come
    look at, or that wait for others; and `running`, for each key what frames without a start hold, and how many rows there were. With
    `ranges`, aggregates of times that look back, worked out as :mod:`panewise.engine.over.ranges` does, it has two more: `passed`, the rows
    that these look back to (in the order of time), and `blocks`.

    Raises:
        SpecError: if a column is missing, is there twice, or has a type that the specification cannot use.
    """

    def __init__(self, spec: FrameOperator, schema: Mapping[str, pl.DataType]) -> None:
        check_columns(spec, schema)
        _check_new(spec, schema)
        self.spec, self.schema = spec, dict(schema)
        self.keys = list(spec.keys) or [ONE_KEY]
        # What plans of windows are asked: all keys share the watermark, and nothing is counted or gathered.
        self.by_key = self.counted = self.gathers = self.each_tells = False
        self.hears = told_by_rows(spec.watermark)  # the inputs, if rows tell their watermarks
        self.payload = {name: dtype for name, dtype in self.schema.items() if not name.startswith("__")}
        self.invalid_schema, self.late_schema = {**self.schema, REASON: pl.String()}, late_schema(self.schema)
        jobs = _jobs(spec, self.schema)
        self.ranges = _ranges(spec, jobs)
        self.bounded = [job for job in jobs if job.frame.start is not None and job not in self.ranges]
        self.unbounded = [job for job in jobs if job.frame.start is None]
        self.functions = [column for column in spec.columns if isinstance(column.what, RowFunction)]
        self.defaults = {column.name: _default(column.what, self.schema) for column in self.functions}
        self.pane_schema = self.payload | {column.name: self._type(column.what) for column in spec.columns}
        self.ahead, self.us_ahead = min(spec.rows_ahead, _MOST), spec.us_ahead
        self.reach = _us_behind(spec)
        self.behind, self.us_behind = min(_rows_behind(spec), _MOST), 0 if self.ranges else self.reach
        # A row that waits for rows after it looks back in time, if only to its peers, which may be sent before it.
        self.looks_back = self.us_behind > 0 or (self.ahead > 0 and _from_peers(spec))
        self.ranks = any(column.what.fn in ("rank", "dense_rank") for column in self.functions)
        # The last row that all rows to come of a frame without a start hold, counted from the first row to come.
        ends = [column.frame.end for column in spec.columns if column.frame is not None and column.frame.start is None]
        self.folds_to = min(0, min(ends, default=0) + 1)
        self.read = {name: self.schema[name] for name in self._columns_of_values()}
        self.waiting, self.kept, self.running = self._tables()
        self.passed, self.blocks = self._tables_of_ranges()

    @property
    def table_schema(self) -> Schema:
        """The columns of the rows that wait."""
        return self.waiting.schema

    @property
    def keeps(self) -> bool:
        """Whether rows to come look at rows that have passed."""
        return bool(self.behind or self.ahead or self.us_behind)

    @property
    def runs(self) -> bool:
        """Whether keys have something to remember besides rows."""
        return len(self.running.schema) > len(self.keys) + 1

    @property
    def sorts(self) -> list[str]:
        """The order in which rows of a key are taken, but for those that are equal in it."""
        return [] if self.spec.event_time is None else [TIME, *self.spec.order]

    def firsts(self) -> list[tuple[str, RowFunction]]:
        """The values of n-th rows of frames without a start, and where they are remembered."""
        found = [(n, column) for n, column in enumerate(self.functions) if column.frame is not None and column.frame.start is None]
        return [(f"__nth{n}", column.what) for n, column in found if isinstance(column.what, RowFunction)]

    @property
    def ties_matter(self) -> bool:
        """Whether rows of the same event time must keep their order: they do, as each is emitted."""
        return True

    @property
    def can_combine(self) -> bool:
        """Whether rows may be combined before they meet state: they may not, as each is emitted."""
        return False

    def validate(self, rows: pl.DataFrame, processing_time: int, *, windows: bool = True) -> ValidationResult:
        """Returns the valid rows of a batch, and the invalid ones. Rows have no `windows` to be assigned to."""
        return validate(self.spec, self.schema, rows, processing_time)

    def _type(self, what: Aggregate | RowFunction) -> pl.DataType:
        if isinstance(what, Aggregate):
            return next(job.aggregation.result_types[what.name] for job in self._all_jobs() if what.name in job.aggregation.result_types)
        return pl.Int64() if what.column is None else self.schema[what.column]

    def _all_jobs(self) -> list[Job]:
        return [*self.bounded, *self.ranges, *self.unbounded]

    def _columns_of_values(self) -> list[str]:
        """The columns that functions read, and those of the order, as far as rows with them are kept."""
        return list(dict.fromkeys([name for column in self.spec.columns for name in column.what.columns]))

    def _tables(self) -> tuple[Shape, Shape, Shape]:
        keys = {key: self.schema.get(key, pl.Int8()) for key in self.keys}
        own = {ONE_KEY: pl.Int8()} if ONE_KEY in self.keys else {}
        waiting: Schema = {**self.payload, **own, TIME: pl.Int64()}
        ranks: Schema = dict.fromkeys((RANK, DENSE_RANK), pl.Int64()) if self.ranks and self.ahead else {}
        told = self.payload if self.ahead else self.read
        times: Schema = {STORED_TIME: pl.Int64()} if self.spec.event_time is not None else {}
        kept: Schema = {**keys, **told, SLOT: pl.Int64(), ROW_NUMBER: pl.Int64(), TIME: pl.Int64(), **times, **ranks}
        running: Schema = {**keys, TIME: pl.Int64(), **self._running()}
        return (
            Shape(waiting, self.sorts or [TIME], []),
            Shape(kept, [*self.keys, SLOT], self.keys),
            Shape(running, self.keys, self.keys),
        )

    def _tables_of_ranges(self) -> tuple[Shape, Shape]:
        keys = {key: self.schema.get(key, pl.Int8()) for key in self.keys}
        parts = {job.stored(name): dtype for job in self.ranges for name, dtype in job.aggregation.schema.items()}
        read = {name: self.schema[name] for job in self.ranges for what in job.aggregation.aggregates for name in what.columns}
        blocks: Schema = {**keys, BLOCK_START: pl.Int64(), TIME: pl.Int64(), **parts}
        return Shape({**keys, **read, TIME: pl.Int64()}, [TIME], []), Shape(blocks, [*self.keys, TIME], self.keys)

    def _running(self) -> Schema:
        """What keys remember besides rows."""
        counted = {column.what.fn for column in self.functions} & {"row_number", "rank", "dense_rank"}
        parts = {job.stored(name): dtype for job in self.unbounded for name, dtype in job.aggregation.schema.items()}
        values = {name: self.schema[what.columns[0]] for name, what in self.firsts()}
        if not counted and not parts and not values:
            return {}
        return {ROW_COUNT: pl.Int64(), **({TIME_COUNT: pl.Int64()} if self.ranks else {}), **parts, **values}


def _check_new(spec: FrameOperator, schema: Mapping[str, pl.DataType]) -> None:
    for column in spec.columns:
        if column.name in schema:
            rule = "new columns have names of their own, which the input does not have"
            raise SpecError(f"{column.name!r} twice", rule, "give the new column another name")


def _jobs(spec: FrameOperator, schema: Schema) -> list[Job]:
    frames: dict[Frame, list[Aggregate]] = {}
    for column in spec.columns:
        if isinstance(column.what, Aggregate):
            assert column.frame is not None
            frames.setdefault(column.frame, []).append(column.what)
    compiled = [(frame, Aggregation(tuple(made), schema)) for frame, made in frames.items()]
    return [Job(frame, made, told(made), f"__{n}") for n, (frame, made) in enumerate(compiled)]


def _ranges(spec: FrameOperator, jobs: list[Job]) -> list[Job]:
    """The jobs of ranges that look back, if all columns that do can be had of partials, and no row waits for rows after it."""
    back = [
        column for column in spec.columns if column.frame is not None and column.frame.kind == "range" and (column.frame.start or 0) < 0
    ]
    partial = all(isinstance(column.what, Aggregate) and column.frame is not None and column.frame.end >= 0 for column in back)
    if spec.rows_ahead or not partial:
        return []
    return [job for job in jobs if job.frame.kind == "range" and (job.frame.start or 0) < 0]


def _rows_behind(spec: FrameOperator) -> int:
    """How many rows before a row it can need one by one."""
    found = [0]
    for column in spec.columns:
        if isinstance(column.what, RowFunction) and column.what.fn == "lag":
            found.append(column.what.n or 0)
        if column.frame is not None and column.frame.kind == "rows":
            found.append(-column.frame.end if column.frame.start is None else -column.frame.start)
    return max(found)


def _us_behind(spec: FrameOperator) -> int:
    starts = [column.frame.start for column in spec.columns if column.frame is not None and column.frame.kind == "range"]
    return max([0, *(-start for start in starts if start is not None)])


def _from_peers(spec: FrameOperator) -> bool:
    """Whether a range begins with the rows of equal time."""
    return any(column.frame is not None and column.frame.kind == "range" and column.frame.start == 0 for column in spec.columns)


def _default(what: Any, schema: Schema) -> pl.Series | None:
    """The default of lag and lead as the column holds it."""
    if not isinstance(what, RowFunction) or what.default is None or what.column is None:
        return None
    return pl.Series([what.default]).cast(schema[what.column])
