"""Laws that outputs obey whatever an operator computes, checked by playing one stream in two ways.

Oracle and engine follow one text, so what the text leaves open both can get wrong alike. A law needs neither:
it compares an operator with itself, for another specification or for the same rows in other batches.

The checks take what :func:`panewise.testing.run` takes, and raise AssertionError with the rows that differ.

| Check | Law |
|---|---|
| :func:`check_early` | a join that emits rows without a partner early has the net rows of one that waits |
| :func:`check_retracting` | what is not retracted are the last panes of each window in accumulating mode |
| :func:`check_one_batch` | the last panes of a stream without late rows are those of one batch |

:mod:`panewise.testing.retractions` checks a fourth law in every run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from panewise.errors import InputError
from panewise.spec import Specification, merging
from panewise.spec.operators.join.columns import INDEX, JOIN_TIME, MISSING, ONE_SIDED, TIMING
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.panes import BOUNDS
from panewise.testing.compare import same
from panewise.testing.families import parts_for_tests
from panewise.testing.retractions import OP, Ledger, hashable
from panewise.testing.runner import run

Rows: TypeAlias = list[dict[str, Any]]
Events: TypeAlias = Sequence[Mapping[str, Any]]

# Fields that distinguish the panes of a window. They do not belong to its content.
_OF_PANES: Final = (
    OP,
    TIMING,
    "index",
    "nonspeculative_index",
    "is_first",
    "is_last",
    "processing_time",
    "delta",
)


def check_early(spec: JoinOperator, events: Events, runtime: str = "oracle", **options: Any) -> None:
    """Checks that the rows that "early" has not retracted are the rows of "final" (semantics 39).

    Args:
        spec: a join that emits rows without a partner, not in accumulating mode.
        events: the events; the end of input is added, because "final" waits for it.
        runtime, options: as for :func:`panewise.testing.run`.

    Raises:
        AssertionError: if they are not. Rows of a window join are compared without the timing, and single
            rows without bounds, because "early" emits them at another firing of their window.
        InputError: if the join emits no such rows, or retracts nothing.

    >>> from panewise import Interval, Side
    >>> join = JoinOperator(left=Side(), right=Side(prefix="r_"), match=Interval(0, 5), how="left")
    >>> check_early(join, [{"op": "add", "input": "left", "rows": [{"event_time": 1}]},
    ...     {"op": "add", "input": "right", "rows": [{"event_time": 3}]}])
    """
    if not spec.outer_sides or INDEX in spec.window_columns:  # which accumulating mode adds
        fault = f"how={spec.how!r}, {spec.match!r}"
        rule = "a join that retracts rows without a partner is needed"
        raise InputError(fault, rule, "give how='left' and another accumulation")
    ended = [*events, {"op": "finish"}]
    early, final = (
        _net(run(replace(spec, unmatched=name, timestamp=spec.timestamp), ended, runtime, **options))
        for name in ("early", "final")
    )
    if spec.window_columns:
        early, final = (_of_content(spec, rows) for rows in (early, final))
    _assert_equal(early, final, 'early, "final"')


def check_retracting(spec: Any, events: Events, runtime: str = "oracle", **options: Any) -> None:
    """Checks that what "retracting" leaves are the last panes of "accumulating" (semantics 21.1, 37.13).

    Args:
        spec: a window operator, a chain, or a cogroup. Its accumulation is not used.
        events: the events.
        runtime, options: as for :func:`panewise.testing.run`.

    Raises:
        AssertionError: if they are not. Keys, bounds and aggregates are compared. For windows that
            merge, "accumulating" also has the last panes of those that merged away.

    >>> from panewise import Tumbling, WindowOperator, Always, AfterWatermark, functions as F
    >>> spec = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("rows")],
    ...     trigger=AfterWatermark(early=Always()))
    >>> check_retracting(spec, [{"op": "add", "rows": [{"event_time": t}]} for t in (1, 2, 12)])
    """
    retracting, accumulating = (
        run(_accumulating(spec, name), events, runtime, **options) for name in ("retracting", "accumulating")
    )
    net = [_without(row, _OF_PANES) for row in _net(retracting)]
    last = last_panes(spec, accumulating)
    if merging(parts_for_tests(spec).windowed(spec).window):
        windows = {_window(spec, row) for row in net}
        last = [row for row in last if _window(spec, row) in windows]
    _assert_equal(net, last, "retracting, accumulating")


def check_one_batch(spec: Any, events: Events, runtime: str = "oracle", **options: Any) -> None:
    """Checks that the last panes of a stream are those of one batch with all its rows (semantics 3.1, 18).

    Args:
        spec: a window operator, a chain or a cogroup that is not "discarding" and whose trigger closes no
            window.
        events: the events. None of their rows is late, or too far ahead of the clock.
        runtime, options: as for :func:`panewise.testing.run`.

    Raises:
        AssertionError: if they are not; a last pane contains the keys, the bounds and the aggregates.
        InputError: if rows are late.

    >>> from panewise import Tumbling, WindowOperator, functions as F
    >>> spec = WindowOperator(window=Tumbling(10), aggregates=[F.count().alias("rows")])
    >>> check_one_batch(spec, [{"op": "add", "rows": [{"event_time": 1}]}, {"op": "watermark", "to": 10},
    ...     {"op": "add", "rows": [{"event_time": 12}]}])
    """
    end = {"op": "finish"}
    stream = run(spec, [*(event for event in events if event["op"] != "finish"), end], runtime, **options)
    if any(output["late"] for output in stream):
        raise InputError("late rows", "a batch has no late rows", "give lower watermarks")
    batch = run(spec, [*_one_batch(events), end], runtime, **options)
    _assert_equal(last_panes(spec, stream), last_panes(spec, batch), "a stream, one batch")


def last_panes(spec: Any, outputs: Iterable[Mapping[str, Any]]) -> Rows:
    """Returns the last `+` pane of each window that is not retracted, without fields of single panes."""
    last: dict[Any, dict[str, Any]] = {}
    for pane in (pane for output in outputs for pane in output["panes"]):
        last.pop(_window(spec, pane), None)
        if pane[OP] == "+":
            last[_window(spec, pane)] = _without(pane, _OF_PANES)
    return list(last.values())


def _one_batch(events: Events) -> list[dict[str, Any]]:
    """Returns all rows in one batch: by input, if events name one."""
    added = [event for event in events if event["op"] == "add"]
    if not any(isinstance(event["rows"], Mapping) or "input" in event for event in added):
        return [{"op": "add", "rows": [row for event in added for row in event["rows"]]}]
    rows: dict[str, Rows] = {}
    for event in added:
        of = event["rows"] if isinstance(event["rows"], Mapping) else {event["input"]: event["rows"]}
        for side, more in of.items():
            rows[side] = [*rows.get(side, []), *more]
    return [{"op": "add", "rows": rows}]


def _accumulating(spec: Specification, how: str) -> Specification:
    """Returns the specification with another accumulation."""
    own = parts_for_tests(spec)
    changed = replace(own.windowed(spec), accumulation=how, only_updated=False)
    accumulating: Specification = own.with_windowed(spec, changed)
    return accumulating


def _window(spec: Specification, pane: Mapping[str, Any]) -> Any:
    """Returns the identity of the window of a pane."""
    return hashable([pane[name] for name in (*spec.keys, *BOUNDS)])


def _of_content(spec: JoinOperator, rows: Rows) -> Rows:
    """Returns rows of a window join without what depends on the firing that emitted them."""
    bounds = (*BOUNDS, JOIN_TIME)
    return [
        _without(row, (TIMING, *(bounds if spec.how in ONE_SIDED or row[MISSING] else ()))) for row in rows
    ]


def _net(outputs: Iterable[Mapping[str, Any]]) -> Rows:
    """Returns the rows that are not retracted."""
    ledger = Ledger()
    for output in outputs:
        ledger.take(output["panes"])
    return ledger.remaining()


def _without(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    left_out = frozenset(names)
    return {name: value for name, value in row.items() if name not in left_out}


def _assert_equal(rows: Rows, other: Rows, what: str) -> None:
    """Checks that two lists have the same rows, each as often, in any order."""
    left, right = (sorted(side, key=repr) for side in (rows, other))
    if same(left, right):
        return
    lines = [f"{what}: different rows (semantics 3.1, 21.1, 39)"]
    lines += [f"- {row}" for row in left if not any(same(row, it) for it in right)]
    lines += [f"+ {row}" for row in right if not any(same(row, it) for it in left)]
    raise AssertionError("\n".join(lines))
