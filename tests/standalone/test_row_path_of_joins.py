"""Rows of joins emitted without a step of the engine are those of such steps, and leave the same state."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import AsOf, Interval, JoinOperator, LastRows, Latest, Side, StreamTime, left, right
from panewise.engine.columns import END, MATCHED, NUMBER, TIME
from panewise.engine.join.as_of import records as as_of
from panewise.engine.join.as_of.awaited import OVERDUE
from panewise.engine.join.batch.emission import without_partner
from panewise.engine.join.interval import records as interval
from panewise.spec.operators.join.columns import Selected
from panewise.standalone import StandaloneOperator, row_path
from tests.engine.effort import examples
from tests.standalone.test_record_path import CLOCKS, TIMES, VALUES
from tests.standalone.test_record_path import agree as record_path_agrees
from tests.standalone.test_row_path import SIDES, agrees_with_oracle, of_side, placed, shown_by

OF_SIDES = {
    "left": {"k": "string", "event_time": "bigint", "v": "bigint", "x": "double"},
    "right": {"r_k": "string", "r_event_time": "bigint", "r_v": "bigint"},
}
PORTS = st.sampled_from(["left", "right"])
# Messages that take the direct path. Event times and watermarks count from the watermark before.
PLAIN = st.fixed_dictionaries(
    {"event_time": st.integers(0, 6), "k": st.sampled_from(["a", "a", "a", "b"])},
    optional={"v": st.one_of(st.none(), st.integers(-5, 5))},
)
ANY = st.fixed_dictionaries(
    {"event_time": st.one_of(st.integers(-1, 9), TIMES), "k": st.sampled_from(["a", "b", None])},
    optional={"v": VALUES},
)
MOVES = st.one_of(st.integers(0, 6), st.integers(0, 15), st.tuples(PORTS, st.integers(0, 9)))
RARE = st.one_of(
    *(CLOCKS, st.tuples(st.just("clock"), st.integers(0, 40)), st.tuples(PORTS, st.just("finish"))),
    st.tuples(st.sampled_from(["checkpoint", "reset"]), st.just("one")),
    st.sampled_from(["look", "result", "clocks", "restart", "restart", "both"]),
)
ADDED = st.tuples(PORTS, PLAIN)
# `one_of` would draw from each of these equally often, as it leaves out repetitions.
EVENTS = st.sampled_from(
    [ADDED, ADDED, ADDED, ADDED, ADDED, MOVES, MOVES, st.tuples(PORTS, ANY), st.just("drain"), RARE]
).flatmap(lambda events: events)
# Without a least size lists have five events on average, and few rows are emitted.
SCRIPTS = st.one_of(st.lists(EVENTS, max_size=30), st.lists(EVENTS, min_size=20, max_size=40))
INTERVALS = [
    *(Interval(-3, 3), Interval(0, 5), Interval(-6, -1), Interval(-2, 4, closed="left"), Interval(2, 9)),
]
AS_OF = [
    *(AsOf(), AsOf(tolerance=4), AsOf(allow_exact_matches=False), AsOf("forward", 5), AsOf("nearest", 4)),
    *(AsOf("forward", 3, allow_exact_matches=False), AsOf("nearest", 6, allow_exact_matches=False)),
    *(AsOf("forward"), AsOf("nearest"), AsOf("forward", allow_exact_matches=False)),
    AsOf("nearest", allow_exact_matches=False),
]
BY_ARRIVAL = [LastRows(3), LastRows(0, 2), LastRows(1, 2), Latest()]  # of rows without event times
ONE_SIDED = ("semi", "anti")
JOINS = [
    *[(match, how) for match in INTERVALS for how in ("inner", "left", "right", "full", *ONE_SIDED)],
    *[(match, how) for match in AS_OF for how in ("inner", "left", *ONE_SIDED)],
    *[(match, "inner") for match in BY_ARRIVAL],
]
SELECTED = [
    *(Selected("right", "r_v", "rv"), Selected("left", "v", "lv"), Selected("right", "r_event_time")),
    *(Selected("left", "k"), Selected("left", "v", "again")),
]
WITH_KEY = [*SELECTED[:2], Selected("either", "k", "key"), *SELECTED[2:]]


def join(
    match: Any, how: Any, keys: Sequence[str] = ("k",), lateness: Sequence[int] = (0, 0), **options: Any
) -> JoinOperator:
    """Returns a join, without event times if its match is by arrival."""
    times = (None, None) if match in BY_ARRIVAL else ("event_time", "r_event_time")
    right_keys = [f"r_{name}" for name in keys]
    return JoinOperator(
        match=match,
        how=how,
        left=Side(keys=keys, event_time=times[0], allowed_lateness=lateness[0]),
        right=Side(keys=right_keys, event_time=times[1], allowed_lateness=lateness[1]),
        **options,
    )


def stored(operator: StandaloneOperator) -> Any:
    """Returns the stored rows of a join, and which of them have had no partner, as far as that matters.

    What waits is added first.

    The numbers of rows depend on where batches are cut. Only the order of rows of equal time and of one side
    counts. Tables may still have rows that nothing reads. A row with a partner may be marked, be among the
    matches, or not be stored. Of an overdue row the instant of its decision is known earlier if the right row
    that decides it is in the same batch.
    """
    operator.live()
    engine: Any = operator._core.host.operator
    tables, rows_by_name = engine.state.tables, {}
    live = dict.fromkeys(SIDES, pl.Series(NUMBER, [], pl.Int64))
    for side, rows in engine.live_rows():
        live[side] = pl.concat([live[side], rows[NUMBER]])
    for name in [name for name in (*SIDES, OVERDUE) if name in tables]:
        side = name.split()[0]
        rows = tables[name].all().filter(pl.col(NUMBER).is_in(live[side].implode())).sort(TIME, NUMBER)
        rows_by_name[name] = rows.drop(
            NUMBER, MATCHED, *([END] if name == OVERDUE else []), strict=False
        ).rows()
        if MATCHED in rows.columns:
            alone = without_partner(engine.state, side, rows)
            rows_by_name[f"{side} alone"] = alone.drop(NUMBER, MATCHED).rows()
            if f"{side} unmatched" in tables:
                waiting = without_partner(engine.state, side, tables[f"{side} unmatched"].all())
                assert {*alone[NUMBER]} == {*waiting[NUMBER]}
    return rows_by_name


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the limits small, so that few rows reach them."""
    monkeypatch.setattr(interval, "TRIMMED", 1)
    monkeypatch.setattr(as_of, "TRIMMED", 1)
    monkeypatch.setattr(row_path, "MAX_WAITING", 3)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("keys", [["k"], []])
