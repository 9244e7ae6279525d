"""Which operators take a limit of windows (semantics 15.23, 15.27)."""

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec.codec import from_dict, to_dict
from panewise.spec.describe import describe

LIMITED = pw.WindowOperator(
    keys=["k"],
    window=pw.Tumbling(10),
    aggregates=[F.count().alias("n")],
    max_windows=pw.MaxWindows(2, when_full="stop"),
)


def test_documents_and_words() -> None:
    """semantics 15.23, 15.26."""
    assert from_dict(to_dict(LIMITED)) == LIMITED
    assert "At most 2 windows: each key has no more after a batch, or the batch fails." in describe(LIMITED)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": pw.Session(10)}, "later rows change them"),
        ({"window": pw.Sliding(10)}, "later rows change them"),
        ({"window": pw.Global()}, "each key has one window"),
        ({"window": pw.Tumbling(pw.rows(3))}, "a fixed number of windows of rows"),
        ({"watermark": pw.StreamTime(5)}, "the watermark of a key expires its windows"),
        ({"max_windows": 3}, "a limit is a MaxWindows"),
    ],
)
def test_windows_without_a_limit(changes: dict[str, object], message: str) -> None:
    """semantics 15.27."""
    fields = {"window": pw.Tumbling(10), "aggregates": [F.count()], "max_windows": pw.MaxWindows(2)}
    with pytest.raises(SpecError, match=message):
        pw.WindowOperator(**fields | changes)  # type: ignore[arg-type]


def test_other_operators_take_no_limit() -> None:
    """semantics 15.27."""
    with pytest.raises(SpecError, match="then after max_windows="):
        LIMITED.then(aggregates=[F.sum("n")])
    join = pw.JoinOperator(left=pw.Side(), right=pw.Side(prefix="r_"), match=pw.Interval(0, 5))
    with pytest.raises(SpecError, match="have no output for late rows"):
        join.then(window=pw.Tumbling(5), aggregates=[F.count()], max_windows=pw.MaxWindows(2))
    for n, when_full in ((0, "stop"), (1, "drop")):
        with pytest.raises(SpecError, match=r"n=0|when_full='drop'"):
            pw.MaxWindows(n, when_full)  # type: ignore[arg-type]
