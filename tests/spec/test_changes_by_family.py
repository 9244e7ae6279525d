"""Each field of each family is taken over when it changes, or refused with a rule (semantics 47.2).

A field that is in neither list fails the test, so a new field needs a decision.
"""

from dataclasses import fields, replace
from typing import Any, Final

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import StateError
from panewise.spec.codec import to_dict
from panewise.spec.evolution import continuation

COUNT: Final = F.count().alias("n")
WINDOWS: Final = pw.WindowOperator(keys=["k"], window=pw.Tumbling(10), aggregates=[COUNT])
SIDES: Final[Any] = {"left": pw.Side(keys=["k"]), "right": pw.Side(keys=["k"], prefix="r_")}
PLAIN: Final = pw.Side(keys=["k"])
JOIN: Final = pw.JoinOperator(
    left=PLAIN,
    right=PLAIN,
    match=pw.Interval(0, 5),
    condition=pw.left("a") == pw.right("b"),
    select=[pw.Selected("left", "v", "v")],
)
PAIRS: Final = pw.JoinOperator(**SIDES, match=pw.Interval(0, 5))
COGROUP: Final = pw.CogroupOperator(left=PLAIN, right=PLAIN, window=pw.Tumbling(10), left_aggregates=[COUNT])
OVER: Final = pw.OverOperator(
    keys=["k"], columns=[pw.OverColumn(F.sum("v").alias("s"), pw.Frame("rows", -1, 0))]
)
BOTH: Final = pw.UserMergeAggregate(
    "rows", lambda: 0, lambda n, _: n + 1, lambda n, _: n + 1, lambda a, b: a + b, lambda n: n, "bigint"
)
OF_WINDOWS: Final[dict[str, Any]] = {
    "trigger": pw.Always(),
    "accumulation": "discarding",
    "allowed_lateness": 4,
    "drop_by": "row",
    "closing": "always",
    "only_updated": True,
    "timestamp": "end",
    "evaluate": "record",
}
OF_INPUTS: Final[dict[str, Any]] = {"max_future_skew": 9}
# The changes that are taken over. All other fields are refused, with the change in the second table.
TAKEN: Final[dict[str, tuple[Any, dict[str, Any]]]] = {
    "windows": (
        WINDOWS,
        {
            **OF_WINDOWS,
            **OF_INPUTS,
            "aggregates": [F.sum("v"), COUNT],
            "order": ["v"],
            "max_windows": pw.MaxWindows(3),
            "on_time": "always",
        },
    ),
    "cogroup": (
        COGROUP,
        {
            **OF_WINDOWS,
            "left_aggregates": [F.sum("v"), COUNT],
            "right_aggregates": [F.max("v")],
            "both_aggregates": [BOTH("v", "w")],
            "on_time": "always",
            "idle_after": 5,
            "left": replace(COGROUP.left, max_future_skew=pw.Duration(3)),
            "right": replace(COGROUP.right, max_future_skew=pw.Duration(3)),
        },
    ),
    "join": (
        JOIN,
        {
            "left": replace(JOIN.left, allowed_lateness=pw.Duration(4)),
            "right": replace(JOIN.right, allowed_lateness=pw.Duration(4), max_future_skew=pw.Duration(3)),
            "select": [pw.Selected("right", "w", "w")],
            "idle_after": 5,
        },
    ),
    "over": (OVER, {**OF_INPUTS, "columns": [replace(OVER.columns[0], what=F.sum("v").alias("t"))]}),
    "deduplicate": (pw.DeduplicateOperator(keys=["k"], within=5), OF_INPUTS),
}
# A change of each other field, which is refused. A field with "stays" has its rule in other tests of 47.2.
REFUSED: Final[dict[str, dict[str, Any]]] = {
    "windows": {
        "window": pw.Tumbling(20),
        "keys": ["k", "l"],
        "event_time": "t",
        "position": pw.Position("p", "o"),
        "null_keys": False,
        "evictor": pw.CountEvictor(3),
        "delta": ["v"],
        "watermark": pw.FixedLag(3),
        "time": "processing",
    },
    "cogroup": {
        "window": pw.Tumbling(20),
        "watermark": pw.StreamTime(1, per="all"),
    },
    "join": {
        "match": pw.Interval(0, 6),
        "how": "left",
        "condition": None,
        "unmatched": "stays",
        "timestamp": "left",
        "evaluate": "record",
        "watermark": pw.StreamTime(1, per="all"),
    },
    "over": {
        "keys": ["l"],
        "event_time": "t",
        "order": ["v"],
        "descending": "stays",
        "nulls_last": "stays",
        "position": pw.Position("p", "o"),
        "null_keys": False,
        "watermark": pw.FixedLag(3),
    },
    "deduplicate": {},
}


