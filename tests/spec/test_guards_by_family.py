"""Which operators take which guards: each other one refuses them by name (semantics 15.27, 15.29)."""

from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spark.builders.cogroup import CogroupBuilder
from panewise.spark.builders.deduplicate import DeduplicateBuilder
from panewise.spark.builders.join import JoinBuilder
from panewise.spark.builders.over import OverBuilder
from panewise.spark.builders.policy import PolicyBuilder
from panewise.spec.codec import from_dict, to_dict
from panewise.streamwindow import StreamWindow, count

COUNT = F.count().alias("n")
LEFT, RIGHT = pw.Side(keys=["k"]), pw.Side(keys=["k"], prefix="r_")
WINDOWS = pw.WindowOperator(keys=["k"], window=pw.Tumbling(10), aggregates=[COUNT])
JOIN = pw.JoinOperator(left=LEFT, right=RIGHT, match=pw.Interval(0, 5))
OTHERS: dict[str, Any] = {
    "cogroup": pw.CogroupOperator(
        left=LEFT, right=pw.Side(keys=["k"]), window=pw.Tumbling(10), left_aggregates=[COUNT]
    ),
    "join": JOIN,
    "window join": pw.JoinOperator(left=LEFT, right=RIGHT, match=pw.SameWindow(pw.Tumbling(10))),
    "over": pw.OverOperator(keys=["k"], columns=[pw.OverColumn(F.row_number().alias("n"))]),
    "deduplicate": pw.DeduplicateOperator(keys=["k"], within=9),
    "policy": StreamWindow(kind="sliding", evict=count(3), trigger=count(1)),
}
BUILDERS = (CogroupBuilder, JoinBuilder, OverBuilder, DeduplicateBuilder, PolicyBuilder)


@pytest.mark.parametrize("name", OTHERS)
def test_only_window_operators_have_a_limit_of_windows(name: str) -> None:
    """semantics 15.29: a document names the field, and so does Python."""
    document = to_dict(OTHERS[name]) | {"max_windows": {"n": 3, "when_full": "stop"}}
    with pytest.raises(SpecError, match="max_windows"):
        from_dict(document)
    fields = {"max_windows": pw.MaxWindows(3)}
    with pytest.raises(TypeError, match="max_windows"):
        type(OTHERS[name])(**fields)


@pytest.mark.parametrize("builder", BUILDERS)
def test_a_description_names_the_option(builder: Any) -> None:
    """semantics 15.29."""
    with pytest.raises(SpecError, match=r"option 'max_windows' \| the options of the operator are "):
        builder({}, {}).options(max_windows=pw.MaxWindows(3))


def test_an_operator_without_event_times_has_no_limit_of_them() -> None:
    """semantics 15.3: OVER, deduplications and sides without event times, and policy windows."""
    for make in (
        lambda: pw.OverOperator(
            columns=[pw.OverColumn(COUNT, pw.Frame("rows", -1, 0))], event_time=None, max_future_skew=5
        ),
        lambda: pw.DeduplicateOperator(keys=["k"], within="unlimited", event_time=None, max_future_skew=5),
        lambda: pw.JoinOperator(
            left=pw.Side(keys=["k"], event_time=None, max_future_skew=5),
            right=pw.Side(keys=["k"], event_time=None, prefix="r_"),
            match=pw.Latest(),
        ),
    ):
        with pytest.raises(SpecError, match="max_future_skew"):
            make()
    with pytest.raises(SpecError, match="max_future_skew"):
        from_dict(to_dict(OTHERS["policy"]) | {"max_future_skew": 5})


def test_windows_over_a_join_and_stages_have_none_of_their_own() -> None:
    """semantics 42.1: the sides of the join have them."""
    for fields in ({"max_future_skew": 5}, {"watermark": pw.StreamTime(per="all", idle_after=5)}):
        with pytest.raises(SpecError, match=next(iter(fields))):
            JOIN.then(window=pw.Tumbling(5), aggregates=[COUNT], **fields)
    for fields in ({"max_future_skew": 5}, {"max_windows": pw.MaxWindows(2)}, {"watermark": pw.FixedLag(5)}):
        with pytest.raises(TypeError, match=next(iter(fields))):
            WINDOWS.then(aggregates=[F.sum("n")], **fields)


@pytest.mark.parametrize("name", ["cogroup", "join", "window join"])
def test_an_idle_time_is_that_of_the_sides(name: str) -> None:
    """semantics 36.5: not of a watermark, and not where both sides have one or follow the clock."""
    document = to_dict(OTHERS[name])
    marks: dict[str, Any] = {"kind": "stream_time", "delay": 0, "per": "all"}
    with pytest.raises(SpecError, match="has an idle_after of its own"):
        from_dict(document | {"watermark": marks | {"idle_after": 5}})
    with pytest.raises(SpecError, match=r"idle_after=.* \| idle_after is for sides"):
        from_dict(document | {"watermark": marks, "idle_after": 5})
    side = document["left"] | {"watermark": {"kind": "fixed_lag", "lag": 5}}
    with pytest.raises(SpecError, match=r"idle_after=.* \| idle_after is for sides"):
        from_dict(document | {"left": side, "right": document["right"], "idle_after": 5})


@pytest.mark.parametrize("name", ["over", "deduplicate", "policy"])
def test_one_input_has_no_idle_time_of_its_own(name: str) -> None:
    """semantics 12.12: it is a field of the watermark, and only of one of the whole stream."""
    with pytest.raises(SpecError, match="idle_after"):
        from_dict(to_dict(OTHERS[name]) | {"idle_after": 5})
    with pytest.raises(SpecError, match=r"idle_after='.*' with per='key'"):
        pw.StreamTime(5, idle_after=5)