@pytest.mark.parametrize("matches", [INTERVALS, AS_OF[:7], AS_OF[7:], BY_ARRIVAL])
@examples(100)
@given(
    data=st.data(),
    lateness=st.tuples(st.sampled_from([0, 3]), st.sampled_from([0, 5])),
    options=st.fixed_dictionaries(
        {
            "timestamp": st.sampled_from(["left", "right", "later", "earlier"]),
            "evaluate": st.sampled_from(["batch", "record"]),
        },
        optional={"select": st.sampled_from([SELECTED, WITH_KEY])},
    ),
    script=SCRIPTS,
)
def test_rows_and_states_are_the_same(
    matches: Sequence[Any],
    keys: list[str],
    data: st.DataObject,
    lateness: tuple[int, int],
    options: dict[str, Any],
    script: list[Any],
) -> None:
    """semantics 31.31: outputs, numbers, counts, clocks, live rows and stored rows, with restarts.

    The sides have watermarks of their own.
    """
    match, how = data.draw(st.sampled_from([of for of in JOINS if of[0] in matches]))
    if how in ONE_SIDED:
        options = {"evaluate": options["evaluate"]}
    if not keys and options.get("select") is WITH_KEY:
        options = {**options, "select": SELECTED}
    if match in BY_ARRIVAL:
        lateness, options = (0, 0), {name: of for name, of in options.items() if name != "timestamp"}
    spec = join(match, how, keys, lateness, **options)
    record_path_agrees(spec, OF_SIDES, placed(script), shown_by, stored)


VALUED = PLAIN.map(lambda message: {"v": None, **message})
OF_ORACLE = st.lists(
    st.sampled_from([st.tuples(PORTS, st.integers(-1, 8), VALUED)] * 3 + [st.integers(0, 5)]).flatmap(
        lambda events: events
    ),
    max_size=24,
)


@examples(60)
@given(of=st.sampled_from(JOINS), script=OF_ORACLE)
def test_rows_are_those_of_the_oracle(of: tuple[Any, Any], script: list[Any]) -> None:
    """semantics 31.31"""
    if of[0] in BY_ARRIVAL:
        script = [event for event in script if not isinstance(event, int)]  # there is no watermark
    agrees_with_oracle(join(*of), OF_SIDES, script)


Seen: TypeAlias = list[list[tuple[Any, ...]]]


