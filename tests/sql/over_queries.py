"""Draws queries with functions over windows, in words that Spark and DuckDB have, too."""

from typing import Any

from hypothesis import strategies as st

# `id` ends each order, so no system may choose the order of ties.
ORDERS = (
    "ts, id",
    "ts, v DESC, id",
    "ts, v NULLS LAST, id DESC",
    "ts, v DESC NULLS FIRST, w, id",
    "ts DESC, id",
    "ts DESC, v, w DESC, id",
)
AGGREGATES = ("sum(v)", "count(*)", "count(w)", "min(w)", "max(v)", "avg(v)", "sum(v) FILTER (WHERE w > 1)")
NUMBERINGS = ("row_number()", "rank()", "dense_rank()")
EXCLUSIONS = ("", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES", " EXCLUDE NO OTHERS")


@st.composite
def rows(draw: st.DrawFn, /) -> list[dict[str, Any]]:
    """Draws rows with few different keys, times and values, so that many are equal."""
    values = st.sampled_from([None, -1, 0, 2, 5])
    keys = st.sampled_from(["a", "a", "b"])
    drawn = draw(st.lists(st.tuples(keys, st.integers(0, 4), values, values), min_size=1, max_size=10))
    return [{"k": k, "ts": ts, "v": v, "w": w, "id": n} for n, (k, ts, v, w) in enumerate(drawn)]


@st.composite
def columns(draw: st.DrawFn, /, *, exclude: bool) -> list[tuple[str, bool, str]]:
    """Draws new columns, each as the call, whether it ignores nulls, and the window."""
    return [draw(_column(exclude=exclude)) for _ in range(draw(st.integers(1, 5)))]


@st.composite
def _column(draw: st.DrawFn, /, *, exclude: bool) -> tuple[str, bool, str]:
    partition, order = draw(st.sampled_from(["", "PARTITION BY k "])), draw(st.sampled_from(ORDERS))
    backwards = order.startswith("ts DESC")
    window = f"{partition}ORDER BY {order}"
    kind = draw(
        st.sampled_from(["aggregate", "aggregate", "shift", "value", *([] if backwards else ["number"])])
    )
    if kind == "number":
        return draw(st.sampled_from(NUMBERINGS)), False, window
    name, ignore, n = draw(st.sampled_from("vw")), draw(st.booleans()), draw(st.integers(1, 3))
    if kind == "shift":
        return (
            f"{draw(st.sampled_from(['lag', 'lead']))}({name}, {n}, {draw(st.sampled_from(['7', 'NULL']))})",
            ignore,
            window,
        )
    frame = draw(_frame(backwards=backwards)) + (draw(st.sampled_from(EXCLUSIONS)) if exclude else "")
    if kind == "aggregate":
        return draw(st.sampled_from(AGGREGATES)), False, f"{window} {frame}"
    calls = [f"nth_value({name}, {n})", f"first_value({name})", f"last_value({name})"]
    return draw(st.sampled_from(calls)), ignore, f"{window} {frame}"


@st.composite
def _frame(draw: st.DrawFn, /, *, backwards: bool) -> str:
    low = draw(st.integers(-3, 2))
    high = draw(st.integers(low, 3))
    start, end = _bound(low), _bound(high)
    if draw(st.integers(0, 2)) == 0:
        start, end = (start, "UNBOUNDED FOLLOWING") if backwards else ("UNBOUNDED PRECEDING", end)
    return f"ROWS BETWEEN {start} AND {end}"


def _bound(n: int) -> str:
    return "CURRENT ROW" if n == 0 else f"{abs(n)} {'PRECEDING' if n < 0 else 'FOLLOWING'}"


def text_of(new: list[tuple[str, bool, str]], *, inside: bool) -> str:
    """Returns the query. IGNORE NULLS stands inside the parentheses, as in DuckDB, or behind, as in Spark."""
    calls = []
    for number, (call, ignore, window) in enumerate(new):
        nulls = " IGNORE NULLS" if ignore else ""
        shown = f"{call[:-1]}{nulls})" if inside else f"{call}{nulls}"
        calls.append(f"{shown} OVER ({window}) AS c{number}")
    return f"SELECT id, {', '.join(calls)} FROM t"
