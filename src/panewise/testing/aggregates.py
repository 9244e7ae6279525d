"""A Hypothesis strategy of aggregates, over all functions and the columns of the samples."""

from itertools import product

from hypothesis import strategies as st

from panewise import functions as F
from panewise.spec import Aggregate
from panewise.spec.aggregates.aggregate import PAIRS
from panewise.testing.samples import ALL_TEXT, COSTS, LATEST, MEASURES, NULLS, TALLY, TEXTS, TRUES

_FURTHER = [F.desc("flag"), F.asc("s"), F.desc("v")]  # few values, so that the next column decides
_OF_ALL_TYPES = (
    *(F.count, F.count_distinct, F.approx_count_distinct, F.mode),
    *(F.first, F.last, F.min, F.max, F.collect_list, F.collect_set),
)
_SUMS = (F.sum, F.avg, F.sum_distinct, F.avg_distinct)
_MOMENTS = (*(F.skewness, F.kurtosis, F.product), *(F.stddev, F.variance, F.stddev_pop, F.var_pop, F.median))


def aggregates() -> st.SearchStrategy[list[Aggregate]]:
    """Returns a strategy of one to four aggregates, of all functions and all types that these take."""
    drawn = st.one_of(st.sampled_from(_plain()), st.sampled_from(_ranked()), st.sampled_from(_in_order()))
    numbered = st.lists(drawn, min_size=1, max_size=4)
    return numbered.map(lambda chosen: [aggregate.alias(f"a{n}") for n, aggregate in enumerate(chosen)])


def _plain() -> list[Aggregate]:
    """Returns the aggregates that do not order their values, over all columns that they take."""
    numbers = ["v", "n"]
    plain: list[Aggregate] = [
        F.count(),
        TEXTS("s"),
        NULLS("v"),
        *(F.percentile(name, p) for name in numbers for p in (0, 0.25, 0.9, 1)),
    ]
    plain += [fn(name) for name in MEASURES for fn in _OF_ALL_TYPES]
    plain += [fn(name, ignorenulls=True) for name in MEASURES for fn in (F.first, F.last)]
    plain += [fn(name) for fn in _SUMS for name in (*numbers, "price", "amount")]
    plain += [fn(name) for fn in _MOMENTS for name in numbers]
    of_pairs = (getattr(F, name) for name in sorted(PAIRS))
    plain += [fn(*names) for fn in of_pairs for names in (("v", "n"), ("n", "v"))]
    plain += [fn("n") for fn in (F.bit_and, F.bit_or, F.bit_xor)]
    return [
        *plain,
        F.count_if("flag"),
        F.bool_and("flag"),
        F.bool_or("flag"),
        TRUES("flag"),
        ALL_TEXT("s"),
        LATEST("n"),
        COSTS("price", "n"),
        TALLY("s"),
        *(
            aggregate.filter("flag")
            for aggregate in (TEXTS("s"), LATEST("n"), TRUES("flag"), COSTS("price", "n"))
        ),
    ]


def _in_order() -> list[Aggregate]:
    """Returns the aggregates that list rows in arrival order, with and without nulls and conditions."""
    lists: list[Aggregate] = []
    for name in MEASURES:
        lists += [F.collect_list(name, nulls="include"), F.collect_list(name, limit=2)]
        lists += [fn(name, n, nulls) for fn in (F.first_n, F.last_n) for n, nulls in ((1, True), (2, False))]
        lists += [F.first(name).filter("flag"), F.last(name).filter("flag"), F.last_n(name, 2).filter("flag")]
    return [*lists, F.first_n("v", 3).filter("flag"), F.collect_list("n", nulls="include").filter("flag")]


def _ranked() -> list[Aggregate]:
    """Returns the aggregates that order their values, by the values themselves or by another column."""
    ranked: list[Aggregate] = []
    for name, other in product(MEASURES, MEASURES):
        ranked += [F.max_by(name, other), F.min_by(name, other)]
        flags = enumerate(product([False, True], [False, True]), start=1)
        ranked += [
            F.top_n_by(name, other, n, ascending=ascending, distinct=distinct)
            for n, (ascending, distinct) in flags
        ]
        further = [rank for rank in _FURTHER if rank.column != other]
        ranked += [F.max_by(name, [other, *further]), F.min_by(name, [other, *further[:1]])]
        ranked += [
            F.top_n_by(name, [F.asc(other), *further], 2),
            F.top_n_by(name, [other, *further[1:], "n"] if other != "n" else [other, "v"], 3, distinct=True),
        ]
    for name, ascending in product(MEASURES, [False, True]):
        ranked += [F.sort_list(name, ascending), *(F.top_n(name, n, ascending) for n in (1, 2, 4))]
    return ranked