def seen_of(operator: StandaloneOperator, events: Sequence[Any]) -> Seen:
    """Returns what each event emits: the times of both rows.

    A number is a watermark of both sides, a side with a number a row at that time, and "right until" with a
    number a watermark of the right side.
    """
    seen = []
    for event in events:
        match event:
            case int():
                operator.advance(watermark=event)
            case ("right until", mark):
                operator.advance(watermark=mark, input="right")
            case (side, time):
                operator.add_message(of_side(side, {"k": "a", "event_time": time}), side)
        rows = [row for emission in operator.drain() for row in emission.dicts()]
        seen.append([(row["event_time"], row.get("r_event_time")) for row in rows])
    return seen


def emitted(spec: JoinOperator, events: Sequence[Any]) -> Seen:
    """Returns the same of a new operator, which makes no step of the engine."""
    operator = StandaloneOperator(spec, OF_SIDES)
    before = operator._core.host.operator.state
    seen = seen_of(operator, events)
    assert operator._core.host.operator.state is before
    return seen


OUTER = [
    *(("left", 12), ("left", 8), ("left", 4), ("right", 9), ("right", 6), ("left", 8), ("left", 5)),
    *(("right", 7), ("right", 7), 5, 20),
]


@pytest.mark.parametrize(
    ("how", "shown"),
    [
        ("inner", [[(4, 6)], [(5, 7)], [(5, 7)], [], []]),
        ("left", [[(4, 6)], [(5, 7)], [(5, 7)], [], [(8, None), (8, None), (12, None)]]),
        ("right", [[(4, 6)], [(5, 7)], [(5, 7)], [], [(None, 9)]]),
        ("full", [[(4, 6)], [(5, 7)], [(5, 7)], [], [(8, None), (8, None), (None, 9), (12, None)]]),
        ("semi", [[(4, None)], [(5, None)], [], [], []]),
        ("anti", [[], [], [], [], [(8, None), (8, None), (12, None)]]),
    ],
)
def test_rows_without_a_partner_make_no_step_of_the_engine(how: Any, shown: Seen) -> None:
    """semantics 31.31, 39, 40.3"""
    seen = emitted(join(Interval(2, 2), how), OUTER)
    assert [seen[4], *seen[7:]] == shown
    assert seen[:4] + seen[5:7] == [[]] * 6


@pytest.mark.parametrize(("how", "shown"), [("left", [(5, None)]), ("semi", []), ("anti", [(5, None)])])
def test_a_row_that_can_get_no_partner_when_it_arrives(how: Any, shown: list[Any]) -> None:
    """semantics 39: it is emitted at once, or never."""
    events = [5, ("left", 5), ("left", 6), ("right", 5), 30]
    pair = {"left": [(6, 5)], "semi": [(6, None)], "anti": []}
    assert emitted(join(Interval(-6, -1), how), events) == [[], shown, [], pair[how], []]


@pytest.mark.parametrize("how", ["left", "full", "anti", "semi"])
def test_rows_that_have_had_a_partner_are_read_from_the_state(how: Any) -> None:
    """Both as they are marked, and as they are among the matches. A late row makes a step of the engine."""
    operator = StandaloneOperator(join(Interval(0, 5), how), OF_SIDES)
    seen_of(operator, [1, ("left", 5)])
    operator.live()
    seen_of(operator, [("right", 7), ("left", 6), ("right", 8), ("left", 9)])
    operator.live()
    alone = [] if how == "semi" else [(9, None)]
    assert seen_of(operator, [("left", 0), ("left", 20), 19]) == [[], [], alone]


RIGHT_ROWS, LEFT_ROWS = [("right", 3), ("right", 8), ("right", 8)], [("left", at) for at in (10, 6, 2, 8)]


@pytest.mark.parametrize(
    ("match", "how", "shown"),
    [
        (AsOf(), "left", [[(2, None), (6, 3), (8, 8)], [(10, 8)]]),
        (AsOf(), "inner", [[(6, 3), (8, 8)], [(10, 8)]]),
        (AsOf(tolerance=2), "anti", [[(2, None), (6, None)], []]),
        (AsOf(tolerance=2), "semi", [[(8, None)], [(10, None)]]),
        (AsOf(allow_exact_matches=False), "left", [[(2, None), (6, 3), (8, 3)], [(10, 8)]]),
        (AsOf("forward", 5), "left", [[(2, 3)], [(6, 8), (8, 8), (10, None)]]),
        (AsOf("nearest", 2), "left", [[(2, 3), (6, 8)], [(8, 8), (10, 8)]]),
        (AsOf("nearest"), "left", [[(2, 3), (6, 8), (8, 8)], [(10, 8)]]),
        (AsOf("forward"), "left", [[(2, 3), (6, 8), (8, 8)], []]),
    ],
)
def test_left_rows_are_decided_without_a_step_of_the_engine(match: Any, how: Any, shown: Seen) -> None:
    """semantics 31.31, 37.2, 37.3"""
    seen = emitted(join(match, how), [*RIGHT_ROWS, *LEFT_ROWS, 9, 30])
    assert seen == [*[[]] * 7, *shown]


