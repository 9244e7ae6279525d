"""Joins as values: rules, defaults, columns, JSON and descriptions (semantics 27, 28, 36 to 41)."""

import json
from typing import Any

import pytest

from panewise import CogroupOperator, Duration, FixedLag, Position, StreamTime, Tumbling
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec.codec import changed_fields, from_dict, from_json, to_dict, to_json
from panewise.spec.column_types import Type
from panewise.spec.conditions import left, right
from panewise.spec.describe import describe
from panewise.spec.families.join import PARTS
from panewise.spec.family_parts import parts
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import Selected, all_columns
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.last_rows import LastRows
from panewise.spec.operators.join.latest import Latest
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.join.streams import WindowedStreams
from panewise.streamwindow import count, delta, punct, time

ALL = StreamTime(per="all")
WITHIN = Interval("-5 minutes", "1 hour")
PREFIXED = Side(keys=["id"], prefix="l_")
ORDERS = Side(keys=["id"], event_time="ordered")


def join(**fields: Any) -> JoinOperator:
    shipments = Side(keys=["order_id"], event_time="shipped")
    return JoinOperator(**{"left": ORDERS, "right": shipments, "match": WITHIN} | fields)


NO_TIMES = Side(keys=["id"], event_time=None)


def without_times(**fields: Any) -> JoinOperator:
    return JoinOperator(**{"left": NO_TIMES, "right": NO_TIMES, "match": Latest(), "how": "inner"} | fields)


