"""Rows emitted without a step of the engine are those of such steps, and leave the same state."""

import random
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import (
    Frame,
    OverColumn,
    OverOperator,
    StreamTime,
)
from panewise import functions as F
from panewise.engine.over import records
from panewise.errors import InputError
from panewise.spec import Aggregate
from panewise.standalone import StandaloneOperator, row_path
from panewise.testing import run
from tests.engine.effort import examples
from tests.standalone.test_deferral import observed
from tests.standalone.test_record_path import BATCH, DOUBLES, TIMES, VALUES
from tests.standalone.test_record_path import agree as record_path_agrees

SIDES = {"left", "right"}
TYPES = {"k": "string", "event_time": "bigint", "v": "bigint", "x": "double", "s": "string", "i": "int"}
AGGREGATES = [
    *(F.count(), F.count("v"), F.sum("v"), F.avg("v"), F.min("v"), F.max("v"), F.first("v"), F.last("s")),
    *(F.first("s", ignorenulls=True), F.last("v", ignorenulls=True), F.sum("x"), F.min("x"), F.max("s")),
    *(F.sum("i"), F.max("i")),
]
FUNCTIONS = [
    *(F.lag("v"), F.lag("s", 2, "none"), F.lag("x", 0), F.lag("i", 3, -1), F.row_number()),
    *(F.rank(), F.dense_rank(), F.lead("v"), F.lead("s", 2, "none"), F.lead("x", 0), F.lead("i", 1, -1)),
]
ROWS = [Frame("rows", *bounds) for bounds in ((-2, 0), (None, 0), (0, 0), (-3, -1), (-70, 0))]
RANGES = [Frame("range", *bounds) for bounds in ((-6, 0), (None, 0), (0, 0), (-9, -2), (-1, 0))]
# Rows of these frames wait: for rows of their key, or for a later watermark.
AHEAD = [Frame("rows", *bounds) for bounds in ((0, 1), (-2, 1), (1, 3), (None, 1), (None, -2))]
RANGES_AHEAD = [Frame("range", *bounds) for bounds in ((0, 4), (-5, 3), (2, 7), (None, 2), (-9, -2))]
FRAMES = [
    *(ROWS, RANGES[:1], RANGES[1:3], [*RANGES, ROWS[1]], [ROWS[4]]),
    *(AHEAD, [*AHEAD[:2], *ROWS[:2]], [AHEAD[0], *RANGES], [AHEAD[0], *RANGES_AHEAD[:2]]),
    *(RANGES_AHEAD, RANGES_AHEAD[:1], [RANGES_AHEAD[3]], [RANGES_AHEAD[0], ROWS[0]]),
]
# Event times and watermarks count from the watermark before.
MESSAGES = st.fixed_dictionaries(
    {
        "event_time": st.one_of(st.integers(-1, 9), st.integers(0, 9), TIMES),
        "k": st.sampled_from(["a", "b", "c", None, 1]),
    },
    optional={
        "v": VALUES,
        "x": DOUBLES,
        "s": st.sampled_from(["p", "q", None, 1]),
        "i": st.sampled_from([1, 2, None, 2**31]),
    },
)
CLOCKS = st.tuples(st.just("clocks"), st.integers(0, 40), st.one_of(st.none(), st.integers(-3, 9)))
# Messages that take the direct path. Without many of these few rows would pass in it.
PLAIN = st.fixed_dictionaries(
    {"event_time": st.integers(0, 5), "k": st.sampled_from(["a", "a", "b"])},
    optional={
        "v": st.one_of(st.none(), st.integers(-5, 5)),
        "x": st.sampled_from([None, 0.5, -1.25, 3]),
        "s": st.sampled_from(["p", "q", None]),
        "i": st.sampled_from([1, 2, None]),
    },
)
RARE = st.one_of(
    st.tuples(st.just("clock"), st.integers(0, 40)),
    st.tuples(st.just("batch"), BATCH),
    st.tuples(st.sampled_from(["checkpoint", "reset"]), st.just("one")),
    st.sampled_from(["look", "result", "drain", "clocks", "restart", "restart", "finish"]),
)
MOVES = st.one_of(st.integers(0, 3), st.integers(0, 12), CLOCKS)
# `one_of` would draw from each of these equally often, as it leaves out repetitions.
EVENTS = st.sampled_from(
    [PLAIN, PLAIN, PLAIN, PLAIN, PLAIN, MOVES, MOVES, MESSAGES, st.just("drain"), RARE]
).flatmap(lambda events: events)
# Without a least size lists have five events on average, and few rows pass.
SCRIPTS = st.one_of(st.lists(EVENTS, max_size=30), st.lists(EVENTS, min_size=20, max_size=40))


