"""Queries that Spark's SQL has, too, drawn by Hypothesis: windows with aggregates, and functions OVER."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

KEYS = ("k", "upper(k)", "v % 2", "t.k")
FIELDS = ("s.x", "t.s.y", "upper(s.x)", "s.y + 1")  # of a struct that a query in FROM makes
STRUCT = "(SELECT *, struct(k AS x, v % 3 AS y) AS s FROM {t}) t"
AGGREGATES = (
    *("count(*)", "count(v)", "sum(v)", "min(v)", "max(v)", "count(DISTINCT v)", "sum(DISTINCT v)"),
    *("count(*) FILTER (WHERE v > 2)", "sum(v) FILTER (WHERE k = 'a')", "max(v + 1)", "avg(v)"),
    *("min(k)", "bool_or(v > 3)", "count_if(v > 3)", "median(v)", "max_by(k, v * 100 + second(ts))"),
    *("sum(v) + count(*)", "max(v) - min(v)", "sort_array(collect_set(v))", "count(v, k)", "sum(v * v)"),
)
CONDITIONS = ("v > 1", "k <> 'b'", "v IS NOT NULL", "v BETWEEN 1 AND 6 OR k = 'a'", "k IN ('a', 'A')")
HAVINGS = ("count(*) > 1", "sum(v) > 3", "max(v) IS NOT NULL", "n > 1 AND n < 4")
WINDOWS = (
    *(
        "window(ts, '10 seconds')",
        "window(ts, '20 seconds', '10 seconds')",
        "session_window(ts, '6 seconds')",
    ),
    *("window(ts, '15 seconds', '5 seconds', '3 seconds')", "window(ts, '1 minute', '20 seconds')"),
)
FUNCTIONS = (
    *("sum(v)", "count(*)", "max(v)", "min(v)", "count(v)", "sum(v) FILTER (WHERE v > 2)", "avg(v)"),
    *("first_value(v)", "last_value(v)"),
)
RANKS = ("row_number()", "lag(v)", "lag(v, 2)", "lead(v)", "lag(k, 1, 'none')", "rank()", "dense_rank()")
FRAMES = (
    *("", "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"),
    *("ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING"),
    *("RANGE BETWEEN INTERVAL '10' SECONDS PRECEDING AND CURRENT ROW",),
    *("RANGE BETWEEN INTERVAL '10' SECONDS PRECEDING AND INTERVAL '5' SECONDS FOLLOWING",),
)


def clause(word: str, choices: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Returns a strategy of a clause that may be missing."""
    return st.sampled_from(["", "", *(f"{word} {choice}" for choice in choices)])


@st.composite
def grouped_queries(draw: st.DrawFn) -> str:
    """Draws a SELECT with Spark's windows in GROUP BY, from a table or from a query with a struct."""
    source, known = draw(st.sampled_from([("{t} t", KEYS), (STRUCT, (*KEYS[:2], *FIELDS))]))
    keys = draw(st.lists(st.sampled_from(known), max_size=2, unique=True))
    call = draw(st.sampled_from(WINDOWS))
    struct = call.split("(", 1)[0]
    bounds = draw(
        st.sampled_from([struct, f"{struct}.start", f"{struct}.end AS e", f"{struct}.start, {struct}.end"])
    )
    values = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True))
    columns = [
        *keys,
        bounds,
        *(f"{value} AS a{place}" for place, value in enumerate(values)),
        "count(*) AS n",
    ]
    where, having = draw(clause("WHERE", CONDITIONS)), draw(clause("HAVING", HAVINGS))
    group = draw(st.permutations([*keys, call]))
    return f"SELECT {', '.join(columns)} FROM {source} {where} GROUP BY {', '.join(group)} {having}"


