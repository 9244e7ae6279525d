"""Windowed stream joins as values: rules, defaults, JSON and descriptions (semantics 37.14 to 37.18)."""

import json
from typing import Any

import pytest

from panewise import (
    Always,
    Every,
    Hopping,
    JoinOperator,
    JoinWindow,
    Session,
    Side,
    SpecError,
    Tumbling,
    WindowedStreams,
    rows,
)
from panewise.spec.codec import from_dict, to_dict, to_json
from panewise.spec.describe import describe
from panewise.spec.family_parts import parts

MINUTE = Every("1 minute", aligned=True)
TIMED = JoinWindow(Tumbling("2 minutes"), early=MINUTE, retention="1 day", retention_rows=5)


def join(left: Any = None, right: Any = None, lateness: Any = 0, **fields: Any) -> JoinOperator:
    sides = {
        "left": Side(keys=["id"], event_time="t", allowed_lateness=lateness),
        "right": Side(keys=["id"], event_time="u"),
    }
    return JoinOperator(**{**sides, "match": WindowedStreams(left, right), **fields})


REFUSED: list[tuple[str, Any, str]] = [
    ("a session", lambda: JoinWindow(Session(5)), r"rows\(n\), Tumbling or Hopping"),  # type: ignore[arg-type]
    ("windows of rows", lambda: JoinWindow(Tumbling(rows(3))), r"\| .* \| give rows\(3\)"),
    ("gaps", lambda: JoinWindow(Hopping(2, 3, gaps=True)), "between two windows"),
    ("a period from the first row", lambda: JoinWindow(early=Every(5)), "give aligned=True"),
    ("a policy", lambda: JoinWindow(early=1.5), "'each' or a period"),  # type: ignore[arg-type]
    ("a Boolean", lambda: JoinWindow(early=True), "'each' or a period"),
    ("a period of 0", lambda: JoinWindow(early=0), "above zero"),
    ("late rows of all rows", lambda: JoinWindow(late="each"), "leave late out"),
    ("late rows of rows", lambda: JoinWindow(rows(3), late=MINUTE), "leave late out"),
    ("no early policy", lambda: JoinWindow(early=None), "releases its rows early"),
    ("no early policy of rows", lambda: JoinWindow(rows(3), early=None), "releases its rows early"),
    ("a retention of 0", lambda: JoinWindow(retention=0), "above zero"),
    ("no rows", lambda: JoinWindow(retention_rows=0), "1 or more"),
    ("a fraction", lambda: JoinWindow(retention_rows=1.5), "1 or more"),  # type: ignore[arg-type]
    ("a retention of rows", lambda: JoinWindow(rows(3), retention=5), "leave retention out"),
    ("a size of rows", lambda: JoinWindow(rows(3), retention_rows=5), "leave retention_rows out"),
    ("a side that is none", lambda: WindowedStreams(5), "a JoinWindow"),  # type: ignore[arg-type]
    ("left", lambda: join(how="left"), "it is inner"),
    ("late periods", lambda: join(JoinWindow(Tumbling(5), late=5)), "without allowed lateness"),
    ("a short retention", lambda: join(JoinWindow(retention=4), lateness=5), "a longer retention"),
]


@pytest.mark.parametrize(("make", "text"), [one[1:] for one in REFUSED], ids=[one[0] for one in REFUSED])
def test_refused(make: Any, text: str) -> None:
    """semantics 27.2, 37.16, 37.18."""
    with pytest.raises(SpecError, match=text) as raised:
        make()
    assert str(raised.value).count(" | ") == 2


def test_defaults() -> None:
    """semantics 37.14, 37.16: S1's defaults of join windows."""
    assert JoinWindow() == JoinWindow(None, early=Always(), late=None)
    assert JoinWindow(Tumbling(5)).late == Always()
    assert JoinWindow(early="1 minute") == JoinWindow(early=MINUTE)
    assert (JoinWindow().waits, JoinWindow(early=5).waits) == (False, True)
    assert JoinWindow(Tumbling(5), early=None).waits
    assert (TIMED.size, TIMED.hop, TIMED.count) == (120_000_000, 120_000_000, None)
    assert (JoinWindow(Hopping(6, 2)).size, JoinWindow(Hopping(6, 2)).hop) == (6, 2)
    assert (JoinWindow(rows(3)).size, JoinWindow(rows(3)).count) == (None, 3)


def test_the_side_with_a_window_is_the_first_one() -> None:
    """semantics 37.15."""
    windows = [(None, None), (rows(1), None), (None, rows(1)), (Tumbling(5), rows(1))]
    found = [WindowedStreams(JoinWindow(one), JoinWindow(other)).first_side for one, other in windows]
    assert found == ["left", "left", "right", "left"]


@pytest.mark.parametrize("window", [JoinWindow(), JoinWindow(rows(3), early=MINUTE), TIMED])
def test_json(window: JoinWindow) -> None:
    """Every field is written, and read again."""
    made = join(window)
    assert from_dict(json.loads(to_json(made))) == made
    assert set(to_dict(made)["match"]["left"]) == {"window", "early", "late", "retention", "retention_rows"}


def test_json_with_defaults() -> None:
    """Fields may be left out, and others are refused."""
    document = {**to_dict(join()), "match": {"kind": "streams", "right": {"window": {"rows": 2}}}}
    assert from_dict(document) == join(None, JoinWindow(rows(2)))
    for wrong in ({"widow": 5}, {"window": "rows"}, {"retention_rows": "5"}):
        with pytest.raises(SpecError, match=r"match\.left"):
            from_dict({**document, "match": {"kind": "streams", "left": wrong}})


def test_periods_are_refused_on_a_batch() -> None:
    """semantics 37.16."""
    made = join(JoinWindow(Tumbling(5)), JoinWindow(early=MINUTE))
    error = parts(made).batch_error(made)
    assert error is not None
    assert error[0] == f"{MINUTE!r} on a batch DataFrame"
    whole = join(JoinWindow(Tumbling(5), early=None))
    assert parts(whole).batch_error(whole) is None


def test_descriptions() -> None:
    """semantics 37.14 to 37.18, 41.5."""
    text = describe(join(TIMED, JoinWindow(rows(1), early=Every(60, aligned=True, offset=9)), lateness=7))
    assert (
        "if the left t is at most 2 minutes before the right u, and the left row is one of the last 5" in text
    )
    for part in (
        "of the key that were released by t, if it is released before the right row, and the right row is",
        "the last one of the key that was released, if it is released before the left row.",
        "Left releases: a row is released at the next multiple of 1 minute of processing time, or once",
        "the watermark reaches the end of its first window of 2 minutes (one starts each 2 minutes); after",
        "after that with the batch of its arrival.",
        "Right releases: a row is released at the next multiple of 60 microseconds plus 9 microseconds",
        "Pairs: emitted when the later one of both rows is released, once. In an evaluation left rows are",
        "State: left rows until they are released, then until the right watermark is more than 2 minutes",
        "after them, or until the left watermark is more than 1 day after them, or until 5 later of",
        "until 5 later of their key are released, whichever comes first; right rows until",
        "right rows until they are released, then the last one of each key, for good if no row follows.",
    ):
        assert part in text
    plain = describe(join(evaluate="record"))
    assert "if their keys are equal: no window bounds them." in plain
    assert "Left releases: a row is released after its arrival." in plain
    assert "State: left rows: for good; right rows: for good." in plain