def placed(script: Sequence[Any]) -> list[Any]:
    """Returns a script with the event times and the watermarks that its numbers mean."""
    mark, events = 0, list[Any]()
    for event in script:
        if isinstance(event, int):
            mark += event
            events.append(mark)
        elif isinstance(event, tuple) and event[0] == "clocks" and event[2] is not None:
            events.append(("clocks", event[1], mark + event[2]))
            mark = max(mark, mark + event[2])
        elif isinstance(event, tuple) and event[0] in SIDES and isinstance(event[1], int):
            mark += event[1]
            events.append((event[0], mark))
        elif isinstance(event, tuple) and event[0] in SIDES:
            events.append((event[0], *placed([mark, event[1]])[1:]))
        elif isinstance(event, dict) and isinstance(event["event_time"], int):
            events.append({**event, "event_time": min(event["event_time"] + mark, 2**62)})
        else:
            events.append(event)
    return events


def shown_by(operator: StandaloneOperator, event: Any) -> Any:
    """Does what an event says; returns what can be seen of it, or that it was refused."""
    try:
        match event:
            case ("left" | "right" as side, int() as mark):
                return operator.advance(watermark=mark, input=side)
            case ("left" | "right" as side, dict() as message):
                return operator.add_message(of_side(side, message), side, position=("p", 0, 1))
            case ("left" | "right" as side, "finish"):
                return operator.finish(side)
            case "both":
                row = {"k": "a", "event_time": operator.watermark or 0, "v": 1}
                frames = {
                    side: pl.DataFrame([of_side(side, row)], operator._core.schemas[side]) for side in SIDES
                }
                return operator.add_batch(frames)
            case "look":
                positions = [operator.positions(port) for port in operator.spec.ports]
                return operator.counts, operator.live().rows(), positions
        return observed(operator, event)
    except InputError as error:
        return repr(error)


def of_side(side: str, message: dict[str, Any]) -> dict[str, Any]:
    """Returns a message with the columns of a side."""
    return message if side == "left" else {f"r_{name}": value for name, value in message.items()}


def stored(operator: StandaloneOperator) -> Any:
    """Returns the rows of all tables, after what waits has been added.

    Blocks depend on where batches are cut.
    """
    operator.live()
    engine: Any = operator._core.host.operator
    tables = engine.state.tables
    return {name: sorted(map(repr, table.all().rows())) for name, table in tables.items() if name != "blocks"}


def agree(spec: Any, types: Any, script: Sequence[Any]) -> None:
    """Asserts that an operator shows the same after each event as one that makes a step of each message."""
    record_path_agrees(spec, types, placed(script), shown_by, stored)


def over(columns: Sequence[Any], frames: Sequence[Frame], **options: Any) -> OverOperator:
    """Returns an operator with these functions, of which aggregates have one of the frames each."""
    several = [
        OverColumn(what.alias(f"c{n}"), frames[n % len(frames)] if isinstance(what, Aggregate) else None)
        for n, what in enumerate(columns)
    ]
    return OverOperator(columns=several, **options)


