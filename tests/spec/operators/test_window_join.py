"""Window joins as values: rules, defaults, JSON and descriptions (semantics 37.10 to 37.13)."""

import json
from typing import Any

import pytest

from panewise import (
    AfterCount,
    AfterWatermark,
    Custom,
    Every,
    Global,
    Interval,
    JoinOperator,
    Never,
    OnDelta,
    SameWindow,
    Session,
    Side,
    Sliding,
    Tumbling,
    rows,
)
from panewise.errors import DataLossWarning, SpecError
from panewise.spec.codec import from_dict, to_dict
from panewise.spec.column_types import BIGINT, Type
from panewise.spec.describe import describe
from panewise.spec.family_parts import parts
from panewise.spec.operators.join.columns import OF_WINDOWS

TEN = SameWindow(Tumbling(10))
MERGING = Custom.each(lambda row: [(row["n"], row["n"] + 5)], name="merging", columns=["n"], merge=True)
STEPS = Custom.each(lambda row: [(0, row["n"])], name="steps", columns=["n"])


def join(match: Any = TEN, **fields: Any) -> JoinOperator:
    prefix = "" if fields.get("how") in ("semi", "anti") else "r_"
    sides = {"left": Side(keys=["k"]), "right": Side(keys=["k"], prefix=prefix)}
    return JoinOperator(**{**sides, "match": match, **fields})


ENDS = (
    "a window ends 5 minutes after its last row; windows that overlap are merged, those that only touch stay \
separate"
)
EVERY = (
    "at multiples of 10 seconds of processing time after the last firing (at first: after the first row), if \
rows are pending"
)
RETRACTED = "retracted at a later firing if a partner comes; a row with a null key has no partner"
REACHES = "when the lower watermark reaches its end"
LAST = "the last instant of the window"


REFUSED: list[tuple[str, Any, str]] = [
    ("no window", lambda: SameWindow("1 minute"), "in the same window"),  # type: ignore[arg-type]
    ("sliding", lambda: SameWindow(Sliding(10)), "not made for each row"),
    ("windows of rows", lambda: SameWindow(Tumbling(rows(3))), "of event time"),
    ("sessions of rows", lambda: SameWindow(Session(rows(3))), "of event time"),
    (
        "accumulation",
        lambda: SameWindow(Tumbling(10), accumulation="all"),  # type: ignore[arg-type]
        "accumulation is one of",
    ),
    ("a trigger", lambda: SameWindow(Tumbling(10), trigger="end"), "a trigger is"),  # type: ignore[arg-type]
    ("a negative lateness", lambda: SameWindow(Tumbling(10), allowed_lateness=-1), "not negative"),
    (
        "row and unlimited",
        lambda: SameWindow(Tumbling(10), allowed_lateness="unlimited", drop_by="row"),
        "no row is ever late",
    ),
    ("lateness of Global", lambda: SameWindow(Global(), allowed_lateness=3), "has no end"),
    (
        "lateness of a side",
        lambda: join(right=Side(keys=["k"], prefix="r_", allowed_lateness=1)),
        "one allowed lateness",
    ),
    ("the time of the global window", lambda: join(SameWindow(Global()), timestamp="window"), "that ends"),
    ("the window of an interval", lambda: join(Interval(0, 5), timestamp="window"), "that ends"),
    ("the window of semi", lambda: join(how="semi", timestamp="window"), "leave timestamp out"),
    ("a column of the join", lambda: join(left=Side(keys=["timing"])).selected(_COLUMNS), "the join adds"),
]
_COLUMNS = {"left": ["timing", "event_time"], "right": ["k", "event_time"]}