REFUSED: list[tuple[str, Any, str]] = [
    ("bounds the wrong way round", lambda: Interval(5, 3), "not above the upper"),
    ("closed", lambda: Interval(0, 1, "open"), "closed is one of"),  # type: ignore[arg-type]
    ("another empty interval", lambda: Interval(3, 3, "right"), "a whole microsecond"),
    ("an empty interval", lambda: Interval(3, 4, "neither"), "a whole microsecond"),
    ("an empty point", lambda: Interval(3, 3, "left"), "a whole microsecond"),
    ("a fraction", lambda: Interval(0.5, 3), "lower"),  # type: ignore[arg-type]
    ("no bound without a retention", lambda: Interval(None, 5), "would be stored for good"),
    ("no bounds without a retention", lambda: Interval(None, None), "give retain_for='1 day'"),
    (
        "two limits",
        lambda: Interval(None, 5, retain_for="unlimited", retain_rows=1),
        "leave out retain_for or",
    ),
    ("an interval of no times", lambda: without_times(match=WITHIN), "column with the time of arrival"),
    ("an as-of join of no times", lambda: without_times(match=AsOf()), "and watermark=FixedLag(0)"),
    (
        "event-time order of no times",
        lambda: without_times(match=LastRows(1, order="event_time")),
        "only Latest, and LastRows by arrival, match without event times",
    ),
    ("streams of no times", lambda: without_times(match=WindowedStreams()), "only Latest, and LastRows by"),
    (
        "windows of no times",
        lambda: without_times(match=SameWindow(Tumbling(5))),
        "only Latest, and LastRows",
    ),
    ("one side of no times", lambda: without_times(right=ORDERS), "of the left only | both sides"),
    ("a time of no times", lambda: without_times(timestamp="left"), "timestamp needs event times"),
    ("idle sides of no times", lambda: without_times(idle_after=5), "idle_after needs event times"),
    (
        "a watermark of no times",
        lambda: without_times(watermark=StreamTime(0, per="all")),
        "watermark needs event times",
    ),
    (
        "a lag of no times",
        lambda: Side(event_time=None, watermark=FixedLag(0)),
        "watermark needs event times",
    ),
    ("lateness of no times", lambda: Side(event_time=None, allowed_lateness=1), "allowed_lateness needs"),
    ("a skew of no times", lambda: Side(event_time=None, max_future_skew=0), "max_future_skew needs event"),
    (
        "windows over no times",
        lambda: without_times().then(window=Tumbling(5), aggregates=[F.count()]),
        "a join with windows over it needs event times",
    ),
    (
        "a cogroup of no times",
        lambda: CogroupOperator(
            left=NO_TIMES, right=NO_TIMES, window=Tumbling(5), left_aggregates=[F.count()]
        ),
        "a cogroup needs event times",
    ),
    ("another fate", lambda: Interval(0, 5, late="drop"), "late is one of"),  # type: ignore[arg-type]
    ("late rows without a bound", lambda: Interval(None, 5, retain_rows=1, late="join"), "give both bounds"),
    ("bounds and no limit", lambda: Interval(0, 5, retain_for="unlimited"), "leave it out"),
    ("another word", lambda: Interval(None, 5, retain_for="never"), "retain_for"),
    (
        "a retention with bounds",
        lambda: Interval(0, 5, retain_rows=3),
        "only an interval without a bound has a retention",
    ),
    ("a retention of no time", lambda: Interval(None, 5, retain_for=0), "above zero"),
    (
        "a retention of no rows",
        lambda: Interval(None, 5, retain_rows=0),
        "whole, 1 or more, and 46116860184273",
    ),
    ("a retention of too many", lambda: Interval(None, 5, retain_rows=2**63), "rows to retain is whole"),
    ("a Boolean number", lambda: Interval(None, 5, retain_rows=True), "give one such as 1000"),
    ("closed at no bound", lambda: Interval(0, None, "left", retain_rows=1), "bounds that the interval has"),
    ("open at no bounds", lambda: Interval(None, None, "neither", retain_rows=1), "one of ('both',)"),
    ("strategy", lambda: AsOf("latest"), "strategy is one of"),  # type: ignore[arg-type]
    ("a negative tolerance", lambda: AsOf(tolerance=-1), "not negative"),
    ("a fraction of a tolerance", lambda: AsOf(tolerance=0.5), "tolerance"),  # type: ignore[arg-type]
    ("a number of rows", lambda: LastRows(-1), "a number of rows, count, time or delta"),
    ("a fraction of rows", lambda: LastRows(1.5), "give one such as 3"),  # type: ignore[arg-type]
    ("a Boolean of rows", lambda: LastRows(True), "give one such as 3"),
    ("markers", lambda: LastRows(punct("v")), "count, time or delta"),  # type: ignore[arg-type]
    ("no window", lambda: LastRows(0), "at least one side"),
    ("the order of rows", lambda: LastRows(1, order="time"), "order is one of"),  # type: ignore[arg-type]
    ("time by event time", lambda: LastRows(time(5), order="event_time"), "a number of right rows"),
    ("left rows by event time", lambda: LastRows(1, left=1, order="event_time"), "a number of right rows"),
    ("full last rows", lambda: join(match=LastRows(1), how="full"), "inner, left, semi or anti"),
    ("early last rows", lambda: join(match=LastRows(1), how="left", unmatched="early"), "in no window"),
    ("a time to live of 0", lambda: Latest(0), "above zero"),
    ("three columns", lambda: Latest(deletes=("a", "b", "c")), "a column of each side"),  # type: ignore[arg-type]
    ("a column that is none", lambda: Latest(deletes=5), "a column of each side"),  # type: ignore[arg-type]
    ("a column without a name", lambda: Latest(deletes=("", None)), "non-empty string"),
    ("right last rows", lambda: join(match=LastRows(1), how="right"), "inner, left, semi or anti"),
    (
        "early rows in order",
        lambda: join(match=LastRows(1, order="event_time"), how="left", unmatched="early"),
        "in no window",
    ),
    ("anti of latest rows", lambda: join(match=Latest(), how="anti"), "inner, left, right or full"),
    ("semi of latest rows", lambda: join(match=Latest(), how="semi"), "inner, left, right or full"),
    ("exact matches", lambda: AsOf(allow_exact_matches=0), "give one of these"),  # type: ignore[arg-type]
    ("no match", lambda: AsOf("nearest", 0, allow_exact_matches=False), "give a tolerance above 0"),
    ("right as of", lambda: join(match=AsOf(), how="right"), "exchange the sides"),
    ("full as of", lambda: join(match=AsOf(), how="full"), "inner, left, semi or anti"),
    ("early as of", lambda: join(match=AsOf(), how="left", unmatched="early"), "once its partner is known"),
    ("early inner as of", lambda: join(match=AsOf(), unmatched="early"), "leave unmatched out"),
    (
        "a condition without a tolerance",
        lambda: join(match=AsOf(), condition=left("v") > right("v")),
        "all would be stored for good",
    ),
    ("a side that is none", lambda: join(left="orders"), "each side is a panewise.Side"),
    ("a match that is none", lambda: join(match=5), "the classes of matches are Interval, AsOf, SameWindow"),
    ("how", lambda: join(how="outer"), "how is one of"),
    ("timestamp", lambda: join(timestamp="end"), "timestamp is one of"),
    ("evaluate", lambda: join(evaluate="row"), "evaluate is one of"),
    ("unmatched", lambda: join(how="left", unmatched="late"), "unmatched is one of"),
    ("unmatched of inner", lambda: join(unmatched="final"), "emits no row without a partner"),
    ("unmatched of semi", lambda: join(how="semi", unmatched="early"), "emits no row without a partner"),
    ("timestamp of anti", lambda: join(how="anti", timestamp="left"), "emits left rows"),
    ("numbers of keys", lambda: join(left=Side(keys=["a", "b"])), "as many keys"),
    ("a key twice", lambda: Side(keys=["a", "a"]), "named once"),
    ("a column without a name", lambda: Side(keys=[""]), "non-empty strings"),
    ("keys as text", lambda: Side(keys="id"), "give a list"),
    ("order and position", lambda: Side(order=["n"], position=Position()), "arrival order"),
    ("a position that is none", lambda: Side(position="offset"), "a position is a Position"),  # type: ignore[arg-type]
    ("null_keys", lambda: Side(keys=["a"], null_keys=1), "null_keys is one of"),  # type: ignore[arg-type]
    ("null_keys without keys", lambda: Side(null_keys=False), "says what becomes of null in a key"),
    ("a prefix that is none", lambda: Side(prefix=None), "a prefix is a text"),  # type: ignore[arg-type]
    ("negative lateness", lambda: Side(allowed_lateness=-1), "not negative"),
    ("negative skew", lambda: Side(max_future_skew=-1), "not negative"),
    ("watermarks of keys", lambda: Side(watermark=StreamTime()), "comes from outside"),
    ("watermarks of keys of both", lambda: join(watermark=StreamTime()), "StreamTime(per='all')"),
    (
        "two watermarks",
        lambda: join(watermark=ALL, left=Side(keys=["id"], watermark=ALL)),
        "each side has its own",
    ),
    ("idle_after of one watermark", lambda: join(watermark=ALL, idle_after=5), "leave idle_after out"),
    (
        "idle_after with a lag",
        lambda: join(left=Side(keys=["id"], watermark=FixedLag(1)), idle_after=5),
        "leave idle_after out",
    ),
    ("idle_after", lambda: join(idle_after=0), "above zero"),
    (
        "a side that moves while it is idle",
        lambda: join(left=Side(keys=["id"], watermark=StreamTime(per="all", idle_after=5))),
        "an operator with two sides has an idle_after of its own",
    ),
    (
        "sides that move while they are idle",
        lambda: join(watermark=StreamTime(per="all", idle_after=5)),
        "leave idle_after out of the watermark",
    ),
    (
        "a prefix with select",
        lambda: join(left=Side(keys=["id"], prefix="l_"), select=[Selected("left", "id")]),
        "prefix",
    ),
    ("a prefix that names nothing", lambda: join(how="semi", right=Side(keys=["id"], prefix="r_")), "prefix"),
    ("nothing selected", lambda: join(select=[]), "at least one column"),
    ("text selected", lambda: join(select=["id"]), "a column is a Selected"),
    ("a right column of semi", lambda: join(how="semi", select=[Selected("right", "v")]), "left rows only"),
    ("either for a value", lambda: join(select=[Selected("either", "v")]), "for the key columns"),
    (
        "a column twice",
        lambda: join(select=[Selected("left", "v"), Selected("right", "v")]),
        "different names",
    ),
    ("the name op", lambda: join(select=[Selected("left", "op")]), "the join adds"),
    ("a side of a column", lambda: Selected("both", "v"), "left, right or either"),  # type: ignore[arg-type]
    ("a column without name", lambda: Selected("left", ""), "non-empty strings"),
    ("a condition that is none", lambda: join(condition="a > b"), "condition"),
]


