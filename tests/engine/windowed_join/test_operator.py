"""Windows over joins, as far as :mod:`tests.engine.test_every_family` does not draw it (semantics 42)."""

from panewise import JoinOperator, SameWindow, Side, Tumbling
from panewise import functions as F
from panewise.testing import run
from panewise.testing.compare import same


def test_windows_read_the_bounds_of_the_windows_of_the_join() -> None:
    """Semantics 37.11, 42: they are instants, which are numbers of microseconds."""
    side, match = Side(keys=["k"], event_time="t"), SameWindow(Tumbling(10))
    join = JoinOperator(left=side, right=Side(keys=["k"], event_time="t", prefix="r_"), match=match)
    spec = join.then(window=Tumbling(100), aggregates=[F.sum("window_start").alias("s")])
    rows = [{"k": 1, "t": time} for time in (3, 15, 27)]
    events = [{"op": "add", "rows": {"left": rows, "right": rows}}, {"op": "finish"}]
    found = [run(spec, events, runtime) for runtime in ("engine", "oracle")]
    assert same(*found)
    assert [pane["s"] for output in found[0] for pane in output["panes"]] == [30]
