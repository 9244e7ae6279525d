"""A third opinion: what DuckDB computes from the same rows.

Oracle and engine follow one text, and DuckDB does not know it. Its joins and frames are those of SQL. So what
both name in the same way has the same result. Rows arrive in batches, and none of them is late.
"""

from typing import Any

import duckdb
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from panewise import (
    AsOf,
    Hopping,
    Interval,
    OverOperator,
    SameWindow,
    Session,
    Side,
    Tumbling,
    WindowOperator,
)
from panewise import functions as F
from panewise.spec import Frame, OverColumn
from panewise.spec.conditions import left as left_column
from panewise.spec.conditions import right as right_column
from panewise.spec.operators.join.operator import JoinOperator
from panewise.testing import run
from panewise.testing.compare import same
from tests.engine.effort import examples

SOME, MORE = examples(20), examples(40)
RUNTIMES = st.sampled_from(["oracle", "engine"])
TYPES = {"k": "string", "t": "bigint", "n": "bigint", "v": "bigint", "d": "double"}
POLARS = {"k": pl.String(), "t": pl.Int64(), "n": pl.Int64(), "v": pl.Int64(), "d": pl.Float64()}

Rows = list[dict[str, Any]]


@st.composite
def rows(draw: st.DrawFn, /) -> Rows:
    """Draws rows with a key, an event time, a number in their arrival order and two values."""
    values = st.tuples(
        st.sampled_from(["a", "a", "b", None]),
        st.integers(0, 30),
        st.sampled_from([None, -3, -1, 0, 1, 2, 5]),
        st.sampled_from([None, -0.5, 0.0, 0.25, 1.5, 4.0]),
    )
    found = enumerate(draw(st.lists(values, max_size=12)))
    return [{"k": k, "t": t, "n": n, "v": v, "d": d} for n, (k, t, v, d) in found]