@pytest.mark.parametrize(("make", "rule"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_breaks_a_rule_is_refused_by_name(make: Any, rule: str) -> None:
    with pytest.raises(SpecError) as caught:
        make()
    assert rule in str(caught.value)


def test_defaults_are_resolved_when_the_join_is_built() -> None:
    """Semantics 27, 39, 40.1."""
    assert (join().unmatched, join().timestamp) == (None, "later")
    assert (join(how="full").unmatched, join(how="full").timestamp) == ("final", "later")
    assert (join(how="anti").unmatched, join(how="anti").timestamp) == ("final", None)
    assert (join(match=AsOf(), how="left").unmatched, AsOf().strategy, AsOf().tolerance) == (
        "final",
        "backward",
        None,
    )
    assert ORDERS.null_keys
    assert Interval("-5 minutes", "1 hour") == Interval(-300_000_000, 3_600_000_000)


@pytest.mark.parametrize(
    ("closed", "first", "last"), [("both", -2, 5), ("left", -2, 4), ("right", -1, 5), ("neither", -1, 4)]
)
def test_an_interval_includes_the_bounds_that_it_names(closed: Any, first: int, last: int) -> None:
    """Semantics 37, 37.1."""
    match = Interval(-2, 5, closed)
    assert (match.first, match.last) == (first, last)


@pytest.mark.parametrize(
    ("match", "first", "last", "waits"),
    [
        (Interval(None, 5, "neither", retain_for=9), None, 4, {"left": 4, "right": 9}),
        (Interval(-2, None, retain_rows=3), -2, None, {"left": None, "right": 2}),
        (Interval(None, None, retain_for=7, retain_rows=3), None, None, {"left": 7, "right": 7}),
        (Interval(None, 5, retain_for="unlimited"), None, 5, {"left": 5, "right": None}),
    ],
)
def test_rows_of_a_side_without_a_bound_are_retained(
    match: Interval, first: Any, last: Any, waits: Any
) -> None:
    """Semantics 37, 37.1."""
    assert (match.first, match.last, match.waits) == (first, last, waits)
    assert match.retained == tuple(
        side for side, bound in (("left", last), ("right", first)) if bound is None
    )
    spec = join(match=match, how="left")
    assert from_json(to_json(spec)) == spec


WORDS_OF_RETENTION = """
if the right shipped is 1 hour after the left ordered or earlier.
State: a left row until the right watermark is more than 1 hour after it; a right row until the left watermark
is more than 1 day after it.

if the right shipped is later than the left ordered.
State: the last left row of each key, by arrival, for good if no other follows; a right row until the left
watermark is less than 1 microsecond before it.

if their keys are equal, at any distance of the right shipped from the left ordered.
State: the last 3 left rows of each key, by arrival, until the right watermark is more than 5 microseconds
after them; the last 3 right rows of each key, by arrival, until the left watermark is more than 5
microseconds after them.

if the right shipped is the same as the left ordered or earlier.
State: a left row until the right watermark is after it; each right row until the left input ends.
"""


@pytest.mark.parametrize(
    ("match", "number"),
    [
        (Interval(None, "1 hour", retain_for="1 day"), 0),
        (Interval(0, None, "neither", retain_rows=1), 1),
        (Interval(None, None, retain_for=5, retain_rows=3), 2),
        (Interval(None, 0, retain_for="unlimited"), 3),
    ],
)
def test_a_retention_in_words(match: Interval, number: int) -> None:
    words = " ".join(describe(join(match=match)).split())
    partners, state = " ".join(WORDS_OF_RETENTION.split("\n\n")[number].split()).split(" State: ")
    assert partners in words
    assert words.endswith(f"State: {state}")


@pytest.mark.parametrize(
    ("match", "waits", "reach"),
    [
        (AsOf(), 0, (0, None)),
        (AsOf(tolerance=7), 0, (0, 7)),
        (AsOf("forward", 7), 7, (7, 0)),
        (AsOf("nearest", 7), 7, (7, 7)),
        (AsOf("nearest", 0), 0, (0, 0)),
        (AsOf(allow_exact_matches=False), -1, (-1, None)),
        (AsOf("forward", 7, allow_exact_matches=False), 7, (7, 0)),
        (AsOf("nearest", 7, allow_exact_matches=False), 7, (7, 7)),
        (AsOf("forward"), 0, (None, 0)),
        (AsOf("nearest"), 0, (None, None)),
    ],
)
def test_a_left_row_waits_for_later_right_rows(match: AsOf, waits: int, reach: tuple[Any, Any]) -> None:
    """Semantics 37.2, 37.3, 37.22."""
    assert (match.waits, match.reach) == (waits, reach)


def test_ports_are_made_once() -> None:
    """They are no part of the value: a join whose ports were read equals one whose ports were not."""
    spec, other = (JoinOperator(left=Side(), right=Side(prefix="r_"), match=Interval(0, 5)) for _ in range(2))
    assert spec.ports["left"] is spec.ports["left"]
    assert spec == other
    assert (hash(spec), repr(spec)) == (hash(other), repr(other))


def test_a_caller_cannot_change_the_ports() -> None:
    spec = JoinOperator(left=Side(), right=Side(prefix="r_"), match=Interval(0, 5))
    spec.ports.clear()
    assert set(spec.ports) == {"left", "right"}


def test_all_columns_are_emitted_with_shared_keys_once() -> None:
    """Semantics 40.2."""
    sides = {"left": Side(keys=["a", "b"], prefix="l_"), "right": Side(keys=["b", "b2"], prefix="r_")}
    found = all_columns(sides, {"left": ["a", "b", "v"], "right": ["b", "b2", "v"]})
    assert [one.name for one in found] == ["l_a", "l_b", "l_v", "r_b", "r_b2", "r_v"]
    sides = {"left": Side(keys=["a", "b"]), "right": Side(keys=["a", "c"], prefix="r_")}
    found = all_columns(sides, {"left": ["v", "a", "b"], "right": ["c", "a"]})
    assert [(one.side, one.name) for one in found] == [
        ("left", "v"), ("either", "a"), ("left", "b"), ("right", "r_c"),
    ]  # fmt: skip


def test_two_columns_of_one_name_are_refused_by_name() -> None:
    """Semantics 40.2."""
    with pytest.raises(SpecError, match=r"'v' of left and of right .* give one side a prefix"):
        join().selected({"left": ["id", "v"], "right": ["order_id", "v"]})


def test_a_port_reads_what_keys_condition_and_columns_need() -> None:
    condition = left("amount") > right("limit")
    made = join(condition=condition, select=[Selected("left", "v"), Selected("right", "w")])
    assert made.ports["left"].columns_read == ("id", "ordered", "amount", "v")
    assert made.ports["right"].columns_read == ("order_id", "shipped", "limit", "w")
    assert not made.ports["left"].whole_rows
    semi = join(how="semi", condition=condition).ports
    assert (semi["left"].whole_rows, semi["right"].whole_rows) == (True, False)
    assert semi["right"].columns_read == ("order_id", "shipped", "limit")


def test_compared_columns_have_one_type() -> None:
    """Semantics 28, 38.5."""
    types = {"left": {"id": Type("string")}, "right": {"order_id": Type("bigint")}}
    with pytest.raises(SpecError, match=r"keys id: string .* have one type"):
        parts(join()).check_types(join(), types)
    made = join(condition=left("name") > right("n"))
    types = {"left": {"name": Type("string")}, "right": {"n": Type("bigint")}}
    with pytest.raises(SpecError, match="cast"):
        parts(made).check_types(made, types)


def test_columns_are_renamed_on_their_side() -> None:
    made = join(condition=left("v") > right("v"), select=[Selected("either", "id"), Selected("right", "v")])
    names = {"id": "ID", "v": "V", "order_id": "OID", "shipped": "T"}
    found = parts(made).renamed(made, "right", names)
    assert (found.left, found.right.keys, found.right.event_time) == (made.left, ("OID",), "T")
    assert found.condition == (left("v") > right("V")).node
    assert found.select == (Selected("either", "id"), Selected("right", "V", "v"))
    found = parts(made).renamed(made, "left", names)
    assert found.select == (Selected("either", "ID", "id"), Selected("right", "v"))


def test_the_rows_of_a_stream_drive_the_watermark_of_its_side() -> None:
    """Semantics 36.1, 36.2."""
    delays = {"left": Duration(5), "right": Duration(7)}
    found = parts(join()).for_delays(join(), delays)
    assert found.left.watermark == StreamTime(5, per="all")
    assert found.right.watermark == StreamTime(7, per="all")
    lag = join(left=Side(keys=["id"], watermark=FixedLag(1)))
    assert parts(lag).for_delays(lag, delays).left.watermark == FixedLag(1)
    both = join(watermark=ALL)
    assert parts(both).for_delays(both, delays) == both


AS_OF: dict[str, Any] = {
    "kind": "as_of",
    "strategy": "backward",
    "tolerance": None,
    "allow_exact_matches": True,
}
ROWS: dict[str, Any] = {"kind": "rows", "right": None, "left": None, "order": "arrival"}
LATEST: dict[str, Any] = {"kind": "latest", "ttl": None, "deletes": [None, None]}


@pytest.mark.parametrize(
    ("defaults", "fields", "match"),
    [
        (AS_OF, {}, AsOf()),
        (AS_OF, {"tolerance": None}, AsOf()),
        (AS_OF, {"tolerance": 0}, AsOf(tolerance=0)),
        (AS_OF, {"allow_exact_matches": False}, AsOf(allow_exact_matches=False)),
        (AS_OF, {"strategy": "nearest", "tolerance": 60_000_000}, AsOf("nearest", "1 minute")),
        (ROWS, {"right": {"kind": "count", "n": 3}}, LastRows(3)),
        (ROWS, {"right": None, "left": {"kind": "time", "duration": 5}}, LastRows(0, left=time(5))),
        (
            ROWS,
            {"right": {"kind": "count", "n": 3}, "left": None, "order": "event_time"},
            LastRows(count(3), order="event_time"),
        ),
        (
            ROWS,
            {"right": {"kind": "delta", "column": "v", "amount": {"us": 7}}, "left": None},
            LastRows(delta("v", "7 microseconds")),
        ),
        (LATEST, {}, Latest()),
        (LATEST, {"ttl": 5, "deletes": None}, Latest(5)),
        (LATEST, {"ttl": None, "deletes": [None, "v"]}, Latest(deletes=(None, "v"))),
        (LATEST, {"deletes": ["v", "v"]}, Latest(deletes="v")),
    ],
)
def test_matches_in_json(defaults: dict[str, Any], fields: dict[str, Any], match: Any) -> None:
    """Fields may be left out; all of them are written."""
    read = from_dict({**to_dict(join()), "match": {"kind": defaults["kind"], **fields}})
    assert read == join(match=match)
    written = {**defaults, **{name: value for name, value in fields.items() if value is not None}}
    assert json.loads(to_json(read))["match"] == written


def test_latest_is_refused_on_a_batch_and_its_columns_are_renamed() -> None:
    """Semantics 37.7, 37.8."""
    made = join(match=Latest("1 hour", (None, "v")))
    error = parts(made).batch_error(made)
    assert error is not None
    assert error[0].startswith("Latest(ttl=Duration('1 hour')")
    assert made.ports["left"].columns_read == ("id", "ordered")
    assert made.ports["right"].columns_read == ("order_id", "shipped", "v")
    assert parts(made).renamed(made, "right", {"v": "V"}).match == Latest("1 hour", (None, "V"))
    assert parts(made).renamed(made, "left", {"v": "V"}).match == made.match


def test_columns_of_windows_are_read_and_renamed() -> None:
    """Semantics 37.5."""
    made = join(match=LastRows(delta("v", 1), left=delta("v", 2)), select=[Selected("left", "w")])
    assert made.ports["left"].columns_read == ("id", "ordered", "v", "w")
    assert (made.ports["left"].compared, made.ports["right"].compared) == (("v",), ("v",))
    found = parts(made).renamed(made, "right", {"v": "V"})
    assert found.match == LastRows(delta("V", 1), left=delta("v", 2))
    types = {"left": {"v": Type("string")}, "right": {"v": Type("bigint")}}
    with pytest.raises(SpecError, match=r"delta over v: string .* cast v"):
        parts(made).check_types(made, types)


def test_windows_by_time_are_refused_on_a_batch() -> None:
    """Semantics 37.5."""
    made = join(match=LastRows(1, left=time("1 minute")))
    error = parts(made).batch_error(made)
    assert error is not None
    assert error[0] == "time('1 minute') on a batch DataFrame"
    assert parts(made).batch_error(join(match=LastRows(1, left=delta("v", 2)))) is None


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("match",), {"kind": "near"}),
        (("match",), {"kind": "as_of", "lower": 5}),
        (("match",), {"kind": "as_of", "tolerance": "1 hour"}),
        (("match",), {"kind": "interval", "tolerance": 5}),
        (("match",), {"kind": "rows"}),
        (("match",), {"kind": "latest", "deletes": "v"}),
        (("match",), {"kind": "latest", "ttl": "1 hour"}),
        (("match",), {"kind": "rows", "right": {"kind": "punct", "column": "v"}}),
        (("match",), {"kind": "rows", "right": 3}),
        (("match", "lower"), "5 minutes"),
        (("match", "width"), 5),
        (("left", "key"), ["id"]),
        (("left", "keys"), "id"),
        (("select",), [{"column": "v"}]),
        (("condition",), {"kind": "like"}),
        (("watermark",), {"kind": "fixed_lag", "lag": 5}),
        (("how",), 5),
        (("limit",), 5),
    ],
)
def test_documents_that_are_not_joins_are_refused_with_the_path(path: tuple[str, ...], value: Any) -> None:
    document: Any = json.loads(to_json(join()))
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    with pytest.raises(SpecError) as caught:
        from_dict(document)
    assert path[-1] in str(caught.value) or path[0] in str(caught.value)


