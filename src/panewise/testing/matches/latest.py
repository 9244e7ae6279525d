"""The latest rows, as :class:`panewise.testing.matches.parts.MatchTests`."""

from hypothesis import strategies as st

from panewise.spec.operators.join.latest import Latest
from panewise.testing.matches.parts import MatchTests


def latests() -> st.SearchStrategy[Latest]:
    """Returns a strategy of the latest rows: with and without a time to live, and rows that delete."""
    columns = st.sampled_from([None, "v", ("v", None), (None, "v"), ("n", "s")])
    return st.builds(Latest, st.sampled_from([None, 1, 3, 3]), columns)


PARTS = MatchTests(strategy=lambda early: latests())
