"""Cogroups as values: rules, defaults, JSON, types and descriptions (semantics 43 to 43.8)."""

import json
from typing import Any

import pytest

from panewise import (
    AfterCount,
    AfterWatermark,
    Always,
    CogroupOperator,
    Custom,
    Duration,
    Every,
    FixedLag,
    Hopping,
    OnDelta,
    OnPunctuation,
    Position,
    Repeatedly,
    Session,
    Side,
    Sliding,
    StreamTime,
    Tumbling,
    UserAggregate,
    UserMergeAggregate,
    rows,
)
from panewise import functions as F
from panewise.errors import DataLossWarning, SpecError
from panewise.spec.codec import changed_fields, complete, from_dict, to_dict, without_functions
from panewise.spec.column_types import BIGINT, BOOLEAN, STRING, Type
from panewise.spec.describe import describe
from panewise.spec.family_parts import parts
from panewise.spec.reserved_names import inner_names, renamed

SIDE = Side(keys=["k"])
LAG = FixedLag("1 minute")
BOTH = UserMergeAggregate(
    "surplus",
    init=lambda: 0,
    accumulate_left=lambda state, value: state + value,
    accumulate_right=lambda state, value: state - value,
    merge=lambda one, other: one + other,
    finish=lambda state: state,
    result="bigint",
)
USER = UserAggregate("mine", init=str, accumulate=max, merge=max, finish=str, result="string")


def cogroup(**fields: Any) -> CogroupOperator:
    given = {"left": SIDE, "right": SIDE, "window": Tumbling(10), "left_aggregates": [F.count().alias("n")]}
    return CogroupOperator(**{**given, **fields})


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"right": "k"}, ("right='k' | each side is a panewise.Side | give one such as Side(keys=['id'])")),
    (
        {"left_aggregates": []},
        (
            "a cogroup without aggregates | "
            "a pane of a cogroup contains at least one aggregate | "
            "give left_aggregates or right_aggregates"
        ),
    ),
    (
        {"right_aggregates": [BOTH("v", "w")]},
        (
            f"right_aggregates=[{BOTH('v', 'w')!r}] | "
            "aggregates are made by panewise.functions | "
            "give one such as F.count()"
        ),
    ),
    (
        {"both_aggregates": [F.count()]},
        (
            f"both_aggregates=[{F.count()!r}] | "
            "aggregates of both sides are made by a UserMergeAggregate | "
            "call one with a column of each side"
        ),
    ),
    (
        {"window": Tumbling(rows(3))},
        (
            f"window={Tumbling(rows(3))!r} of a cogroup | "
            "the windows of a cogroup are of event time | "
            "give one such as Tumbling('1 minute')"
        ),
    ),
    (
        {"window": "1 minute"},
        ("window='1 minute' | a window is one of panewise's | give one such as Tumbling('1 minute')"),
    ),
    (
        {"right": Side(keys=["k"], allowed_lateness=5)},
        (
            "allowed_lateness=5 microseconds on the right | "
            "windows are made from the rows of both sides, so they have one allowed lateness | "
            "give it to the cogroup, and leave it out here"
        ),
    ),
    (
        {"left": Side(keys=["k"], prefix="l_")},
        (
            "prefix='l_' on the left | "
            "the columns of panes are keys and aggregates, which have names of their own | "
            "use alias on the aggregates"
        ),
    ),
    (
        {"right": Side()},
        (
            "keys ['k'] and [] | "
            "both sides have as many keys, which are compared in their order | "
            "name a right key for each left key"
        ),
    ),
    (
        {"left": Side(keys=["k"], watermark=LAG), "watermark": StreamTime(per="all")},
        (
            f"watermark={StreamTime(per='all')!r}, and one of the left | "
            "either both sides share one watermark, or each side has its own | "
            "leave one of them out"
        ),
    ),
]


@pytest.mark.parametrize(("fields", "message"), REFUSED)
def test_what_is_refused(fields: dict[str, Any], message: str) -> None:
    """semantics 43.7."""
    with pytest.raises(SpecError) as caught:
        cogroup(**fields)
    assert caught.value.args[0] == message


@pytest.mark.parametrize("name", ["n", "k", "window_end"])
def test_columns_of_panes_have_different_names(name: str) -> None:
    """semantics 43."""
    with pytest.raises(SpecError, match=rf"^'{name}' twice \| keys, aggregates and the pane's own columns "):
        cogroup(right_aggregates=[F.count().alias(name)])


def test_it_warns_as_windows_do() -> None:
    with pytest.warns(DataLossWarning, match="closes a window after its first pane"):
        cogroup(trigger=AfterCount(1))
    with pytest.raises(SpecError, match="closes a window after its first pane"):
        cogroup(trigger=AfterCount(1), strict=True)


