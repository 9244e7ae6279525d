"""Sliding windows in a specification: JSON, what is refused, and descriptions (semantics 7 to 7.9, 8.8)."""

from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec import Rows
from panewise.spec.describe import describe

COUNT = [F.count().alias("n")]


def spec(**fields: Any) -> pw.WindowOperator:
    return pw.WindowOperator(**{"window": pw.Sliding("1 minute"), "aggregates": COUNT, **fields})


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (lambda: pw.Sliding(-1), "size=-1"),
        (lambda: pw.Sliding(1, "middle"), "anchor='middle'"),  # type: ignore[arg-type]
        (lambda: pw.Sliding(Rows(3), "both"), "size=rows(3), anchor='both'"),
        (lambda: spec(evictor=pw.CountEvictor(2)), "Sliding, evictor=CountEvictor(n=2, after=False)"),
        (lambda: spec(delta=True), "Sliding, delta=True"),
        (lambda: spec(trigger=pw.AfterWatermark(early=pw.OnPunctuation("p"))), "Sliding, trigger="),
        (lambda: spec(trigger=pw.Repeatedly(pw.OnDelta("v", 2))), "Sliding, trigger="),
        (lambda: spec(trigger=pw.AfterWatermark(early=pw.AfterEventTime(5))), "Sliding, trigger="),
        (lambda: spec(trigger=pw.Repeatedly(pw.AfterEventTimeDelay(5))), "Sliding, trigger="),
        (lambda: spec(trigger=pw.AfterCount(2)), "Sliding, trigger=AfterCount(n=2)"),
        (lambda: spec(trigger=pw.AfterWatermark(), allowed_lateness=5), "Sliding, trigger=AfterWatermark("),
        (
            lambda: spec(window=pw.Sliding(Rows(3)), trigger=pw.Always()),
            "Sliding(size=rows(3), anchor='end'), trigger=Always(",
        ),
        (
            lambda: spec(window=pw.Sliding(Rows(3)), accumulation="retracting"),
            "Sliding(size=rows(3), anchor='end'), accumulation='retracting'",
        ),
        (
            lambda: spec(window=pw.Sliding(Rows(3)), closing="always"),
            "Sliding(size=rows(3), anchor='end'), closing='always'",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_what_has_no_meaning_is_refused(make: Any, given: str) -> None:
    """semantics 7.8 for sliding windows of time, 8.8 for those of rows."""
    with pytest.raises(SpecError) as caught:
        make()
    assert caught.value.given.startswith(given)
    assert len(caught.value.args[0].split(" | ")) == 3


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            {},
            ("Windows: a row at t makes the window from 1 minute before t to t, if it does not exist yet; "),
        ),
        (
            {"window": pw.Sliding("1 s", "start")},
            "Windows: a row at t makes the window from t to 1 second after t, if",
        ),
        (
            {"window": pw.Sliding("1 s", "both")},
            "and the one from directly after t to 1 second after that if it contains any row",
        ),
        (
            {"window": pw.Sliding(Rows(9))},
            ("Windows: each row makes a window of the last 9 rows, itself included."),
        ),
        ({}, "  When it passes the end: one ON_TIME pane, if rows arrived since the last pane."),
        (
            {},
            "Late rows: a row is late for a window whose end the watermark has passed when its batch begins.",
        ),
        ({}, "a row that is late for some of its windows is applied to the others."),
        (
            {"allowed_lateness": "5 s"},
            (
                "State: a window is purged when the watermark is more than 5 seconds past "
                "its end; at the end of input all windows are purged."
            ),
        ),
    ],
)
def test_words(fields: dict[str, Any], line: str) -> None:
    assert line in describe(spec(**fields))
