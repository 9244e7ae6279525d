"""Engine and oracle agree where the windows of a key have a limit (semantics 15.23 to 15.27)."""

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import StateError
from panewise.testing import run

LIMITED = pw.WindowOperator(
    keys=["k"],
    window=pw.Tumbling(10),
    aggregates=[F.count().alias("n")],
    max_windows=pw.MaxWindows(2, when_full="stop"),
)


@pytest.mark.parametrize("runtime", ["oracle", "engine", "standalone"])
def test_a_batch_with_more_windows_stops(runtime: str) -> None:
    """semantics 15.26: the windows of other keys do not count."""
    rows = [{"k": k, "event_time": t} for k, t in (("a", 1), ("a", 12), ("b", 35))]
    more = [*rows, {"k": "a", "event_time": 35}]
    run(LIMITED, [{"op": "add", "rows": rows}], runtime)
    with pytest.raises(StateError, match="more than 2 windows"):
        run(LIMITED, [{"op": "add", "rows": more}], runtime)
