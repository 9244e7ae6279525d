"""The plan of an OVER operator: its specification, compiled for the types of its input (semantics 29).

It decides which tables the operator has, how far rows look back and ahead, and from which table each frame is
computed: one without a start from `running`, a range that looks back from `blocks` if partials are enough for
it, and all others from the rows themselves. With descending event time it is the plan of the same operator in
ascending order, whose frames are read from their ends.

Invariant: each aggregate belongs to exactly one job, and each job to exactly one of `bounded`, `ranges` and
`unbounded`. The plan depends on the specification and the types alone, so whoever has both can read the
tables. Cost: linear in the columns of the specification, once for each operator.
"""

from collections.abc import Mapping
from itertools import takewhile

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.aggregate.types import types_of
from panewise.engine.columns import (
    BLOCK_START,
    DENSE_RANK,
    END,
    ONE_KEY,
    RANK,
    ROW_COUNT,
    ROW_NUMBER,
    SLOT,
    STORED_TIME,
    TIME_COUNT,
    UNEMITTED,
    user_columns,
)
from panewise.engine.ingest.validate import InputPort, UncombinedPort
from panewise.engine.kernels.column_types import Dtypes
from panewise.engine.over.jobs import end_of, jobs_of, ranges_of_partials
from panewise.engine.over.mirrored import in_ascending_order
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.run import Shape
from panewise.errors import SpecError
from panewise.spec import Aggregate, Frame, OverOperator, RowFunction
from panewise.spec.type_checks import check_types

# END in the tables of OVER: the time of the row, or the last instant if the row is stored for its number or
# because it has not been emitted. A row expires when the horizon of its table reaches it.

_MOST = 1 << 61  # a number of rows that no stream reaches; the sum of two fits in 64 bits