def test_a_join_without_event_times() -> None:
    """Semantics 36.13: its columns, its words and its JSON; a stream drives no watermark of it."""
    made = without_times(how="left")
    assert (made.timestamp, made.has_event_times, made.added_columns) == (None, False, ("op", "missing"))
    assert made.ports["left"].columns_read == ("id",)
    assert parts(made).output_time(made)[0] == "a join with event_time=None before a second operator"
    assert (parts(made).instants(made), PARTS.timely_column(made)) == ((), None)
    assert parts(made).for_delays(made, {"left": Duration(5), "right": Duration(5)}) == made
    assert parts(made).renamed(made, "left", {"event_time": "t"}) == made
    assert from_dict(to_dict(made)) == made
    text = describe(made)
    assert "Columns: those of both sides, op and missing." in text
    assert "Left rows: no event time; none is late before the end of input." in text
    assert "Columns: those of the left side and op." in describe(without_times(match=LastRows(1), how="semi"))


def test_changed_fields_are_named() -> None:
    """Semantics 35."""
    assert changed_fields(to_dict(join()), to_dict(join(match=Interval(0, 1), how="left"))) != []
    assert "match" in changed_fields(to_dict(join()), to_dict(join(match=Interval(0, 1))))


def test_a_description_says_what_is_emitted_and_stored() -> None:
    text = describe(
        join(
            how="full",
            unmatched="early",
            condition=left("amount") > right("limit"),
            watermark=StreamTime("10 seconds", per="all"),
            select=[Selected("either", "id"), Selected("right", "weight", "kg")],
        )
    )
    for part in (
        "each row of both sides without a partner",
        "rows with equal id (right: order_id)",
        "from 5 minutes before to 1 hour after the left ordered, and left.amount > right.limit",
        "emitted at once, and retracted if a partner comes; a row with a null key has no partner",
        "either.id, right.weight as kg, op, missing and join_time, the later of both event times",
        "the highest event time of the rows of both sides, less 10 seconds",
        "a left row until the right watermark is more than 1 hour after it",
    ):
        assert part in text
    assert "one shard" in describe(JoinOperator(left=Side(), right=Side(), match=WITHIN))
    assert "follows the other one" in describe(join(idle_after="1 minute"))


