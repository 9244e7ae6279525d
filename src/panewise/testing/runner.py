"""Plays events in a runtime."""

from collections.abc import Iterable, Mapping
from typing import Any

from panewise.errors import InputError
from panewise.spec import Aggregate, Global, Never, Specification, WindowOperator
from panewise.testing.events import Script, script
from panewise.testing.families import parts_for_tests
from panewise.testing.own_names import inside, names_inside, names_of_emitted, outside
from panewise.testing.retractions import check_retractions
from panewise.testing.runtimes import runtime as runtime_named


def run(
    spec: Specification | Mapping[str, Any],
    events: Iterable[Mapping[str, Any]],
    runtime: str = "oracle",
    *,
    types: Mapping[str, str] | None = None,
    windows: bool = False,
    **options: Any,
) -> list[dict[str, Any]]:
    """Plays events; returns the output after each event.

    The events are dicts:

    - `{"op": "add", "rows": [...]}`: a batch arrives. A row is a dict. It may carry a source position, as
      `"position": [partition, offset]` or `[source, partition, offset]`.
    - `{"op": "watermark", "to": t}`: the watermark moves. With `watermark=Inputs([...])` without a column the
      event also names the `"input"`.
    - `{"op": "clock", "to": t}`: the processing time moves.
    - `{"op": "restart"}`: the operator stops and continues from its saved state.
    - `{"op": "change", "spec": ...}`: the operator continues with another specification (semantics 47). The
      event may have `"added_aggregates"`, which is "null" or "from_now_on".
    - `{"op": "finish"}`: the input ends.
    - If the operator has several inputs, an "add" names the `"input"`. Or its rows are given by input, as in
      `"rows": {"left": [...], "right": [...]}`: they arrive in one batch. A "watermark" and a "finish" that
      name no input are those of all inputs. The inputs of a join or a cogroup are "left" and "right".
    - For a StreamWindow also `{"op": "drain"}`, `{"op": "checkpoint"}`, `{"op": "reset"}`,
      `{"op": "reset_to_initial"}` and `{"op": "evict", "partition": {...}}` (semantics 10.21 to 10.23).

    Event times and `t` are whole numbers of microseconds, or datetimes with a time zone.

    Args:
        spec: a specification of any family, or its dict form.
        events: the events.
        runtime: "oracle", "engine", "standalone" or "spark".
        types: types of columns: "bigint", "double", "string", "boolean", "decimal(p,s)", "date", "timestamp",
            "binary", and lists, structs and maps of them, such as "array<bigint>", "struct<a:bigint,b:date>"
            or "map<string,bigint>". Default: inferred from their values. For an operator with several inputs:
            such a mapping for each input. Outputs have whole numbers of microseconds for timestamps, and
            lists of entries for maps (semantics 31.20).
        windows: whether each output lists the stored windows, as `"windows"`: for a chain its operator's, for
            OVER and joins the stored rows.
        options: settings of the runtime.

    Returns:
        For each event a dict of `panes` (their columns by name), `late` (`row`, `reason`, `windows`,
        `late_by`, `partial`), `invalid` (`row`, `reason`) and `counts`. With several inputs, late and invalid
        rows name their `input`, and `counts` are by input. Inputs without rows are left out.

    Raises:
        InputError: if events are malformed, for types of unknown columns, and for an unknown runtime or
            option. Except on Spark, if rows are added after `finish` (semantics 12.2).
        SpecError: if a column has a type that the specification cannot use (semantics 24.19).
        AssertionError: if a retraction repeats no row that was emitted (semantics 20.5).

    >>> from panewise import Tumbling, functions as F
    >>> spec = WindowOperator(window=Tumbling(10), aggregates=[F.sum("v").alias("total")])
    >>> rows = [{"event_time": 1, "v": 2}, {"event_time": 9, "v": 3}]
    >>> output = run(spec, [{"op": "add", "rows": rows}, {"op": "watermark", "to": 10}])[1]
    >>> [(pane["window_end"], pane["total"], pane["timing"]) for pane in output["panes"]]
    [(10, 5, 'ON_TIME')]

    Source: semantics 18, 20, 13.4, 15.
    """
    return play_script(script(spec, events, types, windows=windows, options=options), runtime)


def play_script(script: Script, runtime: str) -> list[dict[str, Any]]:
    """Plays a script; returns the output after each event."""
    play, inner = runtime_named(runtime), names_inside(script)
    if inner:
        names = names_of_emitted(script, inner)
        outputs = [outside(output, inner, names) for output in play(inside(script, inner))]
    else:
        outputs = play(script)
    changed = any(event.op == "change" for event in script.events)  # later panes have other columns
    if parts_for_tests(script.spec).retracts and not changed:
        check_retractions(outputs)
    return outputs


def result_of(
    aggregate: Aggregate,
    rows: Iterable[Mapping[str, Any]],
    runtime: str = "oracle",
    *,
    types: Mapping[str, str] | None = None,
) -> Any:
    """Returns the result of an aggregate over rows, in one batch and one window.

    Args:
        aggregate: the aggregate.
        rows: a dict for each row, without an event time, in arrival order.
        runtime: as for :func:`run`.
        types: as for :func:`run`.

    Raises:
        InputError: without rows, as a window has one or more, and if a row is invalid.

    >>> from panewise import functions as F
    >>> result_of(F.collect_list("v"), [{"v": 2}, {"v": None}, {"v": 3}])
    [2, 3]
    """
    values: Any = rows
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"rows={values!r}", "rows are a list of dicts", "give a list")
    added = list(rows)
    if not added:
        raise InputError("no row", "a result is that of a window, which has one row or more", "give a row")
    time = _unused("row", added)
    spec = WindowOperator(window=Global(), trigger=Never(), aggregates=[aggregate], event_time=time)
    numbered = [{**row, time: number} for number, row in enumerate(added)]
    outputs = run(spec, [{"op": "add", "rows": numbered}, {"op": "finish"}], runtime, types=types)
    for output in outputs:
        for invalid in output["invalid"]:
            row = {name: value for name, value in invalid["row"].items() if name != time}
            rule = "a result is that of all rows, so each of them is valid"
            raise InputError(f"the row {row!r}: {invalid['reason']}", rule, "correct it, or give types")
    return outputs[-1]["panes"][0][aggregate.name]


def _unused(name: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Returns a name that is no column of the rows."""
    while any(name in row for row in rows):
        name += "_"
    return name