@pytest.fixture
def _small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the limits small, so that few rows reach them."""
    monkeypatch.setattr(records, "TRIMMED", 1)
    monkeypatch.setattr(row_path, "MAX_WAITING", 3)
    if request.param:
        monkeypatch.setattr(records, "_FEW", 0)  # each key is read when it is needed
        monkeypatch.setattr(records, "_LONGEST", 6)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("_small", [False, True], indirect=True)
@pytest.mark.parametrize("frames", FRAMES)
@examples(15)
@given(
    options=st.fixed_dictionaries(
        {
            "keys": st.sampled_from([["k"], []]),
            "null_keys": st.booleans(),
            "event_time": st.sampled_from(["event_time", None]),
        }
    ),
    columns=st.lists(st.sampled_from([*AGGREGATES, *FUNCTIONS]), max_size=5),
    start=st.integers(0, 4),
    script=SCRIPTS,
)
def test_over_rows_and_states_are_the_same(
    frames: list[Frame], options: dict[str, Any], columns: list[Any], start: int, script: list[Any]
) -> None:
    """semantics 31.31: outputs, numbers, counts, clocks, live rows and stored rows, with restarts."""
    frames = [*frames[start % len(frames) :], *frames]
    if not columns or any(frame.kind == "range" for frame in frames):
        options = {**options, "event_time": "event_time"}
    if options["event_time"] is None:
        columns = [what for what in columns if what.fn not in ("rank", "dense_rank")] or [F.count()]
    spec = over(columns, frames, **options)
    if StandaloneOperator(spec, TYPES).evaluation == "direct":
        agree(spec, TYPES, script)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("_small", [False, True], indirect=True)
@pytest.mark.parametrize(
    "columns",
    [
        [F.lead("v"), F.row_number()],
        [F.lead("s", 2, "none"), F.rank(), F.dense_rank(), F.lag("v")],
        [(F.sum("v"), Frame("rows", None, 0)), (F.first("s"), Frame("rows", None, 1)), F.lead("v", 2)],
        [(F.count(), Frame("rows", None, -2)), (F.sum("v"), Frame("rows", 1, 2))],
        [(F.sum("v"), Frame("range", -6, 0)), (F.count(), Frame("range", 0, 0)), F.lead("v", 3)],
        [(F.sum("v"), Frame("range", -2, 3)), (F.min("v"), Frame("range", 1, 4))],
        [(F.sum("v"), Frame("range", None, 2)), (F.last("s"), Frame("range", 0, 1)), F.rank()],
        [(F.max("v"), Frame("range", -9, 1)), (F.sum("v"), Frame("rows", -1, 2)), F.dense_rank()],
    ],
)
def test_rows_that_wait_and_states_are_the_same(columns: list[Any]) -> None:
    """semantics 29.8, 31.31: each watermark lets rows of several keys pass, also of equal times."""
    source, script = random.Random(5), list[Any]()
    for _ in range(16):
        for _ in range(source.randrange(9)):
            values = {"k": source.choice("bbca"), "v": source.randrange(9), "s": source.choice("pq")}
            script.append({"event_time": source.randrange(5), **values})
        script += [source.randrange(1, 6), "drain"]
        script += source.choice([[], [], ["look"], ["restart"]])
    of = [what if isinstance(what, tuple) else (what, None) for what in columns]
    several = [OverColumn(what.alias(f"c{n}"), frame) for n, (what, frame) in enumerate(of)]
    agree(OverOperator(keys=["k"], columns=several), TYPES, script)


OF_TWO_KEYS = st.fixed_dictionaries(
    {"k": st.sampled_from(["a", "b"]), "v": st.one_of(st.none(), st.integers(-5, 5))},
    optional={"s": st.sampled_from(["p", "q", None]), "i": st.integers(0, 3)},
)
OF_ORACLE = st.lists(
    st.one_of(
        *[st.tuples(st.sampled_from(["left", "right"]), st.integers(-1, 8), OF_TWO_KEYS)] * 3,
        st.integers(0, 5),
    ),
    max_size=24,
)


def agrees_with_oracle(spec: Any, types: Any, script: Sequence[Any]) -> None:
    """Asserts that messages one at a time emit what the oracle emits for batches of one row."""
    operator, mark, events = StandaloneOperator(spec, types), 0, list[dict[str, Any]]()
    shown = []
    for event in script:
        if isinstance(event, int):
            mark += event
            events.append({"op": "watermark", "to": mark})
            operator.advance(watermark=mark)
        else:
            side, ahead, values = event
            two = set(spec.ports) >= SIDES
            row = {**values, "event_time": mark + ahead}
            row = of_side(side, {name: row[name] for name in OF_BOTH}) if two else row
            events.append({"op": "add", "rows": [row], **({"input": side} if two else {})})
            operator.add_message(row, side if two else None)
        shown.append([dict(row) for emission in operator.drain() for row in emission.dicts()])
    assert operator.evaluation == "direct"
    outputs = run(spec, events, "oracle", types=types)
    assert shown == [output["panes"] for output in outputs]


OF_BOTH = ("k", "event_time", "v")


@examples(40)
@given(
    keys=st.sampled_from([["k"], []]),
    columns=st.lists(st.sampled_from([*AGGREGATES, *FUNCTIONS]), max_size=5),
    frames=st.sampled_from([ROWS, RANGES, AHEAD, RANGES_AHEAD]),
    script=OF_ORACLE,
)
def test_rows_are_those_of_the_oracle(
    keys: list[str], columns: list[Any], frames: list[Frame], script: list[Any]
) -> None:
    """semantics 31.31"""
    columns = [of for of in columns if of.column != "x"]
    if frames in (RANGES, RANGES_AHEAD):
        columns = [of for of in columns if isinstance(of, Aggregate)]
    agrees_with_oracle(over(columns, frames, keys=keys), TYPES, script)


SUM = F.sum("v").alias("total")


def test_a_row_makes_no_step_of_the_engine() -> None:
    """semantics 31.30, 31.31"""
    operator = StandaloneOperator(over([F.sum("v")], [Frame("rows", -1, 0)], keys=["k"]), TYPES)
    before = operator._core.host.operator.state
    for v in (1, 2, 4):
        operator.add_message({"k": "a", "event_time": v, "v": v})
    operator.advance(watermark=3, clock=7)
    (emission,) = operator.drain()
    assert operator._core.host.operator.state is before
    assert emission.dicts() == emission.rows.to_dicts()
    assert [row["c0"] for row in emission.dicts()] == [1, 3]
    assert (emission.step, emission.first_row, operator.watermark, operator.clock) == (4, 1, 3, 7)
    assert operator.counts["input"].applied == 3
    operator.finish()
    (last,) = operator.drain()
    assert (last.step, last.first_row, last.rows["c0"].to_list()) == (5, 3, [6])


def test_messages_that_wait_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are added to the state many at once, so neither they nor rows that no frame needs pile up."""
    monkeypatch.setattr(row_path, "MAX_WAITING", 100)
    operator = StandaloneOperator(over([F.sum("v"), F.count()], ROWS[:2], keys=["k"]), TYPES)
    for time in range(1_000):
        operator.add_message({"k": "a", "event_time": time, "v": 1})
        operator.advance(watermark=time)
    assert operator.drain()[-1].dicts()[0]["c1"] == 999
    path = operator._core.records
    assert isinstance(path, row_path.RowPath)
    assert len(path._rows["input"]) <= 100
    assert path._records.size < 200


@pytest.mark.parametrize(
    "spec",
    [
        over([SUM], [Frame("rows", -1, 0, "current row")]),
        over([F.lead("v", 1, None, True)], ROWS),
        over([F.lag("v", 1, None, True)], ROWS),
        over([F.median("v")], ROWS),
        over([SUM], ROWS, order=["v"]),
        over([SUM], ROWS, descending=["event_time"]),
        over([SUM], ROWS, max_future_skew=5),
        over([SUM], ROWS, watermark=StreamTime(1, per="all")),
        over([SUM, F.count()], [Frame("rows", -1, 0), Frame("range", -1, 0)]),
        over([SUM], ROWS, keys=["x"]),
    ],
)
def test_operators_of_which_each_message_is_a_step(spec: OverOperator) -> None:
    """semantics 31.30"""
    assert StandaloneOperator(spec, TYPES).evaluation == "each"
