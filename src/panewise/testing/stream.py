"""Streams of events for tests, and what an operator makes of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from panewise.errors import InputError
from panewise.families import INPUT
from panewise.spec import Specification
from panewise.testing.compare import assert_entries
from panewise.testing.event import specification
from panewise.testing.events import script
from panewise.testing.runner import play_script
from panewise.testing.runtimes import runtime as runtime_named

Instant: TypeAlias = int | datetime  # microseconds since 1970-01-01 UTC, or with a time zone
Entries: TypeAlias = list[dict[str, Any]]

_DEFAULT: Final = "oracle"


@dataclass
class _Default:
    """The runtime of `TestStream.play` without `runtime`, in all threads. The pytest plugin sets it."""

    runtime: str = _DEFAULT

    def replace_with(self, name: str) -> Callable[[], None]:
        """Sets the runtime. Returns a function that sets the one before."""
        before, self.runtime = self.runtime, name

        def restore() -> None:
            self.runtime = before

        return restore


DEFAULT: Final = _Default()


@dataclass(frozen=True)
class TestStream:
    """A stream of rows, watermarks and clock readings, which is played through an operator.

    Each method returns a longer stream, so streams can share their beginnings. Event times and instants are
    whole numbers of microseconds, or datetimes with a time zone.

    Args:
        spec: a specification of any kind, or its dict form.
        events: the events so far, as :func:`panewise.testing.run` takes them.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> spec = WindowOperator(keys=["k"], window=Tumbling(10), aggregates=[F.sum("v").alias("total")])
    >>> early, later = {"k": "a", "event_time": 1, "v": 2}, {"k": "a", "event_time": 12, "v": 5}
    >>> stream = TestStream(spec).rows(early, later)
    >>> played = stream.watermark(10).end().play()
    >>> played.assert_panes([{"window_end": 10, "total": 2}, {"window_end": 20, "total": 5}])
    >>> played[0].windows[0]["rows"]
    [{'k': 'a', 'event_time': 1, 'v': 2}]
    >>> [(window["window_end"], window["complete"]) for window in played[1].windows], played[1].watermark
    ([(20, False)], 10)

    Source: Beam TestStream; semantics 18.
    """

    __test__ = False  # pytest would collect it by its name

    spec: Specification | Mapping[str, Any]
    events: tuple[Mapping[str, Any], ...] = ()

    def rows(self, *rows: Mapping[str, Any], input: str | None = None) -> "TestStream":  # noqa: A002 - events say so
        """Adds a batch of rows; of an operator with several inputs, of the `input`.

        A row may have a source position, as `"position": [partition, offset]`.

        Raises:
            InputError: if the operator has several inputs and `input` is none of them, or missing.
        """
        return self.event("add", rows=list(rows), **self._input(input, needed=True))

    def batch(self, **rows: Sequence[Mapping[str, Any]]) -> "TestStream":
        """Adds one batch with rows of several inputs, by the name of the input.

        >>> from panewise import Interval, JoinOperator, Side
        >>> join = JoinOperator(left=Side(), right=Side(prefix="r_"), match=Interval(0, 5))
        >>> stream = TestStream(join).batch(left=[{"event_time": 1}], right=[{"event_time": 3}])
        >>> [(pane["event_time"], pane["r_event_time"]) for pane in stream.play().panes]
        [(1, 3)]
        """
        return self.event("add", rows={name: list(of) for name, of in rows.items()})

    def watermark(self, to: Instant, input: str | None = None) -> "TestStream":  # noqa: A002 - as above
        """Moves the watermark; with `input`, that of one input."""
        return self.event("watermark", to=to, **self._input(input))

    def clock(self, to: Instant) -> "TestStream":
        """Moves the processing time."""
        return self.event("clock", to=to)

    def restart(self) -> "TestStream":
        """Stops the operator, and continues from its saved state."""
        return self.event("restart")

    def change(
        self,
        spec: Specification | Mapping[str, Any],
        *,
        added_aggregates: Literal["null", "from_now_on"] = "null",
    ) -> "TestStream":
        """Continues with another specification of the same family (semantics 47).

        Args:
            spec: the specification from now on, or its dict form.
            added_aggregates: what an aggregate that `spec` adds is in panes with rows from before: "null", or
                the result over the rows "from_now_on". Default: "null".

        Raises:
            StateError: from :meth:`play`, if the change is refused (semantics 47.2).

        >>> from panewise import Tumbling, WindowOperator, functions as F
        >>> counts = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("n")])
        >>> sums = replace(counts, aggregates=[F.count().alias("n"), F.sum("v").alias("total")])
        >>> stream = TestStream(counts).rows({"event_time": 1, "v": 2}).change(sums)
        >>> played = stream.rows({"event_time": 12, "v": 5}).watermark(20).play()
        >>> played.assert_panes([{"n": 1, "total": None}, {"n": 1, "total": 5}])
        """
        return self.event("change", spec=spec, added_aggregates=added_aggregates)

    def end(self, input: str | None = None) -> "TestStream":  # noqa: A002 - as above
        """Ends the input; with `input`, one of several."""
        return self.event("finish", **self._input(input))

    def event(self, op: str, **fields: Any) -> "TestStream":
        """Adds any event of :func:`panewise.testing.run`, such as "evict" of a StreamWindow."""
        return replace(self, events=(*self.events, {"op": op, **fields}))

    def play(
        self, runtime: str | None = None, *, types: Mapping[str, Any] | None = None, **options: Any
    ) -> "Played":
        """Plays the stream.

        Args:
            runtime: as for :func:`panewise.testing.run`. Default: that of the pytest option
                `--panewise-runtime`, and without it "oracle".
            types: as for :func:`panewise.testing.run`.
            options: settings of the runtime.

        Returns:
            A step for each event. Panes, late rows, invalid rows and counts are those of the runtime. Clocks
            and windows are always those of the oracle, because the other runtimes do not keep the rows.

        Raises:
            InputError, SpecError: as :func:`panewise.testing.run` does.
        """
        name = DEFAULT.runtime if runtime is None else runtime
        runtime_named(name)
        seen = play_script(script(self.spec, self.events, types, progress=True), _DEFAULT)
        script_of_runtime = script(self.spec, self.events, types, options=options)
        outputs = seen if name == _DEFAULT and not options else play_script(script_of_runtime, name)
        kinds = ("panes", "late", "invalid", "counts")
        return Played(
            tuple(
                Step(event, *(output[kind] for kind in kinds), **progress["progress"])
                for event, output, progress in zip(self.events, outputs, seen, strict=True)
            )
        )

    def _input(self, name: str | None, *, needed: bool = False) -> dict[str, str]:
        """Returns the field of an event that names an input. It is `needed` if there are several."""
        if name is None and not needed:
            return {}
        spec = specification(self.spec)
        inputs = list(spec.ports)
        if inputs == [INPUT]:
            return {} if name is None else {"input": name}
        if name not in inputs:
            fault = "input is missing" if name is None else f"input={name!r}"
            rule, some = f"the inputs of the operator are {inputs}", f"input={inputs[0]!r}"
            raise InputError(fault, rule, f"give one of them, such as {some}")
        return {"input": str(name)}


@dataclass(frozen=True)
class Step:
    """What an operator emitted after one event, and what it then contains.

    Attributes:
        event: the event.
        panes: the emitted panes (of OVER and joins: rows) as dicts.
        late: the late rows: `row`, `reason`, `windows`, `late_by`, `partial`.
        invalid: the invalid rows: `row`, `reason`.
        counts: rows_in, applied, replays, late, invalid and partially_late; with several inputs by input.
        processing_time: the processing time in force, in microseconds.
        watermark: the watermark in force, in microseconds; None before the first one, infinity after the end
            of input. For an operator with two sides a dict by side.
        windows: what the state contains, in the order of end, start and keys. Each entry is a dict with its
            keys, `window_start`, `window_end`, `pending`, `closed` and `rows`. See below.

    The `rows` of an entry are those that the next pane would be computed from, in the order of their arrival,
    with the columns that the operator stores. Joins and cogroups have them by side, as
    `{"left": [...], "right": [...]}`. What an entry is depends on the operator:

    - Window operators, chains (their first stage), window joins, cogroups and windows over joins: a window.
      It also has `complete`: whether the watermark, of two sides the lower one, has reached its end. A closed
      window has no rows. With key watermarks an entry has the `watermark` of its key.
    - StreamWindow: a partition, with the tuples of its window as events contain them. It has no bounds.
    - OVER: a row that is not emitted yet.
    - Other joins: a stored row alone, as `{"left": [row]}` or `{"right": [row]}`. As-of joins show only the
      left rows that wait.
    """

    event: Mapping[str, Any]
    panes: Entries
    late: Entries
    invalid: Entries
    counts: Mapping[str, Any]
    processing_time: int = field(kw_only=True)
    watermark: Any = field(kw_only=True)
    windows: Entries = field(kw_only=True)

    def assert_panes(self, expected: Sequence[Mapping[str, Any]]) -> None:
        """Checks that the panes are the expected ones, in the same number and order.

        Only the columns in `expected` are compared. A map may be a dict.

        Raises:
            AssertionError: with a line for each pane that is missing (-) or not expected (+).
            InputError: if `expected` is not a list of dicts.
        """
        assert_entries(self.panes, expected, "panes")

    def assert_late(self, expected: Sequence[Mapping[str, Any]]) -> None:
        """Checks the late rows as :meth:`assert_panes` checks panes."""
        assert_entries(self.late, expected, "late")

    def assert_invalid(self, expected: Sequence[Mapping[str, Any]]) -> None:
        """Checks the invalid rows as :meth:`assert_panes` checks panes."""
        assert_entries(self.invalid, expected, "invalid")

    def assert_windows(self, expected: Sequence[Mapping[str, Any]]) -> None:
        """Checks the stored windows as :meth:`assert_panes` checks panes."""
        assert_entries(self.windows, expected, "windows")


@dataclass(frozen=True)
class Played:
    """The steps of a played stream: `played[n]` is that of event n."""

    steps: tuple[Step, ...]

    def __getitem__(self, number: int) -> Step:
        return self.steps[number]

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    @property
    def panes(self) -> Entries:
        """The panes of all steps."""
        return [pane for step in self.steps for pane in step.panes]

    @property
    def late(self) -> Entries:
        """The late rows of all steps."""
        return [row for step in self.steps for row in step.late]

    @property
    def invalid(self) -> Entries:
        """The invalid rows of all steps."""
        return [row for step in self.steps for row in step.invalid]

    def assert_panes(self, expected: Sequence[Mapping[str, Any]]) -> None:
        """Checks the panes of all steps, as :meth:`Step.assert_panes` does."""
        assert_entries(self.panes, expected, "panes")

    def assert_late(self, expected: Sequence[Mapping[str, Any]]) -> None:
        """Checks the late rows of all steps, as :meth:`Step.assert_late` does."""
        assert_entries(self.late, expected, "late")

    def assert_invalid(self, expected: Sequence[Mapping[str, Any]]) -> None:
        """Checks the invalid rows of all steps, as :meth:`Step.assert_invalid` does."""
        assert_entries(self.invalid, expected, "invalid")