@pytest.mark.parametrize(("make", "rule"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_breaks_a_rule_is_refused_by_name(make: Any, rule: str) -> None:
    with pytest.raises(SpecError, match=rule):
        make()


def test_a_trigger_that_loses_rows_warns_once() -> None:
    with pytest.warns(DataLossWarning, match="closes a window") as caught:
        describe(join(SameWindow(Tumbling(10), trigger=AfterCount(3))))
    assert len(caught) == 1


def test_defaults() -> None:
    spec = join()
    assert (spec.timestamp, spec.added_columns[2:5]) == ("window", ("window_start", "window_end", "timing"))
    assert join(SameWindow(Global())).timestamp == "later"
    assert join(how="anti").timestamp is None
    assert (TEN.accumulation, TEN.drop_by) == ("discarding", "window")


def test_columns_of_windows_and_triggers_are_read_of_both_sides() -> None:
    """semantics 37.10."""
    spec = join(SameWindow(STEPS, trigger=AfterWatermark(early=OnDelta("v", 2))))
    assert [port.columns_read for port in spec.ports.values()] == [("k", "event_time", "n", "v")] * 2
    types = dict.fromkeys(("k", "event_time", "n", "v"), BIGINT)
    parts(spec).check_types(spec, {"left": types, "right": types})
    with pytest.raises(SpecError, match=r"no column 'v' on the right side"):
        parts(spec).check_types(spec, {"left": types, "right": {"k": BIGINT, "n": BIGINT}})
    with pytest.raises(SpecError, match="have one type"):
        parts(spec).check_types(spec, {"left": types, "right": types | {"n": Type("int")}})


def test_json() -> None:
    document = json.loads(json.dumps(to_dict(join(SameWindow(STEPS, allowed_lateness="unlimited")))))
    assert document["match"]["window"] == {
        "kind": "custom",
        "name": "steps",
        "columns": ["n"],
        "merge": False,
    }
    assert from_dict(document, user_windows={"steps": STEPS}).match.window.function is STEPS.function
    with pytest.raises(SpecError, match=r"match\.window\.name='steps' .* user_windows"):
        from_dict(document)
    left_out = {"kind": "window", "window": {"kind": "tumbling", "size": 10}}
    assert from_dict(document | {"match": left_out}).match == TEN
    for path, value in (("size", "ten"), ("unit", "day")):
        wrong = {"kind": "window", "window": {"kind": "tumbling", "size": 10, path: value}}
        with pytest.raises(SpecError, match=r"match\.window"):
            from_dict(document | {"match": wrong})


def test_descriptions() -> None:
    trigger = AfterWatermark(early=Every("10 seconds"))
    early = join(SameWindow(Session("5 minutes"), trigger=trigger), how="left", unmatched="early")
    assert describe(early).splitlines()[1:7] == [
        "Partners: rows with equal k, if they are in the same window.",
        f"Windows: {ENDS}. They are made from the rows of both sides.",
        f"Firings: a window fires before its end {EVERY}, {REACHES}, and when it expires.",
        "  A firing emits what has changed since the last one (discarding).",
        f"Rows without a partner: emitted when their window fires, and {RETRACTED}.",
        f"Columns: those of both sides, op, missing, {', '.join(OF_WINDOWS)} and join_time, {LAST}.",
    ]
    closing = describe(join(_closing(), how="left"))
    assert "the last firing, and for the last time when its trigger closes it or when it expires." in closing
    of_all = describe(join(SameWindow(Global(), accumulation="accumulating"), how="left", unmatched="early"))
    assert "Firings: a window fires at the end of input." in of_all
    assert "emitted when their window fires, until a partner comes;" in of_all
    assert "State: each row until the end of input." in of_all
    assert "a window fires when it expires." in describe(join(SameWindow(Tumbling(10), trigger=Never())))


def _closing() -> SameWindow:
    with pytest.warns(DataLossWarning):
        return SameWindow(Tumbling(10), trigger=AfterCount(2))


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (
            Session("gap"),
            "a window ends when the gap of each of its rows has passed; windows that overlap are merged",
        ),
        (
            MERGING,
            "each row belongs to the window that merging returns for it; windows that overlap are merged",
        ),
    ],
)
def test_windows_of_their_own_may_merge(window: Any, words: str) -> None:
    """Semantics 37.10: both sides have the columns that these windows read."""
    spec = join(SameWindow(window))
    assert words in " ".join(describe(spec).split())
    assert from_dict(to_dict(spec), user_windows={"merging": MERGING}) == spec
    window_columns = ("gap",) if isinstance(window, Session) else ("n",)
    columns = {"k": Type("string"), "event_time": Type("timestamp"), **dict.fromkeys(window_columns, BIGINT)}
    check = parts(spec).check_types
    check(spec, {"left": columns, "right": columns})
    with pytest.raises(SpecError, match=r"no column '(n|gap)' on the right side \| .* \| add the column"):
        check(spec, {"left": columns, "right": {"k": Type("string"), "event_time": Type("timestamp")}})