@pytest.mark.parametrize("match", [AsOf(), AsOf("forward", 9), AsOf("nearest", 9), AsOf("nearest")])
def test_of_right_rows_of_equal_time_the_last_one_is_the_partner(match: AsOf) -> None:
    """semantics 37.2; of two that are equally near, it is the earlier one."""
    operator = StandaloneOperator(join(match, "inner"), OF_SIDES)
    operator.add_message({"k": "a", "event_time": 6}, "left")
    for v, time in enumerate([4, 4, 8, 8]):
        operator.add_message({"r_k": "a", "r_event_time": time, "r_v": v}, "right")
    operator.advance(watermark=20)
    (emission,) = operator.drain()
    assert [row["r_v"] for row in emission.dicts()] == [3 if match.strategy == "forward" else 1]


@pytest.mark.parametrize("further", [[18], [("right", 14), 14, 15], [("right", 30), 17, 18]])
def test_overdue_rows_are_decided_without_a_step_of_the_engine(further: list[Any]) -> None:
    """semantics 31.31, 37.23: by the right row before them, or by a nearer one after them."""
    seen = emitted(join(AsOf("nearest"), "left"), [("right", 3), ("left", 10), 12, *further])
    assert seen[:-1] == [[]] * (len(seen) - 1)
    assert seen[-1] == [(10, 14 if ("right", 14) in further else 3)]


def test_a_left_row_that_is_overdue_when_it_arrives() -> None:
    """semantics 37.23: it is decided at once if no nearer right row can come."""
    events = [
        ("right", 3),
        ("right until", 8),
        ("left", 5),
        ("left", 6),
        ("right until", 9),
        ("right until", 10),
    ]
    assert emitted(join(AsOf("nearest"), "left"), events) == [[], [], [(5, 3)], [], [], [(6, 3)]]


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("strategy", ["backward", "nearest"])
def test_the_last_right_row_that_has_passed_is_needed(strategy: Any) -> None:
    """An earlier one is not: it is removed when a right row is added."""
    events = [("right", 2), ("right", 3), 5, ("right", 9), ("left", 5), 20]
    operator = StandaloneOperator(join(AsOf(strategy), "left"), OF_SIDES)
    assert seen_of(operator, events)[-1] == [(5, 3)]


def test_right_rows_to_pass_are_read_from_the_state() -> None:
    """A late row makes a step of the engine."""
    operator = StandaloneOperator(join(AsOf("forward"), "left"), OF_SIDES)
    seen_of(operator, [("left", 5), 7, ("right", 9)])
    operator.live()
    assert seen_of(operator, [("left", 0), 9, 10]) == [[], [], [(5, 9)]]


def test_selected_columns() -> None:
    """One may be selected twice. A key of either side is that of the right row, if it is the only one."""
    operator = StandaloneOperator(join(Interval(0, 5), "right", select=WITH_KEY), OF_SIDES)
    operator.add_message({"r_k": "b", "r_event_time": 3}, "right")
    operator.add_message({"k": "a", "event_time": 3, "v": 7}, "left")
    operator.live()
    seen_of(operator, [1, ("left", 0)])  # a late row makes a step of the engine
    operator.add_message({"r_k": "a", "r_event_time": 4}, "right")
    operator.advance(watermark=4)
    rows = [row for emission in operator.drain() for row in emission.dicts()]
    assert [(row["lv"], row["again"], row["key"], row["k"]) for row in rows] == [
        (7, 7, "a", "a"),
        (None, None, "b", None),
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"how": "left", "unmatched": "early"},
        {"condition": left("v") < right("r_v")},
        {"condition": left("v") < right("r_v"), "match": AsOf(tolerance=5)},
        {"idle_after": 5},
        {"watermark": StreamTime(1, per="all")},
        {"match": Interval(None, 5, retain_rows=3)},
        {"match": Interval(0, 5, late="join"), "how": "full"},
        {"match": LastRows(3)},  # of rows with event times
        {"match": LastRows(3, order="event_time")},
    ],
)
def test_joins_of_which_each_message_is_a_step(options: dict[str, Any]) -> None:
    """semantics 31.30"""
    sides = {"left": Side(keys=["k"]), "right": Side(keys=["r_k"], event_time="r_event_time")}
    spec = JoinOperator(**{"match": Interval(0, 5), **sides, **options})
    assert StandaloneOperator(spec, OF_SIDES).evaluation == "each"
