"""A Hypothesis strategy of aggregates, over all functions and the columns of the samples."""

from itertools import product

from hypothesis import strategies as st

from panewise import functions as F
from panewise.spec import Aggregate
from panewise.spec.aggregates.aggregate import PAIRS
from panewise.testing.samples import ALL_TEXT, COSTS, JOINED, LATEST, MEASURES, NULLS, TALLY, TRUES

_FURTHER = [F.desc("flag"), F.asc("s"), F.desc("v")]  # few values, so that the next column decides


def aggregates() -> st.SearchStrategy[list[Aggregate]]:
    """Returns a strategy of one to four aggregates, of all functions and all types that these take."""
    made = st.one_of(st.sampled_from(_plain()), st.sampled_from(_ranked()), st.sampled_from(_in_order()))
    numbered = st.lists(made, min_size=1, max_size=4)
    return numbered.map(lambda chosen: [aggregate.alias(f"a{n}") for n, aggregate in enumerate(chosen)])


def _plain() -> list[Aggregate]:
    """Returns the aggregates that do not order their values, over all columns that they take."""
    numbers = ["v", "n"]
    made: list[Aggregate] = [
        F.count(),
        JOINED("s"),
        NULLS("v"),
        *(F.percentile(name, p) for name in numbers for p in (0, 0.25, 0.9, 1)),
    ]
    for name in MEASURES:
        made += [
            F.count(name),
            F.first(name),
            F.last(name),
            F.first(name, True),
            F.last(name, ignorenulls=True),
        ]
        made += [
            F.min(name),
            F.max(name),
            F.collect_list(name),
            F.collect_set(name),
            F.approx_count_distinct(name),
        ]
        made += [F.count_distinct(name), F.mode(name)]
    sums = (F.sum, F.avg, F.sum_distinct, F.avg_distinct)
    made += [fn(name) for fn in sums for name in (*numbers, "price", "amount")]
    made += [fn(name) for fn in (F.skewness, F.kurtosis, F.product) for name in numbers]
    of_pairs = (getattr(F, name) for name in sorted(PAIRS))
    made += [fn(*names) for fn in of_pairs for names in (("v", "n"), ("n", "v"))]
    made += [fn("n") for fn in (F.bit_and, F.bit_or, F.bit_xor)]
    made += [fn(name) for fn in (F.stddev, F.variance, F.stddev_pop, F.var_pop, F.median) for name in numbers]
    return [
        *made,
        F.count_if("flag"),
        F.bool_and("flag"),
        F.bool_or("flag"),
        TRUES("flag"),
        ALL_TEXT("s"),
        LATEST("n"),
        COSTS("price", "n"),
        TALLY("s"),
        *(one.filter("flag") for one in (JOINED("s"), LATEST("n"), TRUES("flag"), COSTS("price", "n"))),
    ]


def _in_order() -> list[Aggregate]:
    """Returns the aggregates that list rows in arrival order, with and without nulls and conditions."""
    made: list[Aggregate] = []
    for name in MEASURES:
        made += [F.collect_list(name, nulls="include"), F.collect_list(name, limit=2)]
        made += [fn(name, n, nulls) for fn in (F.first_n, F.last_n) for n, nulls in ((1, True), (2, False))]
        made += [F.first(name).filter("flag"), F.last(name).filter("flag"), F.last_n(name, 2).filter("flag")]
    return [*made, F.first_n("v", 3).filter("flag"), F.collect_list("n", nulls="include").filter("flag")]


def _ranked() -> list[Aggregate]:
    """Returns the aggregates that order their values, by the values themselves or by another column."""
    made: list[Aggregate] = []
    for name, other in product(MEASURES, MEASURES):
        made += [F.max_by(name, other), F.min_by(name, other)]
        flags = enumerate(product([False, True], [False, True]), start=1)
        made += [
            F.top_n_by(name, other, n, ascending=ascending, distinct=distinct)
            for n, (ascending, distinct) in flags
        ]
        further = [one for one in _FURTHER if one.column != other]
        made += [F.max_by(name, [other, *further]), F.min_by(name, [other, *further[:1]])]
        made += [
            F.top_n_by(name, [F.asc(other), *further], 2),
            F.top_n_by(name, [other, *further[1:], "n"] if other != "n" else [other, "v"], 3, distinct=True),
        ]
    for name, ascending in product(MEASURES, [False, True]):
        made += [F.sort_list(name, ascending), *(F.top_n(name, n, ascending) for n in (1, 2, 4))]
    return made
