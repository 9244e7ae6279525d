"""Which classes of edge cases a strategy reaches, counted over fixed samples."""

from collections import Counter
from collections.abc import Callable, Iterable

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st


def check_reached(
    wanted: Iterable[str], drawn: Callable[[st.DataObject, int], Iterable[str]], *, rounds: int, samples: int
) -> None:
    """Checks that each of the wanted classes is reached within a number of fixed samples.

    The examples of one sample are much alike. `drawn` returns the classes of an example, given what draws
    it and the number of its sample.
    """
    counts: Counter[str] = Counter()
    missing = set(wanted)
    for number in range(rounds):

        @seed(number)
        @settings(max_examples=samples, database=None, deadline=None, suppress_health_check=list(HealthCheck))
        @given(data=st.data())
        def collect(data: st.DataObject) -> None:
            counts.update(drawn(data, number))  # noqa: B023 - called in this round

        collect()
        missing -= set(counts)
        if not missing:
            return
    assert not missing, dict(counts.most_common())
