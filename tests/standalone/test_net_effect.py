"""Tables of net effects: they are those of the rows one after another, and the answer of a batch."""

import math
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spec import parts
from panewise.spec.windows.traits import merging
from panewise.standalone import current
from panewise.testing import run
from panewise.testing.strategies import ALL_KINDS, events, specs, types_of
from tests.engine.effort import DEFAULT

Table = dict[tuple[Any, ...], Any]


def key_of(row: dict[str, Any], names: list[str]) -> tuple[Any, ...]:
    """Returns the values of a key, in which NaN equals NaN."""
    values = (row[name] for name in names)
    return tuple("NaN" if isinstance(value, float) and math.isnan(value) else value for value in values)


def apply(table: Table, panes: list[dict[str, Any]], names: list[str], value: str) -> None:
    """Applies the net effect of the panes of one event to a table."""
    if not panes:
        return
    columns = [*names, value, "op"]
    rows = pl.DataFrame([{name: pane[name] for name in columns} for pane in panes], infer_schema_length=None)
    changes = current(rows, key=names)
    assert changes.columns == [*names, value, "operation"]
    for row in changes.iter_rows(named=True):
        if row["operation"] == "delete":
            table.pop(key_of(row, names), None)
        else:
            table[key_of(row, names)] = row[value]


@pytest.mark.parametrize("kind", ALL_KINDS)
@DEFAULT
@given(data=st.data())
def test_net_effects_are_the_rows_one_after_another(kind: str, data: st.DataObject) -> None:
    """Where an output is not refused, windows have one pane or all are replaced (semantics 49.3, 49.4)."""
    spec = data.draw(specs(kind), label="spec")
    names = [*spec.keys, "window_start", "window_end"]
    assert parts(spec).row_key(spec) == tuple(names)
    table, expected, numbers = Table(), Table(), list[tuple[Any, ...]]()
    for output in run(spec, data.draw(events(spec), label="events"), "engine", types=types_of(spec)):
        apply(table, output["panes"], names, "index")
        for pane in output["panes"]:
            if pane["op"] == "-":
                del expected[key_of(pane, names)]
            else:
                expected[key_of(pane, names)] = pane["index"]
                numbers.append(key_of(pane, names))
    assert table == expected
    if parts(spec).partial_results(spec) is None:
        if spec.accumulation == "discarding":
            assert len(numbers) == len(set(numbers))
        if merging(spec.window):
            check_apart([*table])


def check_apart(keys: list[tuple[Any, ...]]) -> None:
    """Checks that the windows of a key do not overlap, so that none of them is merged away."""
    ordered = sorted(keys, key=lambda key: (repr(key[:-2]), key[-2:]))
    for left, right in pairwise(ordered):
        assert left[:-2] != right[:-2] or left[-1] <= right[-2]


ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.integers(-5, 5)), max_size=20)
WINDOWS = [pw.Tumbling(10), pw.Hopping(10, 5), pw.Session(4)]
TRIGGERS = [
    pw.Repeatedly(pw.AfterCount(1)),
    pw.AfterWatermark(early=pw.AfterCount(2), late=pw.Always()),
    pw.AfterWatermark(late=pw.Always()),
]


def answer(window: Any, rows: list[tuple[str, int, int]]) -> Table:
    """Returns the sum of each window, as a batch computes it."""
    table: Table = {}
    for key in {row[0] for row in rows}:
        own = sorted((time, value) for name, time, value in rows if name == key)
        for start, end in bounds(window, [time for time, _ in own]):
            table[key, start, end] = sum(value for time, value in own if start <= time < end)
    return table


def bounds(window: Any, times: list[int]) -> set[tuple[int, int]]:
    """Returns the windows of rows with these times, which ascend."""
    if isinstance(window, pw.Session):
        cuts = [0, *(n for n in range(1, len(times)) if times[n] - times[n - 1] >= 4), len(times)]
        return {(times[first], times[last - 1] + 4) for first, last in pairwise(cuts)}
    hop = 10 if isinstance(window, pw.Tumbling) else 5
    return {(start, start + 10) for t in times for start in range(-10, 50, hop) if start <= t < start + 10}


