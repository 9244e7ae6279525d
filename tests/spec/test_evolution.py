"""Which changes of a specification are taken over, and what the refusals say (semantics 47.1, 47.2)."""

from dataclasses import replace
from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError, StateError
from panewise.spec.codec import to_dict
from panewise.spec.codec.same_aggregates import same_aggregates
from panewise.spec.evolution import continuation
from panewise.spec.fields import silently

SPEC = pw.WindowOperator(keys=["k"], window=pw.Tumbling(10), aggregates=[F.count().alias("n")])
SLIDING = replace(SPEC, window=pw.Sliding(5))
EVICTED = replace(SPEC, evictor=pw.CountEvictor(2))
DELTA = replace(SPEC, delta=["v"])
BY_KEY = replace(SPEC, watermark=pw.StreamTime(5))
RARELY = r"may have fired early .* such as AfterWatermark\(early=AfterCount\(10\*\*12\)\)"
JOIN = pw.JoinOperator(left=pw.Side(), right=pw.Side(prefix="r_"), match=pw.Interval(0, 5))


def changes(old: Any, new: Any, **options: Any) -> list[str]:
    return [str(change) for change in continuation(to_dict(old), new, **options).changes]


def test_the_changes_of_a_specification() -> None:
    """semantics 47.1: aggregates are compared by what they compute."""
    most = F.max("v").alias("most")
    assert changes(SPEC, SPEC) == []
    assert changes(SPEC, replace(SPEC, aggregates=[most, F.count().alias("rows")], allowed_lateness=3)) == [
        "aggregate 'most' added",
        "aggregate 'n' renamed to 'rows'",
        "allowed_lateness: 0 seconds -> 3 microseconds",
    ]
    assert changes(replace(SPEC, aggregates=[F.count().alias("n"), most]), SPEC) == [
        "aggregate 'most' removed"
    ]
    both = [F.count().alias("n"), most]
    assert changes(replace(SPEC, aggregates=both), replace(SPEC, aggregates=both[::-1])) == [
        "order of aggregates: ['n', 'most'] -> ['most', 'n']"
    ]


def test_added_aggregates_are_marked_for_ever() -> None:
    """semantics 47.3."""
    new = replace(SPEC, aggregates=[F.count().alias("n"), F.sum("v").alias("s")])
    marked = continuation(to_dict(SPEC), new, "from_now_on").spec
    assert [aggregate.added for aggregate in marked.aggregates] == [None, "from_now_on"]
    again = continuation(to_dict(marked), replace(new, allowed_lateness=3)).spec
    assert [aggregate.added for aggregate in again.aggregates] == [None, "from_now_on"]
    assert continuation(to_dict(marked), new).changes == ()
    assert same_aggregates(SPEC.aggregates, marked.aggregates) == [0, None]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            SPEC,
            {"window": pw.Tumbling(5)},
            r"\(window: .*\) \| a state belongs to the window that it was made",
        ),
        (SPEC, {"keys": ["k", "l"], "event_time": "t"}, r"\(keys: \['k'\] -> \['k', 'l'\]; event_time: "),
        (SPEC, {"timestamp": "latest"}, "a state has no event times of rows"),
        (
            SPEC,
            {"watermark": pw.FixedLag(3)},
            "of a watermark only the lag, the delay and idle_after may change",
        ),
        (replace(SLIDING, trigger=pw.Always()), {"trigger": pw.AfterWatermark()}, RARELY),
        (replace(SLIDING, trigger=pw.Always()), {"trigger": pw.Never()}, RARELY),
        (replace(SLIDING, accumulation="discarding"), {"trigger": pw.Never()}, "cannot change to Never"),
        (SLIDING, {"accumulation": "discarding"}, "sliding windows store sums of all their rows"),
        (replace(SLIDING, accumulation="discarding"), {"allowed_lateness": 3}, "discarding sliding windows"),
        (SLIDING, {"aggregates": [F.collect_list("v")]}, "sliding windows store only the columns"),
        (EVICTED, {"aggregates": [F.sum("v")]}, "with an evictor, windows store only"),
        (DELTA, {"accumulation": "retracting"}, "with an evictor or a delta"),
        (
            BY_KEY,
            {"allowed_lateness": 3},
            "with a watermark of each key the allowed lateness may only be lowered",
        ),
        (JOIN, {"how": "left"}, r"\(how: 'inner' -> 'left'; unmatched: "),
        (JOIN, {"left": pw.Side(order=["v"])}, "of a side .*watermark change, and not order"),
        (pw.OverOperator(keys=["k"]), {"keys": ["l"]}, "a state belongs to the keys that it was made with"),
    ],
)
def test_a_change_that_is_refused(old: Any, new: dict[str, Any], message: str) -> None:
    """semantics 47.2, 47.18."""
    with pytest.raises(StateError, match=message) as caught:
        continuation(to_dict(old), replace(old, **new))
    assert caught.value.remedy.startswith("put the field back, or start from a new checkpoint, whose initial")


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_changes_of_sliding_windows() -> None:
    """semantics 47.18: the way out of the error is taken over, and so is a way back from "discarding"."""
    early, rarely = replace(SLIDING, trigger=pw.Always()), pw.AfterWatermark(early=pw.AfterCount(10**12))
    assert changes(SLIDING, early)
    assert changes(early, replace(SLIDING, trigger=rarely, accumulation="retracting"))
    assert changes(replace(SLIDING, accumulation="discarding"), replace(SLIDING, allowed_lateness=4))