@pytest.mark.parametrize(
    ("family", "field"), [(name, field) for name, (_, of) in TAKEN.items() for field in of]
)
def test_a_field_that_is_taken_over(family: str, field: str) -> None:
    """semantics 47.2, 47.13, 47.15, 47.16."""
    old, values = TAKEN[family]
    more = {"trigger": pw.AfterWatermark(early=pw.Always())} if field == "on_time" else {}
    taken = continuation(to_dict(old), replace(old, **{field: values[field]}, **more))
    paths = " ".join(change.path for change in taken.changes)
    assert field in paths or "aggregate" in paths


@pytest.mark.parametrize(
    ("family", "field"),
    [(name, field) for name, of in REFUSED.items() for field, value in of.items() if value != "stays"],
)
def test_a_field_that_is_refused(family: str, field: str) -> None:
    """semantics 47.2: the error names the field, and says the way out."""
    old = TAKEN[family][0]
    with pytest.raises(StateError, match=rf"[(; ]{field}: .* \| .*47\.2.* \| put the field back, or start"):
        continuation(to_dict(old), replace(old, **{field: REFUSED[family][field]}))


@pytest.mark.parametrize("family", [name for name in TAKEN if name != "deduplicate"])
def test_each_field_is_in_a_table(family: str) -> None:
    """semantics 47.2: no field is ignored."""
    old, values = TAKEN[family]
    assert {field.name for field in fields(old)} == {*values, *REFUSED[family]}


@pytest.mark.parametrize(("field", "value"), [*OF_WINDOWS.items(), ("keys", []), ("window", pw.Tumbling(5))])
def test_fields_of_windows_over_a_join(field: str, value: Any) -> None:
    """semantics 47.14."""
    old = PAIRS.then(keys=["k"], window=pw.Tumbling(10), aggregates=[COUNT])
    if field in ("allowed_lateness", "drop_by"):
        return  # windows over a join have neither
    new = replace(old, windows=replace(old.windows, **{field: value}))
    if field in ("keys", "window"):
        with pytest.raises(StateError, match=rf"\(then\.{field}: "):
            continuation(to_dict(old), new)
    else:
        assert [change.path for change in continuation(to_dict(old), new).changes] == [f"then.{field}"]


def test_a_join_below_windows_keeps_its_columns() -> None:
    """semantics 47.2."""
    old = PAIRS.then(keys=["k"], window=pw.Tumbling(10), aggregates=[COUNT])
    late = replace(old.join, left=replace(old.join.left, allowed_lateness=pw.Duration(3)))
    assert continuation(to_dict(old), replace(old, join=late)).changes
    renamed = replace(old.join, right=replace(old.join.right, prefix="other_"))
    with pytest.raises(StateError, match=r"watermark change, and not prefix"):
        continuation(to_dict(old), replace(old, join=renamed))
    with pytest.raises(StateError, match="belongs to the then that it was made with"):
        continuation(to_dict(old), old.then(aggregates=[F.max("n")]))
    with pytest.raises(StateError, match="column of the condition that was not emitted before"):
        continuation(to_dict(JOIN), replace(JOIN, select=[pw.Selected("left", "a", "a")]))