def test_defaults_are_those_of_windows() -> None:
    """semantics 43.1."""
    spec = cogroup(trigger=AfterWatermark(early=Every(5)))
    assert (spec.on_time, spec.accumulation) == ("always", "accumulating")
    assert spec.allowed_lateness == Duration(0)


def test_columns_read() -> None:
    """A side reads its own columns, those of its aggregates, and those of the windows and the trigger."""
    spec = cogroup(
        window=Session("gap"),
        trigger=Repeatedly(OnDelta("d", 3)),
        left_aggregates=[F.max_by("a", "b"), F.count()],
        right_aggregates=[F.sum("c")],
        both_aggregates=[BOTH("v", "w")],
    )
    left, right = (spec.ports[side].columns_read for side in ("left", "right"))
    assert left == ("k", "event_time", "gap", "d", "a", "b", "v")
    assert right == ("k", "event_time", "gap", "d", "c", "w")


TYPES: list[tuple[str, dict[str, Any], dict[str, dict[str, Type]], str]] = [
    (
        "keys",
        {},
        {"left": {"k": STRING}, "right": {"k": BIGINT}},
        r"keys k: string \(left\) and k: bigint \(right\)",
    ),
    (
        "an aggregate",
        {"right_aggregates": [F.sum("v")]},
        {"left": {}, "right": {"v": STRING}},
        "over v: string",
    ),
    (
        "a column of the trigger",
        {"trigger": OnPunctuation("p")},
        {"left": {"p": BOOLEAN}, "right": {"k": STRING}},
        "no column 'p' on the right side",
    ),
    ("its type", {"trigger": OnDelta("d", 1)}, {"left": {"d": STRING}, "right": {}}, "OnDelta.*: string"),
]


@pytest.mark.parametrize(
    ("fields", "types", "message"), [it[1:] for it in TYPES], ids=[it[0] for it in TYPES]
)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_types(fields: dict[str, Any], types: dict[str, dict[str, Type]], message: str) -> None:
    """semantics 43.4, 43.7."""
    spec = cogroup(**fields)
    with pytest.raises(SpecError, match=message):
        parts(spec).check_types(spec, types)


def test_facts() -> None:
    """semantics 43.4, 43.8."""
    spec = cogroup(
        both_aggregates=[BOTH("v", "w")], right_aggregates=[F.last("w").alias("l"), F.bool_or("f")]
    )
    facts = parts(spec)
    assert facts.calls_users(spec)
    assert not facts.calls_users(cogroup())
    assert facts.calls_users(cogroup(right_aggregates=[USER("v")]))
    assert facts.calls_users(cogroup(window=Custom.each(lambda row: [(0, 1)], name="one")))
    assert facts.functions(spec, "right") == spec.right_aggregates
    assert facts.boolean_columns(spec) == {"f"}
    assert facts.shard_keys(cogroup(right=Side(keys=["id"])), "right") == ("id",)
    assert facts.unchanged(spec, {"left": ("k",), "right": ("k",)}) == {"k": ("left", "k")}
    keyless = facts.one_shard(cogroup(left=Side(), right=Side()))
    assert keyless == (
        "without keys all rows have equal keys, so there is one shard (semantics 28)",
        "give keys",
    )
    driven = cogroup(evaluate="record", watermark=StreamTime(per="all"))
    assert "each row moves the watermark" in (facts.one_shard(driven) or ("",))[0]
    assert facts.one_shard(spec) is None
    assert facts.output_time(spec)[0] == "timestamp=None before a second operator"
    assert facts.output_time(cogroup(timestamp="window_time")) == "timestamp"
    assert facts.instants(cogroup(timestamp="end")) == (
        "window_start",
        "window_end",
        "timestamp",
        "processing_time",
    )
    lagging = cogroup(right=Side(keys=["k"], watermark=LAG))
    assert facts.batch_error(lagging)[0] == f"watermark={LAG!r} on a batch DataFrame"
    placed = facts.with_position(spec, Position())
    assert [side.position for side in placed.sides.values()] == [Position(), Position()]


def test_columns_have_other_names() -> None:
    spec = cogroup(both_aggregates=[BOTH("v", "w")], right_aggregates=[F.sum("w"), F.max("w").alias("m")])
    made = parts(spec).renamed(spec, "right", {"w": "x", "k": "id"})
    assert made.right.keys == ("id",)
    assert [one.name for one in made.outputs] == ["n", "sum(x)", "m", "surplus(v, x)"]
    assert made.ports["right"].columns_read == ("id", "event_time", "x")
    assert made.ports["left"] == spec.ports["left"]
    assert inner_names(["__v"], cogroup(both_aggregates=[BOTH("__v", "w").alias("__b")])) == {
        "__v": "column__v",
        "__b": "column__b",
    }
    reserved = renamed(cogroup(both_aggregates=[BOTH("__v", "w")]), {"__v": "v_"})
    assert reserved.both_aggregates[0].left == "v_"