@st.composite
def over_queries(draw: st.DrawFn) -> str:
    """Draws a SELECT with functions over windows, in the order of event times, which differ."""
    calls = []
    for place in range(draw(st.integers(1, 2))):
        partition = draw(st.sampled_from(["", "PARTITION BY k ", "PARTITION BY v % 2, k "]))
        if draw(st.booleans()):
            calls.append(f"{draw(st.sampled_from(RANKS))} OVER ({partition}ORDER BY ts) AS f{place}")
        else:
            what, frame = draw(st.sampled_from(FUNCTIONS)), draw(st.sampled_from(FRAMES))
            calls.append(f"{what} OVER ({partition}ORDER BY ts {frame}) AS f{place}")
    where = draw(clause("WHERE", CONDITIONS))
    return f"SELECT ts, k, v, {', '.join(calls)} FROM {{t}} t {where}"


SET_KEYS = ("k", "upper(k)", "v % 2")
SET_AGGREGATES = ("sum(v)", "count(*)", "min(v)", "max(v) - min(v)", "count(DISTINCT v)", "count(v)")
SET_HAVINGS = ("count(*) > 1", "grouping({0}) = 0", "max(v) > 3", "grouping_id({0}, {1}) > 1")
LENGTHS = ((10, 10), (10, 5), (20, 20))  # of windows and of their slides, in seconds


@dataclass(frozen=True)
class SetsQuery:
    """A query with GROUPING SETS, CUBE or ROLLUP in the words of each system.

    Attributes:
        ours: the query.
        spark: the same for Spark, which has no window among the sets.
        duckdb: the same for DuckDB.
    """

    ours: str
    spark: str
    duckdb: str


@st.composite
def sets_queries(draw: st.DrawFn) -> SetsQuery:
    """Draws a SELECT whose groups have several sets of keys in each window."""
    first, second = draw(st.permutations(SET_KEYS))[:2]
    pair = f"{first}, {second}"
    sets = draw(
        st.sampled_from(
            [
                f"ROLLUP ({pair})",
                f"CUBE ({pair})",
                f"{first}, ROLLUP ({second})",
                f"ROLLUP ({first}), CUBE ({second})",
                f"GROUPING SETS (({pair}), ({first}), ())",
                f"GROUPING SETS ({second}, ({pair}))",
                f"GROUPING SETS (CUBE ({first}), ({second}))",
                f"{first}, GROUPING SETS (({second}), ())",
            ]
        )
    )
    values = draw(st.lists(st.sampled_from(SET_AGGREGATES), min_size=1, max_size=2, unique=True))
    columns = [f"{first} AS a", f"{second} AS b", *(f"{value} AS a{n}" for n, value in enumerate(values))]
    columns += draw(st.sampled_from([[], [f"grouping({second}) AS g"], [f"grouping_id({pair}) AS g"]]))
    having = draw(clause("HAVING", SET_HAVINGS)).format(first, second)
    rest = f"{draw(clause('WHERE', CONDITIONS[:4]))} GROUP BY"
    size, slide = draw(st.sampled_from(LENGTHS))
    call = f"window(ts, '{size} seconds', '{slide} seconds')"
    starts = f"to_microseconds(epoch_us(ts) // {slide}000000 * {slide}000000 - i * {slide}000000)"
    bucket = f"SELECT t.*, epoch('epoch'::TIMESTAMP + {starts}) AS s FROM t, range({size // slide}) AS r(i)"
    listed = ", ".join(columns)
    return SetsQuery(
        f"SELECT window.start AS s, {listed} FROM {{t}} t {rest} {call}, {sets} {having}",
        f"SELECT w.start AS s, {listed} FROM (SELECT *, {call} AS w FROM {{t}}) t {rest} w, {sets} {having}",
        f"SELECT s, {listed} FROM ({bucket}) t {rest} s, {sets} {having}",
    )


def rows(*, different: bool) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Returns a strategy of rows of (seconds, key, value)."""
    row = st.tuples(
        st.integers(0, 70), st.sampled_from(["a", "b", "A", None]), st.sampled_from([None, *range(7)])
    )
    by_time: Any = (lambda values: values[0]) if different else None
    return st.lists(row, min_size=3, max_size=12, unique_by=by_time)