class OverPlan(UncombinedPort, InputPort):
    """The compiled OVER operator.

    The operator has three tables:

    - `waiting`: the rows that have not passed, in the order of time.
    - `recent`: rows that have passed, and that later rows look back to or that have not been emitted.
    - `running`: for each key the partials of frames without a start, the `nth_value`s of such frames, the
      values that functions look back to (:mod:`panewise.engine.over.nth`), and the numbers of rows that have
      passed and that are not emitted.

    If there are `ranges`, which :mod:`panewise.engine.over.ranges` computes, it has two more:

    - `passed`: the rows that these ranges look back to, in the order of time.
    - `blocks`: for each key and step, the partials of the rows that passed.

    Raises:
        SpecError: if a column is missing or occurs twice, or has a type that the specification cannot use.
    """

    def __init__(self, spec: OverOperator, schema: Mapping[str, pl.DataType]) -> None:
        super().__init__(spec, schema)
        check_types(spec, types_of(schema))
        _check_new(spec, schema)
        # Whether the frames of `spec`, which is in ascending order, are read from their ends.
        self.from_end = spec.backwards
        self.spec = spec = in_ascending_order(spec)
        self.payload = user_columns(self.schema)
        # The functions, each with its frame.
        self.functions = [
            (column.what, column.frame) for column in spec.columns if isinstance(column.what, RowFunction)
        ]
        self.defaults = {what.name: _default(what, self.schema) for what, _ in self.functions}
        self.ranks = any(what.fn in ("rank", "dense_rank") for what, _ in self.functions)
        self._set_stored_values()
        self._set_frames(spec)
        self._set_reach(spec)
        self.pane_schema = self.payload | {column.name: self._type(column.what) for column in spec.columns}
        # The columns that the functions read, each once.
        self.read = {name: self.schema[name] for column in spec.columns for name in column.what.columns}
        self.waiting, self.recent, self.running = self._tables()
        self.passed, self.blocks = self._tables_of_ranges()

    def _set_stored_values(self) -> None:
        """Sets which functions look back or ahead to values, and where `running` stores these."""
        functions = list(enumerate(self.functions))
        needs_list = [self._needs_list(what, frame) for what, frame in self.functions]
        # The column with a list of values, for each function that needs one.
        self.lists = {what: f"__values{n}" for n, (what, _) in functions if needs_list[n]}
        # The column with the value, for each other `nth_value` over a frame without a start.
        self.firsts = {
            what: f"__nth{n}"
            for n, (what, frame) in functions
            if frame is not None and frame.start is None and not needs_list[n]
        }
        # The functions that look ahead to a number of values. Rows wait for these, so not only the number of
        # rows after them decides which are emitted.
        self.waiting_for_values = [what for what, _ in self.functions if what.fn == "lead" and what.skips]

    def _set_frames(self, spec: OverOperator) -> None:
        jobs = jobs_of(spec, self.schema)
        self.ranges = ranges_of_partials(spec, jobs)
        self.bounded = [job for job in jobs if job.frame.start is not None and job not in self.ranges]
        self.unbounded = [job for job in jobs if job.frame.start is None]
        # The frames without a start of all later rows contain the rows before this place, which is counted
        # from the first of these later rows. It is 0 or negative.
        ends = [end_of(frame) for frame in _frames(spec) if frame.start is None]
        self.covers_to = min(0, min(ends, default=0) + 1)

    def _set_reach(self, spec: OverOperator) -> None:
        """Sets how far rows look back and ahead, and what they wait for."""
        self.ahead, self.us_ahead = min(spec.rows_ahead, _MOST), spec.us_ahead
        ranges = [frame for frame in _frames(spec) if frame.kind == "range"]
        self.reach = max([0, *(-(frame.start or 0) for frame in ranges)])  # how far ranges look back
        self.rows_back, self.us_back = min(_rows_back(spec), _MOST), 0 if self.ranges else self.reach
        # Whether ranges look back to the table `recent`. A range that begins at the time of its row does so,
        # too, if the row may wait for later rows: rows of the same time may be emitted before it.
        self.looks_back = self.us_back > 0 or (self.ahead > 0 and any(frame.start == 0 for frame in ranges))
        # Whether the frames without a start of a row that waits for later rows may lack peers that are
        # emitted.
        self.lacks_peers = self.ahead > 0 and any(
            frame.start is None and frame.exclude in ("group", "ties") for frame in _frames(spec)
        )

    @property
    def stores_recent(self) -> bool:
        """Whether rows that have passed are stored in `recent`."""
        return bool(self.rows_back or self.ahead or self.us_back)

    @property
    def numbers_slots(self) -> bool:
        """Whether slots of `recent` are the numbers of rows. Otherwise they are a ring of the last rows."""
        return self.looks_back or self.lacks_peers or bool(self.waiting_for_values)

    @property
    def has_running(self) -> bool:
        """Whether values are stored for each key in `running`."""
        return len(self.running.schema) > len(self.keys) + 1

    @property
    def sort_columns(self) -> list[str]:
        """The columns that sort rows, across all keys. Rows that are equal in them are in arrival order."""
        return [] if self.spec.event_time is None else [END, *self.spec.order]

    @property
    def stored_order(self) -> list[str]:
        """The columns that sort the waiting rows: the first ones of `sort_columns`.

        They end before the first one that is not ascending with nulls first. If they are not all, rows are
        sorted again when they pass.
        """
        others = {*self.spec.descending, *self.spec.nulls_last}
        return list(takewhile(lambda name: name not in others, self.sort_columns))

    def _needs_list(self, what: RowFunction, frame: Frame | None) -> bool:
        """Returns whether the value of a function may be in any earlier row, which values determine."""
        if frame is None:
            return what.fn == "lag" and what.skips
        plain = frame.exclude == "no others" and not what.ignorenulls and not self.from_end
        return frame.start is None and not plain

    def reads_last(self, what: RowFunction) -> bool:
        """Returns whether the list of a function has the last values, not the first ones."""
        return what.fn == "lag" or self.from_end

    def _type(self, what: Aggregate | RowFunction) -> pl.DataType:
        """Returns the type of a new column."""
        if isinstance(what, Aggregate):
            types = [job.aggregation.result_types for job in (*self.bounded, *self.ranges, *self.unbounded)]
            return next(of_job[what.name] for of_job in types if what.name in of_job)
        return pl.Int64() if what.column is None else self.schema[what.column]

    def _tables(self) -> tuple[Shape, Shape, Shape]:
        """Returns the columns of the tables `waiting`, `recent` and `running`."""
        own = {ONE_KEY: pl.Int8()} if ONE_KEY in self.keys else {}
        waiting: Dtypes = {**self.payload, **own, END: pl.Int64()}
        ranks: Dtypes = dict.fromkeys((RANK, DENSE_RANK), pl.Int64()) if self.ranks and self.ahead else {}
        columns = self.payload if self.ahead else self.read
        times: Dtypes = {STORED_TIME: pl.Int64()} if self.spec.event_time is not None else {}
        recent: Dtypes = {
            **self.key_types,
            **columns,
            SLOT: pl.Int64(),
            ROW_NUMBER: pl.Int64(),
            END: pl.Int64(),
            **times,
            **ranks,
        }
        running: Dtypes = {**self.key_types, END: pl.Int64(), **self._running()}
        return (
            Shape(waiting, self.stored_order or [END], []),
            Shape(recent, [*self.keys, SLOT], self.keys),
            Shape(running, self.keys, self.keys),
        )

    def _tables_of_ranges(self) -> tuple[Shape, Shape]:
        """Returns the columns of the tables `passed` and `blocks`."""
        partials = {
            job.stored(name): dtype for job in self.ranges for name, dtype in job.aggregation.schema.items()
        }
        read = {
            name: self.schema[name]
            for job in self.ranges
            for what in job.aggregation.aggregates
            for name in what.columns
        }
        blocks: Dtypes = {**self.key_types, BLOCK_START: pl.Int64(), END: pl.Int64(), **partials}
        return Shape({**self.key_types, **read, END: pl.Int64()}, [END], []), Shape(
            blocks, [*self.keys, END], self.keys
        )

    def _running(self) -> Dtypes:
        """Returns the value columns of `running`, none if no function needs them."""
        counted = {what.fn for what, _ in self.functions} & {"row_number", "rank", "dense_rank"}
        partials = {
            job.stored(name): dtype
            for job in self.unbounded
            for name, dtype in job.aggregation.schema.items()
        }
        values = {name: self.schema[what.columns[0]] for what, name in self.firsts.items()}
        lists: Dtypes = {name: pl.List(self.schema[what.columns[0]]) for what, name in self.lists.items()}
        if not counted and not partials and not values and not lists and not self.waiting_for_values:
            return {}
        counts = [ROW_COUNT]
        counts += [TIME_COUNT] if self.ranks else []
        counts += [UNEMITTED] if self.waiting_for_values else []
        return {**dict.fromkeys(counts, pl.Int64()), **partials, **values, **lists}


