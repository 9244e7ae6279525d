"""Tests which windows end above every watermark before them (semantics 42.11)."""

from typing import Any

import pytest

import panewise as pw
from panewise.spec.windows.never_late_on_spark import ends_above, on_milliseconds

ODD = pw.Duration(1_000_001)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        (pw.Tumbling("1 minute"), True),
        (pw.Tumbling(ODD), False),
        (pw.Tumbling("1 minute", origin=1), False),
        (pw.Hopping("2 seconds", "1 second"), True),
        (pw.Hopping("2 seconds", ODD), False),
        (pw.Cumulating("1 day", "1 hour"), True),
        (pw.Calendar("day"), True),
        (pw.Session("1 second"), False),
        (pw.Sliding("1 second"), False),
        (pw.Global(), False),
        (pw.Tumbling(pw.rows(1000)), False),
    ],
)
def test_windows_that_end_at_milliseconds(window: Any, *, expected: bool) -> None:
    assert on_milliseconds(window) is expected


@pytest.mark.parametrize(
    ("window", "timestamp", "expected"),
    [
        (pw.Session("1 second"), "end", True),
        (pw.Session("1 second"), "window_time", False),
        (pw.Session("1 second", closed="both"), "end", False),
        (pw.Tumbling(ODD), "end", True),
        (pw.Tumbling(ODD), "window_time", False),
        (pw.Tumbling("1 second"), "window_time", True),
    ],
)
def test_timestamps_above_the_watermark_before(window: Any, timestamp: Any, *, expected: bool) -> None:
    assert ends_above(window, timestamp) is expected