def sql(query: str, **tables: Rows) -> Rows:
    """Returns the rows of a query over tables."""
    with duckdb.connect(config={"threads": 1}) as database:
        for name, of in tables.items():
            database.register(name, pl.DataFrame(of, schema=POLARS).to_arrow())
        found = database.execute(query)
        names = [column[0] for column in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def last_panes(spec: Any, data: st.DataObject, given_rows: Rows) -> Rows:
    """Plays the rows in batches; returns what is emitted in the end, with the columns of the query."""
    cut = data.draw(st.integers(0, len(given_rows)))
    batches = [{"op": "add", "rows": batch} for batch in (given_rows[:cut], given_rows[cut:])]
    outputs = run(spec, [*batches, {"op": "finish"}], data.draw(RUNTIMES), types=TYPES)
    return [pane for output in outputs for pane in output["panes"]]


def assert_opinion(found: Rows, opinion: Rows) -> None:
    """Checks that two lists have the same rows, in the columns of the opinion."""
    names = list(opinion[0]) if opinion else []
    shown = [{name: row[name] for name in names} for row in found]

    def order(row: dict[str, Any]) -> str:
        return repr([row[name] for name in names if not isinstance(row[name], float)])

    one, other = (sorted(rows_, key=order) for rows_ in (shown, opinion))
    assert same(one, other), f"\npanewise {one}\nDuckDB   {other}"


# What panewise computes, and the same in SQL. Of order-sensitive aggregates the order is that of arrival.
AGGREGATES = {
    "rows": (F.count(), "count(*)"),
    "values": (F.count("v"), "count(v)"),
    "total": (F.sum("v"), "sum(v)::bigint"),
    "doubles": (F.sum("d"), "sum(d)"),
    "mean": (F.avg("v"), "avg(v)"),
    "least": (F.min("d"), "min(d)"),
    "most": (F.max("v"), "max(v)"),
    "spread": (F.stddev("d"), "stddev_samp(d)"),
    "var": (F.var_pop("v"), "var_pop(v)"),
    "middle": (F.median("v"), "median(v)"),
    "quarter": (F.percentile("d", 0.25), "quantile_cont(d, 0.25)"),
    "different": (F.count_distinct("v"), "count(distinct v)"),
    "one": (F.first("v"), "arg_min_null(v, n)"),
    "end": (F.last("d"), "arg_max_null(d, n)"),
    "at_most": (F.max_by("n", "t"), "arg_max(n, t * 100 - n)"),
    "list": (F.collect_list("v"), "coalesce(list(v order by n) filter (v is not null), [])"),
}
SELECTED = ", ".join(f"{text} as {name}" for name, (_, text) in AGGREGATES.items())
COMPUTED = [made.alias(name) for name, (made, _) in AGGREGATES.items()]


@SOME
@given(data=st.data(), given_rows=rows(), size=st.integers(1, 12), hops=st.integers(1, 3))
def test_windows(data: st.DataObject, given_rows: Rows, size: int, hops: int) -> None:
    """semantics 5, 6, 24.1: windows of time are groups of rows."""
    hop = -(-size // hops)
    window = Tumbling(size) if hop == size else Hopping(size, hop)
    spec = WindowOperator(keys=["k"], window=window, aggregates=COMPUTED, event_time="t", order=["n"])
    starts = f"unnest(generate_series((t // {hop}) * {hop}, t - {size} + 1 - {hop}, -{hop}))"
    query = f"""
        with inside as (select *, s as window_start, s + {size} as window_end
            from (select *, {starts} as s from given) where s <= t and t < s + {size})
        select k, window_start, window_end, {SELECTED} from inside group by all"""
    assert_opinion(last_panes(spec, data, given_rows), sql(query, given=given_rows))


@SOME
@given(data=st.data(), given_rows=rows(), gap=st.integers(1, 9))
def test_sessions(data: st.DataObject, given_rows: Rows, gap: int) -> None:
    """semantics 9: a session ends where the next row of its key is at least the gap away."""
    spec = WindowOperator(keys=["k"], window=Session(gap), aggregates=COMPUTED, event_time="t", order=["n"])
    query = f"""
        with marked as (select *, coalesce(
            t - lag(t) over (partition by k order by t, n) >= {gap}, true) as first from given),
        numbered as (select *, sum(first::int) over (partition by k order by t, n) as session from marked)
        select k, min(t) as window_start, max(t) + {gap} as window_end, {SELECTED}
        from numbered group by k, session"""
    assert_opinion(last_panes(spec, data, given_rows), sql(query, given=given_rows))


HOWS = {
    "inner": "join",
    "left": "left join",
    "right": "right join",
    "full": "full join",
    "semi": "semi join",
    "anti": "anti join",
}


def joined(spec: JoinOperator, data: st.DataObject, one: Rows, other: Rows) -> Rows:
    """Plays the rows of both sides in batches; returns the rows that are not retracted."""
    cuts = [data.draw(st.integers(0, len(of))) for of in (one, other)]
    events = [
        {"op": "add", "input": side, "rows": batch}
        for side, batch in (
            ("left", one[: cuts[0]]),
            ("right", other[: cuts[1]]),
            ("left", one[cuts[0] :]),
            ("right", other[cuts[1] :]),
        )
    ]
    types = {"left": TYPES, "right": TYPES}
    outputs = run(spec, [*events, {"op": "finish"}], data.draw(RUNTIMES), types=types)
    net: Rows = []
    for pane in (pane for output in outputs for pane in output["panes"]):
        if pane["op"] == "+":
            net.append(pane)
        else:
            net.remove({**pane, "op": "+"})
    return net


def sides(how: str) -> dict[str, Any]:
    prefix = {} if how in ("semi", "anti") else {"prefix": "r_"}
    common: dict[str, Any] = {"keys": ["k"], "event_time": "t", "order": ["n"]}
    return {"left": Side(**common), "right": Side(**common, **prefix)}


def selected(how: str) -> str:
    columns = "l.t, l.n, l.v, l.d"
    if how in ("semi", "anti"):
        return f"l.k, {columns}"
    return f"coalesce(l.k, r.k) as k, {columns}, r.t as r_t, r.n as r_n, r.v as r_v, r.d as r_d"


@MORE
@given(
    data=st.data(),
    how=st.sampled_from(list(HOWS)),
    one=rows(),
    other=rows(),
    bounds=st.tuples(st.integers(-6, 6), st.integers(0, 6)),
)
def test_interval_joins(
    how: Any, data: st.DataObject, one: Rows, other: Rows, bounds: tuple[int, int]
) -> None:
    """semantics 27, 28, 37, 37.24, 38: an interval and a condition are parts of a join's condition."""
    first, last = (data.draw(st.sampled_from([end, end, None])) for end in (bounds[0], sum(bounds)))
    within = [f"r.t - l.t >= {first}"] if first is not None else []
    within += [f"r.t - l.t <= {last}"] if last is not None else []
    match = Interval(first, last, retain_for="unlimited" if len(within) < 2 else None)
    condition, text = data.draw(
        st.sampled_from([(None, "true"), (left_column("v") < right_column("v"), "l.v < r.v")])
    )
    unmatched = data.draw(st.sampled_from(["early", "final"])) if how not in ("inner", "semi") else None
    spec = JoinOperator(**sides(how), match=match, how=how, condition=condition, unmatched=unmatched)
    query = f"""select {selected(how)} from l {HOWS[how]} r
        on l.k = r.k and {" and ".join([*within, text])}"""
    assert_opinion(joined(spec, data, one, other), sql(query, l=one, r=other))


@MORE
@given(data=st.data(), how=st.sampled_from(list(HOWS)), one=rows(), other=rows(), size=st.integers(1, 12))
def test_window_joins(data: st.DataObject, how: Any, one: Rows, other: Rows, size: int) -> None:
    """semantics 37.10: rows match if they are in the same window."""
    spec = JoinOperator(**sides(how), match=SameWindow(Tumbling(size)), how=how)
    query = f"""select {selected(how)} from l {HOWS[how]} r
        on l.k = r.k and l.t // {size} = r.t // {size}"""
    assert_opinion(joined(spec, data, one, other), sql(query, l=one, r=other))


@SOME
@given(
    data=st.data(),
    how=st.sampled_from(["inner", "left"]),
    one=rows(),
    other=rows(),
    strategy=st.sampled_from(["backward", "forward"]),
)
def test_as_of_joins(data: st.DataObject, how: Any, one: Rows, other: Rows, strategy: Any) -> None:
    """semantics 37.2, 37.22, 37.23: the latest row before, or the earliest one after."""
    exact = data.draw(st.booleans())
    tolerance = data.draw(st.none() | st.integers(0 if exact else 1, 9))
    match = AsOf(strategy, tolerance, allow_exact_matches=exact)
    spec = JoinOperator(**sides(how), match=match, how=how)
    compared, near = {
        "backward": (">=", f"l.t - r.t <= {tolerance}"),
        "forward": ("<=", f"r.t - l.t <= {tolerance}"),
    }[strategy]
    near = near if tolerance is not None else "true"
    compared = compared if exact else compared[0]
    query = f"""
        with r as (select * from given
            qualify row_number() over (partition by k, t order by n desc) = 1),
        found as (select l.n as place, r.n as partner from l asof join r
            on l.k = r.k and l.t {compared} r.t where {near})
        select {selected(how)} from l {HOWS[how]}
            (select * from found join r on r.n = partner) r on l.n = r.place"""
    assert_opinion(joined(spec, data, one, other), sql(query, l=one, given=other))


UNBOUNDED = "rows between unbounded preceding and current row"
FRAMES = {
    "total": (F.sum("v"), "sum(v)", Frame("rows", -2, 0), "rows between 2 preceding and current row"),
    "all": (F.count(), "count(*)", Frame("rows", None, 0), UNBOUNDED),
    "around": (F.max("d"), "max(d)", Frame("rows", -1, 1), "rows between 1 preceding and 1 following"),
    "near": (F.min("v"), "min(v)", Frame("range", -5, 0), "range between 5 preceding and current row"),
    "wide": (F.avg("v"), "avg(v)", Frame("range", -4, 3), "range between 4 preceding and 3 following"),
}
FUNCTIONS = {
    "before": (F.lag("v", 1), "lag(v, 1)", "t, n"),
    "next": (F.lead("d", 2), "lead(d, 2)", "t, n"),
    "number": (F.row_number(), "row_number()", "t, n"),
    "place": (F.rank(), "rank()", "t"),
    "dense": (F.dense_rank(), "dense_rank()", "t"),
}


@SOME
@given(data=st.data(), given_rows=rows())
def test_over(data: st.DataObject, given_rows: Rows) -> None:
    """semantics 29: frames by rows and by range, and functions of neighbouring rows."""
    columns = [OverColumn(made.alias(name), frame) for name, (made, _, frame, _) in FRAMES.items()]
    columns += [OverColumn(made.alias(name)) for name, (made, _, _) in FUNCTIONS.items()]
    spec = OverOperator(keys=["k"], event_time="t", columns=columns)
    texts = [
        f'{text} over (partition by k order by {"t, n" if "rows" in frame else "t"} {frame}) as "{name}"'
        for name, (_, text, _, frame) in FRAMES.items()
    ]
    texts += [
        f'{text} over (partition by k order by {order}) as "{name}"'
        for name, (_, text, order) in FUNCTIONS.items()
    ]
    opinion = sql(f"select *, {', '.join(texts)} from given", given=given_rows)
    assert_opinion(last_panes(spec, data, given_rows), opinion)


# Frames from which EXCLUDE leaves rows out. Ties of t and v have equal values, so their places do not matter.
EXCLUDED = {
    "others": (
        F.sum("v"),
        "sum(v)",
        Frame("rows", -2, 1, "current row"),
        "rows between 2 preceding and 1 following",
    ),
    "strangers": (
        F.count("v"),
        "count(v)",
        Frame("rows", None, 1, "group"),
        "rows between unbounded preceding and 1 following",
    ),
    "most": (F.max("v"), "max(v)", Frame("rows", -3, 3, "ties"), "rows between 3 preceding and 3 following"),
    "median": (
        F.median("v"),
        "median(v)",
        Frame("rows", -3, 0, "group"),
        "rows between 3 preceding and current row",
    ),
    "untied": (F.sum("v"), "sum(v)", Frame("range", None, 0, "ties"), "range unbounded preceding"),
    "second": (F.nth_value("v", 2), "nth_value(v, 2)", Frame("rows", None, 0, "current row"), UNBOUNDED),
}


@SOME
@given(data=st.data(), given_rows=rows())
def test_excluded_rows(data: st.DataObject, given_rows: Rows) -> None:
    """semantics 29.13, 29.15: EXCLUDE, over an order with a descending column."""
    columns = [OverColumn(what.alias(name), frame) for name, (what, _, frame, _) in EXCLUDED.items()]
    spec = OverOperator(keys=["k"], event_time="t", order=["v"], descending=["v"], columns=columns)
    order = "partition by k order by t, v desc nulls last"
    texts = [
        f'{text} over ({order} {words} exclude {frame.exclude}) as "{name}"'
        for name, (_, text, frame, words) in EXCLUDED.items()
    ]
    opinion = sql(f"select *, {', '.join(texts)} from given", given=given_rows)
    assert_opinion(last_panes(spec, data, given_rows), opinion)


IGNORING = {
    "before": (F.lag("v", 2, -9, True), "lag(v, 2, -9 ignore nulls)", None),
    "next": (F.lead("d", 1, None, True), "lead(d, 1 ignore nulls)", None),
    "early": (F.nth_value("v", 2, True), "nth_value(v, 2 ignore nulls)", (Frame("rows", None, 0), UNBOUNDED)),
    "near": (
        F.nth_value("d", 2, True),
        "nth_value(d, 2 ignore nulls)",
        (Frame("rows", -3, 1), "rows between 3 preceding and 1 following"),
    ),
    "newest": (F.last("v", True), "last_value(v ignore nulls)", (Frame("rows", None, 0), UNBOUNDED)),
}


@SOME
@given(data=st.data(), given_rows=rows())
def test_functions_that_ignore_nulls(data: st.DataObject, given_rows: Rows) -> None:
    """semantics 29.14"""
    columns = [OverColumn(what.alias(name), at and at[0]) for name, (what, _, at) in IGNORING.items()]
    spec = OverOperator(keys=["k"], event_time="t", order=["n"], columns=columns)
    texts = [
        f'{text} over (partition by k order by t, n {at[1] if at else ""}) as "{name}"'
        for name, (_, text, at) in IGNORING.items()
    ]
    opinion = sql(f"select *, {', '.join(texts)} from given", given=given_rows)
    assert_opinion(last_panes(spec, data, given_rows), opinion)


FOLLOWING = "rows between current row and unbounded following"
BACKWARDS = {
    "total": (F.sum("v"), "sum(v)", (Frame("rows", 0, None), FOLLOWING)),
    "near": (F.min("v"), "min(v)", (Frame("rows", -2, 1), "rows between 2 preceding and 1 following")),
    "wide": (F.max("v"), "max(v)", (Frame("range", -4, 3), "range between 4 preceding and 3 following")),
    "list": (
        F.collect_list("v"),
        "list(v) filter (v is not null)",
        (Frame("rows", -1, 2), "rows between 1 preceding and 2 following"),
    ),
    "second": (F.nth_value("v", 2), "nth_value(v, 2)", (Frame("rows", 0, None), FOLLOWING)),
    "before": (F.lag("v"), "lag(v)", None),
    "next": (F.lead("v", 1, None, True), "lead(v, 1 ignore nulls)", None),
}


@SOME
@given(data=st.data(), given_rows=rows())
def test_descending_event_time(data: st.DataObject, given_rows: Rows) -> None:
    """semantics 29.13"""
    columns = [OverColumn(what.alias(name), at and at[0]) for name, (what, _, at) in BACKWARDS.items()]
    spec = OverOperator(keys=["k"], event_time="t", descending=["t"], columns=columns)
    texts = [
        f"{text} over (partition by k order by {'t desc' if at and 'range' in at[1] else 't desc, n desc'} "
        f'{at[1] if at else ""}) as "{name}"'
        for name, (_, text, at) in BACKWARDS.items()
    ]
    opinion = sql(f"select *, {', '.join(texts)} from given", given=given_rows)
    emitted = [{**row, "list": row["list"] or None} for row in last_panes(spec, data, given_rows)]
    assert_opinion(emitted, opinion)