def _check_new(spec: OverOperator, schema: Mapping[str, pl.DataType]) -> None:
    for column in spec.columns:
        if column.name in schema:
            rule = "new columns have different names, which no input column has"
            raise SpecError(f"{column.name!r} twice", rule, "give the new column another name")


def _frames(spec: OverOperator) -> list[Frame]:
    return [column.frame for column in spec.columns if column.frame is not None]


def _rows_back(spec: OverOperator) -> int:
    """Returns the number of rows before a row that its columns may need as rows, and not as partials."""
    functions = [column.what for column in spec.columns if isinstance(column.what, RowFunction)]
    lags = [what.n or 0 for what in functions if what.fn == "lag" and not what.skips]
    frames = [frame for frame in _frames(spec) if frame.kind == "rows"]
    return max([0, *lags, *(-(end_of(frame) if frame.start is None else frame.start) for frame in frames)])


def _default(what: RowFunction, schema: Dtypes) -> pl.Series | None:
    """Returns the default of `lag` or `lead` in the type of the column, None if there is none."""
    if what.default is None or what.column is None:
        return None
    return pl.Series([what.default]).cast(schema[what.column])


def passed_until(spec: OverOperator, clocks: Clocks) -> int | None:
    """Returns the time up to which, inclusive, rows have passed (semantics 29.2); None before the first."""
    if clocks.finished:
        return MAX_INSTANT
    if clocks.watermark is None or spec.event_time is None:
        return None
    return max(MIN_INSTANT, clocks.watermark - spec.us_ahead - 1)