def test_json() -> None:
    spec = cogroup(
        right_aggregates=[USER("w").alias("u")],
        both_aggregates=[BOTH("v", "w").alias("s")],
        trigger=AfterWatermark(early=AfterCount(2), late=Always()),
        timestamp="window_time",
        idle_after=7,
        allowed_lateness="unlimited",
    )
    document = json.loads(json.dumps(to_dict(spec)))
    assert document["both_aggregates"] == [{"user": "surplus", "left": "v", "right": "w", "name": "s"}]
    assert from_dict(document, {"surplus": BOTH, "mine": USER}) == spec
    assert to_dict(without_functions(document)) == document
    least = {"left": {"keys": ["k"]}, "right": {"keys": ["k"]}, "window": {"kind": "tumbling", "size": 10}}
    small = {**least, "left_aggregates": [{"fn": "count", "name": "n"}]}
    assert from_dict(small) == cogroup()
    assert complete(small) == to_dict(cogroup())
    assert changed_fields(small, {**small, "accumulation": "discarding"}) == ["accumulation"]
    named = {**least, "both_aggregates": [{"user": "surplus", "left": "v", "right": "w"}]}
    assert from_dict(named, {"surplus": BOTH}).outputs[0].name == "surplus(v, w)"
    windows = Custom.each(lambda row: [(0, 1)], name="one")
    assert from_dict(to_dict(cogroup(window=windows)), user_windows={"one": windows}) == cogroup(
        window=windows
    )


BAD = {"user": "surplus", "left": "v", "right": "w"}


@pytest.mark.parametrize(
    ("both", "users", "message"),
    [
        ("x", {}, r"both_aggregates='x' \| .*a list of aggregates"),
        (
            [BAD],
            {},
            r"both_aggregates\[0\]\.user='surplus' \| .* are \[\] \| give user_aggregates=\{'surplus': ",
        ),
        ([BAD], {"surplus": USER}, r"both_aggregates\[0\]\.user='surplus' \| "),
        ([{"user": "surplus", "left": "v"}], {"surplus": BOTH}, "right"),
        ([{**BAD, "fn": "user"}], {"surplus": BOTH}, "fn"),
    ],
)
def test_bad_documents(both: Any, users: dict[str, Any], message: str) -> None:
    document = {**to_dict(cogroup()), "both_aggregates": both}
    with pytest.raises(SpecError, match=message):
        from_dict(document, users)


def lines(spec: CogroupOperator) -> list[str]:
    return describe(spec).split("\n")


def test_words() -> None:
    spec = cogroup(
        left=Side(keys=["k"], position=Position()),
        right=Side(keys=["id"], watermark=LAG),
        window=Hopping(10, 5),
        right_aggregates=[F.count().alias("m"), F.sum("v").alias("s")],
        both_aggregates=[BOTH("v", "w").alias("b")],
        allowed_lateness=5,
    )
    found = lines(spec)
    assert found[0] == (
        "Cogroup: emits a pane for each k (right: id) and window, which has rows of either side or of both."
    )
    assert found[1:4] == [
        "Left aggregates: n, over the rows of the left side.",
        "Right aggregates: m and s, over the rows of the right side.",
        "Aggregates of both: b, over the rows of both sides.",
    ]
    assert found[4].startswith("Windows: windows of 10 microseconds; ")
    assert found[4].endswith(
        "They are made from the rows of both sides, and their watermark is the lower one."
    )
    assert found[5] == "Panes:"
    assert (
        "Left watermark: comes from outside; a row at or below the highest offset of its partition is "
        "counted and skipped." in found
    )
    assert "Right watermark: processing time less 1 minute." in found
    assert not [line for line in found if line.startswith(("Invalid rows", "Order"))]
    one = lines(cogroup(left=Side(), right=Side(), idle_after=7, evaluate="record", watermark=None))
    assert one[0].startswith("Cogroup: emits a pane for each window (no keys, so one shard), ")
    assert (
        "Idle sides: the watermark of a side that is silent for 7 microseconds follows the other one." in one
    )
    driven = lines(cogroup(watermark=StreamTime(3, per="all")))
    rule = (
        "watermark: after each batch the highest event time of the rows of both sides, less 3 microseconds."
    )
    assert [f"Left {rule}", f"Right {rule}"] == [line for line in driven if "watermark: " in line]
    assert any("5 microseconds" in line for line in lines(cogroup(window=Sliding(5))))