def test_rows_of_a_join_may_have_the_watermark_of_the_query() -> None:
    """semantics 42.11, 37.25: an inner join with an interval, unless it joins late rows."""
    assert PARTS.timely_column(join(match=Interval(0, 5))) == "join_time"
    assert PARTS.timely_column(join(match=Interval(0, 5, late="join"))) is None


PATIENT = Side(keys=["order_id"], event_time="shipped", allowed_lateness="3 hours")
DESCRIBED: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"match": AsOf()},
        [
            "the right row is the latest one whose shipped is not after the left ordered.",
            "a left row until the right watermark is after it; the latest right row of each key for good",
        ],
    ),
    (
        {"match": AsOf("forward", "1 hour")},
        [
            "the earliest one whose shipped is not before the left ordered, and at most 1 hour from it",
            "until the right watermark is more than 1 hour after it; a right row as long as it can be",
        ],
    ),
    ({"match": AsOf("nearest", 5)}, ["the one whose shipped is nearest to the left ordered"]),
    (
        {"match": AsOf(allow_exact_matches=False)},
        [
            "the right row is the latest one whose shipped is before the left ordered.",
            "a left row until the right watermark is at or after it; the latest right row",
        ],
    ),
    (
        {"match": AsOf("forward", 5, allow_exact_matches=False)},
        ["the earliest one whose shipped is after the left"],
    ),
    (
        {"match": AsOf("nearest", 5, allow_exact_matches=False)},
        ["nearest to the left ordered, but not equal to it"],
    ),
    (
        {"match": AsOf("forward")},
        [
            "State: a left row until the right watermark has passed its partner, for good if none comes;",
            "; a right row",
        ],
    ),
    (
        {"match": AsOf("nearest")},
        [
            "State: a left row until no nearer right row can come, for good if there is no right row of its",
        ],
    ),
    (
        {"match": AsOf("forward", "1 hour"), "right": PATIENT},
        ["a left row until the right watermark is more than 4 hours after it"],
    ),
    ({"match": AsOf(), "right": PATIENT}, ["more than 3 hours after it"]),
    (
        {"match": AsOf(allow_exact_matches=False), "right": PATIENT},
        ["until the right watermark is 3 hours or more after it"],
    ),
    (
        {"match": LastRows(3)},
        [
            "if the right row is one of the last 3 of the key when the left row arrives.",
            "Rows without a partner: emitted at once;",
            "State: the right rows of each key in their window, for good if no row follows.",
        ],
    ),
    (
        {"match": LastRows(time("1 minute"), left=delta("v", 5))},
        [
            "if the right row is at most 1 minute old in processing time when the left row arrives, or",
            "or the left row is one after which v has risen by at most 5 when the right row arrives.",
            "emitted once no partner can come;",
            "the left rows of each key in their window, for good if no row follows; the right rows of",
            "the right rows of each key in their window.",
        ],
    ),
    (
        {"match": LastRows(2, order="event_time")},
        [
            "the right row is one of the 2 latest ones whose shipped is not after the left ordered.",
            "emitted once no right row can come that is not after it;",
            "a left row until the right watermark is after it; the 2 latest right rows of each key for",
        ],
    ),
    ({"match": LastRows(1)}, ["the right row is the last one of the key when"]),
    (
        {"match": LastRows(1, order="event_time")},
        ["the right row is the latest one whose", "the latest right row of"],
    ),
    (
        {"match": Latest("1 hour", (None, "v")), "how": "full"},
        [
            "if one is the newest of its side and key when the other arrives, and it arrived less than 1",
            "; a right row whose v is null deletes the right row of its key.",
            "State: the newest row of each side and key, for 1 hour after its arrival if no other follows.",
        ],
    ),
    ({"match": Latest()}, ["for good if no other follows"]),
]


@pytest.mark.parametrize(("fields", "sentences"), DESCRIBED)
def test_a_description_of_a_match(fields: dict[str, Any], sentences: list[str]) -> None:
    """semantics 37.2 to 37.9, 37.22, 37.23, 41.1 to 41.3: partners, when rows are emitted, and state."""
    text = describe(join(**{"how": "left"} | fields))
    assert [sentence for sentence in sentences if sentence not in text] == []