@DEFAULT
@given(
    rows=ROWS,
    cuts=st.lists(st.integers(0, 20), max_size=4),
    marks=st.lists(st.integers(0, 60), min_size=5, max_size=5),
    window=st.sampled_from(WINDOWS),
    trigger=st.sampled_from(TRIGGERS),
)
def test_a_table_is_the_answer_of_a_batch(
    rows: list[tuple[str, int, int]], cuts: list[int], marks: list[int], window: Any, trigger: Any
) -> None:
    """Whatever arrives together, and however late (semantics 49.4)."""
    spec = pw.WindowOperator(
        keys=["k"],
        window=window,
        trigger=trigger,
        allowed_lateness="unlimited",
        accumulation="retracting",
        aggregates=[F.sum("v").alias("s")],
    )
    assert parts(spec).partial_results(spec) is None
    places = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    script: list[dict[str, Any]] = []
    for (first, last), mark in zip(pairwise(places), sorted(marks), strict=False):
        batch = [{"k": key, "event_time": time, "v": value} for key, time, value in rows[first:last]]
        script += [{"op": "add", "rows": batch}, {"op": "watermark", "to": mark}]
    table: Table = {}
    for output in run(spec, [*script, {"op": "finish"}], "engine"):
        apply(table, output["panes"], ["k", "window_start", "window_end"], "s")
    assert table == answer(window, rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, r"^current\(\) of rows without 'window_end' \| .* \| give key="),
        ({"key": []}, r"^key=\[\] \| a row of a table is found by its key \| name one"),
        ({"key": "k"}, r"^key='k' \| key is a list"),
        (
            {"key": ["x"]},
            r"^current\(\) with the column 'x' \| the rows have the columns \[",
        ),
        ({"key": ["k"], "operation": "k"}, r"^operation='k' \| the operation is a new column"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        current(pl.DataFrame({"k": ["a"], "op": ["+"]}), **arguments)


def test_a_column_op_of_the_input_is_no_retraction() -> None:
    rows = pl.DataFrame({"k": ["a", "a"], "op": ["+", "-"]})
    assert current(rows, key=["k"], op=None).rows() == [("a", "-", "upsert")]


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"window": pw.Session(5)}, None),
        ({"window": pw.Session(5), "trigger": pw.Never(), "allowed_lateness": 3}, None),
        (
            {"window": pw.Session(5), "allowed_lateness": 3},
            "accumulation='accumulating' of windows that merge",
        ),
        ({"window": pw.Tumbling(5), "accumulation": "discarding"}, None),
        (
            {
                "window": pw.Tumbling(5),
                "accumulation": "discarding",
                "trigger": pw.AfterWatermark(early=pw.Always()),
            },
            "accumulation='discarding'",
        ),
        ({"window": pw.Tumbling(5), "trigger": pw.Repeatedly(pw.AfterCount(2))}, None),
    ],
)
def test_outputs_whose_last_rows_are_no_results(fields: dict[str, Any], refused: str | None) -> None:
    """semantics 49.4"""
    spec = pw.WindowOperator(keys=["k"], aggregates=[F.count().alias("n")], **fields)
    partial = parts(spec).partial_results(spec)
    assert (partial and partial[0]) == refused


def test_which_rows_have_a_key() -> None:
    """semantics 49.2"""
    chain = pw.WindowOperator(keys=["k"], window=pw.Tumbling(5), aggregates=[F.count().alias("n")]).then(
        aggregates=[F.sum("n").alias("n")]
    )
    assert parts(chain).row_key(chain) == ("window_start", "window_end")
    once = pw.DeduplicateOperator(keys=["k"], within="unlimited", event_time=None)
    again = pw.DeduplicateOperator(keys=["k"], within=5)
    assert parts(once).row_key(once) == ("k",)
    assert parts(again).row_key(again) == ()
    assert (parts(once).has_op(once), parts(chain).has_op(chain)) == (False, True)
