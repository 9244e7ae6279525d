"""The last rows, as :class:`panewise.testing.matches.parts.MatchTests`."""

from decimal import Decimal
from itertools import product
from typing import Any, Final

from hypothesis import strategies as st

from panewise.spec.operators.join.columns import LEFT, RIGHT, SIDES
from panewise.spec.operators.join.last_rows import LastRows
from panewise.streamwindow import count, delta, time
from panewise.testing.matches.parts import MatchTests

_DELTAS: Final = {
    LEFT: (delta("v", 1), delta("n", 1), delta("v", 0.5), delta("price", 2), delta("n", Decimal("2.5"))),
    RIGHT: (delta("v", 0), delta("v", 3), delta("n", 2), delta("n", "3 microseconds"), delta("price", 0.5)),
}


def last_rows(*, of_left: bool = False) -> st.SearchStrategy[LastRows]:
    """Returns a strategy of the last rows: each order, and by arrival each pair of windows.

    With `of_left` there is a window of left rows.
    """
    counts = st.sampled_from([1, 1, 2, 3])
    of_kind: dict[str, Any] = {
        side: {
            "none": st.none(),
            "count": counts.map(count),
            "time": st.sampled_from([1, 3]).map(time),
            "delta": st.sampled_from(_DELTAS[side]),
        }
        for side in SIDES
    }
    kinds = [*product(of_kind[LEFT], of_kind[RIGHT])][len(of_kind[RIGHT]) if of_left else 1 :]
    by_arrival = st.sampled_from(kinds).flatmap(
        lambda pair: st.builds(LastRows, of_kind[RIGHT][pair[1]], of_kind[LEFT][pair[0]])
    )
    in_time = counts.map(lambda n: LastRows(n, order="event_time"))
    orders = [by_arrival, by_arrival, by_arrival, by_arrival if of_left else in_time]
    return st.sampled_from(orders).flatmap(lambda strategy: strategy)


PARTS = MatchTests(
    strategy=lambda early: last_rows(of_left=early),
    emits_early=lambda match: match is None or match.left is not None,  # semantics 37.5
)