WINDOWED: Any = {"left": pw.Side(keys=["k"]), "right": pw.Side(keys=["k"], prefix="r_")}
EARLY_WINDOWS = pw.SameWindow(pw.Tumbling(10), trigger=pw.AfterWatermark(early=pw.Always()))
with silently():
    CLOSED_WINDOWS = pw.SameWindow(pw.Tumbling(10), trigger=pw.AfterCount(2))


@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (EARLY_WINDOWS, pw.SameWindow(pw.Tumbling(10)), "windows that fire once"),
        (pw.SameWindow(pw.Tumbling(10)), EARLY_WINDOWS, "windows that fire once"),
        (EARLY_WINDOWS, pw.SameWindow(pw.Tumbling(20), trigger=pw.Always()), "trigger, allowed_lateness and"),
        (pw.SameWindow(pw.Tumbling(10)), pw.SameWindow(pw.Tumbling(10), allowed_lateness=2), "fire once"),
        (CLOSED_WINDOWS, EARLY_WINDOWS, "trigger has closed"),
        (pw.Interval(0, 5), EARLY_WINDOWS, "a state belongs to the match"),
    ],
)
def test_a_change_of_windows_of_both_sides_that_is_refused(old: Any, new: Any, message: str) -> None:
    """semantics 47.19."""
    before = pw.JoinOperator(**WINDOWED, match=old)
    with pytest.raises(StateError, match=rf"\(match: .*{message}"):
        continuation(to_dict(before), replace(before, match=new))


def test_a_change_of_windows_of_both_sides_that_is_taken_over() -> None:
    """semantics 47.19: the lateness may be raised, too, and become unlimited."""
    always = pw.SameWindow(pw.Tumbling(10), trigger=pw.Always())
    document = to_dict(pw.JoinOperator(**WINDOWED, match=always))
    for lateness in (2, "unlimited"):
        match = replace(always, allowed_lateness=lateness)
        assert continuation(document, pw.JoinOperator(**WINDOWED, match=match)).changes


def test_another_family_is_refused() -> None:
    with pytest.raises(StateError, match="a state belongs to the kind of operator that made it"):
        continuation(to_dict(SPEC), pw.OverOperator(keys=["k"]))
    with pytest.raises(StateError, match="a state belongs to the kind of operator that made it"):
        continuation(to_dict(SPEC), SPEC.then(aggregates=[F.max("n")]))


def test_the_option_is_one_of_two() -> None:
    with pytest.raises(SpecError, match="added_aggregates='zero'"):
        continuation(to_dict(SPEC), SPEC, "zero")  # type: ignore[arg-type]
